"""The checker on timelines written by hand from the definition of costs: right ones pass, each rule has its mutants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.simulation import Timeline, Workload
from conset.simulation.check import check_timeline
from conset.simulation.settings import Settings
from hand_made_timelines import by_hand, changed
from hand_made_workloads import phased, trace

WORDS = "link=1MB/s,port=1MB/s,send_overhead=20us,receive_overhead=10us,inject=3us,eject=2us,hop=1us,per_transfer=4us,lanes=4"


def crossbar(words: str = "") -> Machine:
    """Latency 9 us, no hops; 1 B/us."""
    return parse_machine(f"crossbar:5,{WORDS}" + (f",{words}" if words else ""))


def row(words: str = "") -> Machine:
    return parse_machine(f"mesh:4,{WORDS}" + (f",{words}" if words else ""))


def rules(timeline: Timeline, machine: Machine, settings: Settings) -> list[str]:
    """In the order in which they are found."""
    assert timeline.workload is not None
    found = check_timeline(timeline, timeline.workload, machine, settings)
    return list(dict.fromkeys(violation.rule for violation in found))


def right(
    work: Workload, machine: Machine, settings: Settings, rows: list[tuple[float, ...]], model: str = "wormhole"
) -> Timeline:
    timeline = by_hand(work, machine, settings, rows, model)
    assert check_timeline(timeline, work, machine, settings) == ()
    return timeline


# ---- one message, alone: 20 of the sender, 4 + 3 + 2 + 3 hops of latency, 50 B, 10 of the receiver

ALONE = trace([(0, 3, 50)], 4)


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
def test_a_message_alone_and_each_of_its_parts(model: str) -> None:
    settings = Settings()
    timeline = right(ALONE, row(), settings, [(0, 20, 32, 82, 92)], model)
    for moved in ({"sent": -1.0}, {"first": -1.0, "left": -1.0}, {"first": 1.0}, {"left": 1.0}, {"end": -1.0}):
        assert rules(changed(timeline, 0, **moved), row(), settings)[0] == "latency", moved
    assert rules(changed(timeline, 0, slot=-1.0), row(), settings) == ["release"]


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
def test_a_receiver_that_pays_before_bytes_flow(model: str) -> None:
    machine, settings = row("receive=before"), Settings()
    timeline = right(ALONE, machine, settings, [(0, 20, 42, 92, 92)], model)
    assert rules(changed(timeline, 0, first=-1.0, left=-1.0, end=-1.0), machine, settings)[0] == "latency"
    assert rules(changed(timeline, 0, end=1.0), machine, settings) == ["latency"]  # delivered with the last byte


def test_a_message_inside_its_node_is_copied_without_latency() -> None:
    work, machine, settings = trace([(2, 2, 50)], 4), row("copy=2MB/s"), Settings(in_flight=1)
    timeline = right(work, machine, settings, [(0, 20, 0, 45, 55)])
    assert rules(changed(timeline, 0, left=-1.0), machine, settings) == ["latency"]


# ---- sends of one rank

FAN = trace([(0, 1, 10), (0, 2, 10), (0, 3, 10)], 5)
"""10 B take 10 us, less than the overhead of 20."""


def test_sends_one_after_the_other_on_their_processor() -> None:
    """The second form: 2 · 20 + 20 + 9 + 10 + 10."""
    settings = Settings(in_flight=3)
    rows = [(0, 20 * k + 20, 20 * k + 29, 20 * k + 39, 20 * k + 49) for k in range(3)]
    timeline = right(FAN, crossbar(), settings, rows)
    assert timeline.time_s == pytest.approx(89e-6)
    quick = changed(timeline, 2, sent=-1.0, first=-1.0, left=-1.0, end=-1.0)
    assert rules(quick, crossbar(), settings) == ["processor", "bound"]


def test_overheads_are_paid_in_the_order_of_slots() -> None:
    """Message 1 is released 5 us after message 0: its overhead must not be paid first."""
    work = trace([(0, 1, 10), (0, 2, 10)], 5, time_s=np.array([0.0, 5e-6]))
    settings = Settings()
    right(work, crossbar(), settings, [(0, 20, 29, 39, 49), (5, 40, 49, 59, 69)])
    turned = by_hand(work, crossbar(), settings, [(0, 45, 54, 64, 74), (5, 25, 34, 44, 54)])
    assert rules(turned, crossbar(), settings) == ["order"]


def test_a_slot_is_free_when_the_bytes_have_left() -> None:
    """The third form with one slot: 3 · 39 + 10; the receivers' overhead is no longer the sender's business."""
    settings = Settings(in_flight=1)
    rows = [(39 * k, 39 * k + 20, 39 * k + 29, 39 * k + 39, 39 * k + 49) for k in range(3)]
    timeline = right(FAN, crossbar(), settings, rows)
    assert timeline.time_s == pytest.approx(127e-6)
    assert rules(changed(timeline, 1, slot=-1.0), crossbar(), settings) == ["in flight"]
    turned = by_hand(FAN, crossbar(), settings, [rows[1], rows[0], rows[2]])
    assert rules(turned, crossbar(), settings) == ["order"]
    # on a machine that takes the receiver's overhead before the bytes, the slot is kept for it
    before = crossbar("receive=before")
    rows = [(49 * k, 49 * k + 20, 49 * k + 39, 49 * k + 49, 49 * k + 49) for k in range(3)]
    timeline = right(FAN, before, settings, rows)
    assert rules(changed(timeline, 1, slot=-1.0), before, settings) == ["in flight"]


def test_a_slot_given_too_early_is_found_without_the_times_between() -> None:
    settings = Settings(in_flight=1)
    rows = [(39 * k, 39 * k + 20, 39 * k + 29, 39 * k + 39, 39 * k + 49) for k in range(3)]
    timeline = changed(right(FAN, crossbar(), settings, rows), 1, slot=-1.0)
    none = np.zeros(0)
    old = replace(timeline, rates=None, sent_s=none, first_byte_s=none, left_s=none)
    assert rules(old, crossbar(), settings) == ["in flight"]


# ---- receives of one rank


def test_receives_one_after_the_other_on_their_processor() -> None:
    work, settings = trace([(1, 0, 10), (2, 0, 10)], 5), Settings()
    rows = [(0, 20, 29, 49, 59), (0, 20, 29, 49, 69)]
    timeline = right(work, crossbar(), settings, rows)
    assert rules(changed(timeline, 1, end=-1.0), crossbar(), settings) == ["processor"]
    before = crossbar("receive=before")
    timeline = right(work, before, settings, [(0, 20, 39, 49, 49), (0, 20, 49, 59, 59)])
    quick = changed(timeline, 1, first=-1.0, left=-1.0, end=-1.0)
    assert rules(quick, before, settings) == ["processor", "capacity", "bound"]


def test_one_processor_sends_or_receives() -> None:
    """An exchange of 50 B: each sends from 0 to 20 and receives from 79 to 89; a send at 75 is in the way."""
    settings = Settings()
    work = trace([(0, 1, 50), (1, 0, 50), (0, 2, 10)], 5, time_s=np.array([0, 0, 70e-6]))
    rows = [(0, 20, 29, 79, 89), (0, 20, 29, 79, 89), (70, 109, 118, 128, 138)]
    right(work, crossbar("processors=one"), settings, rows)
    rows[2] = (70, 90, 99, 109, 119)
    timeline = right(work, crossbar(), settings, rows)
    assert rules(timeline, crossbar("processors=one"), settings) == ["processor"]
    assert rules(timeline, crossbar("processors=one,preempts=true"), settings) == []


# ---- phases

CIRCLE = phased([[(r, (r + d) % 3, 10) for r in range(3)] for d in (1, 2)], 5)
"""Two permutations; one message takes 20 + 9 + 10 + 10 = 49 us."""


def phases_at(*begins: float) -> list[tuple[float, ...]]:
    return [(b, b + 20, b + 29, b + 39, b + 49) for b in begins for _ in range(3)]


@pytest.mark.parametrize(
    ("sync", "words", "first", "second"),
    [
        ("local", "", 0, 49),
        ("barrier", "synchronization=100us", 0, 149),
        ("barrier", "synchronization=100us,first_barrier=true", 100, 249),
        ("barrier:2", "synchronization=100us", 0, 20),
        ("ready", "signal=8us", 8, 65),
    ],
)
@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
def test_phases_begin_when_their_policy_lets_them(
    model: str, sync: str, words: str, first: float, second: float
) -> None:
    machine, settings = crossbar(words), Settings(sync=sync)
    timeline = right(CIRCLE, machine, settings, phases_at(first, second), model)
    early = changed(timeline, 4, slot=-1.0)
    wanted = [] if sync == "barrier:2" else ["policy"]
    assert rules(early, machine, settings)[:1] == wanted
    if first:
        assert rules(changed(timeline, 1, slot=-1.0), machine, settings)[0] == "policy"


@pytest.mark.parametrize(("sync", "second"), [("none", 60), ("local", 109), ("barrier", 209), ("barrier:2", 60)])
def test_set_ups_are_paid_at_both_ends_before_the_first_transfer(sync: str, second: float) -> None:
    """30 us a phase: with one slot a rank at a time the second one comes after the first send, or after its phase."""
    machine, settings = crossbar("setup=30us,synchronization=100us"), Settings(sync=sync)
    rows = [(0, b + 20, b + 29, b + 39, b + 49) for b in (30,) for _ in range(3)]
    slot = {"none": 0, "barrier:2": 0, "local": 79, "barrier": 179}[sync]
    b = second if sync in ("local", "barrier") else 80
    rows += [(slot, b + 20, b + 29, b + 39, b + 49) for _ in range(3)]
    timeline = right(CIRCLE, machine, settings, rows)
    dropped = changed(timeline, 4, sent=-1.0, first=-1.0, left=-1.0, end=-1.0)
    wanted = ["set-up"] if sync in ("local", "barrier") else ["processor"]
    assert rules(dropped, machine, settings)[0] == wanted[0]
    early = [(0, b + 20, b + 29, b + 39, b + 49) for b in (0,) for _ in range(3)]
    assert rules(by_hand(CIRCLE, machine, settings, early + rows[3:]), machine, settings)[0] == "set-up"


def test_a_set_up_keeps_the_receiver_too() -> None:
    """Rank 1 pays for its receive before rank 0's message may start, though rank 0 is free."""
    work = phased([[(1, 2, 10)], [(0, 1, 10)]], 5)
    machine, settings = crossbar("setup=30us"), Settings(sync="local")
    timeline = right(work, machine, settings, [(0, 50, 59, 69, 79), (0, 129, 138, 148, 158)])
    early = changed(timeline, 1, sent=-1.0, first=-1.0, left=-1.0, end=-1.0)
    assert rules(early, machine, settings)[0] == "set-up"


def test_signals_are_work_of_a_processor_at_each_end() -> None:
    """Rank 0 asks three to send, 4 us each: the third signal leaves at 12 and arrives 4 later."""
    work = phased([[(1, 0, 10), (2, 0, 10), (3, 0, 10)]], 5)
    machine, settings = crossbar("signal=8us"), Settings(sync="ready")
    rows = [(s, s + 20, s + 29, 80, 90 + 10 * k) for k, s in enumerate((8, 12, 16))]
    timeline = right(work, machine, settings, rows)
    assert rules(changed(timeline, 2, slot=-1.0), machine, settings) == ["processor"]


# ---- files of before


def test_every_time_must_be_finite() -> None:
    settings = Settings()
    timeline = right(ALONE, row(), settings, [(0, 20, 32, 82, 92)])
    assert rules(replace(timeline, left_s=np.array([np.nan])), row(), settings) == ["release"]


def test_rates_and_times_must_agree() -> None:
    settings = Settings()
    timeline = right(ALONE, row(), settings, [(0, 20, 32, 82, 92)])
    later = changed(timeline, 0, first=5.0, left=5.0, end=5.0)
    assert rules(later, row(), settings) == []
    assert rules(replace(later, rates=timeline.rates), row(), settings) == ["conservation"]
