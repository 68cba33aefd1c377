"""Rows of figures: one pattern on one machine by several methods under several policies.

Rows are sorted by the time that decides: what the machine's model says, or another, or the formula.
Effort is counted: a simulation takes no more work than a whole choice by `auto` may, methods that
search are left out above `LARGE` messages unless they are named. A row says where it has no time
and why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from conset.base.errors import ConsetError, InputError, NoScheduleError, VerificationError
from conset.base.progress import counted
from conset.compilation.auto import choose_policy
from conset.compilation.candidates import LARGE
from conset.compilation.combining.choose import compile_combined
from conset.compilation.combining.summary import summarize_combination
from conset.compilation.options import AUTO, FORMULA, CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.ranking import allowed_work, ranking_of, require_affordable
from conset.compilation.summary import summarize
from conset.machine.machine import Machine
from conset.models.formula import predict
from conset.pattern.pattern import Pattern
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule
from conset.studies.compare.simulated import simulate_by
from conset.studies.compare.times import check_by, deciding, model_time, under

if TYPE_CHECKING:
    from pandas import DataFrame

Watch = Callable[[str], AbstractContextManager[None]]
"""Called with what is done next; entered for as long as that takes."""
SEARCHING = ("negotiated", "half-duplex", "decreasing", "birkhoff", "event-list", "connections")
"""Methods that search for long.

They are compared up to `LARGE` messages per unit of effort, unless they are named.
"""


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        rows: by rising `time_s`, those without one last: the keys of `compile --json`, one row for
            each method and policy, and `by` (what says `time_s`: a model or `formula`), `time_s`
            (None where it does not; [s]), `untimed` (why not, or None), `contention` (the limit of
            a link, None without one), `machine_in_flight` (sends a rank keeps open where the
            schedule does not say, or `all`); with models also `simulated` {model: {time_s, …}} and
            `not_simulated` {model: why}.
        terms: terms of the predicted time of each row [s].
        schedules: of each row, under its policy; a program as one.
        programs: of each row that forwards, else None.
        skipped: `method` and `reason` of each method that does not apply.
        by: what decides.
        stands_in: why that is the formula and not the machine's model, if so.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    terms: list[dict[str, float]] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    programs: list[Program | None] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    by: str = FORMULA
    stands_in: str = ""

    def sorted(self) -> Comparison:
        """The rows by rising time, those without one last and by the formula."""
        order = sorted(range(len(self.rows)), key=lambda k: _rank(self.rows[k]))
        return replace(
            self,
            rows=[self.rows[k] for k in order],
            terms=[self.terms[k] for k in order],
            schedules=[self.schedules[k] for k in order],
            programs=[self.programs[k] for k in order],
        )

    def to_pandas(self) -> DataFrame:
        """The rows as a tidy frame.

        One row for each method and policy, one value a cell (`comparison.tidy`).

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from conset.studies.compare.tidy import to_pandas

        return to_pandas(self.rows)


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    """Sums in another order are one time."""
    time_s = inf if row["time_s"] is None else row["time_s"]
    return float(f"{time_s:.9g}"), float(f"{row['predicted_s']:.9g}")


