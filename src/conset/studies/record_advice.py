"""Advice on the exchanges of a recorded program, and the plans that change their order.

Each exchange is compared in two orders: as MPI libraries post it, everything at once, and in the
order of the best direct schedule. Both are predicted for one call and multiplied by the calls.

Model: what an order gains is waiting that it avoids, which a model without blocking (`flow`) does
not show. Where the machine neither states its model nor has a blocking one, `packet` is used.

Plans: one for each exchange and position of its period, of the messages of that call between all
ranks of the world, where a gain is predicted: the preloaded library tries each beside the program's
own order, and a trial of small messages costs more than it can bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from conset.base import InputError, NoScheduleError, format_size, replacing
from conset.compilation import (
    AUTO,
    BLOCKING,
    FORMULA,
    CompileOptions,
    allowed_work,
    choose_schedule,
    chosen_time,
    compile_by,
    compile_combined,
    is_affordable,
    least_bounds,
    placement_of,
    why_not,
)
from conset.execution import MAX_BYTES, make_plan, write_plan_file
from conset.execution.interception import PLANS
from conset.machine import Machine
from conset.models import predict
from conset.pattern import Pattern, Record, RecordedExchange, ranges_text
from conset.schedule import Schedule
from conset.studies.advice import Advice, advise, exchanges
from conset.studies.times import time_by

SCHEMA = "conset/plans@1"
WORTH = 1.05
"""Factor from which a gain is predicted: models are not more exact."""
SMALL_B = 1 << 14
"""Mean size of a message below which overheads must be known for a gain to be predicted [B]."""
COMBINED_B = 1 << 13
"""Mean size of a message below which combining is tried [B]."""
LATE = 1.1
"""Factor up to which an order with barriers is preferred.

