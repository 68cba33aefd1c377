"""`conset verify`: is a schedule or timeline file right? All violations, from the file alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli.options import FileArgument, JsonOption

if TYPE_CHECKING:
    from conset.models.timeline_file import Record
    from conset.verification import Verification
    from conset.verification.timeline.check import Violation


SCHEMA = "conset/verify@1"


def command(
    file: FileArgument,
    window: Annotated[
        int | None,
        typer.Option(
            "--window", metavar="W", help="Any W consecutive phases together keep the limits."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a file of `compile` or `simulate` by code that shares nothing with it.

    Violations, and exit code 4.
    """
    from conset.base.errors import InputError, UsageError, VerificationError
    from conset.base.units import count_of
    from conset.cli.output import print_json, progress
    from conset.report.outcome import verified_schedule_text, violation_lines
    from conset.schedule.files.schedule import read_document
    from conset.schedule.files.sniff import sniff
    from conset.schedule.manifest import Manifest
    from conset.verification import verify_document

    form = sniff(file).form
    if form == "timeline":
        if window is not None:
            raise UsageError(f"--window {window}: is for schedules, {file} is a timeline")
        verify_timeline(file, SCHEMA, as_json)
        return
    if form == "program":
        verification, manifest, line = _verify_program(file, window)
    else:
        with progress("reading"):
            document = read_document(file)
        try:
            with progress("verifying"):
                verification = verify_document(document, window=window)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        manifest = document.manifest
        line = verified_schedule_text(verification.figures, document.source.size)
    for violation in violation_lines(verification.violations):
        typer.echo(violation, err=as_json)
    count = len(verification.violations)
    if as_json:
        print_json(SCHEMA, verification.to_object(), Manifest(**manifest))
        if count:
            raise typer.Exit(VerificationError.exit_code)
        return
    if count:
        raise VerificationError(f"{file}: {count_of(count, 'violation')}")
    typer.echo(f"{file}: ok, {line}")


def _verify_program(file: Path, window: int | None) -> tuple[Verification, Mapping[str, Any], str]:
    """(verdict, manifest, figures in words) of a program file."""
    from conset.base.errors import InputError, UsageError
    from conset.cli.output import progress
    from conset.report.outcome import verified_program_text
    from conset.schedule.files.program import read_program_document
    from conset.verification import verify_program

    if window is not None:
        raise UsageError(f"--window {window}: is for schedules, {file} is a program")
    with progress("reading"):
        document = read_program_document(file)
    try:
        with progress("verifying"):
            verification = verify_program(document)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return verification, document.manifest, verified_program_text(verification.figures)


def check_record(record: Record) -> tuple[Violation, ...]:
    """All that is impossible in a timeline.

    Raises:
        InputError: a file that does not say what was played, on which machine and how.
    """
    from conset.base.errors import InputError
    from conset.cli.output import progress
    from conset.verification.timeline.check import check_timeline

    work = record.timeline.workload
    if work is None or record.machine is None or record.settings is None:
        missing = (
            "messages" if work is None else "machine" if record.machine is None else "settings"
        )
        raise InputError(f"the timeline cannot be checked: it does not say its {missing}")
    with progress("checking"):
        return check_timeline(record.timeline, work, record.machine, record.settings)


def print_violations(violations: tuple[Violation, ...], what: str, as_json: bool) -> None:
    """One line for each violation, then exit code 4 if there are any.

    Raises:
        VerificationError: there are, for people.
        Exit: there are, with `--json`: the object says them.
    """
    from conset.base.errors import VerificationError
    from conset.base.units import count_of
    from conset.report.outcome import violation_lines

    for line in violation_lines(violations):
        typer.echo(line, err=as_json)
    count = len(violations)
    if count and as_json:
        raise typer.Exit(VerificationError.exit_code)
    if count:
        raise VerificationError(f"{what}: {count_of(count, 'violation')}")


def verify_timeline(file: Path, schema: str, as_json: bool) -> None:
    """Verifies a timeline's file from the file alone.

    Raises:
        InputError: it cannot be read, or says too little.
        VerificationError: it is impossible.
    """
    from conset.base.errors import InputError
    from conset.cli.output import print_json
    from conset.models.timeline_file import read_record
    from conset.report.outcome import check_object, check_text

    record = read_record(file)
    try:
        violations = check_record(record)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    if as_json:
        figures = {"time_s": record.timeline.time_s, "messages": record.timeline.messages}
        print_json(
            schema, {**check_object(record, violations), "figures": figures}, record.manifest
        )
    print_violations(violations, str(file), as_json)
    if not as_json:
        typer.echo(f"{file}: ok, {check_text(record)}")
