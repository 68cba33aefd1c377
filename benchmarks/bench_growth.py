"""How the time to compile grows with the number of messages, from 10³ to 10⁷: near-linear for what must be.

    python benchmarks/bench_growth.py [LARGEST]

`first-fit` and `coloring` on random:degree=16 over tori of three equal sides, `bounded` on complete exchanges of n × n
meshes with 4 | n at contention n/4. The last column is the exponent between neighbouring rows: 1 is linear. Every
schedule up to `VERIFIED` messages is verified.
"""

from __future__ import annotations

import platform
import sys
from math import log

import conset

SIDES = (4, 8, 16, 28, 48, 85)
MESHES = (8, 16, 24, 32, 44, 56)
VERIFIED = 2_000_000


def measure(pattern: str, machine: str, method: str, **options: int) -> tuple[int, float]:
    """(messages, best compile time of three, one above 10⁶ messages [s])."""
    traffic = conset.load_pattern(pattern, machine)
    rounds = 3 if traffic.messages < 1_000_000 else 1
    schedules = [conset.compile(traffic, machine, method=method, **options) for _ in range(rounds)]
    if traffic.messages <= VERIFIED and not conset.verify(schedules[0]).ok:
        raise SystemExit(f"{method} on {machine}: does not verify")
    return traffic.messages, min(s.report.compile_s for s in schedules)


def main(largest: int) -> None:
    """Prints a table per method."""
    print(f"{platform.machine()}, Python {platform.python_version()}")
    cases = [("bounded", "alltoall", f"mesh:{n}x{n}", {"contention": n // 4}) for n in MESHES]
    for method in ("first-fit", "coloring"):
        cases += [(method, "random:degree=16", f"torus:{n}x{n}x{n}", {}) for n in SIDES]
    last: dict[str, tuple[int, float]] = {}
    for method, pattern, machine, options in cases:
        messages, seconds = measure(pattern, machine, method, **options)
        if messages > largest:
            continue
        growth = ""
        if method in last:
            before, took = last[method]
            growth = f"{log(seconds / took) / log(messages / before):.2f}"
        last[method] = messages, seconds
        print(f"{method:10} {machine:16} {messages:>11,} messages  {seconds * 1e3:>10.2f} ms  {growth}", flush=True)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8)
