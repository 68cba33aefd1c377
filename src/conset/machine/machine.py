"""Machine: a network, its routing, its hard limits and its costs, mode by mode.

Modes are named ways to move data between memory and network, each with set-up, rate and overlap of
its own. A machine file lists them as tables of cost parameters (`[modes.spooling]`) and names
the one in use (`mode = "streaming"`). How much of a computation a mode hides is one rule for
formulas and simulations.

A machine's record: the object that schedule, timeline and program files have of a machine.

A file must give back the machine that it was written from, number by number, whatever happened to
that machine before (options, `--set`, transfer modes, `dataclasses.replace`), and must need no
other file for it. So a record is all of it: an object in the form of a machine file with
`exact = true`, in which every cost has its tag and source (a tag of null: none), and whose numbers
are written so that they are read as the same floating-point numbers. Its name is for people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from conset.base import (
    MAX_TIME_S,
    ConsetError,
    Floats,
    InputError,
    Integers,
    Ints32,
    UsageError,
    ValueObject,
    check_offsets,
    check_range,
    unknown_name,
)
from conset.machine.costs import GUESSED, Costs, Limits, Steps, Synchronization
from conset.machine.network.families import FAMILIES, build_family
from conset.machine.network.routing import (
    HASHED,
    RULES,
    TYING,
    Routing,
    route_table,
    stray_entry,
    unused_paths,
)
from conset.machine.network.topology import Topology
from conset.machine.words import NEVER, PARAMETERS, Word


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
        job: the endpoint of each rank of the job that it was read for; () where rank r is on
            endpoint r.
        cautions: what is odd about the files that it was read from, a line each.
        is_circuit: whether it is made of circuit switches (`conset.machine.circuits`).
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
    job: tuple[int, ...] = field(default=(), compare=False)
    cautions: tuple[str, ...] = field(default=(), compare=False)
    is_circuit: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_circuit", self.costs.reconfigure_s is not None)
        if self.routing.rule not in RULES[self.topology.kind]:
            known = " or ".join(RULES[self.topology.kind])
            raise InputError(
                f"routing '{self.routing.rule}' on a {self.topology.kind}: must be {known}"
            )
        if self.routing.rule == "dmodk" and self.topology.level is None:
            raise InputError(
                "routing 'dmodk': requires levels of nodes, as in a tree; minimal works here"
            )
        if self.routing.rule == "planes" and self.topology.base is self.topology:
            raise InputError("routing 'planes': needs a network of planes, as mesh:8x8,planes=2 is")
        if self.is_circuit and self.topology.kind != "crossbar":
            self._check_circuit()
        self._check_table()
        if refusal := self.why_not_kept(self.limits):
            raise InputError(refusal)
        for name in ("method_costs", "modes"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def _check_circuit(self) -> None:
        """Circuit switches join endpoints, with nothing between them."""
        topology = self.topology
        inner = np.maximum(topology.link_source, topology.link_target) == topology.endpoints
        if topology.nodes != topology.endpoints + 1 or not inner.all():
            raise InputError(
                "reconfigure: circuit switches are crossbars, as crossbar:64,planes=4; given "
                f"{topology.family or topology.kind}"
            )

    def _check_table(self) -> None:
        """A stored table has a route for every pair of endpoints, over links that there are.

        So have stored next links.
        """
        if self.routing.next_link is not None:
            self._check_forwarding(self.routing.next_link)
        offsets, links = self.routing.table_offsets, self.routing.table_links
        if offsets is None or links is None:
            return
        pairs = self.topology.endpoints**2
        check_offsets("table_offsets", offsets, pairs, links.size, "links of routes")
        check_range("table_links", links, self.topology.link_slots)

    def _check_forwarding(self, next_link: Ints32) -> None:
        topology = self.topology
        switches = topology.nodes - topology.endpoints
        if next_link.shape != (switches * topology.endpoints,):
            raise InputError(
                f"next_link has shape {next_link.shape}: one entry for each of {switches} switches "
                f"and {topology.endpoints} endpoints required"
            )
        if (stray := stray_entry(topology, next_link)) is not None:
            switch, target = (topology.node_name(node) for node in (stray.switch, stray.target))
            raise InputError(f"next_link {stray.link} of {switch} towards {target}: {stray.reason}")

    def ranks(self, per_node: int = 1) -> int:
        """Ranks where a pattern does not say: of its job, else `per_node` on each endpoint."""
        return len(self.job) or self.topology.endpoints * per_node

    def host_names(self, nodes: Integers) -> list[str]:
        """Names of the hosts of nodes: their labels, else their numbers."""
        names = self.topology.host_names
        return [names[node] for node in nodes.tolist()]

    def hard_limits(self, method: str) -> Limits:
        """The limits of this machine that `method` must keep."""
        return self.limits if not self.limits_methods or method in self.limits_methods else Limits()

    @property
    def routes_unknown(self) -> str:
        """What is not known of its routes, in one sentence; "" where all is."""
        rule = self.routing.rule
        if self.routing.knowledge == "hashed":
            return (
                f"drawn by a hash ({rule}), unknown in advance: order cannot be scheduled on "
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

        Where a hash or adaptive switches choose routes, it is unknown what meets on a link: order
        is kept at ports.
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

    def states(self, word: str) -> bool:
        """Whether a cost was given, measured or has a source; else it is a default or a guess."""
        origin = self.costs.provenance.get(word)
        return origin is not None and origin.tag not in GUESSED

    @property
    def models(self) -> tuple[str, ...]:
        """The models of simulation that its methods follow, that of most methods first."""
        own = (self.costs, *self.method_costs.values())
        return tuple(dict.fromkeys(costs.model for costs in own))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of this machine, a line each.

        What is odd about its files; shortest paths that leave others unused.
        """
        unused = unused_paths(self.topology, self.routing)
        if unused is None:
            return self.cautions
        return (*self.cautions, f"{self.name}: {unused.sentence(self.topology)}")

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
    costs: Costs, end_s: Floats | float, flowing_s: Floats | float
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


