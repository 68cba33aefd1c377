"""GOAL (`.goal`): operations of every rank and what each requires, of LogGOPSim and ATLAHS.

    num_ranks 2
    rank 0 {
    a: send 64b to 1 tag 3
    b: calc 500
    a requires b
    }
    rank 1 {
    recv 64b from 0 tag 3
    }

A pattern has no computation: `calc` moves nothing, and what requires it waits for what it requires.

Source: https://github.com/spcl/LogGOPSim (src/LogGOPSim/txt2bin.re).
"""

from __future__ import annotations

import re
from pathlib import Path

from conset.base import InputError, count_of, parse_size, read_text, shortened
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, require_ranks
from conset.pattern.readers.operations import Operations

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MOVE = re.compile(
    r"(?:([A-Za-z_]\w*)\s*:\s*)?(?:(send)\s+(\d+)b\s+to\s+(\d+)|(recv)\s+(\d+)b\s+from\s+(-1|\d+)"
    r"|(calc)\s+(\d+))(?:\s+tag\s+(\d+))?(?:\s+cpu\s+\d+)?(?:\s+nic\s+\d+)?"
)
_REQUIRES = re.compile(r"([A-Za-z_]\w*)\s+(i?)requires\s+([A-Za-z_]\w*)")
_RANK = re.compile(r"rank\s+(\d+)\s*\{")
_RANKS = re.compile(r"num_ranks\s+(\d+)")


def read_goal(path: Path, options: ReadOptions) -> Pattern:
    """Read what ranks send each other, and in which order.

    Raises:
        InputError: another syntax, a label that is not defined before its use, a rank out of range,
            or what `Operations.pattern` refuses.
    """
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), read_text(path))
    operations, ranks, rank, computed = Operations(), None, None, 0
    labels: dict[str, int] = {}
    seen: set[int] = set()
    for number, words in (
        (number, words.strip())
        for number, line in enumerate(text.split("\n"), 1)
        for words in re.sub(r"([{}])", r"\1\n", line).split("\n")
        if words.strip()
    ):
        place = f"{path}, line {number}"
        if ranks is None:
            if not (head := _RANKS.fullmatch(words)):
                raise _wrong(place, "num_ranks N", words)
            ranks = require_ranks(_number(head[1], place), str(path))
        elif rank is None:
            if not (head := _RANK.fullmatch(words)):
                raise _wrong(place, "rank R {", words)
            rank = _rank(head[1], ranks, place)
            if rank in seen:
                raise InputError(f"{place}: rank {rank}: occurs twice")
            seen.add(rank)
            labels = {}
        elif words == "}":
            rank = None
        elif found := _MOVE.fullmatch(words):
            computed += bool((found[9] or "").strip("0"))
            send, receive = found[2] is not None, found[5] is not None
            peer = found[4] or found[7] or "0"
            k = operations.add(
                "send" if send else "receive" if receive else "step",
                rank,
                place,
                peer=-1 if peer == "-1" else _rank(peer, ranks, place),
                size=parse_size(found[3] or found[6] or "0", place),
                tag=_number(found[10] or "0", place),
                after=[],
            )
            if found[1] and labels.setdefault(found[1], k) != k:
                raise InputError(f"{place}: label {shortened(found[1])}: occurs twice")
        elif found := _REQUIRES.fullmatch(words):
            for label in (found[1], found[3]):
                if label not in labels:
                    raise InputError(f"{place}: label {shortened(label)}: must be defined before")
            later, earlier = labels[found[1]], labels[found[3]]
            if found[2]:
                operations.beside.setdefault(later, []).append(earlier)
            else:
                operations.after[later] = [*operations.after[later], earlier]
        else:
            raise _wrong(place, "send, recv, calc, requires or }", words)
    if ranks is None or rank is not None:
        what = "num_ranks N" if ranks is None else "} of the last rank"
        raise InputError(f"{path}: ends before {what}")
    notes = [f"without {count_of(computed, 'computation')}"] if computed else []
    return operations.pattern(path, ranks, notes)


def _wrong(place: str, rule: str, given: str) -> InputError:
    return InputError(f"{place}: {rule} required, given '{shortened(given)}'")


def _number(word: str, place: str) -> int:
    if len(word) > 18:
        raise InputError(f"{place}: {shortened(word)}: must be below 10^18")
    return int(word)


def _rank(word: str, ranks: int, place: str) -> int:
    rank = _number(word, place)
    if rank >= ranks:
        raise InputError(f"{place}: rank {rank}: must be below num_ranks {ranks}")
    return rank
