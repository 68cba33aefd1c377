"""Bytes per message that a schedule with formula routes adds at its peak, at 10⁷ messages.

Each measurement is a process of its own: what it holds before the pattern is made is subtracted
from its peak, which so covers the generator, the pattern and the compile.

    PYTHONPATH=src python benchmarks/bench_memory.py [messages]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

MACHINE = "torus:64x64"
PROMISED = 64.0
"""Bytes per message."""


def measure(method: str, messages: int) -> dict[str, float]:
    """Compiles in this process; what it took."""
    from conset.compilation.options import CompileOptions
    from conset.compilation.pipeline import compile_pattern
    from conset.machine.spec import parse_machine
    from conset.pattern.spec import parse_pattern

    on = parse_machine(MACHINE)
    nodes = on.topology.nodes
    options = CompileOptions(method=method, sync="barrier")  # no policy is chosen
    compile_pattern(parse_pattern("random:degree=1", ranks=nodes), on, options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pattern = parse_pattern(f"random:degree={max(1, messages // nodes)}", ranks=nodes)
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    schedule = compile_pattern(pattern, on, options)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = schedule.pattern.messages
    return {
        "messages": count,
        "phases": schedule.phases,
        "seconds": seconds,
        "pattern_B": 1024 * (made - before) / count,
        "peak_B": 1024 * (peak - before) / count,
    }


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "--measure":
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
        return 0
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    missed = 0
    for method in ("naive", "coloring", "first-fit"):
        command = [sys.executable, __file__, "--measure", method, str(messages)]
        result = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        missed += result["peak_B"] > PROMISED
        print(
            f"{method:>10}: {result['messages']} messages, {result['phases']} phases, "
            f"{result['seconds']:.1f} s, "
            f"generating {result['pattern_B']:.1f} B/message, with the schedule "
            f"{result['peak_B']:.1f} B/message "
            f"(promised {PROMISED:.0f})"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
