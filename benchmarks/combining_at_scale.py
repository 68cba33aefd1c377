"""Writes docs/combining-at-scale.md and its picture.

Who wins where on 1,024 to 16,384 ranks of a torus.

    PYTHONPATH=src python benchmarks/combining_at_scale.py [OUT.md]

Complete exchanges and power laws (mean degree 16) of 8 B to 4 KiB, directly and by the best
candidate of the cost model (`conset.compilation.combining`). `estimate` is that model;
`flow` simulates the whole program and the direct exchange, posted at once, up to `SIMULATED`
messages (of 4 KiB up to `MANY` ranks). Complete exchanges on more ranks have more messages than
paths are made of here (`MADE`); they are left out. Beside them what was measured: R. O. Selvitopi
and C. Aykanat, "Regularizing irregularly sparse point-to-point communications", SC 2019: up to 22.6
times on 16,384 processes of a torus (Cray XK7), 7.2 times on 4,096 of a dragonfly (Cray XC40).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from conset import api
from conset.base.files import replacing
from conset.base.units import format_size, format_time
from conset.compilation.combining import candidates, compile_along
from conset.compilation.options import CompileOptions
from conset.machine.spec import parse_machine
from conset.methods.paths.evaluate import Candidate
from conset.pattern.spec import parse_pattern
from conset.report import style
from conset.schedule.paths import direct
from conset.schedule.schedule import Manifest

OUT = Path(__file__).resolve().parents[1] / "docs/combining-at-scale.md"
NETWORKS = {1024: "torus:8x8x16", 4096: "torus:16x16x16", 16384: "torus:16x32x32"}
WORDS = (
    "send_overhead=500ns,receive_overhead=500ns,processors=one,inject=500ns,eject=500ns,hop=50ns,"
    "port=10GB/s,"
    "link=10GB/s,copy=5GB/s"
)
"""A node with the overheads of note.

Half a microsecond at each end, 10 GB/s, copies at half of that.
"""
SIZES = (8, 64, 512, 4096)
MADE = 1 << 22
"""Messages of a pattern whose paths are made."""
SIMULATED, MANY, SHORT = 300_000, 1024, 512
"""Messages of a pattern that is simulated.

Above so many ranks up to so many bytes: shared links take minutes.
"""


@dataclass(frozen=True)
class Row:
    """One pattern at one size; times in [s], None where they were not asked for."""

    pattern: str
    ranks: int
    size: int
    best: str
    direct_s: float
    best_s: float
    direct_flow_s: float | None = None
    best_flow_s: float | None = None

    @property
    def gain(self) -> float:
        """How many times faster the best is by the cost model."""
        return self.direct_s / self.best_s


def measure(name: str, ranks: int, size: int) -> Row | None:
    """The row of a pattern; None where it is too large to be made."""
    machine = parse_machine(f"{NETWORKS[ranks]},{WORDS}")
    if name == "complete" and ranks * (ranks - 1) > MADE:
        return None
    spec = f"alltoall:size={size}" if name == "complete" else f"power-law:degree=16,size={size}"
    pattern = parse_pattern(spec, topology=machine.topology, ranks=ranks)
    found = sorted(candidates(pattern, machine), key=lambda c: c.estimate.time_s)
    straight = next(c for c in found if c.paths.stages == 1)
    best = found[0]
    simulated = [None, None]
    if pattern.messages <= SIMULATED and (ranks <= MANY or size <= SHORT):
        simulated = [_flow_s(c, machine) for c in (straight, best)]
    return Row(
        name, ranks, size, best.name, straight.estimate.time_s, best.estimate.time_s, *simulated
    )


def _flow_s(candidate: Candidate, machine: api.MachineLike) -> float:
    loaded = api.load_machine(machine)
    paths = candidate.paths if candidate.paths.stages > 1 else direct(candidate.paths.pattern)
    _, whole = compile_along(paths, loaded, CompileOptions("naive"), None, Manifest())
    return float(api.simulate(whole, model="flow", sync="none").time_s)


def table(rows: list[Row]) -> list[str]:
    """A line for each row."""
    lines = [
        "| pattern | ranks | size | best | direct | best | gain | flow: direct | best | gain |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        flow = ["", "", ""]
        if row.direct_flow_s and row.best_flow_s:
            gain = row.direct_flow_s / row.best_flow_s
            flow = [format_time(row.direct_flow_s), format_time(row.best_flow_s), f"{gain:.1f}"]
        cells = [
            row.pattern,
            f"{row.ranks:,}",
            format_size(row.size),
            row.best,
            format_time(row.direct_s),
            format_time(row.best_s),
            f"{row.gain:.1f}",
            *flow,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def draw(rows: list[Row], path: Path) -> None:
    """Gain over size, a line for each pattern and number of ranks."""
    from matplotlib.figure import Figure

    def picture() -> Figure:
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.add_subplot()
        kinds = sorted({(row.pattern, row.ranks) for row in rows})
        for pattern, ranks in kinds:
            own = [row for row in rows if (row.pattern, row.ranks) == (pattern, ranks)]
            line = "-" if pattern == "complete" else "--"
            label = f"{pattern}, {ranks:,} ranks"
            axes.plot(
                [row.size for row in own], [row.gain for row in own], line, marker="o", label=label
            )
        axes.axhline(1, color="0.5", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(SIZES, [format_size(size) for size in SIZES])
        axes.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axes.set_xlabel("size of a message (logarithmic)")
        axes.set_ylabel("times faster than directly (logarithmic)")
        axes.legend(frameon=False)
        return figure

    style.save(picture, path)


def main(out: Path) -> None:
    """Measures, writes and draws."""
    rows = []
    for name in ("complete", "power law"):
        for ranks in NETWORKS:
            for size in SIZES:
                begin = time.perf_counter()
                row = measure(name, ranks, size)
                if row is not None:
                    rows.append(row)
                    print(f"{table([row])[-1]}  {time.perf_counter() - begin:.1f} s", flush=True)
    draw(rows, out.parent / "pictures/combining_at_scale.svg")
    text = [
        "# Combining at scale",
        "",
        "Generated by `benchmarks/combining_at_scale.py`.",
        "",
        f"A torus with `{WORDS}`: gains over sending every message directly.",
        "",
        "![Gain over the size of a message](pictures/combining_at_scale.svg)",
        "",
        *table(rows),
        "",
        "Measured by others: up to 22.6 times on 16,384 processes of a torus, 7.2 times on 4,096 "
        "of a dragonfly",
        "(Selvitopi and Aykanat, SC 2019), on sparse matrices with hubs.",
        "",
    ]
    with replacing(out) as temporary:
        temporary.write_text("\n".join(text))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
