"""Parallel links: each has its own load, routes name them, and rules spread over them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base import InputError
from conset.cli.main import run
from conset.inputs import load_machine
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.machine.network.routing import Routing, route_table
from conset.machine.network.topology import Topology
from conset.machine.spec import machine_of_record
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import write_compiled
from conset.schedule.files.documents import read_document, write_document
from conset.schedule.loads import chosen_links, phase_loads
from conset.schedule.schedule import Schedule

HOSTS, CABLES = 6, 3


def two_leaves(cables: int = CABLES) -> Topology:
    """Three hosts on each of two leaf switches, which `cables` cables join."""
    host, leaf = np.arange(HOSTS), HOSTS + np.arange(HOSTS) // 3
    up, down = np.full(cables, HOSTS), np.full(cables, HOSTS + 1)
    source = np.concatenate([host, leaf, up, down])
    target = np.concatenate([leaf, host, down, up])
    ports = [f"{chr(65 + k)}:{p}" for k in range(2) for p in range(cables)]
    labels = [*(f"h{h}" for h in host), *(f"{chr(62 + e)}:h" for e in leaf), *ports]
    level = np.array([0] * HOSTS + [1, 1])
    return Topology.of_links(HOSTS, HOSTS + 2, source, target, level=level, link_labels=labels)


def machine_on(topology: Topology, routing: Routing) -> Machine:
    return replace(load_machine("crossbar:6"), topology=topology, routing=routing)


def links_between(topology: Topology, start: int, stop: int) -> list[int]:
    ends = (topology.link_source == start) & (topology.link_target == stop)
    return np.flatnonzero(ends).tolist()


def test_links_keep_their_order_and_are_named_by_both_ends() -> None:
    topology = two_leaves()
    own = links_between(topology, HOSTS, HOSTS + 1)
    assert len(own) == CABLES
    assert [topology.link_name(link) for link in own] == [
        f"link A:{p} → B:{p}" for p in range(CABLES)
    ]
    plain = replace(topology, link_labels=())
    assert plain.link_name(own[1]) == f"link {HOSTS} → {HOSTS + 1} (2 of 3)"
    assert plain.link_name(0) == f"link 0 → {HOSTS}"


@pytest.mark.parametrize("rule", ["shortest-path", "minimal", "dmodk", "smodk"])
def test_rules_that_number_spread_over_all_cables(rule: str) -> None:
    """Three targets behind a leaf, or three sources before one: a cable each."""
    topology = two_leaves()
    routing = Routing(rule)  # type: ignore[arg-type]
    source, target = (each.ravel().astype(np.int32) for each in np.meshgrid([0, 1, 2], [3, 4, 5]))
    _, links = route_links(topology, routing, source, target)
    own = links_between(topology, HOSTS, HOSTS + 1)
    assert np.bincount(links, minlength=topology.links)[own].tolist() == [3, 3, 3]
    schedule = conset.compile(
        Pattern.from_messages(source, target, np.full(9, 64), HOSTS),
        machine_on(topology, routing),
        method="first-fit",
    )
    assert conset.verify(schedule).ok


@pytest.mark.parametrize("rule", ["ecmp", "adaptive"])
def test_expected_loads_are_those_of_a_link_as_wide(rule: str) -> None:
    """A hash that draws a cable, or switches that spread: as over the wires of one link."""
    apart, together = two_leaves(), two_leaves(1)
    wide = np.ones(together.links, np.int32)
    for pair in ((HOSTS, HOSTS + 1), (HOSTS + 1, HOSTS)):
        wide[links_between(together, *pair)] = CABLES
    loads = [
        phase_loads(
            conset.compile(
                parse_pattern("alltoall", ranks=HOSTS),
                machine_on(topology, Routing(rule)),  # type: ignore[arg-type]
                method="naive",
            )
        ).link
        for topology in (apart, replace(together, link_width=wide))
    ]
    assert np.allclose(*loads)


def test_shortest_paths_take_the_cable_that_the_target_numbers() -> None:
    topology = two_leaves()
    source, target = np.zeros(3, np.int32), np.array([3, 4, 5], np.int32)
    _, links = route_links(topology, Routing("shortest-path"), source, target)
    assert links.reshape(3, 3)[:, 1].tolist() == links_between(topology, HOSTS, HOSTS + 1)
    stored = route_table(topology, [])
    assert np.array_equal(route_links(topology, stored, source, target)[1], links)


def negotiated() -> Schedule:
    """One phase of three messages: each over a cable of its own."""
    pattern = Pattern.from_messages([0, 1, 2], [3, 4, 5], [64] * 3, HOSTS)
    machine = machine_on(two_leaves(), Routing("shortest-path"))
    return conset.compile(pattern, machine, method="negotiated", routes="free")


def test_free_routes_use_every_cable() -> None:
    schedule = negotiated()
    assert schedule.phases == 1
    assert schedule.route_links is not None
    own = links_between(schedule.machine.topology, HOSTS, HOSTS + 1)
    assert sorted(set(chosen_links(schedule)[1].tolist()) & set(own)) == own
    assert conset.verify(schedule).ok


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_file_gives_links_and_is_the_same_again(tmp_path: Path, suffix: str) -> None:
    schedule, path = negotiated(), tmp_path / f"s{suffix}"
    write_compiled(schedule, path)
    assert conset.read(path) == schedule
    assert conset.verify(path).ok
    assert conset.simulate(conset.read(path), model="flow").time_s > 0


def test_nodes_that_do_not_say_the_cable_are_refused(tmp_path: Path) -> None:
    schedule, path = negotiated(), tmp_path / "s.json"
    assert schedule.route_offsets is not None
    write_compiled(schedule, path)
    routes = {"route_offsets": schedule.route_offsets, "route_nodes": schedule.route_nodes}
    write_document(replace(read_document(path), route_links=None, **routes), path)
    found = conset.verify(path)
    assert any(
        each.rule == "route-link" and "parallel links join node 6 to node 7" in each.text
        for each in found.violations
    )
    with pytest.raises(InputError, match="must be lists of links"):
        conset.read(path)


@pytest.mark.parametrize("change", ["another", "strange", "repeated", "gap", "none"])
def test_mutants_are_refused(tmp_path: Path, change: str) -> None:
    """Another cable carries two; a link of another node; one twice; one left out; no link."""
    schedule, path = negotiated(), tmp_path / "s.json"
    offsets, links = chosen_links(schedule)
    own = links_between(schedule.machine.topology, HOSTS, HOSTS + 1)
    if change == "another":
        links = np.where(links == own[0], own[1], links).astype(np.int32)
    elif change == "strange":
        links = np.where(links == own[0], 0, links).astype(np.int32)
    elif change == "none":
        links = np.where(links == own[0], 99, links).astype(np.int32)
    else:
        at = int(offsets[1]) - 2
        links = np.insert(links, at, links[at]) if change == "repeated" else np.delete(links, at)
        offsets = offsets + np.where(np.arange(4) > 0, 1 if change == "repeated" else -1, 0)
    write_compiled(schedule, path)
    sound = read_document(path)
    write_document(replace(sound, route_offsets=offsets, route_links=links), path)
    found = conset.verify(path)
    assert not found.ok
    rules = {each.rule for each in found.violations}
    expected = {
        "another": {"limit-link", "link"},
        "strange": {"route-link"},
        "repeated": {"route-simple"},
        "gap": {"route-link"},
        "none": {"route-node"},
    }
    assert rules & expected[change], found.violations


def test_stored_routes_of_links_and_a_machine_that_is_written() -> None:
    topology = two_leaves()
    own = links_between(topology, HOSTS, HOSTS + 1)
    up, down = links_between(topology, 0, HOSTS), links_between(topology, HOSTS + 1, 3)
    routing = route_table(topology, [[*up, own[2], *down]], of_links=True)
    _, links = route_links(topology, routing, np.array([0]), np.array([3]))
    assert links.tolist() == [*up, own[2], *down]
    machine = machine_on(topology, routing)
    again = machine_of_record(machine.to_spec())
    assert again.topology == topology
    assert again.routing == routing
    with pytest.raises(InputError, match=r"3 parallel links lead from 6 to 7.*route_links"):
        route_table(topology, [[0, HOSTS, HOSTS + 1, 3]])
    with pytest.raises(InputError, match=r"link A:2 → B:2 does not lead to link A:0 → B:0"):
        route_table(topology, [[*up, own[2], own[0], *down]], of_links=True)


def leaf_spine_96(data: Path) -> tuple[Topology, Routing]:
    """The fabric of `ibnetdiscover.txt` with the forwarding tables of `opensm-lfts.dump`."""
    folder = data / "clusters" / "leaf_spine_96"
    names: dict[str, str] = {}
    cables: list[tuple[str, int, str, int]] = []
    at = ""
    for line in (folder / "ibnetdiscover.txt").read_text().splitlines():
        if found := re.match(r'(Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', line):
            at, names[found[2]] = found[2], found[3]
        elif found := re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\]', line):
            cables.append((at, int(found[1]), found[2], int(found[3])))
    order = sorted(
        names, key=lambda guid: (guid[0] == "S", int(re.sub(r"\D", "", names[guid]) or 0))
    )
    number = {guid: k for k, guid in enumerate(order)}
    hosts = sum(guid[0] == "H" for guid in order)
    source = np.array([number[a] for a, _, _, _ in cables])
    target = np.array([number[b] for _, _, b, _ in cables])
    topology = Topology.of_links(
        hosts,
        len(order),
        source,
        target,
        labels=tuple(names[guid] for guid in order),
        link_labels=[f"{names[a]}:{port}" for a, port, _, _ in cables],
    )
    link_of = {label: k for k, label in enumerate(topology.link_labels)}
    by_name = {names[guid]: number[guid] for guid in order}
    out: dict[str, dict[int, int]] = defaultdict(dict)
    for line in (folder / "opensm-lfts.dump").read_text().splitlines():
        if found := re.match(r"Unicast lids .*\(([^)]+)\):", line):
            at = found[1].strip("'")
        elif found := re.match(r"0x[0-9a-f]+ (\d+) # .*'(host\d+)'", line):
            out[at][by_name[found[2]]] = link_of.get(f"{at}:{int(found[1])}", -1)
    routes = []
    for s in range(hosts):
        first = int(np.flatnonzero(topology.link_source == s)[0])
        for t in range(hosts):
            if s == t:
                continue
            path, node = [first], int(topology.link_target[first])
            while node != t:
                path.append(out[topology.labels[node]][t])
                node = int(topology.link_target[path[-1]])
            routes.append(path)
    return topology, route_table(topology, routes, of_links=True)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_half_the_hosts_of_a_fabric_need_the_load_of_the_busiest_cable(
    shared_data: Path, seed: int
) -> None:
    topology, routing = leaf_spine_96(shared_data)
    assert (topology.endpoints, topology.links) == (96, 2 * (96 + 48))
    machine = replace(load_machine("crossbar:96"), topology=topology, routing=routing)
    chosen = np.sort(np.random.default_rng(seed).permutation(96)[:48])
    pairs = chosen[np.argwhere(~np.eye(48, dtype=bool))].astype(np.int32)
    _, links = route_links(topology, routing, *np.ascontiguousarray(pairs.T))
    busiest = int(np.bincount(links).max())
    pattern = Pattern.from_messages(*pairs.T, np.full(len(pairs), 1024), 96)
    schedule = conset.compile(
        pattern, machine, method="negotiated", limits=Limits(send=1, receive=1, link=1)
    )
    bound = conset.bound(schedule)
    assert bound.phases == busiest
    assert schedule.phases == busiest
    assert conset.verify(schedule).ok


def test_a_picture_has_a_line_for_every_cable(tmp_path: Path) -> None:
    """Three lines between the leaves, side by side; six to the hosts."""
    (tmp_path / "net.edges").write_text(
        "endpoints 6\n0 6\n1 6\n2 6\n3 7\n4 7\n5 7\n" + "6 7\n" * CABLES
    )
    assert run(["show", str(tmp_path / "net.edges"), "-o", str(tmp_path / "net.svg")]) == 0
    text = (tmp_path / "net.svg").read_text()
    lines = re.findall(
        r'<path d="([^"]*)"', text.partition('id="conset-links"')[2].partition("</g>")[0]
    )
    assert len(lines) == len(set(lines)) == HOSTS + CABLES
