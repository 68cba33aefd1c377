"""Finding launchers and jobs, and saying why a job left no result."""

from __future__ import annotations

import pytest

from conset.base.errors import UsageError
from conset.execution.job import JobEnd, explain_end, find_job, find_launcher

MPICH_KILLED = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 12594 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
"""
"""As MPICH 5.0.2 printed it; the PID was rank 0's although rank 2 had been killed."""

OPENMPI_KILLED = """--------------------------------------------------------------------------
prterun noticed that process rank 2 with PID 4711 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------
"""
"""In the words that Open MPI 5.0 has for it."""


@pytest.mark.parametrize(
    ("environment", "job"),
    [
        ({}, None),
        ({"PMI_RANK": "3", "PMI_SIZE": "16"}, (3, 16)),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "0"}, (0, 4)),
        ({"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "8"}, (1, 8)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8"}, (5, 8)),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
        # a batch script that is no step: it starts the job, it is no rank of one
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),
        ({"PMI_RANK": "x", "PMI_SIZE": "16"}, None),
    ],
)
def test_a_running_job_is_seen_in_the_environment(
    environment: dict[str, str], job: tuple[int, int] | None
) -> None:
    assert find_job(environment) == job


def test_launchers() -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")
    assert find_launcher("mpiexec --oversubscribe -x 'A=b c'") == [
        "mpiexec",
        "--oversubscribe",
        "-x",
        "A=b c",
    ]
    for wrong in ("", "  ", "mpiexec 'x"):
        with pytest.raises(UsageError, match="mpiexec"):
            find_launcher(wrong)


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        (JobEnd(9, False, MPICH_KILLED, ""), "a rank died (SIGKILL), the others were ended"),
        (JobEnd(137, False, "", OPENMPI_KILLED), "rank 2 died (SIGKILL), the others were ended"),
        (
            JobEnd(1, False, MPICH_KILLED.replace("CODE: 9", "CODE: 1"), ""),
            "a rank died (status 1), the others were ended",
        ),
        (
            JobEnd(
                4, False, MPICH_KILLED, "noise\nconset: rank 3: phase 1\nconset: rank 4: phase 1\n"
            ),
            "rank 3: phase 1",
        ),
        (JobEnd(-15, True, "", ""), "the job did not end within 7 s and was ended"),
        (
            JobEnd(0, False, "", ""),
            "the job ended with status 0 and left no result: it printed nothing",
        ),
        (
            JobEnd(2, False, "", "usage: x\nno such option\n\n"),
            "status 2 and left no result: no such option",
        ),
    ],
)
def test_why_a_job_left_no_result(ended: JobEnd, text: str) -> None:
    assert text in str(explain_end(ended, 7.0))
