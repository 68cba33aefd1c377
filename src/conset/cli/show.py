"""`conset show`: anything that conset knows, in the terminal, or as a picture with `-o x.svg`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from conset.base import InputError, UsageError, shortened, unknown_name
from conset.cli.inputs import Reading
from conset.cli.options import (
    MACHINES,
    PATTERNS,
    JsonOption,
    SeedOption,
    allow,
    completing,
    expanded,
    opt,
    option_of,
    refuse,
)
from conset.cli.output import WIDTH, console, print_json, progress
from conset.compilation import CompileOptions, summarize
from conset.inputs import load_pattern
from conset.machine import FILE_SUFFIXES, is_cluster, is_spec, machine_names, parse_machine
from conset.models import predict_program, read_record
from conset.pattern import GENERATORS, input_path, is_record
from conset.report import (
    TimelineView,
    Views,
    blocks_drawn,
    check_output,
    check_phase,
    is_page,
    machine_html,
    machine_object,
    machine_text,
    pattern_html,
    pattern_object,
    pattern_text,
    picture_machine,
    picture_message,
    picture_pattern,
    picture_phase,
    picture_timeline,
    program_object,
    program_section,
    program_views_object,
    program_views_text,
    require_matplotlib,
    require_paths,
    save,
    schedule_draws,
    section_text,
    timeline_text,
    views_object,
    views_text,
    write_page,
    write_schedule_page,
)
from conset.schedule import (
    SCHEDULE,
    TIMELINE,
    Manifest,
    Program,
    read_compiled,
    read_document,
    sha256_of,
    sniff,
)
from conset.verification import verify

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

Kind = Literal["machine", "pattern", "schedule", "program", "timeline"]
TAKEN_BY: Mapping[str, tuple[Kind, ...]] = MappingProxyType(
    {
        "phase": ("schedule",),
        "partners": ("schedule",),
        "linkage": ("schedule", "program"),
        "guarantees": ("schedule", "program"),
        "message": ("program",),
        **dict.fromkeys(("on", "parts", "rows_to", "word", "ranks_per_node", "seed"), ("pattern",)),
    }
)
"""Option, with what it is for."""
TEXTS = ("partners", "linkage", "guarantees")
"""Views that have no picture."""


@dataclass(frozen=True)
class _Shown:
    """What is shown, whatever it is.

    Attributes:
        body: what `--json` has.
        manifest: how it was made.
        text: of a width, for people.
        draw: writes a picture or a page.
        warning: of a schedule that breaks rules.
    """

    body: Mapping[str, Any]
    manifest: Manifest
    text: Callable[[int], RenderableType]
    draw: Callable[[Path], None]
    warning: str = ""


@expanded()
def command(
    thing: Annotated[
        str,
        typer.Argument(
            metavar="FILE|PATTERN|MACHINE",
            autocompletion=completing(*PATTERNS, *MACHINES),
            help="A file of `compile` or `simulate`, a pattern, a machine.",
        ),
    ],
    on: Annotated[
        str | None,
        opt(
            "--on MACHINE",
            "The machine a pattern takes its ranks and network from.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    phase: Annotated[
        str | None,
        opt("--phase P|all", "One phase of a schedule, or each: its transfers and their routes."),
    ] = None,
    partners: Annotated[
        bool,
        opt(
            "--partners", "Partners of each exchange: a row for each rank, a column for each phase."
        ),
    ] = False,
    linkage: Annotated[
        str | None,
        opt("--linkage NODE", "What a node is loaded with in each phase; `all` for every node."),
    ] = None,
    guarantees: Annotated[
        bool,
        opt("--guarantees", "Least bandwidth and worst latency of every connection."),
    ] = False,
    message: Annotated[
        int | None,
        opt("--message M", "With -o, of a program: the message whose way through is drawn."),
    ] = None,
    *,
    reading: Reading,
    ranks_per_node: Annotated[int, option_of(CompileOptions, "ranks_per_node")] = 1,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        opt("-o/--output FILE", "A picture: .svg or .png; a page: .html."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Draw a machine, pattern, schedule, program or timeline in the terminal or as a picture."""
    kind = kind_of(thing, of_pattern=on is not None)
    asked = {"phase": phase, "partners": partners, "linkage": linkage, "guarantees": guarantees}
    of_patterns = {"on": on, **reading.given(), "seed": seed or None}
    of_patterns["ranks_per_node"] = None if ranks_per_node == 1 else ranks_per_node
    given = {**asked, "message": message, **of_patterns}
    allow(given, TAKEN_BY, kind, f"is for a {{takers}}, '{thing}' is a {kind}")
    if output is not None:
        refuse({name: asked[name] for name in TEXTS}, f"is text only; -o {output} draws the {kind}")
        if not is_page(output):
            check_output(output, "a picture")
        require_matplotlib()
    elif message is not None:
        raise UsageError("--message: selects what -o draws, which is not given")
    chosen = _number_or_all("--phase", phase, "a whole number or all is required")
    node = _number_or_all("--linkage", linkage, "a node or `all` required")
    views = Views(chosen, partners, node, guarantees)
    if kind == "pattern":
        shown = _shown_pattern(thing, on, reading, ranks_per_node, seed)
    elif kind == "machine":
        shown = _shown_machine(thing)
    else:
        shown = _shown_file(kind, Path(thing), views, message, output)
    if output is not None:
        with progress("drawing"):
            shown.draw(output)
    if json:
        print_json("conset/show@1", {"kind": kind, **shown.body}, shown.manifest)
    out = console(json)
    out.print(shown.text(out.width))
    if shown.warning:
        out.print(shown.warning, style="bold", markup=False)


