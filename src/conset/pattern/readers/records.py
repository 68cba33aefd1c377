"""Record of a program's MPI calls: a folder with `*.record` files, or one such file.

Sections of ranks follow each other, in one file or in several; each is lines of words:

    conset/record@1
    rank 3 of 16                       world rank, world size
    host node3
    mpi MPICH
    seconds 12.345678                  from the first call of MPI to the writing of the record
    comm 0 0-15                        number, members: world ranks; x: outside the world
    row 0 0-2:65536 4-15:65536         ranks of a communicator: bytes to each
    exchange 0 alltoallw 400 393216000 8.25 0.51 12.3
                                       comm, kind, calls, bytes to others in all calls, seconds in
                                       them, begin of the first and end of the last [s]
    sequence 0 alltoallw 0*200 1,2*100 rows of the calls in order: ROW,ROW…*TIMES
    rest 0 alltoallw 1-2:500           bytes of calls whose rows were dropped
    dropped 0 alltoallw 12             how many these are
    send 5 17 100 8400000              world rank, class of sizes, messages, bytes
    external 10 4000                   messages, bytes to ranks outside the world
    total allreduce 10 80              other collectives: calls, bytes that this rank gave
    end finalize                       finalize, exit, abort, session; absent: the rank was killed

Class c has messages of 2^(c - 1) … 2^c - 1 bytes, class 0 empty ones, as in Open MPI's monitoring.
Rows stay ranges until the bytes of an exchange are added up, so time and memory follow the size of
the files and of the exchanges; `MAX_WORK` bounds them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    InputError,
    Integers,
    Ints,
    Ints32,
    ValueObject,
    count_of,
    frozen,
    read_text,
    shortened,
)
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import require_ranks
from conset.pattern.readers.monitoring import COUNTS

SCHEMA = "conset/record@1"
SUFFIX = ".record"
NOTHING = "nothing.txt"
"""File with the reason why nothing was recorded."""
REORDERED = ("alltoall", "alltoallv", "alltoallw")
"""Kinds of calls that can be intercepted."""
MIN_RANKS = 3
"""Ranks of a communicator that have more than one order."""
MAX_PERIOD = 64
"""Maximum period of an exchange; one with a longer period is averaged over its calls."""
MOST_RUNS = 1 << 12
"""Number of entries of a sequence in which a period is looked for."""
REPEATED = 0.95
"""Share of calls that have the row of the call a period before."""
MAX_WORK = 1 << 25
"""Maximum number of members of communicators and of entries of exchanges that are added up."""

_RANGE = r"\d{1,9}(?:-\d{1,9})?"
_MEMBERS = rf"(?:{_RANGE}|x)(?:,(?:{_RANGE}|x))*"
_ROW = rf"((?: {_RANGE}:\d{{1,18}})*)"
_OF = r"(\d{1,9}) (i?alltoall[vw]?(?:_init)?(?::in-place)?)"
_TIME = r"(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)"
_LINES = {
    word: (keys, re.compile(f"{word} {rest}".rstrip(), re.ASCII))
    for word, keys, rest in (
        (SCHEMA, 0, ""),
        ("rank", 0, r"(\d{1,9}) of (\d{1,9})"),
        ("host", 0, r"\S{1,255}"),
        ("mpi", 0, r"(?:MPICH|Open MPI|MPI ABI)"),
        ("seconds", 0, _TIME),
        ("comm", 1, rf"(\d{{1,9}}) ({_MEMBERS})"),
        ("row", 1, rf"(\d{{1,9}}){_ROW}"),
        ("exchange", 2, rf"{_OF} (\d{{1,18}}) (\d{{1,18}}) {_TIME} {_TIME} {_TIME}"),
        ("sequence", 2, rf"{_OF}((?: \d{{1,9}}(?:,\d{{1,9}})*\*\d{{1,18}})+)"),
        ("rest", 2, rf"{_OF}{_ROW}"),
        ("dropped", 2, rf"{_OF} (\d{{1,18}})"),
        ("send", 2, r"(\d{1,9}) (\d{1,2}) (\d{1,18}) (\d{1,18})"),
        ("external", 0, r"(\d{1,18}) (\d{1,18})"),
        ("total", 1, r"([a-z_]{1,60}) (\d{1,18}) (\d{1,18})"),
        ("end", 0, r"(exit|abort|finalize|session)"),
    )
}
"""First word of a line → (length of its key, form of the line).

