"""Programs on the command line: what compile, predict and show do with them.

`conset compile program.toml` compiles blocks of patterns one by one and lets their phases share
contexts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from conset.compilation.options import CompileOptions
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.report.terminal_schedule import Views
    from conset.schedule.manifest import Manifest
    from conset.schedule.program import Program

SCHEMA = "conset/program@1"


def compile_to_file(
    path: str,
    on: str,
    options: CompileOptions,
    given: Mapping[str, Any],
    output: Path | None,
    json: bool,
) -> None:
    """Compiles, verifies, predicts and writes a program; exit code 6 where it was stopped early."""
    from conset.base.errors import VerificationError
    from conset.cli.inputs import manifest_of
    from conset.cli.output import console, print_json, progress
    from conset.cli.signals import STOPPED, interruptible
    from conset.compilation.programs.compile import compile_program
    from conset.compilation.programs.spec import read_program
    from conset.machine.spec import parse_machine
    from conset.models.formula.evaluate import predict_program
    from conset.report.outcome import program_object, program_text
    from conset.schedule.files.program import (
        document_of_program,
        require_json,
        write_program_document,
    )
    from conset.schedule.files.schedule import require_writable
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
        raise VerificationError(
            f"the program does not verify, a bug of conset: {verdict.violations[0].text}"
        )
    prediction = predict_program(program)
    if output is not None:
        with progress("writing"):
            write_program_document(document, output)
    if json:
        print_json(SCHEMA, program_object(program, prediction), manifest)
    console(json).print(program_text(program, prediction))
    if program.stopped_early:
        raise typer.Exit(STOPPED)


def combine_to_file(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    combine: str,
    manifest: Manifest,
    output: Path | None,
    json: bool,
) -> None:
    """Compiles with combined messages, verifies and writes a program.

    A schedule where messages go directly.
    """
    from conset.base.errors import VerificationError
    from conset.cli.output import console, print_json, progress
    from conset.cli.signals import STOPPED, interruptible
    from conset.compilation.combining.choose import compile_combined
    from conset.compilation.combining.summary import summarize_combination
    from conset.methods.paths.table import parse_combine
    from conset.report.outcome import combined_text
    from conset.schedule.files.program import (
        document_of_program,
        require_json,
        write_program_document,
    )
    from conset.schedule.files.schedule import write_schedule

    if output is not None:
        require_json(output)  # before a search that may take long
    parse_combine(combine)
    with interruptible(), progress(f"combining by {combine}", search=True):
        found = compile_combined(pattern, machine, options, combine, manifest=manifest)
    with progress("verifying, bounding, predicting"):
        summary = summarize_combination(found)
    if not summary["verified"]:
        raise VerificationError(
            f"combine {found.combine}: what was made does not verify: this is a bug of conset"
        )
    if output is not None:
        with progress("writing"):
            if found.combine == "none":
                write_schedule(found.whole, output)
            else:
                write_program_document(document_of_program(found.program), output)
    if json:
        print_json("conset/compile@1", summary, manifest)
    console(json).print(combined_text(found, summary))
    if summary["stopped_early"]:
        raise typer.Exit(STOPPED)


def predict_file(
    file: Path, on: str | None, sync: str | None, settings: str | None, by: str | None, json: bool
) -> None:
    """Predicts a program.

    Building blocks by their formula unless a model is named, what forwards as a schedule.
    """
    from conset.base.errors import UsageError
    from conset.cli.output import console, print_json, progress
    from conset.compilation.options import FORMULA
    from conset.machine.spec import parse_machine, with_settings
    from conset.models.formula.evaluate import predict_program
    from conset.report.outcome import prediction_text, program_text
    from conset.schedule.files.program import read_program_file
    from conset.schedule.manifest import Manifest, sha256_of
    from conset.schedule.program import chained
    from conset.studies.compare import time_schedule

    program = read_program_file(file)
    machine = None if on is None else parse_machine(on)
    if settings is not None:
        machine = with_settings(machine or program.machine, settings)
    given = (("--on", on), ("--sync", sync), ("--set", settings), ("--by", by))
    arguments = [f"{option} {value}" for option, value in given if value is not None]
    manifest = Manifest(
        " ".join(["conset predict", file.name, *arguments]), program.manifest.seed, sha256_of(file)
    )
    if program.paths is None and by in (None, FORMULA):
        if sync not in (None, "barrier"):
            raise UsageError(
                f"--sync {sync}: the formula of a program's switches has barriers; --by "
                "names a model"
            )
        prediction = predict_program(program, machine=machine)
        if json:
            print_json("conset/predict@1", {**prediction.to_object(), "by": "formula"}, manifest)
        console(json).print(program_text(program, prediction, verified=False))
        return
    whole = chained(program)
    with progress("predicting", messages=whole.transfers):
        timing = time_schedule(whole, sync=sync, machine=machine, by=by)
    if json:
        print_json("conset/predict@1", timing.to_object(), manifest)
    console(json).print(prediction_text(timing), markup=False)


def show_file(
    file: Path,
    json: bool,
    output: Path | None = None,
    message: int | None = None,
    views: Views | None = None,
) -> None:
    """A program in the terminal, or the views of it that are asked for.

    Of which there are linkage and guarantees.

    With `output` drawn: blocks as their phases and switches, else one message's way through the
    stages.
    """
    from conset.base.errors import UsageError
    from conset.cli.output import console, print_json, progress
    from conset.models.formula.evaluate import predict_program
    from conset.report.outcome import program_object, program_text
    from conset.schedule.files.program import read_program_document, read_program_file
    from conset.verification import verify_program

    if message is not None and output is None:
        raise UsageError("--message: says what -o draws, which is not given")
    if output is not None:
        from conset.report.page import is_page
        from conset.report.style import check_picture_path, require_matplotlib

        if not is_page(output):
            check_picture_path(output)
        require_matplotlib()
    program = read_program_file(file)
    prediction = predict_program(program)
    verified = verify_program(read_program_document(file)).ok  # with the figures that it states
    text = program_text(program, prediction, verified=verified)
    if output is not None:
        with progress("drawing"):
            _draw_program(program, text, output, message)
    if json:
        body = {
            "kind": "program",
            "name": file.name,
            **program_object(program, prediction),
            "verified": verified,
        }
        print_json("conset/show@1", body | _views_object(program, views), program.manifest)
    console(json).print(_views_text(program, views) or text)
    if not verified:
        console(json).print(
            f"this program breaks rules: conset verify {file} names them",
            style="bold",
            markup=False,
        )


def _views_text(program: Program, views: Views | None) -> str:
    """Each view in turn; empty where none is asked for."""
    from conset.report.guarantees import program_guarantees_text, program_linkage_text

    texts = []
    if views is not None and views.linkage is not None:
        texts.append(program_linkage_text(program, None if views.linkage < 0 else views.linkage))
    if views is not None and views.guarantees:
        texts.append(program_guarantees_text(program))
    return "\n\n".join(texts)


def _views_object(program: Program, views: Views | None) -> dict[str, Any]:
    from conset.report.guarantees import program_guarantees_object, program_linkage_object

    body: dict[str, Any] = {}
    if views is not None and views.linkage is not None:
        body["linkage"] = program_linkage_object(
            program, None if views.linkage < 0 else views.linkage
        )
    if views is not None and views.guarantees:
        body["guarantees"] = program_guarantees_object(program)
    return body


def _draw_program(program: Program, text: str, output: Path, message: int | None) -> None:
    from functools import partial

    from conset.models.phases_over_time import switching
    from conset.report.html import pattern_html
    from conset.report.page import is_page, write_page
    from conset.report.picture_blocks import picture_blocks
    from conset.report.picture_stages import picture_message, require_paths
    from conset.report.style import save

    if program.paths is None and message is None:
        draw, title, facts = (
            partial(picture_blocks, program, switching(program)),
            f"blocks on {program.machine.name}",
            "",
        )
    else:
        pattern = require_paths(program).pattern
        draw, title = (
            partial(picture_message, program, message),
            f"{pattern.name} on {program.machine.name}",
        )
        facts = pattern_html(pattern)
    if is_page(output):
        write_page(output, title, facts, text, [draw])
    else:
        save(draw, output)
