"""Every method of the table by the suite of `conset.testing`, checked by the verifier.

Domains and refusals.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.machine.costs import Limits
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Phases, Problem, SearchOptions
from conset.methods.phases.table import find_method, table
from conset.testing.test_method import *  # noqa: F403  the suite itself, on all rows
from conset.testing.test_method import (
    MACHINES,
    PATTERNS,
    alltoall,
    chain,
    checked,
    problem_on,
    refusal_of,
    sparse,
)

METHODS = [name for name, row in table().items() if not row.circuits]
SQUARE = "torus:4x4,routing=no-wrap"
INSIDE = {
    "bounded": ("mesh:4x3", "mesh:1x7", "torus:3x4x2", "ring:9", SQUARE),
    "pex": ("hypercube:4", SQUARE),
    "scott": (SQUARE,),
}
"""Machines of methods that do not take all of them."""
ONE_RANK_PER_NODE = ("lp", "pex", "pex-gen", "pex-gen-shift", "gen", "scott", "bounded")


def inside(method: str, machine: str, pattern: str) -> bool:
    """Whether the domain of a method, in the words of its row, holds a pattern of one rank on
    each node."""
    if method == "bounded" and pattern != "alltoall":
        return False
    return machine in INSIDE.get(method, MACHINES)


def refused(problem: Problem, method: str) -> bool:
    """Whether a method says that it does not apply, in the words of all methods."""
    refusal = find_method(method).applies(problem)
    if refusal is None:
        return False
    assert refusal.startswith(f"method {method} requires ")
    assert ", given " in refusal
    assert refusal_of(problem, method) == refusal
    return True


def port_degree(problem: Problem) -> int:
    leaves = problem.source_node != problem.target_node
    ends = (problem.source_node[leaves], problem.target_node[leaves])
    return max(int(np.bincount(end, minlength=1).max(initial=0)) for end in ends)


def test_a_row_applies_where_its_domain_says(method: str) -> None:
    """One rank on each node, several, an order; a new row applies everywhere or is added above."""
    for name, machine in MACHINES.items():
        for pattern, make in PATTERNS.items():
            problem = problem_on(machine, make(machine.topology.endpoints), method)
            assert refused(problem, method) is not inside(method, name, pattern), (name, pattern)
    placement = np.arange(24, dtype=np.int32) % 12
    shared = problem_on(MACHINES["mesh:4x3"], alltoall(24), method, placement)
    assert refused(shared, method) is (method in ONE_RANK_PER_NODE)
    problem = problem_on(MACHINES["ring:9"], chain(), method)
    assert refused(problem, method) is not table()[method].ordered
    if not table()[method].ordered and inside(method, "ring:9", "sparse"):
        assert find_method(method).applies(problem) == (
            f"method {method} requires a pattern without an order, given 19 ordered pairs of "
            "messages"
        )


@pytest.mark.parametrize(("name", "phases"), [("naive", 1), ("coloring", 44)])
def test_ports_that_ranks_share_need_as_many_phases(name: str, phases: int) -> None:
    placement = np.arange(24, dtype=np.int32) % 12
    problem = problem_on(MACHINES["mesh:4x3"], alltoall(24), name, placement)
    assert checked(problem, name).phases == phases
    assert port_degree(problem) == 44


@pytest.mark.parametrize("name", [m for m in METHODS if table()[m].ordered])
def test_an_order_is_kept_inside_phases_or_by_later_ones(name: str) -> None:
    problem = problem_on(MACHINES["ring:9"], chain(), name)
    result = checked(problem, name)
    if name in ("naive", "connections", "event-list"):
        assert result.phases == 1  # kept inside, as the verifier has seen
        return
    assert result.phases == 20
    phase = np.empty(20, int)
    phase[result.message] = result.phase_of
    assert problem.pattern.before is not None
    assert all(phase[i] < phase[j] for i, j in problem.pattern.before.tolist())


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
        find_method("lp").schedule(Problem(alltoall(16), cube, limits, twisted))
    with pytest.raises(InputError, match="requires a hypercube, given a mesh"):
        find_method("lp").schedule(Problem(alltoall(12), mesh, limits))
    crowded = np.array([0, 1, 1, 3], np.int32)
    with pytest.raises(InputError, match="requires one rank per node, given 2 ranks on node 1"):
        find_method("lp").schedule(Problem(alltoall(4), mesh, Limits(send=1, receive=1), crowded))


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
        find_method("naive").schedule(Problem(alltoall(12), MACHINES["mesh:4x3"], Limits(link=1)))
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
    assert [name for name, row in rows.items() if not row["applies"]] == [
        *("pex", "scott"),
        *("circuits", "spectra", "eclipse"),
    ]
    assert (
        rows["scott"]["refusal"]
        == "method scott requires an n x n mesh with n divisible by 4, given mesh 4x3"
    )
    assert rows["bounded"]["refusal"] is None
    assert run(["methods", "bounded", "--on", "mesh:4x3", "--pattern", "neighbor"]) == 0
    assert "applies    no: method bounded requires a complete exchange" in capsys.readouterr().out


def test_names_of_the_texts() -> None:
    """RS_NL is rs-nl, AC posting everything; what is no method here is named."""
    for name, row in (("RS_NL", "rs-nl"), ("LP", "lp"), ("AC", "naive"), ("Scott", "scott")):
        assert find_method(name) is find_method(row)
    assert conset.compile("shift", "hypercube:3", method="RS_NL").method == "rs-nl"
    policy, router = "policy ready", "router sequential"
    others = ("AS", "timetable as"), ("SHIFT", "shift of pex-gen-shift")
    for name, what in (("S1", policy), ("APR", router), *others):
        with pytest.raises(UsageError, match=f"method {name}: is the {what}"):
            find_method(name)
    for name, kind in (("S1", "ready"), ("S2", "none"), ("SDR", "detect")):
        with pytest.raises(UsageError, match=rf"sync {name}: is the policy {kind}$"):
            conset.compile("shift", "hypercube:3", sync=name)
    with pytest.raises(UsageError, match="unknown method 'RS': did you mean 'rs-n'"):
        find_method("RS")
