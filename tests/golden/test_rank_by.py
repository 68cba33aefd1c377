"""The default choice on `ipsc860:64` is what Wang and Ranka measured.

Source: 001, section 6: "LP performs better than all algorithms for large density and large messages
(> 1K bytes and d >= 32)", AC and RS_N for small ones (at most 128 bytes for d = 32), RS_NL "for
most of the other cases" (Figure 5). first-fit, rs-nl and negotiated are alike here: all keep every
link free (1, 1, 1).
"""

from __future__ import annotations

import pytest

from conset import api
from conset.machine.costs import Limits

ON = "ipsc860:64"


@pytest.mark.parametrize("size", [512, 1024])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_up_to_1_kb_free_links_are_faster_than_linear_permutations(size: int, seed: int) -> None:
    pattern = api.load_pattern(f"random:degree=32,size={size},seed={seed}", ON)
    chosen = api.compile(pattern, ON)
    assert chosen.report.rank_by == "circuit"
    assert chosen.method != "lp"
    assert chosen.limits == Limits(1, 1, 1)
    linear = api.compile(pattern, ON, method="lp", sync="auto")
    for model in ("circuit", "wormhole"):
        here, there = (
            api.simulate(s, model=model, in_flight=s.in_flight).time_s for s in (chosen, linear)
        )
        assert here < 0.95 * there


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_where_the_text_has_lp_the_simulation_has_exchanges(seed: int) -> None:
    pattern = api.load_pattern(f"random:degree=48,size=16KiB,seed={seed}", ON)
    schedule = api.compile(pattern, ON)
    assert schedule.method in ("lp", "half-duplex")
    assert schedule.sync == "ready"
