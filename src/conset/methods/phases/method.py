"""Method: one row of the table of methods, an algorithm and its domain as data.

And what a domain may refuse.

`applies_<method>` of a method's file joins the refusals that concern it, each one line that says
what was required and what was given, or None; `require` turns the line into an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conset.base.errors import InputError
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.methods.phases.problem import Phases, Problem
from conset.pattern.pattern import Pattern

ANY = Limits(send=1, receive=1, link=1)
"""What "any limits" means unless options change it."""
PORTS = Limits(send=1, receive=1)


def always(pattern: Pattern, machine: Machine) -> bool:
    """Of a method that may gain something whatever is sent."""
    return True


@dataclass(frozen=True)
class AutoTrial:
    """When and how far `auto` tries a method.

    Attributes:
        rank: the order in which methods are tried, cheap ones first.
        messages: most messages of a pattern it is tried on, per unit of effort; None: any number.
        sweep_link_limit: whether its phases grow fewer up to a quarter of the longest side of a
            box, and no further.
        when: what the pattern or machine must have for a gain over the others.
        searched: most messages of a pattern for which the first unit of effort searches beyond a
            construction; None: any number.
    """

    rank: int
    messages: int | None = None
    sweep_link_limit: bool = False
    when: Callable[[Pattern, Machine], bool] = always
    searched: int | None = None

    def effort(self, pattern: Pattern, effort: int) -> int:
        """Sweeps that the method may make."""
        return effort if self.searched is None or pattern.messages <= self.searched else effort - 1


@dataclass(frozen=True)
class Method:
    """One row: an algorithm and its domain as data.

    Attributes:
        name: as on the command line.
        schedule: nouns in, phases out; raises `InputError` with what `applies` says.
        applies: why a problem is outside of the domain, in one line; None where it is inside.
        title: what it is, in a few words.
        limits: its own limits on a network; changed by options only within `adjustable_limits`.
        adjustable_limits: the limits it can keep at any value.
        ordered: whether it keeps a partial order between messages.
        domain: what it requires, in words.
        guarantee: what it promises, in words.
        complexity: time, then memory.
        reference: where it comes from.
        free_routes: whether it can choose routes (`--routes free`); else it keeps the machine's.
        orders_links: whether order on links is what it is for: it is none of a machine that does
            not know its routes. A method that keeps "any limits" keeps those of ports there.
        on_planes: whether it runs on planes as they are; else on one network with their room.
        searches: whether it may take long for many messages: a comparison leaves it out above
            2¹⁷ of them, unless it is named.
        auto: how `auto` tries it; None: not at all.
    """

    name: str
    schedule: Callable[[Problem], Phases]
    applies: Callable[[Problem], str | None]
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
    on_planes: bool = False
    searches: bool = False
    auto: AutoTrial | None = None

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
    """`method` is for order on links, which nobody can keep on `machine`; in one line."""
    return (
        f"method {method} orders messages on links: {machine.name} has routing "
        f"{machine.routing.rule}, by which only "
        "ports can be ordered: take a method of ports (coloring, rs-n, first-fit), limit send and "
        "receive alone "
        "(limits link=none), or state routes that are known (routing=dmodk, minimal, "
        "shortest-path or a table)"
    )


def applies_anywhere(problem: Problem) -> None:
    """Of a method that takes any problem."""


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
    pattern = problem.pattern
    pair = pattern.source.astype(np.int64) * pattern.ranks + pattern.target
    if (pair[1:] > pair[:-1]).all():  # as nearly always
        return None
    pair.sort()
    twice = np.flatnonzero(pair[1:] == pair[:-1])
    if not twice.size:
        return None
    source, target = divmod(int(pair[twice[0]]), pattern.ranks)
    return (
        f"method {method} requires one message from a rank to another one, given two from "
        f"{source} to {target}"
    )


def refuse_limits(problem: Problem, method: str, *kept: str) -> str | None:
    """`method` keeps the limits `kept` only."""
    for name, value in problem.limits.to_object().items():
        if name == "link" and problem.machine.topology.link_slots == 0:
            continue  # a crossbar has no links to limit
        if name not in kept and value not in (None, "full"):
            return f"method {method} requires {name} without a limit, given {name}={value}"
    return None


def require(refusal: str | None) -> None:
    """Raises `InputError` where there is a reason why a method does not apply."""
    if refusal is not None:
        raise InputError(refusal)
