"""The checker of timelines by mutation, model by model.

Channels, processors, exchanges, flits, routes, figures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import conset
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine, with_settings
from conset.models import Timeline, Workload
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.timeline import Rates, mean_latency, phase_ends
from conset.verification.timeline.check import check_timeline
from support.hand_made_workloads import phased, trace

ROW = parse_machine(
    "mesh:4,link=2MB/s,port=1MB/s,inject=10us,eject=5us,hop=1us,synchronization=50us,signal=20us"
)
PHASES = [[(0, 2, 100), (1, 3, 50)], [(0, 1, 100), (3, 2, 100), (1, 0, 100)]]
WORK = phased(PHASES, 4)


def played(
    work: Workload = WORK, machine: Machine = ROW, model: str = "wormhole", **words: Any
) -> tuple[Timeline, Settings]:
    """A timeline that the checker finds nothing wrong with."""
    if model == "connections":
        words.setdefault("sync", "barrier")
    settings = Settings(record=True, **words)
    timeline = MODELS[model].simulate(work, machine, settings)
    assert check_timeline(timeline, work, machine, settings) == ()
    return timeline, settings


def rules(
    timeline: Timeline, settings: Settings, work: Workload = WORK, machine: Machine = ROW
) -> set[str]:
    return {violation.rule for violation in check_timeline(timeline, work, machine, settings)}


def ends_moved(timeline: Timeline, end_s: NDArray[np.float64]) -> Timeline:
    """Other deliveries, and the figures that follow from them."""
    work = timeline.workload
    assert work is not None
    which = None if timeline.model == "flit" else work.crosses
    return replace(
        timeline,
        end_s=end_s,
        phase_end_s=phase_ends(work, end_s),
        mean_latency_s=mean_latency(work, end_s, which),
    )


def moved(values: NDArray[np.float64], index: int, by: float) -> NDArray[np.float64]:
    copy = values.copy()
    copy[index] += by
    return copy


def faster(timeline: Timeline, factor: float) -> Timeline:
    """Every rate raised, every stream shorter in proportion from its first byte on.

    No byte is lost.
    """
    rates = timeline.rates
    assert rates is not None
    first = timeline.first_bytes()[rates.message]
    times = first + (rates.time_s - first) / factor
    order = np.argsort(times, kind="stable")
    return replace(
        timeline, rates=Rates(times[order], rates.message[order], rates.rate_Bps[order] * factor)
    )


HELD = ["wormhole", "circuit"]


@pytest.mark.parametrize("model", HELD)
def test_a_delivery_before_the_last_byte_could_be_there_is_found(model: str) -> None:
    """A message over one link takes 10 + 5 + 1 + 100 us alone."""
    work = trace([(3, 2, 100)], 4)
    timeline, settings = played(work, model=model)
    found = check_timeline(ends_moved(timeline, timeline.end_s - 1e-6), work, ROW, settings)
    assert {v.rule for v in found} == {"latency", "bound"}
    assert any("must be at least 0.000116 s" in v.text for v in found if v.rule == "latency")


@pytest.mark.parametrize("model", [*HELD, "flit"])
@pytest.mark.parametrize(
    ("sync", "message"),
    [("barrier", 2), ("barrier:2", 0), ("local", 2), ("ready", 4), ("ready", 0)],
)
def test_a_message_let_go_before_its_policy_allows_is_found(
    model: str, sync: str, message: int
) -> None:
    machine = with_settings(ROW, "first_barrier=true")
    timeline, settings = played(machine=machine, model=model, sync=sync)
    early = replace(timeline, start_s=moved(timeline.start_s, message, -10e-6))
    # a signal that has no time is not sent in time either
    assert rules(early, settings, machine=machine) - {"processor"} == {"policy"}


@pytest.mark.parametrize("model", [*HELD, "flow", "flit"])
def test_what_ran_without_barriers_was_no_run_with_them(model: str) -> None:
    timeline, settings = played(model=model, sync="none")
    assert "policy" in rules(timeline, replace(settings, sync="barrier"))


@pytest.mark.parametrize("model", [*HELD, "flit"])
def test_a_list_out_of_order_is_found(model: str) -> None:
    work = trace([(0, 1, 100)] * 3, 4)
    timeline, settings = played(work, model=model, in_flight=1)
    names = [
        name
        for name in ("start_s", "sent_s", "first_byte_s", "left_s")
        if getattr(timeline, name).size
    ]
    turned = replace(
        timeline, rates=None, **{name: getattr(timeline, name)[[2, 1, 0]] for name in names}
    )
    turned = ends_moved(turned, timeline.end_s[[2, 1, 0]])
    assert rules(turned, settings, work) == {"order"}


@pytest.mark.parametrize("model", [*HELD, "flit"])
def test_more_in_flight_than_allowed_is_found(model: str) -> None:
    work = trace([(0, 1, 1000), (0, 2, 1000), (0, 3, 1000)], 4)
    timeline, settings = played(work, model=model)
    assert "in flight" in rules(timeline, replace(settings, in_flight=1), work)


@pytest.mark.parametrize("model", HELD)
def test_bytes_that_vanish_or_flow_for_ever_are_found(model: str) -> None:
    timeline, settings = played(model=model)
    rates = timeline.rates
    assert rates is not None
    fewer = replace(timeline, rates=Rates(rates.time_s, rates.message, rates.rate_Bps * 0.99))
    assert rules(fewer, settings) == {"conservation"}
    last = int(np.flatnonzero(rates.rate_Bps == 0)[-1])
    endless = Rates(rates.time_s, rates.message, moved(rates.rate_Bps, last, 1.0))
    assert rules(replace(timeline, rates=endless), settings) == {"conservation"}


@pytest.mark.parametrize("model", HELD)
def test_a_port_above_its_rate_is_found_though_bytes_are_kept(model: str) -> None:
    timeline, settings = played(model=model)
    found = check_timeline(faster(timeline, 1.5), WORK, ROW, settings)
    texts = [v.text for v in found if v.rule == "capacity"]
    assert any(text.startswith("port out of node 0: 1500000 B/s") for text in texts)
    assert any(
        text.startswith("message ") and text.endswith("at most 1000000 B/s") for text in texts
    )


def test_a_link_that_two_messages_share_above_its_rate_is_found() -> None:
    """0→2 and 1→3 share link 1→2 of 1 MB/s where the machine has it.

    They ran where it has 2 MB/s.
    """
    work = phased([[(0, 2, 1000), (1, 3, 1000)]], 4)
    timeline, settings = played(work, lanes=2)
    slower = with_settings(ROW, "link=1MB/s")
    found = check_timeline(timeline, work, slower, settings)
    assert {v.rule for v in found} == {"capacity", "figures", "bound"}
    assert any(v.text.startswith("link 1 → 2: 2000000 B/s") for v in found)


def test_more_messages_than_lanes_on_a_link_are_found() -> None:
    work = phased([[(0, 3, 100), (1, 2, 300), (1, 3, 200)]], 4)
    timeline, settings = played(work, lanes=3)
    found = check_timeline(timeline, work, ROW, replace(settings, lanes=1))
    assert {v.rule for v in found} == {"lanes"}
    assert found[0].text.startswith("link 1 → 2: 3 messages hold it at ")
    assert found[0].text.endswith("it has 1 lane")
    assert "lanes" in rules(replace(timeline, model="circuit"), replace(settings, lanes=None), work)
    without = replace(timeline, rates=None)
    assert rules(without, replace(settings, lanes=1), work) == {"lanes"}


def test_lanes_of_a_ring_are_counted_by_the_datelines_crossed() -> None:
    """0→2 and 4→1 share link 0→1 at one lane a pool.

    The second has crossed the dateline and takes another pool.
    """
    machine = parse_machine("ring:5,link=2MB/s,port=1MB/s,hop=1us")
    work = phased([[(0, 2, 1000), (4, 1, 1000)]], 5)
    timeline, settings = played(work, machine, lanes=1)
    assert timeline.figures["pools"] == 2
    assert "lanes" in rules(
        replace(timeline, model="circuit"), replace(settings, lanes=1), work, machine
    )


def test_a_header_faster_than_its_hops_holds_its_links_too_late() -> None:
    """Its links are held from a hop each before the path is whole.

    Two messages with no time between them.
    """
    timeline, settings = played(trace([(0, 3, 100), (0, 3, 100)], 4), in_flight=1, lanes=1)
    found = rules(
        timeline, settings, trace([(0, 3, 100), (0, 3, 100)], 4), with_settings(ROW, "hop=2us")
    )
    assert "latency" in found


def test_more_receives_than_channels_out_of_the_network_are_found() -> None:
    work = trace([(0, 2, 100), (1, 2, 100), (3, 2, 100)], 4)
    timeline, settings = played(work, lanes=3)
    assert "receives" in rules(timeline, replace(settings, receives=2), work)


def test_receives_out_of_list_order_are_found() -> None:
    work = trace([(0, 3, 1000), (2, 3, 10)], 4)
    timeline, settings = played(work, receives=1, receive_order="any", lanes=2)
    assert timeline.end_s[1] < timeline.end_s[0]
    assert rules(timeline, replace(settings, receive_order="list"), work) == {"order"}


@pytest.mark.parametrize("end", ["send_overhead", "receive_overhead"])
def test_a_processor_that_does_two_things_at_once_is_found(end: str) -> None:
    """Alone a message takes the same on both machines.

    Two overheads at one rank do not fit on the second.
    """
    quick, slow = (
        parse_machine(
            f"mesh:3,port=1GB/s,link=1GB/s,hop={hop}us,{end}={cost}us,inject=0,eject=0,lanes=2"
        )
        for hop, cost in ((9, 1), (5, 5))
    )
    ends = [(1, 0, 0), (1, 2, 0)] if end == "send_overhead" else [(0, 1, 0), (2, 1, 0)]
    work = phased([ends], 3)
    timeline, settings = played(work, quick)
    old = replace(
        timeline, **dict.fromkeys(("sent_s", "first_byte_s", "left_s"), np.zeros(0)), rates=None
    )
    assert {"processor"} <= rules(old, settings, work, slow) <= {"processor", "bound"}


def exchange_machine(weight: float) -> Machine:
    """A 3-cube whose nodes send and receive at one rate together."""
    machine = parse_machine("ipsc860:8")
    return replace(machine, costs=replace(machine.costs, exchange_weight=weight))


def test_an_exchange_counts_by_its_weight_only_where_it_is_one() -> None:
    """0↔3 at full rate both ways under `ready`; with weight 1 it would be twice the node's rate."""
    work = phased([[(0, 3, 1000), (3, 0, 1000)]], 8)
    timeline, settings = played(work, exchange_machine(0.5), "circuit", sync="ready")
    found = check_timeline(timeline, work, exchange_machine(1.0), settings)
    assert {v.rule for v in found} == {"capacity", "bound"}
    assert any(v.text.startswith("both ports of node 0: ") for v in found)


