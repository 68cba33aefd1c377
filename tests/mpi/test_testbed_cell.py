"""One cell of the decision, measured.

Where a network blocks, a schedule with barriers wins against the naive exchange.

The only test of times. A complete exchange over switches with back-pressure, of which the schedule
was measured to take 0.45 to 0.55 of the time of the naive exchange; 0.8 is asserted, of medians,
with the interval of the ratio below 1.
"""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

import conset
import conset_testbed
from conset.base.errors import ConsetError, ExecutionError, UnavailableError
from conset_testbed import beds

NAME = f"c{os.getpid()}"
RATE_BPS = 20e6
SIZE = 32 * 1024
CLEARLY = 0.8
ATTEMPTS = 2
REPEAT = 3
BUSY = 4
"""Load for each core above which times are those of the machine's other work.

The cell's own is about 1.
"""
LATE_S = 0.03
"""Where the switches themselves were later than that, the machine was too busy to be a network."""


@pytest.mark.testbed
def test_a_schedule_with_barriers_wins_where_the_network_blocks() -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")
    permission = conset_testbed.check()
    if permission.kernel or permission.emulated:
        pytest.skip(f"no emulated testbed: {permission.text}")
    schedule = conset.compile(
        f"alltoall:size={SIZE}", "mesh:4x4", contention=1, objective="phases", sync="barrier"
    )
    assert conset.verify(schedule).ok
    said = ""
    try:
        with conset_testbed.bed(
            "mesh:4x4", fabric="credit", rate="20mbit", name=NAME, ttl_s=120
        ) as bed:
            for _ in range(ATTEMPTS):
                try:
                    before = bed.stats()
                    result = conset.run(schedule, repeat=REPEAT, mpiexec=bed.mpiexec, timeout=45.0)
                    after = bed.stats()
                except (ExecutionError, UnavailableError) as error:
                    # on a busy machine a time-out says nothing; on an idle one something is broken
                    if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
                        pytest.skip(f"too busy a machine: load {os.getloadavg()[0]:.0f}: {error}")
                    raise
                assert result.mismatches == 0
                assert result.bytes_checked == 16 * 15 * SIZE * (REPEAT + 1) * len(result.variants)
                assert after.lost == 0
                # no variant is faster than its busiest link: 16 messages cross it, and their
                # headers
                carried = max(
                    a.bytes - b.bytes for a, b in zip(after.links, before.links, strict=True)
                )
                busiest_s = 16 * SIZE * 8 / RATE_BPS
                assert carried * 8 / RATE_BPS >= busiest_s * (REPEAT + 1) * len(result.variants)
                assert min(result.times_s["schedule"]) >= busiest_s
                ratio = result.ratio_of("schedule")
                if ratio.median <= CLEARLY and ratio.high < 1:
                    return
                load = os.getloadavg()[0]
                said = (
                    f"ratio {ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f}); load "
                    f"{load:.0f} on "
                    f"{os.cpu_count()} cores, switches up to "
                    f"{(after.lateness_s or 0) * 1e3:.0f} ms late"
                )
                if (after.lateness_s or 0) > LATE_S or load > BUSY * (os.cpu_count() or 1):
                    pytest.skip(f"too busy a machine to judge: {said}")
        pytest.fail(f"the schedule did not win clearly: {said}")
    finally:
        with suppress(ConsetError):
            beds.down(NAME)
