"""The checker on timelines written by hand from the definition of costs.

Right ones pass, each rule has its mutants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models import Timeline, Workload
from conset.models.settings import Settings
from conset.models.usage import least_time
from conset.verification.timeline.check import check_timeline
from support.hand_made_timelines import by_hand, changed
from support.hand_made_workloads import phased, trace

COSTS = (
    "link=1MB/s",
    "port=1MB/s",
    "send_overhead=20us",
    "receive_overhead=10us",
    "inject=3us",
    "eject=2us",
    "per_transfer=4us",
    "lanes=4",
)
WORDS = ",".join(COSTS)


def crossbar(words: str = "") -> Machine:
    """Latency 9 us, no hops; 1 B/us."""
    return parse_machine(f"crossbar:5,{WORDS}" + (f",{words}" if words else ""))


def row(words: str = "") -> Machine:
    return parse_machine(f"mesh:4,hop=1us,{WORDS}" + (f",{words}" if words else ""))


def rules(timeline: Timeline, machine: Machine, settings: Settings) -> list[str]:
    """In the order in which they are found."""
    assert timeline.workload is not None
    found = check_timeline(timeline, timeline.workload, machine, settings)
    return list(dict.fromkeys(violation.rule for violation in found))


def right(
    work: Workload,
    machine: Machine,
    settings: Settings,
    rows: list[tuple[float, ...]],
    model: str = "wormhole",
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
    for moved in (
        {"sent": -1.0},
        {"first": -1.0, "left": -1.0},
        {"first": 1.0},
        {"left": 1.0},
        {"end": -1.0},
    ):
        assert rules(changed(timeline, 0, **moved), row(), settings)[0] == "latency", moved
    assert rules(changed(timeline, 0, slot=-1.0), row(), settings) == ["release"]


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
def test_a_receiver_that_pays_before_bytes_flow(model: str) -> None:
    machine, settings = row("receive=before"), Settings()
    timeline = right(ALONE, machine, settings, [(0, 20, 42, 92, 92)], model)
    assert (
        rules(changed(timeline, 0, first=-1.0, left=-1.0, end=-1.0), machine, settings)[0]
        == "latency"
    )
    assert rules(changed(timeline, 0, end=1.0), machine, settings) == [
        "latency"
    ]  # delivered with the last byte


def test_a_message_inside_its_node_is_copied_without_latency() -> None:
    work, machine, settings = trace([(2, 2, 50)], 4), row("copy=2MB/s"), Settings(in_flight=1)
    timeline = right(work, machine, settings, [(0, 20, 0, 45, 55)])
    assert rules(changed(timeline, 0, left=-1.0), machine, settings) == ["latency"]


@pytest.mark.parametrize("model", ["flow", "wormhole"])
def test_start_ups_and_bytes_of_a_node_share_its_port(model: str) -> None:
    """Two start-ups of 40 us; the second shares the port with 10 us of bytes after 9 of latency."""
    work, machine, settings = (
        trace([(0, 1, 10), (0, 2, 10)], 5),
        crossbar("startup=40us"),
        Settings(),
    )
    rows = [(0, 20, 69, 89, 99), (0, 40, 119, 129, 139)]
    timeline = right(work, machine, settings, rows, model)
    early = changed(timeline, 1, first=-25.0, left=-25.0, end=-25.0)
    assert rules(early, machine, settings) == ["processor"]
    machine = crossbar("startup=40us,port_out=none")
    alone = right(work, machine, settings, [(0, 20, 69, 79, 89), (0, 40, 109, 119, 129)], model)
    assert rules(changed(alone, 1, first=-2.0, left=-2.0, end=-2.0), machine, settings) == [
        "processor"
    ]


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
    """The third form with one slot: 3 · 39 + 10.

    The receivers' overhead is no longer the sender's business.
    """
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
    turned = by_hand(work, crossbar(), settings, [(0, 20, 29, 48, 69), (0, 20, 29, 49, 59)])
    assert rules(replace(turned, rates=None), crossbar(), settings) == ["order"]
    before = crossbar("receive=before")
    timeline = right(work, before, settings, [(0, 20, 39, 49, 49), (0, 20, 49, 59, 59)])
    quick = changed(timeline, 1, first=-1.0, left=-1.0, end=-1.0)
    assert rules(quick, before, settings) == ["processor", "capacity", "bound"]


def test_one_processor_sends_or_receives() -> None:
    """An exchange of 50 B: each sends from 0 to 20 and receives from 79 to 89.

    A send at 80 waits for it.
    """
    settings = Settings()
    work = trace([(0, 1, 50), (1, 0, 50), (0, 2, 10)], 5, time_s=np.array([0, 0, 80e-6]))
    rows = [(0, 20, 29, 79, 89), (0, 20, 29, 79, 89), (80, 109, 118, 128, 138)]
    right(work, crossbar("processors=one"), settings, rows)
    rows[2] = (80, 100, 109, 119, 129)
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


@pytest.mark.parametrize(
    ("sync", "first", "second", "rule"),
    [
        ("none", 30, 80, "processor"),
        ("barrier:2", 30, 80, "processor"),
        ("local", 30, 109, "set-up"),
        ("barrier", 30, 209, "set-up"),
    ],
)
def test_set_ups_are_paid_before_the_slots_of_a_phase(
    sync: str, first: float, second: float, rule: str
) -> None:
    """30 us a phase: the second one after the first send's overhead, or after its phase and the
    barrier."""
    machine, settings = crossbar("setup=30us,synchronization=100us"), Settings(sync=sync)
    timeline = right(CIRCLE, machine, settings, phases_at(first, second))
    assert rules(changed(timeline, 4, slot=-1.0), machine, settings)[0] == rule
    early = by_hand(CIRCLE, machine, settings, phases_at(0, second))
    assert rules(early, machine, settings)[0] == "set-up"


def test_a_set_up_keeps_the_receiver_too() -> None:
    """Rank 1 pays for its receive before rank 0's message may start, though rank 0 has paid."""
    work = phased([[(1, 2, 10)], [(0, 1, 10)]], 5)
    machine, settings = crossbar("setup=30us"), Settings(sync="local")
    timeline = right(work, machine, settings, [(30, 50, 59, 69, 79), (109, 129, 138, 148, 158)])
    assert rules(changed(timeline, 1, slot=-1.0), machine, settings)[0] == "set-up"


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


