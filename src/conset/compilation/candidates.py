"""Candidates: the methods `auto` tries, as a literal list, with what bounds them.

Contentions worth a try.

Making: the schedules that trials are made of: all candidates at contentions worth a try, and
naive's orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from conset import _core
from conset.base import ConsetError, InputError, NoScheduleError, counted
from conset.compilation.trial import SMALL, Base
from conset.machine import Machine
from conset.methods import LARGE, ROWS, AutoTrial, table
from conset.pattern import Pattern
from conset.schedule import ORDERS, Schedule, order_messages, phase_loads

MIN_SWEPT_LIMIT = 4
"""The contention up to which powers of two are tried whatever the pattern."""


@dataclass(frozen=True)
class Candidate:
    """A method that is worth a try, by its name, and how it is tried."""

    method: str
    trial: AutoTrial


CANDIDATES = tuple(
    sorted(
        (Candidate(row.name, row.auto) for row in ROWS if row.auto is not None),
        key=lambda candidate: candidate.trial.rank,
    )
)
"""What is tried, cheap ones first.

pex and pex-gen make the phases of lp, scott those of bounded at contention 1.
"""


def candidates(pattern: Pattern, machine: Machine, effort: int) -> Iterator[Candidate]:
    """The candidates that are affordable and may gain something."""
    for candidate in CANDIDATES:
        trial = candidate.trial
        affordable = trial.messages is None or pattern.messages <= trial.messages * effort
        if affordable and trial.when(pattern, machine):
            yield candidate


def contentions(
    candidate: Candidate, pattern: Pattern, machine: Machine, crowding: float = 0.0
) -> tuple[int | None, ...]:
    """Limits of links worth a try; None is the method's own.

    All methods that keep any: their own, what links carry without harm, and of patterns up to
    `SMALL` messages powers of two, at least up to `MIN_SWEPT_LIMIT` and until ports need as many
    phases as links. A complete exchange on a box needs no more than a quarter of the longest side
    for that.

    Args:
        candidate: the method.
        pattern: what is sent.
        machine: whose network and tolerance count.
        crowding: the most messages of a link over the most of a port.
    """
    topology = machine.topology
    if (
        not machine.routing.is_known
        or not topology.link_slots
        or "link" not in table()[candidate.method].adjustable_limits
    ):
        return (None,)
    harmless = machine.costs.tolerance
    small = pattern.messages <= SMALL
    if candidate.trial.sweep_link_limit and topology.is_box:
        most = -(-max(topology.sides) // 4)
        powers = [
            1 << k
            for k in reversed(range(most.bit_length()))
            if 1 << k < most and pattern.messages <= LARGE
        ]
        more = [MIN_SWEPT_LIMIT] if small else []
        return tuple(dict.fromkeys((most, *powers, min(harmless, most), *more)))
    most = max(MIN_SWEPT_LIMIT, int(crowding)) if small else 1
    powers = [
        1 << k
        for k in range(1, most.bit_length() + 1)
        if 1 << k < 2 * most or 1 << k <= MIN_SWEPT_LIMIT
    ]
    return tuple(
        dict.fromkeys((None, *(powers if small else ()), *((harmless,) if harmless > 1 else ())))
    )


class Make(Protocol):
    """Makes a schedule by a method of the table.

    A contention of None is what options ask for or the method's own.
    """

    def __call__(self, method: str, contention: int | None, effort: int) -> Schedule:
        """Raises `InputError` or `NoScheduleError` where the method does not apply."""


Refuse = Callable[[str], str | None]
"""Why a method does not apply, in one line; None where it does."""


def refuse_nothing(method: str) -> None:
    """Every method is tried."""


def make_naive(make: Make) -> Base | None:
    """Everything at once; None where the pattern has an order or limits are asked for."""
    try:
        return Base(make("naive", None, 0))
    except (InputError, NoScheduleError):
        return None


def make_others(
    make: Make,
    pattern: Pattern,
    machine: Machine,
    naive: Base | None,
    executor: Executor,
    *,
    sweep_link_limit: bool,
    effort: int,
    reach: int = 1,
    refuse: Refuse = refuse_nothing,
    ends: Callable[[Schedule], bool] | None = None,
) -> list[Base]:
    """Every other candidate at every contention, each schedule once, in the order of the list.

    Args:
        make: compiles by one method.
        pattern: what is sent.
        machine: what it costs.
        naive: everything at once, where that applies.
        executor: where methods run, beside each other.
        sweep_link_limit: whether contentions beside a method's own are tried.
        effort: sweeps of search.
        reach: factor of the most messages per unit of effort that methods are tried on.
        refuse: says of a method why it does not apply.
        ends: whether a schedule cannot be improved on: candidates after it are not made; None: all
            are.

    Raises:
        ConsetError: nothing applies and there is no naive; what the last method said.
        KeyboardInterrupt: the search was stopped before there was anything.
    """
    crowding = 0.0 if naive is None or not sweep_link_limit else _crowding(naive.schedule)

    every = candidates(pattern, machine, effort * reach)
    tried = [candidate for candidate in every if candidate.method != "naive"]
    refusals = {candidate.method: refuse(candidate.method) for candidate in tried}

    def attempt(candidate: Candidate, contention: int | None) -> Base | ConsetError:
        refusal = refusals[candidate.method]
        if refusal is not None:
            return InputError(refusal)
        try:
            return Base(make(candidate.method, contention, candidate.trial.effort(pattern, effort)))
        except (InputError, NoScheduleError) as reason:
            return reason

    attempts = [
        (candidate, contention)
        for candidate in tried
        for contention in (
            contentions(candidate, pattern, machine, crowding) if sweep_link_limit else (None,)
        )
    ]
    made: list[Base] = [] if naive is None else [naive]
    error: ConsetError | None = None
    ahead = len(attempts) if ends is None else 2
    submitted: list[Future[Base | ConsetError]] = []
    for k in counted(range(len(attempts))):
        if made and _core.stop_asked():
            break
        submitted += [executor.submit(attempt, *a) for a in attempts[len(submitted) : k + ahead]]
        try:
            found = submitted[k].result()
        except KeyboardInterrupt:
            if not made:
                raise
            break
        if isinstance(found, Base):
            made.append(found)
            if ends is not None and ends(found.schedule):
                break
        else:
            error = found
    for future in submitted:
        future.cancel()
    if not made:
        raise error or NoScheduleError(f"{pattern.name} on {machine.name}: no method applies")
    return list(_distinct(made))[naive is not None :]


def _crowding(everything: Schedule) -> float:
    """The most messages of a link over the most of a port."""
    loads = phase_loads(everything)
    ports = max(int(loads.send.max(initial=0)), int(loads.receive.max(initial=0)), 1)
    return int(loads.link.max(initial=0)) / ports


def _distinct(bases: list[Base]) -> Iterator[Base]:
    """The first of those with the same phases; routes, parts and timetables make a difference."""
    seen = set()
    for base in bases:
        schedule = base.schedule
        plain = (
            schedule.route_offsets is None and schedule.parts is None and schedule.timetable is None
        )
        key = (schedule.phase_offsets.tobytes(), schedule.message.tobytes()) if plain else id(base)
        costs = id(schedule.machine.costs_for(schedule.method))
        if (key, costs) not in seen:
            seen.add((key, costs))
            yield base


def naive_orders(naive: Base) -> list[Base]:
    """Everything at once in the other orders of posting, stage by stage of a program.

    Each order once.
    """
    schedule = naive.schedule
    phase = np.empty(schedule.pattern.messages, np.int32)
    phase[schedule.message] = schedule.phase_of
    orders = {
        name: order_messages(schedule.pattern, name, schedule.manifest.seed) for name in ORDERS
    }
    orders = {
        name: order[np.argsort(phase[order], kind="stable")] for name, order in orders.items()
    }
    bases = [Base(replace(schedule, message=order, posting=name)) for name, order in orders.items()]
    return list(_distinct([naive, *bases]))[1:]
