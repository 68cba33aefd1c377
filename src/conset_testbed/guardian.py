"""The guardian of a bed.

A process that removes it when its time is over, or when who started it is no more.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from contextlib import suppress

from conset.base import ConsetError
from conset_testbed.access import environment, inside_command
from conset_testbed.state import bed_folder, bed_names, read_bed, read_pid

_PID = "guardian.pid"
_LOOK_S = 2.0
_OVERDUE_S = 10.0
"""After its time a bed without a guardian is removed by whoever comes by."""


def start_guardian(name: str, ttl_s: float, pipe: int | None) -> None:
    """Starts the guardian of a bed, in a session of its own; it has begun when this returns.

    Args:
        name: of the bed, which is written down.
        ttl_s: how long the bed lives [s].
        pipe: reading end of a pipe whose other end is held by whoever the bed is for; None: nobody.
    """
    handed = [] if pipe is None else [pipe]
    word = "-" if pipe is None else str(pipe)
    process = subprocess.Popen(
        inside_command("guard", name, str(ttl_s), word),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        pass_fds=handed,
        start_new_session=True,
        cwd="/",
    )
    (bed_folder(name) / _PID).write_text(str(process.pid))
    process.returncode = 0  # nobody waits for it: it outlives this process


def guardian_of(name: str) -> int | None:
    """The process that guards a bed, if it lives."""
    pid = read_pid(bed_folder(name) / _PID, "conset_testbed")
    return None if pid is None or pid == os.getpid() else pid


def guard(name: str, ttl_s: float, pipe: int | None) -> None:
    """What the guardian does."""
    from conset_testbed.lifecycle import remove

    inode = bed_folder(name).stat().st_ino
    end = time.monotonic() + ttl_s
    while (left := end - time.monotonic()) > 0:
        if pipe is None:
            time.sleep(min(_LOOK_S, left))
        else:
            ready, _, _ = select.select([pipe], [], [], min(_LOOK_S, left))
            if ready and not os.read(pipe, 1):
                break
        try:
            if bed_folder(name).stat().st_ino != inode:
                return  # another bed's by now
        except FileNotFoundError:
            return
    remove(name)


def sweep() -> list[str]:
    """Removes beds whose time is over and whose guardian did not live to do it; their names."""
    from conset_testbed.lifecycle import remove

    swept = []
    for name in list(bed_names()):
        with suppress(
            ConsetError
        ):  # gone meanwhile, or written by another version: that is for `down` to say
            if read_bed(name).expires < time.time() - _OVERDUE_S and guardian_of(name) is None:
                remove(name)
                swept.append(name)
    return swept
