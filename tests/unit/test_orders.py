"""Partial orders of many pairs, message by message as a specification: chains, parts, cycles."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conset.base.errors import InputError
from conset.bounds import bound_schedule, order as bounds_order
from conset.bounds.order import longest_chain
from conset.machine.costs import Limits, Steps, Synchronization
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.methods.phases.naive import schedule_naive
from conset.methods.phases.problem import Problem, SearchOptions
from conset.methods.phases.table import find_method
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import document_of
from conset.schedule.loads import order_messages
from conset.schedule.policy import depths, order_of_transfers
from conset.schedule.schedule import Schedule
from conset.verification import verify
from support.hand_made import document, machine_on
from support.slow_verifier import broken_rule

Pairs = list[tuple[int, int]]
ACYCLIC = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda pair: pair[0] < pair[1]),
    min_size=1,
    max_size=30,
)
"""Pairs of messages 0 … 11, the lower one first."""


def slow_chain(before: Pairs, weight: list[float]) -> tuple[list[int], float]:
    """The heaviest chain; of equal ones that which ends at, and came by, the lowest messages."""
    best: dict[int, tuple[float, list[int]]] = {}
    for m in sorted({m for pair in before for m in pair}):
        behind = sorted({i for i, j in before if j == m})
        last = max(behind, key=lambda i: (best[i][0], -i), default=None)
        length, chain = (0.0, []) if last is None else best[last]
        best[m] = weight[m] + length, [*chain, m]
    end = max(best, key=lambda m: (best[m][0], -m))
    return best[end][1], best[end][0]


@given(
    ACYCLIC,
    st.lists(st.sampled_from([0.0, 1.0, 1.5, 4.0]), min_size=12, max_size=12),
    st.sampled_from([1, 3, 64]),
)
def test_the_longest_chain_is_that_of_the_slow_form(
    before: Pairs, weight: list[float], rounds: int
) -> None:
    """Also where chains are longer than those that are followed together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds_order, "ROUNDS", rounds)
        found = longest_chain(np.array(before, np.int32), np.array(weight))
    assert found == slow_chain(before, weight)


def test_a_chain_of_many_messages() -> None:
    """Alone 20,000 long, beside it a heavier one of 3."""
    count = 20_000
    chain = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    before = np.concatenate([chain, [[count, count + 1], [count + 1, count + 2]]]).astype(np.int32)
    weight = np.ones(count + 3)
    assert longest_chain(before, weight) == (list(range(count)), count)
    weight[count:] = count
    assert longest_chain(before, weight) == ([count, count + 1, count + 2], 3 * count)


@given(
    ACYCLIC,
    st.permutations([0, 1, 1, 2, 3, 3, 3, 5, 6, 7, 8, 9, 10, 11]),
    st.booleans(),
    st.integers(0, 12),
)
def test_every_part_follows_every_part(
    before: Pairs, parts: list[int], split: bool, left: int
) -> None:
    """Message 4 is not scheduled; whole messages take the short way to the same pairs."""
    message = np.array(parts if split else sorted(set(parts), key=parts.index), np.int32)[left:]
    first, second = order_of_transfers(np.array(before, np.int32), message)
    expected = [
        (a, b)
        for i, j in before
        for a in np.flatnonzero(message == i)
        for b in np.flatnonzero(message == j)
    ]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    assert (first.dtype, second.dtype) == (np.int32, np.int32)


def from_one(messages: int, before: Pairs) -> Pattern:
    """Messages of rising sizes from rank 0, in turn to ranks 1 and 2.

    Every two of them share a rank.
    """
    target = np.arange(messages) % 2 + 1
    size = np.arange(1, messages + 1) * 1000
    return Pattern(
        3, np.array([0, messages, messages, messages]), target, size, np.array(before, np.int32)
    )


@given(
    ACYCLIC,
    st.lists(st.integers(0, 4), min_size=12, max_size=12),
    st.sampled_from([("none", [0, 5]), ("barrier:2", [0, 2, 4, 5])]),
)
def test_waves_of_messages_that_wait_follow_one_another(
    before: Pairs, phase: list[int], policy: tuple[str, list[int]]
) -> None:
    """All messages leave rank 0 and take nothing but m + 1 us of latency.

    Pairs with the second before the first do not count; a batch begins anew.
    """
    sync, batches = policy
    sizes = tuple(from_one(12, []).size.tolist())
    inject = Steps(tuple(1e-6 * (m + 1) for m in range(13)), (*sizes, inf))
    machine = parse_machine("crossbar:3").with_costs(
        lambda costs: replace(
            costs,
            send_overhead=Steps(),
            receive_overhead=Steps(),
            inject=inject,
            eject=Steps(),
            hop_s=0.0,
            synchronization=Synchronization(),
            port_out_Bps=inf,
            port_in_Bps=inf,
        )
    )
    order = np.argsort(phase, kind="stable").astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(phase, minlength=5))])
    schedule = Schedule(from_one(12, before), machine, "by hand", Limits(), offsets, order)
    phase_s = predict(schedule, sync=sync).phase_s
    batch = np.repeat(np.arange(len(batches) - 1), np.diff(batches))
    wave: dict[int, int] = {}
    for m in order.tolist():
        behind = [
            i
            for i, j in before
            if j == m and phase[i] <= phase[m] and batch[phase[i]] == batch[phase[m]]
        ]
        wave[m] = max((wave[i] + 1 for i in behind), default=0)
    for p in range(5):
        together = [m for m in range(12) if batch[phase[m]] == batch[p]]
        last = max((wave[m] for m in together if phase[m] <= p), default=0)
        waits = any(wave[m] for m in together)  # else only messages up to a phase are in flight
        waves = [
            [m + 1 for m in together if wave[m] == w and (waits or phase[m] <= p)]
            for w in range(last + 1)
        ]
        time_s = phase_s[batches[batch[p]] : p + 1].sum()
        expected = 1e-6 * sum(max(longest, default=0) for longest in waves)
        assert time_s == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("length", [3, 70, 200])