Ranks of a program are late, and without barriers one that is late holds up others: orders of which
1.2 to 1.4 was predicted under `none` and `local` gained nothing.
"""
MAX_ORDERS = 64
"""Number of different exchanges for which orders are compiled, those with the most bytes first."""
POINT_TO_POINT = "point-to-point"


@dataclass(frozen=True)
class ExchangeAdvice:
    """Advice on one exchange, or on all point-to-point messages.

    Attributes:
        kind: of the call, or `point-to-point`.
        members: world ranks of the communicator in its order: `0-3,8`.
        ranks: number of them.
        calls: number of calls, or of messages.
        bytes: to other ranks, in all calls [B].
        period: number of calls after which the bytes repeat.
        able: whether the call can be intercepted.
        measured_s: time of the program in these calls [s]; None: not recorded.
        own_s: predicted time of all calls as the library posts them [s]; None: not predicted.
        ordered_s: in the order of the best schedule [s].
        bound_s: lower bound of all calls [s].
        by: the model, or `formula`; "" where nothing is predicted.
        action: `intercept`, `reorder ranks`, `use combining`, `change the call` or `nothing`.
        reason: why, in one sentence.
        plans: files with its order, by position of the period; "" where there is none.
    """

    kind: str
    members: str
    ranks: int
    calls: int
    bytes: int
    period: int
    able: bool = False
    measured_s: float | None = None
    own_s: float | None = None
    ordered_s: float | None = None
    bound_s: float | None = None
    by: str = ""
    action: str = "nothing"
    reason: str = ""
    plans: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """Predicted own time over that of the faster order; 1 where nothing is predicted."""
        return max(self.own_s / self.ordered_s, 1.0) if self.own_s and self.ordered_s else 1.0


@dataclass(frozen=True)
class RecordAdvice:
    """Advice on a record.

    Attributes:
        record: of the program.
        machine: where it runs.
        exchanges: those with the most bytes first, then point-to-point messages.
        advice: on all that was sent, as one pattern; None: not asked for, or nothing was sent.
    """

    record: Record
    machine: Machine
    exchanges: tuple[ExchangeAdvice, ...]
    advice: Advice | None

    @property
    def share(self) -> float:
        """Share of the bytes of exchanges and point-to-point messages that can be reordered."""
        able = sum(each.bytes for each in self.exchanges if each.able)
        return able / max(sum(each.bytes for each in self.exchanges), 1)

    @property
    def gain(self) -> float:
        """Predicted gain of the exchanges that can be reordered, with their plans, all together."""
        able = [each for each in self.exchanges if each.able and each.own_s]
        own_s = sum(each.own_s or 0 for each in able)
        least_s = sum((each.own_s or 0) / (each.gain if each.plans else 1) for each in able)
        return own_s / least_s if able else 1.0

    def to_object(self) -> dict[str, Any]:
        """JSON-ready: the keys of `advise --json` for a record."""
        record, sent = self.record, self.record.exchanged()
        pairs = (sent.source.tolist(), sent.target.tolist(), sent.size.tolist())
        return {
            "machine": self.machine.name,
            "ranks": record.ranks,
            **(self.advice.to_object() if self.advice else {}),
            "share": self.share,
            "gain": self.gain,
            "exchanges": [asdict(each) | {"gain": each.gain} for each in self.exchanges],
            "pairs": [list(pair) for pair in zip(*pairs, strict=True)],
            "missing": record.missing.tolist(),
            "notes": list(record.notes),
        }


def advise_record(
    record: Record,
    machine: Machine,
    folder: Path,
    options: CompileOptions | None = None,
    *,
    plans_only: bool = False,
    others: Sequence[Machine] = (),
    without: Sequence[str] = (),
) -> RecordAdvice:
    """Advice on a recorded program; writes `plans.txt` and the plans that it names into a folder.

    Args:
        record: what ranks sent.
        machine: where.
        folder: where plans are written.
        options: placement, ranks per node, seed and effort.
        plans_only: only exchanges that can be intercepted are looked at, by their orders alone.
        others: as of `advise`.
        without: as of `advise`.

    Raises:
        ConsetError: as `advise`; the plans cannot be written.
    """
    options = options or CompileOptions()
    pattern, advice = record.pattern(), None
    if pattern.messages and not plans_only:
        advice = advise(pattern, machine, options, others=others, without=without)
    study = _Study(record, machine, options, folder, advice)
    rows = [study.row(exchange) for exchange in record.exchanges]
    if record.messages.bytes.size:
        rows.append(study.point_to_point())
    lines = [
        f"plan {row.kind} {row.members} {row.period} {position} {plan}\n"
        for row in rows
        for position, plan in enumerate(row.plans)
        if plan
    ]
    with replacing(folder / PLANS) as path:
        path.write_text("".join([f"{SCHEMA}\nranks {record.ranks}\n", *lines]), encoding="utf-8")
    return RecordAdvice(record, machine, tuple(rows), advice)


class _Orders(NamedTuple):
    """One call in two orders; `file`: of the plan, if it is written."""

    file: str
    schedule: Schedule
    own_s: float
    ordered_s: float
    bound_s: float
    by: str


class _Study:
    """Orders of the exchanges of a record, each compiled once; without advice plans alone."""

    def __init__(
        self,
        record: Record,
        machine: Machine,
        options: CompileOptions,
        folder: Path,
        advice: Advice | None,
    ) -> None:
        self._record, self._machine, self._folder = record, machine, folder
        self._options, self._advice = options, advice
        self._placement = placement_of(record.pattern(), machine, options)
        self._orders: dict[bytes, _Orders] = {}

    def row(self, exchange: RecordedExchange) -> ExchangeAdvice:
        """Advice on an exchange, whose plans are written."""
        action, reason = exchange.obstacle
        row = ExchangeAdvice(
            exchange.kind,
            ranges_text(exchange.members),
            exchange.members.size,
            exchange.calls,
            exchange.bytes,
            exchange.period,
            not action,
            exchange.seconds,
        )
        if not exchange.bytes or action == "nothing" or (action and self._advice is None):
            return replace(row, action=action or "nothing", reason=reason or "sends nothing")
        ranks = self._record.ranks
        patterns = [exchange.pattern(position, ranks) for position in range(exchange.period)]
        row, orders = self._timed(row, patterns, exchange.calls_at.tolist())
        if not orders:
            return row
        stated = self._machine.states("overhead") or self._machine.states("send_overhead")
        least = 0 if stated else SMALL_B * sum(each.messages for each in patterns)
        if row.gain >= WORTH and sum(each.bytes for each in patterns) < least:
            size = f"messages of less than {format_size(SMALL_B)}"
            return replace(row, reason=f"{size}, on a machine without overheads: calibrate it")
        if row.able and row.gain >= WORTH:
            for each in filter(None, orders):
                write_plan_file(make_plan(each.schedule), self._folder / each.file)
            row = replace(row, plans=tuple(each.file if each else "" for each in orders))
        return self._with_action(row, action, reason, max(patterns, key=lambda each: each.bytes))

    def point_to_point(self) -> ExchangeAdvice:
        """Advice on all point-to-point messages."""
        ranks, number = self._record.ranks, sum(self._record.sent)
        pattern = Pattern.from_messages(*self._record.messages, ranks)
        world = ranges_text(np.arange(ranks))
        row = ExchangeAdvice(POINT_TO_POINT, world, ranks, number, pattern.bytes, 1)
        reason = "messages of Send, Sendrecv and Isend keep the order of the program"
        if self._advice is None or not pattern.messages:
            return replace(row, reason=reason)
        row, orders = self._timed(row, [pattern], [1])
        reason += "; as one all-to-all call they can be intercepted"
        return self._with_action(row, "change the call", reason, pattern) if orders else row

    def _timed(
        self, row: ExchangeAdvice, patterns: Sequence[Pattern], calls: Sequence[int]
    ) -> tuple[ExchangeAdvice, list[_Orders | None]]:
        """(the row with times, orders by position); no orders where there is no schedule."""
        try:
            orders = [self._orders_of(each) if each.messages else None for each in patterns]
        except (InputError, NoScheduleError) as reason:
            return replace(row, reason=str(reason)), []
        made = [(number, each) for number, each in zip(calls, orders, strict=True) if each]
        return replace(
            row,
            own_s=sum(number * each.own_s for number, each in made),
            ordered_s=sum(number * each.ordered_s for number, each in made),
            bound_s=sum(number * each.bound_s for number, each in made),
            by=", ".join(dict.fromkeys(each.by for _, each in made)),
        ), orders

    def _orders_of(self, pattern: Pattern) -> _Orders:
        sizes = np.minimum(pattern.size, MAX_BYTES)  # the plan has each pair once
        key = pattern.offsets.tobytes() + pattern.target.tobytes() + sizes.tobytes()
        if key not in self._orders:
            if len(self._orders) >= MAX_ORDERS:
                raise NoScheduleError(f"not among the {MAX_ORDERS} exchanges with the most bytes")
            self._orders[key] = self._compiled(replace(pattern, size=sizes))
        return self._orders[key]

    def _compiled(self, pattern: Pattern) -> _Orders:
        machine, placement = self._machine, self._placement
        by, own_s = self._own_time(exchanges(pattern, machine, placement)["naive exchange"])
        options = replace(self._options, placement="identity", combine=None, rank_by=by)

        def make(method: str, contention: int | None, effort: int) -> Schedule:
            made = compile_by(
                method,
                pattern,
                machine,
                options,
                placement,
                contention=contention,
                effort=effort,
            )
            if method == "naive" or made.parts is not None:
                raise NoScheduleError(f"{method}: is no order of whole messages")
            return made

        def choose(sync: str | None) -> Schedule:
            return choose_schedule(
                make,
                pattern,
                machine,
                replace(options, sync=sync),
                refuse=lambda method: why_not(method, pattern, machine, options, placement),
            )

        schedule = choose(options.sync)
        if not schedule.sync.startswith("barrier"):
            with suppress(InputError, NoScheduleError):
                apart = choose("barrier")
                if chosen_time(apart) <= LATE * chosen_time(schedule):
                    schedule = apart
        bound_s = least_bounds(pattern, machine, schedule).time_s
        return _Orders(
            f"plan-{len(self._orders)}.plan", schedule, own_s, chosen_time(schedule), bound_s, by
        )

    def _own_time(self, naive: Schedule) -> tuple[str, float]:
        """(the model that compares orders, the time of the naive exchange by it [s])."""
        machine, effort = self._machine, self._options.effort
        model = machine.costs.model
        first = model if model in BLOCKING or machine.states("model") else "packet"
        for by in dict.fromkeys((first, model)):
            if is_affordable(naive.pattern, by, effort):
                time_s, _ = time_by(naive, by, allowed_work(naive.pattern, by, effort))
                if time_s is not None:
                    return by, time_s
        return FORMULA, predict(naive).time_s

    def _with_action(
        self, row: ExchangeAdvice, action: str, reason: str, pattern: Pattern
    ) -> ExchangeAdvice:
        """A row with times, with what to do; `action`: where it cannot be intercepted."""
        if row.gain >= WORTH:
            reasons = "; ".join(filter(None, (f"{row.gain:.2f} x faster by {row.by}", reason)))
            return replace(row, action=action or "intercept", reason=reasons)
        if self._advice is not None and pattern.bytes < COMBINED_B * pattern.messages:
            direct = self._orders_of(pattern)
            options = replace(self._options, rank_by=direct.by, combine=None)
            found = compile_combined(pattern, self._machine, options, AUTO)
            if found.program.paths is not None and direct.own_s >= WORTH * chosen_time(found.whole):
                gain = f"{direct.own_s / chosen_time(found.whole):.2f} x faster by {direct.by}"
                return replace(row, action="use combining", reason=f"{found.combine}: {gain}")
        if self._advice is not None and len(self._advice.orders) > 1:
            own, best = self._advice.orders
            gain = f"{own.naive_s / best.naive_s:.2f} x faster" if best.naive_s else "faster"
            reason = f"rank file of order {best.name}: {gain}"
            return replace(row, action="reorder ranks", reason=reason)
        near = (row.own_s or 0) <= WORTH * (row.bound_s or 0)
        no = "its own order is near the bound" if near else "no order is predicted to be faster"
        return replace(row, reason=no)
