"""Every method of the table on several networks and patterns, checked by the verifier; domains.

Refusals.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method, table
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.verification import verify

METHODS = list(table())


def alltoall(ranks: int) -> Pattern:
    source, target = np.divmod(np.arange(ranks**2), ranks)
    return Pattern.from_messages(source, target, np.full(ranks**2, 8), ranks)


def sparse(ranks: int, messages: int, seed: int = 1, largest: int = 900) -> Pattern:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, ranks, (2, messages))
    return Pattern.from_messages(source, target, rng.integers(1, largest, messages), ranks)


def gather(ranks: int) -> Pattern:
    return Pattern.from_messages(np.arange(ranks), np.zeros(ranks, int), np.ones(ranks, int), ranks)


def switched() -> Machine:
    """Six endpoints on two switches (6 and 7), joined by a link of width 2."""
    up = [(v, 6 + v // 3) for v in range(6)]
    links = sorted([*up, *((b, a) for a, b in up), (6, 7), (7, 6)])
    source, target = np.array(links, np.int32).T
    width = np.where(np.minimum(source, target) == 6, 2, 1).astype(np.int32)
    topology = Topology(
        "graph", (), 6, 8, np.ascontiguousarray(source), np.ascontiguousarray(target), width
    )
    return Machine("switched", topology, Routing.default(topology))


MACHINES = {
    spec: parse_machine(spec)
    for spec in (
        "mesh:4x3",
        "mesh:1x7",
        "torus:3x4x2",
        "ring:9",
        "hypercube:4",
        "crossbar:11",
        "torus:4x4,routing=no-wrap",
    )
} | {"graph": switched()}
SQUARE = "torus:4x4,routing=no-wrap"
INSIDE = {
    "bounded": ("mesh:4x3", "mesh:1x7", "torus:3x4x2", "ring:9", SQUARE),
    "pex": ("hypercube:4", SQUARE),
    "scott": (SQUARE,),
}
"""Machines of methods that do not take all of them."""
ONE_RANK_PER_NODE = ("lp", "pex", "pex-gen", "pex-gen-shift", "gen", "scott", "bounded")
PATTERNS = {"alltoall": alltoall, "sparse": lambda n: sparse(n, 5 * n), "gather": gather}


def schedule(problem: Problem, method: str) -> Schedule:
    phases = find_method(method).schedule(problem)
    return Schedule(
        problem.pattern,
        problem.machine,
        method,
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        timetable=phases.timetable,
        limits_asked=True,
    )


def refused(problem: Problem, method: str) -> bool:
    """Whether a method says that it does not apply.

    Then it refuses the problem with these very words.
    """
    refusal = find_method(method).applies(problem)
    if refusal is None:
        return False
    assert refusal.startswith(f"method {method} requires ")
    assert ", given " in refusal
    with pytest.raises(InputError) as caught:
        find_method(method).schedule(problem)
    assert str(caught.value) == refusal
    return True


def checked(problem: Problem, method: str) -> Schedule:
    result = schedule(problem, method)
    verification = verify(result)
    assert verification.ok, verification.violations[:3]
    assert np.all(np.diff(result.phase_offsets) > 0), "an empty phase"
    return result


def inside(method: str, machine: str, pattern: str) -> bool:
    """Whether the domain of a method, in the words of its row, holds a pattern of one rank on
    each node."""
    if method == "bounded" and pattern != "alltoall":
        return False
    return machine in INSIDE.get(method, MACHINES)


def port_degree(problem: Problem) -> int:
    leaves = problem.source_node != problem.target_node
    ends = (problem.source_node[leaves], problem.target_node[leaves])
    return max(int(np.bincount(end, minlength=1).max(initial=0)) for end in ends)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_partitions_the_pattern_within_its_limits(
    method: str, machine: str, pattern: str
) -> None:
    on = MACHINES[machine]
    limits = find_method(method).limits_for(on.topology, None)
    problem = Problem(PATTERNS[pattern](on.topology.endpoints), on, limits)
    assert refused(problem, method) is not inside(method, machine, pattern)
    if not inside(method, machine, pattern):
        return
    result = checked(problem, method)
    assert result.phases >= (port_degree(problem) if limits.send else 1)


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_pattern_has_no_phase_and_one_message_one(method: str) -> None:
    on = MACHINES["hypercube:4"]
    limits = find_method(method).limits_for(on.topology, None)
    empty = Pattern.from_messages([3], [3], [9], 16)
    single = Pattern.from_messages([3], [12], [9], 16)
    for pattern, phases in ((empty, 0), (single, 1)):
        problem = Problem(pattern, on, limits)
        assert refused(problem, method) is not inside(method, "hypercube:4", "sparse")
        if inside(method, "hypercube:4", "sparse"):
            assert checked(problem, method).phases == phases


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_phases_whatever_the_order_of_the_input(method: str) -> None:
    on = MACHINES["hypercube:4"]
    limits = find_method(method).limits_for(on.topology, None)
    pattern = sparse(16, 100)
    if refused(Problem(pattern, on, limits), method):
        assert not inside(method, "hypercube:4", "sparse")
        return
    shuffled = np.random.default_rng(5).permutation(pattern.messages)
    again = Pattern.from_messages(
        pattern.source[shuffled], pattern.target[shuffled], pattern.size[shuffled], 16
    )
    one, other = (
        find_method(method).schedule(Problem(p, on, limits, search=SearchOptions(seed=7)))
        for p in (pattern, again)
    )
    assert np.array_equal(one.offsets, other.offsets)
    assert np.array_equal(one.message, other.message)


@pytest.mark.parametrize("method", METHODS)
def test_several_ranks_share_the_ports_of_their_node(method: str) -> None:
    on = MACHINES["mesh:4x3"]
    limits = find_method(method).limits_for(on.topology, None)
    placement = np.arange(24, dtype=np.int32) % 12
    problem = Problem(alltoall(24), on, limits, placement)
    assert refused(problem, method) is (method in ONE_RANK_PER_NODE)
    if method in ONE_RANK_PER_NODE:
        return
    result = checked(problem, method)
    if method == "naive":
        assert result.phases == 1
    if method == "coloring":
        assert result.phases == port_degree(problem) == 44


@pytest.mark.parametrize("method", [m for m in METHODS if table()[m].ordered])
def test_an_order_is_kept_inside_phases_or_by_later_ones(method: str) -> None:
    on = MACHINES["ring:9"]
    limits = find_method(method).limits_for(on.topology, None)
    chain = [(k, (k + 1) % 9) for k in range(20)]
    source, target = np.array([(a % 9, b) for a, b in chain]).T
    before = [(k, k + 1) for k in range(19)]
    problem = Problem(
        Pattern.from_messages(source, target, np.ones(20, int), 9, before=before), on, limits
    )
    result = checked(problem, method)
    if method in ("naive", "connections", "event-list"):
        assert result.phases == 1  # kept inside, as the verifier has seen
        return
    assert result.phases == 20
    phase = np.empty(20, int)
    phase[result.message] = result.phase_of
    assert problem.pattern.before is not None
    assert all(phase[i] < phase[j] for i, j in problem.pattern.before.tolist())


@pytest.mark.parametrize("method", [m for m in METHODS if not table()[m].ordered])
def test_a_method_that_cannot_wait_refuses_an_order(method: str) -> None:
    on = MACHINES["ring:9"]
    pattern = Pattern.from_messages([0, 1], [1, 2], [1, 1], 9, before=[(0, 1)])
    problem = Problem(pattern, on, find_method(method).limits_for(on.topology, None))
    assert refused(problem, method)
    if inside(method, "ring:9", "sparse"):
        refusal = (
            f"method {method} requires a pattern without an order, given 1 ordered "
            "pairs of messages"
        )
        assert find_method(method).applies(problem) == refusal


@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(send=2, receive=3),
        Limits(send=1, receive=1, link=2),
        Limits(link=3),
        Limits(channels=2),
        Limits(send=2, channels=5, link=4),
        Limits(send=1, receive=1, duplex="exchange"),
        Limits(send=1, receive=1, link=1, duplex="exchange"),
        Limits(send=3, receive=2, duplex="exchange"),
        Limits(duplex="exchange"),
    ],
    ids=str,
)
@pytest.mark.parametrize("machine", ["mesh:4x3", "hypercube:4", "crossbar:11", "graph"])
def test_first_fit_keeps_any_limits(limits: Limits, machine: str) -> None:
    on = MACHINES[machine]
    for pattern in (alltoall(on.topology.endpoints), sparse(on.topology.endpoints, 60)):
        checked(Problem(pattern, on, limits), "first-fit")


def test_first_fit_keeps_the_duplex_rule_between_nodes_of_several_ranks() -> None:
    placement = np.arange(24, dtype=np.int32) // 2
    for limits in (
        Limits(send=2, receive=2, duplex="exchange"),
        Limits(send=1, receive=1, duplex="exchange"),
    ):
        checked(Problem(sparse(24, 200), MACHINES["mesh:4x3"], limits, placement), "first-fit")


def test_first_fit_under_the_duplex_rule_pairs_a_symmetric_pattern() -> None:
    """A complete exchange is N - 1 rounds of pairs for even N.

    One-way phases would need at least twice as many.
    """
    on = MACHINES["hypercube:4"]
    result = checked(
        Problem(alltoall(16), on, Limits(send=1, receive=1, duplex="exchange")), "first-fit"
    )
    assert result.phases < 2 * 15


def test_first_fit_uses_the_width_of_links() -> None:
    wide = replace(MACHINES["mesh:1x7"], topology=Topology.mesh(1, 7, width=12))
    limits = Limits(send=1, receive=1, link=1)
    narrow = checked(Problem(alltoall(7), MACHINES["mesh:1x7"], limits), "first-fit")
    assert checked(Problem(alltoall(7), wide, limits), "first-fit").phases < narrow.phases


def test_further_sweeps_of_first_fit_never_take_more_phases() -> None:
    on = parse_machine("mesh:8x8")
    limits = find_method("first-fit").limits_for(on.topology, None)
    phases = [
        checked(
            Problem(alltoall(64), on, limits, search=SearchOptions(effort=effort)), "first-fit"
        ).phases
        for effort in (1, 4, 12)
    ]
    assert phases == sorted(phases, reverse=True)
    assert phases[2] < phases[0]


def test_rs_nl_takes_as_many_messages_on_a_link_as_asked() -> None:
    on, method = parse_machine("mesh:6x6"), find_method("rs-nl")
    counts = []
    for contention in (1, 2, 3):
        limits = method.limits_for(
            on.topology, replace(method.limits(on.topology), link=contention)
        )
        counts.append(checked(Problem(alltoall(36), on, limits), "rs-nl").phases)
    assert counts[0] > counts[1] > counts[2]


def test_lp_meets_the_xor_partner_and_skips_absent_ones() -> None:
    """11 ranks: i XOR k below 11 for k = 1 … 15.

    (0, 1) first, (0, 10) in phase 10, (4, 11) absent.
    """
    on = MACHINES["crossbar:11"]
    result = checked(Problem(alltoall(11), on, Limits(send=1, receive=1, duplex="exchange")), "lp")
    assert result.phases == 15
    source, target = (
        rank[result.message] for rank in (result.pattern.source, result.pattern.target)
    )
    assert np.array_equal(source ^ target, result.phase_of + 1)


@pytest.mark.parametrize("name", ["gray", "shifted", "reversed"])
def test_lp_keeps_links_free_where_the_placement_is_linear_over_bits(name: str) -> None:
    rank = np.arange(16, dtype=np.int32)
    placement = {
        "gray": rank ^ (rank >> 1),
        "shifted": rank ^ np.int32(5),
        "reversed": rank[::-1].copy(),
    }[name]
    checked(
        Problem(
            alltoall(16), MACHINES["hypercube:4"], Limits(send=1, receive=1, link=1), placement
        ),
        "lp",
    )


def test_lp_states_what_it_requires() -> None:
    cube, mesh = MACHINES["hypercube:4"], MACHINES["mesh:4x3"]
    limits = Limits(send=1, receive=1, link=1)
    twisted = np.roll(np.arange(16, dtype=np.int32), 1)
    with pytest.raises(InputError, match="linear over bits"):
        schedule(Problem(alltoall(16), cube, limits, twisted), "lp")
    with pytest.raises(InputError, match="requires a hypercube, given a mesh"):
        schedule(Problem(alltoall(12), mesh, limits), "lp")
    crowded = np.array([0, 1, 1, 3], np.int32)
    with pytest.raises(InputError, match="requires one rank per node, given 2 ranks on node 1"):
        schedule(Problem(alltoall(4), mesh, Limits(send=1, receive=1), crowded), "lp")


def test_a_limit_a_method_cannot_keep_is_refused() -> None:
    mesh = MACHINES["mesh:4x3"].topology
    with pytest.raises(InputError, match="method rs-n keeps link unlimited: link=1 was asked"):
        find_method("rs-n").limits_for(mesh, Limits(send=1, receive=1, link=1))
    with pytest.raises(InputError, match="method coloring keeps send 1: send=2 was asked"):
        find_method("coloring").limits_for(mesh, Limits(send=2, receive=1))
    with pytest.raises(
        InputError, match="method naive keeps duplex full: duplex=exchange was asked"
    ):
        find_method("naive").limits_for(mesh, Limits(duplex="exchange"))
    with pytest.raises(
        InputError, match="method naive requires link without a limit, given link=1"
    ):
        schedule(Problem(alltoall(12), MACHINES["mesh:4x3"], Limits(link=1)), "naive")
    crossbar = MACHINES["crossbar:11"]
    asked = find_method("coloring").limits_for(crossbar.topology, Limits(send=1, receive=1, link=1))
    checked(Problem(alltoall(11), crossbar, asked), "coloring")


def test_the_table_names_methods_and_suggests_the_nearest() -> None:
    assert len(METHODS) == len(set(METHODS)) > 15
    with pytest.raises(UsageError, match="did you mean 'coloring'"):
        find_method("colouring")


def test_phases_close_up_over_numbers_without_messages() -> None:
    phases = Phases.of(np.array([5, 2, 5, 2, 9], np.int32))
    assert phases.offsets.tolist() == [0, 2, 4, 5]
    assert phases.message.tolist() == [1, 3, 0, 2, 4]
    posted = Phases.of(
        np.array([5, 2, 5, 2, 9], np.int32), order=np.array([4, 3, 2, 1, 0], np.int32)
    )
    assert posted.message.tolist() == [3, 1, 2, 0, 4]


def test_the_command_says_which_methods_apply(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods", "--on", "mesh:4x3", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["methods"]}
    assert [name for name, row in rows.items() if not row["applies"]] == ["pex", "scott"]
    assert (
        rows["scott"]["refusal"]
        == "method scott requires an n x n mesh with n divisible by 4, given mesh 4x3"
    )
    assert rows["bounded"]["refusal"] is None
    assert run(["methods", "bounded", "--on", "mesh:4x3", "--pattern", "neighbor"]) == 0
    assert "applies    no: method bounded requires a complete exchange" in capsys.readouterr().out


@pytest.mark.parametrize("spec", ["mesh:4x4", "hypercube:4", "crossbar:16"])
@pytest.mark.parametrize("method", METHODS)
def test_several_messages_of_a_pair_stand_in_phases_of_their_own_or_are_refused(
    method: str, spec: str
) -> None:
    offsets = np.minimum(np.arange(17) * 3, 9).astype(np.int64)
    target = np.array([1, 1, 5, 0, 0, 0, 3, 3, 9], np.int32)
    pattern = Pattern(16, offsets, target, np.full(9, 8, np.int64))
    machine = parse_machine(spec)
    problem = Problem(pattern, machine, find_method(method).limits(machine.topology))
    if not refused(problem, method):
        checked(problem, method)
