"""The verifier by mutation.

A valid schedule broken in one place shows exactly that violation, at that place.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.compilation.combining import compile_combined
from conset.compilation.options import CompileOptions
from conset.machine.costs import Costs, Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.pattern.spec import parse_pattern
from conset.schedule.document import Document, ProgramDocument
from conset.schedule.files.compiled import document_of
from conset.schedule.paths import MessagesBlock
from conset.verification import RULES, Verification, verify
from conset.verification.schedule.messages import exact_sum
from support.hand_made import ANY, all_to_all, document, graph_of, greedy, machine_on, route

MESH = machine_on(Topology.mesh(3, 3), "mesh:3x3")
# 0 - 1 - 2 - 3 in a line, written in both directions; the first three may hold ranks
LINE = graph_of(3, 4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])

MACHINES = {
    "mesh": MESH,
    "cuboid": machine_on(Topology.mesh(2, 1, 3)),
    "torus": machine_on(Topology.torus(4, 4)),
    "torus plus": machine_on(Topology.torus(4, 3), tie="plus"),
    "torus checker": machine_on(Topology.torus(4, 2), tie="checker"),
    "torus no wrap": machine_on(Topology.torus(4, 4), rule="no-wrap"),
    "wide ring": machine_on(Topology.ring(6, width=2)),
    "hypercube": machine_on(Topology.hypercube(4)),
    "one node": machine_on(Topology.hypercube(0)),
    "crossbar": machine_on(Topology.crossbar(5)),
    "graph": machine_on(LINE),
}


def check(machine: Machine, *args: Any, window: int | None = None, **kwargs: Any) -> Verification:
    return verify(document(machine, *args, **kwargs), machine=machine, window=window)


def places(verification: Verification) -> list[tuple[str, int | None, int | None]]:
    """(rule, phase, transfer) of every violation.

    Each has one line of text and a rule that is documented.
    """
    for v in verification.violations:
        assert v.rule in RULES
        assert v.text.strip()
        assert "\n" not in v.text
    assert verification.ok == (not verification.violations)
    return [(v.rule, v.phase, v.transfer) for v in verification.violations]


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    "limits", [ANY, Limits(1, 1), Limits(channels=4), Limits(1, 1, 1, duplex="exchange"), Limits()]
)
def test_valid_schedules_pass(name: str, limits: Limits) -> None:
    machine = MACHINES[name]
    messages = all_to_all(machine.topology.endpoints)
    if machine.topology.kind in ("torus", "ring"):
        limits = Limits(
            limits.send, limits.receive, limits.link, limits.channels and 6, limits.duplex
        )
    if limits.channels:
        # a route longer than one hop takes a channel in every node on its way, none takes two in
        # one
        limits = Limits(channels=limits.channels)
    result = check(machine, messages, greedy(machine, messages, limits), limits)
    assert places(result) == []


# Two messages that share the link 0 → 1 of the mesh, in phases of their own, and one beside them:
#   0 1 2
#   3 4 5     message 0: 0 → 1, message 1: 0 → 2 by 1, message 2: 3 → 5 by 4
#   6 7 8
MESSAGES = [[0, 1, 10], [0, 2, 20], [3, 5, 30]]
PHASES = [[[0, 1, 10, 0], [3, 5, 30, 2]], [[0, 2, 20, 1]]]


def phases_with(change: Any) -> list[list[list[int]]]:
    phases = copy.deepcopy(PHASES)
    change(phases)
    return phases


def test_the_schedule_to_break_is_valid() -> None:
    result = check(MESH, MESSAGES, PHASES)
    assert places(result) == []
    # by hand: phase 0 carries at most 1 anywhere, so does phase 1; bytes 30 + 20
    load = {"send": 1, "receive": 1, "link": 1, "channels": 1, "sum": 2}
    assert result.figures == {"phases": 2, "load": load, "phase_bytes": 50}


MISSING = ("message-missing", None, None)


def cell(k: int, column: int, value: int) -> Any:
    """Sets one number of transfer k of phase 0: 0 source, 1 target, 2 bytes, 3 message."""
    return lambda phases: phases[0][k].__setitem__(column, value)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda p: p[1].pop(), [MISSING], id="drop a transfer"),
        pytest.param(
            lambda p: p.append([[0, 2, 20, 1]]), [("message-bytes", 2, 0)], id="duplicate it"
        ),
        pytest.param(cell(1, 2, 31), [("message-bytes", 0, 1)], id="change its size"),
        pytest.param(
            cell(1, 2, 2**62), [("message-bytes", 0, 1)], id="change its size to a huge one"
        ),
        pytest.param(cell(1, 2, 0), [("message-bytes", 0, 1), ("part-size", 0, 1)], id="no bytes"),
        pytest.param(cell(1, 0, 4), [("message-ends", 0, 1)], id="another source"),
        pytest.param(cell(1, 1, 8), [("message-ends", 0, 1)], id="another target"),
        pytest.param(cell(1, 3, 3), [MISSING, ("message-index", 0, 1)], id="no message"),
        pytest.param(
            cell(1, 3, 1),
            [MISSING, ("message-ends", 0, 1), ("message-bytes", 1, 0)],
            id="another message",
        ),
        pytest.param(
            lambda p: p[0].append(p.pop()[0]),
            [("link", 0, 2), ("send", 0, 2)],
            id="move it to a conflict",
        ),
    ],
)
def test_a_transfer_changed_in_one_place(change: Any, expected: list[Any]) -> None:
    assert sorted(places(check(MESH, MESSAGES, phases_with(change))), key=str) == sorted(
        expected, key=str
    )


def test_a_rank_that_does_not_exist_in_a_transfer() -> None:
    given = document(MESH, MESSAGES, PHASES)
    source = given.transfer_source.copy()
    source[1] = 9
    # without it the phases carry no less anywhere, so the figures stay true
    result = verify(replaced(given, transfer_source=source), machine=MESH)
    assert places(result) == [("message-ends", 0, 1)]


def replaced(given: Document, **changes: Any) -> Document:
    return Document(
        **{name: getattr(given, name) for name in Document.__dataclass_fields__} | changes
    )


def test_split_messages_add_up() -> None:
    phases = [[[0, 1, 10, 0], [3, 5, 30, 2]], [[0, 2, 5, 1]], [[0, 2, 15, 1]]]
    assert places(check(MESH, MESSAGES, phases)) == []
    phases[1][0][2] = 6
    result = check(MESH, MESSAGES, phases)
    assert places(result) == [("message-bytes", 2, 0)]
    assert (
        result.violations[0].text
        == "phase 2 transfer 0: the 2 transfers of message 1 (0 → 2, 20 B) carry 21 B together"
    )
    phases[1][0][2], phases[2][0][2] = 25, -5
    assert places(check(MESH, MESSAGES, phases)) == [("part-size", 2, 0)]


def test_parts_whose_sum_wraps_around_do_not_add_up() -> None:
    # 2^62 four times and 20 B is 20 B in 64 bits
    parts = [2**62] * 4 + [20]
    result = check(MESH, [[0, 2, 20]], [[[0, 2, b, 0]] for b in parts])
    assert places(result) == [("message-bytes", 4, 0)]
    assert str(4 * 2**62 + 20) in result.violations[0].text


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ((2**61, 2**61), False),
        ((2**61, 2**61 + 1), True),
        ((2**62, 2**62), True),
        ((2**63 - 1, 2**63 - 1), True),
    ],
)
def test_sums_of_sizes_stay_within_64_bits(sizes: tuple[int, int], wrong: bool) -> None:
    messages = [[0, 1, sizes[0]], [3, 4, sizes[1]]]
    result = check(MESH, messages, [[[*row, m] for m, row in enumerate(messages)]])
    assert places(result) == [("pattern", None, None)] * wrong
    if wrong:
        words = f"all messages together have {sum(sizes)} B, at most {2**62} B"
        assert result.violations[0].text == words


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_sums_are_exact(count: int) -> None:
    rng = np.random.default_rng(count)
    for dtype in (np.int32, np.int64):
        values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count, dtype, endpoint=True)
        assert exact_sum(values) == sum(values.tolist())
    assert exact_sum(np.broadcast_to(np.int64(2**62), count)) == count * 2**62


def test_link_violation_names_link_transfers_and_both_numbers() -> None:
    phases = [[[3, 5, 30, 1], [0, 1, 10, 0], [0, 2, 20, 2]]]
    result = check(MESH, [[0, 1, 10], [3, 5, 30], [0, 2, 20]], phases, Limits(link=1))
    assert places(result) == [("link", 0, 2)]
    assert (
        result.violations[0].text
        == "phase 0: link 0 (0, 0) → 1 (0, 1) carries 2 messages (transfers 1, 2), the limit is 1"
    )


def test_receive_violation() -> None:
    result = check(MESH, [[0, 1, 10], [4, 1, 10]], [[[0, 1, 10, 0], [4, 1, 10, 1]]])
    assert places(result) == [("receive", 0, 1)]
    assert (
        result.violations[0].text
        == "phase 0: node 1 (0, 1) receives 2 messages (transfers 0, 1), the limit is 1"
    )


def test_channels_count_ends_and_nodes_between() -> None:
    # 0 → 2 passes 1, where 1 → 0 starts and 4 → 1 ends: three channels in node 1
    messages = [[0, 2, 1], [1, 0, 1], [4, 1, 1]]
    phases = [[[*row, m] for m, row in enumerate(messages)]]
    assert places(check(MESH, messages, phases, Limits(channels=3))) == []
    result = check(MESH, messages, phases, Limits(channels=2))
    assert places(result) == [("channels", 0, 2)]
    assert (
        result.violations[0].text
        == "phase 0: node 1 (0, 1) carries 3 routes (transfers 0, 1, 2), the limit is 2"
    )


def test_limits_count_per_unit_of_width() -> None:
    ring = machine_on(Topology.ring(6, width=2))
    messages = [[0, 1, 1], [0, 2, 1], [5, 1, 1]]
    phases = [[[*row, m] for m, row in enumerate(messages)]]
    result = check(ring, messages, phases, Limits(link=1))
    assert places(result) == [("link", 0, 2)]
    assert result.violations[0].text.endswith("the limit is 1 per unit of width, the width 2")
    assert result.figures["load"]["link"] == 2  # three on a width of two, rounded up
    assert places(check(ring, messages[:2], [phases[0][:2]], Limits(link=1))) == []


def test_widths_of_a_graph_are_its_own() -> None:
    links = [(0, 1), (1, 0), (1, 2), (2, 1)]
    messages = [[0, 1, 1], [0, 2, 1]]
    phases = [[[0, 1, 1, 0], [0, 2, 1, 1]]]
    for width, expected in ((2, []), (1, [("link", 0, 1)])):
        machine = machine_on(graph_of(3, 3, links, [width, 1, 1, 1]))
        assert places(check(machine, messages, phases, Limits(link=1))) == expected


def test_duplex_exchange() -> None:
    limits = Limits(1, 1, 1, duplex="exchange")
    messages = [[0, 1, 1], [1, 0, 1], [1, 4, 1]]
    assert (
        places(check(MESH, messages, [[[0, 1, 1, 0], [1, 0, 1, 1]], [[1, 4, 1, 2]]], limits)) == []
    )
    phases = [[[1, 0, 1, 1]], [[0, 1, 1, 0], [1, 4, 1, 2]]]
    result = check(MESH, messages, phases, limits)
    assert places(result) == [("duplex", 1, 1)]
    words = (
        "phase 1: node 1 (0, 1) sends and receives with 2 partners (transfers 0, 1), duplex "
        "exchange allows 1"
    )
    assert result.violations[0].text == words
    assert places(check(MESH, messages, phases)) == []


def test_duplex_allows_several_partners_one_way() -> None:
    messages = [[0, 1, 1], [0, 3, 1]]
    phases = [[[0, 1, 1, 0], [0, 3, 1, 1]]]
    assert places(check(MESH, messages, phases, Limits(duplex="exchange"))) == []


def test_all_violations_are_returned() -> None:
    messages = all_to_all(9)
    result = check(
        MESH, messages, [[[*row, m] for m, row in enumerate(messages)]], Limits(send=1, receive=1)
    )
    expected = [("send", 0, 8 * v + 1) for v in range(9)] + [
        ("receive", 0, second_into(v)) for v in range(9)
    ]
    assert sorted(places(result), key=str) == sorted(expected, key=str)


def second_into(node: int) -> int:
    """The second message of the complete exchange of 9 that `node` receives."""
    return [m for m, (_, t, _) in enumerate(all_to_all(9)) if t == node][1]


# Explicit routes

ROUTES = [[[0, 1], [3, 4, 5]], [[0, 1, 2]]]


def routes_with(p: int, k: int, nodes: list[int]) -> list[list[list[int]]]:
    routes = copy.deepcopy(ROUTES)
    routes[p][k] = nodes
    return routes


@pytest.mark.parametrize(
    ("nodes", "rule"),
    [
        pytest.param([3, 0, 1, 4, 5], None, id="a longer path is a path, and conflicts"),
        pytest.param([3, 6, 7, 8, 5], None, id="a longer path"),
        pytest.param([3, 4, 7, 4, 5], "route-simple", id="lengthened by a loop"),
        pytest.param([3, 4, 4, 5], "route-simple", id="a node twice in a row"),
        pytest.param([3, 5], "route-link", id="no such link"),
        pytest.param([3, 7, 8, 5], "route-link", id="diagonal"),
        pytest.param([3, 4], "route-ends", id="stops short"),
        pytest.param([4, 5], "route-ends", id="starts late"),
        pytest.param([3, 9, 5], "route-node", id="no such node"),
        pytest.param([3, -1, 5], "route-node", id="negative node"),
        pytest.param([], "route-node", id="empty"),
    ],
)
def test_a_route_changed_in_one_place(nodes: list[int], rule: str | None) -> None:
    given = document(MESH, MESSAGES, PHASES, Limits(), routes=routes_with(0, 1, nodes), figures={})
    expected = [] if rule is None else [(rule, 0, 1)]
    assert places(verify(given, machine=MESH)) == expected


def test_a_route_that_changes_its_plane() -> None:
    schedule = conset.compile("alltoall", "mesh:4x4,planes=2", method="bounded")
    offsets, entered = schedule.route_offsets, schedule.route_links
    assert offsets is not None
    assert entered is not None
    longest = int(np.argmax(np.diff(offsets)))
    moved = entered.copy()
    moved[offsets[longest + 1] - 1] ^= 1  # the last link in the other plane
    found = conset.verify(replace(schedule, route_links=moved))
    assert ("route-plane", 0, longest) in places(found)


def test_a_lengthened_route_conflicts() -> None:
    result = check(MESH, MESSAGES, PHASES, routes=routes_with(0, 1, [3, 0, 1, 4, 5]))
    assert places(result) == [("link", 0, 1)]
    assert result.figures["load"]["channels"] == 2


def test_routes_follow_the_placement() -> None:
    placement = [8, 7, 6, 5, 4, 3, 2, 1, 0]
    phases = [[[0, 1, 10, 0]]]
    assert places(check(MESH, [[0, 1, 10]], phases, placement=placement, routes=[[[8, 7]]])) == []
    assert places(check(MESH, [[0, 1, 10]], phases, placement=placement, routes=[[[0, 1]]])) == [
        ("route-ends", 0, 0)
    ]


def test_routes_on_a_crossbar_are_direct() -> None:
    machine = MACHINES["crossbar"]
    assert places(check(machine, [[0, 1, 1]], [[[0, 1, 1, 0]]], routes=[[[0, 1]]])) == []
    assert places(check(machine, [[0, 1, 1]], [[[0, 1, 1, 0]]], routes=[[[0, 2, 1]]])) == [
        ("route-link", 0, 0)
    ]


def test_a_torus_route_may_wrap_and_a_mesh_route_not() -> None:
    phases, routes = [[[0, 3, 1, 0]]], [[[0, 3]]]
    assert places(check(machine_on(Topology.ring(4)), [[0, 3, 1]], phases, routes=routes)) == []
    given = document(machine_on(Topology.mesh(4)), [[0, 3, 1]], phases, routes=routes, figures={})
    assert places(verify(given, machine=machine_on(Topology.mesh(4)))) == [("route-link", 0, 0)]


def test_a_route_that_never_wraps_closes_no_cycle() -> None:
    phases, routes = [[[0, 3, 1, 0]]], [[[0, 3]]]
    idle = machine_on(Topology.ring(4), rule="no-wrap")
    given = document(idle, [[0, 3, 1]], phases, routes=routes, figures={})
    assert places(verify(given, machine=idle)) == [("route-link", 0, 0)]
    assert places(check(idle, [[0, 3, 1]], phases, routes=[[[0, 1, 2, 3]]])) == []


def test_a_graph_without_a_path() -> None:
    machine = machine_on(graph_of(3, 3, [(0, 1), (1, 0), (2, 1)]))
    given = document(machine, [[0, 1, 1], [0, 2, 1]], [[[0, 1, 1, 0]], [[0, 2, 1, 1]]], figures={})
    assert places(verify(given, machine=machine)) == [("route-link", 1, 0)]


@pytest.mark.parametrize(
    ("links", "good"), [([0, 2], True), ([2, 0], False), ([0], False), ([], False)]
)
def test_a_route_table_is_not_believed(links: list[int], good: bool) -> None:
    # links of LINE by (source, target): 0: 0→1, 1: 1→0, 2: 1→2, …; the pair (0, 2) is entry 2 of
    # nine
    offsets = np.array([0, 0, 0] + [len(links)] * 7, np.int64)
    routing = Routing("table", table_offsets=offsets, table_links=np.array(links, np.int32))
    machine = Machine("table", LINE, routing)
    given = document(machine, [[0, 2, 1]], [[[0, 2, 1, 0]]], figures={})
    assert places(verify(given, machine=machine)) == ([] if good else [("route-link", 0, 0)])


def test_a_machine_has_no_route_table_over_links_that_are_not_there() -> None:
    routing = Routing(
        "table", table_offsets=np.array([0] * 3 + [2] * 7), table_links=np.array([0, 9], np.int32)
    )
    with pytest.raises(InputError, match=r"^table_links\[1\] = 9: must be from 0 to 5$"):
        Machine("table", LINE, routing)


# Ranks, placement, pattern, limits, figures


def test_several_ranks_on_a_node_use_nothing_between_them() -> None:
    machine = machine_on(Topology.mesh(2))
    messages, placement = [[0, 1, 5], [0, 2, 5], [1, 3, 5]], [0, 0, 1, 1]
    phases = [[[0, 1, 5, 0], [0, 2, 5, 1]], [[1, 3, 5, 2]]]
    result = check(machine, messages, phases, ranks=4, placement=placement)
    assert places(result) == []
    assert result.figures["load"] == {"send": 1, "receive": 1, "link": 1, "channels": 1, "sum": 2}
    together = [[*phases[0], *phases[1]]]
    assert sorted(places(check(machine, messages, together, ranks=4, placement=placement))) == [
        ("link", 0, 2),
        ("receive", 0, 2),
        ("send", 0, 2),
    ]
    routes = [[[0], [0, 1]], [[0, 1]]]
    assert (
        places(check(machine, messages, phases, ranks=4, placement=placement, routes=routes)) == []
    )
    routes[0][0] = [0, 1, 0]
    given = document(
        machine, messages, phases, ranks=4, placement=placement, routes=routes, figures={}
    )
    assert places(verify(given, machine=machine)) == [("route-simple", 0, 0)]


@pytest.mark.parametrize(
    "placement",
    [[0, 1, 2, 3, 4, 5, 6, 7, 9], [0, 1, 2, 3, 4, 5, 6, 7, -1], [0, 1, 2, 3, 4, 5, 6, 7]],
)
def test_placement_must_be_a_map(placement: list[int]) -> None:
    assert places(check(MESH, MESSAGES, PHASES, ranks=9, placement=placement)) == [
        ("placement", None, None)
    ]


def test_ranks_must_fit() -> None:
    assert places(check(MESH, MESSAGES, PHASES, ranks=10)) == [("ranks", None, None)]
    # a switch holds no ranks
    assert places(check(MACHINES["graph"], [], [], ranks=1, placement=[3])) == [
        ("placement", None, None)
    ]


@pytest.mark.parametrize("row", [[0, 0, 1], [0, 9, 1], [-1, 0, 1], [0, 1, 0]])
def test_the_pattern_must_be_one(row: list[int]) -> None:
    given = document(MESH, [*MESSAGES, row], [*PHASES, [[*row, 3]]], Limits(), figures={})
    rules = [rule for rule, *_ in places(verify(given, machine=MESH))]
    assert "pattern" in rules
    assert set(rules) <= {"pattern", "part-size"}


@pytest.mark.parametrize("ids", [[5, 0, 5], [5, -1, 4], [5, 0, 2**31], [5, 0], [5, 0, 4, 3]])
def test_connections_have_numbers_of_their_own(ids: list[int]) -> None:
    true = document(MESH, MESSAGES, PHASES)
    assert verify(replace(true, ids=np.array([5, 0, 4])), machine=MESH).ok
    found = verify(replace(true, ids=np.array(ids)), machine=MESH)
    assert {*places(found)} == {("pattern", None, None)}
    late = replace(true, ids=np.array([5, 0, 4]), transfer_size=true.transfer_size + 1)
    texts = [each.text for each in verify(late, machine=MESH).violations]
    assert any("of message 1, connection 0 (0 → 2, 20 B)" in text for text in texts)


def test_stated_limits_may_not_be_looser_than_the_machine() -> None:
    hard = Limits(send=1, channels=12, duplex="exchange")
    machine = Machine("hard", MESH.topology, MESH.routing, limits=hard, limits_methods=("by-hand",))
    assert places(check(machine, MESSAGES, PHASES, hard)) == []
    loosened = Limits(send=2)
    result = check(machine, MESSAGES, PHASES, loosened)
    assert places(result) == [("limits", None, None)] * 3
    assert result.violations[0].text == "limit send is 2, hard keeps 1 for by-hand"
    assert places(check(machine, MESSAGES, PHASES, loosened, limits_asked=True)) == []
    assert places(check(machine, MESSAGES, PHASES, loosened, method="another")) == []


def test_one_phase_may_not_open_more_channels_than_iwarp_has() -> None:
    """15 own messages either way of every cell, beside those that pass it."""
    machine = parse_machine("iwarp:4x4")
    with pytest.raises(InputError, match="channels=12"):
        conset.compile("alltoall", machine, method="event-list")
    asked = document_of(conset.compile("alltoall", machine, method="event-list", limits=""))
    result = verify(asked, machine=machine)
    assert result.ok
    assert result.figures["load"]["channels"] > 30
    result = verify(replace(asked, limits_asked=False), machine=machine)
    assert places(result) == [("limits", None, None)]
    assert "keeps 12 for event-list" in result.violations[0].text


@pytest.mark.parametrize(
    "key", ["phases", "phase_bytes", "send", "receive", "link", "channels", "sum"]
)
def test_stated_figures_must_be_true(key: str) -> None:
    stated = copy.deepcopy(document(MESH, MESSAGES, PHASES).figures)
    inner: Any = stated if key in stated else stated["load"]
    inner[key] += 1
    result = check(MESH, MESSAGES, PHASES, figures=stated)
    assert places(result) == [("figures", None, None)]
    assert f"file says {inner[key]}, recount gives {inner[key] - 1}" in result.violations[0].text


def test_an_empty_pattern_has_no_phases() -> None:
    result = check(MESH, [], [])
    assert places(result) == []
    assert result.figures["phases"] == 0
    assert places(check(MESH, [], [[]])) == []


# Order


def test_the_order_holds_across_phases() -> None:
    assert places(check(MESH, MESSAGES, PHASES, before=[[0, 1]])) == []
    result = check(MESH, MESSAGES, PHASES, before=[[0, 1], [1, 0]])
    assert places(result) == [("pattern", None, None), ("order", 0, 0)]
    assert result.violations[0].text == "before: the order is cyclic: message 1 before 0 before 1"
    words = (
        "before[1] = [1, 0]: message 1 (phase 1 transfer 0) must end before message 0 (phase 0 "
        "transfer 0) starts"
    )
    assert result.violations[1].text == words


def test_a_cyclic_order_is_none_wherever_it_is_scheduled() -> None:
    """Windows of one instant touch each other.

    Of those the list decides, and breaks every cycle somewhere.
    """
    messages = [[0, 1, 1], [1, 2, 1], [2, 0, 1]]
    phases = [[[*row, m] for m, row in enumerate(messages)]]
    now: list[list[list[float]]] = [[[1.0, 1.0]] * 3]
    around = [[0, 1], [1, 2], [2, 0]]
    assert places(check(MESH, messages, phases, Limits(), before=around[:2], timetable=now)) == []
    assert places(check(MESH, messages, phases, Limits(), before=around, timetable=now)) == [
        ("pattern", None, None),
        ("order", 0, 0),
    ]
    assert places(check(MESH, messages, phases, Limits(), before=[[1, 1]], timetable=now)) == [
        ("pattern", None, None),
        ("order", 0, 1),
    ]


def test_the_order_inside_a_phase_is_that_of_the_timetable_or_the_list() -> None:
    phases = [[[0, 1, 10, 0], [0, 2, 20, 1]], [[3, 5, 30, 2]]]
    swapped: list[list[list[float]]] = [[[1.0, 2.0], [0.0, 1.0]], [[0.0, 3.0]]]
    good: list[list[list[float]]] = [[[0.0, 1.0], [1.0, 2.0]], [[0.0, 3.0]]]
    order = [[0, 1]]
    assert places(check(MESH, MESSAGES, phases, Limits(), before=order)) == []
    turned = check(MESH, MESSAGES, [phases[0][::-1], phases[1]], Limits(), before=order)
    assert places(turned) == [("order", 0, 0)]
    words = (
        "before[0] = [0, 1]: message 0 (phase 0 transfer 1) must end before message 1 (phase 0 "
        "transfer 0) starts"
    )
    assert turned.violations[0].text == words
    assert places(check(MESH, MESSAGES, phases, Limits(), before=order, timetable=good)) == []
    turned = check(
        MESH,
        MESSAGES,
        [phases[0][::-1], phases[1]],
        Limits(),
        before=order,
        timetable=[good[0][::-1], good[1]],
    )
    assert places(turned) == []
    assert places(check(MESH, MESSAGES, phases, Limits(), before=order, timetable=swapped)) == [
        ("order", 0, 1)
    ]


def test_the_order_holds_for_all_parts() -> None:
    messages = [[0, 1, 10], [0, 2, 20]]
    good = [[[0, 1, 5, 0]], [[0, 1, 5, 0]], [[0, 2, 20, 1]]]
    assert places(check(MESH, messages, good, before=[[0, 1]])) == []
    between = [good[0], good[2], good[1]]
    assert places(check(MESH, messages, between, before=[[0, 1]])) == [("order", 1, 0)]
    one, other, last = good[0][0], good[1][0], good[2][0]
    assert places(check(MESH, messages, [[one, other, last]], Limits(), before=[[0, 1]])) == []
    assert places(check(MESH, messages, [[one, last, other]], Limits(), before=[[0, 1]])) == [
        ("order", 0, 1)
    ]


@pytest.mark.parametrize("pair", [[0, 3], [-1, 0], [0, 2]])
def test_ordered_messages_exist_and_share_a_rank(pair: list[int]) -> None:
    assert places(check(MESH, MESSAGES, PHASES, before=[pair])) == [("pattern", None, None)]


# Timetables

TOGETHER = [[[0, 1, 10, 0], [0, 2, 20, 1], [3, 5, 30, 2]]]


def in_time(*rows: tuple[float, float]) -> Verification:
    return check(MESH, MESSAGES, TOGETHER, Limits(), timetable=[[list(row) for row in rows]])


def test_intervals_that_touch_do_not_overlap() -> None:
    assert places(in_time((0.0, 1.0), (1.0, 2.0), (0.0, 3.0))) == []
    assert places(in_time((0.0, 1.0), (0.5, 0.5), (0.0, 3.0))) == []


def test_overlapping_intervals_share_no_port_and_no_link() -> None:
    result = in_time((0.0, 1.0), (0.5, 1.5), (0.0, 3.0))
    assert sorted(places(result)) == [("timetable-link", 0, 1), ("timetable-send", 0, 1)]
    link = next(v for v in result.violations if v.rule == "timetable-link")
    words = "carries transfer 1 from 0.5 s on while still busy with 0, the limit is 1 at once"
    assert link.text == f"phase 0: link 0 (0, 0) → 1 (0, 1) {words}"


def test_overlap_at_a_receiver() -> None:
    messages = [[0, 1, 1], [4, 1, 1]]
    phases = [[[0, 1, 1, 0], [4, 1, 1, 1]]]
    result = check(MESH, messages, phases, Limits(), timetable=[[[0.5, 2.0], [0.0, 1.0]]])
    assert places(result) == [("timetable-receive", 0, 0)]


def test_the_same_interval_in_two_phases_does_not_overlap() -> None:
    assert places(check(MESH, MESSAGES, PHASES, timetable=[[[0, 1], [0, 1]], [[0, 1]]])) == []


def test_a_link_of_width_two_carries_two_at_once() -> None:
    links = [(0, 1), (1, 0), (1, 2), (2, 1), (3, 0), (0, 3)]
    machine = machine_on(graph_of(4, 4, links, [2, 1, 1, 1, 1, 1]))
    messages = [[0, 1, 1], [3, 2, 1]]
    phases = [[[0, 1, 1, 0], [3, 2, 1, 1]]]
    assert places(check(machine, messages, phases, Limits(), timetable=[[[0, 2], [1, 3]]])) == []
    narrow = machine_on(graph_of(4, 4, links))
    given = check(narrow, messages, phases, Limits(), timetable=[[[0, 2], [1, 3]]])
    assert places(given) == [("timetable-link", 0, 1)]


# 2 B/s out of a node, 1 B/s into it, 4 B/s on a link; 0 → 2 takes two links, 1 → 2 one
RATES = Costs(port_out_Bps=2.0, port_in_Bps=1.0, link_Bps=4.0)


@pytest.mark.parametrize(
    ("machine", "least"),
    [
        (replace(MESH, costs=RATES), 20.0),
        (replace(MESH, costs=replace(RATES, port_in_Bps=inf)), 10.0),
        (replace(MESH, costs=replace(RATES, port_in_Bps=inf, port_out_Bps=inf)), 5.0),
        (replace(MESH, costs=replace(RATES, node_Bps=0.5)), 40.0),
        (replace(machine_on(Topology.mesh(3, 3, width=2)), costs=Costs(link_Bps=4.0)), 5.0),
    ],
)
def test_a_window_is_as_long_as_its_bytes_need(machine: Machine, least: float) -> None:
    """20 B at the slowest of the ports and one unit of width of every link."""
    messages, phases = [[0, 2, 20]], [[[0, 2, 20, 0]]]
    for start in (0.0, 7.0):
        assert places(check(machine, messages, phases, timetable=[[[start, start + least]]])) == []
        for length in (0.0, 0.999 * least):
            result = check(machine, messages, phases, timetable=[[[start, start + length]]])
            assert places(result) == [("timetable-length", 0, 0)]
            assert result.violations[0].text.endswith(f"its 20 B need at least {least:g} s")


def test_a_window_lasts_as_long_as_the_slowest_link_of_its_route() -> None:
    links = [(0, 1), (1, 0), (1, 2), (2, 1)]
    slow = replace(graph_of(3, 3, links), link_rate_Bps=np.array([4.0, 4.0, 1.0, 4.0]))
    phases = [[[0, 2, 20, 0]]]
    assert places(check(machine_on(slow), [[0, 2, 20]], phases, timetable=[[[0.0, 20.0]]])) == []
    assert places(check(machine_on(slow), [[0, 2, 20]], phases, timetable=[[[0.0, 19.9]]])) == [
        ("timetable-length", 0, 0)
    ]
    inside = check(
        machine_on(slow),
        [[0, 1, 20]],
        [[[0, 1, 20, 0]]],
        placement=[2, 2],
        ranks=2,
        timetable=[[[3, 3]]],
    )
    assert places(inside) == []


@pytest.mark.parametrize("row", [(1.0, 0.5), (-1.0, 0.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_an_interval_must_be_one(row: tuple[float, float]) -> None:
    assert places(in_time((0.0, 1.0), (1.0, 2.0), row)) == [("timetable-interval", 0, 2)]


# Windows


def test_a_window_adds_up_consecutive_phases() -> None:
    apart = [PHASES[0], [], PHASES[1]]
    assert places(check(MESH, MESSAGES, apart, window=2)) == []
    result = check(MESH, MESSAGES, PHASES, window=2)
    assert sorted(places(result)) == [("window-link", 1, 0), ("window-send", 1, 0)]
    link = next(v for v in result.violations if v.rule == "window-link")
    words = "carries 2 messages (transfers 0:0, 1:0), the limit is 1"
    assert link.text == f"phases 0 to 1 together: link 0 (0, 0) → 1 (0, 1) {words}"


def test_a_window_longer_than_the_schedule_is_the_schedule() -> None:
    assert len(check(MESH, MESSAGES, PHASES, window=9).violations) == 2
    assert places(check(MESH, [], [], window=3)) == []
    assert places(check(MESH, MESSAGES, PHASES, window=1)) == []


def test_a_window_keeps_duplex() -> None:
    limits = Limits(duplex="exchange")
    messages = [[0, 1, 1], [1, 4, 1]]
    phases = [[[0, 1, 1, 0]], [[1, 4, 1, 1]]]
    assert places(check(MESH, messages, phases, limits)) == []
    assert places(check(MESH, messages, phases, limits, window=2)) == [("window-duplex", 1, 0)]


def test_a_window_has_at_least_one_phase() -> None:
    with pytest.raises(UsageError, match="window 0: must be at least 1"):
        check(MESH, MESSAGES, PHASES, window=0)


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        (Limits(receive=1), "window-receive"),
        (Limits(channels=3), "window-channels"),
    ],
)
def test_a_window_keeps_receive_and_channels(limits: Limits, rule: str) -> None:
    # two messages into node 4 from both sides: 4 is an end of both, 3 and 5 of one each
    messages = [[3, 4, 1], [5, 4, 1], [1, 4, 1], [4, 7, 1]]
    phases = (
        [[[3, 4, 1, 0]], [[5, 4, 1, 1]]]
        if limits.receive
        else [[[*row, m]] for m, row in enumerate(messages)]
    )
    messages = messages[: len(phases)]
    assert places(check(MESH, messages, phases, limits)) == []
    assert places(check(MESH, messages, phases, limits, window=4)) == [(rule, len(phases) - 1, 0)]


@pytest.mark.parametrize(
    ("channels", "found"),
    [
        ([0, 0, 0, 1, 1], []),
        ([0, 0, 0, 2, 1], []),  # numbers are free
        ([0, 0, 0, 4, 1], [("channel-number", 0, 1)]),
        ([0, 0, 0, 1], [("channel-number", None, None)]),
        # node 1 loses the channel of the first transfer to the second, which leads to the same
        # gate: nobody is lost
        ([0, 0, 0, 0, 1], [("channel-taken", 0, 1)]),
        # node 2 keeps one gate for both: both still come out there
        ([0, 0, 0, 1, 0], [("channel-taken", 0, 1)]),
    ],
)
def test_channels(channels: list[int], found: list[tuple[str, int | None, int | None]]) -> None:
    phases = [[(0, 2, 8, 0), (1, 2, 8, 1)]]
    messages, routes = [(0, 2, 8), (1, 2, 8)], [[[0, 1, 2], [1, 2]]]
    limits = Limits(channels=4)
    given = document(
        MESH, messages, phases, limits, routes=routes, channels=np.array(channels, np.int32)
    )
    assert places(verify(given, machine=MESH)) == found


def test_linkage_overwritten_leads_to_another_gate() -> None:
    messages, phases = [(0, 2, 8), (1, 4, 8)], [[(0, 2, 8, 0), (1, 4, 8, 1)]]
    changes = {"routes": [[[0, 1, 2], [1, 4]]], "channels": np.array([0, 0, 0, 0, 0], np.int32)}
    verification = verify(
        document(MESH, messages, phases, Limits(channels=4), **changes), machine=MESH
    )
    assert places(verification) == [("linkage", 0, 0), ("channel-taken", 0, 1)]
    assert "comes out at the gate of node 4" in verification.violations[0].text


@pytest.mark.parametrize("channel", [-1, 4, 2**31, 2**63 - 1])
def test_channels_that_no_node_has(channel: int) -> None:
    messages, phases = [(0, 2, 8), (1, 2, 8)], [[(0, 2, 8, 0), (1, 2, 8, 1)]]
    routes, numbers = [[[0, 1, 2], [1, 2]]], np.array([0, 0, 0, channel, 1], np.int64)
    given = document(MESH, messages, phases, Limits(channels=4), routes=routes, channels=numbers)
    assert places(verify(given, machine=MESH)) == [("channel-number", 0, 1)]
    if channel < 4 or channel >= 2**31:
        free = replaced(given, limits=Limits().to_object())
        assert places(verify(free, machine=MESH)) == [("channel-number", 0, 1)]


@pytest.mark.parametrize("node", [-1, 9, 2**40, 2**63 - 1])
def test_channels_of_nodes_that_do_not_exist(node: int) -> None:
    messages, phases = [(0, 2, 8), (1, 2, 8)], [[(0, 2, 8, 0), (1, 2, 8, 1)]]
    routes, numbers = [[[0, node, 2], [1, 2]]], np.array([0, 0, 0, 2**63 - 1, 1], np.int64)
    given = document(
        MESH, messages, phases, Limits(channels=4), routes=routes, channels=numbers, figures={}
    )
    assert places(verify(given, machine=MESH)) == [
        ("route-node", 0, 0),
        ("channel-number", 0, 1),
    ]
    sound = replaced(given, channels=np.array([0, 0, 0, 1, 1], np.int64))
    assert places(verify(sound, machine=MESH)) == [("route-node", 0, 0)]


# 8 B/s out of and into a node, 12 B/s on a link of width 2; 0 → 1 and 0 → 2 share the port out of 0
# and link 0 → 1
SHARED = replace(
    machine_on(Topology.mesh(3, 3, width=2)), costs=Costs(port_out_Bps=8, port_in_Bps=8, link_Bps=1)
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, []),
        (1.0, []),
        (1.1, [("bandwidth", 0, 0), ("bandwidth", 0, 1)]),
        ([1.0, 1.0, 2.0], []),
        ([1.1, 0.0, 0.0], [("bandwidth", 0, 0)]),
        ([0.0, 0.0, 2.1], [("bandwidth", 0, 2)]),
        ([1.0, 1.0], [("bandwidth", None, None)]),
        ([1.0, 1.0, -1.0], [("bandwidth", None, None)]),
        (float("nan"), [("bandwidth", None, None)]),
    ],
)
def test_bandwidths_that_were_asked_for(asked: Any, expected: list[Any]) -> None:
    """A link of 2 B/s that two share leaves each 1 B/s; message 2 has links of its own."""
    given = document(SHARED, MESSAGES, TOGETHER, Limits(), min_bandwidth_Bps=asked)
    assert places(verify(given, machine=SHARED)) == expected
    few = replace(
        SHARED, costs=replace(SHARED.costs, port_in_Bps=1.5, port_out_Bps=1.5, link_Bps=inf)
    )
    given = document(few, MESSAGES, TOGETHER, Limits(), min_bandwidth_Bps=0.75)
    assert places(verify(given, machine=few)) == []
    given = document(few, MESSAGES, TOGETHER, Limits(), min_bandwidth_Bps=[0.8, 0.0, 1.5])
    assert places(verify(given, machine=few)) == [("bandwidth", 0, 0)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, []),
        (7.5, []),
        (7.4, [("latency", 0, 1)]),
        (5.4, [("latency", 0, 0), ("latency", 0, 1)]),
        ([None, 7.5, 5.0], []),
        ([5.4, None, None], [("latency", 0, 0)]),
        ([None, None, 4.9], [("latency", 0, 2)]),
        ([7.5, 7.5], [("latency", None, None)]),
        ([7.5, 7.5, -1.0], [("latency", None, None)]),
        (float("nan"), [("latency", None, None)]),
        (inf, [("latency", None, None)]),
    ],
)
@pytest.mark.parametrize("channels", [None, [0, 0, 1, 1, 0, 0, 0, 0]])
def test_latencies_that_were_asked_for(
    asked: Any, expected: list[Any], channels: list[int] | None
) -> None:
    """A flit of 4 B, two of them at port 0 and on the link 0 → 1.

    1 + 4 + 0.5 s to node 1, a link of 2 s more to 2.
    """
    machine = replace(SHARED, costs=replace(SHARED.costs, flit_B=4))
    tables = None if channels is None else np.array(channels, np.int32)
    routes = [[[0, 1], [0, 1, 2], [3, 4, 5]]]
    given = document(
        machine, MESSAGES, TOGETHER, Limits(), routes=routes, channels=tables, max_latency_s=asked
    )
    assert places(verify(given, machine=machine)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"in_flight": 0}, [("in-flight", None, None)]),
        ({"in_flight": "none"}, [("in-flight", None, None)]),
        ({"in_flight": "all", "posting": "ascending"}, []),
        ({"posting": "longest-first"}, [("posting", 0, 1)]),
        ({"posting": "by size"}, [("posting", None, None)]),
    ],
)
def test_posting_order_and_sends_in_flight(changes: dict[str, Any], expected: list[Any]) -> None:
    messages = [[0, 1, 10], [0, 2, 20]]
    given = document(MESH, messages, [[[0, 1, 10, 0], [0, 2, 20, 1]]], Limits())
    assert places(verify(replaced(given, **changes), machine=MESH)) == expected


def test_circuits() -> None:
    """A switch that needs 4 s: what it connects changes too soon, or no time is stated."""
    machine = conset.load_machine("crossbar:3,reconfigure=4s,port=10B/s")
    given = document(machine, [(0, 1, 10), (0, 2, 10)], [[[0, 1, 10, 0]], [[0, 2, 10, 1]]])
    for second, expected in (
        (9.0, []),
        (8.0, [("circuit-change", 1, 0)]),
        (4.5, [("circuit-change", 1, 0), ("timetable-send", 1, 0)]),
    ):
        table = np.array([[4.0, 5.0], [second, second + 1]])
        found = places(verify(replaced(given, timetable=table), machine=machine))
        assert sorted(found) == expected
    early = np.array([[3.0, 4.0], [8.0, 9.0]])
    found = places(verify(replaced(given, timetable=early), machine=machine))
    assert found == [("circuit-change", 0, 0)]
    assert places(verify(given, machine=machine)) == [("circuit-times", None, None)]


def test_every_rule_is_broken_by_a_test_here() -> None:
    text = Path(__file__).read_text()
    assert [rule for rule in RULES if f'"{rule}"' not in text] == []


def test_sparse_and_dense_counts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    import conset.verification.schedule.loads as module

    machine = machine_on(Topology.torus(4, 4))
    messages = all_to_all(16)
    phases = greedy(machine, messages, Limits(2, 2, 2))
    given = document(machine, messages, phases)
    dense = verify(given, machine=machine)
    assert dense.violations
    monkeypatch.setattr(module, "_CELLS", 0)
    monkeypatch.setattr(module, "_TRANSFERS", 3)
    assert (
        verify(given, machine=machine) == dense
    )  # many small chunks, and single groups cut into blocks
    monkeypatch.setattr(module.Groups, "transfers", 0)
    assert verify(given, machine=machine) == dense


def test_route_of_the_helper_is_that_of_the_conventions() -> None:
    # last coordinate first; a tie on a side of 4 goes up from even coordinates (modulo 2), else
    # down
    torus = machine_on(Topology.torus(4, 4))
    assert route(torus, 0, 10) == [0, 1, 2, 6, 10]
    assert route(torus, 5, 15) == [5, 4, 7, 3, 15]


def in_blocks() -> ProgramDocument:
    """A sound program of two stages whose messages are given in blocks."""
    machine = parse_machine("torus:3x4")
    pattern = parse_pattern("alltoall:size=8", topology=machine.topology, ranks=12)
    options = CompileOptions(method="first-fit")
    found = document_of(compile_combined(pattern, machine, options, "3x4").program, in_blocks=True)
    assert isinstance(found, ProgramDocument)
    assert verify(found).ok
    return found


def without_a_move(block: MessagesBlock) -> MessagesBlock:
    (message, bundle), other = block.moves
    return block._replace(moves=((message[1:], bundle[1:]), other))


def other_bundle(block: MessagesBlock) -> MessagesBlock:
    (message, bundle), other = block.moves
    return block._replace(moves=((message, np.r_[bundle[-1], bundle[1:]]), other))


def moved_twice(block: MessagesBlock) -> MessagesBlock:
    (message, bundle), other = block.moves
    return block._replace(moves=((np.r_[message, message[:1]], np.r_[bundle, bundle[:1]]), other))


def no_such_bundle(block: MessagesBlock) -> MessagesBlock:
    (message, bundle), other = block.moves
    return block._replace(moves=((message, np.r_[10**6, bundle[1:]].astype(np.int32)), other))


def last_stage_left_out(block: MessagesBlock) -> MessagesBlock:
    first, (message, bundle) = block.moves
    return block._replace(moves=(first, (message[:-1], bundle[:-1])))


def larger(block: MessagesBlock) -> MessagesBlock:
    size = np.array(block.size)
    size[0] += 1
    return block._replace(size=size)


def turned_round(block: MessagesBlock) -> MessagesBlock:
    source, target = np.array(block.source), np.array(block.target)
    source[0], target[0] = target[0], source[0]
    return block._replace(source=source, target=target)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (without_a_move, "program-delivery"),
        (other_bundle, "program-path"),
        (moved_twice, "program-part"),
        (no_such_bundle, "program-part"),
        (last_stage_left_out, "program-delivery"),
        (larger, "program-bundle"),
        (turned_round, "program-message"),
    ],
)
def test_a_block_of_messages_changed_in_one_place(change: Any, rule: str) -> None:
    sound = in_blocks()
    assert sound.blocks is not None
    blocks = [change(block) for block in sound.blocks()]
    found = verify(replace(sound, blocks=lambda: iter(blocks)))
    assert rule in {v.rule for v in found.violations}


def test_messages_left_out_of_blocks_are_missed() -> None:
    sound = in_blocks()
    assert sound.blocks is not None
    none = replace(sound, blocks=lambda: iter(()))
    assert {v.rule for v in verify(none).violations} == {"program-bundle"}


def test_bytes_held_for_others_are_counted_over_blocks() -> None:
    held = int(in_blocks().figures["staging_bytes"])
    assert verify(replace(in_blocks(), staging_limit_B=held)).ok
    found = verify(replace(in_blocks(), staging_limit_B=held - 1))
    assert {v.rule for v in found.violations} == {"program-staging"}
