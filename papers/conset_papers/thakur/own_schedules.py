"""Today's product constructions and `auto` beside the text's algorithms, by the same simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import conset
from conset.base.errors import InputError
from conset.base.units import format_size
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset_papers.item import Claim, Item, Picture, Table
from conset_papers.parallel import on_threads
from conset_papers.thakur.exchange import EXECUTED, MODEL, SYNC, exchange, simulated_table
from conset_papers.thakur.times import MESHES, METHODS, Mesh, mesh_word, printed, reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (256, 1024, 16384)
RANKED = 144
"""Processors up to which `auto` ranks by simulation too."""
LARGE = 48
"""Processors from which on the product constructions are asserted to win."""
ABOUT = (
    f"Complete exchange on the ten meshes of delta, 256 B, 1 KiB and 16 KiB, each {EXECUTED}, "
    "with the preset's one "
    "parameter set: the fastest of the text's algorithms on that mesh beside bounded at "
    "contention 1 and 2 (the "
    "machine's tolerance, γ = 1), scott where it applies, and auto at sync local, ranked by "
    "formula and, up to 144 "
    "processors, by wormhole."
)
CANDIDATES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("bounded, c = 1", "bounded", {"contention": 1}),
    ("bounded, c = 2", "bounded", {"contention": 2}),
    ("scott", "scott", {}),
    ("auto", "auto", {}),
    ("auto by wormhole", "auto", {"rank_by": MODEL}),
)
PRODUCTS = ("bounded, c = 1", "bounded, c = 2", "scott")


@dataclass(frozen=True)
class Run:
    """One schedule, simulated."""

    mesh: Mesh
    size: int
    name: str
    method: str
    phases: int
    contention: int
    seconds: float


def reproduce(meshes: tuple[Mesh, ...] = MESHES) -> Item:
    """Compiles and simulates every candidate on every mesh, for every size."""
    cases = [
        (mesh, size, row) for mesh in meshes for size in SIZES for row in range(len(CANDIDATES))
    ]
    found = on_threads(lambda case: _run(*case), cases, cost=lambda case: case[0][0] * case[0][1])
    runs = [run for run in found if run is not None]
    texts = {(mesh, size): text_best(mesh, size) for mesh in meshes for size in SIZES}
    claims = _claims(runs, texts)
    return Item(
        "thakur",
        "Own schedules",
        "today's schedules beside the text's, by the same simulation",
        ABOUT,
        claims=claims,
        tables=(_gains(runs, texts), _all(runs, texts)),
        pictures=(Picture(lambda: _draw(runs, texts)),),
        departures=(
            *reported(claims),
            "under sync local ranks drift apart, so phases that bounded merges at a greater "
            "contention change little: "
            "where c = 1 and c = 2 take the same messages in the same order their times are equal",
        ),
        basis="computed",
    )


def _run(mesh: Mesh, size: int, row: int) -> Run | None:
    """None where the method does not know the mesh, or ranking would take too long."""
    name, method, options = CANDIDATES[row]
    if "rank_by" in options and mesh[0] * mesh[1] > RANKED:
        return None
    try:
        schedule = exchange(mesh, size, method, **options)
    except InputError:
        return None
    return _measured(mesh, size, name, schedule)


def _measured(mesh: Mesh, size: int, name: str, schedule: Schedule) -> Run:
    seconds = conset.simulate(schedule, model=MODEL, sync=SYNC).time_s
    load = int(phase_loads(schedule).link.max())
    return Run(mesh, size, name, schedule.method, schedule.phases, load, seconds)


def text_best(mesh: Mesh, size: int) -> Run:
    """The fastest of the text's algorithms on a mesh, simulated."""
    tables = [table for table in METHODS if any(time.mesh == mesh for time in printed(table))]
    times = {
        t: s
        for table in tables
        for t, s in simulated_table(table).items()
        if (t.mesh, t.bytes) == (mesh, size)
    }
    best = min(times, key=lambda time: times[time])
    schedule = exchange(mesh, size, best.method)
    load = int(phase_loads(schedule).link.max())
    return Run(mesh, size, "the text's best", best.method, schedule.phases, load, times[best])


Texts = dict[tuple[Mesh, int], Run]


def gain(run: Run, texts: Texts) -> float:
    """Share of the text's best time that is saved."""
    return 1 - run.seconds / texts[run.mesh, run.size].seconds


def _best(runs: list[Run], mesh: Mesh, size: int, names: tuple[str, ...]) -> Run:
    return min(
        (r for r in runs if (r.mesh, r.size) == (mesh, size) and r.name in names),
        key=lambda r: r.seconds,
    )


