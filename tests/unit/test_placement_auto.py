"""`--placement auto`: never worse than the identity, whatever the method.

Through the compiler, each one verified.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conset.base.errors import InputError
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern, placement_of
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.phases.problem import Objective
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.verification import verify

MACHINES = tuple(
    map(parse_machine, ("mesh:4x4", "iwarp:4x4", "ring:7", "crossbar:6", "paragon:3x4"))
)
METHODS = ("first-fit", "negotiated", "coloring", "naive", "auto")


@st.composite
def patterns(draw: st.DrawFn, ranks: int) -> Pattern:
    rows = draw(
        st.lists(
            st.tuples(*[st.integers(0, ranks - 1)] * 2, st.sampled_from([8, 64, 4096])), max_size=40
        )
    )
    return Pattern.from_messages(*np.array(rows, np.int64).reshape(-1, 3).T, ranks)


@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    st.sampled_from(MACHINES),
    st.sampled_from(METHODS),
    st.integers(1, 2),
    st.sampled_from(["time", "phases"]),
)
def test_never_loses_what_the_identity_has(
    data: st.DataObject, machine: Machine, method: str, per_node: int, objective: Objective
) -> None:
    ranks = data.draw(st.integers(1, machine.topology.endpoints * per_node))
    pattern = data.draw(patterns(ranks))
    request = CompileOptions(method=method, ranks_per_node=per_node, objective=objective)
    numbered = compile_pattern(pattern, machine, request)
    chosen = compile_pattern(
        pattern, machine, CompileOptions(**{**vars(request), "placement": "auto"})
    )
    assert verify(chosen).ok
    assert chosen.phases <= numbered.phases
    assert predict(chosen).time_s <= predict(numbered).time_s * (1 + 1e-9)


def test_a_shuffled_exchange_is_unshuffled() -> None:
    """Neighbours on a 4 × 4 mesh, ranks numbered at random.

    4 phases are the busiest port's bound.
    """
    machine = parse_machine("mesh:4x4")
    order = np.random.default_rng(2).permutation(16)
    halo = parse_pattern("neighbor", topology=machine.topology, ranks=16)
    shuffled = Pattern.from_messages(order[halo.source], order[halo.target], halo.size, 16)
    phases = {
        name: compile_pattern(shuffled, machine, CompileOptions("first-fit", placement=name)).phases
        for name in ("identity", "auto")
    }
    assert phases["identity"] > 4
    assert phases["auto"] == 4
    chosen = compile_pattern(shuffled, machine, CompileOptions("first-fit", placement="auto"))
    assert chosen.report.placement_name in ("annealed", "annealed-bytes", "bisection")
    same = placement_of(shuffled, machine, CompileOptions("first-fit", placement="auto"))
    assert np.array_equal(np.asarray(same), np.asarray(chosen.placement))


def test_a_butterfly_finds_its_gray_code() -> None:
    """Notes, 1.4: one phase of 16 channels in Gray numbering.

    As numbered a node is visited more often.
    """
    machine = parse_machine("iwarp:8x8")
    butterfly = parse_pattern("butterfly", topology=machine.topology, ranks=64)
    phases = {
        name: compile_pattern(
            butterfly, machine, CompileOptions("connections", channels=16, placement=name)
        ).phases
        for name in ("gray", "auto")
    }
    assert phases["auto"] <= 2
    assert phases["gray"] == 1


def test_errors_of_the_identity_are_told() -> None:
    pattern = parse_pattern("alltoall", ranks=6)
    with pytest.raises(InputError, match="method scott"):
        compile_pattern(
            pattern, parse_machine("mesh:2x3"), CompileOptions("scott", placement="auto")
        )
