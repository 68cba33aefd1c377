"""`conset verify`: is a schedule or timeline file right? All violations, from the file alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conset.cli.options import FileArgument, JsonOption

if TYPE_CHECKING:
    from conset.verification import Verification

SCHEMA = "conset/verify@1"


def command(
    file: FileArgument,
    window: Annotated[
        int | None, typer.Option("--window", metavar="W", help="Any W consecutive phases together keep the limits.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a file of `compile` or `simulate` by code that shares nothing with it: violations, and exit code 4."""
    from conset.cli.check_timeline import verify_timeline
    from conset.cli.output import print_json
    from conset.errors import InputError, UsageError, VerificationError
    from conset.formats.schedule import read_document
    from conset.formats.sniff import sniff
    from conset.schedule.manifest import Manifest
    from conset.units import count_of
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
        document = read_document(file)
        try:
            verification = verify_document(document, window=window)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        manifest = document.manifest
        line = _summary(verification.figures, document.source.size)
    for violation in verification.violations:
        # some texts begin with the rule themselves
        typer.echo(f"{violation.rule}: {violation.text.removeprefix(f'{violation.rule}: ')}", err=as_json)
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
    from conset.errors import InputError, UsageError
    from conset.formats.program import read_program_document
    from conset.units import count_of
    from conset.verification import verify_program

    if window is not None:
        raise UsageError(f"--window {window}: is for schedules, {file} is a program")
    document = read_program_document(file)
    try:
        verification = verify_program(document)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    figures = verification.figures
    line = "not counted"
    if figures:
        executed = f"{count_of(figures['phases'], 'phase')} executed"
        switches = count_of(figures["switches"], "switch", "switches")
        line = f"{executed}, {switches}, {count_of(figures['contexts'], 'context')}"
    return verification, document.manifest, line


def _summary(figures: object, messages: int) -> str:
    """`240 messages in 18 phases; largest load: send 1, receive 1, link 1, channels 6`."""
    from conset.units import count_of

    assert isinstance(figures, dict)  # what the verifier counted
    load = ", ".join(f"{name} {figures['load'][name]}" for name in ("send", "receive", "link", "channels"))
    return f"{count_of(messages, 'message')} in {count_of(figures['phases'], 'phase')}; largest load: {load}"