def compare(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    methods: Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = (),
    by: str | None = None,
    named: bool = True,
    combines: Sequence[str] = (),
    watch: Watch | None = None,
) -> Comparison:
    """One row for each method that applies and each policy, the fastest first.

    And one for each way to combine.

    Args:
        pattern: what is sent.
        machine: what it costs.
        options: options of every compile; its `rank_by` chooses where the method or a policy is
            `auto`.
        methods: method → its policies, `auto` for its best; without any its default.
        models: that simulate every row.
        by: what says a row's time: a model, or `formula`; None: the machine's model, or the formula
            where the pattern is too large for it.
        named: whether somebody asked for these very methods, so that none is left out for its
            effort.
        combines: words of `--combine`: programs that forward, their stages scheduled by `auto`.
        watch: called with what is done next.

    Raises:
        UsageError: an unknown model, or more messages than `rank_by` may rank. InputError: no
            method applies; says why the first does not. VerificationError: a method made a schedule
            that breaks a rule.
    """
    check_by(by)
    require_affordable(pattern, options.rank_by, options.effort)
    watching = watch or quiet
    model, stands_in = deciding(machine, by, pattern.messages, options.effort)
    result = Comparison(by=model, stands_in=stands_in)
    first: ConsetError | None = None
    for k, (name, policies) in enumerate(counted(methods.items()), 1):
        if not named and name in SEARCHING and pattern.messages > LARGE * options.effort:
            result.skipped.append({"method": name, "reason": _too_long(name, pattern, options)})
            continue
        rank_by = options.rank_by if name == AUTO else None
        with watching(f"scheduling by {name} ({k} of {len(methods)})"):
            try:
                schedule = compile_pattern(
                    pattern, machine, replace(options, method=name, rank_by=rank_by)
                )
                versions = [_under(schedule, policy, options) for policy in policies] or [schedule]
            except (InputError, NoScheduleError) as error:
                first = first or error
                result.skipped.append({"method": name, "reason": str(error)})
                continue
        with watching(f"verifying, bounding, predicting {name} ({k} of {len(methods)})"):
            _add_rows(result, versions, by_auto=name == AUTO)
    for word in combines:
        with watching(f"combining by {word}"):
            _add_combined(result, pattern, machine, options, word)
    if first is not None and not result.rows:
        raise first
    _add_times(
        result, None if by is None and model != FORMULA else model, models, options.effort, watching
    )
    decided = ", ".join(dict.fromkeys(str(row["by"]) for row in result.rows))
    return replace(result, by=decided or model).sorted()


def compare_pairs(
    pairs: Sequence[tuple[Pattern, Machine]],
    options: CompileOptions,
    methods: Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = (),
    by: str | None = None,
    named: bool = True,
    combines: Sequence[str] = (),
    watch: Watch | None = None,
) -> list[Comparison]:
    """`compare` for several patterns and machines, pair after pair.

    Args:
        pairs: patterns, each on its machine.
        options: as for `compare`, and what follows.
        methods: method → its policies.
        models: that simulate every row.
        by: what says a row's time; None: each machine's model.
        named: whether somebody asked for these very methods.
        combines: words of `--combine`.
        watch: called with what is done next.

    Returns:
        One for each pair, in their order; rows and skipped methods name it by `pattern_name` and
        `machine`. Where no method applies there are no rows, and `skipped` says why.

    Raises:
        As `compare`; InputError, NoScheduleError: where no method applies to any pair.
    """
    found = []
    first: ConsetError | None = None
    for k, (pattern, machine) in enumerate(pairs, 1):
        place = {"pattern_name": pattern.name, "machine": machine.name}
        where = (
            f"{pattern.name} on {machine.name} ({k} of {len(pairs)}): " if len(pairs) > 1 else ""
        )
        try:
            result = compare(
                pattern,
                machine,
                options,
                methods,
                models=models,
                by=by,
                named=named,
                combines=combines,
                watch=_under_name(watch or quiet, where),
            )
        except (InputError, NoScheduleError) as error:
            first = first or error
            result = Comparison(skipped=[{"method": ", ".join(methods), "reason": str(error)}])
        rows = [{**row, **place} for row in result.rows]
        found.append(
            replace(result, rows=rows, skipped=[{**place, **each} for each in result.skipped])
        )
    if first is not None and not any(result.rows for result in found):
        raise first
    return found


def _under_name(watch: Watch, name: str) -> Watch:
    return lambda what: watch(f"{name}{what}")


def merged(results: Sequence[Comparison]) -> Comparison:
    """All rows of several, one after the other; `by` and `stands_in` name all that occur."""
    timed = [result for result in results if result.rows]
    return Comparison(
        rows=[row for result in results for row in result.rows],
        terms=[terms for result in results for terms in result.terms],
        schedules=[schedule for result in results for schedule in result.schedules],
        programs=[program for result in results for program in result.programs],
        skipped=[each for result in results for each in result.skipped],
        by=", ".join(dict.fromkeys(result.by for result in timed)) or FORMULA,
        stands_in="; ".join(
            dict.fromkeys(result.stands_in for result in timed if result.stands_in)
        ),
    )


