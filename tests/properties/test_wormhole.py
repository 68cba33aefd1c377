"""Wormhole, property.

Receives of few kinds and many messages give what the obvious slow program gives, or deadlock.

`test_release.py` draws any machine; here all messages meet at nine ranks that are short of receives
and buffers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings as examples, strategies as st

from conset.base.errors import NoScheduleError
from conset.machine.costs import Costs, Steps, Synchronization
from conset.machine.spec import parse_machine
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.models.wormhole import simulate_wormhole
from support.slow_networks import slow

US, MB = 1e-6, 1e6
COSTS = Costs(
    send_overhead=Steps((10 * US,)),
    receive_overhead=Steps((5 * US,)),
    inject=Steps((2 * US,)),
    port_out_Bps=MB,
    port_in_Bps=MB,
    link_Bps=1.5 * MB,
    hop_s=US,
    signal_s=8 * US,
    copy_Bps=4 * MB,
    synchronization=Synchronization(7 * US),
)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 40))
    source, target = (rng.integers(0, 9, count).astype(np.int32) for _ in range(2))
    cuts = np.sort(rng.integers(0, count + 1, draw(st.integers(0, 3))))
    offsets = np.concatenate([[0], cuts, [count]])
    phase = np.repeat(np.arange(cuts.size + 1), np.diff(offsets))
    order = np.lexsort((rng.random(count), phase)).astype(np.int32)
    size = rng.integers(0, 400, count) * (rng.random(count) < 0.9)
    return Workload(source, target, size.astype(np.int64), 9, phase_offsets=offsets, order=order)


@given(
    workloads(),
    st.sampled_from(["mesh:3x3", "torus:3x3"]),
    st.sampled_from(["none", "local", "barrier", "barrier:2"]),
    st.tuples(st.sampled_from([None, 0.0, 150.0, 1e9]), st.sampled_from([0.0, 300.0, np.inf])),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.tuples(
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, 1, 2]),
        st.sampled_from(["list", "any"]),
    ),
    st.integers(1, 2),
)
@examples(max_examples=150)
def test_the_same_as_the_slow_one(
    work: Workload,
    network: str,
    sync: str,
    protocol: tuple[float | None, float],
    flags: tuple[bool, bool, bool],
    execution: tuple[int | None, int | None, str],
    lanes: int,
) -> None:
    one, preempts, after = flags
    costs = replace(
        COSTS,
        eager_B=protocol[0],
        buffers_B=protocol[1],
        processors="one" if one or preempts else "two",
        preempts=preempts,
        receive="after" if after else "before",
    )
    machine = replace(parse_machine(network), costs=costs)
    how = Settings(sync, execution[0], execution[1], execution[2], lanes=lanes)  # type: ignore[arg-type]
    expected = slow("wormhole", work, machine, how)
    if expected is None:
        with pytest.raises(NoScheduleError, match="deadlock at"):
            simulate_wormhole(work, machine, how)
        return
    assert simulate_wormhole(work, machine, how).end_s == pytest.approx(expected, rel=1e-9)
