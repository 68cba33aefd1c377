"""Run-time scheduling.

Its parts in units of one exchange, who should compute, and when it has paid.

Every job is that of `conset run --at-run-time`: each rank knows its own row only; exchange of rows,
scheduling, planning and executions are measured beside the naive exchange, repetition by
repetition; every received byte is checked. A unit is one execution of the naive exchange, 1 KiB
messages, in the same job. The scheduling alone is also timed in one process. Predictions are by the
machine's model, with schedules that are really computed.

All tables, some minutes on two idle cores:

    PYTHONPATH=src python benchmarks/bench_run_time.py --write docs/run-time-measured.md \
        --picture docs/pictures/run_time.svg
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bench_update
import numpy as np

import conset
from conset.base import count_of, format_size
from conset.execution.stopping import Ratio
from conset.report import style
from conset.report.markdown import section_markdown, table_markdown
from conset.report.sweeps import COMPUTED, format_ms, run_time_section
from conset.studies.run_time.costs import RunTimeCosts, RunTimeRow
from conset.studies.run_time.job import COMPARED, CoreScheduler, RunTimeResult, predict_costs

MEASURED = (("hypercube:4", "random:degree=8"), ("hypercube:6", "random:degree=16"))
"""Machine and pattern; messages of 1 KiB."""
GROWING = (("hypercube:2", 2), ("hypercube:3", 4), ("hypercube:4", 8), ("hypercube:5", 16))
"""Machine and degree, for who should compute."""
PREDICTED = (
    ("ipsc860:64", "random:degree=16,size=4KiB"),
    ("torus:8x8,overhead=2us", "random:degree=16"),
)
"""Machine that grows, and pattern."""
DRAWN = ("ipsc860:64", "rs-nl", "ready")
"""Machine, method and policy of the picture.

The text's own for the algorithm that avoids contention of links.
"""
DEGREES, SIZES = (4, 8, 16, 32, 48), (32, 128, 512, 2048, 8192, 32768, 131072)
"""Densities of Figures 10 and 11, and sizes [B]."""
INTRODUCTION = """# Run-time scheduling, measured

