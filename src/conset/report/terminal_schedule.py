"""Schedule in the terminal: its facts and a table of its phases, at most a screenful."""

from __future__ import annotations

import numpy as np
from rich.markup import escape

from conset.report.facts import Summary, schedule_facts
from conset.report.terminal import ROWS, bar, fact_lines, more, table_lines
from conset.schedule.schedule import Schedule
from conset.units import format_size


def schedule_text(schedule: Schedule, summary: Summary | None = None) -> str:
    """Facts, then one row a phase: transfers, largest load at a link and a port, largest transfer, bytes with a bar."""
    title = f"[bold]{schedule.method}[/] on [bold]{escape(schedule.machine.name)}[/]"
    lines = [title, "", *fact_lines(schedule_facts(schedule, summary))]
    return "\n".join([*lines, "", *phase_lines(schedule)])


def phase_lines(schedule: Schedule) -> list[str]:
    """The table of phases; where there are too many, the first and the last."""
    from conset.schedule.loads import largest_sizes, phase_loads

    if not schedule.phases:
        return ["  no phases"]
    loads, largest = phase_loads(schedule), largest_sizes(schedule)
    ends = np.concatenate([[0], np.cumsum(schedule.size)])
    carried = np.diff(ends[schedule.phase_offsets])
    transfers = np.diff(schedule.phase_offsets)
    port = np.maximum(loads.send, loads.receive)
    top = float(carried.max())
    head, tail = (schedule.phases, 0) if schedule.phases <= ROWS else (ROWS - 4, 3)
    shown = [*range(head), *range(schedule.phases - tail, schedule.phases)]
    rows = [
        (str(p), f"{transfers[p]:,}", str(loads.link[p]), str(port[p]), format_size(int(largest[p])),
         format_size(int(carried[p])), bar(float(carried[p]), top))
        for p in shown
    ]  # fmt: skip
    lines = table_lines(("phase", "transfers", "link", "port", "largest", "bytes", ""), rows, left=(6,))
    if tail:
        lines.insert(1 + head, more(schedule.phases - head - tail, "phases"))
    return lines
