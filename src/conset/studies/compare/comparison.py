"""Comparison: one pattern on one machine by several methods under several policies.

One row of figures for each.

Rows are sorted by the time that decides: by the machine's model, by another one, or by the formula.
Effort is counted: a simulation takes no more work than a whole choice by `auto` may; methods that
search are left out above `LARGE` messages unless they are named. A row without a time has the
reason.

Tidy tables: rows of figures flattened to one value a cell, as CSV, Parquet or a frame of pandas. A
nested figure has its path for a column (`bound.time_s` is `bound_time_s`); what is a list, a
sentence about a figure or a structure of its own stays with `--json`. Parquet and frames need
pandas (`conset[frames]`); CSV needs nothing.

Stages: what forwarding saves and costs, over sizes of message.

At every size the best paths of each number of stages, as the cost model orders them
(`conset.compilation.combining`), and what else is asked for are compiled, and the
machine's model predicts each program. Bytes sent over bytes delivered are its volume: with
the number of stages start-ups fall and bytes rise, so that the best number falls with the size. The
bound is that of any number of stages.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base import (
    ConsetError,
    InputError,
    NoScheduleError,
    UsageError,
    count_of,
    counted,
    format_time,
    import_extra,
    replacing,
    require_suffix,
)
from conset.bounds import bound_stages
from conset.compilation import (
    AUTO,
    FORMULA,
    CompileOptions,
    Placement,
    allowed_work,
    compile_along,
    least_bounds,
    placement_of,
    ranking_of,
    require_affordable,
)
from conset.compilation.combining import candidates
from conset.machine import Machine
from conset.methods import LARGE, find_method, parse_combine, paths_of
from conset.models import find_model
from conset.pattern import Pattern
from conset.schedule import Manifest, Paths, Program, Schedule, parse_sync
from conset.studies.contender import Contender, Entry
from conset.studies.times import (
    Simulated,
    check_by,
    deciding,
    errors_of,
    reference_of,
    simulate_by,
    time_by,
    time_schedule,
)

if TYPE_CHECKING:
    from pandas import DataFrame

CSV, PARQUET = ".csv", ".parquet"
SUFFIXES = (CSV, PARQUET)
EXTRA = "frames"
FIRST = (
    "pattern_name",
    "machine",
    "method",
    "sync",
    "contention",
    "phases",
    "by",
    "time_s",
    "predicted_s",
)
"""Columns that say what a row is of and what came out, where rows have them."""
_WITH_JSON = ("verdict", "guaranteed", "stages", "candidates", "figures", "not_simulated", "note")
"""What is no figure of the row."""

Cell = str | int | float | bool | None


def tidy(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[dict[str, Cell]]]:
    """(columns, rows): every row with all columns, None where it has no such figure.

    Args:
        rows: objects as `compare --json` has them.
    """
    flat = [dict(_cells("", row)) for row in rows]
    values: dict[str, list[Cell]] = {}
    for name in dict.fromkeys(name for row in flat for name in row):
        column: list[Cell] = [row.get(name) for row in flat]
        nested = any(other.startswith(f"{name}_") for row in flat for other in row)
        if nested and not any(cell is not None for cell in column):
            continue  # a structure that other rows have
        if any(isinstance(cell, str) for cell in column):
            # numbers beside words as words: in flight are `all` in one row and `4` in another
            column = [None if cell is None else str(cell) for cell in column]
        values[name] = column
    columns = [
        *(name for name in FIRST if name in values),
        *(name for name in values if name not in FIRST),
    ]
    return columns, [{name: values[name][k] for name in columns} for k in range(len(flat))]


def _cells(path: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Cell]]:
    for key, part in value.items():
        name = f"{path}_{key}" if path else str(key)
        if name in _WITH_JSON and not isinstance(part, int | float):
            continue
        if isinstance(part, Mapping):
            yield from _cells(name, part)
        elif part is None or isinstance(part, str | int | float):
            yield name, part


def to_pandas(rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """The table as a frame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    pandas = import_extra("pandas", EXTRA)
    columns, cells = tidy(rows)
    return pandas.DataFrame(cells, columns=columns)