def test_three_in_a_circle_are_no_exchange() -> None:
    work = phased([[(0, 1, 1000), (1, 3, 1000), (3, 0, 1000)]], 8)
    timeline, settings = played(work, exchange_machine(0.5), "circuit", sync="ready")
    assert "capacity" in rules(faster(timeline, 1.9), settings, work, exchange_machine(0.5))


def test_what_ran_without_signals_was_no_run_with_them() -> None:
    timeline, settings = played(sync="local")
    assert rules(timeline, replace(settings, sync="ready")) == {"policy", "processor"}


# ---- flits


def test_flits_faster_than_routers_are_found() -> None:
    """Alone 5 + 4 hops + flits cycles: 3 hops and 7 flits are 24."""
    machine = parse_machine("mesh:4,link=16GB/s,hop=4ns,flit=16")
    work = trace([(0, 3, 112)], 4)
    timeline, settings = played(work, machine, "flit")
    assert timeline.end_s == pytest.approx([24e-9])
    quick = ends_moved(timeline, np.array([23e-9]))
    assert rules(quick, settings, work, machine) == {"latency", "bound"}


def test_a_message_injected_before_what_it_depends_on_is_found() -> None:
    machine = parse_machine("mesh:4,link=16GB/s,hop=4ns,flit=16")
    work = trace([(0, 1, 16), (1, 2, 16)], 4, dep_offsets=np.array([0, 0, 1]), deps=np.array([0]))
    timeline, settings = played(work, machine, "flit")
    early = replace(
        timeline, start_s=moved(timeline.start_s, 1, timeline.end_s[0] - timeline.start_s[1] - 1e-9)
    )
    assert rules(early, settings, work, machine) == {"deps"}


