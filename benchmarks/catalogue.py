"""Writes docs/algorithms.md.

The table of methods, and beside each row what it does on fixed instances, measured now.

    python benchmarks/catalogue.py [OUT.md]

Counts (phases, bound, load) are the same on every machine; times are the best of three on this one
and say so. Random patterns are means over `SEEDS`. Every schedule goes through the independent
verifier; one that fails ends the run.
"""

from __future__ import annotations

import platform
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import conset
from conset.base.files import replacing
from conset.base.units import format_time
from conset.bounds import bound_schedule
from conset.methods.phases.problem import Method
from conset.methods.phases.table import table
from conset.schedule.loads import figures

OUT = Path(__file__).resolve().parents[1] / "docs/algorithms.md"
SEEDS = range(10)


@dataclass(frozen=True)
class Instance:
    """A pattern on a machine with the options of a compile."""

    pattern: str
    machine: str
    options: tuple[tuple[str, str | int], ...] = ()

    def words(self) -> str:
        """As on the command line."""
        options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in self.options)
        return f"{self.pattern} on {self.machine}{options}"


CUBE = tuple(Instance(f"random:degree={d}", "hypercube:6") for d in (4, 16, 48))
UNEQUAL = tuple(Instance(f"random:degree={d},size=uniform(1,1000)", "hypercube:6") for d in (4, 16))
SWITCHES = "crossbar:64,planes=4,reconfigure=10ms,port=10GB/s"
CIRCUITS = tuple(
    Instance(f"random:degree={d},size=log-uniform(1MiB,1GiB)", SWITCHES) for d in (4, 16)
)
EXCHANGE = (Instance("alltoall", "mesh:8x8"), Instance("alltoall", "mesh:16x16"))
INSTANCES: dict[str, tuple[Instance, ...]] = {
    "naive": EXCHANGE[:1],
    "lp": (Instance("alltoall", "hypercube:6"), *CUBE[1:2]),
    "rs-n": CUBE,
    "rs-nl": CUBE,
    "coloring": (*CUBE[1:], Instance("random:degree=32", "crossbar:4096")),
    "first-fit": (*EXCHANGE, *CUBE),
    "pex": EXCHANGE,
    "pex-gen": (*EXCHANGE[:1], Instance("alltoall", "mesh:6x8")),
    "pex-gen-shift": (*EXCHANGE[:1], Instance("alltoall", "mesh:4x5")),
    "gen": EXCHANGE,
    "scott": EXCHANGE,
    "bounded": (
        *EXCHANGE,
        Instance("alltoall", "mesh:16x16", (("contention", 3),)),
        Instance("alltoall", "mesh:9x9"),
        Instance("alltoall", "torus:8x8"),
        Instance("alltoall", "torus:8x8x8"),
    ),
    "negotiated": (*CUBE, Instance("random:degree=16", "torus:8x8x16")),
    "half-duplex": tuple(Instance(f"random:degree={d}", "ipsc860:64") for d in (4, 16, 48)),
    "decreasing": UNEQUAL,
    "birkhoff": tuple(Instance(i.pattern, "crossbar:64") for i in UNEQUAL),
    "event-list": UNEQUAL,
    **dict.fromkeys(("circuits", "spectra", "eclipse"), CIRCUITS),
    "connections": (
        Instance("alltoall", "iwarp:8x8"),
        Instance("alltoall", "iwarp:8x8", (("objective", "phases"),)),
        Instance("butterfly", "iwarp:8x8"),
        Instance("stencil:reach=2", "iwarp:8x8"),
        Instance("tree", "iwarp:8x8"),
    ),
}


def measure(method: str, instance: Instance) -> str:
    """One row of a method's table: mean phases, bound, gap in time, ΣL, compile time."""
    random = instance.pattern.startswith("random")
    rows = []
    for seed in SEEDS if random else range(1):
        best = min(
            (compiled(method, instance, seed) for _ in range(3)), key=lambda s: s.report.compile_s
        )
        if not conset.verify(best).ok:
            raise SystemExit(f"{method} on {instance.words()}, seed {seed}: does not verify")
        bounds = bound_schedule(best)
        predicted = conset.predict(best).time_s
        load = figures(best)["load"]["sum"]
        rows.append(
            (best.phases, bounds.phases, predicted / bounds.time_s, load, best.report.compile_s)
        )
    phases, bound, gap, load, seconds = (
        statistics.fmean(column) for column in zip(*rows, strict=True)
    )
    note = f" (mean of {len(rows)})" if random else ""
    return (
        f"| `{instance.words()}`{note} | {phases:.6g} | {bound:.6g} | {gap:.3f} | {load:.6g} | "
        f"{format_time(seconds)} |"
    )


def compiled(method: str, instance: Instance, seed: int) -> conset.Schedule:
    """One compile."""
    return conset.compile(
        instance.pattern, instance.machine, method=method, seed=seed, **dict(instance.options)
    )


def source_of(row: Method) -> str:
    """The file of a method: `src/conset/methods/phases/naive.py`."""
    return f"src/{row.run.__module__.replace('.', '/')}.py"


def describe(row: Method) -> list[str]:
    """What the table says of a method."""
    return [
        f"## `{row.name}`",
        f"{row.title[0].upper()}{row.title[1:]}.",
        "",
        f"- **limits** on a mesh: {row.limits(conset.Topology.mesh(8, 8))}; "
        f"at other values: {', '.join(sorted(row.adjustable_limits)) or 'none'}; "
        f"a partial order between messages is {'kept' if row.ordered else 'refused'}"
        f"{'; routes may be chosen' if row.free_routes else ''}",
        f"- **domain**: {row.domain}",
        f"- **guarantee**: {row.guarantee}",
        f"- **complexity**: {row.complexity}",
        f"- **reference**: {row.reference}",
        f"- **file**: `{source_of(row)}`",
    ]


def section(row: Method) -> list[str]:
    """What the table says of a method, and what was measured."""
    lines = [
        *describe(row),
        "",
        "| instance | phases | bound | time / bound | ΣL | compiled in |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for instance in INSTANCES.get(row.name, (*EXCHANGE[:1], *CUBE)):
        print(f"{row.name}: {instance.words()}", file=sys.stderr)
        lines.append(measure(row.name, instance))
    return [*lines, ""]


def main(out: Path) -> None:
    """Measures everything and writes the catalogue whole or not at all."""
    lines = [
        "# The methods",
        "",
        "Written by `benchmarks/catalogue.py` from the table of methods; every schedule was "
        "verified. Phases, bounds",
        "and loads are the same everywhere; compile times are the best of three on "
        f"{platform.machine()}, Python {platform.python_version()}, two shared cores.",
        "*time / bound* is the predicted time over the time bound of the schedule's own class.",
        "",
    ]
    for row in table().values():
        lines += section(row)
    with replacing(out) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
