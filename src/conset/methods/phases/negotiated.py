"""negotiated: messages share phases by negotiation; whatever is asked for too often becomes dear.

Problem: cut a pattern into the fewest phases under any limits on ports, links and channels, over
the machine's routes (`routes=fixed`) or over routes that are chosen with the phases
(`routes=free`).
Idea: fix the number of phases P and let every message stand somewhere, too many to a place if need
be. Sweep after sweep the messages on overused places are taken out, one at a time in random order,
and put where the sum of prices is least: a place costs for what is there now, times a weight that
rises each time it was overused (its history). Places that all want become dear and those that can
go elsewhere do. P starts at the bound and goes up; every P starts anew. With free routes a place is
a path in a phase: A* over all phases at once, hops as the heuristic, a node costs 1, so detours are
taken where they are cheaper than waiting. Prices, with over = max(0, used + 1 - capacity): fixed
routes over · (1 + history), a history of 0.2 for each message too many and sweep, which are whole
numbers in steps of 0.2: exact sums, true ties, broken at random. Free routes (1 + history) · (1 +
pressure · over), less 1 for ports and links; pressure rises sweep by sweep (`Pressure`).
Invariant: a message is in one phase; an assignment without overuse keeps every limit. first-fit
is the fallback, so the result never takes more phases.
Complexity: a sweep reads hops · P prices for each message on an overused place (fixed), or searches
a part of nodes · P states (free); memory O((nodes + links) · P). Effort caps sweeps and steps for
each P: 10 000 · effort sweeps with fixed routes, 400 · effort with free ones (300 where only
channels limit). Where the steps ended a try, or it was hopeless (after 10 sweeps half as many too
many as there are messages; over fixed routes a fiftieth after a tenth of the sweeps, less later), P
rises in doubling steps and the range is halved after the first success. Free routes start from what
fixed ones give. If the first P fails, tries under steep pressure, which is nearly first fit with a
path search, bring the number down before the gentle ones go on: on a torus with links of capacity 1
they need a tenth of the steps, on channels and links of capacity 2 and more they fail where gentle
ones succeed.
When to use it: sparse and irregular patterns, and wherever a phase more matters. Structured ones (a
complete exchange on a mesh) have constructions that reach their bounds and cost nothing.
Order: message j is kept out of the phases up to that of i before it as by another price that rises
when it is paid.
Exchange: with send 1 and receive 1, over fixed routes, messages and those that come back are placed
together (see half_duplex); other values are refused.
Departures: one A* over all phases in place of one for each; only rows that can fill are kept;
prices are stored. Measured (benchmarks/bench_negotiated.py): 6-cube, d-regular both ways, 50 seeds:
0, 0.18, 0.98, 1.0, 1.0 phases above each bound at d = 4, 8, 16, 32, 48; complete exchange on the
8×8 torus with 12 channels: 27 phases, the bound, also with 3 messages a port and link at most (ΣL =
81).
Reference: McMurchie, Ebeling: PathFinder: a negotiation-based performance-driven router for FPGAs,
doi:10.1145/201310.201328. Notation: P phases, d messages out of and into each node.

half-duplex: pairs of partners share phases by negotiation.

For nodes that send and receive at once in exchanges.

Problem: a node that sends and receives in one phase does so with one partner (duplex = exchange),
or pays for both in turn, as on the iPSC/860. Cut any pattern into the fewest phases of that kind,
over paths that share no link.
Idea: what the hardware does well is a pair: the message from x to y and the one that comes back are
one item, a lone message is one too. An item takes both nodes whole and all links of both paths.
Phases are then a colouring of the undirected multigraph of pairs with the links as further
resources, found by negotiation (see negotiated).
Invariant: a node has one item in a phase, so at most one partner.
Complexity: that of negotiated with up to 100 000 · effort sweeps: sparse patterns are small, cheap
to sweep and need many: at d = 4 on the 6-cube 400 sweeps are 0.9 units above the bound, 10 000
0.05, 100 000 none.
Bound: the most distinct partners of a node (bounds/partners.py), which Vizing's theorem lets a
colouring miss by one even without links.
When to use it: machines with half-duplex nodes. Where all nodes send and receive at once anyway,
negotiated is shorter.
Guarantee: no more phases than first-fit, nor than lp where lp keeps the same limits (hypercubes, or
no limit on links).
Departures: messages of an order stay alone, and so do two whose paths would meet on a link.
Measured: 6-cube, d-regular both ways, 50 seeds: 0.06 phases above the bound at d = 4, none at 8,
16, 32, 48; rs-nl takes 13.1, 23.0, 40.0, 74.2, 100.9 units of time and lp 63 phases
(benchmarks/bench_negotiated.py).
Reference: the machine's rule: Wang, Ranka: Scheduling of unstructured communication on the Intel
iPSC/860, Section 2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from conset import _core
from conset.base import InputError, Ints, Ints32
from conset.machine import Limits, Topology, core_network, core_widths, route_stops, usable_ends
from conset.methods.phases.core import core_order
from conset.methods.phases.first_fit import schedule_first_fit
from conset.methods.phases.pairwise_exchange import applies_lp, schedule_lp
from conset.methods.phases.problem import Phases, Problem, Routes
from conset.schedule import as_routes, routes_of

Limit = int | Sequence[int] | Ints32 | None
"""How much a slot may hold: one number for all slots, one for each, or None for no limit."""


@dataclass(frozen=True)
class Pressure:
    """How prices of overuse rise, and for how long.

    Attributes:
        start: price of overuse in the first sweep, relative to a hop.
        growth: factor on it after every sweep.
        most: its largest value.
        history: what each message too many adds for good to the weight of a place, sweep by sweep.
        sweeps: before a number of slots is given up.
        work: prices read (fixed routes) or states searched (free routes) before it is given up.
    """

    start: float
    growth: float
    history: float
    most: float
    sweeps: int
    work: int


FIXED = Pressure(1.0, 1.0, 0.2, 1.0, sweeps=10_000, work=2_000_000_000)
"""Fixed routes."""
EXCHANGES = replace(FIXED, sweeps=100_000)
"""Fixed routes, pairs as items: few items, many sweeps."""
CHANNELS = Pressure(0.5, 1.1, 0.3, 1000.0, sweeps=300, work=20_000_000)
"""Free routes where only channels limit."""
LINKS = Pressure(0.5, 1.05, 0.2, 20.0, sweeps=400, work=20_000_000)
"""Free routes where links limit."""
FREE_WORK = 5_000_000
"""States searched in one try of `schedule_negotiated`.

