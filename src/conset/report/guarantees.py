"""Linkage tables and guarantees of schedules and programs, for people and as objects.

Of a program there is a table for each block, with the context of every phase; a block that runs the
schedule of an earlier one has the same table, and names that block instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.markup import escape

from conset.base.units import count_of, format_rate, format_time
from conset.report.terminal import ROWS, more, table_lines
from conset.schedule.linkage import GATE, Guarantees, guarantees, linkage, program_guarantees
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule

Contexts = Sequence[int] | None
"""The context of each phase of a program's schedule; None: of a schedule alone."""


def linkage_text(schedule: Schedule, node: int | None, contexts: Contexts = None) -> str:
    """The linkage tables of a node, phase by phase; of all nodes as many rows as fit.

    Raises:
        InputError: the schedule has no routes of its own, or there is no such node.
    """
    table = linkage(schedule, node)
    topology, pattern = schedule.machine.topology, schedule.pattern
    shown = min(table.phase.size, ROWS if node is None else 20 * ROWS)
    rows = []
    for k in range(shown):
        message = int(schedule.message[table.transfer[k]])
        start, end = int(table.from_node[k]), int(table.next_node[k])
        rows.append(
            [
                *_place(int(table.phase[k]), contexts),
                *([str(table.node[k])] if node is None else []),
                str(table.channel[k]),
                "gate" if start == GATE else f"node {start}",
                "gate" if end == GATE else f"node {end}, channel {table.next_channel[k]}",
                f"{message}: rank {pattern.source[message]} → {pattern.target[message]}",
            ]
        )
    where = "all nodes" if node is None else escape(topology.node_name(node))
    used = (
        f"{count_of(table.phase.size, 'channel')} in use over {count_of(schedule.phases, 'phase')}"
    )
    head = f"[bold]linkage of {where}[/]: {used}"
    columns = [
        *_place_names(contexts),
        *(["node"] if node is None else []),
        "channel",
        "from",
        "to",
        "message",
    ]
    lines = table_lines(columns, rows, left=tuple(range(len(columns) - 3, len(columns))))
    rest = table.phase.size - shown
    return "\n".join([head, "", *lines, *([more(rest, "rows")] if rest else [])])


def guarantees_text(
    schedule: Schedule, given: Guarantees | None = None, contexts: Contexts = None
) -> str:
    """The connections with the least guaranteed bandwidth, the slowest first.

    With what was asked for, if anything.

    Args:
        schedule: whose connections.
        given: what they get; None: what the schedule alone gives them.
        contexts: of each phase, in a program.
    """
    columns, rows = guarantee_rows(
        schedule, guarantees(schedule) if given is None else given, ROWS, contexts
    )
    while_open = "phase" if contexts is None else "context"
    connections = count_of(schedule.transfers, "connection")
    head = f"[bold]guarantees[/] of {connections} while their {while_open} is open, the least first"
    lines = table_lines(columns, rows, left=(columns.index("ranks"),))
    rest = schedule.transfers - len(rows)
    return "\n".join([head, "", *lines, *([more(rest, "connections")] if rest else [])])


def guarantee_rows(
    schedule: Schedule, given: Guarantees, most: int, contexts: Contexts = None
) -> tuple[list[str], list[list[str]]]:
    """(columns, a row for each of the connections with the least guarantees).

    At most so many, the least first.
    """
    rates, times = schedule.min_bandwidth_Bps, schedule.max_latency_s
    worst = np.lexsort((-given.latency_s, given.bandwidth_Bps))[:most]
    rows = []
    for k in worst.tolist():
        message = int(schedule.message[k])
        rows.append(
            [
                *_place(int(schedule.phase_of[k]), contexts),
                str(message),
                f"{schedule.pattern.source[message]} → {schedule.pattern.target[message]}",
                _rate(float(given.bandwidth_Bps[k])),
                *(
                    []
                    if rates is None
                    else [format_rate(float(rates[message])) if rates[message] else "any"]
                ),
                format_time(float(given.latency_s[k])),
                *([] if times is None else [_time(float(times[message]))]),
            ]
        )
    columns = [
        *_place_names(contexts),
        "message",
        "ranks",
        "bandwidth",
        *([] if rates is None else ["asked for"]),
    ]
    columns += ["latency at most", *([] if times is None else ["asked for"])]
    return columns, rows


