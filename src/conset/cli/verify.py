"""`conset verify`: is a schedule file right? All violations, from the file alone."""

from __future__ import annotations

from typing import Annotated

import typer

from conset.cli.options import FileArgument, JsonOption

SCHEMA = "conset/verify@1"


def command(
    file: FileArgument,
    window: Annotated[
        int | None, typer.Option("--window", metavar="W", help="Any W consecutive phases together keep the limits.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a schedule file by code that shares nothing with the compiler: all violations, exit code 4 if any."""
    from conset.cli.output import print_json
    from conset.errors import InputError, VerificationError
    from conset.schedule.file import read_document
    from conset.schedule.manifest import Manifest
    from conset.verification import verify_document

    document = read_document(file)
    try:
        verification = verify_document(document, window=window)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    for violation in verification.violations:
        typer.echo(f"{violation.rule}: {violation.text}", err=as_json)
    count = len(verification.violations)
    if as_json:
        print_json(SCHEMA, verification.to_object(), Manifest(**document.manifest))
        if count:
            raise typer.Exit(VerificationError.exit_code)
        return
    if count:
        raise VerificationError(f"{file}: {count} violation{'s' if count > 1 else ''}")
    typer.echo(f"{file}: ok, {_summary(verification.figures, document.source.size)}")


def _summary(figures: object, messages: int) -> str:
    """`240 messages in 18 phases; largest load: send 1, receive 1, link 1, channels 6`."""
    assert isinstance(figures, dict)  # what the verifier counted
    load = ", ".join(f"{name} {figures['load'][name]}" for name in ("send", "receive", "link", "channels"))
    return f"{messages} messages in {figures['phases']} phases; largest load: {load}"