Which makes a dozen of them, for each unit of effort.
"""
STEEP = Pressure(50.0, 1.0, 20.0, 50.0, sweeps=100, work=FREE_WORK)
"""Free routes of capacity 1 with room to spare: nearly first fit, with routes searched for."""
CELLS = 1 << 28
"""Resources · slots that are worth their memory, 20 bytes each; else the fallback is used."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """The phase of every message.

    Within all limits, or (`excess` above 0) the incumbent when the caps ended the try.

    Attributes:
        slot: shape=(messages), int32.
        excess: messages too many, summed over all resources and slots, and broken pairs of the
            order.
        sweeps: made.
        work: prices read or states searched.
        route_offsets: free routes, shape=(messages + 1), int64.
        route_nodes: free routes: message `m` visits
            `route_nodes[route_offsets[m] : route_offsets[m + 1]]`.
        route_links: free routes, shape as `route_nodes`: the link by which each stop is entered, -1
            at the first.
    """

    slot: Ints32
    excess: int
    sweeps: int
    work: int
    route_offsets: Ints | None = None
    route_nodes: Ints32 | None = None
    route_links: Ints32 | None = None

    @property
    def complete(self) -> bool:
        """Whether all limits are kept."""
        return self.excess == 0

    @property
    def routes(self) -> tuple[Ints, Ints32, Ints32 | None]:
        """(route_offsets, route_nodes, route_links) of free routes.

        Raises:
            InputError: the routes were fixed.
        """
        if self.route_offsets is None or self.route_nodes is None:
            raise InputError("an assignment over fixed routes has none of its own")
        return self.route_offsets, self.route_nodes, self.route_links


def items_of(
    problem: Problem, *, routes: Routes = "fixed", exchange: bool = False
) -> _core.NegotiatedItems:
    """What is to be assigned.

    Each message of the problem, or with `exchange` pairs that go both ways; for `negotiate`.

    Args:
        problem: placed pattern, machine and order; its limits are not read.
        routes: `fixed`: the machine's; `free`: chosen by `negotiate`; a crossbar has only one.
        exchange: a node is busy with one partner in a slot; fixed routes only.

    Raises:
        InputError: free routes on a network whose table of distances would not fit.
    """
    machine, topology = problem.machine, problem.machine.topology
    width = core_widths(topology)
    source, target = (
        np.ascontiguousarray(node, np.int32) for node in (problem.source_node, problem.target_node)
    )
    messages = _core.Connections(source, target, *core_order(problem))
    if routes == "fixed" or not topology.link_slots:
        network = core_network(topology, machine.routing)
        return _core.NegotiatedItems(network, messages, width, exchange)
    if (size := topology.nodes * topology.endpoints) > CELLS:
        raise InputError(
            f"free routes require nodes times endpoints of at most {CELLS:,}, given {size:,}"
        )
    wiring = _core.Wiring(topology.nodes, *usable_ends(topology, machine.routing))
    return _core.NegotiatedItems.free(wiring, messages, width)


def negotiate(
    items: _core.NegotiatedItems,
    slots: int,
    planes: int = 1,
    *,
    send: Limit = None,
    receive: Limit = None,
    link: Limit = None,
    channels: Limit = None,
    pressure: Pressure | None = None,
    seed: int = 0,
) -> Assignment:
    """One try at `slots` slots: the same arguments give the same assignment.

    Args:
        items: from `items_of`.
        slots: phases, or parts of phases.
        planes: how many slots in a row share the limits of ports (`Problem.planes`).
        send: messages out of a node, in each slot.
        receive: messages into a node.
        link: messages on a link, per unit of its width.
        channels: routes through a node, its own ends included.
        pressure: how prices rise and when to give up; None: `LINKS` for free routes, `FIXED` for
            fixed ones.
        seed: of every random choice.
    """
    if pressure is None:
        pressure = LINKS if items.has_free_routes else FIXED
    limits = _slot_limits(slots, send=send, receive=receive, link=link, channels=channels)
    prices = _core.Pressure(
        start=pressure.start, growth=pressure.growth, history=pressure.history, most=pressure.most
    )
    negotiation = _core.Negotiation(items, slots, limits, prices, seed % 2**64, planes)
    excess = negotiation.run(pressure.sweeps, pressure.work)
    found = negotiation.slot_of_messages(), excess, negotiation.sweeps, negotiation.work
    if not items.has_free_routes:
        return Assignment(*found)
    paths = negotiation.paths()
    return Assignment(*found, paths.offsets, paths.nodes, paths.entered)


def _slot_limits(slots: int, **limits: Limit) -> _core.SlotLimits:
    return _core.SlotLimits(**{word: _per_slot(limit, slots) for word, limit in limits.items()})


def _per_slot(limit: Limit, slots: int) -> Ints32:
    if limit is None:
        return np.zeros(0, np.int32)
    values = np.atleast_1d(np.asarray(limit, np.int32))
    if values.size not in (1, slots):
        raise InputError(
            f"a limit has {values.size} values for {slots} slots: one for all or one for "
            "each is required"
        )
    return np.ascontiguousarray(values)


def fewest_slots(
    least: int, most: int, attempt: Callable[[int], Assignment], sweeps: int
) -> Assignment | None:
    """The best of tries from `least` up to `most` - 1 slots, or None where all fail.

    A try that its cap on `sweeps` ended was thorough: the next one has a slot more. Where the cap
    on work ended it the steps double, and the range is halved after the first success.
    """
    best, low, slots, step = None, least, least, 1
    while slots < most and not _core.stop_asked():
        found = attempt(slots)
        if found.complete:
            best, most = found, slots
            _core.publish(most, 0)
        else:
            low = slots + 1
            step *= 1 if found.sweeps >= sweeps else 2
        slots = slots + step if best is None else (low + most) // 2
    return best


def applies_negotiated(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    limits, routes = problem.limits, problem.search.routes
    if limits.duplex != "exchange" or (
        (limits.send, limits.receive) == (1, 1) and routes == "fixed"
    ):
        return None
    return (
        "method negotiated with duplex exchange requires send=1, receive=1 and the machine's "
        "routes, given "
        f"send={limits.send}, receive={limits.receive} and {routes} routes; first-fit keeps any"
    )


def schedule_negotiated(problem: Problem) -> Phases:
    """The fewest phases that negotiation finds from the bound upwards.

    First-fit's where it finds none below them.

    Raises:
        InputError: duplex exchange with other limits of ports than 1, or with free routes.
    """
    fixed = improve(
        problem, schedule_first_fit(problem), exchange=problem.limits.duplex == "exchange"
    )
    if problem.search.routes == "fixed" or not problem.machine.topology.link_slots:
        return fixed
    return _free_routes(problem, fixed)


def improve(problem: Problem, fallback: Phases, *, exchange: bool) -> Phases:
    """The negotiated phases where they are fewer than `fallback`, else the fallback.

    Over the machine's routes.

    Args:
        problem: what is to be sent; with `exchange` its limits are send 1, receive 1, duplex
            exchange.
        fallback: a schedule of it.
        exchange: whether messages that go both ways are one item.
    """
    search = _Search(problem, items_of(problem, exchange=exchange))
    best = search.fewest(search.least, fallback.offsets.size - 1, EXCHANGES if exchange else FIXED)
    found = fallback if best is None else Phases.of(best.slot, planes=problem.planes)
    return replace(found, stopped_early=_core.should_stop(True))


def _free_routes(problem: Problem, fixed: Phases) -> Phases:
    """Fewer phases than `fixed` has, over routes chosen with them; or `fixed`, with its routes."""
    search, most = _Search(problem, items_of(problem, routes="free")), fixed.offsets.size - 1
    gentle = replace(CHANNELS if problem.limits.link is None else LINKS, work=FREE_WORK)
    best = search.fewest(search.least, min(most, search.least + 1), gentle)
    if best is None:
        steep = search.fewest(search.least, most, STEEP)
        if steep is not None:
            most = int(steep.slot.max(initial=0)) // problem.planes + 1
        best = search.fewest(search.least + 1, most, gentle) or steep
    if best is None:
        network = problem.machine.topology, problem.machine.routing
        routes = route_stops(*network, problem.source_node, problem.target_node)
        found = fixed
    else:
        found, routes = Phases.of(best.slot, planes=problem.planes), best.routes
    chosen = replace(found, **as_routes(*routes))
    found = replace(found, **routes_of(chosen, found.message))
    return replace(found, stopped_early=_core.should_stop(True))


class _Search:
    """The smallest number of slots for the items of a problem, within its effort."""

    def __init__(self, problem: Problem, items: _core.NegotiatedItems) -> None:
        limits = problem.limits
        self.problem, self.items = problem, items
        self.limits = {
            "send": limits.send,
            "receive": limits.receive,
            "link": limits.link,
            "channels": limits.channels,
        }
        link = None if limits.link is None else limits.link * problem.planes
        self.least = items.least_slots(_slot_limits(1, **{**self.limits, "link": link}))

    def fewest(self, least: int, most: int, pressure: Pressure) -> Assignment | None:
        """The best of tries from `least` up to `most` - 1 slots, or None where all fail."""
        effort = self.problem.search.effort
        pressure = replace(pressure, sweeps=pressure.sweeps * effort, work=pressure.work * effort)
        cells = 3 * self.problem.nodes + self.problem.machine.topology.link_slots
        planes = self.problem.planes

        def attempt(phases: int) -> Assignment:
            return negotiate(
                self.items,
                phases * planes,
                planes,
                **self.limits,
                pressure=pressure,
                seed=self.problem.search.seed,
            )

        _core.publish(most, self.least)
        if cells * most * planes > CELLS:
            return None
        return fewest_slots(least, most, attempt, pressure.sweeps)


def limits_half_duplex(topology: Topology) -> Limits:
    """One partner per node, and one message per link where there are links."""
    return Limits(send=1, receive=1, link=1 if topology.link_slots else None, duplex="exchange")


def schedule_half_duplex(problem: Problem) -> Phases:
    """The fewest phases of exchanges and lone messages that negotiation, first-fit and lp find."""
    pairs = replace(problem, limits=replace(problem.limits, send=1, receive=1, duplex="exchange"))
    plain = [schedule_first_fit(pairs)]
    if applies_lp(pairs) is None:
        plain.append(schedule_lp(pairs))
    return improve(pairs, min(plain, key=lambda phases: phases.offsets.size), exchange=True)