def check_table_path(path: Path) -> None:
    """Before anything is computed.

    Raises UsageError for another suffix, MissingExtraError for a missing library.
    """
    require_suffix(path, "a table", *SUFFIXES)
    for library in ("pandas", "pyarrow") if path.suffix.lower() == PARQUET else ():
        import_extra(library, EXTRA)


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes `path` (.csv or .parquet), whole or not at all; the same rows, the same bytes.

    Raises:
        UsageError: another suffix. MissingExtraError: Parquet without pandas and pyarrow.
        InputError: the file cannot be written.
    """
    check_table_path(path)
    if path.suffix.lower() == PARQUET:
        frame = to_pandas(rows)
        with replacing(path) as temporary:
            frame.to_parquet(temporary, engine="pyarrow", index=False)
        return
    columns, cells = tidy(rows)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells)


Watch = Callable[[str], AbstractContextManager[None]]
"""Progress callback: called with the next step, and entered for as long as that takes."""


@dataclass(frozen=True)
class Policies:
    """Policies that each method takes.

    Attributes:
        common: of every method that has none of its own; () for its fastest.
        own: method → its own.
    """

    common: tuple[str, ...] = ()
    own: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, method: str) -> tuple[str, ...]:
        """Return the policies of a method."""
        return self.own.get(method, self.common)

    def spread(self, methods: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return method → policies; its fastest where none is given.

        Raises:
            UsageError: a method has its own policy but is none of `methods`.
        """
        spread = {
            method: self.of(method) or (() if method == AUTO else (AUTO,)) for method in methods
        }
        for method, policies in self.own.items():
            if method not in spread:
                text = f"sync {method}={policies[0]}: {method} is not compared: {', '.join(spread)}"
                raise UsageError(text, options=["sync"])
        return spread


