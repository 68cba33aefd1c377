"""Machine files: what they say, that they come back the same, and located one-line errors."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import InputError
from conset.machine.costs import Limits, Provenance, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine

FULL = """name = "cluster"
about = "a made-up machine"
notes = ["nothing of it was measured"]

[network]
kind = "torus"
sides = [4, 6]
width = 2
routing = "no-wrap"
tie = "plus"

[costs]
overhead = [{ up_to = "100 B", value = "65 us" }, { value = "147 us" }]
port_out = { value = "0.5 us/B", tag = "printed", source = "a table", within = 1.2 }
port_in = "3 MB/s"
node = "none"
exchange_weight = 0.7
exchange_syncs = ["local", "ready"]
link = "1 Gb/s"
hop = "40 ns"
hop_by_size = [{ up_to = "100 B", value = "20 ns" }, { value = "40 ns" }]
synchronization = { value = { base = "-134 us", per_log2 = "137 us" }, tag = "fitted", source = "a \
fit" }
setup = "1 us"
signal = "2 us"
first_barrier = true
tolerance = 3
blocking = 0.5
per_transfer = "5 us"
in_flight = 3
receives = "all"
lanes = 2
processors = "one"
preempts = true
receive = "before"
outstanding_receives = 192
flit = "4 B"
size_range = ["256 B", "none"]

[methods.naive]
send_overhead = "20 us"

[limits]
channels = 12
duplex = "exchange"
methods = ["connections"]
"""

GRAPH = """name = "square"

[network]
links = [[0, 4], [1, 4], [2, 5], [3, 5], [4, 5], [4, 6], [5, 6]]
widths = [1, 1, 1, 1, 2, 1, 1]
rates = ["machine", "machine", "machine", "machine", "20 GB/s", "5 GB/s", "5 GB/s"]
endpoints = 4
labels = ["a", "b", "c", "d", "s", "t", "u"]
routes = [[0, 4, 6, 5, 2]]

