"""Access: with what right a bed is built: root's, or that of a user namespace of its own.

What this machine permits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conset.base import ConsetError, UnavailableError

STATE = "CONSET_TESTBED_STATE"
"""In the environment of processes inside a user namespace: where beds are written down."""
_TOOLS = ("ip", "tc", "unshare", "nsenter")
_NET_ADMIN, _SYS_ADMIN = 12, 21
_TUN = "/dev/net/tun"
_FEATURES = (
    ("veth", "ip", "link add name pv0 type veth peer name pv1"),
    ("tbf", "tc", "qdisc add dev pv0 root tbf rate 10mbit burst 2000 limit 9000"),
    ("ifb", "ip", "link add name id0 type ifb"),
    ("bridge", "ip", "link add name br0 type bridge"),
)
"""Of the kernel: a name, and what `ip` or `tc` makes only where it is there."""


def is_inside() -> bool:
    """Whether this process is root of a user namespace that was made for a bed."""
    return STATE in os.environ


def is_privileged() -> bool:
    """Whether the kernel lets this process make network namespaces by itself."""
    return is_inside() or (os.geteuid() == 0 and _has_capabilities())


def _has_capabilities() -> bool:
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        held = int(next(line.split()[1] for line in lines if line.startswith("CapEff:")), 16)
        return bool(held >> _NET_ADMIN & 1 and held >> _SYS_ADMIN & 1)
    return False


def state_folder() -> Path:
    """Where beds are written down: root's in `/run`, a user's beside other temporary files."""
    if is_inside():
        return Path(os.environ[STATE])
    if is_privileged():
        return Path("/run/conset-testbed")
    return Path(tempfile.gettempdir()) / f"conset-testbed-{os.getuid()}"


def own_folder(path: Path) -> None:
    """Makes a folder that nobody else may read or write.

    Raises:
        UnavailableError: it is somebody else's.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    require_own(path)


def require_own(path: Path) -> None:
    """Checks that a folder, where there is one, is this user's: what stands in it is believed.

    Raises:
        UnavailableError: it is somebody else's, or others may write there.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if path.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise UnavailableError(f"{path}: must be a folder of this user's alone")


def enter_new() -> list[str]:
    """The words before a command that lets it make namespaces: none for root."""
    return [] if is_privileged() else ["unshare", "--map-root-user", "--net", "--mount", "--"]


def enter_held(pid: int | None) -> list[str]:
    """The words before a command that lets it use the bed that process `pid` holds.

    None for root.
    """
    if is_privileged() or pid is None:
        return []
    return [
        "nsenter",
        f"--target={pid}",
        "--user",
        "--preserve-credentials",
        "--net",
        "--mount",
        "--wdns=.",
    ]


def environment() -> dict[str, str]:
    """That of a command inside: this very package, and where beds are written down."""
    found = dict(os.environ)
    home = str(Path(__file__).resolve().parents[1])
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (home, found.get("PYTHONPATH"))))
    if not is_privileged():
        found[STATE] = str(state_folder())
    return found


def inside_command(action: str, *words: str) -> list[str]:
    """What carries out an action of `conset_testbed.__main__`.

    Nothing of the current directory is imported.
    """
    return [sys.executable, "-P", "-m", "conset_testbed", action, *words]


def call_inside(
    before: Sequence[str], action: str, *words: str, pass_fds: Sequence[int] = ()
) -> dict[str, Any]:
    """What an action returns, carried out inside.

    Raises:
        ConsetError: of the same class and words as inside.
    """
    require_tools()
    try:
        done = subprocess.run(
            [*before, *inside_command(action, *words)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env=environment(),
            pass_fds=tuple(pass_fds),
        )
    except OSError as error:
        raise UnavailableError(
            f"{before[0] if before else sys.executable}: {error.strerror}"
        ) from None
    with suppress(ValueError, IndexError):
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if "error" in found:
            raise _error_of(found)
        return found
    said = " ".join(done.stderr.split())[-300:] or f"status {done.returncode}"
    if before:
        said = f"root is needed, or user namespaces, which are not permitted here: {said}"
    raise UnavailableError(said)


def error_object(error: ConsetError) -> dict[str, Any]:
    """An error for `call_inside`."""
    return {"error": str(error), "class": type(error).__name__, "options": list(error.options)}


def _error_of(found: dict[str, Any]) -> ConsetError:
    from conset.base import errors

    kind = getattr(errors, found["class"], ConsetError)
    error: ConsetError = kind(found["error"])
    error.options = tuple(found["options"])
    return error


def require_tools() -> None:
    """Checks that the programs are installed that configure networks.

    Raises:
        UnavailableError: one is not.
    """
    if sys.platform != "linux":
        raise UnavailableError(f"a testbed needs Linux, this is {sys.platform}")
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            raise UnavailableError(
                f"'{tool}' is not installed (Debian packages: iproute2, util-linux)"
            )


@dataclass(frozen=True)
class Permission:
    """What this machine permits.

    Attributes:
        access: with what right: `root`, or `user namespace`.
        kernel: why kernel fabrics cannot be; "": they can.
        emulated: why emulated ones cannot be; "": they can.
    """

    access: str
    kernel: str
    emulated: str

    @property
    def text(self) -> str:
        """In one line."""
        if self.kernel:
            return f"not possible here: {self.kernel}"
        how = "as root" if self.access == "root" else "in a user namespace, without root"
        if self.emulated:
            return f"{how}: kernel fabrics; not the emulated ones: {self.emulated}"
        return f"{how}: kernel fabrics and emulated ones"

    def require(self, *, emulated: bool) -> None:
        """Raises `UnavailableError` where a bed of this sort cannot be."""
        if self.kernel or (emulated and self.emulated):
            raise UnavailableError(self.kernel or self.emulated)


def check() -> Permission:
    """Tries every kernel feature in a namespace that it throws away."""
    access = "root" if is_privileged() else "user namespace"
    try:
        found = call_inside(enter_new(), "probe")
    except ConsetError as error:
        return Permission(access, str(error), str(error))
    return Permission(access, found["kernel"], found["emulated"])


def probe() -> dict[str, str]:
    """Of the process that may make namespaces: why beds cannot be."""
    from conset_testbed import namespaces as ns
    from conset_testbed.binaries import find_binary

    prepare()
    name = f"cb.probe{os.getpid()}"
    try:
        ns.add([name])
    except UnavailableError as error:
        return dict.fromkeys(
            ("kernel", "emulated"), f"network namespaces are not permitted: {error}"
        )
    kernel = emulated = ""
    try:
        for what, program, line in _FEATURES:
            try:
                ns.batch(program, [line], name)
            except UnavailableError as error:
                kernel = kernel or f"this kernel has no {what}: {error}"
    finally:
        ns.remove([name])
    try:
        find_binary("conset-switches")
        os.close(os.open(_TUN, os.O_RDWR))
    except UnavailableError as error:
        emulated = str(error)
    except OSError as error:
        emulated = f"{_TUN}: {error.strerror}"
    return {"kernel": kernel, "emulated": emulated}


def prepare() -> None:
    """In a new user namespace: a `/run` of its own, where namespaces get their names.

    Raises:
        UnavailableError: it may not be mounted.
    """
    if is_inside():
        from conset_testbed import namespaces as ns

        ns.run(["mount", "-t", "tmpfs", "tmpfs", "/run"])