def test_what_waits_for_a_delivery_starts_after_it() -> None:
    """The fifth form: n a."""
    work = trace([(0, 1, 10), (1, 2, 10)], 5, dep_offsets=np.array([0, 0, 1]), deps=np.array([0]))
    settings = Settings()
    timeline = right(work, crossbar(), settings, [(0, 20, 29, 39, 49), (49, 69, 78, 88, 98)])
    assert timeline.time_s == pytest.approx(98e-6)
    assert rules(changed(timeline, 1, slot=-1.0), crossbar(), settings) == ["deps"]


# ---- the network


def test_a_flow_that_could_be_faster_is_found() -> None:
    settings = Settings()
    lazy = by_hand(ALONE, row(), settings, [(0, 20, 32, 132, 142)], "flow")
    assert rules(lazy, row(), settings) == ["fairness"]
    assert rules(replace(lazy, model="wormhole"), row(), settings) == []


def test_lanes_are_held_from_header_to_last_byte() -> None:
    """The seventh form: 0→2 and 1→3 share link 1→2.

    One lane, and the second header goes on when the first has left.
    """
    work, settings = trace([(0, 2, 50), (1, 3, 50)], 4), Settings(lanes=1)
    free = row("port=2MB/s")
    rows = [(0, 20, 31, 81, 91), (0, 20, 81 + 2, 133, 143)]
    timeline = right(work, free, settings, rows)
    assert rules(changed(timeline, 1, first=-1.0, left=-1.0, end=-1.0), free, settings) == ["lanes"]
    shared = by_hand(work, free, settings, [(0, 20, 31, 131, 141), (0, 20, 31, 131, 141)])
    assert rules(shared, free, settings) == ["lanes"]
    assert rules(shared, free, Settings(lanes=2)) == []
    assert rules(replace(shared, model="circuit"), free, Settings()) == ["lanes"]
    assert rules(replace(shared, model="flow"), free, Settings()) == []


def test_two_full_rates_do_not_fit_on_a_link() -> None:
    work, settings = trace([(0, 2, 50), (1, 3, 50)], 4), Settings()
    timeline = by_hand(work, row(), settings, [(0, 20, 31, 81, 91), (0, 20, 31, 81, 91)])
    assert rules(timeline, row(), settings) == ["capacity", "bound", "figures"]


@pytest.mark.parametrize("model", ["flow", "wormhole", "circuit"])
def test_bytes_of_an_exchange_count_by_their_weight(model: str) -> None:
    """The ninth form: 2 w b / r, with w only under a policy for which it is one."""
    work = phased([[(0, 1, 50), (1, 0, 50)]], 5)
    machine = crossbar("port=1MB/s,node=1MB/s,exchange_weight=0.6,exchange_syncs=ready,signal=0")
    ready = Settings(sync="ready")
    timeline = right(work, machine, ready, [(0, 20, 29, 89, 99)] * 2, model)
    assert rules(timeline, machine, Settings(sync="local"))[0] == "capacity"
    right(work, machine, Settings(sync="local"), [(0, 20, 29, 129, 139)] * 2, model)


