"""Held back: exchanges to which nothing is fitted.

What the words predict of them is the proof of a calibration.
"""

from __future__ import annotations

from dataclasses import replace

from conset.base.units import format_size
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.machine import Machine
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.studies.calibrate.probes import Probe, Scale


def held_back_probes(
    structure: Machine, ranks: int, scale: Scale, *, quick: bool = False
) -> list[Probe]:
    """Exchanges of other kinds than the probes: posted at once, and in phases under barriers.

    A random exchange, a shift by half the ranks, complete exchanges of two sizes.
    """
    short, long = max(scale.large >> 6, 64), scale.large >> 2
    # a complete exchange of many ranks is long enough with shorter messages
    long = max(long >> (0 if ranks <= 8 else 1 if ranks <= 16 else 2), short)
    degree = max(min(3, ranks - 1), 1)
    specs = [(f"random:degree={degree}", long), ("alltoall", short), ("alltoall", long)]
    if not quick:
        specs += [(f"shift:by={max(ranks // 2, 1)}", 2 * long), (f"random:degree={degree}", short)]
    probes: list[Probe] = []
    for spec, size in specs:
        text = f"{spec.partition(':')[0]} of {format_size(size)}"
        pattern = parse_pattern(
            f"{spec}{',' if ':' in spec else ':'}size={size}", ranks=ranks, seed=77
        )
        for method, sync in (("naive", "none"), ("first-fit", "barrier")):
            schedule = compile_pattern(pattern, structure, CompileOptions(method=method, sync=sync))
            if method != "naive" and schedule.phases < 2:
                continue
            schedule = Schedule(
                schedule.pattern,
                structure,
                "naive",
                schedule.limits,
                schedule.phase_offsets,
                schedule.message,
                parts=schedule.parts,
                sync=sync,
            )
            how = "posted at once" if method == "naive" else f"{schedule.phases} phases, barriers"
            name = f"held back {spec} {format_size(size)} {sync}"
            probes.append(
                Probe(
                    name,
                    "held back",
                    schedule,
                    size,
                    len(probes),
                    held_back=True,
                    label=f"{text}, {how}",
                )
            )
    return [replace(probe, x=k) for k, probe in enumerate(probes)]
