"""Schedules as files of other tools: GOAL, SMPI traces with a platform, MSCCL, htsim, messages.

A file has the transfers of a schedule rank by rank. What its format cannot hold is left out, and
named (`not_held`). Groups of phases are what a policy keeps apart: under `none` all are one.

Formats are described where they are read (`conset.pattern.readers`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from conset.base import InputError, Ints, Ints32, count_of, replacing, require_suffix
from conset.machine import core_widths
from conset.pattern.readers.msccl import MAX_COUNT
from conset.schedule.loads import transfer_links
from conset.schedule.policy import order_of_transfers, parse_sync
from conset.schedule.schedule import Schedule

MAX_STEPS, MAX_BLOCKS, MAX_NODES, CHANNEL_PEERS = 256, 1024, 4096, 32
"""Of MSCCL's executor: steps of a thread block, thread blocks and elements of a GPU, peers of a
channel."""
_SOURCE, _TARGET = 0, 1


class Operation(NamedTuple):
    """What a rank does: transfer `transfer` is sent or received, with this tag of its pair."""

    transfer: int
    sends: bool
    peer: int
    size: int
    tag: int


class RankTransfers:
    """The transfers of a schedule as ranks see them.

    Attributes:
        schedule: whose.
        ends: shape=(2, transfers): the rank that sends, the rank that receives.
        group: shape=(transfers): groups of phases that the policy keeps apart.
        tag: shape=(transfers): the number of the transfer among those of its pair.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        pattern, message = schedule.pattern, schedule.message
        self.ends = np.stack([pattern.source[message], pattern.target[message]])
        sync = parse_sync(schedule.sync)
        apart = not sync.is_one_step
        self.group: Ints32 = schedule.phase_of // sync.every * apart
        pair = self.ends[0].astype(np.int64) * pattern.ranks + self.ends[1]
        order = np.argsort(pair, kind="stable")
        begins = np.flatnonzero(np.diff(pair[order], prepend=-1))
        lengths = np.diff(np.append(begins, order.size))
        self.tag: Ints = np.empty(order.size, np.int64)
        self.tag[order] = np.arange(order.size) - np.repeat(begins, lengths)

    @cached_property
    def waits(self) -> Mapping[tuple[int, int], list[int]]:
        """(rank, transfer) → transfers of the rank that end before it starts, by the pattern."""
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        pattern = self.schedule.pattern
        for first, second in zip(
            *order_of_transfers(pattern.before, self.schedule.message), strict=True
        ):
            for rank in {*self.ends[:, first].tolist()} & {*self.ends[:, second].tolist()}:
                found[rank, int(second)].append(int(first))
        return found

    def of(self, rank: int) -> Iterator[list[Operation]]:
        """The transfers of a rank, group by group, receives first."""
        at = self._by_rank[rank]
        for begin, end in zip(*self._spans(self.group[at]), strict=True):
            transfers = at[begin:end]
            yield [
                Operation(
                    int(k),
                    sends,
                    int(self.ends[_TARGET if sends else _SOURCE, k]),
                    int(self.schedule.size[k]),
                    int(self.tag[k]),
                )
                for sends in (False, True)
                for k in transfers
                if self.ends[_SOURCE if sends else _TARGET, k] == rank
            ]

    @cached_property
    def _by_rank(self) -> list[Ints]:
        both = self.ends.ravel()
        order = np.argsort(both, kind="stable")
        bounds = np.searchsorted(both[order], np.arange(self.schedule.pattern.ranks + 1))
        transfers = order % max(self.ends.shape[1], 1)
        return [np.sort(transfers[low:high]) for low, high in pairwise(bounds)]

    @staticmethod
    def _spans(group: Ints32) -> tuple[Ints, Ints]:
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        return begins, np.append(begins[1:], group.size) if group.size else begins