def parse_policies(text: str | None) -> Policies:
    """Parse `ready`, `none,barrier`, `auto,naive=none`.

    A policy without a method is for all methods that have none of their own; `auto`: the best.

    Raises:
        UsageError: an unknown policy or method.
    """
    policies: dict[str, dict[str, None]] = {"": {}}
    for word in [] if text is None else text.split(","):
        name, equals, policy = (part.strip() for part in word.rpartition("="))
        method = name if not equals or name == AUTO else find_method(name).name
        policies.setdefault(method, {})[
            AUTO if policy == AUTO else str(parse_sync(policy, AUTO))
        ] = None
    common, *own = ((method, tuple(unique)) for method, unique in policies.items())
    return Policies(common[1], MappingProxyType(dict(own)))


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """Figures of one method under one policy, or of one way to combine messages.

    Attributes:
        entry: what was compiled.
        figures: the keys of `compile --json`.
        by_auto: whether the method was chosen, not only its policy.
        by: what gives `time_s`: a model or `formula`.
        time_s: the time that decides [s]; None: there is none.
        untimed: the reason, or "".
        simulated: figures by each model; None: no models were asked for.
        not_simulated: the reasons of models that have none.
        place: `pattern_name` and `machine`, where there may be several of them.
        bound_s: what no schedule of the pattern takes less than [s].
        measured: what a job over MPI took here, and where it ran; None: it was not run.
        errors: error of each time relative to a reference; None: nothing is given beside the
            prediction.
    """

    entry: Entry
    figures: Mapping[str, Any]
    by_auto: bool
    by: str = FORMULA
    time_s: float | None = None
    untimed: str = ""
    simulated: Mapping[str, Simulated] | None = None
    not_simulated: Mapping[str, str] = field(default_factory=dict)
    place: Mapping[str, str] = field(default_factory=dict)
    bound_s: float = 0.0
    measured: Mapping[str, Any] | None = None
    errors: Mapping[str, float] | None = None

    @property
    def method(self) -> str:
        """Name of the method; of a program that of its stages and the way to combine them."""
        combine = self.figures.get("combine", "none")
        return self.entry.whole.method + ("" if combine == "none" else f" {combine}")

    @property
    def rank(self) -> tuple[float, float]:
        """Key to sort by: sums in another order are one time."""
        time_s = inf if self.time_s is None else self.time_s
        return float(f"{time_s:.9g}"), float(f"{self.entry.prediction.time_s:.9g}")

    def timed(
        self, by: str | None, models: Sequence[str], effort: int, watching: Watch, place: str
    ) -> ComparisonRow:
        """Return the row with its time by `by` (None: the machine's model of its method) and by
        models.
        """  # noqa: D205
        row, schedule = self, self.entry.whole
        what = f"{schedule.method} under {schedule.sync} ({place})"
        if models:
            with watching(f"simulating {what} by {', '.join(models)}"):
                simulated, refused = simulate_by(schedule, models, effort=effort)
            row = replace(row, simulated=simulated, not_simulated=refused)
        model = ranking_of(schedule.machine, by, schedule.method)
        with watching(f"simulating {what} by {model}"):
            if row.simulated and model in row.simulated:
                return replace(row, by=model, time_s=row.simulated[model].time_s)
            time_s, reason = None, row.not_simulated.get(model, "")
            if not reason:
                most = 0 if model == FORMULA else allowed_work(schedule.pattern, model, effort)
                time_s, reason = time_by(schedule, model, most)
        return replace(row, by=model, time_s=time_s, untimed=reason)

    def to_object(self) -> dict[str, Any]:
        """Return the row as `compare --json` prints it."""
        beside: dict[str, Any] = {}
        if self.simulated is not None or self.errors is not None:
            beside["simulated"] = {
                model: asdict(figures) for model, figures in (self.simulated or {}).items()
            }
            beside["not_simulated"] = dict(self.not_simulated)
        in_flight = self.entry.whole.machine.costs_for(self.entry.whole.method).in_flight
        return {
            **self.figures,
            "method": self.method,
            "method_by_auto": self.by_auto,
            **beside,
            "by": self.by,
            "time_s": self.time_s,
            "untimed": self.untimed or None,
            "bound_s": self.bound_s,
            "contention": self.entry.contention,
            "machine_in_flight": "all" if in_flight is None else in_flight,
            **self.place,
            **(
                {}
                if self.errors is None
                else {"measured": self.measured, "errors": dict(self.errors)}
            ),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods beside each other, by rising time, those without one last.

    Attributes:
        entries: rows as they were computed.
        skipped: `method` and `reason` of each method that does not apply.
        by: what decides.
        stands_in: why that is the formula and not the machine's model, if so.
        reference: what errors are relative to; "" where nothing is given beside the prediction.
    """

    entries: Sequence[ComparisonRow] = ()
    skipped: Sequence[Mapping[str, str]] = ()
    by: str = FORMULA
    stands_in: str = ""
    reference: str = ""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The keys of `compile --json`, one row for each method and policy, and further keys.

        `by` (what gives `time_s`: a model or `formula`), `time_s` (None where there is none; [s]),
        `untimed` (why, or None), `contention` (the limit of a link, None without one),
        `machine_in_flight` (sends a rank keeps open where the schedule has no number, or `all`);
        with models also `simulated` {model: {time_s, …}} and `not_simulated` {model: why}.
        """
        return [row.to_object() for row in self.entries]

    def __str__(self) -> str:
        """A table: method, policy, phases, time and time over the bound of any schedule."""
        cells = [("method", "sync", "phases", f"by {self.by}", "/ bound")]
        for row in self.entries:
            time_s, schedule = row.time_s, row.entry.whole
            time = "-" if time_s is None else format_time(time_s)
            over = f"{time_s / row.bound_s:.3f}" if time_s and row.bound_s else "-"
            cells.append((row.method, schedule.sync, f"{schedule.phases:,}", time, over))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        skipped = [f"{each['method']}: does not apply: {each['reason']}" for each in self.skipped]
        return "\n".join([*lines, *skipped])

    @property
    def terms(self) -> list[dict[str, float]]:
        """Terms of the predicted time of each row [s]."""
        return [dict(row.entry.prediction.terms) for row in self.entries]

    @property
    def schedules(self) -> list[Schedule]:
        """Schedule of each row, under its policy; a program as one."""
        return [row.entry.whole for row in self.entries]

    @property
    def programs(self) -> list[Program | None]:
        """Program of each row that combines messages, else None."""
        return [row.entry.program for row in self.entries]

    def with_errors(
        self, machine: Machine, measure: Callable[[Entry], Mapping[str, Any] | None]
    ) -> Comparison:
        """Return the rows with what `measure` returns of each.

        And the errors of all times beside it.
        """
        rows = [replace(row, measured=measure(row.entry), errors={}) for row in self.entries]
        found = [row.to_object() for row in rows]
        reference = reference_of(found, machine)
        rows = [
            replace(row, errors=errors_of(each, reference))
            for row, each in zip(rows, found, strict=True)
        ]
        return replace(self, entries=rows, reference=reference)

    def to_pandas(self) -> DataFrame:
        """Return the rows as a tidy frame: one row for each method and policy, one value a cell.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return to_pandas(self.rows)


def quiet(what: str) -> AbstractContextManager[None]:
    """Do nothing: the progress callback of callers that show no progress."""
    return nullcontext()


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
    watch: Watch = quiet,
) -> Comparison:
    """Return rows, fastest first: of each applicable method, policy and way to combine messages.

    Args:
        pattern: what is sent.
        machine: what it costs.
        options: options of every compile; its `rank_by` chooses where the method or a policy is
            `auto`.
        methods: method → its policies, `auto` for its best; without any that of a compile.
        models: that simulate every row.
        by: what gives a row's time: a model, or `formula`; None: the machine's model, or the
            formula where the pattern is too large for it.
        named: whether the user named these methods, so that none is left out for its effort.
        combines: values of `--combine`: programs of stages, which are scheduled by `auto`.
        watch: progress callback.

    Raises:
        UsageError: an unknown model, or more messages than `rank_by` may rank. InputError: no
            method applies. VerificationError: a method made a schedule that breaks a rule.
    """
    check_by(by)
    models = [find_model(name).name for name in models]
    require_affordable(pattern, options.rank_by, options.effort)
    model, stands_in = deciding(machine, by, pattern.messages, options.effort)
    rows: list[ComparisonRow] = []
    skipped: list[dict[str, str]] = []
    first: ConsetError | None = None
    most = LARGE * options.effort
    contenders: list[tuple[Contender, Sequence[str]]] = []
    for name, own in methods.items():
        if not (named or name == AUTO or machine.is_circuit) and find_method(name).circuits:
            continue  # of switches that the machine does not have
        # the first policy that is given, so that none is chosen in vain
        sync = next((each for each in own if AUTO not in (name, each)), None)
        rank_by = options.rank_by if sync is None else None
        asked = replace(options, method=name, sync=sync, rank_by=rank_by)
        contenders.append((Contender(name, asked), own))
    auto = replace(options, method=AUTO) if combines else options
    contenders += [(Contender(word, auto, combine=word), ()) for word in combines]
    for k, (contender, policies) in enumerate(counted(contenders), 1):
        name, place = contender.name, f"{contender.name} ({k} of {len(contenders)})"
        method = contender.options.method
        reason = "" if named or method == AUTO else _left_out(method, pattern, machine, most)
        if reason:
            skipped.append({"method": name, "reason": reason})
            continue
        with watch(f"scheduling by {place}"):
            try:
                entry = contender.compile(pattern, machine)
                versions = [entry.under(policy, options) for policy in policies] or [entry]
            except (InputError, NoScheduleError) as error:
                first = first or error
                skipped.append({"method": name, "reason": str(error)})
                continue
        with watch(f"verifying, bounding, predicting {place}"):
            verified = None
            for version in versions:
                figures = version.summary(verified)
                verified = True  # the policy does not change what is verified
                rows.append(ComparisonRow(version, figures, method == AUTO))
    if first is not None and not rows:
        raise first
    decides = None if by is None and model != FORMULA else model
    timed = [
        row.timed(decides, models, options.effort, watch, f"{k} of {len(rows)}")
        for k, row in enumerate(counted(rows), 1)
    ]
    any_sync = tuple(methods.get(AUTO, ())) in ((), (AUTO,))
    direct = [row for row in timed if row.entry.program is None]
    timed = [
        _at_least_as_fast(row, direct, any_sync=any_sync)
        if row.by_auto and row.entry.program is None
        else row
        for row in timed
    ]
    decided = ", ".join(dict.fromkeys(row.by for row in timed))
    bound_s = least_bounds(pattern, machine, timed[0].entry.whole).time_s
    ranked = sorted((replace(row, bound_s=bound_s) for row in timed), key=lambda row: row.rank)
    return Comparison(ranked, skipped, decided, stands_in)


def _left_out(method: str, pattern: Pattern, machine: Machine, most: int) -> str:
    """Return why a method that was not named is not compared, or ""."""
    row = find_method(method)
    if row.limits(machine.topology).channels is not None and machine.limits.channels is None:
        return (
            f"chooses routes through channels, which {machine.name} does not have; "
            f"--methods {method} compares it"
        )
    if row.searches and pattern.messages > most:
        return (
            f"searches too long for {pattern.messages:,} messages, at most {most:,}; "
            f"--methods {method} or --effort allows"
        )
    return ""


def _at_least_as_fast(
    auto: ComparisonRow, rows: Sequence[ComparisonRow], *, any_sync: bool
) -> ComparisonRow:
    """Return the row of `auto`, with a faster schedule over the machine's routes that others made.

    Named methods search longer than `auto` does for each. `any_sync`: under any policy, else under
    that of the row.
    """
    sync = auto.entry.whole.sync
    rivals = [
        row
        for row in rows
        if row.by == auto.by
        and row.entry.whole.route_offsets is None
        and (any_sync or row.entry.whole.sync == sync)
    ]
    best = min([auto, *rivals], key=lambda row: row.rank)
    if best.rank[0] == auto.rank[0]:
        return auto
    why = f"{best.method} under {best.entry.whole.sync} is the fastest of this comparison"
    return replace(best, by_auto=True, figures={**best.figures, "auto": True, "why": why})


def compare_pairs(
    pairs: Sequence[tuple[Pattern, Machine]],
    options: CompileOptions,
    methods: Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = (),
    by: str | None = None,
    named: bool = True,
    combines: Sequence[str] = (),
    executor: Executor | None = None,
    watch: Watch = quiet,
) -> list[Comparison]:
    """Return `compare` for several patterns and machines, pair after pair.

    Args:
        pairs: patterns, each on its machine.
        options: as for `compare`, and what follows.
        methods: method → its policies.
        models: that simulate every row.
        by: what gives a row's time; None: each machine's model.
        named: whether the user named these methods.
        combines: values of `--combine`.
        executor: carries out the pairs, each alone; None: this process.
        watch: progress callback.

    Returns:
        One for each pair, in their order; rows and skipped methods name it by `pattern_name` and
        `machine`. Where no method applies there are no rows, and `skipped` has the reason.

    Raises:
        As `compare`; InputError, NoScheduleError: where no method applies to any pair.
    """
    results = []
    first: ConsetError | None = None
    arguments: dict[str, Any] = {
        "models": models,
        "by": by,
        "named": named,
        "combines": combines,
    }
    futures = (
        []
        if executor is None
        else [executor.submit(compare, *pair, options, methods, **arguments) for pair in pairs]
    )
    for k, (pattern, machine) in enumerate(pairs, 1):
        place = {"pattern_name": pattern.name, "machine": machine.name}
        where = (
            f"{pattern.name} on {machine.name} ({k} of {len(pairs)}): " if len(pairs) > 1 else ""
        )

        def within(what: str, where: str = where) -> AbstractContextManager[None]:
            return watch(f"{where}{what}")

        try:
            if futures:
                with within("comparing"):
                    result = futures[k - 1].result()
            else:
                result = compare(pattern, machine, options, methods, **arguments, watch=within)
        except (InputError, NoScheduleError) as error:
            first = first or error
            result = Comparison(skipped=[{"method": ", ".join(methods), "reason": str(error)}])
        rows = [replace(row, place=place) for row in result.entries]
        skipped = [{**place, **refused} for refused in result.skipped]
        results.append(replace(result, entries=rows, skipped=skipped))
    if first is not None and not any(result.entries for result in results):
        raise first
    return results


def merged(results: Sequence[Comparison]) -> Comparison:
    """Return all rows of several, one after the other; `by` and `stands_in` name all that occur."""
    timed = [result for result in results if result.entries]
    return Comparison(
        [row for result in results for row in result.entries],
        [refused for result in results for refused in result.skipped],
        ", ".join(dict.fromkeys(result.by for result in timed)) or FORMULA,
        "; ".join(dict.fromkeys(result.stands_in for result in timed if result.stands_in)),
        ", ".join(dict.fromkeys(result.reference for result in results if result.reference)),
    )


SIZES = (8, 32, 128, 512, 2048, 8192, 32768, 65536)
"""Of messages [B], where none are asked for."""
MOST_STAGES = 6
DIRECT = "direct"


@dataclass(frozen=True)
class StageRow:
    """One program at one size.

    Attributes:
        size: of the largest message [B].
        name: `direct`, `2 stages`, …, or the word that was asked for.
        combine: the word for its paths.
        stages: number of stages.
        time_s: by what decides [s].
        volume: bytes sent over bytes of the pattern.
        bundles: messages it sends in all stages.
        bound_s: what no program of any number of stages beats at this size [s].
        by: the model that says the time, or `formula`.
    """

    size: int
    name: str
    combine: str
    stages: int
    time_s: float
    volume: float
    bundles: int
    bound_s: float
    by: str

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return asdict(self)


def compare_stages(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    *,
    sizes: Sequence[int] = (),
    combines: Sequence[str] = ("mixed",),
    by: str | None = None,
    watch: Watch = quiet,
) -> list[StageRow]:
    """A row for every size and number of stages, both ascending, then `combines`.

    Args:
        pattern: what is sent; its sizes are scaled so that the largest message has each of `sizes`.
        machine: what it is for.
        options: options of every compile.
        sizes: of the largest message [B]; none: 8 B to 64 KiB.
        combines: further values of `--combine`, any but `auto`; what does not fit the pattern is
            left out.
        by: what says a time: a model, or `formula`; None: the machine's model.
        watch: called with what is done next.

    Raises:
        UsageError: an unknown model or way to combine.
        InputError: no messages, or messages in an order, which stages do not keep.
    """
    check_by(by)
    if not pattern.messages or pattern.before is not None:
        what = (
            "has no messages" if not pattern.messages else "has an order, which stages do not keep"
        )
        raise InputError(f"compare in stages: {pattern.name} {what}")
    with watch("placing"):
        placement = placement_of(pattern, machine, options)
    rows = []
    for size in counted(sorted(set(sizes)) or SIZES):
        resized = with_largest(pattern, size)
        bound_s = bound_stages(resized, machine, placement=placement).time_s
        for name, combine, paths in _ways(resized, machine, placement, combines):
            with watch(f"{size:,} B: {name}"):
                try:
                    _, whole = compile_along(
                        paths, machine, options, placement, Manifest(seed=options.seed)
                    )
                except (InputError, NoScheduleError):
                    continue
                timing = time_schedule(whole, by=by)
            sent = [paths.stage_pattern(stage) for stage in range(paths.stages)]
            volume, bundles = (
                sum(p.bytes for p in sent) / resized.bytes,
                sum(p.messages for p in sent),
            )
            rows.append(
                StageRow(
                    size,
                    name,
                    combine,
                    paths.stages,
                    timing.time_s,
                    volume,
                    bundles,
                    bound_s,
                    timing.by,
                )
            )
    return rows


def with_largest(pattern: Pattern, size: int) -> Pattern:
    """The pattern scaled so that the largest message has `size` bytes, no message below 1."""
    if pattern.equal_sizes:
        return replace(pattern, size=np.broadcast_to(np.int64(size), pattern.messages))
    scaled = np.rint(pattern.size * (size / float(pattern.size.max()))).astype(np.int64)
    return replace(pattern, size=np.maximum(scaled, 1))


def _ways(
    pattern: Pattern, machine: Machine, placement: Placement, combines: Sequence[str]
) -> Iterator[tuple[str, str, Paths]]:
    """(name, word for the paths, paths).

    Of each number of stages the best by the cost model, then `combines`.
    """
    best: dict[int, tuple[str, Paths]] = {}
    for candidate in candidates(pattern, machine, placement):
        if candidate.paths.stages <= MOST_STAGES:
            best.setdefault(candidate.paths.stages, (candidate.name, candidate.paths))
    for stages in sorted(best):
        yield DIRECT if stages == 1 else count_of(stages, "stage"), *best[stages]
    for word in combines:
        wanted = parse_combine(word)
        try:
            paths = paths_of(wanted, pattern, machine, placement)
        except InputError:  # not for this pattern or placement
            continue
        yield str(wanted), str(wanted), paths