def _too_long(name: str, pattern: Pattern, options: CompileOptions) -> str:
    most = LARGE * options.effort
    return (
        f"searches too long for {pattern.messages:,} messages, at most {most:,}; --methods "
        f"{name} or --effort allows"
    )


def _add_times(
    result: Comparison, by: str | None, models: Sequence[str], effort: int, watching: Watch
) -> None:
    """What decides and what is shown beside it, simulated once.

    `by` None: the machine's model of each method.
    """
    pairs = list(zip(result.rows, result.schedules, strict=True))
    for k, (row, schedule) in enumerate(counted(pairs), 1):
        what = f"{schedule.method} under {schedule.sync} ({k} of {len(result.rows)})"
        if models:
            with watching(f"simulating {what} by {', '.join(models)}"):
                row["simulated"], row["not_simulated"] = simulate_by(
                    schedule, models, effort=effort
                )
        model = ranking_of(schedule.machine, by, schedule.method)
        with watching(f"simulating {what} by {model}"):
            time_s, why_not = _deciding_time(row, schedule, model, effort)
        own = schedule.machine.costs_for(schedule.method).in_flight
        row |= {
            "by": model,
            "time_s": time_s,
            "untimed": why_not or None,
            "contention": contention_of(schedule),
            "machine_in_flight": "all" if own is None else own,
        }


def _deciding_time(
    row: dict[str, Any], schedule: Schedule, by: str, effort: int
) -> tuple[float | None, str]:
    if by == FORMULA:
        return row["predicted_s"], ""
    if by in row.get("simulated", {}):
        return row["simulated"][by]["time_s"], ""
    if by in row.get("not_simulated", {}):
        return None, row["not_simulated"][by]
    return model_time(schedule, by, allowed_work(schedule.pattern, by, effort))


def contention_of(schedule: Schedule) -> int | None:
    """The limit of a link in a phase; None where there is none or the network has no links."""
    return schedule.limits.link if schedule.machine.topology.link_slots else None


def _under(schedule: Schedule, policy: str, options: CompileOptions) -> Schedule:
    """The schedule under another policy, or its best."""
    if policy == AUTO:
        return choose_policy(schedule, rank_by=options.rank_by, effort=options.effort)
    return under(schedule, policy)


def _add_rows(result: Comparison, versions: Sequence[Schedule], *, by_auto: bool) -> None:
    """Rows of one method; `by_auto`: whether it was chosen, not only its policy."""
    verified: bool | None = None
    for schedule in versions:
        summary = summarize(schedule, verified=verified)
        # the policy does not change what is verified
        verified = bool(summary["verified"])
        if not verified:
            raise VerificationError(
                f"method {schedule.method} made a schedule that does not verify: a bug of conset"
            )
        result.rows.append({**summary, "method_by_auto": by_auto})
        result.terms.append(dict(predict(schedule).terms))
        result.schedules.append(schedule)
        result.programs.append(None)


def _add_combined(
    result: Comparison, pattern: Pattern, machine: Machine, options: CompileOptions, word: str
) -> None:
    """The row of a program that forwards.

    Its method is that of its stages and the word for their paths.
    """
    try:
        found = compile_combined(pattern, machine, replace(options, method=AUTO), word)
    except (InputError, NoScheduleError) as error:
        result.skipped.append({"method": word, "reason": str(error)})
        return
    summary = summarize_combination(found)
    if not summary["verified"]:
        raise VerificationError(
            f"combine {word} made a program that does not verify: a bug of conset"
        )
    method = (
        found.whole.method if found.combine == "none" else f"{found.whole.method} {found.combine}"
    )
    result.rows.append({**summary, "method": method, "method_by_auto": True})
    result.terms.append(dict(predict(found.whole).terms))
    result.schedules.append(found.whole)
    result.programs.append(found.program)


def quiet(what: str) -> AbstractContextManager[None]:
    """Says nothing."""
    return nullcontext()
