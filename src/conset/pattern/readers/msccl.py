"""MSCCL's algorithms (`.xml`): steps of the thread blocks of every GPU; exchanges are read.

Verification: chunks are followed from buffer to buffer, so that each ends where `alltoall` wants
it. A chunk that no step reads is left out by `alltoallv` alone.

Sizes: of an algorithm for one size (minBytes = maxBytes) a chunk is its part of that, else `word`
bytes. Steps of a thread block run in order, and wait for the step that they depend on.

Source: https://github.com/ROCm/rccl (src/misc/msccl/msccl_parser.cc, src/include/msccl).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from conset.base import InputError, read_text, shortened, whole_number
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, require_ranks
from conset.pattern.readers.mesh_text import require_no_doctype
from conset.pattern.readers.operations import Kind, Operations

COLLECTIVES = ("alltoall", "alltoallv")
MAX_COUNT = 71
"""Chunks of a step, of RCCL's executor."""
_SENDS, _RECEIVES, _COPIES = {"s", "rcs"}, {"r", "rcs"}, {"cpy"}
_REDUCES = {"re", "rrc", "rrs", "rrcs"}
_BUFFERS = {"i": "input", "o": "output", "s": "scratch"}
_BUFFER_CHUNKS = {"i": "i_chunks", "o": "o_chunks", "s": "s_chunks"}


Chunks = list[tuple[int, int] | None]


class _Step(NamedTuple):
    """A step of a thread block: where it reads and writes, how many chunks, what it waits for."""

    place: str
    gpu: int
    type: str
    source: tuple[str, int]
    target: tuple[str, int]
    chunks: int
    send: int
    receive: int
    channel: int
    depends: tuple[int, int] | None


@dataclass
class _Algorithm:
    """A file: the chunks of a buffer by GPU, and the steps by GPU, thread block and number."""

    path: Path
    collective: str
    gpus: int
    chunks: dict[int, dict[str, int]]
    steps: dict[tuple[int, int, int], _Step]


def read_msccl(path: Path, options: ReadOptions) -> Pattern:
    """Read the messages of an exchange, hop by hop, and the order in which the steps send them.

    Raises:
        InputError: no XML or no algorithm, another collective, a number that is missing or out of
            range, a step without its other end, steps that wait for each other, or a chunk that
            ends where it must not; names GPU, thread block and step.
    """
    require_no_doctype(path)
    try:
        root = ElementTree.fromstring(read_text(path))
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{path}: no XML: {error}") from None
    if root.tag != "algo":
        raise InputError(f"{path}: an algorithm of MSCCL required, given <{shortened(root.tag)}>")
    collective = root.get("coll", "")
    if collective not in COLLECTIVES:
        rule = f"coll must be {' or '.join(COLLECTIVES)}, others are no exchange"
        raise InputError(f"{path}: coll is '{shortened(collective)}': {rule}")
    gpus = require_ranks(_integer(root, "ngpus", f"{path}", 1), str(path))
    found = _Algorithm(path, collective, gpus, {}, {})
    for gpu in root.iter("gpu"):
        _read_gpu(found, gpu)
    missing = next((gpu for gpu in range(gpus) if gpu not in found.chunks), None)
    if missing is not None:
        raise InputError(f"{path}: gpu {missing} of {gpus} is missing")
    per_pair = _chunks_per_pair(found)
    size = options.word
    least, most = (_integer(root, f"{end}Bytes", f"{path}", 0, 0) for end in ("min", "max"))
    if least == most > 0:
        if most % (gpus * per_pair):
            rule = f"a multiple of {gpus * per_pair} chunks required"
            raise InputError(f"{path}: maxBytes {most}: {rule}")
        size = most // (gpus * per_pair)
    operations, steps = _operations(found, size)
    _follow(found, per_pair, operations, steps)
    return operations.pattern(path, gpus)


def _integer(
    node: ElementTree.Element, name: str, place: str, least: int, default: int | None = None
) -> int:
    word = node.get(name)
    if word is None and default is not None:
        return default
    number = None if word is None else whole_number(word)
    if number is None or not least <= number < 2**48:
        given = "it is missing" if word is None else f"given '{shortened(word)}'"
        rule = f"a whole number of at least {least} required"
        raise InputError(f"{place}: {name}: {rule}, {given}")
    return number


