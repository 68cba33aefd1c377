"""A machine's record: the object that schedule, timeline and program files have of a machine.

A file must give back the machine that it was written from, number by number, whatever happened to
that machine before (options, `--set`, transfer modes, `dataclasses.replace`), and must need no
other file for it. So a record is all of it: an object in the form of a machine file with
`exact = true`, in which every cost has its tag and source (a tag of null: none), and whose numbers
are written so that they are read as the same floating-point numbers. Its name is for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

from conset.base.errors import ConsetError
from conset.base.units import MAX_TIME_S
from conset.machine.costs import Costs, Steps, Synchronization
from conset.machine.network.families import FAMILIES, build_family
from conset.machine.network.routing import HASHED, TYING, Routing, route_table
from conset.machine.network.topology import Topology
from conset.machine.words import WORDS, Word

if TYPE_CHECKING:
    from conset.machine.machine import Machine

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
    return {word: row for word, row in rows.items() if base.get(word) != row}


def _rows(costs: Costs) -> dict[str, Any]:
    """Every field of the costs once: word → value, tag and source."""
    sources = dict(costs.provenance)
    rows: dict[str, Any] = {}
    for word, entry in WORDS.items():
        wide = next((name for name, other in WORDS.items() if word in other.covers), "")
        if wide in rows or (entry.covers and not _holds_for_both(costs, word, entry)):
            continue
        value = getattr(costs, entry.fields[0])
        if word == "overhead":
            value = Steps(tuple(2 * time for time in value.seconds), value.up_to_B)
        origin = sources.get(word, sources.get(wide))
        tagged = {"tag": None} if origin is None else {"tag": origin.tag, "source": origin.source}
        rows[word] = {"value": _exact(value, entry), **tagged}
    return rows


def _holds_for_both(costs: Costs, word: str, entry: Word) -> bool:
    """Whether a wide word gives what its narrower ones do."""
    first, second = (getattr(costs, field) for field in entry.fields)
    sources = costs.provenance
    if word not in sources or set(entry.covers) & set(sources) or first != second:
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
        return {**_graph_of(topology), "routes": _routes_of(topology, routing)}
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
    if topology.labels:
        table["labels"] = list(topology.labels)
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

    As node ids.
    """
    routes = []
    for pair, (own, usual) in enumerate(
        zip(routing.stored(), route_table(topology, ()).stored(), strict=True)
    ):
        if own.size and own.tolist() != usual.tolist():
            routes.append([pair // topology.endpoints, *topology.link_target[own].tolist()])
    return routes
