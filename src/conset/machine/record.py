"""A machine's record.

What schedule, timeline and program files say of a machine, and the machine again.

A file must give back the machine that it was written from, number by number, whatever happened to
that machine before (options, `--set`, transfer modes, `dataclasses.replace`), and must need no
other file for it. So a record is one of

- a spec of a preset, bare network or family, where the spec alone builds an equal machine;
- the object of the machine file that it came from, with the links and routes of its graph in it,
  where nothing was changed since;
- all of it: an object in the form of a machine file with `exact = true`, in which every cost stands
  with its tag and source (a tag of null: none), whose numbers are written so that they are read as
  the same floating-point numbers.

Old files hold specs and objects too; there a plain number of a rate or time is in SI units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from conset.base.errors import ConsetError, InputError, unknown_name
from conset.base.units import MAX_TIME_S
from conset.machine.costs import Costs, Provenance, Steps, Synchronization
from conset.machine.machine import Machine, ModeCosts
from conset.machine.network.families.table import FAMILIES, build_family
from conset.machine.network.planes import base_routing, planes_of
from conset.machine.network.routing import HASHED, Routing
from conset.machine.network.topology import Topology
from conset.machine.words import WORDS, Word, split_options

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def record_of(machine: Machine) -> str | dict[str, Any]:
    """What a file says of a machine; see the module."""
    if machine.origin == "name" or (machine.document is None and _spec_says(machine)):
        return machine.name
    if machine.document is not None and machine.origin == "document":
        return dict(machine.document)
    return _object_of(machine)


def machine_of_record(record: str | Mapping[str, Any]) -> Machine:
    """The machine that a file's record says; opens no file.

    Raises:
        InputError: a text that is no preset or bare network, such as a path, or contents that no
            machine has.
    """
    from conset.machine.file import machine_from_object
    from conset.machine.spec import KINDS, PRESETS, is_spec, machine_from_spec

    try:
        if not isinstance(record, str):
            return machine_from_object(_with_units(record), "machine")
        if is_spec(record):
            return machine_from_spec(_spec_with_units(record))
        name = record.partition(":")[0]
        if name.isidentifier():
            raise unknown_name("machine", name, (*PRESETS, *KINDS, *FAMILIES))
    except ConsetError as error:
        raise InputError(str(error)) from None
    except RecursionError:
        raise InputError("machine: nested too deeply") from None
    raise InputError(
        f"machine '{record}': a file carries the whole object of what is no preset or bare "
        "network, not its name"
    )


def same_machine(one: Machine, other: Machine) -> bool:
    """Whether two machines are equal in all they say, number by number, sources included."""
    return (
        one.name == other.name
        and _same_topology(one.topology, other.topology)
        and _same_routing(one.routing, other.routing, one.topology.kind)
        and (one.limits, one.limits_methods) == (other.limits, other.limits_methods)
        and (one.notes, one.mode, list(one.modes)) == (other.notes, other.mode, list(other.modes))
        and _same_costs(
            ModeCosts(one.costs, one.method_costs), ModeCosts(other.costs, other.method_costs)
        )
        and all(_same_costs(costs, other.modes[mode]) for mode, costs in one.modes.items())
    )


def _same_costs(one: ModeCosts, other: ModeCosts) -> bool:
    return one == other and all(
        dict(a.provenance) == dict(b.provenance)
        for a, b in (
            (one.costs, other.costs),
            *((costs, other.method_costs[name]) for name, costs in one.method_costs.items()),
        )
    )


def _same_topology(one: Topology, other: Topology) -> bool:
    if one is other:
        return True
    plain = [
        (
            t.kind,
            t.sides,
            t.endpoints,
            t.nodes,
            t.labels,
            t.link_rate_Bps is None,
            t.width if t.kind != "graph" else 1,
        )
        for t in (one, other)
    ]
    if plain[0] != plain[1]:
        return False
    if one.kind != "graph":
        return True
    if not _same_standing(one, other):
        return False
    arrays = [(t.link_source, t.link_target, t.widths()) for t in (one, other)]
    same = all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))
    if one.link_rate_Bps is None or other.link_rate_Bps is None:
        return same  # as said above, both have none
    return same and np.array_equal(one.link_rate_Bps, other.link_rate_Bps)


def _same_standing(one: Topology, other: Topology) -> bool:
    """Whether nodes have the same levels, groups and places, which routes and pictures read."""
    pairs = ((one.level, other.level), (one.group, other.group), (one.place, other.place))
    return all(a is b if a is None or b is None else np.array_equal(a, b) for a, b in pairs)


def _same_routing(one: Routing, other: Routing, kind: str) -> bool:
    if (one.rule, one.seed) != (other.rule, other.seed) or (
        kind != "graph" and one.tie != other.tie
    ):
        return False
    tables = ((one.table_offsets, other.table_offsets), (one.table_links, other.table_links))
    return all(a is b if a is None or b is None else np.array_equal(a, b) for a, b in tables)


def _spec_says(machine: Machine) -> bool:
    """Whether the machine's name, as a spec, builds an equal machine."""
    built = _built(machine.name)
    return built is not None and same_machine(built, machine)