def _number_or_all(option: str, word: str | None, rule: str) -> int | None:
    """A whole number; -1 for `all`, None without a word."""
    if word is None or word == "all":
        return None if word is None else -1
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise UsageError(f"{option} '{shortened(word)}': {rule}")
    return int(word)


def kind_of(thing: str, *, of_pattern: bool = False) -> Kind:
    """What the argument names: a file of `compile` or `simulate`, a machine or a pattern.

    A file that holds a network and its demands is a machine, unless `of_pattern`.

    Raises:
        UsageError: an unknown word; suggests the nearest pattern or machine.
    """
    if sniff(thing).form == "program":
        return "program"
    head = thing.strip().split(",", 1)[0].split(":", 1)[0].strip()
    if head in GENERATORS or is_record(Path(thing)):
        return "pattern"
    if is_spec(thing.strip()) or is_cluster(thing.strip().split(",", 1)[0]):
        return "machine"
    path = Path(thing)
    suffix = path.suffix.lower()
    if suffix in (".json", ".npz"):
        kind = _kind_by_content(path, of_pattern)
        if kind is not None:
            return kind
    if suffix in FILE_SUFFIXES:
        return "machine"
    if input_path(thing) is None:
        raise unknown_name("pattern or machine", head, (*GENERATORS, *machine_names()))
    return "pattern"


def _kind_by_content(path: Path, of_pattern: bool) -> Kind | None:
    """A schedule or a timeline.

    What names no schema is taken for a schedule, whose reader reports what is wrong.

    Raises:
        InputError: another schema.
    """
    found = sniff(path)
    if path.suffix.lower() == ".npz" and (found.form == "pattern" or found.container != "npz"):
        return None
    if found.form == "network":
        return "pattern" if of_pattern else "machine"
    if found.schema not in ("", SCHEDULE, TIMELINE):
        raise InputError(f"{path}: schema must be {SCHEDULE} or {TIMELINE}, is '{found.schema}'")
    return "timeline" if found.form == "timeline" else "schedule"


def _manifest(thing: str, seed: int = 0) -> Manifest:
    path = Path(thing)
    is_input = path.is_file() or is_record(path)
    return Manifest(
        command=f"conset show {path.name if is_input else thing}",
        seed=seed,
        input_sha256=sha256_of(path if is_input else thing),
    )


def _drawing(
    title: str, draw: Callable[[], Figure], *, facts: str = "", text: str = ""
) -> Callable[[Path], None]:
    """Writes a picture, or a page with it."""

    def write(output: Path) -> None:
        if is_page(output):
            write_page(output, title, facts, text, [draw])
        else:
            save(draw, output)

    return write