def test_no_more_receives_than_a_rank_takes() -> None:
    work, settings = trace([(1, 0, 10), (2, 0, 10)], 5), Settings(receives=1)
    timeline = right(work, crossbar(), settings, [(0, 20, 29, 39, 49), (0, 20, 39, 49, 59)])
    early = changed(timeline, 1, first=-1.0)
    assert rules(replace(early, rates=None), crossbar(), settings)[0] == "receives"


def test_flits_take_what_routers_take() -> None:
    """1 ns a cycle: overheads of 2.5 and 1.2 cycles are 3 and 2; 5 + 4 · 3 + 7 cycles between."""
    machine = parse_machine(
        "mesh:4,link=16GB/s,flit=16,send_overhead=2.5ns,receive_overhead=1.2ns,inject=9us,lanes=2"
    )
    work, settings = trace([(0, 3, 112)], 4), Settings()
    timeline = by_hand(work, machine, settings, [(0, 3e-3, 3e-3, 27e-3, 29e-3)], "flit")
    timeline = replace(timeline, rates=None, mean_latency_s=29e-9)
    assert rules(timeline, machine, settings) == []
    quick = changed(timeline, 0, end=-1e-3)
    assert rules(replace(quick, rates=None), machine, settings) == ["latency", "bound"]


# ---- bounds, and figures


@pytest.mark.parametrize(
    "name", ["link_bytes", "out_bytes", "in_bytes", "phase_end_s", "link_busy_s", "out_busy_s"]
)
def test_figures_that_do_not_fit_are_found(name: str) -> None:
    settings = Settings()
    timeline = right(ALONE, row(), settings, [(0, 20, 32, 82, 92)])
    wrong = getattr(timeline, name).copy()
    wrong[0] += 1
    assert rules(replace(timeline, **{name: wrong}), row(), settings) == ["figures"]


def bound(messages: list[tuple[int, int, int]], words: str = "", **how: Any) -> tuple[float, str]:
    """(bound [us], witness) on a crossbar."""
    time_s, witness = least_time(trace(messages, 5), crossbar(words), Settings(**how), "wormhole")
    return round(time_s * 1e6, 6), witness


def test_bounds_say_what_they_count() -> None:
    """Overheads 20 and 10, latency 9, 1 B/us."""
    long = [(0, k, 100) for k in (1, 2, 3, 4)]
    assert bound(long) == (20 + 9 + 400 + 10, "port out of node 0: 400 B at 1 MB/s")
    assert bound(long, in_flight=1) == (4 * 129 + 10, "1 slot of rank 0")
    assert bound(long, in_flight=2) == (20 + 9 + 400 + 10, "port out of node 0: 400 B at 1 MB/s")
    assert bound(long, "receive=before", in_flight=1) == (4 * 139, "1 slot of rank 0")
    short = [(0, k, 10) for k in (1, 2, 3, 4)]
    assert bound(short) == (4 * 20 + 9 + 10 + 10, "overheads of sends of rank 0")
    back = [(k, 0, 5) for k in (1, 2, 3, 4)]
    assert bound(back) == (20 + 9 + 5 + 4 * 10, "overheads of receives of rank 0")
    assert bound(back, "receive=before") == (20 + 9 + 4 * 10 + 5, "overheads of receives of rank 0")
    both = short + back
    assert bound(both, "processors=one") == (4 * 20 + 4 * 10, "overheads of rank 0")
    assert bound(both, "processors=one,preempts=true") == bound(short)
    assert bound([(0, 1, 100)]) == (139, "message 0 (0 → 1) alone")
    assert bound([(0, 1, 0)]) == (39, "message 0 (0 → 1) alone")
    assert bound([]) == (0, "nothing to send")


@pytest.mark.parametrize(
    ("sync", "words", "expected"),
    [
        ("barrier", "", 2 * (30 + 49) + 100),
        ("barrier", "first_barrier=true", 2 * (30 + 49) + 200),
        ("local", "", 2 * (30 + 49)),
        ("ready", "", 2 * (30 + 49)),
        ("ready", "setup=0,signal=8us", 2 * (8 + 49)),
        ("none", "", 2 * (30 + 20)),
    ],
)
def test_bounds_of_phases(sync: str, words: str, expected: float) -> None:
    machine = crossbar(
        f"synchronization=100us,{words}"
        if "setup" in words
        else f"setup=30us,synchronization=100us,{words}"
    )
    assert least_time(CIRCLE, machine, Settings(sync=sync), "wormhole")[0] == pytest.approx(
        expected * 1e-6
    )
