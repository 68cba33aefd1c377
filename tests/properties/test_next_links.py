"""Schedule files whose switches have other entries: refused, or verified by the routes they give.

A verifier that is written here again walks the entries hop by hop.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.base import InputError
from conset.cli.main import run
from support.fabrics import Cluster

MUTANTS = 400


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A complete exchange under one message on each link, on leaf switches with parallel cables."""
    folder, cluster = tmp_path_factory.mktemp("fabric"), Cluster(leaves=3, hosts=2)
    (folder / "net.txt").write_text(cluster.ibnetdiscover())
    (folder / "lfts.txt").write_text(cluster.dump_fts())
    spec = f"{folder / 'net.txt'},routes={folder / 'lfts.txt'}"
    schedule = conset.compile("alltoall:size=8", spec, method="first-fit")
    conset.write(schedule, folder / "s.json")
    found: dict[str, Any] = json.loads((folder / "s.json").read_text())
    return found


def mutant(sound: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """The file with 1 to 3 entries changed, mostly to another link of the same switch."""
    found: dict[str, Any] = json.loads(json.dumps(sound))
    network = found["machine"]["network"]
    links, rows = network["links"], network["next_links"]
    for _ in range(random.integers(1, 4)):
        switch, target = random.integers(len(rows)), random.integers(network["endpoints"])
        own = [k for k, (at, _) in enumerate(links) if at == network["endpoints"] + switch]
        other = [-1, len(links), int(random.integers(len(links)))]
        rows[switch][target] = int(random.choice(own if random.random() < 0.8 else other))
    return found


def walked(network: dict[str, Any], source: int, target: int) -> list[int] | None:
    """The links of a route; None: they do not lead there."""
    links, hosts = network["links"], network["endpoints"]
    found = [next(k for k, (at, _) in enumerate(links) if at == source)]
    while (node := links[found[-1]][1]) != target:
        if node < hosts or len(found) > len(links):
            return None
        entry = network["next_links"][node - hosts][target]
        if not 0 <= entry < len(links) or links[entry][0] != node:
            return None
        found.append(entry)
    return found


def keeps(found: dict[str, Any]) -> bool | None:
    """Whether limits and figures of a file hold; None: an entry leads astray."""
    network = found["machine"]["network"]
    hosts = range(network["endpoints"])
    ways = {(s, t): walked(network, s, t) for s in hosts for t in hosts if s != t}
    if None in ways.values():
        return None
    loads = []
    for phase in found["phases"]:
        routes = [ways[source, target] or [] for source, target, *_ in phase]
        ends = network["links"]
        link = Counter(link for route in routes for link in route)
        node = Counter(end for r in routes for end in [ends[r[0]][0], *(ends[k][1] for k in r)])
        loads.append((max(link.values()), max(node.values())))
    stated = found["figures"]["load"]
    most, through = (max(each) for each in zip(*loads, strict=True))
    total = sum(max(link, 1) for link, _ in loads)
    figures = stated["link"], stated["channels"], stated["sum"]
    return most <= found["limits"]["link"] and figures == (most, through, total)


def test_entries_of_switches_are_refused_or_verified(
    sound: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random, path, seen = np.random.default_rng(3), tmp_path / "s.json", Counter[bool | None]()
    assert keeps(sound)
    for number in range(MUTANTS):
        found = mutant(sound, random)
        expected = keeps(found)
        seen[expected] += 1
        path.write_text(json.dumps(found))
        if expected is None:
            with pytest.raises(InputError, match=r"no way|not its link|loop|leads to"):
                conset.verify(path)
        else:
            assert conset.verify(path).ok == expected, found["machine"]["network"]["next_links"]
        if number < MUTANTS // 10:
            assert run(["verify", str(path)]) == {None: 3, True: 0, False: 4}[expected]
            assert "internal error" not in capsys.readouterr().err
    assert min(seen[kind] for kind in (None, True, False)) > 10, seen


def test_a_loop_between_switches_is_refused(sound: dict[str, Any], tmp_path: Path) -> None:
    """Of two and of four switches; other targets are reached as before."""
    for switches in ((0, 3), (0, 3, 1, 4)):
        found = json.loads(json.dumps(sound))
        network, target = found["machine"]["network"], found["machine"]["network"]["endpoints"] - 1
        for at, to in zip(switches, (*switches[1:], switches[0]), strict=True):
            ends = [network["endpoints"] + at, network["endpoints"] + to]
            network["next_links"][at][target] = network["links"].index(ends)
        (tmp_path / "s.json").write_text(json.dumps(found))
        with pytest.raises(InputError, match=r"towards node 5 'n6': loop"):
            conset.verify(tmp_path / "s.json")


@pytest.mark.parametrize("change", ["short row", "long row", "no row", "no rows", "more rows"])
def test_tables_of_another_size_are_refused(
    sound: dict[str, Any], tmp_path: Path, change: str
) -> None:
    found = json.loads(json.dumps(sound))
    network = found["machine"]["network"]
    rows = network["next_links"]
    network["next_links"] = {
        "short row": [rows[0][:-1], *rows[1:]],
        "long row": [[*rows[0], 0], *rows[1:]],
        "no row": rows[1:],
        "no rows": [],
        "more rows": [*rows, rows[-1]],
    }[change]
    (tmp_path / "s.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match=r"links for 6 endpoints|one entry for each of 5 switches"):
        conset.verify(tmp_path / "s.json")