def _read_gpu(found: _Algorithm, node: ElementTree.Element) -> None:
    gpu = _integer(node, "id", f"{found.path}: gpu", 0)
    place = f"{found.path}: gpu {gpu}"
    if gpu >= found.gpus or gpu in found.chunks:
        rule = "occurs twice" if gpu in found.chunks else f"must be below ngpus {found.gpus}"
        raise InputError(f"{place}: {rule}")
    found.chunks[gpu] = {b: _integer(node, k, place, 0) for b, k in _BUFFER_CHUNKS.items()}
    for block in node.iter("tb"):
        tb = _integer(block, "id", f"{place}, tb", 0)
        at = f"{place}, tb {tb}"
        send, receive = (_integer(block, end, at, -1) for end in ("send", "recv"))
        for peer in (send, receive):
            if peer == gpu or peer >= found.gpus:
                rule = "its own GPU" if peer == gpu else f"must be below ngpus {found.gpus}"
                raise InputError(f"{at}: peer {peer}: {rule}")
        channel = _integer(block, "chan", at, 0)
        for number, step in enumerate(block.iter("step")):
            s = _integer(step, "s", f"{at}, step", 0)
            where = f"{at}, step {s}"
            if s != number:
                raise InputError(f"{where}: steps must be 0, 1, 2 … in order")
            if (gpu, tb, s) in found.steps:
                raise InputError(f"{at}: occurs twice")
            found.steps[gpu, tb, s] = _read_step(
                found, step, where, gpu=gpu, send=send, receive=receive, channel=channel
            )


def _read_step(
    found: _Algorithm,
    node: ElementTree.Element,
    place: str,
    *,
    gpu: int,
    send: int,
    receive: int,
    channel: int,
) -> _Step:
    kind = node.get("type", "")
    if kind in _REDUCES:
        raise InputError(
            f"{place}: type {kind}: an exchange moves data, it does not combine values"
        )
    if kind not in {*_SENDS, *_RECEIVES, *_COPIES, "nop"}:
        rule = "must be s, r, rcs, cpy or nop"
        raise InputError(f"{place}: type '{shortened(kind)}': {rule}")
    for needed, peer, what in ((_SENDS, send, "send"), (_RECEIVES, receive, "recv")):
        if kind in needed and peer < 0:
            raise InputError(f"{place}: type {kind}: its thread block has {what} -1")
    count = 0 if kind == "nop" else _integer(node, "cnt", place, 1)
    ends: list[tuple[str, int]] = []
    for end, used in (("src", kind not in ("r", "nop")), ("dst", kind not in ("s", "nop"))):
        buffer = node.get(f"{end}buf", "")
        offset = _integer(node, f"{end}off", place, -1, 0)
        if used and buffer not in _BUFFERS:
            raise InputError(f"{place}: {end}buf '{shortened(buffer)}': must be i, o or s")
        if used and not 0 <= offset <= found.chunks[gpu][buffer] - count:
            rule = f"{_BUFFERS[buffer]} has {found.chunks[gpu][buffer]} chunks"
            raise InputError(f"{place}: {end}off {offset}, cnt {count}: {rule}")
        ends.append((buffer, offset))
    # a step that receives and sends on sends what it has received
    tb, s = (_integer(node, name, place, -1, -1) for name in ("depid", "deps"))
    source = ends[1] if kind == "rcs" else ends[0]
    depends = None if tb < 0 else (tb, s)
    return _Step(place, gpu, kind, source, ends[1], count, send, receive, channel, depends)


