"""Network namespaces of the kernel: listed, configured by batches, entered, emptied and removed."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from conset.base import UnavailableError

FOLDER = Path("/run/netns")
_CLONE_NEWNET = 0x40000000


def run(command: list[str], text: str | None = None) -> str:
    """What a program prints.

    Raises:
        UnavailableError: it did not end well; in its own words.
    """
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split())[:300] or f"status {done.returncode}"
        raise UnavailableError(f"{' '.join(command)[:100]}: {said}")
    return done.stdout


def batch(program: str, lines: Iterable[str], namespace: str | None = None) -> None:
    """Tells `ip` or `tc` a batch of lines, in a namespace."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        inside = [] if namespace is None else ["-n", namespace]
        run([program, *inside, "-batch", "-"], text)


def exists(namespace: str) -> bool:
    """Whether there is one of that name."""
    return (FOLDER / namespace).exists()


def enter(namespace: str) -> None:
    """Moves this process, which should be a child, into a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(FOLDER / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    finally:
        os.close(descriptor)


def in_namespace(namespace: str, work: Callable[[], None]) -> None:
    """Does some work in a child that has entered a namespace.

    Raises:
        UnavailableError: it failed.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            enter(namespace)
            work()
            code = 0
        except BaseException as error:
            os.write(write, str(error).encode()[:1000])
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        said = stream.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    if status:
        raise UnavailableError(f"in namespace {namespace}: {said or 'the child died'}")


def set_sysctls(namespace: str, values: Mapping[str, int]) -> None:
    """Writes settings of a namespace; those that this kernel does not have are left out."""

    def write() -> None:
        for name, value in values.items():
            path = Path("/proc/sys") / name.replace(".", "/")
            if path.exists():
                path.write_text(str(value))

    in_namespace(namespace, write)


def processes_in(namespaces: Iterable[str]) -> set[int]:
    """Those whose network one of the namespaces is, without this one."""
    wanted, pids = set(), set()
    for name in namespaces:
        with suppress(FileNotFoundError):
            wanted.add((FOLDER / name).stat().st_ino)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "ns" / "net").stat().st_ino in wanted:
                pids.add(int(entry.name))
        except OSError:
            continue  # it has ended, or is somebody else's
    return pids - {os.getpid()}


def end_processes(pids: Callable[[], set[int]]) -> None:
    """Asks all processes to end, kills those that are left after a second, and waits for them."""
    for number, wait_s in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 3.0)):
        end = time.monotonic() + wait_s
        left = pids()
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        while left and time.monotonic() < end:
            time.sleep(0.02)
            left = pids()
        if not left:
            return


def add(namespaces: Iterable[str]) -> None:
    """Makes namespaces."""
    batch("ip", [f"netns add {name}" for name in namespaces])


def mark(namespaces: Iterable[str], text: str) -> None:
    """Writes a word into namespaces, which tells them from later ones of their names.

    The kernel reuses inodes.
    """
    for name in namespaces:
        batch("ip", [f"link set dev lo alias {text}"], name)


def mark_of(namespace: str) -> str:
    """What `mark` wrote; "" for one that has none, or is none."""
    command = ["ip", "-n", namespace, "-j", "link", "show", "dev", "lo"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        return ""
    return str(json.loads(done.stdout)[0].get("ifalias", ""))


def remove(namespaces: Iterable[str]) -> None:
    """Removes namespaces, those that do not let themselves be removed left out."""
    text = "".join(f"netns del {name}\n" for name in namespaces)
    subprocess.run(
        ["ip", "-force", "-batch", "-"], input=text, text=True, capture_output=True, check=False
    )