def _goal(transfers: RankTransfers, path: Path) -> Iterator[str]:
    ranks = transfers.schedule.pattern.ranks
    yield f"num_ranks {ranks}\n"
    for rank in range(ranks):
        yield f"\nrank {rank} {{\n"
        joined: list[str] = []
        for group, each in enumerate(transfers.of(rank)):
            labels = []
            for k, sends, peer, size, tag in each:
                label = f"{'s' if sends else 'r'}{k}"
                labels.append(label)
                way = f"send {size}b to" if sends else f"recv {size}b from"
                yield f"{label}: {way} {peer} tag {tag}\n"
                before = (*joined, *_labels_before(transfers, rank, k))
                for other in dict.fromkeys(before):
                    yield f"{label} requires {other}\n"
            joined = labels
            if len(labels) > 2:  # one operation that all of the next group require
                joined = [f"g{group}"]
                yield f"g{group}: calc 0\n"
                yield from (f"g{group} requires {label}\n" for label in labels)
        yield "}\n"


def _labels_before(transfers: RankTransfers, rank: int, transfer: int) -> Iterator[str]:
    for first in transfers.waits.get((rank, transfer), ()):
        sends = transfers.ends[_SOURCE, first] == rank
        yield f"{'s' if sends else 'r'}{first}"


def _trace(transfers: RankTransfers, path: Path) -> Iterator[str]:
    ranks = transfers.schedule.pattern.ranks
    kind = parse_sync(transfers.schedule.sync).kind
    groups = int(transfers.group.max(initial=0)) + 1 if kind == "barrier" else 1
    for rank in range(ranks):
        yield f"{rank} init\n"
        done = 0
        for each in transfers.of(rank):
            if kind == "barrier":
                group = int(transfers.group[each[0].transfer])
                yield f"{rank} barrier\n" * (group - done)
                done = group
            waited: set[int] = set()
            for k, sends, peer, size, tag in each:
                for first in transfers.waits.get((rank, k), ()):
                    if first not in waited and transfers.group[first] == transfers.group[k]:
                        waited.add(first)
                        source, target = transfers.ends[:, first]
                        yield f"{rank} wait {source} {target} {transfers.tag[first]}\n"
                yield f"{rank} {'isend' if sends else 'irecv'} {peer} {tag} {size}\n"
            yield f"{rank} waitall\n"
        yield f"{rank} barrier\n" * (groups - 1 - done)
        yield f"{rank} finalize\n"


def _connections(transfers: RankTransfers, path: Path) -> Iterator[str]:
    schedule = transfers.schedule
    yield f"Nodes {schedule.pattern.ranks}\nConnections {schedule.transfers}\n"
    for k, (source, target, size) in enumerate(
        zip(*transfers.ends.tolist(), schedule.size.tolist(), strict=True), 1
    ):
        yield f"{source}->{target} id {k} start 0 size {size}\n"


def _messages(transfers: RankTransfers, path: Path) -> Iterator[str]:
    pattern = transfers.schedule.pattern
    apart = pattern.repeated_pair() is not None
    columns = ["source,target,bytes", "id" * apart, "after" * (pattern.before is not None)]
    yield ",".join(filter(None, columns)) + "\n"
    after: dict[int, list[str]] = defaultdict(list)
    for first, second in () if pattern.before is None else pattern.before.tolist():
        after[second].append(str(first))
    for m, row in enumerate(zip(pattern.source, pattern.target, pattern.size, strict=True)):
        yield ",".join(map(str, row)) + f",{m}" * apart + "," * (pattern.before is not None)
        yield ";".join(after[m]) + "\n"