The key of a line are its first groups; a section has one line of each word and key.
"""
_ENDS = {
    "": "left a record without an end: killed?",
    "exit": "ended without MPI_Finalize",
    "abort": "aborted",
    "finalize": "",
    "session": "",
    "missing": "left no record: killed?",
}
"""How a rank ended → a sentence on it; "" where that is usual."""


class Sent(NamedTuple):
    """Bytes between ranks.

    Attributes:
        source: shape=(pairs), int32: world rank that sends.
        target: shape=(pairs), int32: world rank that receives.
        bytes: shape=(pairs), int64 [B].
    """

    source: Ints32
    target: Ints32
    bytes: Ints

    @staticmethod
    def of(rows: Sequence[Sent]) -> Sent:
        """All of several, one after the other."""
        columns = zip(_NOTHING, *rows, strict=True)
        return Sent(*(frozen(np.concatenate(column)) for column in columns))


_NOTHING = Sent(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class RecordedExchange(ValueObject):
    """Calls of one kind on all communicators with the same members in the same order.

    Attributes:
        kind: as `alltoallw`, `ialltoallv`, `alltoall_init:in-place`.
        members: shape=(members), int32: world rank of each; -1: outside the world.
        calls: number of calls of the rank that made the most.
        bytes: sent to others, of all ranks and calls [B].
        seconds: in these calls, of the rank with the most [s].
        begin_s: of the first call, from the rank's first call of MPI [s].
        end_s: of the last one [s].
        positions: bytes in all calls k with k modulo the period = position, self and ranks outside
            the world excluded; each pair once.
        calls_at: shape=(period), int64: number of calls at each position.
        sent: number of messages by class of sizes, as `Pattern.sent`; without those of dropped
            calls, whose sizes are not recorded.
    """

    kind: str
    members: Ints32
    calls: int
    bytes: int
    seconds: float
    begin_s: float
    end_s: float
    positions: tuple[Sent, ...]
    calls_at: Ints
    sent: tuple[int, ...]

    @property
    def obstacle(self) -> tuple[str, str]:
        """(what to do, why) where the calls cannot be intercepted; ("", "") where they can."""
        call, _, in_place = self.kind.partition(":")
        rules = (
            ((self.members < 0).any(), "nothing", "has ranks outside the world"),
            (self.members.size < MIN_RANKS, "nothing", "fewer than 3 ranks have only one order"),
            (in_place, "change the call", "MPI_IN_PLACE is left to the library: use two buffers"),
            (call not in REORDERED, "change the call", "only blocking calls can be intercepted"),
        )
        return next(((action, reason) for holds, action, reason in rules if holds), ("", ""))

    @property
    def period(self) -> int:
        """Number of calls after which the bytes repeat; 1 where they do not, or always do."""
        return len(self.positions)

    def pattern(self, position: int, ranks: int) -> Pattern:
        """What one call at a position of the period sends: the mean of the calls, rounded up.

        Args:
            position: below the period.
            ranks: of the world.
        """
        source, target, size = self.positions[position]
        mean = -(-size // max(int(self.calls_at[position]), 1))
        return Pattern.from_messages(source, target, mean, ranks, name=self.name)

    @property
    def name(self) -> str:
        """Kind and members, for people: `alltoallw of ranks 0-15`."""
        return f"{self.kind} of {_ranks(self.members)}"


@dataclass(frozen=True, eq=False)
class Record(ValueObject):
    """What the ranks of a program sent with MPI.

    Attributes:
        name: of the folder or file, with the number of ranks that are missing.
        ranks: of the world.
        missing: shape=(missing), int32: world ranks without a section, or with one that does not
            end.
        spawned: number of files of spawned ranks, which are not read.
        exchanges: with the most bytes first.
        messages: point-to-point.
        sent: number of point-to-point messages by class of sizes, as `Pattern.sent`.
        totals: other collectives: kind → calls, bytes that ranks gave [B], of all ranks.
        notes: what is missing or left out, a sentence each.
    """

    name: str
    ranks: int
    missing: Ints32
    spawned: int
    exchanges: tuple[RecordedExchange, ...]
    messages: Sent
    sent: tuple[int, ...]
    totals: Mapping[str, tuple[int, int]]
    notes: tuple[str, ...]

    def exchanged(self) -> Pattern:
        """What was sent in all-to-all calls."""
        return self._pattern([])

    def pattern(self) -> Pattern:
        """What was sent in all-to-all calls and point-to-point, with the sizes of messages."""
        sent = np.sum([self.sent, *(each.sent for each in self.exchanges)], axis=0)
        return replace(self._pattern([self.messages]), sent=tuple(sent.tolist()))

    def _pattern(self, others: Sequence[Sent]) -> Pattern:
        rows = [sent for each in self.exchanges for sent in each.positions]
        return Pattern.from_messages(*Sent.of([*rows, *others]), self.ranks, name=self.name)


def is_record(path: Path) -> bool:
    """Whether a path is a `.record` file, or a folder with such files or with `nothing.txt`."""
    if not os.path.isdir(path):  # a name that is too long is no folder, and no error
        return path.suffix.lower() == SUFFIX
    return (path / NOTHING).exists() or next(path.glob(f"*{SUFFIX}"), None) is not None


def read_mpi_record(path: Path) -> Record:
    """Read a record of MPI calls: a folder, or one file of it.

    Raises:
        InputError: no record in the folder; a line that is malformed, names what is not defined,
            or contradicts others; more entries than `MAX_WORK`.
    """
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    spawned = [each.name for each in files if path.is_dir() and each.name.startswith("spawned-")]
    reader = _Reader()
    for file in files:
        if file.name not in spawned:
            reader.read(file)
    if not reader.ends:
        reason = path / NOTHING
        why = f": {read_text(reason).splitlines()[0]}" if reason.is_file() else ""
        raise InputError(f"{path}: nothing was recorded{why}")
    return reader.record(path.resolve().name, spawned)


def ranges_text(members: Integers) -> str:
    """Return ranks in their order, runs of rising ones as ranges: `0-3,7`; -1 as `x`."""
    ranks = np.asarray(members, np.int64)
    breaks = np.flatnonzero((np.diff(ranks) != 1) | (ranks[:-1] < 0)) + 1
    firsts, lasts = ranks[[0, *breaks]].tolist(), ranks[[*(breaks - 1), -1]].tolist()
    return ",".join(
        "x" if first < 0 else str(first) if first == last else f"{first}-{last}"
        for first, last in zip(firsts, lasts, strict=True)
    )


def _ranks(members: Integers) -> str:
    """As `ranges_text`, for a sentence."""
    return f"{'rank' if len(members) == 1 else 'ranks'} {shortened(ranges_text(members))}"


def _require(holds: object, where: str, rule: str) -> None:
    """Raise an InputError that names the line unless something holds."""
    if not holds:
        raise InputError(f"{where}: {rule}")


def _ranges(text: str) -> Ints:
    """shape=(3, ranges), int64: first and last rank, -1 for `x`, and bytes to each of them [B]."""
    entries = [
        (-1, -1, 0) if first == "x" else (int(first), int(last or first), int(size or 0))
        for first, last, size in re.findall(r"(x|\d+)(?:-(\d+))?(?::(\d+))?", text)
    ]
    return np.array(entries, np.int64).reshape(-1, 3).T


def _row(text: str, where: str) -> Ints:
    """Bytes to the ranks of a communicator: ranges that rise and are disjoint."""
    first, last, size = ranges = _ranges(text)
    rise = (first <= last).all() and (first[1:] > last[:-1]).all()
    _require(rise, where, "ranges of ranks must rise and not overlap")
    _require(((last - first + 1.0) * size).sum() <= MAX_SIZE_B, where, "more than 2^62 B")
    return ranges


_Lines = dict[tuple[str, ...], Any]
"""Word and key of the lines of one rank → what they define."""


def _defined(lines: _Lines, where: str, *key: str) -> Any:
    """Return what a line before `where` defines."""
    _require(key in lines, where, f"{' '.join(key)} is not defined before")
    return lines[key]


@dataclass
class _Calls:
    """The exchange of one rank: its lines `exchange`, `sequence`, `rest` and `dropped`.

    Attributes:
        where: the line.
        members: of the communicator.
        calls: how many.
        bytes: in all of them [B].
        times: seconds in them, begin of the first, end of the last [s].
        rows: ranges of dropped calls, all added up, then those of the sequence, each once.
        sequence: shape=(4, entries), int64: row, index of its first call, and length and
            repetitions of the run that it is in.
        dropped: number of calls that are not in the sequence.
    """

    where: str
    members: Ints32
    calls: int
    bytes: int
    times: tuple[float, ...]
    rows: list[Ints] = field(default_factory=lambda: [_ranges("")])
    sequence: Ints = field(default_factory=lambda: np.zeros((4, 0), np.int64))
    dropped: int = 0

    @property
    def period(self) -> int:
        """The number of calls after which rows repeat; 1 where they do not, or calls were dropped.

        It is the length of a run with more than half of the calls. Else it is looked for in the
        first runs, as short sequences are recorded call by call.
        """
        made = self.sequence[2] * self.sequence[3]
        if self.dropped or not made.size:
            return 1
        if 2 * made.max() > self.calls:
            return int(self.sequence[2, np.argmax(made)])
        row, _, length, times = self.sequence[:, :MOST_RUNS]
        rows = np.repeat(row, np.where(length == 1, np.minimum(times, MAX_PERIOD), 1))
        periods = range(1, min(MAX_PERIOD, rows.size // 2) + 1)
        return next((p for p in periods if (rows[p:] == rows[:-p]).mean() >= REPEATED), 1)

    def counts(self, period: int) -> Ints:
        """shape=(rows, period), int64: calls with each row at each position, 1 of dropped calls."""
        row, start, length, times = self.sequence
        counts = np.zeros((len(self.rows), period), np.int64)
        cycle = period // np.gcd(length, period)
        for step in range(period):
            number = np.where(step < cycle, times // cycle + (step < times % cycle), 0)
            np.add.at(counts, (row, (start + length * step) % period), number)
        counts[0, 0] = 1
        return counts

    def add_sequence(self, text: str, lines: _Lines, where: str) -> None:
        """Add the sequence of calls: runs `ROW,ROW…*TIMES` of rows that are defined."""
        numbers: dict[str, int] = {}
        entries = []
        start = 0
        for run in text.split():
            names, times = (part.split(",") for part in run.split("*"))
            for k, name in enumerate(names):
                if name not in numbers:
                    numbers[name] = len(self.rows)
                    self.rows.append(_defined(lines, where, "row", name))
                entries.append((numbers[name], start + k, len(names), int(times[0])))
            start += len(names) * int(times[0])
            _require(start <= self.calls, where, f"{start} calls, the exchange has {self.calls}")
        self.sequence = np.array(entries, np.int64).T


class _Reader:
    """What was read of all files, and sums over them."""

    def __init__(self) -> None:
        self.ranks = 0
        self.ends: dict[int, str] = {}
        self.groups: dict[tuple[bytes, str], dict[int, list[_Calls]]] = {}
        self.sums: Counter[str] = Counter()
        self.members: dict[str, Ints32] = {}
        self.sends: list[tuple[int, int, int]] = []
        self.sent = np.zeros(COUNTS, np.int64)
        self.totals: dict[str, tuple[int, int]] = {}
        self.notes: list[str] = []

    def read(self, path: Path) -> None:
        """Read the sections of a file."""
        rank, before = -1, ""
        lines: _Lines = {}
        for number, line in enumerate(read_text(path).splitlines(), 1):
            where, text = f"{path}, line {number}", f"'{shortened(line)}'"
            word = line.partition(" ")[0]
            keys, form = _LINES.get(word, (0, None))
            found = form and form.fullmatch(line)
            if not found:
                raise InputError(f"{where}: {text}: no line of a record")
            if (word == "rank") != (before == SCHEMA):
                raise InputError(f"{where}: {text}: rank R of N must follow {SCHEMA}")
            if word == "rank":
                rank, lines = self._begin(where, int(found[1]), int(found[2])), {}
            elif word != SCHEMA:
                _require(rank >= 0, where, f"{text}: is in no section")
                key = (word, *found.groups()[:keys])
                _require(key not in lines, where, f"a second line '{' '.join(key)}'")
                lines[key] = self._take(rank, lines, found, where)
            rank = -1 if word in (SCHEMA, "end") else rank
            before = word
        _require(before != SCHEMA, str(path), f"ends after {SCHEMA}")

    def _begin(self, where: str, rank: int, ranks: int) -> int:
        """Return the rank of a section that begins."""
        self.ranks = self.ranks or require_ranks(ranks, where)
        _require(ranks == self.ranks, where, f"{ranks} ranks, in a section before {self.ranks}")
        _require(rank < ranks, where, f"rank {rank}: must be below {ranks}")
        _require(rank not in self.ends, where, f"rank {rank}: has another section")
        self.ends[rank] = ""
        return rank

    def _take(self, rank: int, lines: _Lines, found: re.Match[str], where: str) -> Any:
        """Return what a line behind the first two of a section defines, if anything."""
        word, *values = found[0].split(" ")
        if word == "comm":
            return self._members(found[2], where)
        if word == "row":
            return _row(found[2], where)
        if word == "exchange":
            return self._exchange(rank, lines, found, where)
        if word in ("sequence", "rest", "dropped"):
            calls = _defined(lines, where, "exchange", *values[:2])
            if word == "sequence":
                calls.add_sequence(found[3], lines, where)
            elif word == "rest":
                calls.rows[0] = _row(found[3], where)
            else:
                calls.dropped = int(found[3])
        elif word == "send":
            self._send(where, rank, *map(int, values))
        elif word == "external":
            self.sums["external"] += int(found[1])
        elif word == "total":
            number, size = self.totals.get(found[1], (0, 0))
            self.totals[found[1]] = number + int(found[2]), size + int(found[3])
        elif word == "end":
            self.ends[rank] = found[1]
        return None

    def _members(self, text: str, where: str) -> Ints32:
        """shape=(members), int32: the world ranks of a communicator; -1: outside the world."""
        if text not in self.members:
            ranges = _ranges(text)
            first, last = ranges[:2, np.argsort(ranges[0])]
            rise = ((first <= last) & (last < self.ranks)).all()
            _require(rise, where, f"ranges of ranks must rise, and be below {self.ranks}")
            apart = ((first[1:] > last[:-1]) | (first[1:] < 0)).all()
            _require(apart, where, "a rank is twice in a communicator")
            self._add("entries", int((last - first + 1).sum()), where)
            parts = [np.arange(low, high + 1, dtype=np.int32) for low, high in ranges[:2].T]
            self.members[text] = frozen(np.concatenate(parts))
        return self.members[text]

    def _exchange(self, rank: int, lines: _Lines, found: re.Match[str], where: str) -> _Calls:
        comm, kind, number, size, *times = found.groups()
        members = _defined(lines, where, "comm", comm)
        calls = _Calls(where, members, int(number), int(size), tuple(map(float, times)))
        self._add("bytes", calls.bytes, where)
        group = self.groups.setdefault((members.tobytes(), kind), {})
        group.setdefault(rank, []).append(calls)
        return calls

    def _send(self, where: str, rank: int, target: int, bits: int, count: int, size: int) -> None:
        least, most = 1 << bits >> 1, (1 << bits) - 1
        _require(target < self.ranks, where, f"rank {target}: must be below {self.ranks}")
        rule = f"{count} messages of {least} to {most} B cannot have {size} B"
        _require(count > 0 and least * count <= size <= most * count, where, rule)
        self._add("messages", count, where)
        self._add("bytes", size, where)
        self.sent[bits] += count
        self.sends.append((rank, target, size))

    def _add(self, what: str, number: int, where: str) -> None:
        """Add to a sum over all files, which is bounded."""
        self.sums[what] += number
        most = MAX_WORK if what == "entries" else MAX_SIZE_B
        _require(self.sums[what] <= most, where, f"{self.sums[what]:,} {what}, at most {most:,}")

    def record(self, name: str, spawned: list[str]) -> Record:
        """Add up what was read."""
        ends = {
            end: np.array(sorted(rank for rank, own in self.ends.items() if own == end), int)
            for end in _ENDS
        }
        ends["missing"] = np.setdiff1d(np.arange(self.ranks), [*self.ends])
        ended = [(ranks, _ENDS[end]) for end, ranks in ends.items() if ranks.size]
        self.notes += [f"{_ranks(ranks)} {text}" for ranks, text in ended if text]
        missing = np.union1d(ends[""], ends["missing"]).astype(np.int32)
        exchanges = [self._added(kind, group) for (_, kind), group in self.groups.items()]
        count, files = count_of(self.sums["external"], "message"), count_of(len(spawned), "file")
        notes = (
            (self.sums["external"], f"{count} to ranks outside the world not in the pattern"),
            (spawned, f"{files} of spawned ranks not read: {shortened(', '.join(spawned))}"),
        )
        self.notes += [text for holds, text in notes if holds]
        source, target, size = np.array(self.sends, np.int64).reshape(-1, 3).T
        gone = f" ({missing.size} of {self.ranks} ranks missing)" if missing.size else ""
        return Record(
            name + gone,
            self.ranks,
            frozen(missing),
            len(spawned),
            tuple(sorted(exchanges, key=lambda each: -each.bytes)),
            Sent(frozen(source.astype(np.int32)), frozen(target.astype(np.int32)), frozen(size)),
            tuple(self.sent.tolist()),
            self.totals,
            tuple(self.notes),
        )

    def _added(self, kind: str, group: Mapping[int, list[_Calls]]) -> RecordedExchange:
        """Add up an exchange over its ranks, and over communicators with the same members."""
        parts = [calls for own in group.values() for calls in own]
        members, dropped = parts[0].members, max(calls.dropped for calls in parts)
        period = lcm(*(calls.period for calls in parts))
        period = 1 if dropped or period > MAX_PERIOD else period
        positions: list[list[Sent]] = [[] for _ in range(period)]
        calls_at, sent = np.zeros(period, np.int64), np.zeros(COUNTS, np.int64)
        for rank, own in group.items():
            added = [self._sizes(calls, rank, period) for calls in own]
            sizes, number, messages = (sum(column) for column in zip(*added, strict=True))
            calls_at, sent = np.maximum(calls_at, number), sent + messages
            for rows, size in zip(positions, sizes, strict=True):
                to = np.flatnonzero((size > 0) & (members >= 0))
                rows.append(Sent(np.full(to.size, rank, np.int32), members[to], size[to]))
        made = [sum(calls.calls for calls in own) for own in group.values()]
        exchange = RecordedExchange(
            kind,
            members,
            max(made),
            sum(calls.bytes for calls in parts),
            max(sum(calls.times[0] for calls in own) for own in group.values()),
            min(calls.times[1] for calls in parts),
            max(calls.times[2] for calls in parts),
            tuple(map(Sent.of, positions)),
            frozen(calls_at),
            tuple(sent.tolist()),
        )
        notes = (
            (min(made) < max(made), f"some ranks made {min(made)} calls, others {max(made)}"),
            (dropped, f"{dropped} calls differ too much to be kept one by one"),
        )
        self.notes += [f"{exchange.name}: {text}" for holds, text in notes if holds]
        return exchange

    def _sizes(self, calls: _Calls, rank: int, period: int) -> tuple[Ints, Ints, Ints]:
        """What a rank sends.

        Returns:
            shape=(period, members): bytes to each member, by position [B];
            shape=(period): calls at each position;
            shape=(COUNTS): messages by class of sizes, without those of dropped calls.
        """
        counts, members = calls.counts(period), calls.members
        number = counts[1:].sum(axis=0)
        number[0] += calls.dropped
        row = np.repeat(np.arange(len(calls.rows)), [ranges.shape[1] for ranges in calls.rows])
        first, last, value = np.hstack(calls.rows)
        times, width = counts.sum(axis=1)[row], last - first + 1
        in_rows = zip((width * value).tolist(), times.tolist(), strict=True)
        made, size = int(number.sum()), sum(each * count for each, count in in_rows)
        rule = f"{calls.calls} calls of {calls.bytes} B, its rows are {made} calls of {size} B"
        _require((made, size) == (calls.calls, calls.bytes), calls.where, rule)
        self._add("entries", (first.size + members.size) * period, calls.where)
        highest, below = last.max(initial=-1), f"must be below {members.size}"
        _require(highest < members.size, calls.where, f"rank {highest} of a row: {below}")
        weight = counts[row] * value[:, None]
        steps = np.zeros((members.size + 1, period), np.int64)
        np.add.at(steps, np.append(first, last + 1), np.vstack([weight, -weight]))
        sizes = np.cumsum(steps, axis=0)[:-1].T
        itself = sizes[:, members == rank].any()
        _require(not itself, calls.where, f"a row has bytes of rank {rank} to itself")
        sent = np.zeros(COUNTS, np.int64)
        np.add.at(sent, np.frexp(value)[1], np.where((value > 0) & (row > 0), width * times, 0))
        return sizes, number, sent
