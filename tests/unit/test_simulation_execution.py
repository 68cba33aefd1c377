"""Execution as settings: lists, policies, set-ups, signals, and wait-for cycles.

The worked examples are those of a row of nodes whose links and ports pass one word every 2 clocks;
a clock is 1 us here and a word a byte. All ends were found with a pencil.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.machine.spec import parse_machine
from conset.models.flow import simulate_flow
from conset.models.settings import Settings, parse_count
from conset.verification.timeline.check import check_timeline
from support.hand_made_workloads import Triple, phased, row_of_nodes, trace

ONE: list[list[Triple]] = [[(0, 2, 100), (1, 3, 100), (0, 1, 100)]]
TURNED: list[list[Triple]] = [[(0, 1, 100), (0, 2, 100), (1, 3, 100)]]
TWO: list[list[Triple]] = [[(0, 2, 100), (1, 3, 50)], [(0, 1, 100), (3, 2, 100), (1, 0, 100)]]
"""p 0→2, q 1→3, then r 0→1, t 3→2, v 1→0.

Barriers cost 50, signals 20, and the first barrier is charged.
"""

SEQUENTIAL = {"in_flight": 1, "receives": 1}


def ends(phases: list[list[Triple]], words: str = "", **how: Any) -> list[float]:
    """When each message is delivered [clocks], of a timeline that has been through the checker."""
    machine, work, settings = (
        row_of_nodes(4, words),
        phased(phases, 4),
        Settings(record=True, **how),
    )
    timeline = simulate_flow(work, machine, settings)
    assert check_timeline(timeline, work, machine, settings) == ()
    return [float(x) for x in timeline.end_s * 1e6]


def test_interleaved_a_phase_takes_its_largest_load() -> None:
    assert max(ends(ONE)) == pytest.approx(400)


def test_sequential_the_order_of_a_list_matters() -> None:
    assert max(ends(ONE, **SEQUENTIAL)) == pytest.approx(600)
    assert max(ends(TURNED, **SEQUENTIAL)) == pytest.approx(400)


@pytest.mark.parametrize(
    ("sync", "expected"),
    [
        ("none", [300, 200, 500, 500, 400]),
        ("barrier", [350, 250, 600, 600, 600]),
        ("barrier:2", [350, 250, 550, 550, 450]),
        # half of a signal is work of a sender: r waits behind node 0's for v from 320 to 330, v for
        # its end at 340
        ("ready", [320, 220, 530, 540, 540]),
        ("local", [300, 200, 500, 500, 400]),
    ],
)
def test_the_five_policies_one_after_the_other(sync: str, expected: list[float]) -> None:
    assert ends(TWO, sync=sync, **SEQUENTIAL) == pytest.approx(expected)


def test_slots_are_barriers_with_everything_in_flight() -> None:
    assert max(ends(TWO, sync="barrier")) == pytest.approx(600)


def test_a_machine_that_does_not_charge_the_first_barrier_is_faster_by_one() -> None:
    assert ends(TWO, "first_barrier=false", sync="barrier") == pytest.approx(
        [300, 200, 550, 550, 550]
    )


def test_local_holds_back_a_sender_that_still_receives() -> None:
    """All in flight: p and q share link 1→2 until q ends at 200, p has 50 left and ends at 300.

    Node 1 goes on at 200, node 0 at 300. Under `none` all flow from 0 on: p shares 0→1 with r, q
    the port of node 1 with v.
    """
    phases: list[list[Triple]] = [[(0, 2, 100), (1, 3, 50)], [(0, 1, 100), (1, 0, 100)]]
    assert ends(phases, sync="local") == pytest.approx([300, 200, 500, 400])
    assert ends(phases, sync="none") == pytest.approx([400, 200, 400, 300])


def test_set_up_is_paid_once_per_phase_under_barriers() -> None:
    free = ends(TWO, sync="barrier", **SEQUENTIAL)
    paid = ends(TWO, "setup=30us", sync="barrier", **SEQUENTIAL)
    assert np.subtract(paid, free).tolist() == pytest.approx([30, 30, 60, 60, 60])


def test_a_rank_pays_nothing_for_a_phase_in_which_it_has_nothing() -> None:
    """Node 3 enters phase 1 only.

    Its message starts after one set-up, though phase 0 is busy elsewhere.
    """
    phases: list[list[Triple]] = [[(0, 1, 100)], [(3, 2, 100)]]
    assert ends(phases, "setup=30us", sync="none") == pytest.approx([230, 230])


def test_set_ups_of_a_rank_come_one_after_the_other() -> None:
    """Phase 0 goes at 30, phase 1 at 60.

    Until then node 1's second set-up keeps it from receiving.
    """
    phases: list[list[Triple]] = [[(0, 1, 10)], [(2, 1, 10)]]
    assert ends(phases, "setup=30us", sync="none") == pytest.approx([60, 80])


def test_each_transfer_of_a_phase_may_cost_something() -> None:
    """ConSet's measured 96 clocks: one in flight, two messages of 20 clocks."""
    assert ends([[(0, 1, 10), (0, 1, 10)]], "per_transfer=96us", in_flight=1) == pytest.approx(
        [116, 232]
    )


