"""Schedules and programs of files, verified before they may be executed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conset.schedule.program import Program
    from conset.schedule.schedule import Schedule


def read_verified(file: Path) -> Schedule | Program:
    """What is in a file, if it verifies.

    Raises:
        VerificationError: it does not; says the first violation. InputError: no schedule or
            program.
    """
    from conset.base.errors import VerificationError
    from conset.base.units import count_of
    from conset.cli.output import progress
    from conset.schedule.files.program import read_program_document, to_program
    from conset.schedule.files.schedule import read_document, to_schedule
    from conset.schedule.files.sniff import sniff
    from conset.verification import verify_document, verify_program

    is_program = sniff(file).form == "program"
    with progress("verifying"):
        if is_program:
            program = read_program_document(file)
            verdict = verify_program(program)
        else:
            document = read_document(file)
            verdict = verify_document(document)
    if not verdict.ok:
        first = verdict.violations[0].text
        raise VerificationError(
            f"{file}: does not verify, {count_of(len(verdict.violations), 'violation')}, the "
            f"first: {first}"
        )
    return to_program(program) if is_program else to_schedule(document)
