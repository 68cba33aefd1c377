"""Bounds of cuts: by hand on small trees, against every set of nodes, and below what schedules
reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import conset
from conset.bounds.bounds import Bounds, Candidate
from conset.machine.costs import Limits
from conset.pattern.pattern import Pattern


def bounds_of(pattern: Pattern | str, machine: str, link: int = 1, sync: str = "none") -> Bounds:
    loaded = conset.load_pattern(pattern, machine) if isinstance(pattern, str) else pattern
    return conset.bound(loaded, machine, limits=Limits(1, 1, link), routes="free", sync=sync)


def found(bounds: Bounds, name: str) -> Candidate:
    return next(candidate for candidate in bounds.candidates if candidate.name == name)


def test_a_tapered_leaf_by_hand() -> None:
    """4 hosts over 1 uplink: 4 · 124 messages each way.

    One message a phase of each unit of width.
    """
    bounds = bounds_of("alltoall:size=64KiB", "fat-tree:k=8,taper=4")
    load = found(bounds, "cut load")
    assert load.value == 4 * (128 - 4)
    assert (
        load.witness
        == "node 128 'edge0.0' with its 4 endpoints sends 496 messages over links of width 1"
    )
    assert bounds.phases == 496
    assert found(bounds, "cut sum").value == 496
    seconds = 496 * 65536 / 25e9
    assert found(bounds, "cut time").value == pytest.approx(seconds, rel=1e-2)
    assert found(bounds, "cut time").value > seconds


def test_a_pod_by_hand() -> None:
    """A pod has 4 hosts, so 4 · 12 messages to other pods, and 2 switches with 2 links up each."""
    bounds = bounds_of("alltoall", "fat-tree:k=4,widths=4;4;1")
    load = found(bounds, "cut load")
    assert load.value == 4 * 12 // 4
    assert load.witness.startswith("group 0 (8 nodes from 0 'host0.0.0' to ")


def test_groups_of_a_dragonfly_and_half_of_a_mesh() -> None:
    dragonfly = bounds_of("alltoall", "dragonfly:groups=3,routers=2,nodes=4,global=1")
    assert found(dragonfly, "cut load").value == 8 * 16 // 2
    # rows 0 to 4 and 5 to 7 are joined by 3 links, the bypass of 0 to 4 is no help
    mesh = found(bounds_of("alltoall", "express-mesh:sides=8x3,interval=4"), "cut load")
    assert mesh.value == 15 * 9 // 3
    assert mesh.witness == "groups 0 to 4 send 135 messages over links of width 3"


def test_other_limits_and_routes() -> None:
    assert (
        found(
            bounds_of("alltoall", "leaf-spine:leaves=2,spines=1,hosts=4", link=4), "cut load"
        ).value
        == 4
    )
    fixed = conset.bound(
        conset.load_pattern("alltoall", "leaf-spine"),
        "leaf-spine",
        limits=Limits(1, 1, 1),
        routes="fixed",
    )
    assert not any(candidate.name.startswith("cut") for candidate in fixed.candidates)
    regular = bounds_of("alltoall", "mesh:4x4")
    assert not any(candidate.name.startswith("cut") for candidate in regular.candidates)


def test_a_host_with_a_slow_link() -> None:
    bounds = bounds_of(
        "alltoall:size=1MiB", "leaf-spine:leaves=2,spines=2,hosts=2,rates=1GB/s;25GB/s,port=25GB/s"
    )
    time = found(bounds, "cut time")
    assert time.witness == "node 0 'host0.0' sends 3,145,728 B over 1000 MB/s: 3.147 ms"
    assert bounds.time_s == pytest.approx(3 * 2**20 / 1e9, rel=1e-2)


STAR = conset.load_machine("leaf-spine:leaves=3,spines=1,hosts=1")
INSIDE = (
    np.arange(1, 2**STAR.topology.nodes - 1)[:, None] >> np.arange(STAR.topology.nodes) & 1
).astype(bool)
"""shape=(sets, nodes): every set of its nodes."""
OUT = (INSIDE[:, STAR.topology.link_source] & ~INSIDE[:, STAR.topology.link_target]).sum(axis=1)


@settings(max_examples=10)
@given(
    st.lists(
        st.sampled_from([(s, t) for s in range(3) for t in range(3) if s != t]),
        min_size=1,
        max_size=12,
    )
)
def test_the_scarcest_of_all_sets_on_a_star(chosen: list[tuple[int, int]]) -> None:
    source, target = np.array(sorted(chosen)).T
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=3))])
    pattern = Pattern(3, offsets, target.astype(np.int32), np.full(source.size, 8))
    leave = (INSIDE[:, source] & ~INSIDE[:, target]).sum(axis=1)
    bounds = conset.bound(pattern, STAR, limits=Limits(1, 1, 1), routes="free", sync="none")
    assert found(bounds, "cut load").value == (-(-leave[OUT > 0] // OUT[OUT > 0])).max()


@pytest.mark.parametrize(
    "machine", ["fat-tree:k=4,taper=2", "dragonfly:groups=3,routers=2,nodes=2", "hyperx:sides=3x3"]
)
def test_schedules_stay_above(machine: str) -> None:
    pattern = conset.load_pattern("random:degree=5,seed=3", machine)
    for method in ("first-fit", "negotiated"):
        schedule = conset.compile(pattern, machine, method=method)
        bounds = conset.bound(
            pattern, machine, limits=schedule.limits, routes="free", sync=schedule.sync
        )
        assert bounds.phases <= schedule.phases
        assert bounds.time_s <= conset.predict(schedule).time_s
