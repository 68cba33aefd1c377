"""orbits: patterns that look the same from every node, whole displacements packed into phases.

Problem: connections of a translation-invariant pattern (torus, ring, hypercube) into few phases P
under a limit on channels, and with the least ΣL, L_p being the largest number of connections on a
link, or out of or into a node, in phase p.
Idea: a displacement used by all nodes at once costs h + 1 channels in every node, one send and one
receive, and the same on every link of a direction: a bin is a phase, a displacement an item with a
few small loads, and annealing packs them. Ties (half way round a cycle) go both ways by parity,
which keeps nodes and links uniform. P and ΣL are asked for from the lower bound on: ΣL is spread
evenly over the phases. Where an item does not fit (h + 1 above the channels) or the packing fails:
half, quarter … orbits. Sources with the same sum of coordinates modulo m form a class; an item is a
class with a displacement, a row a class of nodes. Loads are counted on the routes, the largest of
each class.
Invariant: a phase is a union of whole items whose loads keep the limits, so its routes do.
Guarantee: ΣL = `Task.least_sum`, a proved bound, where it is reached at all at the P that was asked
for.
Complexity: Σ hops for the loads; 50,000 steps of annealing per item, try and unit of effort, a
dozen tries or two.
When to use it: fill of 98 % and more (a complete exchange, stencils). Sizes must be equal, or equal
per displacement, then only channels count. Not for patterns without the symmetry.
Measured: complete exchange, 12 channels: 8 × 8 torus ΣL = 79 at 27 phases (both proved least); 16 ×
16 torus 193 phases by half orbits (bound 192) in 15 s. The 24-neighbour stencil 7 phases at a fill
of 100 %. See benchmarks/bench_connections.py.
Reference: none; new. The packing replaces a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from conset import _core
from conset.base import InputError, Ints, Ints32
from conset.machine import Routing, links_of_nodes, route_nodes
from conset.methods.phases.connection_routers.task import Routed, Task

STEPS, LEAST_STEPS = 50_000, 1_000_000
"""Of annealing, for each item, in a try."""
HOT, COLD = 1.0, 0.15
SLACK = (0, 1, 2, 4, 8, 16, 32)
"""How far above its bound a ΣL is asked for."""
MAX_CLASSES = 16

Target = tuple[int, int | None]
"""(phases, ΣL), or (phases, None) where ΣL does not matter."""
Attempt = Callable[[Target], Ints32 | None]


@dataclass(frozen=True, eq=False)
class Orbits:
    """A pattern cut into items: a class of sources with one displacement each.

    Attributes:
        task: what is to be routed.
        displacement: shape=(messages), int32: an id, the same for messages that differ by a
            translation.
        copy: shape=(messages), int32: which of several messages with the same ends it is.
        classes: sources are distinguished by the sum of their coordinates modulo this.
    """

    task: Task
    displacement: Ints32
    copy: Ints32
    classes: int

    @cached_property
    def class_of(self) -> Ints:
        """shape=(nodes): the class of each node."""
        return self.task.topology.coordinates.sum(axis=1) % self.classes

    @cached_property
    def item(self) -> Ints:
        """shape=(messages): the item of each message; -1 inside a node."""
        key = (
            self.displacement.astype(np.int64) * (int(self.copy.max()) + 1) + self.copy
        ) * self.classes
        key += self.class_of[self.task.source]
        item = np.full(key.size, -1, np.int64)
        item[self.task.leaves] = np.unique(key[self.task.leaves], return_inverse=True)[1]
        return item

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.item.max()) + 1

    @cached_property
    def routes(self) -> tuple[Ints, Ints32]:
        """(offsets, nodes) of all messages: dimension order, ties by parity."""
        return route_nodes(self.task.topology, self._routing, self.task.source, self.task.target)

    @property
    def _routing(self) -> Routing:
        return Routing.default(self.task.topology)

    @cached_property
    def loads(self) -> Ints32:
        """shape=(items, rows), int32.

        Channels, sends, receives, then links of each direction, by class of nodes.
        """
        topology, classes = self.task.topology, self.classes
        offsets, nodes = self.routes
        item = np.repeat(self.item, np.diff(offsets))
        kinds = [
            _largest(item, nodes, topology.nodes, self.items, self.class_of, classes),
            *[
                _largest(self.item, ends, topology.nodes, self.items, self.class_of, classes)
                for ends in (self.task.source, self.task.target)
            ],
        ]
        cut, links = links_of_nodes(topology, self._routing, offsets, nodes)
        per_node = topology.link_slots // topology.nodes
        link_class = (np.arange(topology.link_slots) % per_node) * classes
        link_class += self.class_of[np.arange(topology.link_slots) // per_node]
        item = np.repeat(self.item, np.diff(cut))
        kinds.append(
            _largest(item, links, topology.link_slots, self.items, link_class, classes * per_node)
        )
        return np.concatenate(kinds, axis=1)


def _largest(
    item: Ints,
    place: Ints32,
    places: int,
    items: int,
    class_of: Ints,
    classes: int,
) -> Ints32:
    """shape=(items, classes): the most of an item's messages at one place of each class.

    Items one after the other.
    """
    result = np.zeros((items, classes), np.int32)
    block = max(1, 8_000_000 // places)
    order = np.argsort(item, kind="stable")
    item, place = item[order], place[order].astype(np.int64)
    for low in range(0, items, block):
        begin, end = np.searchsorted(item, [low, low + block])
        count = np.bincount(
            (item[begin:end] - low) * places + place[begin:end],
            minlength=min(block, items - low) * places,
        )
        by_place = count.reshape(-1, places)
        for c in range(classes):
            result[low : low + block, c] = by_place[:, class_of == c].max(axis=1, initial=0)
    return result


def route_orbits(task: Task) -> Routed:
    """The fewest phases with the least ΣL, or the shortest time, that packing finds.

    Raises:
        InputError: the network is no torus, ring or hypercube, the pattern looks different from
            different nodes, or no packing was found.
    """
    displacement, copy = displacements(task)
    best = None
    for classes in _class_counts(task):
        orbits = Orbits(task, displacement, copy, classes)
        if not task.leaves.any():
            return Routed("orbits", np.zeros(displacement.size, np.int32), *orbits.routes)
        best = _packed(orbits)
        if best is not None:
            return best
    raise InputError(
        "router orbits: no packing within the limits was found; effort would search longer",
        options=["effort"],
    )


def _class_counts(task: Task) -> Iterator[int]:
    """1, 2, 4 … as far as all sides that have links divide by them."""
    classes = 1
    while classes <= MAX_CLASSES and all(
        side % classes == 0 for side in task.topology.sides if side > 1
    ):
        yield classes
        classes *= 2


def displacements(task: Task) -> tuple[Ints32, Ints32]:
    """(displacement, copy) of every message.

    Raises:
        InputError: as `route_orbits`.
    """
    topology, problem = task.topology, task.problem
    if (
        topology.kind not in ("torus", "ring", "hypercube")
        or problem.machine.routing.rule == "no-wrap"
    ):
        raise InputError(
            f"router orbits requires a torus, ring or hypercube, given {problem.machine.name}"
        )
    if problem.pattern.before is not None:
        raise InputError(
            "router orbits requires a pattern without an order, given "
            f"{len(problem.pattern.before)} pairs"
        )
    at = topology.coordinates
    away = (at[task.target] - at[task.source]) % np.array(topology.sides)
    displacement = np.ravel_multi_index(tuple(away.T), topology.sides).astype(np.int32)
    order = np.lexsort((problem.pattern.size, displacement, task.source))
    count = np.bincount(task.source, minlength=topology.nodes)
    needed = "router orbits requires a pattern that looks the same from every node"
    if count.min() != count.max():
        raise InputError(f"{needed}, given {count.min()} to {count.max()} messages out of a node")
    rows = displacement[order].reshape(topology.nodes, -1)
    sizes = problem.pattern.size[order].reshape(topology.nodes, -1)
    other = np.flatnonzero((rows != rows[0]).any(axis=1) | (sizes != sizes[0]).any(axis=1))
    if other.size:
        raise InputError(
            f"{needed}, given {topology.node_name(int(other[0]))} unlike {topology.node_name(0)}"
        )
    copy = np.zeros(displacement.size, np.int32)
    same = (
        np.concatenate([[False], rows[0][1:] == rows[0][:-1]])
        if rows.shape[1]
        else np.zeros(0, bool)
    )
    first = np.maximum.accumulate(np.where(same, 0, np.arange(same.size)))
    copy[order] = np.tile((np.arange(same.size) - first).astype(np.int32), topology.nodes)
    return displacement, copy


def _packed(orbits: Orbits) -> Routed | None:
    """The best (P, ΣL) by the objective that annealing reaches; None if none of those tried."""
    task, problem, classes = orbits.task, orbits.task.problem, orbits.classes
    loads, tries = orbits.loads, count()
    if loads[:, :classes].max() > task.channels:
        return None

    def attempt(target: Target) -> Ints32 | None:
        phases, total = target
        rows = _rows(task, loads, classes, total)
        capacity = _capacity(task, rows.shape[1], classes, phases, total)
        steps = problem.search.effort * max(LEAST_STEPS, STEPS * orbits.items)
        seed = (problem.search.seed + next(tries)) % 2**64
        found = _core.pack_orbits(
            rows.shape[1], rows.ravel(), capacity.ravel(), HOT, COLD, steps, seed
        )
        return found if found.size else None

    least = max(task.least_phases, -(-int(loads[:, :classes].sum(axis=0).max()) // task.channels))
    packed = (
        _pack_few(task, least, attempt)
        if problem.search.objective == "phases"
        else _pack_short(task, least, attempt)
    )
    if packed is None:
        return None
    phase = np.where(orbits.item < 0, 0, packed[orbits.item]).astype(np.int32)
    order = np.argsort(np.lexsort((task.source, orbits.item))).astype(np.int32)
    return Routed("orbits", phase, *orbits.routes, order)


def _pack_few(task: Task, least: int, attempt: Attempt) -> Ints32 | None:
    """The fewest phases first, then the least ΣL in them."""
    packed = first_success([(p, None) for p in _counts(task, least)], attempt)
    if packed is None or not task.equal_sizes:
        return packed
    phases = int(packed.max()) + 1
    lowest = task.least_levels(phases)
    step = max(1, phases // 16)
    better = first_success([(phases, total) for total in range(lowest, 3 * lowest, step)], attempt)
    return packed if better is None else better


def _pack_short(task: Task, least: int, attempt: Attempt) -> Ints32 | None:
    """The shortest time; of unequal sizes the fewest phases, bytes are balanced later."""
    if not task.equal_sizes:
        return _pack_few(task, least, attempt)
    options: list[Target] = [
        (p, task.least_levels(p) + more) for p in _counts(task, least) for more in SLACK
    ]
    options.sort(key=lambda o: (o[0] * task.setup_s + (o[1] or 0) * task.share_s, o))
    packed = first_success(options, attempt)
    return _pack_few(task, least, attempt) if packed is None else packed


def _counts(task: Task, least: int) -> range:
    """Numbers of phases worth a try, or the one that is asked for."""
    asked = task.problem.search.phases
    return range(least, 2 * least + 2) if asked is None else range(asked, asked + 1)


def first_success(targets: list[Target], attempt: Attempt) -> Ints32 | None:
    """What the most wanted target gives that succeeds.

    Steps double after failures, then the gap is halved.

    Later targets are easier by and large, so about 2 log of their number are tried.
    """
    best, low, at, step = None, 0, 0, 1
    while not _core.stop_asked():
        best = attempt(targets[at])
        if best is not None or at == len(targets) - 1:
            break
        low, at, step = at + 1, min(at + step, len(targets) - 1), 2 * step
    high = at
    while best is not None and low < high and not _core.stop_asked():
        middle = (low + high) // 2
        found = attempt(targets[middle])
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle
    return best


def _rows(task: Task, loads: Ints32, classes: int, total: int | None) -> Ints32:
    """The loads that count: channels, and ports and links where they have a limit."""
    limits = task.problem.limits
    if total is None and (limits.send, limits.receive, limits.link) == (None, None, None):
        return np.ascontiguousarray(loads[:, :classes])
    return loads


def _capacity(task: Task, rows: int, classes: int, phases: int, total: int | None) -> Ints32:
    """shape=(phases, rows): channels, then what a level allows.

    `total` levels are spread evenly, the larger first.
    """
    capacity = np.full((phases, rows), 2**30, np.int32)
    capacity[:, :classes] = task.channels
    limits, width = task.problem.limits, task.topology.width
    kinds = (
        (limits.send, 0, slice(classes, 2 * classes)),
        (limits.receive, 0, slice(2 * classes, 3 * classes)),
    )
    link = None if limits.link is None else limits.link * width
    levels = (
        [] if total is None else [total // phases + (p < total % phases) for p in range(phases)]
    )
    for limit, which, where in (*kinds, (link, 1, slice(3 * classes, rows))):
        if limit is not None:
            capacity[:, where] = limit
        for p, level in enumerate(levels):
            users = task.users(level)[which]
            if users is not None:
                capacity[p, where] = np.minimum(
                    capacity[p, where], min(users * (width if which else 1), 2**30)
                )
    return capacity
