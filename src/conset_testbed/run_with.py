"""A command beside a testbed that lives as long as it does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from conset.base import UsageError
from conset_testbed.beds import Bed
from conset_testbed.launcher import die_with_parent

MPIEXEC = "CONSET_TESTBED_MPIEXEC"
"""In the command's environment: the launcher of jobs on the bed."""
_GRACE_S = 5.0


def run_command(bed: Bed, command: Sequence[str]) -> int:
    """The status of a command that has the bed in its environment; it is ended with this one.

    Raises:
        UsageError: it cannot be started.
    """
    environment = {**os.environ, "CONSET_TESTBED": bed.name, MPIEXEC: bed.mpiexec}
    try:
        process = subprocess.Popen(
            command, env=environment, preexec_fn=die_with_parent(os.getpid())
        )
    except OSError as error:
        raise UsageError(f"'{command[0]}': {error.strerror}") from None
    try:
        status = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    return status if status >= 0 else 128 - status
