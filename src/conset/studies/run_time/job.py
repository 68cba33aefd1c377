"""Costs of scheduling at run time: measured in a job over MPI, or predicted for more ranks.

A job of its own measures, or the running one. A prediction is for more ranks than can be started:
the scheduling is really computed, by the code that every rank runs, and timed on this processor.
What crosses the network is timed by the machine's model (`conset.studies.times`): executions under
every policy; the exchange of rows, as a concatenation in log2(ranks) steps, each twice as long as
the one before (Wang and Ranka, Section 4.2), or, where one rank computes, as a gather of the rows
and a scatter of each rank's part. Planning is left out: a rank makes its requests whatever the
method, and they cancel out against the naive exchange. Measured set-ups contain what this leaves
out: the agreement of all ranks, the planning, and calls of the MPI library.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np

from conset import _core
from conset.base import InputError, Ints, UsageError, count_of
from conset.execution import (
    DIRECT,
    MAX_BYTES,
    Given,
    JobResult,
    check_measuring,
    check_methods,
    machine_word,
    plan_direct,
    run_job,
    temporary_folders,
)
from conset.machine import Limits, Machine, find_family, is_family, is_spec, parse_machine
from conset.methods import find_method
from conset.pattern import Pattern
from conset.schedule import Schedule
from conset.studies.run_time.costs import POSTING, SYNCS, RunTimeCosts, RunTimeRow
from conset.studies.times import time_schedule

COMPARED = ("naive", "rs-n", "rs-nl", "lp", "coloring", "first-fit")
"""Measured and predicted unless others are named."""
DEFAULT_REPEAT = 20
_TASK = "conset.studies.run_time.trial:measure_run_time"
HEAD_B, ENTRY_B = 8, 12
"""Bytes of a row: the number of its entries; target and bytes of each [B]."""
PART_B, SEND_B, RECEIVE_B = 64, 12, 20
"""Bytes of a rank's part of a schedule: the lengths of its lists; a send; a receive [B]."""
REPEATS = 3
"""How often each schedule is computed; the least processor time counts, without other work."""
_IN_DIMENSIONS = "hypercube"
"""The network whose number is not that of its nodes."""
Column = Ints


