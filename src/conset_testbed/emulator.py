"""The switches in user space of a bed.

Started in its control namespace, asked for their counters.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.base import UnavailableError
from conset_testbed import addresses as a, namespaces as ns
from conset_testbed.binaries import find_binary
from conset_testbed.state import read_pid

if TYPE_CHECKING:
    from conset_testbed.state import BedState

PROGRAM = "conset-switches"
_PID, _LOG, _DESCRIPTION = "switches.pid", "switches.log", "switches.txt"
_PRIORITY = -20
_ANSWER_S = 2.0


def start_emulator(bed: BedState, description: str) -> None:
    """Starts the switches; when this returns, every endpoint has its device.

    Raises:
        UnavailableError: they did not start, in their own words.
    """
    file, log = bed.folder / _DESCRIPTION, bed.folder / _LOG
    file.write_text(description)
    command = [
        "nsenter",
        f"--net={ns.FOLDER / a.control_namespace(bed.name)}",
        str(find_binary(PROGRAM)),
        str(file),
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            cwd="/",
        )
    assert process.stdout is not None
    if process.stdout.readline().strip() != b"ready":
        process.wait()
        raise UnavailableError(log.read_text().strip() or f"{PROGRAM}: did not start")
    process.stdout.close()
    process.returncode = 0  # nobody waits for it: it outlives this process
    (bed.folder / _PID).write_text(str(process.pid))
    with suppress(
        OSError
    ):  # a user without the right: packets are late more often, no bandwidth is lost
        os.setpriority(os.PRIO_PROCESS, process.pid, _PRIORITY)


def end_emulator(bed: BedState) -> None:
    """Ends the switches where they still run.

    Of a user namespace that nobody can enter any more.
    """
    pid = read_pid(bed.folder / _PID, PROGRAM)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def read_counters(bed: BedState) -> dict[str, Any]:
    """`injected`, `delivered`, `lost` packets, `worst_lateness_ns` since asked before, `links`.

    Bytes, packets, busy.

    Raises:
        UnavailableError: the switches do not answer.
    """
    pid = read_pid(bed.folder / _PID, PROGRAM)
    log = bed.folder / _LOG
    if pid is None:
        raise UnavailableError(f"testbed '{bed.name}': its switches have ended: {_last_line(log)}")
    before = log.stat().st_size
    os.kill(pid, signal.SIGUSR1)
    end = time.monotonic() + _ANSWER_S
    while time.monotonic() < end:
        time.sleep(0.02)
        with log.open("rb") as stream:
            stream.seek(before)
            text = stream.read()
        if text.endswith(b"\n"):
            found: dict[str, Any] = json.loads(text.splitlines()[-1])
            return found
    raise UnavailableError(
        f"testbed '{bed.name}': its switches did not answer within {_ANSWER_S:g} s"
    )


def _last_line(log: Path) -> str:
    try:
        return log.read_text().splitlines()[-1]
    except (OSError, IndexError):
        return "without a word"
