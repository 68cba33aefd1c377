"""circuits: what circuit switches connect, for how long, and in which plane.

Problem: messages of any sizes over s switches, each of which connects every port to at most one
other and needs δ to change; a message may be cut over changes and planes; least time.

Idea: *decompose*, then *assign*. The bytes between nodes are a matrix, of which the largest number
of entries in a line (a row or column) is its degree k and the largest sum of a line its total. A
configuration is a matching that is held for a duration. k matchings are found one after the other:
a line that has as many entries left as matchings are to come is served in each, so that k suffice;
among these matchings the one with the most bytes left, so that entries that are alike meet. It
lasts as long as the entries that must end in it need; what is longer and can come again is left
over. A linear program then shortens the durations: each entry needs its bytes in all matchings
together that connect it.

Assignment: the durations are jobs on s equal machines that may be cut, where every piece costs δ.
Four ways are compared: longest first on the least loaded plane, with the longest piece of the
fullest plane cut until planes are equal (Spectra's); wrap-around, which bisects on the time T and
fills plane after plane, a job that does not fit continuing on the next, with long jobs first and
with short ones first; and filling, which bisects on T and puts the longest whole job that fits into
a plane, and cuts one only where none fits.

Guarantee: never slower than Spectra's assignment or wrap-around of the same matchings. Degree and
total are both met where the bytes allow it (a sum of k permutations).
Whole messages: with the objective `phases` every message is in one matching, uncut, and there are
as few matchings as the degree: for computations that need whole messages.
Complexity: k matchings, O(nodes³) each at worst, a linear program of k variables; a hundred
assignments of O((k + s) · log k); memory O(nodes² + k · nodes).
Measured: docs/circuits.md.

spectra: the same matchings, assigned longest first with equalizing alone.
Source: Spectra, arXiv:2603.07373.

eclipse: greedy: the duration a and the matching that maximize the bytes served in it, min(rest, a)
for each entry, over a + δ; until nothing is left. Then longest first. Durations that are tried are
at most `DURATIONS` of the sizes that are left.
Source: Bojja Venkatakrishnan, Alizadeh, Viswanath: Costly circuits, submodular schedules,
doi:10.1145/2896377.2901479.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import NamedTuple

import numpy as np

from conset.base import Floats, Integers, Ints, Ints32
from conset.machine import circuit_times, slowest_rates, transfer_times
from conset.methods.phases.birkhoff import schedule_birkhoff
from conset.methods.phases.coloring import schedule_coloring
from conset.methods.phases.problem import Phases, Problem

DENSE = 8
"""A matrix of which less than one entry in so many is left is matched as a sparse one."""
DURATIONS = 32
"""Most durations that Eclipse tries for a configuration."""
RESTARTS = 12
"""Further decompositions per unit of effort, at most, where the total is not met."""
WORK = 1 << 16
"""Entries times matchings of all of these, per unit of effort."""
SLACKS = (0.01, 0.03, 0.1)
"""Of a duration, that these try."""
POWERS = (1.0, 4.0, 1.0, 0.25)
"""Of the bytes, that these weigh an entry by."""
FULL = 4.0
"""What a byte counts more in a line that cannot rest while a matching is held."""
STEPS, CLOSE = 40, 1e-7
"""Of a bisection, at most; relative: how near its ends are when it stops."""
ROUNDING = 1e-9
"""Relative: bytes that a sum of durations may lack."""


class Piece(NamedTuple):
    """A configuration, or part of it, in a plane."""

    job: int
    amount: float


Planes = list[list[Piece]]
"""What each plane carries, in order."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Matchings of a matrix, and how long each is held.

    Attributes:
        matching: shape=(k, nodes): the column of every row; a row may be matched to an entry of 0.
        duration: shape=(k) [B].
    """

    matching: Ints
    duration: Floats


def schedule_circuits(problem: Problem) -> Phases:
    """The best of four assignments; with the objective `phases` whole messages in few matchings."""
    demand, delta = _Demand.of(problem), _delta(problem)
    whole = problem.search.objective == "phases"
    cuts = not whole and problem.planes > 1
    ways = [_equalized, _wrapped, _wrapped_short, _filled] if cuts else [assign_longest_first]

    def best(found: Decomposition) -> Planes:
        made = [way(found.duration, problem.planes, delta) for way in ways]
        return min(made, key=lambda planes: _time(planes, delta))

    def phases_of(found: Decomposition) -> Phases:
        return _phases(problem, demand, found, best(found))

    found = decompose(demand.bytes, whole=whole)
    chosen = phases_of(found)
    size = int(np.count_nonzero(demand.bytes)) * len(found.duration)
    tries = min(RESTARTS, WORK // max(size, 1)) * problem.search.effort
    is_best = found.duration.sum() <= _total(demand.bytes) * (1 + 1e-6)
    if not tries or (is_best and not problem.machine.costs.partial):
        return chosen
    made = [schedule_coloring(problem)]
    others = []
    if not whole:
        made.append(schedule_birkhoff(problem))
        others += [_eclipse(demand.bytes, delta)] if tries >= RESTARTS else []
    for k in range(tries):
        noise = np.random.default_rng([problem.search.seed, k])
        slack, power = SLACKS[k % len(SLACKS)], POWERS[k % len(POWERS)]
        others.append(decompose(demand.bytes, whole=whole, slack=slack, power=power, noise=noise))
    time = _passed(problem, chosen)
    for each in [*(in_planes(problem, phases) for phases in made), *map(phases_of, others)]:
        if (sooner := _passed(problem, each)) < time * (1 - ROUNDING):
            chosen, time = each, sooner
    return chosen


def held(problem: Problem, phases: Phases) -> tuple[Ints32, Ints32, Floats]:
    """(sources, targets, how long each holds its circuit [s]) of transfers; shape=(transfers)."""
    source, target = (
        np.ascontiguousarray(node[phases.message])
        for node in (problem.source_node, problem.target_node)
    )
    size = problem.pattern.size[phases.message] if phases.parts is None else phases.parts
    machine = problem.machine
    return source, target, transfer_times(machine, machine.costs, source, target, size).alone


def _passed(problem: Problem, phases: Phases) -> float:
    """When all has passed [s]."""
    assert phases.plane is not None
    times = circuit_times(problem.machine, phases.offsets, phases.plane, *held(problem, phases))
    return times.time_s


def in_planes(problem: Problem, phases: Phases) -> Phases:
    """Each phase in a plane, the longest first, in the plane with the least load."""
    _, _, duration = held(problem, phases)
    length = np.zeros(phases.offsets.size - 1)
    full = np.flatnonzero(np.diff(phases.offsets))
    if full.size:
        length[full] = np.maximum.reduceat(duration, phases.offsets[full])
    plane, load = np.zeros(length.size, np.int32), np.zeros(problem.planes)
    for phase in np.argsort(-length, kind="stable").tolist():
        plane[phase] = load.argmin()
        load[plane[phase]] += length[phase] + (problem.machine.costs.reconfigure_s or 0.0)
    return replace(phases, plane=np.repeat(plane, np.diff(phases.offsets)))


def schedule_spectra(problem: Problem) -> Phases:
    """Matchings of degree and total, longest first, planes equalized."""
    demand = _Demand.of(problem)
    found = decompose(demand.bytes)
    return _phases(
        problem, demand, found, _equalized(found.duration, problem.planes, _delta(problem))
    )


def schedule_eclipse(problem: Problem) -> Phases:
    """Matchings by bytes per time, longest first."""
    demand, delta = _Demand.of(problem), _delta(problem)
    found = _eclipse(demand.bytes, delta)
    return _phases(
        problem, demand, found, assign_longest_first(found.duration, problem.planes, delta)
    )


def refuse_no_rate(problem: Problem) -> str | None:
    """Bytes take time on circuits."""
    return None if _per_byte(problem) > 0 else "circuits need a rate: state port="


def _two_ends(problem: Problem) -> tuple[Ints32, Ints32]:
    """The ends of a circuit: all are alike."""
    ends = np.arange(min(2, problem.machine.topology.endpoints), dtype=np.int32)
    return ends[:1], ends[-1:]


def _per_byte(problem: Problem) -> float:
    """[s/B] of a circuit."""
    machine = problem.machine
    return float(slowest_rates(machine, machine.costs, *_two_ends(problem))[1][0])


def _delta(problem: Problem) -> float:
    """What a configuration costs beside its bytes, in bytes of a circuit."""
    machine, none = problem.machine, np.zeros(1, np.int64)
    alone = transfer_times(machine, machine.costs, *_two_ends(problem), none).alone
    return ((machine.costs.reconfigure_s or 0.0) + float(alone[0])) / _per_byte(problem)


@dataclass(frozen=True, eq=False)
class _Demand:
    """Bytes between nodes; messages of no bytes count 1, they need a connection, too.

    Attributes:
        bytes: shape=(nodes, nodes), float64.
        message: those that leave their node, those of one entry together, in their order.
        inside: those that do not.
        entry: shape=(message): source · nodes + target.
        size: shape=(message), int64 [B], at least 1.
    """

    bytes: Floats
    message: Ints
    inside: Ints
    entry: Ints
    size: Ints

    @staticmethod
    def of(problem: Problem) -> _Demand:
        nodes = problem.machine.topology.endpoints
        entry = problem.source_node.astype(np.int64) * nodes + problem.target_node
        leaves = problem.source_node != problem.target_node
        message = np.flatnonzero(leaves)
        message = message[np.argsort(entry[message], kind="stable")]
        size = np.maximum(problem.pattern.size[message], 1)
        total = np.bincount(entry[message], size, nodes * nodes).astype(np.float64)
        return _Demand(
            total.reshape(nodes, nodes), message, np.flatnonzero(~leaves), entry[message], size
        )


def _heaviest(nodes: int, row: Ints, column: Ints, weight: Floats) -> Ints:
    """shape=(nodes): the column of every row in a matching of the largest weight."""
    if row.size * DENSE >= nodes * nodes:
        dense = np.zeros((nodes, nodes))
        dense[row, column] = weight
        optimize = import_module("scipy.optimize")
        return np.asarray(optimize.linear_sum_assignment(dense, maximize=True)[1])
    # every row and column has a second one that it may be matched to instead, at no weight
    most, own = 2 * float(weight.max(initial=1)), np.arange(nodes)
    ends = np.concatenate([row, own, nodes + own, nodes + column])
    to = np.concatenate([column, nodes + own, own, nodes + row])
    cost = np.concatenate([most - weight, np.full(2 * nodes + row.size, most)])
    sparse, csgraph = import_module("scipy.sparse"), import_module("scipy.sparse.csgraph")
    graph = sparse.csr_matrix((cost, (ends, to)), (2 * nodes, 2 * nodes))
    found = csgraph.min_weight_full_bipartite_matching(graph)[1][:nodes]
    idle = found >= nodes
    found[idle] = np.setdiff1d(own, found[~idle])
    return np.asarray(found)


def decompose(
    demand: Floats,
    *,
    whole: bool = False,
    slack: float = 1e-6,
    power: float = 1.0,
    noise: np.random.Generator | None = None,
) -> Decomposition:
    """As many matchings as the degree, and durations that serve every entry.

    Args:
        demand: shape=(nodes, nodes) [B].
        whole: whether an entry is served in one of them.
        slack: of a duration; what it leaves of an entry and is less is no entry of its own.
        power: of the bytes left, by which entries are weighed.
        noise: draws other matchings of nearly the same weight.
    """
    nodes = len(demand)
    ends = np.nonzero(demand)
    rest, key = demand[ends], ends[0] * nodes + ends[1]
    keys = key
    degree = max((int(np.bincount(each).max(initial=0)) for each in ends), default=0)
    matching, duration = np.empty((degree, nodes), np.int64), np.empty(degree)
    left = _total(demand)
    for k in range(degree):
        if np.count_nonzero(rest) < 0.75 * rest.size:
            kept = np.flatnonzero(rest)
            ends, rest, key = tuple(each[kept] for each in ends), rest[kept], key[kept]
        some = np.flatnonzero(rest)
        row, column = (each[some] for each in ends)
        tight = [np.bincount(each, minlength=nodes) >= degree - k for each in (row, column)]
        sums = [np.bincount(each, rest[some], nodes) for each in (row, column)]
        most = np.zeros((2, nodes))
        for lines, each in zip(most, (row, column), strict=True):
            np.maximum.at(lines, each, rest[some])
        usual = max(float(np.median(most)), 1.0)
        full = [1 - np.clip((left - each) / usual, 0, 1) for each in sums]
        weight = usual * (rest[some] / usual) ** power
        weight *= 1 + FULL * (full[0][row] + full[1][column])
        if noise is not None:
            weight *= 1 + 0.05 * noise.random(weight.size)
        first = float(weight.max()) * (nodes + 1)
        must = tight[0][row].astype(float) + tight[1][column]
        matching[k] = _heaviest(nodes, row, column, weight + first * must)
        hit = _entries(key, matching[k])
        hit = hit[rest[hit] > 0]
        ending = hit[tight[0][ends[0][hit]] | tight[1][ends[1][hit]]]
        duration[k] = rest[ending].max(initial=0.0) or rest[hit].max()
        if whole:
            duration[k] = rest[hit].max()
        over = rest[hit] - duration[k]
        rest[hit] = np.where(over > slack * duration[k], over, 0)
        left -= duration[k]
    size = demand[np.nonzero(demand)]
    if not whole:
        duration = _shortened(size, keys, matching, duration)
    duration = np.ceil(duration * (1 - ROUNDING))
    return Decomposition(matching, _lengthened(size, keys, matching, duration))


def _entries(key: Ints, column: Ints) -> Ints:
    """The entries that a matching connects, by their sorted keys."""
    at = np.arange(column.size) * column.size + column
    found = np.minimum(np.searchsorted(key, at), key.size - 1)
    return np.asarray(found[key[found] == at])


def _lengthened(size: Floats, key: Ints, matching: Ints, duration: Floats) -> Floats:
    """With the bytes that rounding has left, in the last matching that connects each entry."""
    rest, duration = size.copy(), duration.copy()
    hits = [_entries(key, column) for column in matching]
    for k, hit in enumerate(hits):
        rest[hit] = np.maximum(rest[hit] - duration[k], 0)
    for k in reversed(range(len(hits))):
        duration[k] += rest[hits[k]].max(initial=0)
        rest[hits[k]] = 0
    return duration


def _shortened(size: Floats, key: Ints, matching: Ints, duration: Floats) -> Floats:
    """The least sum of durations that serves every entry."""
    hits = [_entries(key, column) for column in matching]
    if not hits:
        return duration
    times = np.bincount(np.concatenate(hits), minlength=key.size)
    least = np.array([size[hit[times[hit] == 1]].max(initial=0.0) for hit in hits])
    k = np.repeat(np.arange(len(hits)), [hit.size for hit in hits])
    shared = times[np.concatenate(hits)] > 1
    if not shared.any():
        return least
    entries, number = np.unique(np.concatenate(hits)[shared], return_inverse=True)
    optimize, sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
    serves = sparse.csr_matrix(
        (-np.ones(number.size), (number, k[shared])), (entries.size, len(hits))
    )
    solved = optimize.linprog(
        np.ones(len(hits)),
        A_ub=serves,
        b_ub=-size[entries],
        bounds=[(each, None) for each in least.tolist()],
        method="highs",
    )
    return np.asarray(solved.x) if solved.success and solved.fun < duration.sum() else duration


def _total(demand: Floats) -> float:
    """The largest sum of a line."""
    return float(max(demand.sum(0).max(initial=0), demand.sum(1).max(initial=0)))


def _eclipse(demand: Floats, delta: float) -> Decomposition:
    """Matchings that serve the most bytes per time, one after the other."""
    rest, rows = demand.copy(), np.arange(len(demand))
    matching, duration = [], []
    while rest.any():
        sizes = np.unique(rest[rest > 0])
        if sizes.size > DURATIONS:
            sizes = sizes[np.linspace(0, sizes.size - 1, DURATIONS).round().astype(int)]
        best = -1.0
        for size in sizes.tolist():
            served = np.minimum(rest, size)
            ends = np.nonzero(served)
            column = _heaviest(len(rest), ends[0], ends[1], served[ends])
            rate = float(served[rows, column].sum()) / (size + delta)
            if rate > best:
                best, chosen, length = rate, column, size
        matching.append(chosen)
        duration.append(length)
        rest[rows, chosen] = np.maximum(rest[rows, chosen] - length, 0)
    return Decomposition(np.array(matching).reshape(-1, len(demand)), np.array(duration))


def _time(planes: Planes, delta: float) -> float:
    """When the last plane is done, in bytes of a circuit."""
    return max((sum(piece.amount + delta for piece in plane) for plane in planes), default=0.0)


def assign_longest_first(duration: Floats, planes: int, delta: float) -> Planes:
    """Whole configurations, the longest one first, each into the plane with the least load."""
    made: Planes = [[] for _ in range(planes)]
    load = [0.0] * planes
    for job in np.argsort(-duration, kind="stable").tolist():
        k = load.index(min(load))
        made[k].append(Piece(job, float(duration[job])))
        load[k] += float(duration[job]) + delta
    return made


def _equalized(duration: Floats, planes: int, delta: float) -> Planes:
    """Longest first; then the longest piece of the fullest plane is cut while that gains."""
    made = assign_longest_first(duration, planes, delta)
    load = [sum(piece.amount + delta for piece in plane) for plane in made]
    while (spare := max(load) - min(load) - delta) > ROUNDING * max(load):
        high, low = load.index(max(load)), load.index(min(load))
        at = max(range(len(made[high])), key=lambda k: made[high][k].amount)
        piece = made[high][at]
        moved = min(spare / 2, piece.amount)
        if moved < piece.amount:
            made[high][at] = Piece(piece.job, piece.amount - moved)
            load[high] -= moved
        else:  # all of it moves, and with it its change
            del made[high][at]
            load[high] -= moved + delta
        made[low].append(Piece(piece.job, moved))
        load[low] += moved + delta
    return made


def _bisected(
    duration: Floats, planes: int, delta: float, fill: Callable[[float], Planes | None]
) -> Planes:
    """The planes that `fill` makes for the least time for which it can."""
    low = (float(duration.sum()) + delta * duration.size) / planes
    high = float(duration.sum()) + delta * (duration.size + 1)
    best: Planes | None = None
    time = low
    for _ in range(STEPS):
        made = fill(time)
        if made is None:
            low = time
        else:
            best, high = made, min(time, _time(made, delta))
        if high - low <= CLOSE * high:
            break
        time = (low + high) / 2
    return best or [[Piece(k, float(each)) for k, each in enumerate(duration)]]


def _wrap(
    duration: Floats, order: Sequence[int], planes: int, delta: float
) -> Callable[[float], Planes | None]:
    """Plane after plane is filled up to a time; what does not fit continues in the next."""

    def fill(time: float) -> Planes | None:
        if time <= delta:
            return None
        made: Planes = [[]]
        room = time
        for job in order:
            left = float(duration[job])
            while left > 0:
                if room <= delta * (1 + ROUNDING):
                    if len(made) == planes:
                        return None
                    made.append([])
                    room = time
                amount = min(left, room - delta)
                made[-1].append(Piece(job, amount))
                left = left - amount if left - amount > ROUNDING * time else 0.0
                room -= amount + delta
        return made

    return fill


def _wrapped(duration: Floats, planes: int, delta: float) -> Planes:
    order = np.argsort(-duration, kind="stable").tolist()
    return _bisected(duration, planes, delta, _wrap(duration, order, planes, delta))


def _wrapped_short(duration: Floats, planes: int, delta: float) -> Planes:
    order = np.argsort(duration, kind="stable").tolist()
    return _bisected(duration, planes, delta, _wrap(duration, order, planes, delta))


def _filled(duration: Floats, planes: int, delta: float) -> Planes:
    """In every plane the longest whole jobs that fit; where none does, the longest is cut."""
    jobs = sorted((float(each), k) for k, each in enumerate(duration) if each > 0)

    def fill(time: float) -> Planes | None:
        if time <= delta:
            return None
        left = list(jobs)
        made: Planes = []
        while left and len(made) < planes:
            plane, room = [], time
            while left:
                at = bisect_right(left, (room - delta + ROUNDING * time, len(duration)))
                if at:
                    amount, job = left.pop(at - 1)
                elif room > delta * (1 + ROUNDING):
                    most, job = left.pop()
                    amount = room - delta
                    insort(left, (most - amount, job))
                else:
                    break
                plane.append(Piece(job, amount))
                room -= amount + delta
            made.append(plane)
        return None if left else made

    return _bisected(duration, planes, delta, fill)


def _phases(problem: Problem, demand: _Demand, found: Decomposition, planes: Planes) -> Phases:
    """A phase for every piece, its parts cut at whole bytes."""
    pieces = [(k, piece) for k, plane in enumerate(planes) for piece in plane]
    job = np.array([piece.job for _, piece in pieces], np.int64)
    ends = np.zeros(len(pieces), np.int64)
    begins = np.zeros(len(pieces), np.int64)
    for j, length in enumerate(found.duration.tolist()):
        mine = np.flatnonzero(job == j)
        ends[mine] = np.cumsum([pieces[k][1].amount for k in mine.tolist()]).round()
        if mine.size:
            ends[mine[-1]] = int(length)
            begins[mine[1:]] = ends[mine[:-1]]
    nodes, rows = len(demand.bytes), np.arange(len(demand.bytes))
    rest = demand.bytes.astype(np.int64)
    served = np.zeros((len(found.matching), nodes), np.int64)
    for j, column in enumerate(found.matching):
        served[j] = np.minimum(rest[rows, column], int(found.duration[j]))
        rest[rows, column] -= served[j]
    assert not rest.any()
    part = np.clip(served[job], begins[:, None], ends[:, None]) - begins[:, None]
    piece, row = np.nonzero(part > 0)
    entry = row * nodes + found.matching[job[piece], row]
    return _of_messages(
        problem, demand, piece, entry, part[piece, row], np.array([k for k, _ in pieces], np.int64)
    )


def _of_messages(
    problem: Problem,
    demand: _Demand,
    piece: Ints,
    entry: Ints,
    part: Ints,
    plane: Integers,
) -> Phases:
    """Phases of parts of messages: those of an entry one after the other, in one circuit.

    A piece in which an entry passes several messages is as many phases.
    """
    order = np.argsort(entry, kind="stable")
    piece, part = piece[order], part[order]
    cut_at = np.unique(np.concatenate([np.cumsum(part), np.cumsum(demand.size)]))
    size = np.diff(cut_at, prepend=0)
    of_piece = np.searchsorted(np.cumsum(part), cut_at)
    of_message = np.searchsorted(np.cumsum(demand.size), cut_at)
    number = np.arange(cut_at.size) - np.searchsorted(of_piece, of_piece)
    message, piece = demand.message[of_message], piece[of_piece]
    size = np.where(problem.pattern.size[message] == 0, 0, size)
    order = np.lexsort((problem.source_node[message], number, piece))
    key = (piece * (int(number.max(initial=0)) + 1) + number)[order]
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    message_of = np.concatenate([demand.inside, message[order]]).astype(np.int32)
    size = np.concatenate([problem.pattern.size[demand.inside], size[order]])
    of_transfer = np.concatenate([np.zeros(demand.inside.size, np.int64), plane[piece[order]]])
    offsets = np.append(begins, key.size) + demand.inside.size
    if offsets.size > 1:
        offsets[0] = 0
    elif demand.inside.size:
        offsets = np.array([0, demand.inside.size])
    is_cut = bool((np.bincount(message_of, minlength=problem.pattern.messages) > 1).any())
    return Phases(
        offsets, message_of, parts=size if is_cut else None, plane=of_transfer.astype(np.int32)
    )
