"""Mutants: sound schedules, programs and timelines with one thing changed, the same ones for the
same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import conset
from conset.base.errors import ConsetError
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models import Timeline, Workload
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.timeline import Rates, mean_latency, phase_ends
from conset.pattern.pattern import Pattern
from conset.schedule.document import Document, ProgramDocument
from conset.schedule.files.compiled import document_of
from conset.schedule.policy import POSTINGS
from conset.verification.program import true_program_figures

MACHINES = (
    "mesh:3x3,link=1GB/s",
    "torus:4x3,link=1GB/s,port=2GB/s",
    "ring:5,routing=no-wrap,link=1GB/s",
    "hypercube:3",
    "crossbar:6,port=1GB/s",
    "iwarp:4x4",
    "mesh:2x3,width=2,link=1GB/s",
    "torus:3x3,tie=checker,node=1GB/s",
)
METHODS = (
    {"method": "first-fit"},
    {"method": "first-fit", "contention": 2, "timetable": "event-list"},
    {"method": "connections"},
    {"method": "connections", "timetable": "as"},
    {"method": "birkhoff"},
    {"method": "negotiated", "routes": "free"},
    {"method": "first-fit", "limits": "duplex=exchange"},
    {"method": "connections", "min_bandwidth": "10MB/s"},
    {"method": "connections", "max_latency": "8us"},
    {"method": "naive"},
    {"method": "event-list"},
)
ODD = (-(2**63), -1, 0, 1, 2**31, 2**62, 2**63 - 1)
Rng = np.random.Generator


@dataclass(frozen=True)
class Mutant:
    """What was changed, of what, on which machine."""

    kind: str
    changed: Any
    machine: Machine


def pattern_of(ranks: int, rng: Rng) -> Pattern:
    """A few messages, sizes equal or not, some of them ordered."""
    count = int(rng.integers(1, 14))
    source = rng.integers(0, ranks, count)
    target = (source + rng.integers(1, ranks, count)) % ranks
    size = rng.integers(1, 2000, count) if rng.integers(2) else np.full(count, 64)
    before = None
    if rng.integers(3) == 0:
        pairs = [
            (i, j)
            for i in range(count)
            for j in range(i)
            if {source[i], target[i]} & {source[j], target[j]}
        ]
        before = [pairs[k] for k in rng.integers(0, len(pairs), 3)] if pairs else None
    ids = rng.permutation(2 * count)[:count] if rng.integers(4) == 0 else None
    return Pattern.from_messages(source, target, size, ranks, before=before, ids=ids)


def schedules(rng: Rng) -> Iterator[tuple[Document, Machine]]:
    """Documents of compiled schedules, without end."""
    while True:
        machine = parse_machine(str(rng.choice(MACHINES)))
        words: dict[str, Any] = dict(METHODS[rng.integers(len(METHODS))])
        ranks = machine.topology.endpoints
        if rng.integers(3) == 0:
            words["placement"] = "annealed"
        if rng.integers(4) == 0:
            words["ranks_per_node"], ranks = 2, 2 * ranks
        try:
            schedule = conset.compile(pattern_of(ranks, rng), machine, **words)
        except ConsetError:
            continue  # a method that knows no order, or no such network
        yield document_of(schedule), machine


def near(value: int, others: Sequence[int] | np.ndarray, rng: Rng) -> int:
    """Another number: next to it, one of the others, or an odd one."""
    kind = rng.integers(8)
    if kind < 3:
        return int(np.clip(value + int(rng.choice([-2, -1, 1, 2])), -(2**63), 2**63 - 1))
    if kind < 7 and len(others):
        return int(others[rng.integers(len(others))])
    return int(rng.choice(np.array(ODD)))


def with_one(values: np.ndarray, rng: Rng) -> np.ndarray:
    """The same with one number changed."""
    changed = np.array(values, np.float64 if values.dtype.kind == "f" else np.int64)
    flat = changed.reshape(-1)
    if flat.size:
        k = rng.integers(flat.size)
        if changed.dtype.kind == "f":
            flat[k] = rng.choice(
                [0.0, -1.0, np.inf, np.nan, *flat[:8], flat[k] * 0.9, flat[k] * 1.1, flat[k] * 2]
            )
        else:
            flat[k] = near(int(flat[k]), flat, rng)
    return changed


TRANSFERS = ("transfer_source", "transfer_target", "transfer_size", "transfer_message")
ARRAYS = (
    "source",
    "target",
    "size",
    "before",
    "ids",
    "placement",
    *TRANSFERS,
    "route_nodes",
    "timetable",
    "channels",
)


def reordered(d: Document, rows: np.ndarray, offsets: np.ndarray) -> Document:
    """The transfers `rows` in phases of `offsets`, with routes, channels and times."""
    changes: dict[str, Any] = {name: getattr(d, name)[rows] for name in TRANSFERS} | {
        "phase_offsets": offsets
    }
    if d.timetable is not None:
        changes["timetable"] = d.timetable[rows]
    if d.route_offsets is not None and d.route_nodes is not None:
        length = np.diff(d.route_offsets)[rows]
        cuts = np.concatenate([[0], np.cumsum(length)])
        at = np.arange(cuts[-1]) + np.repeat(d.route_offsets[rows] - cuts[:-1], length)
        changes |= {"route_offsets": cuts, "route_nodes": d.route_nodes[at]}
        changes["channels"] = None if d.channels is None else d.channels[at]
    return replace(d, **changes)


def moved(d: Document, rng: Rng) -> Document:
    """A transfer dropped, doubled or put into another phase; two that change places.

    Phases cut elsewhere.
    """
    phase = np.repeat(np.arange(d.phases), np.diff(d.phase_offsets))
    rows, kind = np.arange(phase.size), rng.integers(6)
    if not rows.size:
        return d
    k = int(rng.integers(rows.size))
    if kind == 0:
        rows = np.delete(rows, k)
    elif kind == 1:
        rows = np.insert(rows, k, rng.integers(rows.size))
    elif kind == 2:
        other = int(rng.integers(rows.size))
        rows[[k, other]] = rows[[other, k]]
        return reordered(d, rows, np.asarray(d.phase_offsets))
    elif kind == 3:
        turned = rng.permutation(d.phases)
        phase = turned[phase]
    else:
        phase[k] = rng.integers(d.phases + (kind == 5))
    of = phase[rows]
    order = np.argsort(of, kind="stable")
    counts = np.bincount(of, minlength=d.phases)
    return reordered(d, rows[order], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


def mutated_routes(d: Document, rng: Rng) -> Document:
    """A stop put in, taken out, or a route turned round."""
    if d.route_offsets is None or d.route_nodes is None or d.route_offsets.size < 2:
        return d
    cuts, nodes = d.route_offsets.tolist(), d.route_nodes.tolist()
    ways = [nodes[a:b] for a, b in pairwise(cuts)]
    k, kind = int(rng.integers(len(ways))), rng.integers(4)
    if kind == 0:
        ways[k] = ways[k][::-1]
    elif kind == 1:
        ways[k].insert(int(rng.integers(len(ways[k]) + 1)), int(rng.integers(-1, max(nodes) + 2)))
    elif kind == 2:
        del ways[k][int(rng.integers(len(ways[k])))]
    else:
        ways[k] = list(ways[int(rng.integers(len(ways)))])
    flat = np.array([node for way in ways for node in way], np.int64)
    offsets = np.cumsum([0, *(len(way) for way in ways)])
    changes = {"channels": None} if d.channels is not None and flat.size != d.channels.size else {}
    return replace(d, route_offsets=offsets, route_nodes=flat, **changes)


def mutated_words(d: Document, rng: Rng) -> Document:
    """Limits, figures, orders of posting, minimum bandwidths, maximum latencies."""
    kind = rng.integers(7)
    if kind == 0:
        name = str(rng.choice(["send", "receive", "link", "channels"]))
        return replace(d, limits={**d.limits, name: rng.choice(np.array([None, 1, 2, 3, 8]))})
    if kind == 1:
        return replace(d, limits={**d.limits, "duplex": str(rng.choice(["full", "exchange"]))})
    if kind == 2:
        name, load = (
            str(rng.choice([*d.figures["load"], "phases", "phase_bytes"])),
            dict(d.figures["load"]),
        )
        if name in load:
            load[name] += int(rng.choice([-1, 1]))
            return replace(d, figures={**d.figures, "load": load})
        return replace(d, figures={**d.figures, name: d.figures[name] + int(rng.choice([-1, 1]))})
    if kind == 3:
        return replace(d, posting=str(rng.choice(POSTINGS)))
    if kind == 4:
        stated = d.min_bandwidth_Bps
        rates = list(stated) if isinstance(stated, list) else [stated or 0.0] * d.source.size
        if rates:
            rates[rng.integers(len(rates))] = float(rng.choice([0.0, 5e6, 2e7, 4e7, 5e8, 1e9, 2e9]))
        return replace(d, min_bandwidth_Bps=rates)
    if kind == 5:
        limit = d.max_latency_s
        times = list(limit) if isinstance(limit, list) else [limit] * d.source.size
        if times:
            k = int(rng.integers(len(times)))
            times[k] = [None, 0.0, 1e-8, 1e-6, 3e-6, 1e-5, float("inf"), -1.0][rng.integers(8)]
            if rng.integers(2) and isinstance(d.max_latency_s, float):
                return replace(d, max_latency_s=d.max_latency_s / float(rng.choice([1.2, 2, 4])))
        return replace(d, max_latency_s=times)
    return replace(d, in_flight=[0, 1, "all", "many", None][rng.integers(5)])


def mutate_schedule(d: Document, rng: Rng) -> tuple[str, Document]:
    """(what was changed, the rest as it was)."""
    kind = rng.integers(10)
    if kind < 5:
        name = str(rng.choice([name for name in ARRAYS if getattr(d, name) is not None]))
        return name, replace(d, **{name: with_one(np.asarray(getattr(d, name)), rng)})
    if kind < 8:
        return "transfers", moved(d, rng)
    if kind == 8 and d.route_nodes is not None:
        return "routes", mutated_routes(d, rng)
    return "words", mutated_words(d, rng)


def schedule_mutants(count: int, seed: int, each: int = 40) -> Iterator[Mutant]:
    """`each` of every base, one change and sometimes two."""
    rng = np.random.default_rng([seed, 1])
    made, bases = 0, schedules(rng)
    while made < count:
        base, machine = next(bases)
        for _ in range(min(each, count - made)):
            kind, changed = mutate_schedule(base, rng)
            if rng.integers(4) == 0:
                with suppress(IndexError, ValueError):  # what is broken once may not be moved again
                    kind, changed = f"{kind}, …", mutate_schedule(changed, rng)[1]
            yield Mutant(kind, changed, machine)
            made += 1


def programs(rng: Rng) -> Iterator[tuple[ProgramDocument, Machine]]:
    """Documents of compiled programs, without end."""
    while True:
        machine = parse_machine(
            str(
                rng.choice(
                    ["iwarp:4x4", "mesh:3x3,link=40MB/s", "crossbar:5", "ring:6,link=40MB/s"]
                )
            )
        )
        ranks = machine.topology.endpoints
        request = [
            CompileOptions("connections"),
            CompileOptions("connections", min_bandwidth="15MB/s"),
            CompileOptions("connections", max_latency="5us"),
            CompileOptions("first-fit"),
            CompileOptions("first-fit", limits="duplex=exchange"),
        ][rng.integers(5)]
        words = [
            BlockSpec(f"b{k}", pattern_of(ranks, rng), int(rng.integers(1, 4)), request)
            for k in range(rng.integers(2, 5))
        ]
        try:
            yield document_of(compile_program(words, machine, request)), machine
        except ConsetError:
            continue


def mutate_program(p: ProgramDocument, rng: Rng) -> tuple[str, ProgramDocument]:
    """(what was changed, the rest as it was)."""
    kind, k = rng.integers(8), int(rng.integers(len(p.stages)))
    if kind == 0:
        block = p.stages[k]
        other = int(rng.integers(-1, len(p.schedules) + 1))
        changes: list[dict[str, Any]] = [
            {"repeat": block.repeat + 1},
            {"repeat": 0},
            {"schedule": other},
            {"turns": not block.turns},
        ]
        change = changes[rng.integers(4)]
        return "block", replace(
            p, stages=(*p.stages[:k], replace(block, **change), *p.stages[k + 1 :])
        )
    if kind == 1:
        order = rng.permutation(len(p.stages))
        return "blocks", replace(p, stages=tuple(p.stages[i] for i in order))
    if kind < 5:
        numbers = [c for contexts in p.contexts for c in contexts]
        s = int(rng.integers(len(p.contexts)))
        own = list(p.contexts[s])
        if own:
            own[rng.integers(len(own))] = near(own[0], numbers, rng)
        figures = dict(p.figures)
        if rng.integers(2):
            p = replace(p, schedules=tuple(replace(d, channels=None) for d in p.schedules))
        changed = replace(p, contexts=(*p.contexts[:s], tuple(own), *p.contexts[s + 1 :]))
        if rng.integers(4):
            figures = true_program_figures(changed)  # so that sharing alone is wrong
        return "contexts", replace(changed, figures=figures)
    if kind == 5:
        name = str(rng.choice(list(p.figures)))
        return "figures", replace(
            p, figures={**p.figures, name: p.figures[name] + int(rng.choice([-1, 1]))}
        )
    s = int(rng.integers(len(p.schedules)))
    d = p.schedules[s]
    if kind == 6 and d.channels is not None and d.channels.size:
        what, changed_d = "channels", replace(d, channels=d.channels + (d.channels >= 0))
    else:
        what, changed_d = mutate_schedule(d, rng)
    return f"schedule: {what}", replace(
        p, schedules=(*p.schedules[:s], changed_d, *p.schedules[s + 1 :])
    )


def program_mutants(count: int, seed: int, each: int = 40) -> Iterator[Mutant]:
    """`each` of every base."""
    rng = np.random.default_rng([seed, 2])
    made, bases = 0, programs(rng)
    while made < count:
        base, machine = next(bases)
        for _ in range(min(each, count - made)):
            yield Mutant(*mutate_program(base, rng), machine)
            made += 1


TIMED = (
    "mesh:3x3,link=1GB/s",
    "iwarp:4x4",
    "ipsc860:8",
    "paragon:3x3",
    "torus:3x3,lanes=2,link=1GB/s",
    "mesh:2x3,send_overhead=3us,receive_overhead=2us,per_transfer=1us,link=1GB/s,lanes=2",
    "torus:3x3,overhead=4us,processors=one,receive=before,hop=1us,link=1GB/s,lanes=2",
)


@dataclass(frozen=True)
class Played:
    """A timeline with what it was made from."""

    timeline: Timeline
    workload: Workload
    settings: Settings


def timelines(rng: Rng) -> Iterator[tuple[Played, Machine]]:
    """Simulations of compiled schedules by all models, rates kept, without end."""
    while True:
        machine, model = parse_machine(str(rng.choice(TIMED))), str(rng.choice(list(MODELS)))
        try:
            schedule = conset.compile(
                pattern_of(machine.topology.endpoints, rng), machine, method="first-fit"
            )
            work = Workload.of_schedule(schedule)
            settings = Settings(
                sync=str(rng.choice(["none", "local", "ready", "barrier"])),
                record=True,
                in_flight=[None, 1, 2][rng.integers(3)],
                lanes=2 if model == "flit" else None,
            )
            timeline = MODELS[model].simulate(work, machine, settings)
        except ConsetError:
            continue
        if work.crosses.any():
            yield Played(timeline, work, settings), machine


TIMES = ("start_s", "sent_s", "first_byte_s", "left_s", "end_s")
COUNTS = ("link_bytes", "out_bytes", "in_bytes")
BUSY = ("link_busy_s", "out_busy_s", "in_busy_s")


def retimed(played: Played, **times: np.ndarray) -> Played:
    """With other times, ends of phases and the mean latency as they follow."""
    work, timeline = played.workload, replace(played.timeline, **times)
    crosses = None if timeline.model == "flit" else work.crosses
    end = timeline.end_s
    fixed = replace(
        timeline, phase_end_s=phase_ends(work, end), mean_latency_s=mean_latency(work, end, crosses)
    )
    return replace(played, timeline=fixed)


def surely_wrong_times(played: Played, machine: Machine) -> list[str]:
    """Times that are wrong if they are earlier, whatever the rest.

    Work of no length may wait for a processor or not; signals and set-ups may be worked on in
    another order, which no column says; routers may be faster than they were, and packets of
    several messages may take turns on their way in; with preempted receives bytes may stand still
    before the first one flows.
    """
    costs, flit = machine.costs, played.timeline.model == "flit"
    signals = played.settings.sync == "ready"
    sure = {
        "start_s": not (signals or costs.setup_s),
        "sent_s": not signals and min(costs.send_overhead.seconds) > 0,
        "first_byte_s": not (flit or costs.preempts),
        "left_s": not flit,
        "end_s": True,
    }
    return [name for name, is_sure in sure.items() if is_sure]


def lasting(rates: Rates) -> NDArray[np.bool_]:
    """Changes of a rate that hold for a while: of two at one instant the first says nothing."""
    least_s = 1e-6 * float(rates.time_s.max())
    order = np.lexsort((np.arange(rates.time_s.size), rates.message))
    message, time_s = rates.message[order], rates.time_s[order]
    lasts = np.ones(order.size, bool)
    lasts[order[:-1]] = (message[1:] != message[:-1]) | (time_s[1:] > time_s[:-1] + least_s)
    return lasts


def mutate_timeline(played: Played, machine: Machine, rng: Rng) -> tuple[str, Played]:
    """A change that makes it impossible: (what was changed, the rest as it follows)."""
    timeline, work = played.timeline, played.workload
    crossing = np.flatnonzero(work.crosses & (work.bytes > 0))
    m, kind = int(rng.choice(crossing)), rng.integers(10)
    if kind < 5:
        names = surely_wrong_times(played, machine)
        name = names[kind % len(names)]
        times = np.array(getattr(timeline, name))
        # by at least a cycle, and by a hundredth of all it takes
        step = max(0.01 * timeline.time_s, timeline.figures.get("cycle_s", 0.0)) * rng.uniform(
            1, 20
        )
        if name == "end_s" and not min(machine.costs.receive_overhead.seconds):
            times[m] = min(times[m], timeline.left_s[m])
        times[m] -= step
        return name, retimed(played, **{name: times})
    if kind == 5:
        name = str(rng.choice(COUNTS))
        counts = np.array(getattr(timeline, name))
        counts[rng.integers(counts.size)] += int(rng.choice([-1, 1]))
        return name, replace(played, timeline=replace(timeline, **{name: counts}))
    if kind == 6:
        name = str(rng.choice(BUSY))
        busy = np.array(getattr(timeline, name))
        busy[rng.integers(busy.size)] = timeline.time_s * 1.01
        return name, replace(played, timeline=replace(timeline, **{name: busy}))
    if kind == 7:
        size = np.array(work.bytes)
        size[m] += int(rng.choice([-1, 1])) * int(rng.integers(1, size[m] + 1))
        return "bytes", replace(played, workload=replace(work, bytes=size))
    if kind == 8:
        end = np.array(work.target)
        end[m] = rng.choice(np.setdiff1d(np.arange(work.nodes), [end[m]]))
        return "target", replace(played, workload=replace(work, target=end))
    if timeline.rates is not None and timeline.rates.time_s.size:
        rate = np.array(timeline.rates.rate_Bps)
        flowing = np.flatnonzero((rate > 0) & np.isfinite(rate) & lasting(timeline.rates))
        if flowing.size:
            rate[rng.choice(flowing)] *= rng.choice([0.5, 0.95, 1.05, 2.0])
            return "rates", replace(
                played, timeline=replace(timeline, rates=replace(timeline.rates, rate_Bps=rate))
            )
    shorter = {name: np.array(getattr(timeline, name)) * 0.97 for name in TIMES}
    return "all times", retimed(played, **shorter)


def timeline_mutants(count: int, seed: int, each: int = 40) -> Iterator[Mutant]:
    """`each` of every base; all of them are wrong."""
    rng = np.random.default_rng([seed, 3])
    made, bases = 0, timelines(rng)
    while made < count:
        base, machine = next(bases)
        for _ in range(min(each, count - made)):
            yield Mutant(*mutate_timeline(base, machine, rng), machine)
            made += 1