class _Blocks:
    """The thread blocks of one GPU while their steps are listed."""

    def __init__(self, gpu: int, gpus: int) -> None:
        self.gpu, self.gpus = gpu, gpus
        self.block: dict[tuple[int, bool], int] = {}
        self.steps: list[list[dict[str, object]]] = []

    def add(
        self, peer: int, sends: bool, after: list[tuple[int, int]], step: dict[str, object]
    ) -> tuple[int, int]:
        """A step more of the block of a peer and direction: (block, step), after others."""
        block = self.block.setdefault((peer, sends), len(self.steps))
        if block == len(self.steps):
            self.steps.append([])
        steps = self.steps[block]
        waits = [other for other in dict.fromkeys(after) if other[0] != block]
        for other in waits[:-1]:
            steps.append(_step("nop") | {"depid": other[0], "deps": other[1]})
        depends = {"depid": waits[-1][0], "deps": waits[-1][1]} if waits else {}
        steps.append(step | depends)
        for tb, s in waits:
            self.steps[tb][s]["hasdep"] = 1
        return block, len(steps) - 1

    def lines(self, path: Path, chunks: int) -> Iterator[str]:
        """The element of the GPU."""
        nodes = len(self.steps) + sum(map(len, self.steps))
        for what, count, most in (
            ("thread blocks", len(self.steps), MAX_BLOCKS),
            ("elements", nodes, MAX_NODES),
            ("steps of a thread block", max(map(len, self.steps), default=0), MAX_STEPS),
        ):
            if count > most:
                raise InputError(f"{path}: gpu {self.gpu}: {count} {what}, MSCCL takes {most}")
        head = {"id": self.gpu, "i_chunks": chunks, "o_chunks": chunks, "s_chunks": 0}
        yield f"  <gpu{_attributes(head)}>\n"
        for ((peer, sends), tb), steps in zip(self.block.items(), self.steps, strict=True):
            apart = (peer - self.gpu if sends else self.gpu - peer) % self.gpus
            channel = 0 if peer < 0 else (apart - 1) // CHANNEL_PEERS
            ends = {"send": peer if sends else -1, "recv": -1 if sends else peer, "chan": channel}
            yield f"    <tb{_attributes({'id': tb} | ends)}>\n"
            for s, step in enumerate(steps):
                yield f"      <step{_attributes({'s': s} | step)}/>\n"
            yield "    </tb>\n"
        yield "  </gpu>\n"


def _step(kind: str, source: int = -1, target: int = -1, count: int = 0) -> dict[str, object]:
    ends = {"srcbuf": "i", "srcoff": source, "dstbuf": "o", "dstoff": target}
    return {"type": kind, **ends, "cnt": count, "depid": -1, "deps": -1, "hasdep": 0}


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items())


