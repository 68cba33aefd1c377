"""The core's sums of bounds are those of the slow form, on machines of every cost and however
messages are cut."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
from hypothesis import given, strategies as st

from conset.bounds import problem as fast
from conset.bounds.problem import BoundProblem
from conset.machine.costs import Limits
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.policy import parse_sync
from support.random_machines import MB, POLICIES, SIZES_B, TOPOLOGIES, machines
from support.slow_sums import slow_sums

LEADS = ("sending", "receiving", "holding", "leaving", "entering", "passing", "links")
NUMBERS = (
    "send",
    "receive",
    "held",
    "sends",
    "receives",
    "out",
    "into",
    "both",
    "first",
    "last",
    "longest",
    "least",
)
BOXES = (
    Topology.mesh(9, 4),
    Topology.torus(8, 5),
    Topology.torus(4, 3, 2),
    Topology.ring(12),
    Topology.mesh(16),
)
"""Boxes on which enough messages are counted by lines, not by links."""
UNEQUAL = Topology(
    "graph",
    (),
    3,
    3,
    np.array([0, 1, 1, 2]),
    np.array([1, 0, 2, 1]),
    link_rate_Bps=np.array([5.0, 2.0, 9.0, 1.0]) * MB,
)
"""A line whose links have rates of their own."""


@st.composite
def questions(draw: st.DrawFn) -> BoundProblem:
    """A random pattern, several ranks on a node, under any policy and class."""
    machine = draw(machines(draw(st.sampled_from((TOPOLOGIES, BOXES, (UNEQUAL,))))))
    nodes, rng = machine.topology.endpoints, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ranks = draw(st.integers(2, 2 * nodes))
    count = draw(st.sampled_from((1, 7, 60, 1500)))
    source = np.sort(rng.integers(0, ranks, count))
    target = (source + rng.integers(1, ranks, count)) % ranks
    size = rng.choice(SIZES_B, count)
    if draw(st.booleans()):
        size = np.broadcast_to(size[0], count)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=ranks))])
    placed = ranks > nodes or draw(st.booleans())
    packed = rng.random(count) < draw(st.sampled_from((0.0, 0.4, 1.0)))
    return BoundProblem(
        Pattern(ranks, offsets, target, size, packed=packed),
        machine,
        machine.costs,
        Limits(),
        rng.integers(0, nodes, ranks).astype(np.int32) if placed else None,
        parse_sync(draw(st.sampled_from(POLICIES))),
        draw(st.booleans()),
        draw(st.booleans()),
        False,
    )


@given(questions(), st.sampled_from((5, 64, 1 << 20)))
def test_sums_of_the_core_are_those_of_the_slow_form(question: BoundProblem, part: int) -> None:
    expected = slow_sums(question, part)
    with mock.patch.object(fast, "CHUNK", part):
        found = fast.sum_up(replace(question))
    for name in NUMBERS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in LEADS:
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one.into, other.into, err_msg=name)
            np.testing.assert_array_equal(one.out, other.out, err_msg=name)
