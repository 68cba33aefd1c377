"""Figures 1, 2, 4 and 5.

The text's pseudo-code, run word by word, beside the schedules compiled for the ten meshes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.report.charts import Heat, picture_charts
from conset.schedule.schedule import Schedule
from conset_papers.item import Claim, Item, Picture, Table
from conset_papers.thakur.exchange import exchange
from conset_papers.thakur.times import MESHES, NAMES, OTHERS, POWERS, Mesh, mesh_word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Steps = NDArray[np.int64]
"""shape=(steps, ranks): whom each processor sends to; -1: nobody."""
FIGURES = {1: "pex", 2: "pex-gen", 4: "pex-gen-shift", 5: "gen"}
SHOWN: dict[int, Mesh] = {1: (4, 4), 2: (4, 5), 4: (4, 5), 5: (4, 5)}
"""Mesh of the picture."""
ABOUT = (
    "The loop of Figure {figure}, run word by word for every processor, beside the schedule "
    "compiled for delta:RxC by "
    "method {method}: in every step, whom each processor sends to. Nothing is simulated."
)


def space_of(ranks: int) -> int:
    """Q = 2^⌈lg p⌉."""
    return 1 << (ranks - 1).bit_length()


def figure_1(ranks: int) -> Steps:
    """PEX: destination = xor(mynumber, i), i = 1 … p - 1."""
    return np.arange(ranks) ^ np.arange(1, ranks)[:, None]


def figure_2(ranks: int) -> Steps:
    """PEX-GEN: destination = xor(mynumber, j), j = 1 … q - 1, where it is below p."""
    partner = np.arange(ranks) ^ np.arange(1, space_of(ranks))[:, None]
    return np.where(partner < ranks, partner, -1)


def figure_4(ranks: int, *, modulo: str = "p") -> Steps:
    """Exchanges between virtual numbers, mod(mynumber + shift, p) as printed, or modulo q."""
    space = space_of(ranks)
    shift = (space - ranks) // 2
    virtual = (np.arange(ranks) + shift) % (ranks if modulo == "p" else space)
    partner = (virtual ^ np.arange(1, space)[:, None]) - shift
    partner = np.where(partner < 0, partner + space, partner)
    return np.where(partner < ranks, partner, -1)


def figure_5(ranks: int) -> Steps:
    """GEN: destination = mod(mynumber + j, p), j = 1 … p - 1."""
    return (np.arange(ranks) + np.arange(1, ranks)[:, None]) % ranks


PRINTED: dict[int, Callable[[int], Steps]] = {1: figure_1, 2: figure_2, 4: figure_4, 5: figure_5}


def compiled_steps(schedule: Schedule) -> Steps:
    """As `Steps`, of a compiled schedule without empty phases."""
    steps = np.full((schedule.phases, schedule.pattern.ranks), -1, np.int64)
    steps[schedule.phase_of, schedule.source_node] = schedule.target_node
    return steps


def reproduce(figure: int) -> Item:
    """Runs a figure's loop on every mesh of its tables and compares it with the compiled one."""
    method = FIGURES[figure]
    meshes = {1: POWERS, 5: MESHES}.get(figure, OTHERS)
    printed = {mesh: PRINTED[figure](mesh[0] * mesh[1]) for mesh in meshes}
    compiled = {mesh: compiled_steps(exchange(mesh, 1, method)) for mesh in meshes}
    claims = [
        _same(
            f"Figure {figure} as printed: every processor sends in every step to whom the "
            f"compiled {NAMES[method]} "
            "sends it",
            printed,
            compiled,
        ),
        _complete(printed),
    ]
    if figure == 5:
        claims.append(_sources(printed))
    else:
        claims.append(_mutual(printed))
    if figure == 4:
        other = {mesh: figure_4(mesh[0] * mesh[1], modulo="q") for mesh in meshes}
        label = (
            "beside it: with virtual numbers modulo q, as the words and the example of "
            "section 3.3 need, "
        )
        claims.append(_same(label + "it is the compiled schedule", other, compiled, asserted=False))
    table = Table(
        "Steps: as printed and as compiled",
        COLUMNS,
        tuple(_row(m, printed[m], compiled[m]) for m in meshes),
    )
    shown = SHOWN[figure]
    return Item(
        "thakur",
        f"Figure {figure}",
        f"the algorithm {NAMES[method]}, run as it is printed",
        ABOUT.format(figure=figure, method=method),
        claims=tuple(claims),
        tables=(table,),
        pictures=(Picture(lambda: _draw(figure, printed[shown], compiled[shown])),),
        basis="computed",
    )