def _msccl(transfers: RankTransfers, path: Path) -> Iterator[str]:
    schedule = transfers.schedule
    gpus = schedule.pattern.ranks
    chunk = int(np.gcd.reduce(schedule.size)) if schedule.transfers else 1
    whole = np.zeros((gpus, gpus), np.int64)
    begin = np.zeros(schedule.transfers, np.int64)
    for k, (source, target) in enumerate(transfers.ends.T):
        begin[k] = whole[source, target]
        whole[source, target] += schedule.size[k] // max(chunk, 1)
    per_pair = int(whole.max(initial=1))
    apart = ~np.eye(gpus, dtype=bool)
    equal = gpus > 1 and bool((whole[apart] == per_pair).all())
    size = gpus * per_pair * chunk
    channels = -(-(gpus - 1) // CHANNEL_PEERS)
    head = {
        "name": path.stem,
        "proto": "Simple",
        "nchannels": max(channels, 1),
        "nchunksperloop": gpus * per_pair,
        "ngpus": gpus,
        "coll": "alltoall" if equal else "alltoallv",
        "inplace": 0,
        "outofplace": 1,
        "minBytes": size,
        "maxBytes": size,
    }
    yield f"<algo{_attributes(head)}>\n"
    for gpu in range(gpus):
        blocks, ends = _Blocks(gpu, gpus), dict[int, tuple[int, int]]()
        if equal:
            own = gpu * per_pair
            for first in range(0, per_pair, MAX_COUNT):
                count = min(MAX_COUNT, per_pair - first)
                blocks.add(-1, True, [], _step("cpy", own + first, own + first, count))
        before: list[tuple[int, int]] = []
        for each in transfers.of(gpu):
            for k, sends, peer, bytes_, _ in each:
                after = before + [ends[w] for w in transfers.waits.get((gpu, k), ()) if w in ends]
                source, target = (e * per_pair + int(begin[k]) for e in transfers.ends[::-1, k])
                chunks = bytes_ // chunk
                if -(-chunks // MAX_COUNT) > MAX_STEPS:
                    steps = f"{-(-chunks // MAX_COUNT)} steps of {MAX_COUNT} chunks"
                    rule = f"{chunk} B divides all sizes; MSCCL takes {MAX_STEPS} steps"
                    raise InputError(f"{path}: {bytes_} B to GPU {peer} are {steps}: {rule}")
                for first in range(0, chunks, MAX_COUNT):
                    count = min(MAX_COUNT, chunks - first)
                    step = _step("s" if sends else "r", source + first, target + first, count)
                    ends[k] = blocks.add(peer, sends, after, step)
                    after = []
            before = list({tb: (tb, s) for tb, s in (ends[o.transfer] for o in each)}.values())
        yield from blocks.lines(path, gpus * per_pair)
    yield "</algo>\n"


class Export(NamedTuple):
    """A format: lines of a file, and what it holds beside messages."""

    lines: Callable[[RankTransfers, Path], Iterator[str]]
    holds: frozenset[str]


EXPORTS: Mapping[str, Export] = MappingProxyType(
    {
        ".goal": Export(_goal, frozenset({"phases", "order"})),
        ".tit": Export(_trace, frozenset({"phases", "order", "barriers", "placement"})),
        ".xml": Export(_msccl, frozenset({"phases", "order"})),
        ".cm": Export(_connections, frozenset()),
        ".csv": Export(_messages, frozenset({"order", "splits"})),  # messages are whole
    }
)
"""Suffix → format."""


def not_held(schedule: Schedule, suffix: str) -> dict[str, str]:
    """What a schedule has and a file of this suffix has not: feature → how much."""
    sync, pattern = parse_sync(schedule.sync), schedule.pattern
    apart = schedule.phases > 1
    has = {
        "phases": count_of(schedule.phases, "phase") if apart and not sync.is_one_step else "",
        "barriers": "barriers" if apart and sync.kind == "barrier" else "",
        "signals": "ready signals" if apart and sync.kind == "ready" else "",
        "order": "" if pattern.before is None else "the order of messages",
        "splits": "" if schedule.parts is None else "which parts are of one message",
        "routes": "" if schedule.route_offsets is None else "routes",
        "timetable": "" if schedule.timetable is None else "the timetable",
        "placement": "" if schedule.placement is None else "the placement",
        "in_flight": ""
        if schedule.in_flight in (None, "all")
        else f"{schedule.in_flight} sends in flight",
        "packed": "" if pattern.packed is None else "which messages are packed",
        "local": "" if not pattern.local_bytes else f"{pattern.local_bytes:,} B inside ranks",
    }
    held = EXPORTS[suffix].holds
    return {name: text for name, text in has.items() if text and name not in held}


def write_export(schedule: Schedule, path: Path) -> list[Path]:
    """Writes a schedule as a file of another tool, whole or not at all; returns what is written.

    A trace of SMPI comes with `NAME.traces`, which names it, as `smpirun -replay` wants, and with
    `NAME.platform.xml` and `NAME.hosts` where SimGrid can express the network.

    Raises:
        UsageError: another suffix. InputError: more than the executor of the format takes, or the
            folder is missing or not writable.
    """
    require_suffix(path, "a file of another tool", *EXPORTS)
    transfers = RankTransfers(schedule)
    files = {path: EXPORTS[path.suffix.lower()].lines(transfers, path)}
    is_trace = path.suffix.lower() == ".tit"
    if is_trace:
        files[path.with_suffix(".traces")] = iter([f"{path.name}\n"])
    if is_trace and not why_no_platform(schedule):
        files[path.with_suffix(".platform.xml")] = _platform_lines(schedule)
        ranks = np.arange(schedule.pattern.ranks, dtype=np.int32)
        files[path.with_suffix(".hosts")] = (f"node{n}\n" for n in schedule.nodes_of(ranks))
    for file, lines in files.items():
        with replacing(file) as temporary, temporary.open("w", encoding="utf-8") as out:
            out.writelines(lines)
    return [*files]


def why_no_platform(schedule: Schedule) -> str:
    """Why SimGrid cannot express the network of a schedule; empty where it can."""
    machine = schedule.machine
    costs = machine.costs_for(schedule.method)
    if not machine.routing.is_known and schedule.route_offsets is None:
        return f"routing {machine.routing.rule} has no fixed routes"
    if costs.node_Bps < math.inf:
        return "node: a rate of both directions together"
    for name in ("inject", "eject", "hop"):
        if len(getattr(costs, name).seconds) > 1:
            return f"{name}: latencies by size"
    return ""


def _platform_lines(schedule: Schedule) -> Iterator[str]:
    """Hosts, ports, links and the routes of all messages, as SimGrid's platform."""
    machine, costs = schedule.machine, schedule.machine.costs_for(schedule.method)
    topology = machine.topology
    nodes = schedule.nodes_of(np.arange(schedule.pattern.ranks, dtype=np.int32))
    source, target = schedule.source_node, schedule.target_node
    offsets, links = transfer_links(schedule)
    # of messages between the same nodes the first: a platform has one route for a pair
    _, first = np.unique(np.stack([source, target]), axis=1, return_index=True)
    pairs = [int(k) for k in np.sort(first) if source[k] != target[k]]
    yield '<?xml version="1.0"?>\n'
    yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    yield '<platform version="4.1">\n  <zone id="network" routing="Full">\n'
    for node in np.unique(nodes):
        yield f'    <host id="node{node}" speed="1Gf"/>\n'
    apart_s = costs.per_transfer_s + costs.inject.seconds[0]
    for way, rate, latency_s in (
        ("out", costs.port_out_Bps, apart_s),
        ("in", costs.port_in_Bps, costs.eject.seconds[0]),
    ):
        for node in np.unique(nodes):
            yield _link(f"{way}{node}", rate, latency_s)
    widths = np.broadcast_to(core_widths(topology), max(topology.link_slots, 1))
    for link in np.unique(links).tolist():
        width = int(widths[link])
        yield _link(f"l{link}", costs.link_Bps * width, costs.hop.seconds[0])
        if width > 1:
            yield _link(f"w{link}", costs.link_Bps, 0.0, shared=False)
    for k in pairs:
        yield f'    <route src="node{source[k]}" dst="node{target[k]}" symmetrical="NO">'
        wires = [
            name
            for link in links[offsets[k] : offsets[k + 1]].tolist()
            for name in ([f"l{link}", f"w{link}"] if widths[link] > 1 else [f"l{link}"])
        ]
        for name in (f"out{source[k]}", *wires, f"in{target[k]}"):
            yield f'<link_ctn id="{name}"/>'
        yield "</route>\n"
    yield "  </zone>\n</platform>\n"


UNLIMITED_BPS = 1e18
"""In place of a rate without limit, which SimGrid does not have."""


def _link(name: str, rate: float, latency_s: float, *, shared: bool = True) -> str:
    policy = "SHARED" if shared and rate < math.inf else "FATPIPE"
    given = f'bandwidth="{min(rate, UNLIMITED_BPS)!r}Bps" latency="{latency_s!r}s"'
    return f'    <link id="{name}" {given} sharing_policy="{policy}"/>\n'
