"""Programs on the command line: what compile, predict and show do with them.

`conset compile program.toml` compiles blocks of patterns one by one and lets their phases share contexts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from conset.compilation.options import CompileOptions

SCHEMA = "conset/program@1"


def compile_to_file(
    path: str, on: str, options: CompileOptions, given: Mapping[str, Any], output: Path | None, json: bool
) -> None:  # fmt: skip
    """Compiles, verifies, predicts and writes a program; exit code 6 where it was stopped early."""
    from conset.cli.inputs import manifest_of
    from conset.cli.output import console, print_json, progress
    from conset.cli.signals import STOPPED, interruptible
    from conset.errors import VerificationError
    from conset.formats.program import document_of_program, require_json, write_program_document
    from conset.formats.schedule import require_writable
    from conset.machine.spec import parse_machine
    from conset.program import compile_program, predict_program, read_program
    from conset.report.outcome import program_object, program_text
    from conset.verification import verify_program

    if output is not None:
        require_json(output)
        require_writable(output)
    machine = parse_machine(on)
    with progress("reading"):
        blocks = read_program(path, machine, options)
    manifest = manifest_of("compile", path, on, options.seed, given)
    with interruptible(), progress(f"scheduling {len(blocks)} blocks", search=True):
        program = compile_program(blocks, machine, options, manifest=manifest)
    with progress("verifying"):
        document = document_of_program(program)
        verdict = verify_program(document)
    if not verdict.ok:
        raise VerificationError(f"the program does not verify, a bug of conset: {verdict.violations[0].text}")
    prediction = predict_program(program)
    if output is not None:
        with progress("writing"):
            write_program_document(document, output)
    if json:
        print_json(SCHEMA, program_object(program, prediction), manifest)
    console(json).print(program_text(program, prediction))
    if program.stopped_early:
        raise typer.Exit(STOPPED)


def predict_file(file: Path, on: str | None, settings: str | None, json: bool) -> None:
    """Predicts a program by its formula."""
    from conset.cli.output import console, print_json
    from conset.formats.program import read_program_file
    from conset.machine.spec import parse_machine, with_settings
    from conset.program import predict_program
    from conset.report.outcome import program_text
    from conset.schedule.manifest import Manifest, sha256_of

    program = read_program_file(file)
    machine = None if on is None else parse_machine(on)
    if settings is not None:
        machine = with_settings(machine or program.machine, settings)
    prediction = predict_program(program, machine=machine)
    arguments = [f"{option} {value}" for option, value in (("--on", on), ("--set", settings)) if value is not None]
    if json:
        command = " ".join(["conset predict", file.name, *arguments])
        manifest = Manifest(command, program.manifest.seed, sha256_of(file))
        print_json("conset/predict@1", {**prediction.to_object(), "by": "formula"}, manifest)
    console(json).print(program_text(program, prediction, verified=False))


def show_file(file: Path, json: bool) -> None:
    """A program in the terminal."""
    from conset.cli.output import console, print_json
    from conset.formats.program import document_of_program, read_program_file
    from conset.program import predict_program
    from conset.report.outcome import program_object, program_text
    from conset.verification import verify_program

    program = read_program_file(file)
    prediction = predict_program(program)
    verified = verify_program(document_of_program(program)).ok
    if json:
        body = {"kind": "program", "name": file.name, **program_object(program, prediction), "verified": verified}
        print_json("conset/show@1", body, program.manifest)
    console(json).print(program_text(program, prediction, verified=verified))
