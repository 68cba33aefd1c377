"""Plans of programs, property.

Any pattern by any ranks at all arrives, in any order that the plan allows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings as examples, strategies as st

from conset.base.errors import VerificationError
from conset.execution.check import check_delivery
from conset.execution.plan import Plan
from conset.execution.planner import make_plan, plan_baseline
from conset.pattern.pattern import Pattern
from conset.schedule.program import Program
from support.hand_made_programs import forwarding, random_paths, random_pattern
from support.slow_exchange import buffers_of, slow_exchange

POLICIES = ["none", "local", "ready", "barrier", "barrier:2", "detect"]


@st.composite
def programs(draw: st.DrawFn) -> tuple[Program, Pattern, np.random.Generator]:
    """Any positions; parts of messages; bundles in any phases, whole or split."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pattern = random_pattern(
        draw(st.integers(2, 7)), rng, largest=draw(st.sampled_from([1, 3, 40]))
    )
    paths = random_paths(pattern, draw(st.integers(1, 5)), rng, cut=draw(st.booleans()))
    split = draw(st.booleans())
    return (
        forwarding(paths, rng if split or draw(st.booleans()) else None, split=split),
        pattern,
        rng,
    )


def delivers(plan: Plan, pattern: Pattern, rng: np.random.Generator) -> bool:
    send, due = buffers_of(pattern, rng)
    return all(map(np.array_equal, slow_exchange(plan, send, rng), due))


@examples(max_examples=150, deadline=None)
@given(made=programs(), sync=st.sampled_from(POLICIES), flight=st.sampled_from([None, 1, 2]))
def test_every_byte_arrives(
    made: tuple[Program, Pattern, Any], sync: str, flight: int | None
) -> None:
    program, pattern, rng = made
    plan = make_plan(program, sync, in_flight=flight)
    check_delivery(plan, pattern)
    assert delivers(plan, pattern, rng)
    assert plan.bytes == pattern.bytes
    # the bundles are what is sent, and what is copied stays within what passes
    assert plan.sends.bytes.sum() == sum(schedule.pattern.bytes for schedule in program.schedules)
    for copies in (plan.packs, plan.unpacks):
        assert copies is None or copies.bytes.sum() <= plan.sends.bytes.sum()


@examples(max_examples=50, deadline=None)
@given(made=programs())
def test_the_baseline_has_the_same_buffers(made: tuple[Program, Pattern, Any]) -> None:
    program, pattern, rng = made
    baseline = plan_baseline(program)
    check_delivery(baseline, pattern)
    assert delivers(baseline, pattern, rng)


@examples(max_examples=200, deadline=None)
@given(made=programs(), data=st.data())
def test_what_the_replay_lets_pass_delivers(
    made: tuple[Program, Pattern, Any], data: st.DataObject
) -> None:
    """Two equal operations of a plan change what they carry.

    The replay says whether that is right.
    """
    program, pattern, rng = made
    plan = make_plan(program)
    side = data.draw(st.sampled_from(["sends", "receives", "packs", "unpacks"]))
    noun = getattr(plan, side)
    if noun is None or noun.count < 2:
        return
    k, j = data.draw(st.tuples(*[st.integers(0, noun.count - 1)] * 2))
    name = (
        "offset"
        if side in ("sends", "receives")
        else data.draw(st.sampled_from(["source", "target"]))
    )
    values = getattr(noun, name).copy()
    values[[k, j]] = values[[j, k]]
    mutant = changed(plan, side, name, values)
    try:
        check_delivery(mutant, pattern)
    except VerificationError:
        return
    assert delivers(mutant, pattern, rng)


def changed(plan: Plan, side: str, name: str, values: Any) -> Plan:
    return replace(plan, **{side: replace(getattr(plan, side), **{name: values})})


def test_the_slow_exchange_sees_what_is_wrong() -> None:
    rng = np.random.default_rng(1)
    pattern = random_pattern(7, rng)
    plan = make_plan(forwarding(random_paths(pattern, 3, rng)))
    assert plan.packs is not None
    assert delivers(plan, pattern, rng)
    mutant = changed(
        plan, "packs", "source", np.r_[plan.packs.source[0] + 1, plan.packs.source[1:]]
    )
    assert not delivers(mutant, pattern, rng)
    with pytest.raises(VerificationError):
        check_delivery(mutant, pattern)
