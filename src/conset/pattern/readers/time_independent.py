"""Time-independent traces of SimGrid's SMPI (`.tit`): what every rank calls, in one file.

    0 init
    0 isend 1 7 2000
    0 wait 0 1 7
    0 finalize

A pattern has no computation and no barriers; `alltoall` and `alltoallv` are their messages. Files
without tags, which SMPI wrote before 3.20, are read too.

Source: https://github.com/simgrid/simgrid (src/smpi/internals/smpi_replay.cpp, smpi_datatype.cpp).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conset.base import InputError, count_of, read_text, shortened, whole_number
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, require_ranks
from conset.pattern.readers.operations import Kind, Operations

MOVES = ("send", "isend", "recv", "irecv")
LEFT_OUT = {"compute": "computation", "sleep": "computation", "barrier": "barrier"}
"""Actions that a pattern does not have → what they are."""
_NOTHING = {"init", "finalize", "comm_size", "comm_split", "comm_dup", "location", "test"}
DATATYPE_B = (
    *(8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8),
    *(8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32),
)
"""By SMPI's number of the datatype [B]: 0 is double, 1 int, 6 byte."""
_DOUBLE, _BYTE = 8, 1


@dataclass
class _Rank:
    """Where a rank is.

    Attributes:
        current: operations that the next one waits for.
        open: requests by source, target and tag, oldest first.
        default: bytes of an element without a datatype.
        collectives: calls so far.
    """

    current: list[int] = field(default_factory=list)
    open: dict[tuple[int, int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    default: int = _BYTE
    collectives: int = 0


def read_time_independent(path: Path, options: ReadOptions) -> Pattern:
    """Read what ranks send each other, and in which order.

    Raises:
        InputError: an action that is unknown or lacks arguments, a collective that is no exchange,
            a wait for nothing, or what `Operations.pattern` refuses.
    """
    rows = [
        (f"{path}, line {number}", line.split())
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    for place, words in rows:
        if len(words) < 2 or not words[0].isdecimal() or len(words[0]) > 9:
            raise InputError(f"{place}: RANK ACTION required, given '{shortened(' '.join(words))}'")
    ranks = require_ranks(1 + max((int(words[0]) for _, words in rows), default=0), str(path))
    tagged = not any(words[1] in MOVES and len(words) == 4 for _, words in rows)
    operations, states, left = Operations(), [_Rank() for _ in range(ranks)], Counter[str]()
    for place, (word, action, *given) in rows:
        rank, state = int(word), states[int(word)]
        if action in MOVES:
            given = given if tagged else [*given[:1], "0", *given[1:]]
            _move(operations, state, rank, action, given, place)
        elif action in ("wait", "waitall"):
            _wait(operations, state, rank, given if action == "wait" else None, place)
        elif action == "sendRecv":
            count, target, taken, source = (_number(given, k, place) for k in range(4))
            sent, got = (_element(given[k:][:1], state, place) for k in (4, 5))
            ends: tuple[tuple[Kind, int, int], ...] = (
                ("send", _peer(target, ranks, place), count * sent),
                ("receive", _peer(source, ranks, place), taken * got),
            )
            state.current = [
                operations.add(kind, rank, place, peer=peer, size=size, after=state.current)
                for kind, peer, size in ends
            ]
        elif action in ("alltoall", "alltoallv"):
            _exchange(operations, state, rank, ranks, action, given, place)
        elif action in LEFT_OUT:
            left[LEFT_OUT[action]] += 1
        elif action == "init":
            state.default = _DOUBLE if given else _BYTE
        elif action not in _NOTHING:
            rule = "sends, receives, waits, sendRecv, alltoall and alltoallv are read"
            raise InputError(f"{place}: {shortened(action)}: {rule}")
    for what in operations.peer:
        if what >= ranks:
            raise InputError(f"{path}: rank {what} is named and does nothing")
    return operations.pattern(
        path, ranks, [f"without {count_of(count, what)}" for what, count in left.items()]
    )


def _number(given: Sequence[str], k: int, place: str) -> int:
    """Argument k, which may be written as a float: `1e6`."""
    word = given[k] if k < len(given) else ""
    number = whole_number(word)
    if number is None:
        try:
            value = float(word)
            number = int(value) if value == int(value) else None
        except (ValueError, OverflowError):
            number = None
    if number is None or not -1 <= number < 2**62:
        what = f"given '{shortened(word)}'" if word else "it is missing"
        raise InputError(f"{place}: argument {k + 1}: a whole number required, {what}")
    return number


def _peer(rank: int, ranks: int, place: str) -> int:
    if not 0 <= rank < ranks:
        raise InputError(f"{place}: rank {rank}: must be from 0 to {ranks - 1}")
    return rank


def _element(given: Sequence[str], state: _Rank, place: str) -> int:
    """Bytes of the datatype that is given, or of the rank's own."""
    if not given:
        return state.default
    number = _number(given, 0, place)
    if not 0 <= number < len(DATATYPE_B):
        raise InputError(f"{place}: datatype {number}: must be from 0 to {len(DATATYPE_B) - 1}")
    return DATATYPE_B[number]


def _move(
    operations: Operations, state: _Rank, rank: int, action: str, given: Sequence[str], place: str
) -> None:
    peer, tag, count = (_number(given, k, place) for k in range(3))
    sends = action.endswith("send")
    size = count * _element(given[3:4], state, place)
    k = operations.add(
        "send" if sends else "receive",
        rank,
        place,
        peer=peer,
        size=size,
        tag=tag,
        after=list(state.current),
    )
    if action in ("send", "recv"):
        state.current = [k]
    else:
        state.open[(rank, peer, tag) if sends else (peer, rank, tag)].append(k)


def _wait(
    operations: Operations, state: _Rank, rank: int, given: Sequence[str] | None, place: str
) -> None:
    """For one request, that of the arguments or, in old files, the last one; None: for all."""
    if given is None:
        ended = sorted(k for queue in state.open.values() for k in queue)
        state.open.clear()
    else:
        if given:
            source, target, tag = (_number(given, k, place) for k in range(3))
            queue, at = state.open[source, target, tag], 0
        else:
            newest: list[int] = []
            queue, at = max(state.open.values(), key=lambda each: each[-1:], default=newest), -1
        if not queue:
            raise InputError(f"{place}: wait {' '.join(given)}: no such request is open")
        ended = [queue.pop(at)]
    state.current = [operations.add("step", rank, place, after=[*state.current, *ended])]


def _exchange(
    operations: Operations,
    state: _Rank,
    rank: int,
    ranks: int,
    action: str,
    given: Sequence[str],
    place: str,
) -> None:
    """A rank's part of a complete exchange."""
    if action == "alltoall":
        sent, taken = ([_number(given, k, place)] * ranks for k in range(2))
        types = given[2:]
    else:
        columns = (range(1, 1 + ranks), range(2 + ranks, 2 + 2 * ranks))
        sent, taken = ([_number(given, k, place) for k in column] for column in columns)
        types = given[2 + 2 * ranks :]
    tag = ("exchange", state.collectives)
    state.collectives += 1
    ways: tuple[tuple[Kind, list[int], Sequence[str]], ...] = (
        ("send", sent, types[:1]),
        ("receive", taken, types[1:2]),
    )
    each = [
        operations.add(
            kind,
            rank,
            place,
            peer=peer,
            size=counts[peer] * _element(datatype, state, place),
            tag=tag,
            after=state.current,
        )
        for kind, counts, datatype in ways
        for peer in range(ranks)
        if peer != rank
    ]
    state.current = [operations.add("step", rank, place, after=each)]