def _claims(runs: list[Run], texts: Texts) -> tuple[Claim, ...]:
    best = {key: _best(runs, *key, PRODUCTS) for key in texts}
    large = [
        best[mesh, size] for mesh, size in texts if size == SIZES[-1] and mesh[0] * mesh[1] >= LARGE
    ]
    small = [
        best[mesh, size] for mesh, size in texts if size == SIZES[0] and mesh[0] * mesh[1] >= LARGE
    ]
    chosen = [run for run in runs if run.name == "auto"]
    ranked = [run for run in runs if run.name == "auto by wormhole"]
    return (
        _wins(
            "beyond the text: at 16 KiB, from 48 processors on, a product construction within "
            "the machine's "
            "tolerance is faster than every algorithm of the text",
            large,
            texts,
        ),
        _wins("the same at 256 B", small, texts, asserted=False),
        _wins(
            "auto, ranked by formula, is never slower than the text's best",
            chosen,
            texts,
            strict=False,
        ),
        _wins(
            "auto, ranked by wormhole, is never slower than the text's best",
            ranked,
            texts,
            strict=False,
        ),
    )


def _wins(
    label: str, runs: list[Run], texts: Texts, *, strict: bool = True, asserted: bool = True
) -> Claim:
    """Whether all `runs` save time.

    Where `strict` is not asked, whether none loses, and it is only reported.
    """
    gains = [gain(run, texts) for run in runs]
    won = [saved > 0 if strict else saved >= -1e-9 for saved in gains]
    lost = [
        f"{mesh_word(run.mesh)} {format_size(run.size)} {-saved:+.0%}"
        for run, saved, good in zip(runs, gains, won, strict=True)
        if not good
    ]
    figures = f"in {sum(won)} of {len(runs)}, time saved {min(gains):.0%} to {max(gains):.0%}"
    return Claim(
        label,
        all(won),
        figures + (f"; slower: {', '.join(lost)}" if lost else ""),
        asserted and strict,
    )


def _gains(runs: list[Run], texts: Texts) -> Table:
    names = [name for name, *_ in CANDIDATES]
    known = {(run.mesh, run.size, run.name): run for run in runs}
    rows = tuple(
        (
            mesh_word(mesh),
            format_size(size),
            text.method,
            1e3 * text.seconds,
            *(
                1e3 * known[mesh, size, name].seconds if (mesh, size, name) in known else None
                for name in names
            ),
            round(100 * gain(_best(runs, mesh, size, tuple(names)), texts), 1),
        )
        for (mesh, size), text in texts.items()
    )
    return Table(
        "Times: simulated [ms]",
        ("mesh", "size", "the text's best", "its time", *names, "saved [%]"),
        rows,
    )


def _all(runs: list[Run], texts: Texts) -> Table:
    columns = (
        "mesh",
        "size",
        "schedule",
        "method",
        "phases",
        "most on a link",
        "simulated [s]",
        "saved [%]",
    )
    places = list(texts)
    order = sorted([*texts.values(), *runs], key=lambda r: places.index((r.mesh, r.size)))
    rows = tuple(
        (
            mesh_word(r.mesh),
            format_size(r.size),
            r.name,
            r.method,
            r.phases,
            r.contention,
            r.seconds,
            round(100 * gain(r, texts), 1),
        )
        for r in order
    )
    return Table("Schedules: phases, contention and time", columns, rows)


def _draw(runs: list[Run], texts: Texts) -> Figure:
    from conset_papers.pictures.lines import Line, Panel, picture_lines

    meshes = sorted({mesh for mesh, _ in texts}, key=lambda mesh: mesh[0] * mesh[1])
    ticks = (list(range(len(meshes))), [mesh_word(mesh) for mesh in meshes])
    panels = []
    for size in (SIZES[0], SIZES[-1]):
        best = [_best(runs, mesh, size, PRODUCTS) for mesh in meshes]
        lines = [
            Line("the text's fastest", [0, len(meshes) - 1], [0, 0], kind="bound"),
            Line(
                "product construction, c = 1 or 2",
                ticks[0],
                [100 * gain(run, texts) for run in best],
                colour=0,
            ),
        ]
        for k, name in enumerate(("auto", "auto by wormhole")):
            found = [run for run in runs if (run.size, run.name) == (size, name)]
            at = [meshes.index(run.mesh) for run in found]
            lines.append(Line(name, at, [100 * gain(run, texts) for run in found], "points", k + 1))
        title = f"messages of {format_size(size)}"
        panels.append(Panel(title, "mesh", "time saved [%]", lines, ticks=ticks))
    shown = [y for panel in panels for line in panel.lines for y in line.y]
    panels = [replace(panel, y_limits=(min(shown) - 5, max(shown) + 5)) for panel in panels]
    return picture_lines(
        panels,
        title="Today's schedules beside the text's fastest algorithm",
        subtitle=f"complete exchange on delta, {EXECUTED}",
        height=4.0,
    )