COLUMNS = (
    "mesh",
    "steps printed",
    "steps compiled",
    "sends printed",
    "to itself",
    "not mutual",
    "as compiled",
)


def _row(mesh: Mesh, printed: Steps, compiled: Steps) -> tuple[str | int, ...]:
    sends = printed >= 0
    same = (
        int(np.count_nonzero((printed == compiled) & sends))
        if printed.shape == compiled.shape
        else 0
    )
    return (
        mesh_word(mesh),
        len(printed),
        len(compiled),
        int(np.count_nonzero(sends)),
        int(np.count_nonzero(printed == np.arange(printed.shape[1]))),
        _not_mutual(printed),
        same,
    )


def _same(
    label: str, one: dict[Mesh, Steps], other: dict[Mesh, Steps], *, asserted: bool = True
) -> Claim:
    differs = []
    for mesh, steps in one.items():
        if steps.shape != other[mesh].shape:
            differs.append(f"{mesh_word(mesh)}: {len(steps)} steps against {len(other[mesh])}")
        elif not np.array_equal(steps, other[mesh]):
            count = int(np.count_nonzero(steps != other[mesh]))
            differs.append(f"{mesh_word(mesh)}: {count} of {steps.size}")
    figures = f"differ: {', '.join(differs)}" if differs else f"the same on {len(one)} meshes"
    return Claim(label, not differs, figures, asserted)


def _complete(printed: dict[Mesh, Steps]) -> Claim:
    """Whether every processor sends to every other exactly once."""
    wrong = []
    for mesh, steps in printed.items():
        ranks = steps.shape[1]
        source = np.broadcast_to(np.arange(ranks), steps.shape)[steps >= 0]
        times = np.bincount(source * ranks + steps[steps >= 0], minlength=ranks * ranks).reshape(
            ranks, ranks
        )
        missing = int(np.count_nonzero(times != 1 - np.eye(ranks, dtype=np.int64)))
        if missing:
            wrong.append(f"{mesh_word(mesh)}: {missing} of {ranks * ranks}")
    return Claim(
        "as printed it is a complete exchange: every processor sends to every other once, "
        "never to itself",
        not wrong,
        f"pairs not so: {', '.join(wrong)}" if wrong else f"on {len(printed)} meshes",
    )


def _not_mutual(steps: Steps) -> int:
    """Sends whose receiver does not send back in the same step."""
    back = np.take_along_axis(steps, np.maximum(steps, 0), axis=1)
    return int(np.count_nonzero((steps >= 0) & (back != np.arange(steps.shape[1]))))


def _mutual(printed: dict[Mesh, Steps]) -> Claim:
    wrong = {mesh: _not_mutual(steps) for mesh, steps in printed.items() if _not_mutual(steps)}
    return Claim(
        "as printed, whom a processor exchanges with exchanges with it in the same step",
        not wrong,
        ", ".join(f"{mesh_word(mesh)}: {count} sends meet nobody" for mesh, count in wrong.items())
        or f"on {len(printed)} meshes",
    )


def _sources(printed: dict[Mesh, Steps]) -> Claim:
    """Figure 5's other half: source = mynumber - j, + p where negative."""
    wrong = []
    for mesh, steps in printed.items():
        ranks = steps.shape[1]
        source = np.arange(ranks) - np.arange(1, ranks)[:, None]
        source = np.where(source < 0, source + ranks, source)
        if not np.array_equal(
            np.take_along_axis(steps, source, axis=1),
            np.broadcast_to(np.arange(ranks), steps.shape),
        ):
            wrong.append(mesh_word(mesh))
    return Claim(
        "as printed, whom a processor receives from sends to it in the same step",
        not wrong,
        f"not on {', '.join(wrong)}" if wrong else f"on {len(printed)} meshes",
    )


def _draw(figure: int, printed: Steps, compiled: Steps) -> Figure:
    """The partner of every processor in every step; what differs is surrounded."""
    differs = printed != compiled
    panels = [
        Heat(
            name,
            "processor",
            "step",
            [str(rank) for rank in range(steps.shape[1])],
            [str(step + 1) for step in range(len(steps))],
            np.where(steps >= 0, steps, np.nan).astype(np.float64),
            differs,
            most=float(max(printed.max(), compiled.max())),
        )
        for name, steps in (("as printed", printed), ("as compiled", compiled))
    ]
    mesh = mesh_word(SHOWN[figure])
    return picture_charts(
        panels,
        title=f"Figure {figure}: {NAMES[FIGURES[figure]]} on {mesh}: whom each processor sends to",
        subtitle="empty: nobody; a line surrounds what differs",
        height=0.6 + 0.2 * len(printed),
    )