def test_receivers_take_first_come_first_served_or_their_list() -> None:
    """2→1 comes first in the list of node 1 but starts late.

    0→1 may overtake it where order is `any`.
    """
    phases: list[list[Triple]] = [[(2, 3, 100), (2, 1, 10), (0, 1, 10)]]
    how = {"in_flight": 1, "receives": 1}
    assert ends(phases, **how, receive_order="list") == pytest.approx([200, 220, 240])
    assert ends(phases, **how, receive_order="any") == pytest.approx([200, 220, 20])


def test_in_flight_opens_that_many_and_blocks_at_the_head() -> None:
    """The second message waits for its time; the third, which could go, stands behind it."""
    machine = row_of_nodes(4)
    work = trace([(0, 1, 50), (0, 1, 50), (0, 1, 50)], 4, time_s=np.array([0, 500e-6, 0]))
    go = [simulate_flow(work, machine, Settings(in_flight=n)).start_s * 1e6 for n in (1, 2, None)]
    assert [list(each) for each in go] == [[0, 500, 600], [0, 500, 500], [0, 500, 0]]


def test_ranks_of_one_node_have_lists_of_their_own() -> None:
    work = phased([[(0, 1, 50), (0, 1, 50)]], 4, sender=np.array([0, 1]), receiver=np.array([2, 3]))
    timeline = simulate_flow(work, row_of_nodes(4), Settings(in_flight=1))
    assert timeline.start_s.tolist() == [0, 0]


def test_order_comes_from_the_timetable() -> None:
    work = phased([[(0, 1, 50), (0, 1, 50)]], 4, order=np.array([1, 0]))
    assert simulate_flow(
        work, row_of_nodes(4), Settings(in_flight=1)
    ).start_s.tolist() == pytest.approx([100e-6, 0])


def test_phases_end_with_their_last_delivery() -> None:
    work = phased([*TWO[:1], [], *TWO[1:]], 4)
    timeline = simulate_flow(work, row_of_nodes(4), Settings(sync="barrier"))
    assert timeline.phase_end_s * 1e6 == pytest.approx(
        [350, 350, 600]
    )  # an empty phase costs no barrier


def test_messages_that_wait_in_a_cycle_are_named() -> None:
    """Message 0 waits for message 1, which stands behind it in the list."""
    work = trace([(0, 1, 8), (0, 2, 8)], 4, dep_offsets=np.array([0, 1, 1]), deps=np.array([1]))
    with pytest.raises(
        NoScheduleError,
        match=(
            r"deadlock .*message 0 \(0 → 1\) waits for .* "
            r"message 1 \(0 → 2\), which .* message 0"
        ),
    ):
        simulate_flow(work, row_of_nodes(4), Settings(in_flight=1))
    assert simulate_flow(work, row_of_nodes(4)).time_s == pytest.approx(32e-6)


def test_a_circle_of_dependencies_is_named() -> None:
    work = trace([(0, 1, 8), (1, 2, 8)], 4, dep_offsets=np.array([0, 1, 2]), deps=np.array([1, 0]))
    with pytest.raises(NoScheduleError, match="deadlock"):
        simulate_flow(work, row_of_nodes(4))


def test_more_receives_than_a_machine_can_post_are_infeasible() -> None:
    """The Paragon text: naive fails on 16 × 16 (255 receives) and runs on 12 × 12 (143)."""
    fan = phased([[(s, 0, 9000) for s in range(1, 256)]], 256)
    with pytest.raises(
        InputError, match=r"infeasible: node 0 .* 255 receives .* paragon:16x16 allows 192"
    ):
        simulate_flow(fan, parse_machine("paragon:16x16"))
    parts = phased([[(s, 0, 9000)] for s in range(1, 256)], 256)
    with pytest.raises(InputError, match="255 receives"):
        simulate_flow(parts, parse_machine("paragon:16x16"))
    assert (
        simulate_flow(parts, parse_machine("paragon:16x16"), Settings(sync="barrier:100")).messages
        == 255
    )


@pytest.mark.parametrize(("text", "count"), [("all", None), ("1", 1), (" 12 ", 12), (3, 3)])
def test_counts_are_read(text: str | int, count: int | None) -> None:
    assert parse_count(text, "in_flight") == count


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "many", "1e3", "9999999999"])
def test_other_counts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="whole number from 1 to 999999999, or all"):
        parse_count(text, "--in-flight")


@pytest.mark.parametrize(
    "words", [{"in_flight": 0}, {"receive_order": "fifo"}, {"fairness": "fair"}, {"lanes": -1}]
)
def test_settings_out_of_range_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Settings(**words)
