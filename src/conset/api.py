"""The Python interface, with the options of the command line as arguments.

Nouns or specs in, nouns out.

>>> import conset
>>> schedule = conset.compile("alltoall", "mesh:4x4", method="first-fit")
>>> conset.verify(schedule).ok
True

An unknown argument is an `ArgumentError` (a `TypeError` too), which names the nearest known one;
every other error is a `ConsetError` of one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from numpy.typing import ArrayLike

from conset import inputs
from conset.base import UsageError, keyboard_interrupts, python_interface, with_fields
from conset.bounds import Bounds, bound as bound_pattern, bound_any, bound_schedule
from conset.bounds.problem import OrderKept, Routes
from conset.compilation import (
    AUTO,
    BOUNDED_BY,
    DEFAULTS,
    DIRECT,
    CompileOptions,
    compile_combined,
    compile_pattern,
    effective_limits,
)
from conset.execution import CommPlan, Plan, RunResult, make_plan, plan_on, run_compiled
from conset.inputs import MachineLike, PatternLike, load_machine, load_pattern
from conset.machine import Limits, Machine
from conset.methods import MethodFunction, find_method
from conset.models import Settings, Timeline, Workload, find_model, read_trace, retarget
from conset.pattern import Pattern
from conset.schedule import (
    EXPORTS,
    Guarantees,
    InFlight,
    Program,
    Schedule,
    document_of,
    guarantees as schedule_guarantees,
    program_guarantees,
    read_compiled,
    read_document,
    write_compiled,
    write_export,
)
from conset.verification import Verification, verify as verify_document

if TYPE_CHECKING:
    from mpi4py import MPI

    from conset.studies import Advice, Comparison, RunTimeResult, Timing

__all__ = [
    "advise",
    "bound",
    "compare",
    "compile",
    "load_machine",
    "load_pattern",
    "plan",
    "predict",
    "read",
    "run",
    "run_at_run_time",
    "simulate",
    "verify",
    "write",
]


@overload
def compile(
    pattern: PatternLike,
    machine: MachineLike,
    options: CompileOptions | None = None,
    *,
    combine: Literal["none"] = "none",
    **changes: Any,
) -> Schedule: ...
@overload
def compile(
    pattern: PatternLike,
    machine: MachineLike,
    options: CompileOptions | None = None,
    *,
    combine: str,
    **changes: Any,
) -> Program: ...
@python_interface
@keyboard_interrupts()
@with_fields(CompileOptions)
def compile(
    pattern: PatternLike,
    machine: MachineLike,
    options: CompileOptions | None = None,
    *,
    combine: str = "none",
    **changes: Any,
) -> Schedule | Program:
    """A schedule of a pattern on a machine.

    >>> compile("alltoall:size=4KiB", "torus:4x4", method="coloring", sync="local").phases
    15

    Args:
        pattern: what is sent.
        machine: what it runs on.
        options: what the arguments below change; None: their defaults.
        combine: `none` gives a schedule, any other way a program.
        **changes: {changes}

    Raises:
        UsageError: an unknown method, placement, policy, ranking or way to combine, or a limit that
            does not parse.
        InputError: pattern, machine and method do not fit each other.
        NoScheduleError: none exists, or none was found, within the limits.
    """
    stages = {} if combine == DIRECT else {"combine": combine}
    options = (options or DEFAULTS).changed(changes | stages)
    target = load_machine(machine)
    traffic = inputs.pattern_on(pattern, target, options.ranks_per_node, options.seed)
    if options.combine in (None, DIRECT):
        return compile_pattern(traffic, target, options)
    return compile_combined(traffic, target, options, options.combine).program


def _read(what: Schedule | Program | str | Path) -> Schedule | Program:
    """What was given, or what is in the file that was named."""
    return read_compiled(what) if isinstance(what, str | Path) else what


@python_interface
def read(path: str | Path) -> Schedule | Program:
    """The schedule or program in a file; raises InputError where there is none."""
    return read_compiled(path)


@python_interface
def write(schedule: Schedule | Program, path: str | Path) -> None:
    """Writes a schedule, `.json` for people, `.npz` for size, or a program, `.json`.

    Or all messages for another tool: `.goal`, `.tit`, `.xml` (MSCCL), `.cm`, `.csv`.

    Raises UsageError otherwise.
    """
    if Path(path).suffix.lower() in EXPORTS:
        write_export(schedule.whole, Path(path))
    else:
        write_compiled(schedule, path)


@python_interface
def verify(schedule: Schedule | Program | str | Path, *, window: int | None = None) -> Verification:
    """All violations of a schedule, a program or a file of one.

    They are found by code that shares nothing with the compiler.

    Args:
        schedule: the schedule or program, or its file.
        window: holds any so many consecutive phases together to the limits, too.

    Raises:
        UsageError: the window is below 1, or that of a program.
        InputError: no such file, or its machine cannot be built.
    """
    if isinstance(schedule, Schedule):
        return verify_document(schedule, window=window)
    found = document_of(schedule) if isinstance(schedule, Program) else read_document(schedule)
    return verify_document(found, window=window)


@overload
def guarantees(schedule: Schedule) -> Guarantees: ...
@overload
def guarantees(schedule: Program) -> list[Guarantees]: ...
@overload
def guarantees(schedule: str | Path) -> Guarantees | list[Guarantees]: ...
@python_interface
def guarantees(schedule: Schedule | Program | str | Path) -> Guarantees | list[Guarantees]:
    """What every connection gets at least while it is open, whatever the others do.

    Of a program for each block.

    >>> schedule = compile("alltoall", "iwarp:4x4", method="connections")
    >>> float(guarantees(schedule).bandwidth_Bps.min())
    10000000.0

    Args:
        schedule: the schedule or program, or its file. In a program all connections of a context
            count, of whichever phase.

    Raises:
        InputError: no such file, or not one of a schedule or program.
    """
    found = _read(schedule)
    if isinstance(found, Schedule):
        return schedule_guarantees(found)
    given = program_guarantees(found)
    return [given[stage.schedule] for stage in found.stages]


@python_interface
@keyboard_interrupts()
def bound(
    pattern: Schedule | PatternLike,
    machine: MachineLike | None = None,
    *,
    limits: Limits | None = None,
    placement: ArrayLike | None = None,
    sync: str | None = None,
    routes: str = "fixed",
    split: bool = False,
    order: str = "inside",
    method: str = "",
    phases: int | None = None,
    lp: bool = False,
    in_flight: InFlight | None = None,
) -> Bounds:
    """What no schedule can beat: for a schedule in its own class, or for a pattern on a machine.

    >>> bound("alltoall", "mesh:4x4").phases
    16

    Args:
        pattern: a schedule, of which nothing else is asked, or a pattern.
        machine: what the pattern runs on.
        limits: of a phase; None: those of first-fit.
        placement: shape=(ranks), node of each rank; None: rank r on node r.
        sync: the policy; None: the time is that of any schedule, whatever its limits and policy.
        routes: `fixed`: the machine's; `free`: any.
        split: whether messages may be cut over phases.
        order: where an order may be kept: `inside` a phase too, or by `phases` alone.
        method: whose costs, where a machine runs methods in several ways.
        phases: number of phases that the sum of largest loads is asked for; None: any.
        lp: whether to solve linear programs for free routes too, which takes seconds.
        in_flight: the most messages that a rank may have in flight, or `all`; None: the machine's
            number.

    Raises:
        UsageError: no machine, an unknown policy, linear programs for fixed routes, or a machine
            for a schedule.
        InputError: a rank has no node on the machine; a linear program would be too large.
    """
    if isinstance(pattern, Schedule):
        if machine is not None:
            raise UsageError(
                "bound of a schedule: machine is the schedule's own; give its pattern "
                "for another one"
            )
        return bound_schedule(pattern)
    if machine is None:
        raise UsageError("bound of a pattern: a machine is required")
    target = load_machine(machine)
    traffic = inputs.pattern_on(pattern, target)
    if limits is None:
        limits, _ = effective_limits(find_method(BOUNDED_BY), target, CompileOptions())
    nodes = inputs.placed_nodes(placement, traffic, target)
    how: dict[str, Any] = {
        "placement": nodes,
        "routes": cast("Routes", routes),
        "order": cast("OrderKept", order),
        "method": method,
        "phases": phases,
        "lp": lp,
        "in_flight": in_flight,
    }
    if sync is None:
        return bound_any(traffic, target, limits, **how)[0]
    return bound_pattern(traffic, target, limits, sync=sync, split=split, **how)


@python_interface
def predict(
    schedule: Schedule | Program | str | Path,
    *,
    sync: str | None = None,
    machine: MachineLike | None = None,
    by: str | None = None,
) -> Timing:
    """The time a schedule takes, with its terms, by the machine's own model.

    Args:
        schedule: phases of transfers, or a program, which counts as one schedule of all that it
            sends; or its file.
        sync: policy; None: its own.
        machine: another machine.
        by: `formula` or a model; None: the machine's, or the formula where that fails
            (`Timing.stands_in` says why).

    Raises:
        UsageError: an unknown policy or model. InputError: the schedule does not fit the other
            machine.
    """
    from conset.studies import time_schedule

    target = None if machine is None else load_machine(machine)
    return time_schedule(_read(schedule).whole, sync=sync, machine=target, by=by)


@python_interface
@keyboard_interrupts()
def simulate(
    what: Schedule | Program | Workload | str | Path,
    machine: MachineLike | None = None,
    *,
    model: str | None = None,
    sync: str | None = None,
    in_flight: int | str | None = None,
    receives: int | str | None = None,
    receive_order: str | None = None,
    fairness: str = "equal",
    lanes: int | None = None,
    queue: int | None = None,
    record: bool = False,
    until_s: float = inf,
    max_work: int | None = None,
) -> Timeline:
    """When every message is delivered, event by event.

    Of a schedule, a workload, or a trace's file.

    >>> simulate(compile("shift:size=1MB", "ring:4,link=1GB/s", method="first-fit")).messages
    4

    Args:
        what: what is sent: a program as one schedule; a path is a trace.
        machine: required unless a schedule is given, which has its own.
        model: `flow`, `wormhole`, `circuit`, `packet`, `flit` or `connections`; None: the
            machine's own for the method.
        sync: policy; None: a schedule's own.
        in_flight: sends a rank keeps open at once, in list order, or `all`; None: a schedule's,
            else the machine's.
        receives: receives a rank takes at once, or `all`; None: the machine's.
        receive_order: `list` or `any` (first come, first served); None: the model's own.
        fairness: `equal`, or `rtt`: flows weighted by 1 / latency of the route.
        lanes: virtual channels per link and pool, for the models that have them; None: the
            machine's.
        queue: elements that a channel holds, for `connections`; None: 8, or more where links are
            long.
        record: whether every change of a rate and the steps of every message are kept.
        until_s: the simulation ends when its clock passes it [s]; what is not delivered then has no
            end.
        max_work: counted work after which it ends; None: never.

    Raises:
        UsageError: no machine, an unknown model or policy, a number out of range.
        InputError: what is sent does not fit machine or model. NoScheduleError: it would never end.
    """
    target = None if machine is None else load_machine(machine)
    if isinstance(what, Schedule | Program):
        schedule = what.whole if target is None else retarget(what.whole, target)
        work, target, own = Workload.of_schedule(schedule), schedule.machine, schedule.sync
        in_flight = schedule.in_flight if in_flight is None else in_flight
    elif target is None:
        raise UsageError("simulate a trace: a machine is required")
    else:
        work, own = (what if isinstance(what, Workload) else read_trace(what, target)), "none"
    execution = Settings.of(
        target.costs_for(work.method),
        sync=sync or own,
        in_flight=in_flight,
        receives=receives,
        receive_order=receive_order,
        fairness=fairness,
        lanes=lanes,
        queue=queue,
        record=record,
        until_s=until_s,
        max_work=max_work,
    )
    own_model = target.costs_for(work.method).model
    return find_model(model or own_model).simulate(work, target, execution)


@python_interface
@keyboard_interrupts()
def compare(
    patterns: PatternLike | Sequence[PatternLike],
    machines: MachineLike | Sequence[MachineLike],
    *,
    methods: str | Sequence[str | MethodFunction] | None = None,
    sync: str | Sequence[str] | None = None,
    contention: int | None = None,
    channels: int | None = None,
    limits: Limits | str | None = None,
    placement: str | Path = "identity",
    ranks_per_node: int = 1,
    seed: int = 0,
    effort: int = 1,
    models: Sequence[str] = (),
    by: str | None = None,
    rank_by: str | None = None,
    combine: str | Sequence[str] = (),
) -> Comparison:
    """Methods beside each other: rows of figures for every pattern, machine and policy.

    >>> found = compare(["shift", "transpose"], "mesh:4x4", methods=["naive", "first-fit"])
    >>> sorted({(row["pattern_name"], row["method"]) for row in found.rows})[0]
    ('shift', 'first-fit')

    Args:
        patterns: one or several.
        machines: one or several; a spec of a pattern takes each one's number of ranks.
        methods: names, `auto` among them, `FILE.py:NAME` or functions; None: all that apply.
        sync: policies, a row for each; `naive=none` is for one method; None: each method's fastest.
        contention: as for `compile`, and what follows.
        channels: limit of routes through a node.
        limits: of a phase.
        placement: of ranks.
        ranks_per_node: ranks on each node.
        seed: of every random choice.
        effort: sweeps of search.
        models: that simulate every row beside what decides.
        by: what says a row's `time_s`: a model or `formula`; None: each machine's model.
        rank_by: what chooses for `auto`; None: `by`.
        combine: ways to combine messages, a row for each: `auto`, `8x8`, `radix:2`, ….

    Returns:
        `rows`, a dict each: the keys of `conset compare --json` and `pattern_name`, for each
            pattern and machine the fastest first; `to_pandas()` gives them as a tidy frame.
            `skipped` names the methods that do not apply, with the reason.

    Raises:
        UsageError: an unknown method, policy, model or ranking.
        InputError: no method applies.
    """
    from conset.studies import check_by, compare_pairs, merged

    check_by(by)
    policies = inputs.policies_of(methods, sync)
    chooses = any(AUTO in (name, *own) for name, own in policies.items())
    if rank_by is not None and not chooses:
        raise UsageError(
            f"rank_by {rank_by}: goes with methods auto or sync auto",
            options=["rank_by", "methods", "sync"],
        )
    options = CompileOptions(
        contention=contention,
        channels=channels,
        limits=limits.to_text() if isinstance(limits, Limits) else limits,
        placement=str(placement),
        ranks_per_node=ranks_per_node,
        seed=seed,
        effort=effort,
        rank_by=(by if rank_by is None else rank_by) if chooses else None,
    )
    found = compare_pairs(
        inputs.pairs_of(patterns, machines, ranks_per_node, seed),
        options,
        policies,
        models=tuple(models),
        by=by,
        named=methods is not None,
        combines=inputs.listed(combine),
    )
    return merged(found)


@python_interface
@keyboard_interrupts()
def advise(
    pattern: PatternLike | Schedule,
    machine: MachineLike,
    *,
    others: Sequence[MachineLike] = (),
    without: Sequence[str] = (),
    placement: str | Path = "identity",
    ranks_per_node: int = 1,
    seed: int = 0,
    effort: int = 1,
) -> Advice:
    """What an exchange costs on a network, and what makes it faster without changing a program.

    >>> advise("alltoall", "leaf-spine:leaves=2,spines=1,hosts=2").network.messages
    4

    Args:
        pattern: what is sent, or a schedule, which is one more way to send it.
        machine: where; a cluster's files, such as `net.txt,routes=lfts.txt,hosts=n[01-16]`.
        others: the same hosts with other routes.
        without: cables, one more network without each: `leafA:14`, `A-B`.
        placement: of ranks.
        ranks_per_node: ranks on each node.
        seed: of every random choice.
        effort: sweeps of search.

    Raises:
        UsageError: an unknown cable, or another number of hosts.
        InputError: pattern and machine do not fit each other.
    """
    from conset.studies import advise as advise_pattern

    target = load_machine(machine)
    own = None
    if isinstance(pattern, Schedule):
        own, pattern = retarget(pattern, target), pattern.pattern
    traffic = inputs.pattern_on(pattern, target, ranks_per_node, seed)
    options = CompileOptions(
        placement=str(placement), ranks_per_node=ranks_per_node, seed=seed, effort=effort
    )
    networks = [load_machine(each) for each in others]
    return advise_pattern(traffic, target, options, others=networks, without=without, schedule=own)


@overload
def plan(
    schedule: Schedule | Program | str | Path,
    comm: None = None,
    *,
    sync: str | None = None,
    in_flight: InFlight | None = None,
) -> Plan: ...
@overload
def plan(
    schedule: Schedule | Program | str | Path,
    comm: MPI.Intracomm,
    *,
    sync: str | None = None,
    in_flight: InFlight | None = None,
) -> CommPlan: ...
@python_interface
def plan(
    schedule: Schedule | Program | str | Path,
    comm: MPI.Intracomm | None = None,
    *,
    sync: str | None = None,
    in_flight: InFlight | None = None,
) -> Plan | CommPlan:
    """What each rank executes: its sends and receives in posting order, checked to end.

    >>> plan(compile("shift", "ring:4", method="first-fit")).transfers
    4

    With a communicator of mpi4py the call is collective, and its plan makes exchanges there:

        plan = conset.plan("halo.json", comm)
        with plan.exchange(sendbuf, recvbuf) as exchange:
            exchange.start()
            ...
            exchange.wait()

    Args:
        schedule: the schedule or the program, or its file; the same on every rank of `comm`.
        comm: as many ranks as the schedule has; None: a plan of all ranks, to look at.
        sync: the policy; None: its own.
        in_flight: sends a rank keeps open at once, or `all`; None: the schedule's, else its
            machine's, else all.

    Raises:
        UsageError: an unknown policy.
        VerificationError: the plan would not end, or a program's not deliver.
        InputError: no schedule or program file, a transfer larger than MPI carries, or an order
            that the policy does not keep; with `comm`, another number of ranks, or ranks that do
            not plan the same. What is wrong on one rank is an error on all.
    """
    if comm is None:
        return make_plan(_read(schedule), sync, in_flight=in_flight)
    file = Path(schedule) if isinstance(schedule, str | Path) else None
    return plan_on(
        comm,
        lambda: make_plan(_read(schedule), sync, in_flight=in_flight),
        file,
        f"sync {sync}, in_flight {in_flight}",
    )


@python_interface
def run(
    schedule: Schedule | Program | str | Path,
    *,
    sync: str | None = None,
    in_flight: InFlight | None = None,
    repeat: int = 20,
    mpiexec: str | None = None,
    timeout: float | None = None,
) -> RunResult:
    """Executes a schedule or a program over MPI beside its baselines, every byte checked.

    Starts a job of as many ranks as it has; inside a running MPI job every rank calls this and
    takes part.

    Args:
        schedule: the schedule or the program, or its file.
        sync: the policy; None: its own.
        in_flight: sends a rank keeps open at once, or `all`; None: the schedule's, else its
            machine's, else all.
        repeat: repetitions that count; one more goes before and is dropped.
        mpiexec: another launcher, as a shell would split it.
        timeout: longest time of the whole job, start-up included [s]; None: derived from bytes,
            messages and barriers.

    Raises:
        UsageError: an unknown policy, no launcher, a launcher inside a job.
        InputError: sizes or ranks do not fit.
        VerificationError: the plan would not end.
        ExecutionError: a rank died or a deadline passed.
    """
    return run_compiled(
        _read(schedule),
        sync=sync,
        in_flight=in_flight,
        repeat=repeat,
        mpiexec=mpiexec,
        timeout=timeout,
    )


@python_interface
def run_at_run_time(
    pattern: PatternLike,
    machine: MachineLike,
    *,
    methods: str | Sequence[str] | None = None,
    ranks: int | None = None,
    predict: Sequence[int] = (),
    repeat: int = 20,
    seed: int = 0,
    mpiexec: str | None = None,
    timeout: float | None = None,
    parts: int | None = None,
    rows_to: int | None = None,
    word: int = 8,
    unit: str | None = None,
) -> RunTimeResult:
    """Return the cost of scheduling at run time, and the uses after which that has paid.

    Starts a job in which every rank knows its own row only; inside a running MPI job every rank
    calls this and takes part. Every received byte is checked.

    Args:
        pattern: a spec where other numbers of ranks are to be predicted, or a file that is cut.
        machine: what schedules are made for; rank r lives on node r.
        methods: beside the naive exchange: names, `auto` among them; None: `rs-n`, `rs-nl`, `lp`,
            `coloring`, `first-fit`.
        ranks: of the job; None: the machine's, or no job where `predict` is given.
        predict: numbers of ranks for which the scheduling is computed here and all else predicted
            by the machine's model, on a machine of the same kind with as many nodes.
        repeat: repetitions that count; one more goes before and is dropped.
        seed: of every random choice.
        mpiexec: another launcher, as a shell would split it.
        timeout: longest time of the whole job, start-up included [s]; None: derived from bytes and
            messages.
        parts: parts of a mesh or graph; a prediction cuts it into its own number.
        rows_to: ranks of a sparse matrix; as `parts`.
        word: bytes of an entry or node where a file counts words [B].
        unit: what a size without a unit counts in a file (`KiB`); None: bytes.

    Raises:
        UsageError: an unknown method, no launcher, a launcher inside a job, a number of ranks that
            the machine's kind or the pattern cannot have.
        InputError: sizes or ranks do not fit.
        ExecutionError: a rank died or a deadline passed.
    """
    from conset.studies.run_time import job

    target = load_machine(machine)
    names = job.COMPARED if methods is None else tuple(map(str.strip, inputs.listed(methods)))

    def traffic(on: Machine, count: int) -> Pattern:
        if not isinstance(pattern, str | Path):
            found = inputs.pattern_on(pattern, on)
        else:
            cut: dict[str, Any] = {"parts": parts and count, "rows_to": rows_to and count}
            found = load_pattern(pattern, on, ranks=count, seed=seed, word=word, unit=unit, **cut)
        if found.ranks != count:
            raise UsageError(
                f"{found.name} has {found.ranks} ranks: {count} were asked for", options=["ranks"]
            )
        return found

    result = job.RunTimeResult(None)
    if ranks is not None or not predict:
        count = ranks or parts or rows_to or target.topology.endpoints
        result = job.measure_job(
            traffic(target, count),
            target,
            methods=names,
            repeat=repeat,
            seed=seed,
            mpiexec=mpiexec,
            timeout=timeout,
        )
    predicted = []
    for count in predict:
        on = job.scaled_machine(target, count)
        predicted.append(job.predict_costs(traffic(on, count), on, names, seed=seed))
    return replace(result, predicted=tuple(predicted))
