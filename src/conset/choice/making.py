"""Making: the schedules that trials are made of: all candidates at contentions worth a try, and naive's orders."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import replace
from typing import Protocol

from conset import _core
from conset.choice.candidates import Candidate, candidates, contentions
from conset.choice.trial import Base
from conset.errors import ConsetError, InputError, NoScheduleError
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.loads import phase_loads
from conset.schedule.posting import ORDERS, order_messages
from conset.schedule.schedule import Schedule


class Make(Protocol):
    """Makes a schedule by a method of the table; a contention of None is what options ask for or the method's own."""

    def __call__(self, method: str, contention: int | None, effort: int) -> Schedule:
        """Raises `InputError` or `NoScheduleError` where the method does not apply."""


def make_naive(make: Make) -> Base | None:
    """Everything at once; None where the pattern has an order or limits are asked for."""
    try:
        return Base(make("naive", None, 0))
    except (InputError, NoScheduleError):
        return None


def make_others(
    make: Make, pattern: Pattern, machine: Machine, naive: Base | None, executor: Executor, *, ladder: bool, effort: int
) -> list[Base]:
    """Every other candidate at every contention, each schedule once, in the order of the list.

    Args:
        make: compiles by one method.
        pattern: what is sent.
        machine: what it costs.
        naive: everything at once, where that applies.
        executor: where methods run, beside each other.
        ladder: whether contentions beside a method's own are tried.
        effort: sweeps of search.

    Raises:
        ConsetError: nothing applies and there is no naive; what the last method said.
        KeyboardInterrupt: the search was stopped before there was anything.
    """
    crowding = 0.0 if naive is None or not ladder else _crowding(naive.schedule)

    def attempt(candidate: Candidate, contention: int | None) -> Base | ConsetError:
        try:
            return Base(make(candidate.method, contention, candidate.effort(pattern, effort)))
        except (InputError, NoScheduleError) as reason:
            return reason

    asked = [
        executor.submit(attempt, candidate, contention)
        for candidate in candidates(pattern, machine, effort)
        if candidate.method != "naive"
        for contention in (contentions(candidate, pattern, machine, crowding) if ladder else (None,))
    ]
    made: list[Base] = [] if naive is None else [naive]
    error: ConsetError | None = None
    for future in asked:
        if made and _core.stop_asked():
            future.cancel()
            continue
        try:
            found = future.result()
        except KeyboardInterrupt:
            if not made:
                raise
            break
        if isinstance(found, Base):
            made.append(found)
        else:
            error = found
    for future in asked:
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
        plain = schedule.route_offsets is None and schedule.parts is None and schedule.timetable is None
        key = (schedule.phase_offsets.tobytes(), schedule.message.tobytes()) if plain else id(base)
        costs = id(schedule.machine.costs_for(schedule.method))
        if (key, costs) not in seen:
            seen.add((key, costs))
            yield base


def naive_orders(naive: Base) -> list[Base]:
    """Everything at once in the other orders of posting; each order once."""
    schedule = naive.schedule
    orders = {name: order_messages(schedule.pattern, name, schedule.manifest.seed) for name in ORDERS}
    bases = [Base(replace(schedule, message=order, posting=name)) for name, order in orders.items()]
    return list(_distinct([naive, *bases]))[1:]
