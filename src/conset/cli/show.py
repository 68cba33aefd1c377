"""`conset show`: a machine, a pattern, a schedule or a timeline in the terminal, or as a picture with `-o x.svg`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from conset.cli import options as o
from conset.cli.output import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.schedule.manifest import Manifest
    from conset.schedule.schedule import Schedule

SCHEMA = "conset/show@1"
TEXTS = ("--partners", "--linkage", "--guarantees")
"""Views of a schedule that have no picture."""
Kind = Literal["machine", "pattern", "schedule", "timeline"]

ThingArgument = Annotated[
    str, typer.Argument(metavar="FILE|PATTERN|MACHINE", help="A file of `compile` or `simulate`, a pattern, a machine.")
]
ForMachineOption = Annotated[
    str | None, typer.Option("--on", metavar="MACHINE", help="The machine a pattern takes its ranks and network from.")
]
PhaseOption = Annotated[
    str | None,
    typer.Option("--phase", metavar="P|all", help="One phase of a schedule, or each: its transfers and their routes."),
]
PartnersOption = Annotated[
    bool, typer.Option("--partners", help="Who exchanges with whom: a row for each rank, a column for each phase.")
]
LinkageOption = Annotated[
    str | None,
    typer.Option("--linkage", metavar="NODE", help="What a node is loaded with in each phase; `all` for every node."),
]
GuaranteesOption = Annotated[
    bool, typer.Option("--guarantees", help="Least bandwidth and worst latency of every connection.")
]
PictureOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="A picture: .svg or .png; a page: .html.")
]  # fmt: skip


def command(
    thing: ThingArgument,
    on: ForMachineOption = None,
    phase: PhaseOption = None,
    partners: PartnersOption = False,
    linkage: LinkageOption = None,
    guarantees: GuaranteesOption = False,
    parts: o.PartsOption = None,
    rows_to: o.RowsToOption = None,
    word: o.WordOption = "8",
    ranks_per_node: o.RanksPerNodeOption = 1,
    seed: o.SeedOption = 0,
    output: PictureOption = None,
    json: o.JsonOption = False,
) -> None:
    """Draw a machine, a pattern, a schedule or a timeline, in the terminal or as a picture."""
    from conset.errors import UsageError
    from conset.formats.sniff import sniff

    if sniff(thing).form == "program":
        from conset.cli.programs import show_file

        views = {
            "-o": output is not None, "--phase": phase is not None, "--partners": partners,
            "--linkage": linkage is not None, "--guarantees": guarantees,
        }  # fmt: skip
        requested = [name for name, given in views.items() if given]
        if requested:
            raise UsageError(f"{requested[0]}: '{thing}' is a program, which is shown as text only")
        show_file(Path(thing), json)
        return
    if output is not None:
        from conset.report.html import is_page
        from conset.report.style import check_picture_path, require_matplotlib

        if not is_page(output):
            check_picture_path(output)
        require_matplotlib()
    kind = kind_of(thing)
    of_schedules = {
        "--phase": phase is not None, "--partners": partners, "--linkage": linkage is not None,
        "--guarantees": guarantees,
    }  # fmt: skip
    requested = [name for name, given in of_schedules.items() if given]
    if kind != "schedule" and requested:
        raise UsageError(f"{requested[0]}: '{thing}' is a {kind}, not a schedule")
    reading = {"--on": on, "--parts": parts, "--rows-to": rows_to}
    refused = [name for name, value in reading.items() if value is not None]
    if kind != "pattern" and refused:
        raise UsageError(f"{refused[0]}: is for patterns, '{thing}' is a {kind}")
    texts = [name for name in requested if name in TEXTS]
    if output is not None and texts:
        raise UsageError(f"{texts[0]}: is text only; -o {output} draws a schedule, or one phase of it with --phase")
    if kind == "schedule":
        _show_schedule(Path(thing), Views(_phase_of(phase), partners, _node_of(linkage), guarantees), output, json)
    elif kind == "timeline":
        from conset.cli.show_timeline import show_timeline

        show_timeline(Path(thing), output, json)
    elif kind == "machine":
        _show_machine(thing, output, json)
    else:
        traffic = _read_pattern(thing, on, ranks_per_node, seed, parts, rows_to, word)
        _show_pattern(traffic, _manifest(thing, seed), output, json)


@dataclass(frozen=True)
class Views:
    """What is asked of a schedule beyond its summary; `phase` and `linkage` are numbers, or -1 for all of them."""

    phase: int | None
    partners: bool
    linkage: int | None
    guarantees: bool


def _phase_of(word: str | None) -> int | None:
    from conset.errors import UsageError, shortened

    if word is None or word == "all":
        return None if word is None else -1
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise UsageError(f"--phase '{shortened(word)}': a whole number or all is required")
    return int(word)


def _node_of(word: str | None) -> int | None:
    from conset.errors import UsageError, shortened

    if word is None or word == "all":
        return None if word is None else -1
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise UsageError(f"--linkage {shortened(word)}: a node or `all` required")
    return int(word)


def kind_of(thing: str) -> Kind:
    """What the argument names: a schedule's file, a timeline's, a machine or a pattern.

    Raises:
        UsageError: an unknown word; suggests the nearest pattern or machine.
    """
    from conset.errors import unknown_name
    from conset.machine.spec import FILE_SUFFIXES, KINDS, PRESETS
    from conset.pattern.generators.table import GENERATORS
    from conset.pattern.spec import input_path

    head = thing.strip().split(",", 1)[0].split(":", 1)[0].strip()
    if head in GENERATORS:
        return "pattern"
    if head in (*PRESETS, *KINDS):
        return "machine"
    path = Path(thing)
    suffix = path.suffix.lower()
    if suffix in (".json", ".npz"):
        kind = _kind_by_content(path)
        if kind is not None:
            return kind
    if suffix in FILE_SUFFIXES:
        return "machine"
    if input_path(thing) is None:
        raise unknown_name("pattern or machine", head, (*GENERATORS, *PRESETS, *KINDS))
    return "pattern"


def _kind_by_content(path: Path) -> Kind | None:
    """A schedule or a timeline; what names no schema is taken for a schedule, whose reader says what is wrong.

    Raises:
        InputError: another schema.
    """
    from conset.errors import InputError
    from conset.formats.sniff import SCHEDULE, TIMELINE, sniff

    found = sniff(path)
    if path.suffix.lower() == ".npz" and (found.form == "pattern" or found.container != "npz"):
        return None
    if found.schema not in ("", SCHEDULE, TIMELINE):
        raise InputError(f"{path}: schema must be {SCHEDULE} or {TIMELINE}, is '{found.schema}'")
    return "timeline" if found.form == "timeline" else "schedule"


def _manifest(thing: str, seed: int = 0) -> Manifest:
    from conset.schedule.manifest import Manifest, sha256_of

    path = Path(thing)
    digest = sha256_of(path) if path.is_file() else sha256_of(thing)
    return Manifest(command=f"conset show {path.name if path.is_file() else thing}", seed=seed, input_sha256=digest)


def _read_pattern(
    thing: str, on: str | None, ranks_per_node: int, seed: int, parts: int | None, rows_to: int | None, word: str
) -> Pattern:
    from conset.cli.inputs import read_inputs
    from conset.cli.output import progress
    from conset.pattern.spec import parse_pattern
    from conset.units import parse_size

    with progress("reading"):
        if on is None:
            return parse_pattern(thing, seed=seed, parts=parts, rows_to=rows_to, word=parse_size(word, "--word"))
        pattern, _ = read_inputs(
            thing, on, ranks_per_node=ranks_per_node, seed=seed, parts=parts, rows_to=rows_to, word=word
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

        print_json(SCHEMA, {"kind": "pattern", "name": pattern.name, **pattern_object(pattern)}, manifest)
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
        from conset.cli.machines import machine_object

        print_json(SCHEMA, {"kind": "machine", **machine_object(machine)}, _manifest(spec))
    console(as_json).print(machine_text(machine))


def _draw(output: Path, title: str, facts: str, draw: Callable[[], Figure]) -> None:
    """A picture, or a page with it."""
    from conset.report.html import is_page, write_page
    from conset.report.style import save

    if is_page(output):
        write_page(output, title, facts, "", [draw])
    else:
        save(draw, output)


def _show_schedule(path: Path, views: Views, output: Path | None, as_json: bool) -> None:
    from conset.cli.output import console, print_json, progress
    from conset.compilation.summary import summarize
    from conset.errors import UsageError
    from conset.formats.schedule import read_schedule
    from conset.report.html import is_page
    from conset.report.routes import check_phase

    with progress("reading"):
        schedule = read_schedule(path)
    if views.phase is not None and views.phase >= 0:
        check_phase(schedule, views.phase)
    if views.phase == -1 and output is not None and not is_page(output):
        raise UsageError(f"--phase all: -o {output} draws one phase; a page (.html) has all of them")
    with progress("verifying, bounding, predicting"):
        summary = summarize(schedule)
    # what the scheduling took is not in a file
    del summary["compile_s"]
    if output is not None:
        with progress("drawing"):
            _draw_schedule(schedule, summary, views, output)
    out = console(as_json)
    if as_json:
        print_json(SCHEMA, _schedule_object(path, schedule, summary, views), schedule.manifest)
    out.print(_schedule_text(schedule, summary, views, out.width))
    if not summary["verified"]:
        out.print(f"[bold]this schedule breaks rules[/]: conset verify {path} names them")


def _draw_schedule(schedule: Schedule, summary: dict[str, Any], views: Views, output: Path) -> None:
    from functools import partial

    from conset.report.html import MAX_PHASES, is_page, write_page
    from conset.report.picture_schedule import picture_phase, picture_schedule
    from conset.report.style import save

    whole = partial(picture_schedule, schedule, summary)
    if not is_page(output):
        save(whole if views.phase is None else partial(picture_phase, schedule, views.phase), output)
        return
    from rich.text import Text

    from conset.report.html import schedule_html

    phases = range(min(schedule.phases, MAX_PHASES)) if views.phase == -1 else [views.phase]
    draws = [whole, *(partial(picture_phase, schedule, phase) for phase in phases if phase is not None)]
    text = _schedule_text(schedule, summary, views, WIDTH)
    if views.phase == -1 and schedule.phases > MAX_PHASES:
        text = f"pictures of the first {MAX_PHASES} of {schedule.phases:,} phases\n\n{text}"
    write_page(
        output,
        f"{schedule.method} on {schedule.machine.name}",
        schedule_html(schedule),
        Text.from_markup(text).plain,
        draws,
    )


def _schedule_object(path: Path, schedule: Schedule, summary: dict[str, Any], views: Views) -> dict[str, Any]:
    from conset.report.objects import partners_object, phase_object, schedule_object

    body = {"kind": "schedule", "name": path.name, **schedule_object(schedule, summary)}
    if views.phase == -1:
        body["shown_phases"] = [phase_object(schedule, phase) for phase in range(schedule.phases)]
    elif views.phase is not None:
        body["shown_phase"] = phase_object(schedule, views.phase)
    if views.partners:
        body["partners"] = partners_object(schedule)
    if views.linkage is not None:
        from conset.schedule.linkage import linkage

        body["linkage"] = linkage(schedule, None if views.linkage < 0 else views.linkage).to_rows()
    if views.guarantees:
        from conset.report.terminal_schedule import guarantees_object

        body["guarantees"] = guarantees_object(schedule)
    return body


def _schedule_text(schedule: Schedule, summary: dict[str, Any], views: Views, width: int) -> str:
    from conset.report.terminal_schedule import guarantees_text, linkage_text, partners_text, phase_text, schedule_text

    texts = []
    if views.phase is not None:
        texts += [phase_text(schedule, p) for p in (range(schedule.phases) if views.phase == -1 else [views.phase])]
    if views.partners:
        texts.append(partners_text(schedule, width=width))
    if views.linkage is not None:
        texts.append(linkage_text(schedule, None if views.linkage < 0 else views.linkage))
    if views.guarantees:
        texts.append(guarantees_text(schedule))
    return "\n\n".join(texts) or schedule_text(schedule, summary)
