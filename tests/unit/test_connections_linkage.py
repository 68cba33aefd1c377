"""Linkage tables and guarantees.

By hand, through files, and by mutation of the channels a file states.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.methods.phases.connections import schedule_connections
from conset.methods.phases.problem import Problem, SearchOptions
from conset.pattern.pattern import Pattern
from conset.pattern.readers.demands import read_bandwidths
from conset.pattern.spec import parse_pattern
from conset.schedule.document import Document, document_from
from conset.schedule.files.compiled import read_compiled, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.linkage import GATE, guarantees, linkage, number_channels
from conset.schedule.schedule import Schedule
from conset.verification import RULES, verify


def by_hand(routes: list[list[list[int]]], on: str = "ring:5", channels: int = 3) -> Schedule:
    """Connections of 4 bytes over these routes, phase by phase; ends are all different."""
    machine = parse_machine(on)
    flat = [route for phase in routes for route in phase]
    ends = [(route[0], route[-1]) for route in flat]
    source, target = np.array(ends).T
    pattern = Pattern.from_messages(source, target, np.full(len(flat), 4), machine.topology.nodes)
    index = {
        pair: m
        for m, pair in enumerate(zip(pattern.source.tolist(), pattern.target.tolist(), strict=True))
    }
    offsets = np.cumsum([0, *(len(phase) for phase in routes)])
    route_offsets = np.cumsum([0, *(len(route) for route in flat)])
    nodes = np.concatenate(flat)
    return Schedule(
        pattern,
        machine,
        "connections",
        Limits(channels=channels),
        offsets,
        np.array([index[pair] for pair in ends]),
        route_offsets=route_offsets,
        route_nodes=nodes,
        limits_asked=True,
        channels=number_channels(offsets, route_offsets, nodes),
    )


# phase 0: 0 → 1 → 2, 1 → 2 → 3, 4 → 0 → 1 ; phase 1: 2 → 1 and 0 → 4
TWO = [[[0, 1, 2], [1, 2, 3], [4, 0, 1]], [[2, 1], [0, 4]]]


def test_channels_of_a_node_are_numbered_in_the_order_of_transfers() -> None:
    schedule = by_hand(TWO)
    # node 0: transfers 0, 2; node 1: 0, 1, 2; node 2: 0, 1; phase 1 starts anew
    assert schedule.channels is not None
    assert schedule.channels.tolist() == [0, 0, 0, 1, 1, 0, 0, 1, 2, 0, 0, 0, 0]
    assert verify(schedule).ok


def test_a_table_links_incoming_to_outgoing_channels_with_gates_at_the_ends() -> None:
    names = ("phase", "node", "channel", "from", "to", "to_channel", "link", "transfer")
    assert [tuple(row[name] for name in names) for row in linkage(by_hand(TWO), 1).to_rows()] == [
        (0, 1, 0, 0, 2, 0, 2, 0),
        (0, 1, 1, "gate", 2, 1, 2, 1),
        (0, 1, 2, 0, "gate", "gate", "gate", 2),
        (1, 1, 0, 2, "gate", "gate", "gate", 3),
    ]
    everything = linkage(by_hand(TWO))
    assert everything.phase.size == 13
    assert np.all(np.diff(everything.phase) >= 0)


def test_followed_through_the_tables_every_connection_arrives() -> None:
    """The obvious machine: a dictionary a phase, entered at the gate of the source."""
    machine = parse_machine("torus:4x4")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=16)
    problem = Problem(
        pattern, machine, Limits(channels=7), search=SearchOptions(router="negotiated")
    )
    phases = schedule_connections(problem)
    schedule = Schedule(
        pattern,
        machine,
        "connections",
        problem.limits,
        phases.offsets,
        phases.message,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        channels=phases.channels,
        limits_asked=True,
    )
    table = linkage(schedule)
    loaded: dict[tuple[int, int, int], tuple[int, int]] = {}
    gates = {}
    for p, v, c, start, to, then, _, k in zip(
        *(getattr(table, f).tolist() for f in table.__dataclass_fields__), strict=True
    ):
        assert (p, v, c) not in loaded, "a channel is used once in a phase"
        assert 0 <= c < 7
        loaded[p, v, c] = to, then
        if start == GATE:
            gates[k] = p, v, c
    for k in range(schedule.transfers):
        p, v, c = gates[k]
        assert v == schedule.source_node[k]
        while (step := loaded[p, v, c]) != (GATE, GATE):
            v, c = step
        assert v == schedule.target_node[k]


def mutated(schedule: Schedule, at: int, value: int) -> Document:
    assert schedule.channels is not None
    channels = schedule.channels.copy()
    channels[at] = value
    return replace(document_from(schedule, {}), channels=channels)


@pytest.mark.parametrize(
    ("at", "value", "found"),
    [
        (
            4,
            0,
            [("channel-taken", 0, 1), ("linkage", 0, 0)],
        ),  # node 2: transfer 1 overwrites the end of transfer 0
        (4, 3, [("channel-number", 0, 1)]),  # beyond the limit of 3
        (4, -1, [("channel-number", 0, 1)]),
        (4, 2, []),  # another free channel
        (
            1,
            1,
            [("channel-taken", 0, 1), ("linkage", 0, 0)],
        ),  # node 1: transfer 0 goes on as transfer 1 does
        (9, 2, []),
    ],
)
def test_a_wrong_channel_is_exactly_one_story(
    at: int, value: int, found: list[tuple[str, int, int]]
) -> None:
    schedule = by_hand(TWO)
    verification = verify(mutated(schedule, at, value), machine=schedule.machine)
    assert [
        (v.rule, v.phase, v.transfer) for v in verification.violations if v.rule != "figures"
    ] == sorted(found, key=lambda entry: entry[2])
    assert all(v.rule in RULES for v in verification.violations)


def test_too_few_channels_and_bad_routes_are_told_without_a_crash() -> None:
    schedule = by_hand(TWO)
    document = document_from(schedule, {})
    assert schedule.channels is not None
    assert schedule.route_nodes is not None
    short = verify(replace(document, channels=schedule.channels[:-1]), machine=schedule.machine)
    assert [v.rule for v in short.violations] == ["channel-number"]
    nodes = schedule.route_nodes.copy()
    nodes[1] = 99
    outside = verify(replace(document, route_nodes=nodes), machine=schedule.machine)
    assert {v.rule for v in outside.violations} >= {"route-node"}


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_channels_go_through_files(tmp_path: Path, suffix: str) -> None:
    schedule = by_hand(TWO)
    write_compiled(schedule, tmp_path / f"a{suffix}")
    again = read_compiled(tmp_path / f"a{suffix}")
    assert np.array_equal(again.channels, schedule.channels)
    assert verify(read_document(tmp_path / f"a{suffix}")).ok
    write_compiled(replace(schedule, channels=None), tmp_path / f"b{suffix}")
    assert read_compiled(tmp_path / f"b{suffix}").channels is None
    assert (
        linkage(read_compiled(tmp_path / f"b{suffix}"), 1).to_rows()
        == linkage(schedule, 1).to_rows()
    )


def test_a_file_without_channels_says_nothing_of_them_and_wrong_shapes_are_refused(
    tmp_path: Path,
) -> None:
    schedule = by_hand(TWO)
    path = tmp_path / "a.json"
    write_compiled(replace(schedule, channels=None), path)
    assert "channels" not in json.loads(path.read_text()).keys() - {"limits"}
    write_compiled(schedule, path)
    whole: dict[str, Any] = json.loads(path.read_text())
    assert whole["channels"] == [[[0, 0, 0], [1, 1, 0], [0, 1, 2]], [[0, 0], [0, 0]]]
    for wrong, words in (
        ([[[0, 0], [1, 1, 0], [0, 1, 2]], [[0, 0], [0, 0]]], "one for each node of `routes`"),
        ([[[0, 0, 0], [1, 1, 0]], [[0, 0], [0, 0]]], r"channels\[0\]: 2 entries"),
        ([[[0, 0, 0], [1, 1, 0], [0, 1, "a"]], [[0, 0], [0, 0]]], r"channels\[0\]\[2\]\[2\]"),
        (7, "channels"),
    ):
        broken = copy.deepcopy(whole)
        broken["channels"] = wrong
        path.write_text(json.dumps(broken))
        with pytest.raises(InputError, match=words):
            read_document(path)


def test_a_schedule_by_formula_has_no_linkage() -> None:
    schedule = replace(by_hand(TWO), route_offsets=None, route_nodes=None, channels=None)
    with pytest.raises(InputError, match="needs the routes of connections"):
        linkage(schedule)
    with pytest.raises(InputError, match="node 5: must be from 0 to 4"):
        linkage(by_hand(TWO), 5)
    with pytest.raises(InputError, match="one for each node of the routes"):
        replace(by_hand(TWO), channels=np.zeros(3, np.int32))


def test_guarantees_of_three_connections_by_hand() -> None:
    """iWarp: 40 MB/s everywhere, words of 4 bytes (0.1 us), 0.2 us a hop.

    On a line 0 - 1 - 2 - 3 of the 4 × 4 torus: A 0 → 1 → 2, B 1 → 2, C 1 → 2 → 3, all in phase 0.
    A: port out 0 alone, link 0 → 1 alone, link 1 → 2 by 3, port in 2 by 2: a third; 0.1 · (1 + 1 +
    3 + 2). B: port out 1 by 2, link by 3, port in by 2: a third; 0.1 · (2 + 3 + 2). C: 2, 3, 1, 1:
    a third; 0.1 · 7. D alone in phase 1: the whole rate; three terms.
    """
    schedule = by_hand([[[0, 1, 2], [1, 2], [1, 2, 3]], [[2, 1]]], on="iwarp:4x4", channels=12)
    given = guarantees(schedule)
    assert given.bandwidth_Bps == pytest.approx([40e6 / 3, 40e6 / 3, 40e6 / 3, 40e6])
    hop, word = 0.2e-6, 0.1e-6
    assert given.latency_s == pytest.approx(
        [2 * hop + 7 * word, hop + 7 * word, 2 * hop + 7 * word, hop + 3 * word]
    )
    worst = given.to_object()
    assert worst["bandwidth_Bps"] == pytest.approx(40e6 / 3)
    assert worst["latency_s"] == pytest.approx(1.1e-6)


def test_guarantees_along_the_machines_routes_and_without_messages() -> None:
    schedule = by_hand([[[0, 1, 2]]], on="iwarp:4x4")
    plain = replace(schedule, route_offsets=None, route_nodes=None, channels=None)
    assert guarantees(plain).bandwidth_Bps.tolist() == [40e6]
    nothing = replace(
        plain,
        pattern=Pattern.from_messages([], [], [], 16),
        phase_offsets=np.zeros(1, np.int64),
        message=np.zeros(0),
    )
    assert guarantees(nothing).to_object() == {"bandwidth_Bps": None, "latency_s": 0.0}


def test_bandwidths_from_a_rate_and_from_a_file(tmp_path: Path) -> None:
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 0], [8, 8, 8], 4)
    assert read_bandwidths("5MB/s", pattern).tolist() == [5e6] * 3
    path = tmp_path / "demands.csv"
    path.write_text("# what must be there\nsource,target,rate\n1,2,8 Mb/s\n\n2,0,3MB/s\n")
    assert read_bandwidths(str(path), pattern).tolist() == [0, 1e6, 3e6]
    for text, words in (
        ("1,2,3\n", "line 1: the header must be source,target,rate"),
        ("source,target,rate\n0,2,1MB/s\n", "line 2: no message of pattern goes from 0 to 2"),
        ("source,target,rate\n0,1\n", "line 2: 3 columns required, given 2"),
        ("source,target,rate\na,1,1\n", "line 2: two whole numbers"),
        ("source,target,rate\n0,1,fast\n", "line 2: rate 'fast'"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            read_bandwidths(str(path), pattern)
