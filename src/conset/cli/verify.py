"""`conset verify`: is a schedule or timeline file right? All violations, from the file alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from conset.base import InputError, VerificationError, count_of
from conset.cli.options import FileArgument, JsonOption, opt, refuse
from conset.cli.output import print_json, progress
from conset.models import Record, read_record
from conset.report import check_object, check_text, verified_text, violation_lines
from conset.schedule import Document, Manifest, read_document, sniff
from conset.verification import Violation, verify
from conset.verification.timeline.check import Violation as Impossible, check_timeline


def command(
    file: FileArgument,
    window: Annotated[
        int | None,
        opt("--window W", "Any W consecutive phases together keep the limits."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a file of `compile` or `simulate` by code that shares nothing with it."""
    form = sniff(file).form
    if form in ("timeline", "program"):
        refuse({"window": window}, f"is for schedules, {file} is a {form}")
    violations: Sequence[Violation | Impossible]
    if form == "timeline":
        record = read_record(file)
        try:
            violations = check_record(record)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        figures = {"time_s": record.timeline.time_s, "messages": record.timeline.messages}
        body = {**check_object(record, tuple(violations)), "figures": figures}
        manifest, line = record.manifest, check_text(record)
    else:
        with progress("reading"):
            document = read_document(file)
        try:
            with progress("verifying"):
                verification = verify(document, window=window)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        if isinstance(document, Document):
            line = verified_text(verification.figures, document.source.size)
        else:
            line = verified_text(verification.figures)
        unchecked = ", ".join(f"{name} times" for name in verification.unchecked)
        line += f"; not checked: {unchecked}" if unchecked else ""
        violations, body = verification.violations, verification.to_object()
        manifest = Manifest(**document.manifest)
    if as_json:
        print_json("conset/verify@1", body, manifest)
    print_violations(violations, str(file), as_json)
    if not as_json:
        typer.echo(f"{file}: ok, {line}")


def check_record(record: Record) -> tuple[Impossible, ...]:
    """All that is impossible in a timeline.

    Raises:
        InputError: a file that does not say what was played, on which machine and how.
    """
    work = record.timeline.workload
    if work is None or record.machine is None or record.settings is None:
        missing = (
            "messages" if work is None else "machine" if record.machine is None else "settings"
        )
        raise InputError(f"the timeline cannot be checked: it does not say its {missing}")
    with progress("checking"):
        return check_timeline(record.timeline, work, record.machine, record.settings)


def print_violations(
    violations: Sequence[Violation | Impossible], what: str, as_json: bool
) -> None:
    """One line for each violation, then exit code 4 if there are any.

    Raises:
        VerificationError: there are, for people.
        Exit: there are, with `--json`: the object says them.
    """
    for line in violation_lines(violations):
        typer.echo(line, err=as_json)
    count = len(violations)
    if count and as_json:
        raise typer.Exit(VerificationError.exit_code)
    if count:
        raise VerificationError(f"{what}: {count_of(count, 'violation')}")