[costs]
link = "10 GB/s"
"""


def written(folder: Path, text: str, name: str = "cluster.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def assert_same(one: Machine, other: Machine) -> None:
    """Equal in everything, arrays included."""
    for name in ("name", "costs", "limits", "limits_methods", "notes", "method_costs"):
        assert getattr(one, name) == getattr(other, name), name
    assert dict(one.costs.provenance) == dict(other.costs.provenance)
    for noun in ("topology", "routing"):
        for name, value in vars(getattr(one, noun)).items():
            assert np.array_equal(value, getattr(getattr(other, noun), name)), (noun, name)


def test_every_word_of_a_file(tmp_path: Path) -> None:
    machine = parse_machine(str(written(tmp_path, FULL)))
    costs = machine.costs
    assert machine.name == "cluster"
    assert (machine.topology.kind, machine.topology.sides, machine.topology.width) == (
        "torus",
        (4, 6),
        2,
    )
    assert (machine.routing.rule, machine.routing.tie) == ("no-wrap", "plus")
    assert costs.send_overhead == costs.receive_overhead == Steps((32.5e-6, 73.5e-6), (100.0, inf))
    assert costs.inject == Steps((500e-9,))  # latency is another word
    assert (costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps, costs.link_Bps) == (
        2e6,
        3e6,
        inf,
        125e6,
    )
    assert (costs.exchange_weight, costs.exchange_syncs) == (0.7, ("local", "ready"))
    assert costs.synchronization == Synchronization(-134e-6, 137e-6)
    assert (costs.hop_s, costs.setup_s, costs.signal_s, costs.per_transfer_s) == (
        40e-9,
        1e-6,
        2e-6,
        5e-6,
    )
    assert (costs.first_barrier, costs.tolerance, costs.blocking, costs.lanes) == (True, 3, 0.5, 2)
    assert costs.hop == Steps((20e-9, 40e-9), (100.0, inf))
    assert (costs.processors, costs.preempts, costs.receive) == ("one", True, "before")
    assert (costs.in_flight, costs.receives, costs.outstanding_receives) == (3, None, 192)
    assert (costs.flit_B, costs.size_range_B) == (4, (256.0, inf))
    assert costs.provenance["port_out"] == Provenance("printed", "a table", 1.2)
    assert costs.provenance["synchronization"] == Provenance("fitted", "a fit")
    assert costs.provenance["hop"] == Provenance("given", "machine file")
    assert machine.limits == Limits(channels=12, duplex="exchange")
    assert machine.hard_limits("lp") == Limits()
    assert machine.costs_for("naive").send_overhead == Steps((20e-6,))
    assert machine.costs_for("naive").receive_overhead == costs.receive_overhead
    assert machine.notes == ("nothing of it was measured",)


@pytest.mark.parametrize("text", [FULL, GRAPH, "[network]\nkind = 'crossbar'\nnodes = 8\n"])
def test_a_schedule_file_carries_the_whole_machine(tmp_path: Path, text: str) -> None:
    machine = parse_machine(str(written(tmp_path, text)))
    spec = machine.to_spec()
    assert isinstance(spec, dict)
    through_json = json.loads(json.dumps(spec))
    assert str(tmp_path) not in json.dumps(spec)
    assert_same(parse_machine(through_json), machine)


def test_links_inline(tmp_path: Path) -> None:
    machine = parse_machine(str(written(tmp_path, GRAPH)))
    topology = machine.topology
    assert (topology.endpoints, topology.nodes, topology.links) == (4, 7, 14)
    assert topology.link_name(0) == "link 0 'a' → 4 's'"
    assert topology.link_rate_Bps is not None
    rates = dict(
        zip(
            zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True),
            topology.link_rate_Bps.tolist(),
            strict=True,
        )
    )
    assert (rates[0, 4], rates[4, 5], rates[5, 4], rates[6, 5]) == (10e9, 20e9, 20e9, 5e9)
    assert machine.routing.rule == "table"
    assert machine.routing.table_offsets is not None
    assert (
        np.diff(machine.routing.table_offsets)[2] == 4
    )  # 0 to 2 by the table; the shortest path has 3 links
    assert np.diff(machine.routing.table_offsets)[3] == 3


def test_a_graph_beside_its_machine_file(tmp_path: Path) -> None:
    written(tmp_path, "a b width=2\nb c\nc a\n", "net.edges")
    path = written(
        tmp_path, "[network]\ngraph = 'net.edges'\nroutes = [[0, 1, 2]]\n[costs]\nlink = '1 GB/s'\n"
    )
    machine = parse_machine(str(path))
    assert machine.name == "cluster"
    assert machine.topology.labels == ("a", "b", "c")
    assert machine.topology.widths().sum() == 8
    assert machine.costs.link_Bps == 1e9
    assert_same(parse_machine(json.loads(json.dumps(machine.to_spec()))), machine)


def test_a_graph_alone_has_the_costs_of_a_bare_network(tmp_path: Path) -> None:
    machine = parse_machine(str(written(tmp_path, "0 1 rate=1GB/s\n1 2\n", "net.edges")))
    assert machine.name == "net"
    assert machine.costs == parse_machine("mesh:2x2").costs
    assert_same(parse_machine(json.loads(json.dumps(machine.to_spec()))), machine)


def test_rates_of_links_are_rates_of_a_machine(tmp_path: Path) -> None:
    path = written(tmp_path, "0 1 rate=1e-300B/s\n", "net.edges")
    with pytest.raises(
        InputError, match=r"rate '1e-300B/s': must be at least 0\.001 B/s, is 1e-300 B/s"
    ):
        parse_machine(str(path))
    with pytest.raises(
        InputError, match=r"link_rate_Bps\[0\] = 1e-300: must be from 0\.001 to 1e\+18 B/s"
    ):
        Topology("graph", (), 2, 2, np.array([0]), np.array([1]), None, np.array([1e-300]))  # type: ignore[arg-type]


def test_words_left_out_have_the_defaults(tmp_path: Path) -> None:
    machine = parse_machine(str(written(tmp_path, "[network]\nkind = 'ring'\nnodes = 5\n")))
    assert machine.costs == parse_machine("ring:5").costs


def test_one_way_links(tmp_path: Path) -> None:
    text = "[network]\nlinks = [[0, 1], [1, 2], [2, 0]]\nboth_ways = false\n"
    assert parse_machine(str(written(tmp_path, text))).topology.links == 3


NET = "[network]\nkind = 'mesh'\nsides = [4, 4]\n"
WRONG = [
    (
        FULL.replace("tolerance", "tolerence"),
        "cluster.toml:26: costs.tolerence: unknown word 'tolerence': did you mean 'tolerance'?",
    ),
    (FULL.replace("[network]", "[nework]"), "cluster.toml: network: is required"),
    (
        NET + "[cost]\nlink = 3\n",
        "cluster.toml:4: cost: unknown word 'cost': did you mean 'costs'?",
    ),
    (
        NET + "[costs]\nlink = '-3 GB/s'\n",
        "cluster.toml:5: costs.link: link '-3 GB/s': must be above 0 B/s, is -3e+09 B/s",
    ),
    (
        NET + "[costs]\nlink = '3 GB'\n",
        "cluster.toml:5: costs.link: link '3 GB': unknown unit 'GB': did you mean 'GB/s'?",
    ),
    (
        NET + "[costs]\n\nhop = '3 uss'\n",
        "cluster.toml:6: costs.hop: hop '3 uss': unknown unit 'uss': did you mean 'us'?",
    ),
    (
        NET + "[costs]\nlink = 16\n",
        "cluster.toml:5: costs.link: link '16': a unit is required, as 16GB/s",
    ),
    (
        NET + "[costs]\nhop = { value = '3 us', within = 0.5 }\n",
        "cluster.toml:5: costs.hop: hop: within '0.5': must be at least 1 and at most 10, is 0.5",
    ),
    (
        NET + "[costs]\nhop = 5e-7\n",
        "cluster.toml:5: costs.hop: hop '5e-07': a unit is required, as 500ns",
    ),
    (
        NET + "[costs]\nsynchronization = { base = -1 }\n",
        "cluster.toml:5: costs.synchronization: synchronization.base '-1': a unit is "
        "required, as -1us",
    ),
    (
        NET + "[costs]\nlink = '1e-300 B/s'\n",
        "cluster.toml:5: costs.link: link '1e-300 B/s': must be at least 0.001 B/s, is 1e-300 B/s",
    ),
    (
        NET + "[costs]\nsetup = '1e10 s'\n",
        "cluster.toml:5: costs.setup: setup '1e10 s': must be at most 1e+06 s, is 1e+10 s",
    ),
    (
        NET + "[costs]\npreempts = true\n",
        "cluster.toml:4: costs: preempts=true: needs processors=one, is two",
    ),
    (
        "exact = true\n" + NET + "[costs]\nlink = '1 GB/s'\n",
        "cluster.toml:5: costs: exact = true: every word is required, model is missing",
    ),
    (
        "[network]\nlinks = [[0, 1]]\nrates = [16]\n",
        "cluster.toml: network.rates[0]: rate '16': a unit is required, as 16GB/s",
    ),
    (
        NET + "[costs]\nhop = true\n",
        "cluster.toml:5: costs.hop: hop: a number or a text with a unit required, is True",
    ),
    (
        NET + "[costs]\nhop = { value = 1, tga = 'printed' }\n",
        "cluster.toml:5: costs.hop: unknown word in hop 'tga': did you mean 'tag'?",
    ),
    (
        NET + "[costs]\nhop = { value = 1, tag = 'pritned' }\n",
        "cluster.toml:5: costs.hop: unknown tag 'pritned': did you mean 'printed'?",
    ),
    (
        NET + "[costs]\nport = '3 B/s'\nport_in = '4 B/s'\n",
        "cluster.toml:4: costs: port and port_in exclude each other: port says both "
        "port_out and port_in",
    ),
    (
        NET + "[costs]\ninject = [{ value = '1 s' }, { value = '2 s' }]\n",
        "cluster.toml:5: costs.inject: inject: up_to must rise from step to step and be absent "
        "from the last one",
    ),
    (
        NET + "[costs]\ninject = [{ upto = 1, value = 1 }]\n",
        "cluster.toml:5: costs.inject: unknown word in a step of inject 'upto': did you "
        "mean 'up_to'?",
    ),
    (
        NET + "[costs]\nsynchronization = { base = 1, perlog2 = 1 }\n",
        "cluster.toml:5: costs.synchronization: unknown word in synchronization 'perlog2': did "
        "you mean 'per_log2'?",
    ),
    (
        NET + "[methods.naive]\nlnk = 3\n",
        "cluster.toml:5: methods.naive.lnk: unknown word 'lnk': did you mean 'link'?",
    ),
    (
        NET + "[limits]\nchannels = 1\n",
        "cluster.toml:5: limits.channels: must be greater than or equal to 2, is 1",
    ),
    (
        NET + "[limits]\nduplex = 'half'\n",
        "cluster.toml:5: limits.duplex: must be 'full' or 'exchange', is 'half'",
    ),
    (
        NET.replace("mesh", "msh"),
        "cluster.toml:2: network.kind: must be 'mesh', 'torus', 'ring', 'hypercube', 'crossbar' "
        "or 'graph', is 'msh'",
    ),
    (
        NET.replace("[4, 4]", "[4, 0]"),
        "cluster.toml:3: network.sides[1]: must be greater than or equal to 1, is 0",
    ),
    (
        NET.replace("[4, 4]", "[4, '4']"),
        "cluster.toml:3: network.sides[1]: must be a valid integer, is '4'",
    ),
    (
        NET.replace("sides = [4, 4]", "nodes = 4"),
        "cluster.toml: network: a mesh needs sides, given nodes",
    ),
    (
        "[network]\nkind = 'hypercube'\nnodes = 12\n",
        "cluster.toml: network.nodes = 12: a hypercube needs a power of two",
    ),
    (
        NET + "routing = 'no-wrap'\n",
        "cluster.toml:1: network: unknown routing of a mesh 'no-wrap': known: dimension-order",
    ),
    (
        NET + "endpoints = 4\n",
        "cluster.toml: network.endpoints: belongs to a graph, the kind is mesh",
    ),
    (
        "[network]\nlinks = [[0, 1], [2, 3]]\n",
        "cluster.toml: network: disconnected: node 0 cannot reach node 2; every endpoint must "
        "reach every other",
    ),
    (
        "[network]\nlinks = [[0, 1], [1, 1]]\n",
        "cluster.toml: network.links[1] = [1, 1]: joins a node to itself",
    ),
    (
        "[network]\nnodes = 2\nlinks = [[0, 1], [1, 2]]\n",
        "cluster.toml: network.links[1] = [1, 2]: nodes are from 0 to 1",
    ),
    (
        "[network]\nlinks = [[0, 2000000000]]\n",
        "cluster.toml: network: 2000000001 nodes, of which 1 links join at most 2",
    ),
    ("network = 3\n", "cluster.toml:1: network: must be a table, is 3"),
    (NET + "[costs]\nhop = nan\n", "cluster.toml:5: costs.hop: hop 'nan': must be finite"),
    (
        "[network]\nlinks = [[0, 1]]\nwidths = [1, 2]\n",
        "cluster.toml: network.widths: 2 for 1 link",
    ),
    (
        "[network]\nlinks = [[0, 1]]\nrates = ['1 GB']\n",
        "cluster.toml: network.rates[0]: rate '1 GB': unknown unit 'GB': did you mean 'GB/s'?",
    ),
    (
        "[network]\nlinks = [[0, 1]]\nroutes = [[0, 2]]\n",
        "cluster.toml: network.routes[0]: ends at node 2, must be an endpoint from 0 to 1",
    ),
    (
        "[network]\nlinks = [[0, 1]]\nendpoints = 3\n",
        "cluster.toml: network.endpoints = 3: must be at most the 2 nodes",
    ),
    (
        "[network]\ngraph = 'net.edges'\nlinks = [[0, 1]]\n",
        "cluster.toml:3: network.links: cannot stand beside graph, whose file says it",
    ),
]


@pytest.mark.parametrize(("text", "line"), WRONG)
def test_wrong_files_are_one_located_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_machine(str(written(tmp_path, text)))
    assert type(caught.value) is InputError
    assert str(caught.value) == line


@pytest.mark.parametrize(
    "text", ["[network]\nkind = 'mesh\n", "[network]\nsides = [4,", "[network"]
)
def test_files_cut_short(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        InputError, match=r"^cluster\.toml: is no complete TOML: [^\n]+ \(at [^\n]+\)$"
    ):
        parse_machine(str(written(tmp_path, text)))


def test_empty_and_binary_files(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    with pytest.raises(InputError, match=r"cluster\.toml: is empty$"):
        parse_machine(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"cluster\.toml: is not UTF-8 text \(byte 0\)$"):
        parse_machine(str(path))


def test_an_object_names_no_file() -> None:
    with pytest.raises(InputError) as caught:
        parse_machine({"name": "x", "network": {"graph": "net.edges"}})
    assert (
        str(caught.value)
        == "machine: network.graph: names a file; an object carries the links themselves"
    )
    with pytest.raises(InputError) as caught:
        parse_machine({"network": {"kind": "mesh", "sides": [4, 4]}, "costs": {"link": -1}})
    assert str(caught.value) == "machine: costs.link: link '-1': must be above 0 B/s, is -1 B/s"
