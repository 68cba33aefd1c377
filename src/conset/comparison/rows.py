"""Rows: one pattern on one machine by several methods under several policies, one row of figures for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from conset.choice import choose_policy
from conset.choice.simulated import require_affordable
from conset.comparison.curve import Watch
from conset.comparison.simulated import simulate_by
from conset.compiler import AUTO, Request, compile_pattern
from conset.errors import ConsetError, InputError, NoScheduleError, VerificationError
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.prediction import predict
from conset.schedule.schedule import Schedule
from conset.summary import summarize


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        rows: the keys of `compile --json`, one row for each method and policy; with models also `simulated` {model:
            {time_s, …}} and `not_simulated` {model: why}.
        terms: terms of the predicted time of each row [s].
        schedules: of each row, under its policy.
        skipped: `method` and `reason` of each method that does not apply.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    terms: list[dict[str, float]] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)


def compare(
    pattern: Pattern,
    machine: Machine,
    request: Request,
    methods: Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = (),
    watch: Watch | None = None,
) -> Comparison:
    """One row for each method that applies and each policy.

    Args:
        pattern: what is sent.
        machine: what it costs.
        request: options of every compile; its `rank_by` chooses where the method or a policy is `auto`.
        methods: method → its policies, `auto` for its best; without any its default.
        models: that simulate every row.
        watch: called with what is done next.

    Raises:
        UsageError: more messages than `rank_by` may rank. InputError: no method applies; says why the first does not.
        VerificationError: a method made a schedule that breaks a rule.
    """
    require_affordable(pattern, request.rank_by, request.effort)
    watching = watch or (lambda what: nullcontext())
    result = Comparison()
    first: ConsetError | None = None
    for name, policies in methods.items():
        rank_by = request.rank_by if name == AUTO else None
        with watching(f"scheduling by {name}"):
            try:
                schedule = compile_pattern(pattern, machine, replace(request, method=name, rank_by=rank_by))
                versions = [_under(schedule, policy, request) for policy in policies] or [schedule]
            except (InputError, NoScheduleError) as error:
                first = first or error
                result.skipped.append({"method": name, "reason": str(error)})
                continue
        with watching(f"verifying, bounding, predicting {name}"):
            _add_rows(result, versions)
    for row, schedule in zip(result.rows, result.schedules, strict=True) if models else ():
        with watching(f"simulating {schedule.method} under {schedule.sync} by {', '.join(models)}"):
            row["simulated"], row["not_simulated"] = simulate_by(schedule, models)
    if first is not None and not result.rows:
        raise first
    return result


def _under(schedule: Schedule, policy: str, request: Request) -> Schedule:
    """The schedule under another policy, about which nothing is known that was simulated before."""
    if policy == AUTO:
        return choose_policy(
            schedule, user_limits=schedule.limits_asked, rank_by=request.rank_by, effort=request.effort
        )
    return schedule if policy == schedule.sync else replace(schedule, sync=policy, simulated_s=None, verdict=None)


def _add_rows(result: Comparison, versions: Sequence[Schedule]) -> None:
    verified: bool | None = None
    for schedule in versions:
        summary = summarize(schedule, verified=verified)
        # the policy does not change what is verified
        verified = bool(summary["verified"])
        if not verified:
            raise VerificationError(f"method {schedule.method} made a schedule that does not verify: a bug of conset")
        result.rows.append(summary)
        result.terms.append(dict(predict(schedule).terms))
        result.schedules.append(schedule)
