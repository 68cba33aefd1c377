"""How sure a choice is: compared again under costs that may be other ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

import pytest

import conset
from conset.compilation.auto import choose_policy
from conset.compilation.combining import Combination, compile_combined
from conset.compilation.pipeline import compile_pattern
from conset.compilation.trial import DRAWS, Base, Trial, fastest_in, finalists
from conset.machine.costs import Costs, Provenance, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.machine.words import PARAMETERS, redrawn
from conset.studies.calibrate.fitted import FittedParameter


def with_origins(machine: Machine, origin: Provenance) -> Machine:
    words = dict.fromkeys(machine.costs.provenance, origin)
    return machine.with_costs(lambda costs: replace(costs, provenance=words))


def of_two(other_s: float, origin: Provenance, *, seed: int = 0) -> tuple[int, str]:
    """A choice of 1 s that its port keeps busy, and what barriers keep waiting for `other_s`."""
    plain = parse_machine("crossbar:4,inject=0,eject=0,hop=0")
    machine = with_origins(plain, origin)
    pattern = conset.load_pattern("alltoall:size=1KiB", ranks=4)
    posted, phased = (
        conset.compile(pattern, machine, method=method, seed=seed) for method in ("naive", "lp")
    )
    chosen = Trial(Base(posted), "none", time_s=1.0)
    return fastest_in([chosen, Trial(Base(phased), "barrier", time_s=other_s)])


def test_an_answer_is_sure_where_no_factor_makes_another_faster() -> None:
    assert of_two(4.1, Provenance("default")) == (DRAWS, "costs that were not given")


def test_an_answer_is_open_where_two_costs_decide_it() -> None:
    """Half the draws, and a hair more as equal times count: log-uniform factors are symmetric."""
    fastest, _ = of_two(1.0, Provenance("unknown"))
    assert 35 <= fastest <= 65
    assert of_two(1.0, Provenance("unknown")) == (fastest, "costs that were not given")
    assert {of_two(1.0, Provenance("unknown"), seed=seed)[0] for seed in range(4)} != {fastest}


def test_intervals_bound_the_draws() -> None:
    """Two factors of 1.2 at most make up for one of 1.44."""
    narrow, wide = Provenance("fitted", within=1.2), Provenance("fitted", within=3.0)
    assert of_two(1.45, narrow) == (DRAWS, "costs within their intervals")
    assert of_two(1.45, wide)[0] < DRAWS
    assert of_two(1.45, Provenance("assumed", within=1.2))[0] == DRAWS


def test_nothing_is_compared_where_costs_are_sure_or_nothing_else_has_a_time() -> None:
    for tag in ("given", "printed", "fitted"):
        assert of_two(1.0, Provenance(tag)) == (0, "")
    machine = parse_machine("crossbar:4")
    trial = Trial(Base(conset.compile("alltoall", machine, method="naive")), "none", time_s=1.0)
    assert fastest_in([trial]) == (0, "")
    assert finalists(trial, [trial]) == (trial,)


def test_a_draw_changes_times_and_rates_of_a_word_alike() -> None:
    origins = dict.fromkeys(PARAMETERS, Provenance("default"))
    costs = Costs(
        send_overhead=Steps((1e-6, 2e-6), (100.0, inf)),
        port_out_Bps=1e9,
        port_in_Bps=1e9,
        synchronization=Synchronization(-1e-6, 3e-6),
        eager_B=64.0,
        lanes=2,
        provenance={
            word: origins[word]
            for word in (
                "send_overhead",
                "port",
                "link",
                "hop",
                "synchronization",
                "eager",
                "lanes",
            )
        },
    )
    drawn, least = redrawn(costs, [1.0] * len(PARAMETERS))
    assert drawn.send_overhead == Steps((2e-6, 4e-6), (100.0, inf))
    assert drawn.port_out_Bps == drawn.port_in_Bps == 2e9
    assert least == 0.5
    assert drawn.synchronization == Synchronization(-2e-6, 6e-6)
    assert (drawn.link_Bps, drawn.hop_s, drawn.eager_B, drawn.lanes) == (inf, 0.0, 64.0, 2)
    assert redrawn(costs, [-1.0] * len(PARAMETERS))[0].port_out_Bps == 0.5e9
    assert redrawn(costs, [0.0] * len(PARAMETERS)) == (costs, 1.0)


def said(schedule: conset.Schedule) -> tuple[str, Mapping[str, Any]]:
    report = schedule.report
    assert report is not None
    assert report.verdict is not None
    return report.reason, report.verdict


def test_the_verdict_says_how_sure_it_is() -> None:
    machine = parse_machine("mesh:4x4,model=wormhole")
    schedule = conset.compile("alltoall:size=64KiB", machine)
    reason, verdict = said(schedule)
    assert said(conset.compile("alltoall:size=64KiB", machine)) == (reason, verdict)
    found = re.search(r"; fastest in (\d+) of 100 draws of costs that were not given$", reason)
    assert found is not None
    assert verdict["draws"] == {"fastest": int(found[1]), "of": DRAWS}
    sure = conset.compile("alltoall:size=64KiB", with_origins(machine, Provenance("printed")))
    for other in (sure, choose_policy(schedule, compared=False)):
        assert "draws" not in said(other)[0]
        assert "draws" not in said(other)[1]


@pytest.mark.parametrize(
    ("on", "pattern", "said_of_it"),
    [
        ("mesh:4x4", "alltoall:size=8", "which no schedule beats by its bound"),
        ("crossbar:16", "random:degree=3,size=1KiB", "fastest of 1 simulated by flow"),
    ],
)
def test_the_naive_exchange_is_compared_with_what_did_not_end(
    on: str, pattern: str, said_of_it: str
) -> None:
    """Phases only add barriers where ports are busy all the time, whatever the costs are."""
    machine = with_origins(parse_machine(on), Provenance("unknown"))
    reason, verdict = said(compile_pattern(conset.load_pattern(pattern, machine), machine))
    assert verdict["chosen"] == "the naive exchange"
    assert said_of_it in reason
    assert verdict["draws"] == {"fastest": DRAWS, "of": DRAWS}


def combined(size: str, overhead: str, within: float) -> Combination:
    machine = parse_machine(f"crossbar:16,port=1GB/s,copy=2GB/s,overhead={overhead},hop=0")
    unsure = with_origins(machine, Provenance("fitted", within=within))
    return compile_combined(conset.load_pattern(f"alltoall:size={size}", unsure), unsure)


def test_stages_and_direct_messages_are_compared_alike() -> None:
    """Start-ups of 15 messages against those of a few, and bytes that are forwarded."""
    for size, overhead, staged in (("8", "10us", True), ("4KiB", "10us", False)):
        found = combined(size, overhead, 1.2)
        assert (found.combine != "none") == staged
        reason, verdict = said(found.whole)
        assert reason.endswith("within their intervals, of direct messages and stages")
        assert verdict["draws"] == {"fastest": DRAWS, "of": DRAWS}
        assert found.program.schedules[0].report is (None if staged else found.whole.report)


def test_a_size_at_which_stages_are_hardly_faster_is_an_open_answer() -> None:
    counts = {}
    for size in ("128", "512", "2048", "8192"):
        _, verdict = said(combined(size, "1us", 3.0).whole)
        counts[size] = verdict["draws"]["fastest"]
    assert min(counts.values()) < 90 < max(counts.values()), counts


@pytest.mark.parametrize(
    ("number", "low", "high", "unit", "within"),
    [
        (1e-6, 0.9e-6, 1.2e-6, "s", {"within": 1.2}),
        (1e9, 0.8e9, 1.1e9, "B/s", {"within": 1.25}),
        (1e9, 0.8e9, inf, "B/s", {"within": 10.0}),
        (1e-6, 0.0, 1.1e-6, "s", {"within": 10.0}),
        (0.0, 0.0, 1e-7, "s", {}),
        (inf, 1e9, inf, "B/s", {}),
        (4096.0, 2048.0, 8192.0, "B", {}),
        (None, None, None, "", {}),
    ],
)
def test_a_fitted_cost_states_its_interval_as_a_factor(
    number: float | None, low: float | None, high: float | None, unit: str, within: dict[str, float]
) -> None:
    assert FittedParameter("hop", "", "", number, low, high, unit, "").within == within
