"""Figure 2: node and link contention.

Counted between two barriers, and what they cost on a chain of nodes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import conset
from conset.pattern.pattern import Pattern
from conset.report.charts import Line, Panel, picture_charts
from conset.schedule.loads import phase_loads
from conset_papers.bokhari_nicol.exchange import MODEL, PAPER, SIDES, SLICE_B, Pair, bounded, pairs
from conset_papers.item import Cell, Claim, Item, Picture, Table, read_published

CHAIN = 16
MOST = 8
LITTLE, SUBSTANTIAL = 0.1, 0.5
ABOUT = (
    "The two contentions of every barrier group, counted in the schedules compiled for "
    "paragon:NxN: messages that one "
    "node sends in a group, messages that pass over one link in it. Figures 7 to 15 label their "
    "axes with such pairs; "
    "those that the text's words repeat are cells, the others are held against their definition. "
    "Beside them, what "
    f"contention costs by model {MODEL} on a chain of {CHAIN} nodes, {SLICE_B:,} B: k messages "
    "over the middle link at "
    "once, and k messages of one node. The chains that Figure 2 itself draws are lost in the scan."
)
ITSELF = (
    "in a group of all phases a node sends to n² - 1 others; the text counts its message to "
    "itself as well"
)
DEPARTURES = ("the messages of the text's chains cannot be read in the scan",)


def reproduce() -> Item:
    """Counts every group of every mesh; simulates the chain."""
    counted = {pair: count_group(pair) for side in SIDES for pair in pairs(side)}
    named = {
        (int(row["n"]), int(row["node"]), int(row["link"]))
        for row in read_published("bokhari_nicol", "pairs")
    }
    cells = tuple(
        Cell(
            f"{pair.side}x{pair.side} {pair.label}",
            what,
            expected,
            found,
            ITSELF if found == pair.side**2 - 1 else "",
        )
        for pair in counted
        if (pair.side, pair.node, pair.link) in named
        for what, expected, found in zip(
            ("node contention", "link contention"),
            (pair.node, pair.link),
            counted[pair],
            strict=True,
        )
    )
    wrong = [
        f"{pair.side}x{pair.side} {pair.label}: ({node}, {link})"
        for pair, (node, link) in counted.items()
        if (node, link) != (min(pair.node, pair.side**2 - 1), pair.link)
    ]
    times = {
        kind: [chain_s(kind, k) / chain_s(kind, 1) for k in range(1, MOST + 1)]
        for kind in ("link", "node")
    }
    claims = (
        Claim(
            "Figure 2, of every pair: node contention is what a node sends at once, link "
            "contention what passes over "
            "any link",
            not wrong,
            f"{len(counted) - len(wrong)} of {len(counted)} groups as labelled"
            + (f"; counted: {', '.join(wrong)}" if wrong else ""),
        ),
        Claim(
            f"Figure 1: link contention can lead to substantial overhead: {SUBSTANTIAL:.0%} "
            "more on a chain",
            max(times["link"]) > 1 + SUBSTANTIAL,
            _describe(times["link"], "messages over a link"),
        ),
        Claim(
            "abstract: a node can overlap messages to some extent: two take less than twice "
            "as long as one",
            times["node"][1] < 2,
            _describe(times["node"], "messages of a node"),
        ),
        Claim(
            f"beside it: 2 or 3 messages share a link with minor overhead, at most {LITTLE:.0%} "
            "(the preset has 3 "
            "lanes because the abstract says so)",
            max(times["link"][1:3]) <= 1 + LITTLE,
            _describe(times["link"][:3], "messages over a link"),
            asserted=False,
        ),
    )
    rows = tuple(
        (f"{pair.side}x{pair.side}", pair.label, pair.contention, pair.every, *found)
        for pair, found in counted.items()
    )
    columns = (
        "mesh",
        "(node, link)",
        "link contention of a phase",
        "phases between barriers",
        "most a node sends",
        "most over a link",
    )
    return Item(
        PAPER,
        "Figure 2",
        "node and link contention",
        ABOUT,
        cells=cells,
        claims=claims,
        tolerance=0.0,
        tables=(
            Table("Groups: contention counted between two barriers", columns, rows),
            Table(
                "Chain: time over that of one message",
                ("messages at once", "over one link", "of one node"),
                tuple(zip(range(1, MOST + 1), times["link"], times["node"], strict=True)),
            ),
        ),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [_panel(times)],
                    title=f"Contention on a chain of {CHAIN} nodes",
                    height=4.2,
                    subtitle=f"{SLICE_B:,} B each, model {MODEL} on paragon:1x{CHAIN}",
                )
            ),
        ),
        departures=DEPARTURES,
        basis="computed",
    )


def count_group(pair: Pair) -> tuple[int, int]:
    """(most messages a node sends, most over a link) between two barriers of a schedule."""
    schedule = bounded(pair.side, pair.contention)
    starts = schedule.phase_offsets[: -1 : pair.every]
    loads = phase_loads(
        replace(schedule, phase_offsets=np.append(starts, schedule.phase_offsets[-1]))
    )
    return int(loads.send.max()), int(loads.link.max())


@cache
def chain_s(kind: str, count: int) -> float:
    """The time of `count` messages that contend for a link, or for a node, on a chain [s]."""
    middle = CHAIN // 2
    if kind == "link":
        source, target = list(range(middle - count, middle)), list(range(middle, middle + count))
    else:  # to both sides in turn
        source, target = [middle] * count, [middle + (k // 2 + 1) * (-1) ** k for k in range(count)]
    pattern = Pattern.from_messages(
        source, target, [SLICE_B] * count, CHAIN, name=f"{kind} contention"
    )
    schedule = conset.compile(pattern, f"paragon:1x{CHAIN}", method="naive")
    return conset.simulate(schedule, model=MODEL, sync="none").time_s


def _describe(times: list[float], what: str) -> str:
    return ", ".join(f"{k} {what}: {time - 1:+.0%}" for k, time in enumerate(times, 1) if k > 1)


def _panel(times: dict[str, list[float]]) -> Panel:
    across = range(1, MOST + 1)
    lines = [
        Line("k messages over one link", across, times["link"]),
        Line("k messages of one node", across, times["node"]),
        Line("one after the other", across, list(across), "bound"),
    ]
    return Panel("", "messages at once, k", "time over that of one message", lines)