def _shown_file(
    kind: Kind, path: Path, views: Views, message: int | None, output: Path | None
) -> _Shown:
    if kind == "timeline":
        return _shown_timeline(path)
    if kind == "program":
        return _shown_program(path, views, message)
    return _shown_schedule(path, views, output)


def _shown_pattern(
    thing: str, on: str | None, reading: Reading, ranks_per_node: int, seed: int
) -> _Shown:
    if on is None and ranks_per_node != 1:
        rule = "goes with --on MACHINE, whose nodes have the ranks"
        raise UsageError(f"--ranks-per-node {ranks_per_node}: {rule}")
    how: dict[str, Any] = {"ranks_per_node": ranks_per_node, "seed": seed, **reading.arguments()}
    with progress("reading"):
        pattern = load_pattern(thing, on, **how)
    return _Shown(
        {"name": pattern.name, **pattern_object(pattern)},
        _manifest(thing, seed),
        lambda width: pattern_text(pattern, width=width),
        _drawing(pattern.name, lambda: picture_pattern(pattern), facts=pattern_html(pattern)),
    )


def _shown_machine(spec: str) -> _Shown:
    machine = parse_machine(spec)
    return _Shown(
        machine_object(machine),
        _manifest(spec),
        lambda _: machine_text(machine),
        _drawing(machine.name, lambda: picture_machine(machine), facts=machine_html(machine)),
    )


def _shown_schedule(path: Path, views: Views, output: Path | None) -> _Shown:
    with progress("reading"):
        schedule = read_compiled(path).whole
    if views.phase is not None and views.phase >= 0:
        check_phase(schedule, views.phase)
    if views.phase == -1 and output is not None and not is_page(output):
        raise UsageError(
            f"--phase all: -o {output} draws one phase; a page (.html) has all of them"
        )
    with progress("verifying, bounding, predicting"):
        summary = summarize(schedule)
    # what the scheduling took is not in a file
    del summary["compile_s"]

    def draw(output: Path) -> None:
        if is_page(output):
            write_schedule_page(output, schedule, summary, views, WIDTH)
        elif views.phase is None:
            save(schedule_draws(schedule, summary)[0], output)
        else:
            save(partial(picture_phase, schedule, views.phase), output)

    warning = f"this schedule breaks rules: conset verify {path} names them"
    return _Shown(
        {"name": path.name, **views_object(schedule, summary, views)},
        schedule.manifest,
        lambda width: views_text(schedule, summary, views, width),
        draw,
        "" if summary["verified"] else warning,
    )


def _shown_program(path: Path, views: Views, message: int | None) -> _Shown:
    """Blocks as their phases and switches, else one message's way through the stages."""
    program = read_compiled(path)
    assert isinstance(program, Program)
    prediction = predict_program(program)
    verified = verify(read_document(path)).ok  # with the figures that it states
    section = program_section(program, prediction, verified=verified)
    text = section_text(section, 10, quiet=False)
    body = {
        "name": path.name,
        **program_object(program, prediction),
        "verified": verified,
        **program_views_object(program, views),
    }

    def draw(output: Path) -> None:
        if program.paths is None and message is None:
            _drawing(f"blocks on {program.machine.name}", blocks_drawn(program), text=text)(output)
            return
        pattern = require_paths(program).pattern
        title, facts = f"{pattern.name} on {program.machine.name}", pattern_html(pattern)
        way = partial(picture_message, program, message)
        _drawing(title, way, facts=facts, text=text)(output)

    warning = f"this program breaks rules: conset verify {path} names them"
    shown = program_views_text(program, views) or text
    return _Shown(body, program.manifest, lambda _: shown, draw, "" if verified else warning)


def _shown_timeline(path: Path) -> _Shown:
    """What a timeline file holds.

    Raises:
        InputError: no timeline, or one that does not say which messages it is of.
    """
    with progress("reading"):
        record = read_record(path)
        try:
            view = TimelineView(record.timeline, record.machine, record.settings)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    title = f"{view.timeline.model} on {view.timeline.machine}"

    def draw(output: Path) -> None:
        text = timeline_text(view, WIDTH)
        _drawing(title, lambda: picture_timeline(view), text=text)(output)

    body = view.to_object()
    return _Shown(body, record.manifest, lambda width: timeline_text(view, width), draw)
