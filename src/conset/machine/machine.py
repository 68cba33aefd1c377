"""Machine: a network, its routing, its hard limits and its costs, mode by mode.

Modes are named ways to move data between memory and network, each with set-up, rate and overlap of
its own. A machine file lists them as tables of the words for costs (`[modes.spooling]`) and names
the one in use (`mode = "streaming"`). How much of a computation a mode hides is one rule for
formulas and simulations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import ValueObject, check_offsets, check_range
from conset.base.errors import InputError, UsageError, unknown_name
from conset.machine.costs import Costs
from conset.machine.limits import Limits
from conset.machine.network.planes import require_planes
from conset.machine.network.routing import RULES, Routing, unused_paths
from conset.machine.network.topology import Topology
from conset.machine.record import record_of


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
        return ModeCosts(
            change(self.costs), {name: change(own) for name, own in self.method_costs.items()}
        )


@dataclass(frozen=True, eq=False)
class Machine(ValueObject):
    """Everything a schedule must respect and a prediction must know.

    Attributes:
        name: the spec it was made from (`paragon:8x8`, `torus:8x8,tie=plus`) or the name in its
            file.
        topology: the network.
        routing: its rule for paths.
        costs: what things take.
        limits: hard limits of the machine.
        limits_methods: methods the hard limits hold for; () for all of them.
        notes: remarks for people, such as what a preset's source leaves open.
        method_costs: costs of methods that run another way on this machine (iWarp: `naive` is
            message passing, where scheduled phases open connections).
        mode: the transfer mode in use, "" for none; its costs are in `costs`.
        modes: the transfer modes it has, each with what it costs then.
    """

    name: str = field(compare=False)
    topology: Topology
    routing: Routing
    costs: Costs = field(default_factory=Costs)
    limits: Limits = field(default_factory=Limits)
    limits_methods: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    method_costs: Mapping[str, Costs] = field(default_factory=dict)
    mode: str = ""
    modes: Mapping[str, ModeCosts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.routing.rule not in RULES[self.topology.kind]:
            known = " or ".join(RULES[self.topology.kind])
            raise InputError(
                f"routing '{self.routing.rule}' on a {self.topology.kind}: must be {known}"
            )
        if self.routing.rule == "dmodk" and self.topology.level is None:
            raise InputError(
                "routing 'dmodk': needs levels of nodes, as trees in words have; here minimal does"
            )
        if self.routing.rule == "planes":
            require_planes(self.topology)
        self._check_table()
        if refusal := self.why_not_kept(self.limits):
            raise InputError(refusal)
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

    @property
    def routes_unknown(self) -> str:
        """What is not known of its routes, in one sentence; "" where all is."""
        rule = self.routing.rule
        if self.routing.knowledge == "hashed":
            return (
                f"drawn by a hash ({rule}), which nobody knows: order cannot be scheduled on "
                "links, only at "
                "ports; loads of links are expectations over the hash"
            )
        if self.routing.knowledge == "adaptive":
            return (
                "chosen by switches as messages come (adaptive): order cannot be scheduled on "
                "links, only at "
                "ports; loads of links are parts of messages, spread evenly"
            )
        return ""

    def why_not_kept(self, limits: Limits) -> str | None:
        """Why limits of links or channels cannot be kept here, in one line.

        None where they can, or are none.

        Where a hash or adaptive switches choose routes, nobody knows what meets on a link: order is
        kept at ports.
        """
        named = next(
            (name for name in ("link", "channels") if getattr(limits, name) is not None), None
        )
        if self.routing.is_known or named is None or self.topology.link_slots == 0:
            return None
        return (
            f"limit {named}={getattr(limits, named)} on {self.name}: its routing is "
            f"{self.routing.rule}, so order "
            "on links cannot be kept, only at ports: limit send and receive alone, or state "
            "routes that are known "
            "(routing=dmodk, minimal, shortest-path or a table)"
        )

    def costs_for(self, method: str) -> Costs:
        """The costs of running what `method` found."""
        return self.method_costs.get(method, self.costs)

    def switches_contexts(self, method: str) -> bool:
        """Whether phases of `method` are sets of connections that all nodes open at once.

        Under barriers only.

        So it is where the machine limits channels and a phase is set up; what posts everything
        (`naive`) passes messages and opens none.
        """
        return (
            method != "naive"
            and self.limits.channels is not None
            and self.costs_for(method).setup_s > 0
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The models of simulation that its methods follow, that of most methods first."""
        own = (self.costs, *self.method_costs.values())
        return tuple(dict.fromkeys(costs.model for costs in own))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of this machine, a line each.

        Shortest paths that leave others unused.
        """
        unused = unused_paths(self.topology, self.routing)
        return () if unused is None else (f"{self.name}: {unused.sentence(self.topology)}",)

    def with_costs(self, change: Callable[[Costs], Costs]) -> Machine:
        """A copy with `change` made to all costs.

        Those in use, of single methods, and of every transfer mode.
        """
        own = ModeCosts(self.costs, self.method_costs).changed(change)
        modes = {name: mode.changed(change) for name, mode in self.modes.items()}
        return replace(self, costs=own.costs, method_costs=own.method_costs, modes=modes)

    def to_spec(self) -> dict[str, Any]:
        """The whole machine as an object, in the form of a machine file.

        `conset.load_machine` gives the same machine back, number by number, and opens no file.
        """
        return record_of(self)

    def __repr__(self) -> str:
        return f"Machine({self.name!r}, {self.topology!r})"


def with_mode(machine: Machine, mode: str) -> Machine:
    """The same machine in another transfer mode.

    Options of its spec and settings hold on top of the mode.

    Raises:
        UsageError: a mode it does not have.
    """
    require_mode(mode, tuple(machine.modes), machine.name)
    own = machine.modes[mode]
    return replace(machine, mode=mode, costs=own.costs, method_costs=own.method_costs)


def require_mode(mode: str, modes: tuple[str, ...], name: str) -> None:
    """Raises UsageError where a machine does not have a transfer mode."""
    if not modes:
        raise UsageError(f"mode={mode}: {name} has no transfer modes")
    if mode not in modes:
        raise unknown_name("mode", mode, modes)


def with_computation(
    costs: Costs, end_s: NDArray[np.float64] | float, flowing_s: NDArray[np.float64] | float
) -> dict[str, float]:
    """What a computation at every node adds to a schedule; nothing where the costs name none.

    A node that is done after `end_s` has had bytes flow for `flowing_s`; of that the share
    `overlap` went on beside its computation, the rest of which comes on top.

    Args:
        costs: whose `computation_s` and `overlap` hold.
        end_s: shape=(nodes), or of the busiest one: when it is done [s].
        flowing_s: the same shape: how long bytes flowed at its busier port [s].

    Returns:
        `computation_s`, `hidden_s` (how much of it costs nothing) and `with_computation_s` (when
        all nodes are done).
    """
    if not costs.computation_s:
        return {}
    end, flowing = np.atleast_1d(end_s), np.atleast_1d(flowing_s)
    both_s = float((end + np.maximum(0.0, costs.computation_s - costs.overlap * flowing)).max())
    return {
        "computation_s": costs.computation_s,
        "hidden_s": float(end.max()) + costs.computation_s - both_s,
        "with_computation_s": both_s,
    }
