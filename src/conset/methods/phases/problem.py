"""Problem, Phases and Method: what a method is given, what it gives back, and its row of the table.

And what a domain may refuse.

`Method.applies` joins the refusals that concern a row, each one line with what was required and
what was given, or None; `require` turns the line into an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from conset import _core
from conset.base import Floats, InputError, Ints, Ints32, ValueObject, frozen, frozen_ints
from conset.machine import Limits, Machine, Topology
from conset.pattern import Pattern
from conset.schedule import Schedule

Routes = Literal["fixed", "free"]
"""The machine's routes, or routes that the method chooses."""
Objective = Literal["time", "phases"]
"""The least time, or the fewest phases, then the least ΣL."""


@dataclass(frozen=True)
class SearchOptions:
    """How a method searches.

    Attributes:
        seed: of every random choice.
        effort: how long to search, counted in sweeps, never in seconds; 0: not at all, where a
            construction does.
        routes: the machine's, or chosen by a method that can.
        router: which one finds the routes of `connections`; None: the best of those that apply.
        objective: `time`, or `phases`: fewest phases, then least ΣL, then (`connections`) fewest
            channels.
        phases: how many `connections` makes; None: as the objective says.
        posting: what `naive` orders the messages of each rank by: a word of
            `conset.schedule.policy`.
    """

    seed: int = 0
    effort: int = 1
    routes: Routes = "fixed"
    router: str | None = None
    objective: Objective = "time"
    phases: int | None = None
    posting: str = "schedule"


@dataclass(frozen=True, eq=False)
class Problem:
    """A placed pattern on a machine, to be cut into phases under limits.

    Attributes:
        pattern: what is sent.
        machine: network, routing and costs.
        limits: what every phase must keep.
        placement: shape=(ranks), int32: node of each rank; None: rank r on node r.
        search: how the method searches.
        min_bandwidth: shape=(messages), float64 [B/s]: what every connection must be guaranteed; or
            None.
        max_latency: shape=(messages), float64 [s]: what an element of every connection may take at
            most, infinite: any time; or None.
        planes: how many slots of the network a phase has, of a method that chooses them: a link
            counts in each, a port in all of them together.
        predicted: the time of a schedule [s], for methods that compare several of a pattern with an
            order, whose waits loads do not have; or None.
    """

    pattern: Pattern
    machine: Machine
    limits: Limits
    placement: Ints32 | None = None
    search: SearchOptions = field(default_factory=SearchOptions)
    min_bandwidth: Floats | None = None
    max_latency: Floats | None = None
    planes: int = 1
    predicted: Callable[[Schedule], float] | None = None

    @cached_property
    def source_node(self) -> Ints32:
        """shape=(messages), int32: the node message `m` leaves."""
        source = self.pattern.source
        return source if self.placement is None else frozen(self.placement[source])

    @cached_property
    def target_node(self) -> Ints32:
        """shape=(messages), int32: the node message `m` enters."""
        target = self.pattern.target
        return target if self.placement is None else frozen(self.placement[target])

    @property
    def nodes(self) -> int:
        """Nodes of the network."""
        return self.machine.topology.nodes


