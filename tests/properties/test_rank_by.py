"""`--rank-by` on any small pattern: nothing on the shortlist is simulated faster under any policy that is allowed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conset import api
from conset.choice.candidates import candidates, contentions
from conset.choice.trial import receives_fit
from conset.compiler import Request, compile_pattern
from conset.errors import InputError, NoScheduleError
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.verification import verify_schedule

MACHINES = ("mesh:2x3", "torus:3x3", "hypercube:3", "crossbar:4", "ipsc860:8", "paragon:3x3", "delta:2x4")


@st.composite
def patterns(draw: st.DrawFn, ranks: int) -> Pattern:
    rank = st.integers(0, ranks - 1)
    pairs = draw(st.lists(st.tuples(rank, rank).filter(lambda pair: pair[0] != pair[1]), max_size=14))
    sizes = draw(st.lists(st.integers(0, 20_000), min_size=len(pairs), max_size=len(pairs)))
    return Pattern.from_messages(ranks, [a for a, _ in pairs], [b for _, b in pairs], sizes)


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
@settings(max_examples=12)
@given(data=st.data())
def test_nothing_tried_is_simulated_faster(model: str, data: st.DataObject) -> None:
    machine = parse_machine(data.draw(st.sampled_from(MACHINES)))
    pattern = data.draw(patterns(machine.topology.endpoints))
    chosen = compile_pattern(pattern, machine, Request(rank_by=model))
    assert verify_schedule(chosen).ok
    assert chosen.simulated_s == api.simulate(chosen, model=model).time_s
    for candidate in candidates(pattern, machine, 1):
        for contention in contentions(candidate, pattern, machine):
            request = Request(candidate.method, contention, effort=1 - candidate.searches)
            try:
                other = compile_pattern(pattern, machine, request)
            except (InputError, NoScheduleError):
                break
            for policy in ("none", "local", "ready", "barrier"):
                if not receives_fit(other, policy):
                    continue
                try:
                    time_s = api.simulate(other, model=model, sync=policy).time_s
                except (InputError, NoScheduleError):
                    continue
                assert chosen.simulated_s <= time_s * (1 + 1e-9), (candidate.method, contention, policy)
