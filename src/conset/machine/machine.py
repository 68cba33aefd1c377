"""Machine: a network, its routing, its hard limits and its costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conset.errors import InputError
from conset.machine.costs import Costs
from conset.machine.limits import Limits
from conset.network.routing import RULES, Routing
from conset.network.topology import Topology


@dataclass(frozen=True, eq=False)
class Machine:
    """Everything a schedule must respect and a prediction must know.

    Attributes:
        name: the spec it was made from (`paragon:8x8`, `torus:8x8,tie=plus`) or the name in its file.
        topology: the network.
        routing: its rule for paths.
        costs: what things take.
        limits: hard limits of the machine.
        limits_methods: methods the hard limits hold for; () for all of them.
        document: the whole machine file as an object where there is one: a schedule file carries it; else None and
            the `name` is enough to build the machine again.
        notes: remarks for people, such as what a preset's source leaves open.
        method_costs: costs of methods that run another way on this machine (iWarp: `naive` is message passing, where
            scheduled phases open connections).
        mode: the transfer mode in use, "" for none; its costs are in `costs`.
        modes: the transfer modes it has.
    """

    name: str
    topology: Topology
    routing: Routing
    costs: Costs = field(default_factory=Costs)
    limits: Limits = field(default_factory=Limits)
    limits_methods: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    method_costs: Mapping[str, Costs] = field(default_factory=dict)
    mode: str = ""
    modes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.routing.rule not in RULES[self.topology.kind]:
            known = " or ".join(RULES[self.topology.kind])
            raise InputError(f"routing '{self.routing.rule}' on a {self.topology.kind}: must be {known}")

    def hard_limits(self, method: str) -> Limits:
        """The limits of this machine that `method` must keep."""
        return self.limits if not self.limits_methods or method in self.limits_methods else Limits()

    def costs_for(self, method: str) -> Costs:
        """The costs of running what `method` found."""
        return self.method_costs.get(method, self.costs)

    def to_spec(self) -> str | dict[str, Any]:
        """What a schedule file says of the machine: its spec, or its whole object where it came from a file."""
        return self.name if self.document is None else dict(self.document)

    def __repr__(self) -> str:
        return f"Machine({self.name!r}, {self.topology!r})"

    def _repr_html_(self) -> str:
        from conset.report.notebook import machine_html

        return machine_html(self)
