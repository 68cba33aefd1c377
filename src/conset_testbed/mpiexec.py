"""`mpiexec` on a bed.

`python -m conset_testbed mpiexec NAME -n N PROGRAM…`, and `conset testbed mpiexec NAME …`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from conset.base import ConsetError, UnavailableError, UsageError
from conset_testbed.access import enter_held, environment, inside_command, is_privileged
from conset_testbed.guardian import guardian_of
from conset_testbed.launcher import run_job
from conset_testbed.state import read_bed


@dataclass
class JobWords:
    """What is to be run.

    Attributes:
        bed: its name.
        ranks: of the job; None: one on every node.
        program: with its arguments.
        launcher: another `mpiexec` than the wheel's.
        timeout_s: the job is ended after that time.
        nap: whether idle ranks sleep.
        variables: for the ranks.
    """

    bed: str
    ranks: int | None = None
    program: list[str] = field(default_factory=list)
    launcher: str | None = None
    timeout_s: float | None = None
    nap: bool = True
    variables: dict[str, str] = field(default_factory=dict)


def parse(words: Sequence[str]) -> JobWords:
    """`NAME [-n N] [-env NAME VALUE] [--launcher PATH] [--timeout S] [--no-nap] PROGRAM…`.

    Raises:
        UsageError: no bed, no program, or an option that is none.
    """
    rest = list(words)
    if not rest or rest[0].startswith("-"):
        raise UsageError("testbed mpiexec: the name of a testbed is required before all options")
    job = JobWords(rest.pop(0))

    def value(option: str) -> str:
        if not rest:
            raise UsageError(f"{option}: a value is required")
        return rest.pop(0)

    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if option in ("-n", "-np", "--ranks"):
            job.ranks = _whole(option, value(option))
        elif option in ("-env", "-genv"):
            name = value(option)
            job.variables[name] = value(option)
        elif option == "-x":
            name, _, text = value(option).partition("=")
            job.variables[name] = text or os.environ.get(name, "")
        elif option == "--launcher":
            job.launcher = value(option)
        elif option == "--timeout":
            from conset.base import parse_time

            text = value(option)
            job.timeout_s = (
                float(text) if re.fullmatch(r"[0-9.]+", text) else parse_time(text, "--timeout")
            )
        elif option == "--no-nap":
            job.nap = False
        else:
            raise UsageError(
                f"testbed mpiexec: unknown option '{option}': known: -n, -env, -x, "
                "--launcher, --timeout"
            )
    job.program = rest
    if not job.program:
        raise UsageError("testbed mpiexec: a program is required")
    return job


def _whole(option: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"{option} {text}: must be a whole number")
    return int(text)


def main(words: Sequence[str]) -> int:
    """Runs the job, inside the bed's user namespace where it has one.

    The status of the job, or 2.
    """
    try:
        job = parse(words)
        bed = read_bed(job.bed)
        if not is_privileged():
            before = enter_held(guardian_of(job.bed))
            if not before:
                raise UnavailableError(
                    f"testbed '{job.bed}': its guardian is gone, and with it the bed"
                )
            command = [*before, *inside_command("mpiexec", *words)]
            os.execvpe(command[0], command, environment())
        ranks = bed.endpoints if job.ranks is None else job.ranks
        return run_job(
            bed,
            ranks,
            job.program,
            launcher=job.launcher,
            timeout_s=job.timeout_s,
            nap=job.nap,
            extra=job.variables,
        )
    except ConsetError as error:
        sys.stderr.write(f"conset: {error}\n")
        return error.exit_code
