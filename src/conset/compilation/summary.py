"""Summary: what `compile --json` says of a schedule: verified, bounded, predicted.

Summary: what `compile --json` says of a program that combines messages.

The whole, and every stage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conset.base import Ints, workers
from conset.bounds.programs import bound_program
from conset.compilation.combining import Combination
from conset.compilation.options import DIRECT, FORMULA
from conset.schedule import CompileReport, Schedule, document_of
from conset.verification import verify


def summarize(schedule: Schedule, *, verified: bool | None = None) -> dict[str, Any]:
    """What `compile --json` says of a schedule.

    Verifies it unless `verified` states the outcome already.

    Keys: method, auto (whether `auto` chose method or policy), why (in one sentence), rank_by (by
    what), model (the machine's), verdict (what each model says of the choice), note, warnings (of
    the machine's routes, where they are taken), pattern, machine, limits, phases, load,
    phase_bytes, bound, gap, sync, in_flight (sends a rank keeps open, or `all`), posting (the order
    in which they are posted), time_s and time_by (by the machine's model, where that was asked),
    modelled (beside baselines), predicted_s (by formula), simulated_s (by `rank_by`),
    compile_s, stopped_early, placement (its name), verified, units, guaranteed; where routes are
    not known, routes (what that means for order). Sizes in [B], times in [s]; a gap is at least 1.
    """
    from conset.bounds import bound_schedule
    from conset.models import predict
    from conset.schedule import figures, guarantees

    # found once, before threads ask for them
    schedule.source_node, schedule.target_node  # noqa: B018
    with workers(2) as executor:
        pending = executor.submit(_verify, schedule) if verified is None else None
        predicted = executor.submit(predict, schedule)
        bounds = bound_schedule(schedule)
        counted = figures(schedule)
        prediction = predicted.result()
        verified = pending.result() if pending is not None else verified
    pattern, report = schedule.pattern, schedule.report or CompileReport()
    modelled = schedule.modelled or {"model": FORMULA, "schedule_s": prediction.time_s}
    unknown = schedule.machine.routes_unknown
    return {
        "method": schedule.method,
        "auto": bool(report.reason),
        "why": report.reason or None,
        "rank_by": report.rank_by or None,
        "model": schedule.machine.costs_for(schedule.method).model,
        "verdict": None if report.verdict is None else dict(report.verdict),
        "note": report.note or None,
        "warnings": list(schedule.machine.warnings) if schedule.route_offsets is None else [],
        "pattern": {
            name: getattr(pattern, name) for name in ("ranks", "messages", "bytes", "local_bytes")
        },
        "machine": schedule.machine.name,
        "limits": schedule.limits.to_object(),
        "phases": schedule.phases,
        "load": counted["load"],
        "phase_bytes": counted["phase_bytes"],
        "bound": {
            "phases": bounds.phases,
            "phases_witness": bounds.phases_witness,
            "phases_class": bounds.phases_class,
            "time_s": bounds.time_s,
            "time_witness": bounds.time_witness,
            "time_class": bounds.time_class,
            "load_sum": bounds.load_sum,
            "load_sum_witness": bounds.load_sum_witness,
            "load_sum_class": bounds.load_sum_class,
        },
        "gap": {
            "phases": gap(schedule.phases, bounds.phases),
            "time": gap(modelled["schedule_s"], bounds.time_s),
        },
        "sync": schedule.sync,
        "in_flight": in_flight_of(schedule),
        "posting": schedule.posting,
        "time_s": modelled["schedule_s"],
        "time_by": modelled["model"],
        "modelled": schedule.modelled,
        "predicted_s": prediction.time_s,
        "simulated_s": report.simulated_s,
        "compile_s": report.compile_s,
        "stopped_early": report.stopped_early,
        "placement": report.placement_name or None,
        "verified": verified,
        "units": half_duplex_units(schedule) if schedule.machine.costs.half_duplex else None,
        "guaranteed": None if schedule.channels is None else guarantees(schedule).to_object(),
        **({"routes": unknown} if unknown else {}),
    }


def _verify(schedule: Schedule) -> bool:
    from conset.verification import verify

    return verify(schedule).ok


def in_flight_of(schedule: Schedule) -> int | str:
    """Sends a rank keeps open at once: the schedule's number, else the machine's, else `all`."""
    if schedule.in_flight is not None:
        return schedule.in_flight
    own = schedule.machine.costs_for(schedule.method).in_flight
    return "all" if own is None else own


def gap(value: float, bound: float) -> float:
    """How far above its bound a figure is; 1 where there is nothing to do."""
    return value / bound if bound > 0 else 1.0


def half_duplex_units(schedule: Schedule) -> int:
    """Cost in units of a node that sends or receives at once.

    A phase of exchanges only counts 1, any other 2.

    A node that sends and receives in a phase overlaps both only with one and the same partner (001
    §2.2).
    """
    out, into = schedule.source_node, schedule.target_node
    leaves = out != into
    phase, out, into = (a[leaves].astype(np.int64) for a in (schedule.phase_of, out, into))
    nodes = schedule.machine.topology.nodes

    def key(node: Ints, peer: Ints) -> Ints:
        return (phase * nodes + node) * nodes + peer

    sent, received = np.unique(key(out, into)), np.unique(key(into, out))
    unmatched = np.setxor1d(sent, received, assume_unique=True)
    both = np.intersect1d(sent // nodes, received // nodes)
    busy = np.unique(unmatched[np.isin(unmatched // nodes, both)] // (nodes * nodes))
    return schedule.phases + int(busy.size)


def summarize_combination(combination: Combination) -> dict[str, Any]:
    """The keys of `summarize`, of the program as one schedule of bundles; verifies it.

    `pattern` is the application's. Further keys: combine (the word for the paths), stages (of each,
    the keys of `summarize`), candidates (what was compared, the least time first), figures
    (bundles, volume, bytes held for others), direct_s (time of direct messages,
    where compared; a lower bound of it where direct_is_bound); `bound` and `gap` have what no paths
    beat too (`ProgramBounds`). A schedule that sends directly has itself as its only stage.
    """
    program = combination.program
    if program.paths is None:
        whole = summarize(combination.whole)
        found = {**whole, "stages": [whole], "figures": None}
    else:
        verified = verify(document_of(program, in_blocks=True)).ok
        whole = summarize(combination.whole, verified=verified)
        bounds = bound_program(program, combination.whole)
        time_s = whole["predicted_s"] if whole["simulated_s"] is None else whole["simulated_s"]
        pattern = program.paths.pattern
        found = {
            **whole,
            "pattern": {
                name: getattr(pattern, name)
                for name in ("ranks", "messages", "bytes", "local_bytes")
            },
            "stages": [summarize(schedule, verified=verified) for schedule in program.schedules],
            "figures": program.figures(),
            "bound": bounds.to_object(),
            "gap": bounds.gap(combination.whole.phases, whole["predicted_s"], time_s),
        }
    direct = next((each for each in combination.tried if each.name == DIRECT), None)
    return {
        **found,
        "combine": combination.combine,
        "why_combined": combination.why or None,
        "direct_s": direct.time_s if direct else None,
        "direct_is_bound": bool(direct and direct.is_bound),
        "candidates": [each.to_object() for each in combination.tried],
    }