def _place(phase: int, contexts: Contexts) -> list[str]:
    return [str(phase)] if contexts is None else [str(phase), str(contexts[phase])]


def _place_names(contexts: Contexts) -> list[str]:
    return ["phase"] if contexts is None else ["phase", "context"]


def _rate(value: float) -> str:
    return format_rate(value) if np.isfinite(value) else "any"


def _time(value: float) -> str:
    return format_time(value) if np.isfinite(value) else "any"


def guarantees_object(schedule: Schedule, given: Guarantees | None = None) -> list[dict[str, Any]]:
    """One object for each transfer: `phase`, `message`, `bandwidth_Bps` (null: any), `latency_s`.

    Where something was asked for, also `min_bandwidth_Bps` or `max_latency_s` (null: nothing of
    this message).
    """
    given = guarantees(schedule) if given is None else given
    columns: dict[str, list[Any]] = {
        "phase": schedule.phase_of.tolist(),
        "message": schedule.message.tolist(),
        "bandwidth_Bps": _or_null(given.bandwidth_Bps),
        "latency_s": given.latency_s.tolist(),
    }
    if schedule.min_bandwidth_Bps is not None:
        columns["min_bandwidth_Bps"] = schedule.min_bandwidth_Bps[schedule.message].tolist()
    if schedule.max_latency_s is not None:
        columns["max_latency_s"] = _or_null(schedule.max_latency_s[schedule.message])
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _or_null(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def program_linkage_text(program: Program, node: int | None) -> str:
    """The linkage tables of every block; raises as `linkage_text`."""
    return "\n\n".join(
        head if schedule is None else f"{head}\n{linkage_text(schedule, node, contexts)}"
        for head, schedule, contexts in _blocks(program)
    )


def program_guarantees_text(program: Program) -> str:
    """The guarantees of every block's connections, whatever else is open in their contexts."""
    given = program_guarantees(program)
    by_schedule = {
        id(schedule): own for schedule, own in zip(program.schedules, given, strict=True)
    }
    return "\n\n".join(
        head
        if schedule is None
        else f"{head}\n{guarantees_text(schedule, by_schedule[id(schedule)], contexts)}"
        for head, schedule, contexts in _blocks(program)
    )


def _blocks(program: Program) -> Iterator[tuple[str, Schedule | None, tuple[int, ...]]]:
    """(heading, schedule, its contexts) of every block.

    No schedule where an earlier block has shown it.
    """
    first: dict[int, int] = {}
    for k, stage in enumerate(program.stages):
        head = f"[bold]block {k}[/] {escape(stage.name)}"
        shown = first.setdefault(stage.schedule, k)
        if shown < k:
            yield f"{head}: as block {shown}", None, ()
        else:
            yield head, program.schedules[stage.schedule], program.contexts[stage.schedule]


def program_linkage_object(program: Program, node: int | None) -> list[dict[str, Any]]:
    """The rows of `linkage` of every block, each with `block`, `name` and `context`."""
    return _of_blocks(
        program, [linkage(schedule, node).to_rows() for schedule in program.schedules]
    )


def program_guarantees_object(program: Program) -> list[dict[str, Any]]:
    """The objects of `guarantees_object` of every block, with `block`, `name`, `context`."""
    given = program_guarantees(program)
    return _of_blocks(
        program,
        [guarantees_object(s, own) for s, own in zip(program.schedules, given, strict=True)],
    )


def _of_blocks(program: Program, rows: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "block": k,
            "name": stage.name,
            "context": program.contexts[stage.schedule][row["phase"]],
            **row,
        }
        for k, stage in enumerate(program.stages)
        for row in rows[stage.schedule]
    ]
