"""Plan files: what every rank executes, for programs without Python.

`conset/plan@1` of `docs/flat-files.md`.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset import _core
from conset.base.errors import InputError, UsageError, unknown_name
from conset.base.files import require_replaceable
from conset.base.flat import PLAN_FILE, FlatValue, read_flat, write_flat
from conset.execution.plan import Copies, Needs, Operations, Plan
from conset.schedule.policy import parse_sync

if TYPE_CHECKING:
    from conset.execution.connection_entries import ConnectionEntries
    from conset.pattern.layout import Layout
    from conset.pattern.pattern import Pattern

ELEMENTS = {name: 1 if name == "bytes" else np.dtype(name).itemsize for name in _core.item_types()}
"""Type of an element of an application's array → its size [B]."""
_DEFAULT_ELEMENTS = {8: "float64", 4: "float32"}
"""Bytes of a word → what it is where nothing is said."""
_PARTS: dict[str, type[Operations] | type[Copies] | type[Needs]] = {
    "sends": Operations,
    "receives": Operations,
    "packs": Copies,
    "unpacks": Copies,
    "needs": Needs,
    "signals": Needs,
}
"""Fields of a plan that are objects of their own, as a file keeps them."""


def require_plan_path(path: str | Path) -> Path:
    """`path`, if its name is that of a plan file and it may be written.

    Raises:
        UsageError: another suffix. InputError: a directory or a device.
    """
    path = Path(path)
    if path.suffix.lower() != ".plan":
        raise UsageError(f"{path}: a plan file ends in .plan, not in '{path.suffix}'")
    require_replaceable(path)
    return path


def write_plan_file(
    plan: Plan | None,
    path: str | Path,
    items: dict[str, FlatValue] | None = None,
    connections: ConnectionEntries | None = None,
) -> None:
    """Writes what every rank executes, and the connections that it opens.

    Args:
        plan: what is executed as one exchange; None: only connections.
        path: where to.
        items: of `plan_items`: where the bytes lie in arrays of the application.
        connections: of `connection_entries`; None: of a program that forwards.

    Raises:
        UsageError: another suffix than `.plan`.
        InputError: the file cannot be written.
        ValueError: neither a plan nor connections: a bug of the caller.
    """
    require_plan_path(path)
    if plan is not None:
        entries = _plan_entries(plan)
    elif connections is not None:
        entries = {"ranks": connections.ranks}
    else:
        raise ValueError("a plan or connections required")
    opened = {} if connections is None else connections.to_flat()
    write_flat(path, PLAN_FILE, {**entries, **(items or {}), **opened})


def _plan_entries(plan: Plan) -> dict[str, FlatValue]:
    """What every rank executes."""
    entries: dict[str, FlatValue] = {
        "ranks": plan.ranks,
        "phases": plan.phases,
        "sync": str(plan.sync),
        "in_flight": plan.in_flight or 0,
        "phase_transfers": np.bincount(plan.sends.phase, minlength=plan.phases).astype(np.int32),
        "send_bytes": plan.send_bytes,
        "receive_bytes": plan.receive_bytes,
    }
    if plan.work_bytes is not None:
        entries["work_bytes"] = plan.work_bytes
    if plan.signals is not None:
        entries["signalled"] = plan.signalled.astype(np.uint8)
    for name in _PARTS:
        part = getattr(plan, name)
        for each in () if part is None else fields(part):
            values = getattr(part, each.name)
            if (
                values is not None and each.name != "transfer"
            ):  # a number of the schedule's, no part of the execution
                entries[f"{name}_{each.name}"] = values
    return entries


def read_plan_file(path: str | Path) -> Plan:
    """The plan of all ranks; its transfers are numbered as their sends are in the file.

    Raises:
        InputError: no such file, none of a plan, or one that is broken.
    """
    found: dict[str, Any] = dict(read_flat(path, PLAN_FILE))
    columns = {
        name: {
            each.name: found[key].astype(bool) if each.name == "work" else found[key]
            for each in fields(kind)
            if (key := f"{name}_{each.name}") in found
        }
        for name, kind in _PARTS.items()
    }
    try:
        sends, receives = columns["sends"], columns["receives"]
        by_rank = [
            np.repeat(np.arange(each["offsets"].size - 1), np.diff(each["offsets"]))
            for each in (sends, receives)
        ]
        # messages of a pair of ranks do not overtake: the first send meets the first receive
        send = np.lexsort((sends["peer"], by_rank[0]))
        receive = np.lexsort((by_rank[1], receives["peer"]))
        sends["transfer"], receives["transfer"] = np.arange(send.size), np.empty(receive.size, int)
        receives["transfer"][receive] = send
        parts: dict[str, Any] = {
            name: kind(**columns[name]) for name, kind in _PARTS.items() if columns[name]
        }
        return Plan(
            int(found["phases"][0]),
            parse_sync(found["sync"]),
            send_bytes=found["send_bytes"],
            receive_bytes=found["receive_bytes"],
            in_flight=int(found["in_flight"][0]) or None,
            work_bytes=found.get("work_bytes"),
            **parts,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: no plan, or a broken one: {error}") from None


def plan_items(
    pattern: Pattern, layout: Layout, element: str | None = None
) -> dict[str, FlatValue]:
    """Where the bytes of a plan of `pattern` lie in the arrays of such an application.

    Args:
        pattern: what the plan delivers.
        layout: whose messages it is.
        element: a key of `ELEMENTS`, what the array is made of; None: float64 where a word has 8
            bytes, float32 where it has 4.

    Raises:
        InputError: the layout is of other messages.
        UsageError: no such element, one that a word is no whole number of, or a word without a
            default.
    """
    layout.require_pattern(pattern)
    name = _element(layout, element)
    lists = [layout.local(rank) for rank in range(layout.ranks)]
    entries: dict[str, FlatValue] = {
        "item_bytes": layout.word,
        "item_type": name,
        "add": int(layout.add),
    }
    for side, key in enumerate(("send_items", "receive_items")):
        rows = [pair[side] for pair in lists]
        entries[f"{key}_offsets"] = np.cumsum([0, *(row.size for row in rows)], dtype=np.int64)
        entries[key] = np.concatenate(rows)
    return entries


def _element(layout: Layout, element: str | None) -> str:
    """The element's name, checked."""
    if element is None:
        if layout.word not in _DEFAULT_ELEMENTS:
            raise UsageError(
                f"element: required where a word has {layout.word} B: one of {', '.join(ELEMENTS)}",
                options=["element"],
            )
        return _DEFAULT_ELEMENTS[layout.word]
    if element not in ELEMENTS:
        raise unknown_name("element", element, ELEMENTS)
    if layout.word % ELEMENTS[element]:
        raise UsageError(
            f"element {element}: has {ELEMENTS[element]} B, a word of the layout {layout.word}: "
            "must be whole elements",
            options=["element"],
        )
    if layout.add and element == "bytes":
        raise UsageError(
            "element bytes: cannot be added, as the layout's shared nodes are", options=["element"]
        )
    return element
