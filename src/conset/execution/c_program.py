"""The communication of a schedule or of a program of blocks as text in C, over `conset.h`.

The text of Feldmann, Stricker and Warfel (Section 2.1) has its compiler generate the communication
code of a parallel program. Here it is one file for people to read and programs to include: per
phase a table of the connections of every rank in posting order and a function that moves their
bytes; per block its loops; and, behind a macro, a program that checks every byte. The same input
gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import (
    InputError,
    count_of,
    format_rate,
    format_size,
    format_time,
    replacing,
    require_suffix,
)
from conset.execution.connection_entries import ConnectionEntries

SUFFIX = ".c"
TEMPLATE = "c_program.c.jinja"
WIDTH = 116
"""Columns of a line of a table."""
MAX_ENTRIES = 2**20
"""Entries of tables that a text may have; each connection has two."""
RESERVED = frozenset(
    ("move_all", "move_pieces", "run_phase", "check_state", "check_place", "check_ended", "byte_of")
)
"""Names of the template that begin with no stem."""


@dataclass(frozen=True)
class CProgramHead:
    """What the text says of itself.

    Attributes:
        source: name of the file it is made from.
        command: that makes it.
        version: of conset.
        machine: what the schedules are for.
        switches: between contexts, in one run of everything.
        ordered: whether patterns have an order between messages: connections are then used one
            after the other.
    """

    source: str
    command: str
    version: str
    machine: str
    switches: int
    ordered: bool = False


def write_c_program(entries: ConnectionEntries, head: CProgramHead, path: str | Path) -> None:
    """Writes the text; its names begin with that of the file.

    Raises:
        UsageError: another suffix than `.c`.
        InputError: the file cannot be written.
    """
    path = require_suffix(path, "a C source", SUFFIX)
    text = c_program_text(entries, head, path.name)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def c_program_text(entries: ConnectionEntries, head: CProgramHead, file: str = "program.c") -> str:
    """The text, for a file of the name `file`.

    Raises:
        InputError: there is no block, or more than 2^19 connections: such a source is unreadable.
    """
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    if not entries.names:
        raise InputError("a program without blocks has no communication")
    if entries.phase.size > MAX_ENTRIES:
        raise InputError(
            f"{entries.phase.size // 2:,} connections in all phases, in a C source at most "
            f"{MAX_ENTRIES // 2:,}: a plan file holds any number"
        )
    identifier = _identifier(Path(file).stem)
    tables = _phase_tables(entries)
    blocks = list(_blocks(entries, tables, identifier))
    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )  # autoescape: of HTML
    template = files("conset.execution").joinpath(TEMPLATE).read_text(encoding="utf-8")
    return environment.from_string(template).render(
        title=_comment(head.source),
        source=_comment(head.source),
        command=_comment(head.command),
        file=_comment(file),
        version=head.version,
        machine=_comment(head.machine),
        stem=identifier,
        macro=identifier.upper(),
        ranks=entries.ranks,
        blocks=blocks,
        count=count_of,
        switches=head.switches,
        ordered=head.ordered,
        phases=sum(block["repeat"] * len(block["phases"]) for block in blocks),
        contexts=np.unique(entries.phase_context).size,
        most=max((table["longest"] for table in tables), default=0),
    )


def _phase_tables(entries: ConnectionEntries) -> list[dict[str, Any]]:
    """Of every global phase: its context, what it is as text, and its connections by rank."""
    tables: list[dict[str, Any]] = []
    sizes: list[int | None] = []  # of all connections of a phase; None: they differ
    for phase in range(entries.phases):
        found = np.unique(entries.bytes[entries.phase == phase])
        sizes.append(int(found[0]) if found.size == 1 else None)
    for phase, of_ranks in enumerate(_rows(entries, sizes)):
        longest = max(map(len, of_ranks))
        tables.append(
            {
                "context": int(entries.phase_context[phase]),
                "text": _describe(entries, phase),
                "longest": longest,
                "columns": longest + 1,
                "bytes": sizes[phase],
                "rows": list(_lines(of_ranks)),
            }
        )
    return tables


def _rows(entries: ConnectionEntries, sizes: Sequence[int | None]) -> list[list[list[str]]]:
    """By global phase and rank, in posting order.

    `TO(3, 7)`: to rank 3 by connection 7, or `TO_OF(3, 7, 128)` where sizes differ.
    """
    rows: list[list[list[str]]] = [
        [[] for _ in range(entries.ranks)] for _ in range(entries.phases)
    ]
    rank = np.repeat(np.arange(entries.ranks), np.diff(entries.offsets))
    posted = np.lexsort((entries.order, entries.phase, rank)).tolist()
    columns = (rank, entries.phase, entries.peer, entries.id, entries.send, entries.bytes)
    for r, phase, peer, id, send, size in zip(
        *(column[posted].tolist() for column in columns), strict=True
    ):
        way = "TO" if send else "FROM"
        rows[phase][r].append(
            f"{way}({peer}, {id})"
            if sizes[phase] is not None
            else f"{way}_OF({peer}, {id}, {size})"
        )
    return rows


def _lines(of_ranks: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table: a rank a line, or more where it is too long for one."""
    width = len(str(len(of_ranks) - 1))
    for rank, row in enumerate(of_ranks):
        line = f"    /* {rank:{width}} */ {{"
        indent = " " * len(line)
        for entry in [*row, "END"]:
            if len(line) + len(entry) + 3 > WIDTH:
                yield line.rstrip()
                line = indent
            line += entry + ("}," if entry == "END" else ", ")
        yield line


