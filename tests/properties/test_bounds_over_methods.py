"""No bound is above any schedule found of its class.

Every method of the table, many random instances, all policies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conset.base.errors import InputError, NoScheduleError
from conset.bounds import Bounds, bound, bound_schedule
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.methods.phases.table import find_method, table
from conset.models import predict
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify

MACHINES = {
    spec: parse_machine(spec)
    for spec in (
        "mesh:4x4",
        "mesh:2x3",
        "torus:4x4",
        "hypercube:3",
        "ring:5",
        "crossbar:6",
        "iwarp:4x4",
        "ipsc860:8",
        "paragon:3x3",
    )
}
POLICIES = ("none", "local", "ready", "barrier", "barrier:2", "detect")
ASKED = {
    "link": (1, 2, 3),
    "channels": (2, 4, 12),
    "send": (1, 2),
    "receive": (1, 2),
    "duplex": ("full", "exchange"),
}


@st.composite
def instances(draw: st.DrawFn) -> tuple[Machine, Pattern, dict[str, str | int | None]]:
    """(machine, pattern, options of a compile)."""
    machine = MACHINES[draw(st.sampled_from(sorted(MACHINES)))]
    per_node = draw(st.sampled_from([1, 1, 2]))
    ranks = machine.topology.endpoints * per_node
    kind = draw(st.sampled_from(["random", "random", "alltoall", "uneven"]))
    if kind == "random":
        end = st.integers(0, ranks - 1)
        rows = draw(st.lists(st.tuples(end, end, st.sampled_from([1, 8, 1000])), max_size=30))
        pattern = Pattern.from_messages(*np.array(rows, np.int64).reshape(-1, 3).T, ranks)
    else:
        words = "alltoall" if kind == "alltoall" else "random:degree=3,size=log-uniform(8,8KiB)"
        seed = draw(st.integers(0, 9))
        pattern = parse_pattern(words, topology=machine.topology, ranks=ranks, seed=seed)
    options = {
        "placement": draw(st.sampled_from(["identity", "random"])),
        "ranks_per_node": per_node,
        "seed": draw(st.integers(0, 9)),
        "timetable": draw(st.sampled_from([None, None, "as", "event-list"])),
    }
    return machine, pattern, options


def asked_limits(method: str, seed: int) -> str | None:
    """Words for some of the limits the method can keep at any value."""
    rng = np.random.default_rng(seed)
    words = [
        f"{name}={rng.choice(ASKED[name])}"
        for name in sorted(find_method(method).adjustable_limits)
        if rng.random() < 0.4
    ]
    return ",".join(words) or None


def hold(bounds: Bounds, schedule: Schedule) -> None:
    figures = {
        "phases": schedule.phases,
        "time": predict(schedule).time_s,
        "load": int(phase_loads(schedule).largest.sum(dtype=np.int64)),
    }
    for candidate in bounds.candidates:
        what = f"{schedule.method} under {schedule.sync}: {figures[candidate.what]}, {candidate}"
        assert candidate.value <= figures[candidate.what], what
    assert bounds.phases <= schedule.phases
    assert bounds.time_s <= figures["time"]
    assert bounds.load_sum <= figures["load"]


@pytest.mark.parametrize("method", [name for name, row in table().items() if not row.circuits])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(instances())
def test_no_bound_is_above_any_schedule_of_its_class(
    method: str, instance: tuple[Machine, Pattern, dict[str, str | int | None]]
) -> None:
    machine, pattern, options = instance
    request = CompileOptions(
        method=method, limits=asked_limits(method, int(options["seed"] or 0)), **options
    )  # type: ignore[arg-type]
    try:
        schedule = compile_pattern(pattern, machine, request)
    except (InputError, NoScheduleError):  # outside the method's domain; this is inside of each
        machine = MACHINES["mesh:4x4"]
        pattern = parse_pattern("alltoall", topology=machine.topology, ranks=16)
        limits = (
            f"link={1 + int(options['seed'] or 0) % 3}"
            if "link" in find_method(method).adjustable_limits
            else None
        )
        schedule = compile_pattern(
            pattern, machine, CompileOptions(method, limits=limits, timetable=request.timetable)
        )
    assert verify(schedule).ok
    for policy in POLICIES:
        under = replace(schedule, sync=policy)
        hold(bound_schedule(under), under)
    # whatever its routes are, they are among all routes; the linear programs speak of these
    for policy in ("none", "barrier"):
        under = replace(schedule, sync=policy)
        free = bound(
            pattern,
            machine,
            schedule.limits,
            placement=schedule.placement,
            sync=policy,
            routes="free",
            split=schedule.parts is not None,
            method=schedule.method,
            phases=schedule.phases,
            lp=policy == "barrier" and int(options["seed"] or 0) < 3,
        )
        hold(free, under)