def _chunks_per_pair(found: _Algorithm) -> int:
    """Chunks from one GPU to another."""
    for gpu, chunks in found.chunks.items():
        for buffer in ("i", "o"):
            if chunks[buffer] != found.chunks[0]["i"] or chunks[buffer] % found.gpus:
                rule = f"a multiple of ngpus {found.gpus}, the same everywhere, required"
                what = f"{_BUFFER_CHUNKS[buffer]} {chunks[buffer]}"
                raise InputError(f"{found.path}: gpu {gpu}: {what}: {rule}")
    return max(found.chunks[0]["i"] // found.gpus, 1)


def _operations(found: _Algorithm, size: int) -> tuple[Operations, list[_Step]]:
    """(operations, the step of each)."""
    operations, steps = Operations(), list[_Step]()
    last: dict[tuple[int, int, int], int] = {}
    waits: list[tuple[int, _Step]] = []
    for (gpu, tb, s), step in found.steps.items():
        after = [] if s == 0 else [last[gpu, tb, s - 1]]
        if step.depends is not None:
            waits.append((len(steps), step))
        ends: list[tuple[Kind, int]] = []
        if step.type in _RECEIVES:
            ends.append(("receive", step.receive))
        if step.type in _SENDS:
            ends.append(("send", step.send))
        for kind, peer in ends or [("step", 0)]:
            k = operations.add(
                kind,
                gpu,
                step.place,
                peer=peer,
                size=size * step.chunks,
                tag=step.channel,
                after=after,
            )
            previous = steps[-1] if s > 0 and step.depends is None else None
            if previous is not None and (previous.type, previous.chunks) == (kind[0], MAX_COUNT):
                operations.goes_on[k] = k - 1  # a step holds no more
            steps.append(step)
            after = [k]
        last[gpu, tb, s] = len(steps) - 1
    for k, step in waits:
        assert step.depends is not None
        on = last.get((step.gpu, *step.depends))
        if on is None:
            tb, s = step.depends
            raise InputError(f"{step.place}: depends on tb {tb}, step {s}, which is missing")
        operations.after[k] = [*operations.after[k], on]
    return operations, steps


def _follow(
    found: _Algorithm, per_pair: int, operations: Operations, steps: Sequence[_Step]
) -> None:
    """Executes all steps on the names of chunks.

    Raises:
        InputError: a deadlock, a step that reads what nothing has written or receives another
            number of chunks than are sent, or a chunk that ends where it must not.
    """
    matched = operations.matched()
    sent_to = {receive: send for send, receive in matched.items()}
    chunks = {
        (gpu, buffer): [(gpu, at) if buffer == "i" else None for at in range(count)]
        for gpu, counts in found.chunks.items()
        for buffer, count in counts.items()
    }
    written, read, moved = dict[tuple[int, int], str](), set[object](), dict[int, Chunks]()
    for k in operations.in_order(sent_to):
        step, kind = steps[k], operations.kind[k]
        if kind == "receive":
            got = moved.pop(sent_to[k])
            if len(got) != step.chunks:
                raise InputError(
                    f"{step.place}: receives {step.chunks} chunks, {len(got)} are sent"
                )
        elif step.type == "nop":
            continue
        else:
            buffer, at = step.source
            got = chunks[step.gpu, buffer][at : at + step.chunks]
            if None in got:
                what = f"chunk {at + got.index(None)} of the {_BUFFERS[buffer]} buffer"
                raise InputError(f"{step.place}: reads {what}, which nothing has written")
            read |= {*got}
        if kind == "send":
            moved[k] = got
            continue
        buffer, at = step.target
        chunks[step.gpu, buffer][at : at + step.chunks] = got
        if buffer == "o":
            written |= dict.fromkeys(((step.gpu, at + c) for c in range(step.chunks)), step.place)
    for gpu in range(found.gpus):
        for at, chunk in enumerate(chunks[gpu, "o"]):
            source, part = divmod(at, per_pair)
            wanted = (source, gpu * per_pair + part)
            left_out = chunk is None and (found.collective == "alltoallv" and wanted not in read)
            if chunk != wanted and not left_out:
                place = written.get((gpu, at), f"{found.path}: gpu {gpu}")
                holds = "nothing" if chunk is None else f"chunk {chunk[1]} of gpu {chunk[0]}"
                rule = f"must hold chunk {wanted[1]} of gpu {wanted[0]}"
                raise InputError(f"{place}: output chunk {at} holds {holds}: {rule}")