_SHARES = ("share of a byte", "exponent", "share of a transfer")
"""Units of numbers that need not be whole."""


def record_of(machine: Machine) -> dict[str, Any]:
    """All of a machine; see the module."""
    base = _rows(machine.costs)
    modes = {mode: _rows(own.costs) for mode, own in machine.modes.items()}
    return {
        "name": machine.name,
        "exact": True,
        "network": _network_of(machine.topology, machine.routing, machine.costs.link_Bps),
        "costs": base,
        "limits": {**machine.limits.to_object(), "methods": list(machine.limits_methods)},
        "methods": _methods_of(base, machine.method_costs),
        "mode": machine.mode or None,
        "modes": {mode: _difference(base, rows) for mode, rows in modes.items()},
        "mode_methods": {
            mode: _methods_of(modes[mode], own.method_costs) for mode, own in machine.modes.items()
        },
        "notes": list(machine.notes),
    }


def _methods_of(base: Mapping[str, Any], costs: Mapping[str, Costs]) -> dict[str, Any]:
    return {method: _difference(base, _rows(own)) for method, own in costs.items()}


def _difference(base: Mapping[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    gone = {  # back to what records leave out
        word: {"value": _exact(PARAMETERS[word].absent, PARAMETERS[word]), "tag": None}
        for word in base
        if word not in rows and PARAMETERS[word].absent is not NEVER
    }
    return {word: row for word, row in (gone | dict(rows)).items() if base.get(word) != row}


def _rows(costs: Costs) -> dict[str, Any]:
    """Every field of the costs once: word → value, tag and source."""
    sources = dict(costs.provenance)
    rows: dict[str, Any] = {}
    for word, entry in PARAMETERS.items():
        wide = next((name for name, other in PARAMETERS.items() if word in other.covers), "")
        if wide in rows or (entry.covers and not _holds_for_both(costs, word, entry)):
            continue
        value = getattr(costs, entry.fields[0])
        if value == entry.absent and word not in sources:
            continue
        if word == "overhead":
            value = Steps(tuple(2 * time for time in value.seconds), value.up_to_B)
        origin = sources.get(word, sources.get(wide))
        tagged = (
            {"tag": None}
            if origin is None
            else {key: own for key, own in vars(origin).items() if (key, own) != ("within", 1.0)}
        )
        rows[word] = {"value": _exact(value, entry), **tagged}
    return rows


def _holds_for_both(costs: Costs, word: str, entry: Word) -> bool:
    """Whether a wide word gives what its narrower ones do."""
    sources = costs.provenance
    if word not in sources or set(entry.covers) & set(sources):
        return False
    first, second = (getattr(costs, field) for field in entry.fields)
    if first != second:
        return False
    return word != "overhead" or 2 * max(first.seconds) <= MAX_TIME_S


def _exact(value: Any, entry: Word) -> Any:
    """A value so written that it is read as the same number."""
    if isinstance(value, Steps):
        rows = [
            {
                "value": _in_unit(time, "s"),
                **({} if limit == inf else {"up_to": _in_unit(limit, "B")}),
            }
            for time, limit in zip(value.seconds, value.up_to_B, strict=True)
        ]
        return rows if len(rows) > 1 else rows[0]["value"]
    if isinstance(value, Synchronization):
        return {"base": _in_unit(value.base_s, "s"), "per_log2": _in_unit(value.per_log2_s, "s")}
    if entry.fields == ("size_range_B",):
        return ["none" if size == inf else _in_unit(size, "B") for size in value]
    if isinstance(value, bool | str):
        return value
    if isinstance(value, tuple):
        return list(value)
    if value is None or value == inf:
        return "all" if value == inf and entry.fields == ("eager_B",) else "none"
    if entry.si:
        return _in_unit(value, entry.si)
    return float(value) if entry.unit in _SHARES else int(value)


def _in_unit(number: float, unit: str) -> str:
    whole = float(number).is_integer()
    return f"{int(number) if whole else float(number)!r} {unit}"


def _network_of(topology: Topology, routing: Routing, link_Bps: float) -> dict[str, Any]:  # noqa: N803
    """The `[network]` table that builds these again."""
    rule: dict[str, Any] = {"routing": routing.rule}
    if routing.rule in TYING:
        rule["tie"] = routing.tie
    if routing.rule in HASHED:
        rule["hash"] = routing.seed
    if routing.rule == "table":
        routes = _routes_of(topology, routing)
        return {**_graph_of(topology), "route_links" if topology.parallel else "routes": routes}
    if routing.next_link is not None:
        rows = routing.next_link.reshape(-1, topology.endpoints).tolist()
        return {**_graph_of(topology), **rule, "next_links": rows}
    if _is_of_family(topology, link_Bps):
        return {"family": str(topology.family), **rule}
    return {**_graph_of(topology), **rule}


def _is_of_family(topology: Topology, link_Bps: float) -> bool:  # noqa: N803
    """Whether a family of this package builds this very network beside this `link`."""
    member = topology.family
    if member is None or member.name not in FAMILIES:
        return False
    try:
        return topology == build_family(member, link_Bps=link_Bps)
    except ConsetError:
        return False


@lru_cache(maxsize=4)
def _graph_of(topology: Topology) -> dict[str, Any]:
    """Of a graph; every link of one direction. Kept, as the copies of a machine share it."""
    ends = zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
    table: dict[str, Any] = {
        "kind": "graph",
        "nodes": topology.nodes,
        "endpoints": topology.endpoints,
        "both_ways": False,
        "links": [list(pair) for pair in ends],
    }
    if topology.link_rate_Bps is not None:
        table["rates"] = [_in_unit(rate, "B/s") for rate in topology.link_rate_Bps.tolist()]
    for word, names in (("labels", topology.labels), ("link_labels", topology.link_labels)):
        if names:
            table[word] = list(names)
    for word, numbers in (
        ("widths", topology.link_width),
        ("level", topology.level),
        ("group", topology.group),
        ("place", topology.place),
    ):
        if numbers is not None:
            table[word] = numbers.tolist()
    return table


def _routes_of(topology: Topology, routing: Routing) -> list[list[int]]:
    """Paths of all pairs whose stored route is not the shortest path taken without one.

    As node ids; as links where some are parallel.
    """
    routes = []
    for pair, (own, usual) in enumerate(
        zip(routing.stored(), route_table(topology, ()).stored(), strict=True)
    ):
        if own.size and own.tolist() != usual.tolist():
            start, stops = pair // topology.endpoints, topology.link_target[own].tolist()
            routes.append(own.tolist() if topology.parallel else [start, *stops])
    return routes
