"""Presets of today: every number with its source, and what they say beside what was measured or
printed elsewhere.

`python tests/golden/test_presets_today.py` prints the table that docs/machines.md has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import conset
from conset.base.errors import UsageError
from conset.machine.file import TODAY, preset
from conset.machine.spec import machine_of_record, parse_machine, with_settings
from conset.machine.words import PARAMETERS
from support.hand_made import same_machine

DOCS = Path(__file__).parents[2] / "docs" / "machines.md"


def link_Bps(name: str) -> float:
    return parse_machine(name).costs.link_Bps


def bisection_Bps(name: str) -> float:
    """Of a torus whose first side is its longest, one way."""
    topology = parse_machine(name).topology
    low = topology.coordinates[:, 0] < topology.sides[0] // 2
    source, target = topology.ends
    return int((low[source] & ~low[target]).sum()) * link_Bps(name)


@cache
def exchange_Bps(name: str, size: int) -> float:
    """Bytes of a rank, what it keeps included, over the time of posting an all-to-all,
    simulated."""
    schedule = conset.compile(f"alltoall:size={size}", name, method="naive")
    return schedule.pattern.ranks * size / float(conset.simulate(schedule).end_s.max())


def alone_s(name: str, source: int, target: int, size: int) -> float:
    ranks = parse_machine(name).topology.endpoints
    offsets = np.where(np.arange(ranks + 1) > source, 1, 0)
    pattern = conset.Pattern(ranks, offsets, np.array([target]), np.array([size]))
    return float(conset.simulate(conset.compile(pattern, name, method="naive")).end_s.max())


def out_of_first_Bps(name: str) -> float:
    """What a node sends to as many neighbours as it may send to at once."""
    topology = parse_machine(name).topology
    source, target = topology.ends
    near = np.unique(target[(source == 0) & topology.link_exists])[
        : parse_machine(name).costs.in_flight
    ]
    offsets = np.where(np.arange(topology.nodes + 1) > 0, near.size, 0)
    pattern = conset.Pattern(topology.nodes, offsets, near, np.full(near.size, 2**26))
    return (
        near.size
        * 2**26
        / float(conset.simulate(conset.compile(pattern, name, method="naive")).end_s.max())
    )


def twisted_gain(sides: tuple[int, int, int]) -> float:
    """All-to-all per chip of a twisted torus, all links used alike, over that of the regular one
    by its longest side.

    Going round the shorter sides moves by half along the longer ones (J. M. Cámara et al., Twisted
    torus topologies for enhanced interconnection networks, IEEE TPDS 21(12), 2010).
    """
    short = min(sides)

    def home(at: tuple[int, int, int]) -> tuple[int, int, int]:
        moved = list(at)
        for k in range(3):
            if sides[k] == short:
                turns = moved[k] // short
                moved[k] -= turns * short
                for longer in range(3):
                    if sides[longer] > short:
                        moved[longer] += turns * short
        x, y, z = (value % side for value, side in zip(moved, sides, strict=True))
        return x, y, z

    steps, waiting = {(0, 0, 0): 0}, deque([(0, 0, 0)])
    while waiting:
        at = waiting.popleft()
        for k in range(3):
            for step in (1, -1):
                other = home(
                    (at[0] + step * (k == 0), at[1] + step * (k == 1), at[2] + step * (k == 2))
                )
                if other not in steps:
                    steps[other] = steps[at] + 1
                    waiting.append(other)
    nodes = prod(sides)
    assert len(steps) == nodes
    links_per_chip = 6 * (nodes - 1) / sum(steps.values())
    side = max(sides)
    regular = (
        2 * (nodes - 1) / (nodes * side / 4)
    )  # half of the mean way along the longest side, two links
    return links_per_chip / regular


def frontier_exchange_Bps(hops: int) -> float:
    """All-to-all of a node of the whole machine by its global links, each byte over `hops` of
    them."""
    own = dict(preset("frontier").structure)
    groups, endpoints = 74, int(own["routers"].value) * int(own["nodes"].value)
    out = (groups - 1) * int(own["joins"].value) * link_Bps("frontier:2")
    return 4 * out / endpoints / ((groups - 1) / groups) / hops


class Row(NamedTuple):
    """What is published as a figure of a preset, what ours is and how far it may be off."""

    preset: str
    figure: str
    low: float
    high: float
    unit: str
    ours: Callable[[], float]
    tolerance: float
    note: str = ""


GB, TB, US = 1e9, 1e12, 1e-6
TABLE = [
    Row("tpu-v4", "bisection", 24, 24, "TB/s", lambda: bisection_Bps("tpu-v4:16x16x16") / TB, 0.07),
    Row(
        "tpu-v4", "injection", 300, 300, "GB/s", lambda: out_of_first_Bps("tpu-v4:4x4x4") / GB, 0.01
    ),
    Row(
        "tpu-v4",
        "twisted gain 4x4x8",
        1.63,
        1.63,
        "times",
        lambda: twisted_gain((4, 4, 8)),
        0.08,
        "links used alike",
    ),
    Row(
        "tpu-v4",
        "twisted gain 4x8x8",
        1.31,
        1.31,
        "times",
        lambda: twisted_gain((4, 8, 8)),
        0.08,
        "links used alike",
    ),
    Row(
        "bluegene-q",
        "all-to-all share of peak",
        0.85,
        0.95,
        "of peak",
        lambda: exchange_Bps("bluegene-q:4x2x2x2", 2**16) / (2 * link_Bps("bluegene-q")),
        0.05,
        "64 nodes, 64 KiB",
    ),
    Row(
        "bluegene-q",
        "link both ways",
        3.6,
        3.6,
        "GB/s",
        lambda: 2 * link_Bps("bluegene-q") / GB,
        0.001,
    ),
    Row(
        "bluegene-q",
        "latency of a neighbour",
        1.95,
        1.95,
        "us",
        lambda: alone_s("bluegene-q:2x2x2x2", 0, 1, 1) / US,
        0.001,
        "fitted to it",
    ),
    Row(
        "fugaku",
        "injection",
        38.1,
        38.1,
        "GB/s",
        lambda: out_of_first_Bps("fugaku:3x3x3") / GB,
        0.01,
        "fitted to it; six messages",
    ),
    Row(
        "fugaku",
        "latency of a neighbour",
        0.49,
        0.49,
        "us",
        lambda: alone_s("fugaku:2x2x2", 0, 1, 8) / US,
        0.01,
        "fitted to it",
    ),
    Row(
        "fugaku",
        "nodes",
        158976,
        158976,
        "",
        lambda: prod((24, 23, 24)) * prod(map(int, preset("fugaku").fixed.split("x"))),
        0,
    ),
    Row(
        "frontier",
        "injection of a node",
        100,
        100,
        "GB/s",
        lambda: 4 * link_Bps("frontier") / GB,
        0.001,
    ),
    Row(
        "frontier",
        "injection of a group",
        12.8,
        12.8,
        "TB/s",
        lambda: 512 * link_Bps("frontier") / TB,
        0.001,
    ),
    Row(
        "frontier",
        "global links of a group",
        7.3,
        7.3,
        "TB/s",
        lambda: 73 * int(preset("frontier").structure["joins"].value) * link_Bps("frontier") / TB,
        0.001,
        "fitted to it",
    ),
    Row(
        "frontier",
        "all-to-all of a node",
        30,
        32,
        "GB/s",
        lambda: frontier_exchange_Bps(1) / GB,
        0.85,
        "shortest paths; all over a third group: 28.9 GB/s, -4 %",
    ),
    Row(
        "frontier",
        "latency at random",
        2.6,
        2.6,
        "us",
        lambda: alone_s("frontier:2", 16, 528, 1) / US,
        0.01,
        "fitted to it",
    ),
    Row(
        "dgx-h100",
        "all-to-all of 2 hosts",
        90,
        90,
        "GB/s",
        lambda: exchange_Bps("dgx-h100:2", 2**22) / GB,
        0.08,
    ),
    Row(
        "dgx-h100",
        "all-to-all of 4 hosts",
        61,
        61,
        "GB/s",
        lambda: exchange_Bps("dgx-h100:4", 2**22) / GB,
        0.08,
    ),
    Row("dgx-h100", "rail", 46, 48, "GB/s", lambda: link_Bps("dgx-h100") / GB, 0.02),
    Row(
        "ethernet",
        "share of the wire at 1024 B packets",
        36.4,
        36.4,
        "Gb/s",
        lambda: 40 * 1024 / (1024 + 4096 * (50e9 / link_Bps("ethernet") - 1)),
        0.02,
        "RoCEv2's headers, measured with v1",
    ),
    Row(
        "ethernet",
        "latency of a switch",
        300,
        300,
        "ns",
        lambda: parse_machine("ethernet").costs.hop_s * 1e9,
        0.001,
    ),
    Row(
        "optical",
        "a change of the prototype",
        11.5,
        11.5,
        "us",
        lambda: (parse_machine("optical:24,mode=fast").costs.reconfigure_s or 0) * 1e6,
        0.001,
        "fitted to it",
    ),
]


def error(row: Row, ours: float) -> float:
    """How far ours is outside of what is published, as a share of its nearer end."""
    near = min(max(ours, row.low), row.high)
    return ours / near - 1


def line(row: Row) -> str:
    """The row of docs/machines.md."""
    ours = row.ours()
    size = next(each.size for each in preset(row.preset).published if each.figure == row.figure)
    range_ = f"{row.low:g}" if row.low == row.high else f"{row.low:g} to {row.high:g}"
    off = error(row, ours)
    said = f"{ours:.4g} {row.unit}" if row.unit else f"{ours:.0f}"
    range_ = f"{range_} {row.unit}" if row.unit else f"{row.low:.0f}"
    cells = (
        f"`{row.preset}:{size}`",
        row.figure,
        range_,
        said,
        "0 %" if abs(off) < 5e-4 else f"{100 * off:+.1f} %",
        row.note,
    )
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.preset}-{row.figure}")
def test_published_figures_are_met_within_what_is_stated(row: Row) -> None:
    published = {each.figure: each.value for each in preset(row.preset).published}
    assert f"{row.low:.10g}" in published[row.figure]
    assert f"{row.high:.10g}" in published[row.figure]
    assert abs(error(row, row.ours())) <= row.tolerance
    assert line(row) in DOCS.read_text()


def test_every_published_figure_stands_beside_ours() -> None:
    assert {(row.preset, row.figure) for row in TABLE} == {
        (name, each.figure) for name in TODAY for each in preset(name).published
    }


@pytest.mark.parametrize("name", TODAY)
def test_every_word_has_a_tag_and_a_source(name: str) -> None:
    machine = parse_machine(name)
    for costs in (machine.costs, *(mode.costs for mode in machine.modes.values())):
        wide = {
            "overhead",
            "switching",
            "port",
            "exchange_syncs",
            "computation",
            "flit",
            "size_range",
        }
        wide |= {
            "packet",
            "link_buffers",
            "window",
            "jitter",
            "startup",
            "reconfigure",
            "partial",
        }  # of a model that none of them follows, or of circuit switches
        stated = set(costs.provenance)
        for word in set(PARAMETERS) - wide:
            own = next((each for each in (word, "overhead") if each in stated), None)
            assert own is not None, word
            assert costs.provenance[own].source, word
            assert costs.provenance[own].tag not in ("default", "given"), word


@pytest.mark.parametrize("name", TODAY)
def test_the_structure_is_the_network(name: str) -> None:
    own, machine = preset(name), parse_machine(name)
    words = machine.topology.family.values
    for word, fact in own.structure.items():
        assert fact.source
        if word in words:
            assert str(fact.value) == str(words[word])
        if word == "links":
            assert int((machine.topology.ends[0] == 0).sum()) == 2 * machine.topology.dimensions
            # a side of 2 is one wire here
            cycles = sum(side > 2 for side in machine.topology.sides)
            assert cycles * 2 <= int(fact.value) <= 2 * machine.topology.dimensions
    rule = machine.routing.rule
    assert own.structure["routing"].value == rule
    for part in own.fixed.split("x") if own.fixed else ():
        assert int(part) in machine.topology.sides
    conset_, compile_, pattern, on, spec = own.example.split()
    assert (conset_, compile_, on, spec.split(":")[0]) == ("conset", "compile", "--on", name)
    assert conset.load_pattern(pattern, ranks=parse_machine(spec).topology.endpoints).messages


@pytest.mark.parametrize(
    "spec",
    [
        "tpu-v4:4x4x8",
        "fugaku:2x2x2x2x3x2",
        "bluegene-q:2x2x2x2x2",
        "frontier:2",
        "dgx-h100:3",
        "ethernet:2x2x3,mode=tcp100",
        "optical:8,planes=2,mode=fast",
    ],
)
def test_a_record_builds_it_again(spec: str) -> None:
    machine = parse_machine(spec)
    assert machine_of_record(spec) == machine
    assert machine.name == spec
    assert same_machine(machine_of_record(machine.to_spec()), machine)
    changed = with_settings(machine, "hop=1us")
    assert same_machine(machine_of_record(changed.to_spec()), changed)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("tpu-v4:4x4", "tpu-v4:4x4: 3 sizes required (X x Y x Z), given 2"),
        ("tpu-v4:4x4x6", "tpu-v4:4x4x6: Z = 6: must be a multiple of 4"),
        (
            "fugaku:2x2",
            "fugaku:2x2: 3 sizes required (X x Y x Z), beside 2x3x2 that every size has, given 2",
        ),
        ("fugaku:2x2x2x2x2x2", "beside 2x3x2 that every size has, given 6"),
        (
            "bluegene-q:4x4x4x4x4",
            "4 sizes required (A x B x C x D), beside 2 that every size has, given 5",
        ),
        ("frontier:2x2", "frontier:2x2: 1 size required (groups), given 2"),
        ("ethernet:4", "ethernet:4: 3 sizes required (leaves x spines x hosts), given 1"),
        ("ethernet:4x4x4,mode=roce", "unknown mode 'roce': did you mean 'roce400'?"),
        ("frontier:0", "frontier:0: size 0 '0': must be from 1"),
        ("fugako", "did you mean 'fugaku'?"),
    ],
)
def test_sizes_that_do_not_fit_say_what_is_wanted(spec: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_machine(spec)
    assert says in str(caught.value)


if __name__ == "__main__":
    print("\n".join(line(row) for row in TABLE))  # noqa: T201