@lru_cache(maxsize=8)
def _built(name: str) -> Machine | None:
    from conset.machine.spec import is_spec, machine_from_spec

    try:
        return machine_from_spec(name) if is_spec(name) else None
    except ConsetError:
        return None


def _object_of(machine: Machine) -> dict[str, Any]:
    """All of a machine, in the form of a machine file."""
    base = _rows(machine.costs)
    return {
        "name": machine.name,
        "exact": True,
        "network": _network_of(machine.topology, machine.routing, machine.costs.link_Bps),
        "costs": base,
        "limits": {**machine.limits.to_object(), "methods": list(machine.limits_methods)},
        "methods": _methods_of(base, machine.method_costs),
        "mode": machine.mode or None,
        "modes": {mode: _difference(base, _rows(own.costs)) for mode, own in machine.modes.items()},
        "mode_methods": {
            mode: _methods_of(_rows(own.costs), own.method_costs)
            for mode, own in machine.modes.items()
        },
        "notes": list(machine.notes),
    }


def _methods_of(base: Mapping[str, Any], costs: Mapping[str, Costs]) -> dict[str, Any]:
    return {method: _difference(base, _rows(own)) for method, own in costs.items()}


def _difference(base: Mapping[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    return {word: row for word, row in rows.items() if base.get(word) != row}


def _rows(costs: Costs) -> dict[str, Any]:
    """Every field of the costs once: word → value, tag and source."""
    rows: dict[str, Any] = {}
    covered: set[str] = set()
    for word, entry in WORDS.items():
        if entry.covers and _says_both(costs, word, entry):
            covered |= set(entry.covers)
        elif entry.covers or word in covered:
            continue
        rows[word] = _row(costs, word, entry)
    return rows


def _says_both(costs: Costs, word: str, entry: Word) -> bool:
    """Whether a wide word says what its narrower ones do."""
    values = [getattr(costs, field) for field in entry.fields]
    if (
        word not in costs.provenance
        or set(entry.covers) & set(costs.provenance)
        or values[0] != values[1]
    ):
        return False
    return word != "overhead" or 2 * max(values[0].seconds) <= MAX_TIME_S


def _row(costs: Costs, word: str, entry: Word) -> dict[str, Any]:
    value = getattr(costs, entry.fields[0])
    if word == "overhead":
        value = Steps(tuple(2 * time for time in value.seconds), value.up_to_B)
    wide = next((name for name, other in WORDS.items() if word in other.covers), "")
    origin: Provenance | None = costs.provenance.get(word, costs.provenance.get(wide))
    tagged = {"tag": None} if origin is None else {"tag": origin.tag, "source": origin.source}
    return {"value": _exact(value, entry), **tagged}


def _exact(value: Any, entry: Word) -> Any:
    """A value so written that it is read as the same number."""
    if isinstance(value, Steps):
        return _exact_steps(value)
    if isinstance(value, Synchronization):
        return {"base": _in_unit(value.base_s, "s"), "per_log2": _in_unit(value.per_log2_s, "s")}
    if entry.fields[0] == "size_range_B":
        return ["none" if size == inf else _in_unit(size, "B") for size in value]
    if isinstance(value, bool | str) or entry.unit in (
        "share of a byte",
        "exponent",
        "share of a transfer",
    ):
        return value if isinstance(value, bool | str) else float(value)
    if isinstance(value, tuple):
        return list(value)
    if value is None:
        return "none"
    if value == inf:
        return "all" if entry.fields[0] == "eager_B" else "none"
    return _in_unit(value, entry.si) if entry.si else int(value)


def _exact_steps(steps: Steps) -> Any:
    if len(steps.seconds) == 1:
        return _in_unit(steps.seconds[0], "s")
    return [
        {"value": _in_unit(time, "s")}
        if limit == inf
        else {"up_to": _in_unit(limit, "B"), "value": _in_unit(time, "s")}
        for time, limit in zip(steps.seconds, steps.up_to_B, strict=True)
    ]


def _in_unit(number: float, unit: str) -> str:
    whole = float(number).is_integer()
    return f"{int(number) if whole else float(number)!r} {unit}"


def _network_of(topology: Topology, routing: Routing, link_Bps: float) -> dict[str, Any]:  # noqa: N803
    """The `[network]` table that builds these again."""
    planes = planes_of(topology)
    if planes is not None and routing.rule in ("planes", "shortest-path"):
        own = _network_of(planes.base, base_routing(planes.base, routing.tie), link_Bps)
        return {**own, "planes": planes.count, "routing": routing.rule}
    if topology.kind == "graph":
        if routing.rule != "table" and _words_say(topology, link_Bps):
            return {"family": topology.family, **_rule_of(routing)}
        return _graph_of(topology, routing)
    size: dict[str, Any] = {"sides": list(topology.sides)}
    if topology.kind == "hypercube":
        size = {"dimensions": topology.dimensions}
    elif topology.kind in ("ring", "crossbar"):
        size = {"nodes": topology.nodes}
    return {
        "kind": topology.kind,
        **size,
        "width": topology.width,
        "routing": routing.rule,
        "tie": routing.tie,
    }


def _words_say(topology: Topology, link_Bps: float) -> bool:  # noqa: N803
    """Whether the words of a family alone build this very network beside this `link`."""
    if not topology.family:
        return False
    try:
        return topology == build_family(topology.family, link_Bps=link_Bps)
    except ConsetError:
        return False


@lru_cache(maxsize=4)
def _graph_of(topology: Topology, routing: Routing) -> dict[str, Any]:
    """Of a graph; every link of one direction.

    Kept, as the copies of a machine share network and routing.
    """
    ends = zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
    table: dict[str, Any] = {
        "kind": "graph",
        "nodes": topology.nodes,
        "endpoints": topology.endpoints,
        "both_ways": False,
        "links": [list(pair) for pair in ends],
    }
    if topology.link_width is not None:
        table["widths"] = topology.link_width.tolist()
    if topology.link_rate_Bps is not None:
        table["rates"] = [_in_unit(rate, "B/s") for rate in topology.link_rate_Bps.tolist()]
    if topology.labels:
        table["labels"] = list(topology.labels)
    for word, numbers in (
        ("level", topology.level),
        ("group", topology.group),
        ("place", topology.place),
    ):
        if numbers is not None:
            table[word] = numbers.tolist()
    if routing.rule == "table":
        return {**table, "routes": _routes_of(topology, routing)}
    return {**table, **_rule_of(routing)}


def _rule_of(routing: Routing) -> dict[str, Any]:
    """A rule by its name, with the seed of its hash."""
    return {"routing": routing.rule, **({"hash": routing.seed} if routing.rule in HASHED else {})}


def _routes_of(topology: Topology, routing: Routing) -> list[list[int]]:
    """Paths of all pairs whose stored route is not the shortest path taken without one.

    As node ids.
    """
    from conset.machine.network.route_table import route_table

    usual = route_table(topology, ())
    routes = []
    for pair in range(topology.endpoints**2):
        own, other = _links(routing, pair), _links(usual, pair)
        if own and own != other:
            routes.append([pair // topology.endpoints, *topology.link_target[own].tolist()])
    return routes


def _links(routing: Routing, pair: int) -> list[int]:
    assert routing.table_offsets is not None  # the rule is `table`
    assert routing.table_links is not None
    links: list[int] = routing.table_links[
        routing.table_offsets[pair] : routing.table_offsets[pair + 1]
    ].tolist()
    return links


def _spec_with_units(spec: str) -> str:
    """An old spec, with the unit that a plain number had: `link=16` was 16 B/s."""
    head, comma, rest = spec.partition(",")
    if not comma:
        return spec
    options = (f"{word}={_number_with_unit(word, value)}" for word, value in split_options(rest))
    return ",".join([head, *options])


def _with_units(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """An old object, with the units that plain numbers had."""
    changed = dict(record)
    network = record.get("network")
    if isinstance(network, Mapping) and isinstance(network.get("rates"), list):
        rates = [_number_with_unit("link", rate) for rate in network["rates"]]
        changed["network"] = {**network, "rates": rates}
    if isinstance(record.get("costs"), Mapping):
        changed["costs"] = _costs_with_units(record["costs"])
    for key in ("methods", "modes"):
        if isinstance(record.get(key), Mapping):
            changed[key] = {
                name: _costs_with_units(table) if isinstance(table, Mapping) else table
                for name, table in record[key].items()
            }
    return changed


def _costs_with_units(table: Mapping[str, Any]) -> dict[str, Any]:
    return {word: _number_with_unit(str(word), value) for word, value in table.items()}


def _number_with_unit(word: str, value: Any) -> Any:
    """A value of a rate or time as it is written today, where it is a plain number."""
    unit = WORDS[word].si if word in WORDS else ""
    return _plain_with_unit(value, unit) if unit in ("s", "B/s") else value


def _plain_with_unit(value: Any, unit: str) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _plain_with_unit(part, unit) if key in ("value", "base", "per_log2") else part
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_plain_with_unit(part, unit) for part in value]
    if isinstance(value, bool):
        return value
    return f"{value} {unit}" if _NUMBER.fullmatch(str(value).strip()) else value