Made by `benchmarks/bench_run_time.py`, whose head says what is measured and how; \
`docs/run-time.md` says how to read
the tables."""


def measure(machine: str, pattern: str, repeat: int, methods: tuple[str, ...]) -> RunTimeResult:
    """One job; its outcome is printed as it comes."""
    result = conset.run_at_run_time(pattern, machine, methods=methods, repeat=repeat)
    if result.mismatches:
        raise SystemExit(
            f"{pattern} on {machine}: {result.mismatches} wrong bytes: {'; '.join(result.wrong)}"
        )
    return result


def ratio_text(ratio: Ratio) -> str:
    """`0.93 (0.90-0.97)`."""
    return f"{ratio.median:.2f} ({ratio.low:.2f}-{ratio.high:.2f})"


def units(costs: RunTimeCosts, alone_s: dict[str, float]) -> list[str]:
    """Parts of each method's set-up over one execution of the naive exchange.

    Both of the same repetition.
    """
    unit = np.array(costs.posting.execution_s)
    rows = []
    for row in costs.rows:
        if row.asked_sync != "none" or not row.compute:
            continue
        parts = [
            np.array(row.schedule_s),
            np.array(row.rows_s) + np.array(row.schedule_s),
            np.array(row.setup_s),
        ]
        times = [ratio_text(Ratio.of(part.tolist(), unit.tolist())) for part in parts]
        alone = f"{alone_s[row.method] / np.median(unit):.3f}"
        rows.append([row.method, row.compute, f"{row.phases}", alone, *times])
    head = [
        "method",
        "by",
        "phases",
        "one process",
        "schedule",
        "rows and schedule",
        "whole set-up",
    ]
    text = f"One exchange (the naive exchange): {format_ms(costs.posting.execution_median_s)} ms."
    return [text, "", *table_markdown(head, rows, (0, 1)), ""]


def alone(machine: str, pattern: str, methods: tuple[str, ...]) -> dict[str, float]:
    """The scheduling in one process, by method [s]: the least of some times."""
    on = conset.load_machine(machine)
    core = CoreScheduler(conset.load_pattern(pattern, on), on, 0)
    return {method: core.schedule(method, "none").compute_s for method in methods}


def who_computes(repeat: int, method: str = "rs-nl") -> list[str]:
    """Set-up where every rank computes over that where one does, over sizes of job."""
    rows = []
    for machine, degree in GROWING:
        costs = measure(machine, f"random:degree={degree}", repeat, (method,)).measured
        assert costs is not None
        every, one = (costs.find(method, "none", way) for way in ("all", "one"))
        ratio = Ratio.of(every.setup_s, one.setup_s)
        wins = "nobody" if not ratio.decided else "one rank" if ratio.median > 1 else "every rank"
        times = [format_ms(row.median_of("setup_s")) for row in (every, one)]
        rows.append([f"{costs.ranks}", f"{degree}", *times, ratio_text(ratio), wins])
        print(f"{machine}, degree {degree}: all over one {ratio_text(ratio)}", flush=True)
    head = ["ranks", "degree", "every rank [ms]", "one rank [ms]", "every over one", "wins"]
    cores = len(os.sched_getaffinity(0))
    text = (
        f"Whole set-up by `{method}`. All ranks share {cores} cores, on which every rank "
        "computes one after the other."
    )
    return ["## Who should compute", "", text, "", *table_markdown(head, rows), ""]


def measured_sections(repeat: int, result_rows: list[dict[str, object]]) -> list[str]:
    """A job for each of `MEASURED`: the report, and its parts in units."""
    lines = []
    for machine, pattern in MEASURED:
        result = measure(machine, pattern, repeat, COMPARED)
        costs = result.measured
        assert costs is not None
        methods = tuple(dict.fromkeys(row.method for row in costs.rows if row.compute))
        parts = units(costs, alone(machine, pattern, methods))
        print(f"{pattern} on {machine}, {costs.by}", *parts, sep="\n", flush=True)
        lines += [
            f"## {costs.ranks} ranks: {pattern} on {machine}",
            "",
            *parts,
            section_markdown(run_time_section(result)),
        ]
        result_rows.append(result.to_object())
    return lines


def predicted_sections(numbers: list[int]) -> list[str]:
    """Predictions for each of `PREDICTED`."""
    lines = []
    for machine, pattern in PREDICTED:
        result = conset.run_at_run_time(pattern, machine, predict=numbers)
        lines += [
            f"## Predicted: {pattern} on {machine}, grown",
            "",
            section_markdown(run_time_section(result)),
        ]
        for costs in result.predicted:
            print(f"{costs.pattern} on {costs.machine}: {best_text(costs)}", flush=True)
    return lines


def best_text(costs: RunTimeCosts) -> str:
    """Which schedule pays first, in a line."""
    paying: list[tuple[int, RunTimeRow]] = [
        (pays.uses, row)
        for row in costs.rows
        if row.compute and (pays := row.pays_against(costs.posting)).uses is not None
    ]
    if not paying:
        return "no schedule pays"
    uses, row = min(paying, key=lambda pair: pair[0])
    return f"{row.method} under {row.sync} pays first, after {uses}"


def update_section() -> list[str]:
    """Updates of a schedule."""
    rows, _ = bench_update.table()
    text = (
        "1 % of the messages get other targets; `benchmarks/bench_update.py` says what stands "
        "beside what."
    )
    return ["## Updates", "", text, "", *table_markdown(bench_update.HEAD, rows, (0, 1)), ""]


def draw(path: Path) -> None:
    """Predicted overhead over size of message and density.

    As in Figures 10 and 11 of Wang and Ranka.
    """
    machine, method, sync = DRAWN
    on = conset.load_machine(machine)
    points = [
        (
            degree,
            size,
            predict_costs(
                conset.load_pattern(f"random:degree={degree},size={size}", on), on, [method]
            ),
        )
        for degree in DEGREES
        for size in SIZES
    ]
    style.save(lambda: picture_overhead(points, method, sync=sync), path)


def picture_overhead(
    found: Sequence[tuple[int, int, RunTimeCosts]],
    method: str,
    *,
    sync: str = "none",
    compute: str = "all",
) -> style.Figure:
    """Draw rows and scheduling over one execution, over the size of messages, and when it pays.

    As Figures 10 and 11 of Wang and Ranka, a line for each density; beside it the uses after which
    the schedule has paid against the naive exchange.

    Args:
        found: (messages of a rank, size [B], costs) of each point.
        method: as it was asked for.
        sync: as it was asked for.
        compute: `all` or `one`.
    """
    first = found[0][2]
    how = f"executions by {first.by}, scheduling measured here"
    if first.is_measured:
        how = f"measured, {first.by}"
    title = f"{method} at run time: what it costs, and when it has paid"
    of = f"{count_of(first.ranks, 'rank')}, {how}, sync {sync}, computed by {COMPUTED[compute]}"
    figure = style.new_figure(11, 5.0, title, of)
    over, pays = figure.subplots(1, 2)
    degrees, sizes = sorted({each[0] for each in found}), sorted({each[1] for each in found})
    for k, degree in enumerate(degrees):
        points = sorted((size, costs) for each, size, costs in found if each == degree)
        rows = [(size, costs, costs.find(method, sync, compute)) for size, costs in points]
        look: Any = {"color": style.amount_map()(k / max(len(degrees) - 1, 1))}
        own, ratios = [size for size, *_ in rows], [row.overhead for *_, row in rows]
        over.plot(own, ratios, "o-", label=f"{degree} messages a rank", **look)
        uses = [(size, row.pays_against(costs.posting).uses) for size, costs, row in rows]
        known = [(size, count) for size, count in uses if count]
        pays.plot([size for size, _ in known], [count for _, count in known], "o-", **look)
    for axes, name, unit in (
        (over, "rows and scheduling over one execution", "ratio"),
        (pays, "uses until it pays (no mark: never)", "uses"),
    ):
        style.log_axis(axes, "x", "size of a message", base=2)
        style.log_axis(axes, "y", unit)
        axes.set_xticks(sizes, [format_size(size) for size in sizes])
        axes.set_xlim(sizes[0] / 1.5, sizes[-1] * 1.5)
        axes.minorticks_off()
        axes.set_title(name)
        axes.grid(axis="both")
    over.legend()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=12)
    parser.add_argument("--predict", type=int, nargs="*", default=[1024, 4096])
    parser.add_argument("--write", type=Path, help="Markdown file for the tables")
    parser.add_argument(
        "--picture", type=Path, help=f"predicted overhead of {DRAWN[1]} over sizes, .svg or .png"
    )
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    found: list[dict[str, object]] = []
    where = (
        f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, "
        f"{platform.system()}; load before "
    )
    lines = [INTRODUCTION, "", f"{where}{os.getloadavg()[0]:.1f}.", ""]
    lines += measured_sections(arguments.repeat, found)
    lines += who_computes(arguments.repeat)
    lines += predicted_sections(arguments.predict)
    lines += update_section()
    if arguments.write is not None:
        arguments.write.write_text("\n".join(lines).rstrip("\n") + "\n")
    if arguments.picture is not None:
        draw(arguments.picture)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    sys.exit(main())