def _describe(entries: ConnectionEntries, phase: int) -> str:
    """`64 connections, 8 KiB, each at least 10 MB/s and at most 2.1 us from gate to gate`."""
    at = (entries.phase == phase) & (entries.send == 1)
    text = f"{count_of(int(at.sum()), 'connection')}, {format_size(int(entries.bytes[at].sum()))}"
    least, most = (
        float(entries.bandwidth_Bps[at].min(initial=np.inf)),
        float(entries.latency_s[at].max(initial=0.0)),
    )
    promises = [f"at least {format_rate(least)}"] if np.isfinite(least) else []
    promises += [f"at most {format_time(most)} from gate to gate"] if most else []
    return f"{text}, each {' and '.join(promises)}" if promises else text


def _blocks(
    entries: ConnectionEntries, tables: list[dict[str, Any]], stem: str
) -> Iterator[dict[str, Any]]:
    """What the template says of each block; blocks of one schedule have one set of tables."""
    taken = {"run", "connection", "step", "application"}
    owners: dict[int, str] = {}
    bounds = list(pairwise(entries.schedule_phases.tolist()))
    columns = (entries.repeat, entries.turns, entries.block_schedule)
    for name, repeat, turns, schedule in zip(
        entries.names, *(each.tolist() for each in columns), strict=True
    ):
        own = _identifier(name, stem, taken)
        first, last = bounds[schedule]
        owner = owners.setdefault(schedule, own)
        phases = [
            {
                **tables[p],
                "table": f"{owner}_{p - first}_of",
                "function": f"{stem}_{own}_{p - first}",
            }
            for p in range(first, last)
        ]
        numbers = [str(phase["context"]) for phase in phases]
        yield {
            "shown": _comment(name),
            "function": f"{stem}_{own}",
            "repeat": repeat,
            "turns": bool(turns),
            "own_tables": owner == own,
            "phases": phases,
            "runs": (f"{repeat} times " if repeat > 1 else "")
            + count_of(last - first, "phase")
            + (", forth and back" if turns else ""),
            "contexts": f"context{'' if len(numbers) == 1 else 's'} {_listed(numbers)}"
            if numbers
            else "",
        }


def _listed(numbers: Sequence[str]) -> str:
    """`0, 1, 2`; of many only the first and the last."""
    return (
        ", ".join(numbers) if len(numbers) <= 16 else f"{', '.join(numbers[:8])} ... {numbers[-1]}"
    )


def _identifier(name: str, stem: str = "", taken: set[str] | None = None) -> str:
    """A name in C that resembles `name`: letters, digits and single underscores.

    None twice of those that are taken.
    """
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_").lower() or "unnamed"
    if re.match(r"[0-9]|(conset|mpi)(_|$)", plain):
        plain = f"c_{plain}"  # no digit first, no name of a library
    if re.search(r"_[0-9]+$", plain):
        plain = f"{plain}_block"  # `a_1` is phase 1 of block `a`
    if taken is None:
        return plain
    found, count = plain, 1
    while found in taken or f"{stem}_{found}" in RESERVED:
        count += 1
        found = f"{plain}_n{count}"
    taken.add(found)
    return found


def _comment(text: str) -> str:
    """`text` on one line, as it may stand in a comment."""
    shown = "".join(mark if mark.isprintable() else " " for mark in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")
