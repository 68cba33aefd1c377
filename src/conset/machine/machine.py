"""Machine: a network, its routing, its hard limits and its costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from conset.arrays import ValueObject, check_offsets, check_range
from conset.errors import InputError
from conset.machine.costs import Costs
from conset.machine.limits import Limits
from conset.network.routing import RULES, Routing
from conset.network.topology import Topology


@dataclass(frozen=True, eq=False)
class ModeCosts(ValueObject):
    """What a machine costs in one of its transfer modes.

    Attributes:
        costs: of all methods but those named.
        method_costs: of methods that run another way.
    """

    costs: Costs
    method_costs: Mapping[str, Costs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "method_costs", MappingProxyType(dict(self.method_costs)))

    def changed(self, change: Callable[[Costs], Costs]) -> ModeCosts:
        """With `change` made to every one of the costs."""
        return ModeCosts(change(self.costs), {name: change(own) for name, own in self.method_costs.items()})


@dataclass(frozen=True, eq=False)
class Machine(ValueObject):
    """Everything a schedule must respect and a prediction must know.

    Attributes:
        name: the spec it was made from (`paragon:8x8`, `torus:8x8,tie=plus`) or the name in its file.
        topology: the network.
        routing: its rule for paths.
        costs: what things take.
        limits: hard limits of the machine.
        limits_methods: methods the hard limits hold for; () for all of them.
        document: the whole machine file as an object where there is one, with the links of a graph in it; else None.
        notes: remarks for people, such as what a preset's source leaves open.
        method_costs: costs of methods that run another way on this machine (iWarp: `naive` is message passing, where
            scheduled phases open connections).
        mode: the transfer mode in use, "" for none; its costs are in `costs`.
        modes: the transfer modes it has, each with what it costs then.
        origin: `name` or `document` as long as the machine is what that alone says; a changed copy has neither.
    """

    name: str = field(compare=False)
    topology: Topology
    routing: Routing
    costs: Costs = field(default_factory=Costs)
    limits: Limits = field(default_factory=Limits)
    limits_methods: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = field(default=None, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    method_costs: Mapping[str, Costs] = field(default_factory=dict)
    mode: str = ""
    modes: Mapping[str, ModeCosts] = field(default_factory=dict)
    origin: Literal["", "name", "document"] = field(init=False, default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.routing.rule not in RULES[self.topology.kind]:
            known = " or ".join(RULES[self.topology.kind])
            raise InputError(f"routing '{self.routing.rule}' on a {self.topology.kind}: must be {known}")
        self._check_table()
        for name in ("method_costs", "modes"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def _check_table(self) -> None:
        """A stored table has a route for every pair of endpoints, over links that there are."""
        offsets, links = self.routing.table_offsets, self.routing.table_links
        if offsets is None or links is None:
            return
        pairs = self.topology.endpoints**2
        check_offsets("table_offsets", offsets, pairs, links.size, "links of routes")
        check_range("table_links", links, self.topology.link_slots)

    def hard_limits(self, method: str) -> Limits:
        """The limits of this machine that `method` must keep."""
        return self.limits if not self.limits_methods or method in self.limits_methods else Limits()

    def costs_for(self, method: str) -> Costs:
        """The costs of running what `method` found."""
        return self.method_costs.get(method, self.costs)

    def with_costs(self, change: Callable[[Costs], Costs]) -> Machine:
        """A copy with `change` made to all costs: those in use, of single methods, and of every transfer mode."""
        own = ModeCosts(self.costs, self.method_costs).changed(change)
        modes = {name: mode.changed(change) for name, mode in self.modes.items()}
        return replace(self, costs=own.costs, method_costs=own.method_costs, modes=modes)

    def to_spec(self) -> str | dict[str, Any]:
        """What a schedule file says of the machine: its spec where that alone builds it again, else all of it.

        `machine_of_record` gives the same machine back, number by number, and opens no file.
        """
        from conset.machine.record import record_of

        return record_of(self)

    def __repr__(self) -> str:
        return f"Machine({self.name!r}, {self.topology!r})"
