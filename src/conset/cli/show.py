"""`conset show`: a machine, pattern, schedule, program or timeline, as text or picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from conset.cli import completion as c
from conset.cli import options as o
from conset.cli.output import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure

    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.report.terminal_schedule import Views
    from conset.schedule.manifest import Manifest
    from conset.schedule.schedule import Schedule

SCHEMA = "conset/show@1"
TEXTS = ("--partners", "--linkage", "--guarantees")
"""Views that have no picture."""
Kind = Literal["machine", "pattern", "schedule", "timeline"]

ThingArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE|PATTERN|MACHINE",
        autocompletion=c.complete_thing,
        help="A file of `compile` or `simulate`, a pattern, a machine.",
    ),
]
ForMachineOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="MACHINE",
        autocompletion=c.complete_machine,
        help="The machine a pattern takes its ranks and network from.",
    ),
]
PhaseOption = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="P|all",
        help="One phase of a schedule, or each: its transfers and their routes.",
    ),
]
PartnersOption = Annotated[
    bool,
    typer.Option(
        "--partners", help="Who exchanges with whom: a row for each rank, a column for each phase."
    ),
]
LinkageOption = Annotated[
    str | None,
    typer.Option(
        "--linkage",
        metavar="NODE",
        help="What a node is loaded with in each phase; `all` for every node.",
    ),
]
GuaranteesOption = Annotated[
    bool,
    typer.Option("--guarantees", help="Least bandwidth and worst latency of every connection."),
]
MessageOption = Annotated[
    int | None,
    typer.Option(
        "--message",
        metavar="M",
        help="With -o, of a program: the message whose way through is drawn.",
    ),
]
PictureOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="A picture: .svg or .png; a page: .html."),
]


def command(
    thing: ThingArgument,
    on: ForMachineOption = None,
    phase: PhaseOption = None,
    partners: PartnersOption = False,
    linkage: LinkageOption = None,
    guarantees: GuaranteesOption = False,
    message: MessageOption = None,
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    ranks_per_node: o.RanksPerNodeOption = 1,
    seed: o.SeedOption = 0,
    output: PictureOption = None,
    json: o.JsonOption = False,
) -> None:
    """Draw a machine, pattern, schedule, program or timeline in the terminal or as a picture."""
    from conset.base.errors import UsageError
    from conset.schedule.files.sniff import sniff

    reading = {
        "--on": on,
        "--parts": parts,
        "--rows-to": rows_to,
        "--word": None if word == "8" else word,
        "--ranks-per-node": None if ranks_per_node == 1 else ranks_per_node,
        "--seed": seed or None,
    }
    if sniff(thing).form == "program":
        from conset.cli.programs import show_file
        from conset.report.terminal_schedule import Views

        requested = [
            name
            for name, given in (("--phase", phase is not None), ("--partners", partners))
            if given
        ]
        if requested:
            raise UsageError(f"{requested[0]}: '{thing}' is a program, not a schedule")
        _refuse_reading(thing, "program", reading)
        texts = [
            name
            for name, given in (("--linkage", linkage is not None), ("--guarantees", guarantees))
            if given
        ]
        if output is not None and texts:
            raise UsageError(f"{texts[0]}: is text only; -o {output} draws the program")
        node = _number_or_all("--linkage", linkage, "a node or `all` required")
        show_file(Path(thing), json, output, message, Views(linkage=node, guarantees=guarantees))
        return
    if message is not None:
        raise UsageError(f"--message: '{thing}' is no program, whose messages travel in stages")
    if output is not None:
        from conset.report.page import is_page
        from conset.report.style import check_picture_path, require_matplotlib

        if not is_page(output):
            check_picture_path(output)
        require_matplotlib()
    kind = kind_of(thing, of_pattern=on is not None)
    of_schedules = {
        "--phase": phase is not None,
        "--partners": partners,
        "--linkage": linkage is not None,
        "--guarantees": guarantees,
    }
    requested = [name for name, given in of_schedules.items() if given]
    if kind != "schedule" and requested:
        raise UsageError(f"{requested[0]}: '{thing}' is a {kind}, not a schedule")
    if kind != "pattern":
        _refuse_reading(thing, kind, reading)
    elif on is None and ranks_per_node != 1:
        raise UsageError(
            f"--ranks-per-node {ranks_per_node}: goes with --on MACHINE, whose nodes have the ranks"
        )
    texts = [name for name in requested if name in TEXTS]
    if output is not None and texts:
        raise UsageError(
            f"{texts[0]}: is text only; -o {output} draws a schedule, or one phase of "
            "it with --phase"
        )
    if kind == "schedule":
        from conset.report.terminal_schedule import Views

        shown_phase = _number_or_all("--phase", phase, "a whole number or all is required")
        node = _number_or_all("--linkage", linkage, "a node or `all` required")
        _show_schedule(Path(thing), Views(shown_phase, partners, node, guarantees), output, json)
    elif kind == "timeline":
        _show_timeline(Path(thing), output, json)
    elif kind == "machine":
        _show_machine(thing, output, json)
    else:
        traffic = _read_pattern(thing, on, ranks_per_node, seed, parts, rows_to, word)
        _show_pattern(traffic, _manifest(thing, seed), output, json)


def _refuse_reading(thing: str, kind: str, reading: Mapping[str, Any]) -> None:
    """Raises UsageError where an option says how a pattern is read, and `thing` is none."""
    from conset.base.errors import UsageError

    refused = [name for name, value in reading.items() if value is not None]
    if refused:
        raise UsageError(f"{refused[0]}: is for patterns, '{thing}' is a {kind}")


def _number_or_all(option: str, word: str | None, rule: str) -> int | None:
    """A whole number; -1 for `all`, None without a word."""
    from conset.base.errors import UsageError, shortened

    if word is None or word == "all":
        return None if word is None else -1
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise UsageError(f"{option} '{shortened(word)}': {rule}")
    return int(word)


def kind_of(thing: str, *, of_pattern: bool = False) -> Kind:
    """What the argument names: a schedule's file, a timeline's, a machine or a pattern.

    A file that holds a network and its demands is a machine, unless `of_pattern`.

    Raises:
        UsageError: an unknown word; suggests the nearest pattern or machine.
    """
    from conset.base.errors import unknown_name
    from conset.machine.network.families.table import FAMILIES
    from conset.machine.spec import FILE_SUFFIXES, KINDS, PRESETS, is_spec
    from conset.pattern.generators.table import GENERATORS
    from conset.pattern.spec import input_path

    head = thing.strip().split(",", 1)[0].split(":", 1)[0].strip()
    if head in GENERATORS:
        return "pattern"
    if is_spec(thing.strip()):
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
        raise unknown_name("pattern or machine", head, (*GENERATORS, *PRESETS, *KINDS, *FAMILIES))
    return "pattern"


def _kind_by_content(path: Path, of_pattern: bool) -> Kind | None:
    """A schedule or a timeline.

    What names no schema is taken for a schedule, whose reader says what is wrong.

    Raises:
        InputError: another schema.
    """
    from conset.base.errors import InputError
    from conset.schedule.files.sniff import SCHEDULE, TIMELINE, sniff

    found = sniff(path)
    if path.suffix.lower() == ".npz" and (found.form == "pattern" or found.container != "npz"):
        return None
    if found.form == "network":
        return "pattern" if of_pattern else "machine"
    if found.schema not in ("", SCHEDULE, TIMELINE):
        raise InputError(f"{path}: schema must be {SCHEDULE} or {TIMELINE}, is '{found.schema}'")
    return "timeline" if found.form == "timeline" else "schedule"


def _manifest(thing: str, seed: int = 0) -> Manifest:
    from conset.schedule.manifest import Manifest, sha256_of

    path = Path(thing)
    digest = sha256_of(path) if path.is_file() else sha256_of(thing)
    return Manifest(
        command=f"conset show {path.name if path.is_file() else thing}",
        seed=seed,
        input_sha256=digest,
    )


def _read_pattern(
    thing: str,
    on: str | None,
    ranks_per_node: int,
    seed: int,
    parts: int | None,
    rows_to: int | None,
    word: str,
) -> Pattern:
    from conset.base.units import parse_size
    from conset.cli.inputs import read_inputs
    from conset.cli.output import progress
    from conset.pattern.spec import parse_pattern

    with progress("reading"):
        if on is None:
            return parse_pattern(
                thing, seed=seed, parts=parts, rows_to=rows_to, word=parse_size(word, "--word")
            )
        pattern, _ = read_inputs(
            thing,
            on,
            ranks_per_node=ranks_per_node,
            seed=seed,
            parts=parts,
            rows_to=rows_to,
            word=word,
        )
        return pattern


def _show_pattern(pattern: Pattern, manifest: Manifest, output: Path | None, as_json: bool) -> None:
    from conset.cli.output import console, print_json
    from conset.report.pattern import pattern_text

    if output is not None:
        from conset.report.html import pattern_html
        from conset.report.pattern import picture_pattern

        _draw(output, pattern.name, pattern_html(pattern), lambda: picture_pattern(pattern))
    if as_json:
        from conset.report.objects import pattern_object

        print_json(
            SCHEMA, {"kind": "pattern", "name": pattern.name, **pattern_object(pattern)}, manifest
        )
    out = console(as_json)
    out.print(pattern_text(pattern, width=out.width))


def _show_machine(spec: str, output: Path | None, as_json: bool) -> None:
    from conset.cli.output import console, print_json
    from conset.machine.spec import parse_machine
    from conset.report.machine import machine_text

    machine: Machine = parse_machine(spec)
    if output is not None:
        from conset.report.html import machine_html
        from conset.report.machine import picture_machine

        _draw(output, machine.name, machine_html(machine), lambda: picture_machine(machine))
    if as_json:
        from conset.report.objects import machine_object

        print_json(SCHEMA, {"kind": "machine", **machine_object(machine)}, _manifest(spec))
    console(as_json).print(machine_text(machine))


def _draw(output: Path, title: str, facts: str, draw: Callable[[], Figure], text: str = "") -> None:
    """A picture, or a page with it."""
    from conset.report.page import is_page, write_page
    from conset.report.style import save

    if is_page(output):
        write_page(output, title, facts, text, [draw])
    else:
        save(draw, output)


def _show_schedule(path: Path, views: Views, output: Path | None, as_json: bool) -> None:
    from conset.base.errors import UsageError
    from conset.cli.output import console, print_json, progress
    from conset.compilation.summary import summarize
    from conset.report.page import is_page
    from conset.report.routes import check_phase
    from conset.report.terminal_schedule import views_text
    from conset.schedule.files.schedule import read_schedule

    with progress("reading"):
        schedule = read_schedule(path)
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
    if output is not None:
        with progress("drawing"):
            _draw_schedule(schedule, summary, views, output)
    out = console(as_json)
    if as_json:
        from conset.report.objects import views_object

        body = {"kind": "schedule", "name": path.name, **views_object(schedule, summary, views)}
        print_json(SCHEMA, body, schedule.manifest)
    out.print(views_text(schedule, summary, views, out.width))
    if not summary["verified"]:
        out.print(f"[bold]this schedule breaks rules[/]: conset verify {path} names them")


def _draw_schedule(schedule: Schedule, summary: dict[str, Any], views: Views, output: Path) -> None:
    from functools import partial

    from conset.report.page import is_page, write_schedule_page
    from conset.report.picture_schedule import picture_phase, picture_schedule
    from conset.report.style import save

    if is_page(output):
        write_schedule_page(output, schedule, summary, views, WIDTH)
    elif views.phase is None:
        save(partial(picture_schedule, schedule, summary), output)
    else:
        save(partial(picture_phase, schedule, views.phase), output)


def _show_timeline(path: Path, output: Path | None, as_json: bool) -> None:
    """Prints what a timeline file holds, and draws it where asked.

    Raises:
        InputError: no timeline, or one that does not say which messages it is of.
    """
    from conset.base.errors import InputError
    from conset.cli.output import console, print_json, progress
    from conset.models.timeline_file import read_record
    from conset.report.terminal_timeline import timeline_text
    from conset.report.timeline_view import TimelineView

    with progress("reading"):
        record = read_record(path)
        try:
            view = TimelineView(record.timeline, record.machine, record.settings)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    if output is not None:
        from conset.report.picture_timeline import picture_timeline

        with progress("drawing"):
            title = f"{view.timeline.model} on {view.timeline.machine}"
            _draw(output, title, "", lambda: picture_timeline(view), timeline_text(view, WIDTH))
    if as_json:
        print_json(SCHEMA, {"kind": "timeline", **view.to_object()}, record.manifest)
    out = console(as_json)
    out.print(timeline_text(view, out.width))