def test_more_flits_than_cycles_are_found() -> None:
    """Four messages of 50 flits into one node take 200 cycles of its port, not 130."""
    machine = parse_machine("mesh:3x3,link=16GB/s,hop=4ns,flit=16")
    work = trace([(1, 4, 800), (3, 4, 800), (5, 4, 800), (7, 4, 800)], 9)
    timeline, settings = played(work, machine, "flit")
    quick = replace(ends_moved(timeline, np.full(4, 130e-9)), left_s=np.full(4, 130e-9))
    found = check_timeline(quick, work, machine, settings)
    assert {v.rule for v in found} == {"capacity", "bound", "figures"}
    assert found[0].text.startswith("port into node 4 (1, 1): work of 2e-07 s in 1.3e-07 s")


# ---- routes and figures


def test_links_that_are_no_way_are_found() -> None:
    schedule = conset.compile("alltoall", "torus:4x4", method="connections", channels=8)
    work = Workload.of_schedule(schedule)
    timeline, settings = played(work, schedule.machine)
    links = work.links.copy()
    links[0] = (links[0] + 1) % schedule.machine.topology.link_slots
    assert rules(timeline, settings, replace(work, links=links), schedule.machine) == {"route"}


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize(
    "name",
    [
        "link_bytes",
        "out_bytes",
        "in_bytes",
        "phase_end_s",
        "link_busy_s",
        "out_busy_s",
        "in_busy_s",
    ],
)
def test_figures_that_do_not_fit_are_found(model: str, name: str) -> None:
    timeline, settings = played(model=model)
    wrong = replace(timeline, **{name: moved(getattr(timeline, name), 0, 1)})
    assert rules(wrong, settings) == {"figures"}
    assert rules(replace(timeline, mean_latency_s=0.0), settings) == {"figures"}


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("name", ["link_busy_s", "out_busy_s", "in_busy_s"])
def test_what_is_busy_all_the_time_has_messages_all_the_time(model: str, name: str) -> None:
    timeline, settings = played(model=model)
    wrong = replace(timeline, **{name: np.full_like(getattr(timeline, name), timeline.time_s)})
    assert rules(wrong, settings) == {"figures"}


@pytest.mark.parametrize("model", list(MODELS))
def test_a_time_below_a_bound_is_found(model: str) -> None:
    """Everything twice as fast."""
    timeline, settings = played(model=model)
    halved = ends_moved(
        replace(timeline, start_s=timeline.start_s / 2, rates=None), timeline.end_s / 2
    )
    assert "bound" in rules(halved, settings)