def test_the_verifier_names_a_cycle_behind_a_long_chain(length: int) -> None:
    """The last three of so many messages that follow one another go round, and ten more follow
    them."""
    messages = length + 10
    pattern = from_one(messages, [(k, k + 1) for k in range(messages - 1)])
    schedule = Schedule(
        pattern,
        parse_machine("crossbar:3"),
        "by hand",
        Limits(),
        np.arange(messages + 1),
        np.arange(messages),
    )
    assert verify(document_of(schedule)).ok
    assert pattern.before is not None
    before = np.concatenate([pattern.before, [[length - 1, length - 3]]])
    broken = verify(replace(document_of(schedule), before=before)).violations
    texts = [violation.text for violation in broken if violation.rule == "pattern"]
    assert len(texts) == 1
    assert texts[0].startswith("before: the order is cyclic: message ")
    named = {int(m) for m in texts[0].rpartition("message ")[2].split(" before ")}
    assert named == {length - 3, length - 2, length - 1}
    with pytest.raises(InputError, match="the order is cyclic"):
        replace(pattern, before=before)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=4
    ),
    st.permutations([0, 0, 1, 2]),
    st.booleans(),
)
def test_the_verifiers_agree_on_the_order_of_parts(
    placed: list[tuple[int, int, int]], message: list[int], timed: bool
) -> None:
    """Message 0 in two parts, then 1, then 2, in at most two phases.

    Windows short, many of them one instant.
    """
    ends = [(0, 1), (0, 2), (1, 2)]
    rows = [
        (p // 2, [*ends[m], 5 if m == 0 else 10, m], [float(start), float(start + length)])
        for m, (p, start, length) in zip(message, placed, strict=True)
    ]
    phases = [[row for p, row, _ in rows if p == q] for q in range(2)]
    times = [[window for p, _, window in rows if p == q] for q in range(2)]
    machine = machine_on(Topology.crossbar(3))
    wrong = document(
        machine,
        [[*each, 10] for each in ends],
        phases,
        Limits(),
        before=[[0, 1], [1, 2]],
        timetable=times if timed else None,
    )
    rules = {violation.rule for violation in verify(wrong, machine=machine).violations}
    assert ("order" in rules) == (broken_rule(wrong, machine) == "order")


@given(ACYCLIC)
def test_depths_count_the_longest_chain_before_a_message(before: Pairs) -> None:
    deep = [0] * 12
    for m in range(12):
        deep[m] = max((deep[i] + 1 for i, j in before if j == m), default=0)
    assert depths(np.array(before), 12).tolist() == deep
    assert depths(None, 3).tolist() == [0, 0, 0]
    around = np.array([*before, (0, 12), (12, 13), (13, 12), (13, 14)])
    assert depths(around, 15)[12:].tolist() == [-1, -1, -1]


@given(ACYCLIC, st.sampled_from(["schedule", "random", "ascending", "rotated", "longest-first"]))
def test_one_phase_of_all_messages_keeps_an_order_or_refuses_it(
    before: Pairs, posting: str
) -> None:
    """Refused where no list of the rank that sends all has both orders."""
    pattern, machine = from_one(12, before), parse_machine("crossbar:3")
    options = SearchOptions(posting=posting)
    listed = order_messages(pattern, posting).tolist()
    kept = all(listed.index(i) < listed.index(j) for i, j in before)
    problem = Problem(pattern, machine, Limits(), search=options)
    if not kept and posting not in ("schedule", "random"):
        with pytest.raises(
            InputError, match=f"posting {posting} and the order of messages to agree, given message"
        ):
            find_method("naive").schedule(problem)
        return
    phases = schedule_naive(problem)
    schedule = Schedule(
        pattern, machine, "naive", Limits(), phases.offsets, phases.message, posting=posting
    )
    assert verify(document_of(schedule)).ok


@pytest.mark.parametrize("sync", ["none", "local", "barrier"])
def test_a_chain_inside_a_phase_comes_after_its_set_up(sync: str) -> None:
    machine = parse_machine("iwarp:3x2,node=60MB/s")
    pattern = Pattern.from_messages([0, 1, 3], [3, 2, 2], [64] * 3, 6, before=[(2, 0)])
    schedule = Schedule(pattern, machine, "connections", Limits(), [0, 3], [1, 2, 0], sync=sync)
    # 8.8 us of set-up; 5.2 us each, 64 B at 40 MB/s, and hops of 0.2 us: one from 3 to 2, two from
    # 0 to 3
    barrier_s = machine.costs_for("connections").synchronization.at(6) * (sync == "barrier")
    assert predict(schedule).time_s == pytest.approx(8.8e-6 + 7.0e-6 + 7.2e-6 + barrier_s)
    assert bound_schedule(schedule).time_s <= predict(schedule).time_s