@dataclass(frozen=True)
class RunTimeResult(JobResult):
    """What scheduling at run time costs: measured in a job, predicted for other numbers of ranks.

    Attributes:
        measured: in the job; None: none was started.
        predicted: a table for each number of ranks.
        repeat: repetitions that were timed; 0: no job.
    """

    measured: RunTimeCosts | None
    predicted: tuple[RunTimeCosts, ...] = ()
    repeat: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the times do and do not say, in sentences."""
        notes = []
        if self.measured is not None and self.one_machine:
            notes.append(
                "On one machine there is no network to contend for, unless namespaces make one: "
                "the naive exchange is "
                "usually fastest."
            )
        if self.local_ranks > self.cores:
            notes.append(
                f"{self.local_ranks} ranks share {count_of(self.cores, 'core')}: where every rank "
                "computes, a core computes "
                "several times over, and waiting measures the operating system's scheduler."
            )
        if self.measured is not None and not self.one_machine:
            notes.append(
                "On several hosts: where they have no common clock, a time is the longest of "
                "the ranks' own."
            )
        return tuple(notes)

    def to_object(self) -> dict[str, Any]:
        """As `conset run --at-run-time --json` prints it."""
        job = {
            "repeat": self.repeat,
            "cores": self.cores,
            "one_machine": self.one_machine,
            "bytes_checked": self.bytes_checked,
            "mismatches": self.mismatches,
            "wrong": list(self.wrong),
        }
        return {
            "measured": None if self.measured is None else self.measured.to_object() | job,
            "predicted": [costs.to_object() for costs in self.predicted],
            "elapsed_s": self.elapsed_s,
            "notes": list(self.notes),
        }


def measure_job(
    pattern: Pattern,
    machine: Machine,
    *,
    methods: Sequence[str] = COMPARED,
    repeat: int = DEFAULT_REPEAT,
    seed: int = 0,
    mpiexec: str | None = None,
    timeout: float | None = None,
    entry: Sequence[str] = (),
) -> RunTimeResult:
    """Measures run-time scheduling of a pattern, a rank of the job for each of its ranks.

    Starts a job by the wheel's own launcher; inside a running MPI job every rank calls this and
    takes part instead, and every rank has the result.

    Args:
        pattern: what is sent; rank r lives on node r of the machine.
        machine: what schedules are made for.
        methods: as `alltoallv_init` knows them.
        repeat: repetitions that count; one more goes before and is dropped.
        seed: of every random choice.
        mpiexec: another launcher, as a shell would split it.
        timeout: longest time of the whole job, start-up included [s]; None: derived from bytes and
            messages.
        entry: as `run_job` has it.

    Raises:
        UsageError: a method that is not known at run time, no launcher, a launcher inside a job.
        InputError: sizes or ranks do not fit.
        ExecutionError: a rank died or a deadline passed.
    """
    check_methods(methods)
    check_measuring(repeat, timeout)
    if pattern.ranks > machine.topology.endpoints:
        raise InputError(
            f"{count_of(pattern.ranks, 'rank')} on the "
            f"{count_of(machine.topology.endpoints, 'node')} of {machine.name}"
        )
    if pattern.before is not None:
        raise InputError(f"{pattern.name} has an order of messages: rows of ranks have none")
    if twice := pattern.repeated_pair():
        raise InputError(
            f"{pattern.name} has two messages from rank {twice[0]} to {twice[1]}: rows of ranks "
            "have one"
        )
    for what, ends in (("send", pattern.source), ("receive", pattern.target)):
        if (most := int(np.bincount(ends, weights=pattern.size, minlength=1).max())) > MAX_BYTES:
            raise InputError(f"a rank has {most} bytes to {what}: counts of MPI go to {MAX_BYTES}")
    exchange_s = 10.0 + 100 * (pattern.bytes / 1e9 + pattern.messages * 40e-6)
    if timeout is not None:
        exchange_s = min(exchange_s, timeout)
    total_s = timeout or 120.0 + pattern.ranks + 10 * len(methods) * (repeat + 1) * exchange_s
    orders = {"methods": list(methods), "seed": seed, "repeat": repeat, "timeout_s": exchange_s}
    with temporary_folders() as folder:
        found = run_job(
            _TASK,
            pattern.ranks,
            Given(
                orders | {"machine": machine_word(machine, folder)}, {DIRECT: plan_direct(pattern)}
            ),
            timeout_s=total_s,
            mpiexec=mpiexec,
            entry=entry,
        )
    costs = RunTimeCosts(
        ranks=int(found["ranks"]),
        pattern=pattern.name,
        machine=machine.name,
        messages=pattern.messages,
        bytes=pattern.bytes,
        by=str(found["mpi"]),
        is_measured=True,
        rows=tuple(RunTimeRow.of_object(row) for row in found["rows"]),
        skipped=tuple((method, reason) for method, reason in found["skipped"]),
    )
    return RunTimeResult(costs, repeat=repeat, **JobResult.facts(found))


@dataclass(frozen=True)
class Scheduled:
    """A schedule with the time that one processor took to find it [s]."""

    schedule: Schedule
    compute_s: float


def predict_costs(
    pattern: Pattern, machine: Machine, methods: Sequence[str], *, seed: int = 0
) -> RunTimeCosts:
    """Costs of scheduling a pattern at run time on a machine, predicted.

    Args:
        pattern: what is sent; rank r lives on node r.
        machine: what it runs on, and whose model predicts the executions.
        methods: as `alltoallv_init` knows them.
        seed: of every random choice.

    Raises:
        UsageError: an unknown method. InputError: the pattern does not fit the machine.
    """
    check_methods(methods)
    steps = (
        concatenation(pattern, machine),
        collection(pattern, machine),
        distribution(pattern, machine),
    )
    all_s, to_one_s, from_one_s = (time_schedule(step).time_s for step in steps)
    core, by = CoreScheduler(pattern, machine, seed), ""
    rows, skipped = [], []
    for method in dict.fromkeys((POSTING, *methods)):
        syncs, ways = ["none"], {"": 0.0}
        if method != POSTING:
            syncs, ways = [*SYNCS], {"all": all_s, "one": to_one_s + from_one_s}
        try:
            schedules = [(sync, core.schedule(method, sync)) for sync in syncs]
        except InputError as reason:
            if method == POSTING:
                raise
            skipped.append((method, str(reason)))
            continue
        for sync, found in schedules:
            timing = time_schedule(found.schedule)
            by = timing.by
            for way, rows_s in ways.items():
                compute_s = found.compute_s if way else 0.0
                rows.append(
                    RunTimeRow(
                        method=found.schedule.method,
                        sync=found.schedule.sync,
                        compute=way,
                        sources_known=True,
                        asked_method=method,
                        asked_sync=sync,
                        phases=found.schedule.phases,
                        rows_s=(rows_s,),
                        schedule_s=(compute_s,),
                        plan_s=(),
                        setup_s=(rows_s + compute_s,),
                        first_s=(),
                        execution_s=(timing.time_s,),
                    )
                )
    return RunTimeCosts(
        ranks=pattern.ranks,
        pattern=pattern.name,
        machine=machine.name,
        messages=pattern.messages,
        bytes=pattern.bytes,
        by=by,
        is_measured=False,
        rows=tuple(rows),
        skipped=tuple(skipped),
    )


class CoreScheduler:
    """Schedules of a pattern on a machine, as every rank would compute them."""

    def __init__(self, pattern: Pattern, machine: Machine, seed: int) -> None:
        self.pattern, self.machine, self.seed = pattern, machine, seed
        with temporary_folders() as folder:
            self.core = _core.MachineData.in_words(machine_word(machine, folder), pattern.ranks)

    def schedule(self, method: str, sync: str) -> Scheduled:
        """The schedule, timed: the least of `REPEATS` times.

        Raises:
            InputError: the method does not apply, or found none.
        """
        pattern, size = self.pattern, np.ascontiguousarray(self.pattern.size)
        best_s = inf
        for _ in range(REPEATS):
            began = time.thread_time()
            try:
                found = _core.schedule_messages(
                    self.core,
                    pattern.ranks,
                    pattern.source,
                    pattern.target,
                    size,
                    method=method,
                    sync=sync,
                    seed=self.seed,
                )
            except RuntimeError as reason:
                raise InputError(str(reason)) from None
            best_s = min(best_s, time.thread_time() - began)
        made = Schedule(
            pattern,
            self.machine,
            found.method,
            find_method(found.method).limits(self.machine.topology),
            found.phase_offsets,
            found.message,
            placement=np.array(self.machine.job, np.int32) if self.machine.job else None,
            sync=found.sync,
            in_flight=found.in_flight or None,
        )
        return Scheduled(made, best_s)


def row_bytes(pattern: Pattern) -> Column:
    """shape=(ranks), int64.

    A compressed row [B]: its number of entries, and target and size of each.
    """
    return HEAD_B + ENTRY_B * np.bincount(pattern.source, minlength=pattern.ranks)


def concatenation(pattern: Pattern, machine: Machine) -> Schedule:
    """Rows of all ranks to all.

    In step k a rank has those of 2^k neighbours and sends them 2^k ranks back.

    Any number of ranks; of the last step only what is missing is sent.
    """
    ranks = pattern.ranks
    total = np.concatenate([[0], np.cumsum(np.tile(row_bytes(pattern), 2))])
    rank = np.arange(ranks)
    steps = []
    reach = 1
    while reach < ranks:
        count = min(reach, ranks - reach)
        steps.append((rank, (rank - reach) % ranks, total[rank + count] - total[rank]))
        reach *= 2
    return _in_steps(steps, pattern, machine, "local")


def collection(pattern: Pattern, machine: Machine) -> Schedule:
    """The rows of all ranks to rank 0, each by itself.

    As libraries gather parts of unequal length.
    """
    others = np.arange(1, pattern.ranks)
    return _in_steps([(others, 0 * others, row_bytes(pattern)[1:])], pattern, machine, "none")


def distribution(pattern: Pattern, machine: Machine) -> Schedule:
    """From rank 0 to each its part of the schedule: what it sends and what it receives."""
    sends, receives = (
        np.bincount(ends, minlength=pattern.ranks) for ends in (pattern.source, pattern.target)
    )
    size = PART_B + SEND_B * sends + RECEIVE_B * receives
    others = np.arange(1, pattern.ranks)
    return _in_steps([(0 * others, others, size[1:])], pattern, machine, "none")


def _in_steps(
    steps: Sequence[tuple[Column, Column, Column]], pattern: Pattern, machine: Machine, sync: str
) -> Schedule:
    """Messages in phases, one for each step; a pair of ranks has one message at most."""
    empty = np.zeros(0, np.int64)
    source, target, size = (np.concatenate([empty, *(step[k] for step in steps)]) for k in range(3))
    traffic = Pattern.from_messages(source, target, size, pattern.ranks, name="rows")
    # messages of a pattern are sorted by source, then target
    pairs = traffic.source.astype(np.int64) * pattern.ranks + traffic.target
    message = np.searchsorted(pairs, source * pattern.ranks + target).astype(np.int32)
    offsets = np.cumsum([0, *(len(step[0]) for step in steps)])
    return Schedule(traffic, machine, "steps", Limits(), offsets, message, sync=sync)


def scaled_machine(machine: Machine, ranks: int) -> Machine:
    """The machine with a node for each of `ranks`; itself where it has as many.

    >>> scaled_machine(parse_machine("torus:4x8,link=1GB/s"), 1024).name
    'torus:32x32,link=1GB/s'

    Raises:
        UsageError: a machine of a file, or a number of ranks that its kind cannot have.
    """
    nodes = machine.topology.endpoints
    if nodes == ranks:
        return machine
    if not is_spec(machine.name):
        raise UsageError(
            f"predict {ranks}: {machine.name} has {count_of(nodes, 'node')} and is no spec "
            "that could grow"
        )
    head, comma, options = machine.name.partition(",")
    name, _, size = head.partition(":")
    if is_family(name) and not find_family(name).is_regular:
        raise UsageError(
            f"predict {ranks}: {machine.name} has {count_of(nodes, 'node')}; its words say how a "
            f"{name} grows"
        )
    if name == _IN_DIMENSIONS:
        if ranks.bit_count() != 1:
            raise UsageError(
                f"predict {ranks}: a hypercube has a power of two nodes", options=["predict"]
            )
        grown = str(ranks.bit_length() - 1)
    else:
        grown = "x".join(map(str, grown_sides([int(side) for side in size.split("x")], ranks)))
    found = parse_machine(f"{name}:{grown}{comma}{options}")
    if found.topology.endpoints != ranks:
        raise UsageError(
            f"predict {ranks}: {found.name} has {count_of(found.topology.endpoints, 'node')}",
            options=["predict"],
        )
    return found


def grown_sides(sides: list[int], nodes: int) -> list[int]:
    """Sides whose product is `nodes`, grown from `sides`.

    Each prime factor of the growth, the largest first, goes to the side that is shortest then.

    >>> grown_sides([4, 8], 4096)
    [64, 64]

    Raises:
        UsageError: `nodes` is no multiple of their product.
    """
    growth, left = divmod(nodes, prod(sides))
    if left or not growth:
        raise UsageError(
            f"predict {nodes}: must be a multiple of the {count_of(prod(sides), 'node')} of "
            f"{'x'.join(map(str, sides))}",
            options=["predict"],
        )
    grown, factor, factors = list(sides), 2, []
    while growth > 1:
        if growth % factor == 0:
            factors.append(factor)
            growth //= factor
        else:
            factor += 1
    for each in reversed(factors):
        grown[grown.index(min(grown))] *= each
    return grown