@dataclass(frozen=True, eq=False)
class Phases(ValueObject):
    """What a method found; the arrays are those of `Schedule`.

    Attributes:
        offsets: shape=(phases + 1), int64.
        message: shape=(transfers), int32, in the order in which they are posted.
        parts: shape=(transfers), int64 [B], where messages are split.
        route_offsets: shape=(transfers + 1), int64, where the method chose routes.
        route_nodes: int32 node ids, ends included.
        route_links: int32, the link by which each stop of `route_nodes` is entered, -1 at the
            first; None where the nodes say it.
        timetable: shape=(transfers, 2), float64 [s].
        channels: int32, the channel each route takes in each node of `route_nodes`, where
            connections are opened.
        stopped_early: the search was interrupted; the phases are valid all the same.
        plane: shape=(transfers), which of the slots of its phase each has, where the problem gives
            several.
        note: what a user should know of how they were found, such as that a method fell back to
            another one.
    """

    offsets: Ints
    message: Ints32
    parts: Ints | None = None
    route_offsets: Ints | None = None
    route_nodes: Ints32 | None = None
    timetable: Floats | None = None
    channels: Ints32 | None = None
    route_links: Ints32 | None = None
    stopped_early: bool = False
    note: str = ""
    plane: Ints32 | None = None

    def __post_init__(self) -> None:
        self._freeze()

    @staticmethod
    def of(phase: ArrayLike, order: Ints32 | None = None, planes: int = 1) -> Phases:
        """Phases from the phase of each message.

        Empty phases vanish, messages stay in index order within a phase.

        Args:
            phase: shape=(messages), whole numbers from 0.
            order: shape=(messages), int32: another order within phases, as ranks (lower is posted
                first).
            planes: `phase` are slots, so many of them a phase (`Problem.planes`).
        """
        phase = np.ascontiguousarray(frozen_ints(phase, np.int32, "phase"))
        if planes > 1:
            found = Phases.of(phase // planes, order)
            return replace(found, plane=(phase % planes)[found.message])
        if order is None:
            grouped = _core.group_phases(phase)
            return Phases(grouped.offsets, grouped.message)
        count = np.bincount(phase)
        offsets = np.concatenate([[0], np.cumsum(count[count > 0])]).astype(np.int64)
        return Phases(offsets, np.lexsort((order, phase)).astype(np.int32))


ANY = Limits(send=1, receive=1, link=1)
"""What "any limits" means unless options change it."""
PORTS = Limits(send=1, receive=1)


@dataclass(frozen=True)
class Method:
    """One row: an algorithm and its domain as data.

    Attributes:
        name: as on the command line.
        run: a problem inside the domain in, phases out.
        title: what it is, in a few words.
        limits: its own limits on a network; changed by options only within `adjustable_limits`.
        adjustable_limits: the limits it can keep at any value.
        ordered: whether it keeps a partial order between messages.
        domain: what it requires, as text.
        guarantee: what it promises, as text.
        complexity: time, then memory.
        reference: where it comes from.
        free_routes: whether it can choose routes (`--routes free`); else it keeps the machine's.
        orders_links: whether order on links is what it is for: it is none of a machine that does
            not know its routes. A method that keeps "any limits" keeps those of ports there.
        refuses: why a problem is outside of the domain, in one line, where other attributes do not
            say it; None where it is inside.
        by_rank: whether it works on ranks: one on a node, and one message from one to another.
        chooses_planes: whether it looks for slots of `Problem.planes`.
        searches: whether it may take long for many messages: a comparison leaves it out above
            2¹⁷ of them, unless it is named.
        circuits: whether it is about circuit switches, which other machines do not have.
        sync: the policy that it keeps unless options name one; "": the fastest.
    """

    name: str
    run: Callable[[Problem], Phases]
    title: str
    limits: Callable[[Topology], Limits]
    adjustable_limits: frozenset[str]
    ordered: bool
    domain: str
    guarantee: str
    complexity: str
    reference: str
    free_routes: bool = False
    orders_links: bool = False
    refuses: Callable[[Problem], str | None] | None = None
    by_rank: bool = False
    chooses_planes: bool = False
    searches: bool = False
    circuits: bool = False
    sync: str = ""

    def applies(self, problem: Problem) -> str | None:
        """Why a problem is outside of the domain, in one line; None where it is inside."""
        found = None if self.ordered else refuse_order(problem, self.name)
        if self.circuits or problem.machine.is_circuit:
            found = found or self._refuse_circuits(problem)
        if self.by_rank:
            found = found or refuse_shared_nodes(problem, self.name)
        if self.refuses is not None:
            found = found or self.refuses(problem)
        if len(self.adjustable_limits) < len(vars(problem.limits)):
            own = vars(self.limits(problem.machine.topology)).items()
            kept = [word for word, value in own if value not in (None, "full")]
            found = found or refuse_limits(problem, self.name, *self.adjustable_limits, *kept)
        return found or (refuse_repeated_pairs(problem, self.name) if self.by_rank else None)

    def _refuse_circuits(self, problem: Problem) -> str | None:
        """Circuits are of circuit switches, which connect a port to one other at a time."""
        name, limits = problem.machine.name, problem.limits
        if not problem.machine.is_circuit:
            spec = "crossbar:64,planes=4,reconfigure=10ms"
            return f"method {self.name} requires circuit switches, as {spec}, given {name}"
        if (limits.send, limits.receive) == (1, 1):
            return None if self.circuits else refuse_order(problem, self.name)
        return (
            f"method {self.name} requires send=1,receive=1 on {name}, whose circuit switches "
            f"connect a port to one other at a time, given {limits}"
        )

    def schedule(self, problem: Problem) -> Phases:
        """The phases of a problem.

        Raises:
            InputError: the problem is outside of the domain; says why.
        """
        if (refusal := self.applies(problem)) is not None:
            raise InputError(refusal)
        return self.run(problem)

    def limits_for(self, topology: Topology, user_limits: Limits | None) -> Limits:
        """The limits of a compile: the row's own, or what options asked for.

        Raises:
            InputError: a limit was asked that this method cannot keep.
        """
        own = self.limits(topology)
        if user_limits is None:
            return own
        for name, value in vars(user_limits).items():
            kept = getattr(own, name)
            if value == kept or value in (None, "full") or name in self.adjustable_limits:
                continue
            if name == "link" and topology.link_slots == 0:
                continue  # a crossbar keeps any
            raise InputError(
                f"method {self.name} keeps {name} {kept or 'unlimited'}: {name}={value} was "
                "asked; first-fit keeps any"
            )
        return user_limits


def refuse_unknown_routes(machine: Machine, method: str) -> str:
    """`method` is for order on links, which cannot be kept on `machine`; in one line."""
    return (
        f"method {method} orders messages on links: {machine.name} has routing "
        f"{machine.routing.rule}, by which only "
        "ports can be ordered: take a method of ports (coloring, rs-n, first-fit), limit send and "
        "receive alone "
        "(limits link=none), or state routes that are known (routing=dmodk, minimal, "
        "shortest-path or a table)"
    )


def refuse_order(problem: Problem, method: str) -> str | None:
    """`method` cannot make a message wait for another."""
    before = problem.pattern.before
    if before is None:
        return None
    return (
        f"method {method} requires a pattern without an order, given {len(before)} ordered "
        "pairs of messages"
    )


def refuse_shared_nodes(problem: Problem, method: str) -> str | None:
    """`method` works on ranks and keeps port limits only where each has a node of its own."""
    if problem.placement is None:
        return None
    nodes, count = np.unique(problem.placement, return_counts=True)
    if nodes.size == problem.placement.size:
        return None
    crowded = int(np.argmax(count))
    return (
        f"method {method} requires one rank per node, given {count[crowded]} ranks on node "
        f"{nodes[crowded]}"
    )


def refuse_repeated_pairs(problem: Problem, method: str) -> str | None:
    """`method` knows a message by its pair, and would send two of one in the same phase."""
    twice = problem.pattern.repeated_pair()
    return twice and (
        f"method {method} requires one message from a rank to another one, given two from "
        f"{twice[0]} to {twice[1]}"
    )


def refuse_limits(problem: Problem, method: str, *kept: str) -> str | None:
    """`method` keeps the limits `kept` only."""
    for name, value in problem.limits.to_object().items():
        exists = name != "link" or problem.machine.topology.link_slots > 0  # a crossbar has none
        if exists and name not in kept and value not in (None, "full"):
            needed = "duplex full" if name == "duplex" else f"{name} without a limit"
            return f"method {method} requires {needed}, given {name}={value}"
    return None


def require(refusal: str | None) -> None:
    """Raises `InputError` where there is a reason why a method does not apply."""
    if refusal is not None:
        raise InputError(refusal)
