"""An unmodified MPI program under `libconset-preload.so`, which records or reorders its exchanges.

The library is loaded into all ranks by `LD_PRELOAD` and reads variables `CONSET_…`
(`conset record`, `conset intercept`). MPICH's launcher and `srun` pass the environment on to other
hosts; Open MPI's passes on what `-x` or the parameter `mca_base_env_list` names. Version 4 refuses
both at once, so the command decides which is used.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from conset.base import InputError, UsageError
from conset.pattern.readers.records import NOTHING, SUFFIX

PRELOAD = "LD_PRELOAD"
RECORDED = f"*{SUFFIX}"
PLANS = "plans.txt"
"""Files of a record: what ranks left, the plans of `conset advise`."""
_OF_RECORDS = (RECORDED, PLANS, "*.plan", NOTHING)
_LAUNCHER = re.compile(r"(mpirun|mpiexec|orterun|prterun|prun|oshrun|shmemrun)([.-].*)?")
_ENV_LIST = "mca_base_env_list"
_CLEARING = re.compile(
    r"(?<!\S)(-genvnone|-envnone|-genvlist \S+|-envlist \S+|env -i"
    r"|--export[= ](?!\S*\bALL\b)\S+)(?!\S)"
)
"""Options that keep the environment from the ranks: MPICH's, of `env`, of `srun`."""
_LINKED = re.compile(rb"MPIR_|MPID_|ompi_mpi_init")
"""Names inside of MPI libraries."""
_PASSED = [getattr(signal, f"SIG{name}") for name in ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2")]
_TYPED = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to the program too."""
_NOT_FOUND, _NOT_STARTED = 127, 126
"""Exit codes of shells for a command that does not exist, and one that cannot be executed."""


def mpi_of(launcher: str) -> str:
    """Return the MPI library of a launcher, by what `--version` prints: mpich, openmpi or "".

    Raises:
        UsageError: it cannot be started.
    """
    # as root, Open MPI's refuses even this without being allowed twice
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        ended = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, env={**os.environ, **allowed}
        )
    except OSError as error:
        raise UsageError(f"launcher '{launcher}': {error.strerror}") from None
    text = (ended.stdout + ended.stderr).lower()
    if "hydra" in text:
        return "mpich"
    return "openmpi" if re.search("open mpi|openrte|prte", text) else ""


def preloaded(
    command: Sequence[str],
    library: Path,
    variables: Mapping[str, str],
    environment: Mapping[str, str] = os.environ,
) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment with which all ranks load a library.

    Args:
        command: a launcher with its options and a program, or any command that starts one.
        library: loaded after what `LD_PRELOAD` names in the environment or in the command.
        variables: for the ranks.
        environment: of the command.

    Raises:
        UsageError: the path of the library has a blank or a colon, which separate paths in
            `LD_PRELOAD`.
    """
    if re.search(r"[\s:]", str(library)):
        raise UsageError(f"{library}: a path with a blank or a colon cannot be preloaded")
    before = environment.get(PRELOAD)
    all_variables = {PRELOAD: f"{before}:{library}" if before else str(library), **variables}
    given, found = list(command), {**environment, **all_variables}
    names = list(all_variables)
    for k, word in enumerate(given):
        if word.startswith(f"{PRELOAD}="):  # -x LD_PRELOAD=…, env LD_PRELOAD=…
            given[k] = f"{word}:{library}"
            names = list(variables)
        elif word == PRELOAD and given[k - 1] in ("-env", "-genv"):
            given[k + 1 : k + 2] = [f"{value}:{library}" for value in given[k + 1 : k + 2]]
    # a testbed passes variables on itself
    own = next((k for k, word in enumerate(given) if word in ("testbed", "conset_testbed")), None)
    launchers = (
        k
        for k, word in enumerate(given[:own])
        if _LAUNCHER.fullmatch(Path(word).name) and shutil.which(word)
    )
    launcher = next(launchers, None)
    if launcher is None or mpi_of(given[launcher]) != "openmpi":
        return given, found
    if "-x" in given:
        options = [option for name in names for option in ("-x", name)]
        for k in reversed([launcher, *(k for k, word in enumerate(given) if word == ":")]):
            given[k + 1 : k + 1] = options
    elif _ENV_LIST in given[:-1]:
        given[given.index(_ENV_LIST) + 1] += ";" + ";".join(names)
    else:
        key = f"OMPI_MCA_{_ENV_LIST}"
        found[key] = ";".join(filter(None, (found.get(key), *names)))
    return given, found


def run_program(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end, with the stdin, stdout and stderr of this process.

    Signals that end a program, SIGUSR1 and SIGUSR2 are passed on to it. What was typed at the
    terminal the program gets from there.

    Returns:
        Its exit code, or 128 plus the number of the signal that ended it.

    Raises:
        UsageError: it cannot be started; the exit code is that of shells, 127 or 126.
    """
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        refused = UsageError(f"'{command[0]}': cannot be started: {error.strerror}")
        refused.exit_code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_STARTED
        raise refused from None

    def pass_on(number: int, frame: FrameType | None) -> None:
        if number not in _TYPED or not _in_foreground():
            process.send_signal(number)

    previous = {
        number: signal.signal(number, pass_on)
        for number in _PASSED
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        status = process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _in_foreground() -> bool:
    """Return whether the terminal sends signals to this process, and so to the program."""
    with suppress(OSError), Path("/dev/tty").open("rb", buffering=0) as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False


@contextmanager
def replacing_record(folder: Path) -> Iterator[Path]:
    """Yield a new folder, absolute, which takes the place of `folder` at the end.

    Where no rank has left anything, a record that is there stays, and the new folder is removed.

    Raises:
        UsageError: `folder` has files that are no part of a record.
        InputError: `folder` is no folder, or cannot be made or replaced.
    """
    target = folder.resolve()
    new, old = (target.with_name(f".{target.name}.{os.getpid()}{end}") for end in ("", ".old"))
    try:
        foreign = [
            path.name
            for path in (target.iterdir() if target.exists() else ())
            if not any(map(path.match, _OF_RECORDS))
        ]
        if foreign:
            raise UsageError(
                f"-o {folder}: has '{min(foreign)}', which is no part of a record: a new folder is "
                "required"
            )
        new.mkdir()
    except OSError as error:
        raise InputError(f"-o {folder}: cannot be written: {error.strerror}") from None
    try:
        yield new
        if any(new.glob(RECORDED)) or not any(target.glob(RECORDED)):
            if target.exists():
                target.rename(old)
            new.rename(target)
    except OSError as error:
        raise InputError(f"-o {folder}: cannot be replaced: {error.strerror}") from None
    finally:
        for path in (new, old):
            shutil.rmtree(path, ignore_errors=True)


def why_nothing(command: Sequence[str], status: int, use: str = "called MPI") -> str:
    """Return the most likely reason why no rank has used the preloaded library.

    Args:
        command: that was run.
        status: its exit code.
        use: what no process did.
    """
    if cleared := _CLEARING.search(" ".join(command)):
        return f"'{cleared[1]}' keeps the environment from the ranks"
    paths = [shutil.which(word) for word in command if not _LAUNCHER.fullmatch(Path(word).name)]
    programs = [Path(path) for path in paths if path is not None]
    reasons = [reason for path in programs if (reason := _why_not(path))]
    if reasons:
        return reasons[0]
    if status:
        return f"the command ended with exit code {status} before a process {use}"
    for path in programs:
        if re.match("julia|python", path.name):
            return f"{path.name} found MPI by dlsym (Julia's MPI.jl, ctypes), or no process {use}"
    names = ", ".join(path.name for path in programs)
    return f"no process {use}, or its host does not see the folders of this one ({names})"


def _why_not(program: Path) -> str | None:
    """Return why a program does not use a preloaded library, if its file shows a reason."""
    try:
        data, mode = program.read_bytes(), program.stat().st_mode
    except OSError:
        return None
    if mode & (stat.S_ISUID | stat.S_ISGID):
        return f"{program.name} is a set-uid program, which loads no libraries of LD_PRELOAD"
    if any(name.startswith("libmpi") for name in _needed(data)) or b"MPI_Init" not in data:
        return None
    if _LINKED.search(data):
        return f"{program.name} is linked statically with its MPI library"
    return f"{program.name} finds the functions of MPI by dlsym"


def _needed(data: bytes) -> list[str]:
    """Return the names of the shared libraries that a program needs; none of one without any."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    with suppress(struct.error, ValueError, StopIteration, KeyError, UnicodeDecodeError):
        start, size, count = struct.unpack_from("<Q14xHH", data, 32)
        # type, flags, offset, address, physical address, bytes of the file, of memory, alignment
        segments = [struct.unpack_from("<IIQQQQQQ", data, start + size * k) for k in range(count)]
        _, _, offset, _, _, length, *_ = next(each for each in segments if each[0] == 2)
        entries = list(struct.iter_unpack("<qQ", data[offset : offset + length]))
        table = dict(entries)[5]
        loaded = next(s for s in segments if s[0] == 1 and s[3] <= table < s[3] + s[5])
        names = table - loaded[3] + loaded[2]
        return [
            data[names + at : data.index(b"\0", names + at)].decode()
            for tag, at in entries
            if tag == 1
        ]
    return []
