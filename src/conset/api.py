"""The Python interface, in the words of the command line: nouns or specs in, nouns out.

>>> import conset
>>> schedule = conset.compile("alltoall", "mesh:4x4", method="first-fit")
>>> conset.verify(schedule).ok
True
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.compilation.options import AUTO, BOUNDED_BY, CompileOptions, effective_limits
from conset.compilation.pipeline import compile_pattern
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.stopping import keyboard_interrupts

if TYPE_CHECKING:
    from conset.bounds import Bounds
    from conset.comparison.times import Timing
    from conset.execution.job import RunResult
    from conset.simulation import Timeline, Workload
    from conset.verification import Verification


def load_machine(spec: str | Machine) -> Machine:
    """A machine from a preset, a network with options, or a file: `load_machine("torus:8x8,link=16GB/s")`."""
    from conset.machine.spec import parse_machine

    return spec if isinstance(spec, Machine) else parse_machine(spec)


def load_pattern(text: str, on: str | Machine | None = None, *, ranks_per_node: int = 1, **options: Any) -> Pattern:
    """A pattern from a spec or a file: `load_pattern("random:degree=16", on="hypercube:6")`.

    Args:
        text: as on the command line.
        on: the machine whose network and number of ranks a spec falls back on.
        ranks_per_node: ranks on each of its nodes.
        options: `ranks`, `seed`, `parts`, `rows_to`, `word` as in `conset.pattern.spec.parse_pattern`.
    """
    from conset.pattern.spec import parse_pattern

    if on is not None:
        topology = load_machine(on).topology
        options = {"topology": topology, "ranks": topology.endpoints * ranks_per_node, **options}
    return parse_pattern(text, **options)


@keyboard_interrupts()
def compile(pattern: str | Pattern, machine: str | Machine, *, method: str = AUTO, **options: Any) -> Schedule:
    """A schedule of a pattern on a machine; `options` as in `conset.compilation.options.CompileOptions`.

    Raises:
        UsageError: an unknown word. InputError: things that do not fit each other.
    """
    asked = CompileOptions(method=method, **options)
    target = load_machine(machine)
    if isinstance(pattern, str):
        pattern = load_pattern(pattern, target, ranks_per_node=asked.ranks_per_node, seed=asked.seed)
    return compile_pattern(pattern, target, asked)


def read(path: str | Path) -> Schedule:
    """The schedule in a file."""
    from conset.schedule.file import read_schedule

    return read_schedule(Path(path))


def write(schedule: Schedule, path: str | Path) -> None:
    """Writes a schedule: `.json` for people, `.npz` for size."""
    from conset.schedule.file import write_schedule

    write_schedule(schedule, Path(path))


def verify(schedule: Schedule | str | Path, *, window: int | None = None) -> Verification:
    """All violations of a schedule, or of a schedule file, found by code that shares nothing with the compiler."""
    from conset.schedule.file import read_document
    from conset.verification import verify_document, verify_schedule

    if isinstance(schedule, Schedule):
        return verify_schedule(schedule, window=window)
    return verify_document(read_document(Path(schedule)), window=window)


@keyboard_interrupts()
def bound(
    pattern: Schedule | Pattern | str,
    machine: str | Machine | None = None,
    *,
    limits: Limits | None = None,
    **options: Any,
) -> Bounds:
    """What no schedule can beat: for a schedule in its own class, or for a pattern on a machine.

    Args:
        pattern: a schedule, a pattern or a spec.
        machine: required unless a schedule is given.
        limits: of a phase; default those of first-fit.
        options: as in `conset.bounds.bound`.
    """
    from conset.bounds import bound as bound_pattern
    from conset.bounds import bound_schedule
    from conset.errors import UsageError
    from conset.methods.table import find_method

    if isinstance(pattern, Schedule):
        return bound_schedule(pattern)
    if machine is None:
        raise UsageError("bound of a pattern: a machine is required")
    target = load_machine(machine)
    if isinstance(pattern, str):
        pattern = load_pattern(pattern, target)
    if limits is None:
        limits, _ = effective_limits(find_method(BOUNDED_BY), target, CompileOptions())
    return bound_pattern(pattern, target, limits, **options)


def predict(
    schedule: Schedule, *, sync: str | None = None, machine: str | Machine | None = None, by: str | None = None
) -> Timing:
    """The time a schedule takes, with its terms, by the machine's own model.

    Args:
        schedule: phases of transfers.
        sync: policy; the schedule's own where None.
        machine: another machine.
        by: `formula` or a model; None: the machine's, for which the formula stands in where a schedule is too large or
            cannot run (`Timing.stands_in` says why).
    """
    from conset.comparison.times import time_schedule

    other = None if machine is None else load_machine(machine)
    return time_schedule(schedule, sync=sync, machine=other, by=by)


@keyboard_interrupts()
def simulate(
    what: Schedule | Workload | str | Path,
    machine: str | Machine | None = None,
    *,
    model: str = "flow",
    sync: str | None = None,
    **settings: Any,
) -> Timeline:
    """When every message is delivered, event by event: of a schedule, a workload, or a trace's file.

    Args:
        what: what is sent; a path is a trace.
        machine: required unless a schedule is given, which has its own.
        model: a row of `conset.simulation.table`.
        sync: policy; a schedule's own where None.
        settings: `in_flight` (a schedule's own where not given), `receives` and other fields of
            `conset.simulation.settings.Settings`.
    """
    from conset.errors import UsageError
    from conset.prediction.evaluate import moved
    from conset.simulation import Workload
    from conset.simulation.settings import Settings
    from conset.simulation.table import find_model
    from conset.simulation.trace import read_trace

    target = None if machine is None else load_machine(machine)
    if isinstance(what, Schedule):
        schedule = what if target is None else moved(what, target)
        work, target, own = Workload.of_schedule(schedule), schedule.machine, schedule.sync
        if settings.get("in_flight") is None:
            settings["in_flight"] = schedule.in_flight
    elif target is None:
        raise UsageError("simulate a trace: a machine is required")
    else:
        work, own = (what if isinstance(what, Workload) else read_trace(what, target)), "none"
    execution = Settings.of(target.costs_for(work.method), sync=sync or own, **settings)
    return find_model(model).simulate(work, target, execution)


def run(schedule: Schedule, **options: Any) -> RunResult:
    """Executes a schedule over MPI beside its rivals, every byte checked; `options` as in `conset.execution.job`."""
    from conset.execution.job import run_schedule

    return run_schedule(schedule, **options)
