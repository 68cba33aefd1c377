"""What a plan is, in figures and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.units import count_of, format_size

if TYPE_CHECKING:
    from conset.execution.connection_entries import ConnectionEntries
    from conset.execution.plan import Plan


def summarize_plan(plan: Plan) -> dict[str, Any]:
    """Figures of a plan; sizes in bytes, of ranks the least, mean and largest."""
    sends, receives = np.diff(plan.sends.offsets), np.diff(plan.receives.offsets)
    return {
        "ranks": plan.ranks,
        "phases": plan.phases,
        "sync": str(plan.sync),
        "barriers": plan.sync.barriers(plan.phases),
        "in_flight": plan.in_flight or "all",
        "messages": plan.transfers,
        "bytes": plan.bytes,
        "sends_per_rank": _spread(sends),
        "receives_per_rank": _spread(receives),
        "send_buffer": _spread(plan.send_bytes),
        "receive_buffer": _spread(plan.receive_bytes),
        "work_area": _spread(np.zeros(plan.ranks) if plan.work_bytes is None else plan.work_bytes),
        "copies": sum(
            0 if copies is None else copies.count for copies in (plan.packs, plan.unpacks)
        ),
    }


def summarize_connections(entries: ConnectionEntries) -> dict[str, Any]:
    """Figures of what a program opens.

    Connections are counted once in every phase that holds them.
    """
    return {
        "ranks": entries.ranks,
        "blocks": len(entries.names),
        "contexts": len(set(entries.phase_context.tolist())),
        "connections": int(entries.send.sum()),
    }


def connections_text(summary: Mapping[str, Any]) -> str:
    """One line, without markup."""
    return (
        f"  opens          {count_of(summary['connections'], 'connection')} in "
        f"{count_of(summary['blocks'], 'block')}, "
        f"{count_of(summary['contexts'], 'context')}"
    )


def _spread(values: Any) -> dict[str, float]:
    return {"min": int(values.min()), "mean": float(values.mean()), "max": int(values.max())}


def plan_text(summary: Mapping[str, Any]) -> str:
    """A few lines; markup of rich."""
    flight = "" if summary["in_flight"] == "all" else f", {summary['in_flight']} in flight"
    lines = [
        f"[bold]{count_of(summary['ranks'], 'rank')}[/], {count_of(summary['phases'], 'phase')}, "
        f"sync {summary['sync']}{flight}",
        f"  messages       {summary['messages']:,} with {format_size(summary['bytes'])} delivered",
        f"  per rank       {_range(summary['sends_per_rank'])} sent, "
        f"{_range(summary['receives_per_rank'])} received",
        f"  send buffer    {format_size(summary['send_buffer']['max'])} at most",
        f"  receive buffer {format_size(summary['receive_buffer']['max'])} at most",
    ]
    if summary["work_area"]["max"]:
        area = format_size(summary["work_area"]["max"])
        lines.append(
            f"  work area      {area} at most, {count_of(summary['copies'], 'copy', 'copies')}"
        )
    return "\n".join(lines)


def _range(spread: Mapping[str, float]) -> str:
    low, high = spread["min"], spread["max"]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
