"""Method: one row of the table of methods, an algorithm and its domain as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conset.errors import InputError
from conset.machine.limits import Limits
from conset.methods.problem import Phases, Problem
from conset.network.topology import Topology

ANY = Limits(send=1, receive=1, link=1)
"""What "any limits" means unless options change it."""
PORTS = Limits(send=1, receive=1)


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

    def limits_for(self, topology: Topology, user_limits: Limits | None) -> Limits:
        """The limits of a compile: the row's own, or what options asked for.

        Raises:
            InputError: a limit was asked that this method cannot keep.
        """
        own = self.limits(topology)
        if user_limits is None:
            return own
        for name, value in user_limits.to_object().items():
            kept = getattr(own, name)
            if value == kept or value in (None, "full") or name in self.adjustable_limits:
                continue
            if name == "link" and topology.link_slots == 0:
                continue  # a crossbar keeps any
            raise InputError(
                f"method {self.name} keeps {name} {kept or 'unlimited'}: {name}={value} was asked; first-fit keeps any"
            )
        return user_limits
