"""`--rank-by circuit` chooses as Wang and Ranka measured, where the formula does not.

Source: 001, section 6: "LP performs better than all algorithms for large density and large messages (> 1K bytes and
d >= 32)", AC and RS_N for small ones (at most 128 bytes for d = 32), RS_NL "for most of the other cases" (Figure 5).
The formula sees LP's pairwise exchanges, which cost a half-duplex node half, but not how ranks wait for each other: it
takes LP from 512 B on at d = 32. first-fit and rs-nl are alike here: both keep every link free (1, 1, 1).
"""

from __future__ import annotations

import pytest

from conset import api
from conset.machine.limits import Limits

ON = "ipsc860:64"


@pytest.mark.parametrize("size", [512, 1024])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_up_to_1_kb_lp_comes_too_early_by_formula_and_not_by_simulation(size: int, seed: int) -> None:
    pattern = api.load_pattern(f"random:degree=32,size={size},seed={seed}", ON)
    formula, simulated = (api.compile(pattern, ON, rank_by=rank_by) for rank_by in ("formula", "circuit"))
    assert (formula.method, formula.sync) == ("lp", "ready")
    assert simulated.method != "lp"
    assert simulated.limits == Limits(1, 1, 1)
    assert api.predict(simulated).time_s > api.predict(formula).time_s
    for model in ("circuit", "wormhole"):
        here, there = (api.simulate(schedule, model=model).time_s for schedule in (simulated, formula))
        assert here < 0.95 * there


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_where_the_text_has_lp_the_simulation_has_it_too(seed: int) -> None:
    pattern = api.load_pattern(f"random:degree=48,size=16KiB,seed={seed}", ON)
    assert api.compile(pattern, ON, rank_by="circuit").method == "lp"
