"""Specs: presets, bare networks and their options; every wrong word is one located line."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from conset.base.errors import ConsetError, InputError, UsageError
from conset.machine.costs import Costs, Provenance, Steps, Synchronization
from conset.machine.spec import machine_of_record, parse_machine, with_settings
from conset.machine.words import DEFAULTS, NO_INTERFACE, PARAMETERS, default_costs


@pytest.mark.parametrize(
    ("spec", "name", "kind", "sides", "links"),
    [
        ("iwarp", "iwarp:8x8", "torus", (8, 8), 256),
        ("iwarp:4x6", "iwarp:4x6", "torus", (4, 6), 96),
        ("ipsc860:64", "ipsc860:64", "hypercube", (2,) * 6, 384),
        ("ipsc860:8", "ipsc860:8", "hypercube", (2,) * 3, 24),
        ("delta", "delta:16x32", "mesh", (16, 32), 2 * (16 * 31 + 15 * 32)),
        ("paragon:16x16", "paragon:16x16", "mesh", (16, 16), 960),
        ("mesh", "mesh:8x8", "mesh", (8, 8), 224),
        ("mesh:16x16", "mesh:16x16", "mesh", (16, 16), 960),
        ("torus:8x8x8", "torus:8x8x8", "torus", (8, 8, 8), 512 * 6),
        ("hypercube:6", "hypercube:6", "hypercube", (2,) * 6, 384),
        ("hypercube:0", "hypercube:0", "hypercube", (1,), 0),
        ("ring:9", "ring:9", "ring", (9,), 18),
        ("crossbar:64", "crossbar:64", "crossbar", (64,), 0),
        (" torus:8x8 , tie = plus ", "torus:8x8,tie=plus", "torus", (8, 8), 256),
    ],
)
def test_network_of_a_spec(
    spec: str, name: str, kind: str, sides: tuple[int, ...], links: int
) -> None:
    machine = parse_machine(spec)
    assert (machine.name, machine.topology.kind, machine.topology.sides) == (name, kind, sides)
    assert machine.topology.links == links
    assert machine.to_spec()["name"] == name
    assert machine_of_record(machine.to_spec()) == machine_of_record(name) == machine


def test_options_change_network_and_costs() -> None:
    machine = parse_machine(
        "torus:8x8,tie=plus,routing=no-wrap,width=2,link=16GB/s,hop=4ns,port=16GB/s,inject=3ns,"
        "eject=2ns,flit=32,"
        "synchronization=5us,setup=1us,tolerance=2,blocking=0.5,lanes=2,in_flight=3,node=20GB/s,"
        "signal=7ns"
    )
    costs = machine.costs
    assert (machine.routing.rule, machine.routing.tie, machine.topology.width) == (
        "no-wrap",
        "plus",
        2,
    )
    assert (costs.link_Bps, costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps) == (
        16e9,
        16e9,
        16e9,
        20e9,
    )
    assert (costs.inject, costs.eject) == (Steps((3e-9,)), Steps((2e-9,)))
    assert (costs.hop_s, costs.setup_s, costs.signal_s, costs.flit_B) == (4e-9, 1e-6, 7e-9, 32)
    assert costs.synchronization == Synchronization(5e-6, 0.0)
    assert (costs.tolerance, costs.blocking, costs.lanes, costs.in_flight) == (2, 0.5, 2, 3)
    assert costs.provenance["link"].tag == "given"
    assert costs.provenance["first_barrier"].tag == "default"
    assert costs.provenance["overhead"].tag == "default"


def test_overhead_is_paid_half_at_each_end() -> None:
    costs = parse_machine("mesh:4x4,overhead=2us").costs
    assert costs.send_overhead == costs.receive_overhead == Steps((1e-6,))
    assert costs.inject == costs.eject == Steps((500e-9,))  # latencies stay


def test_port_none_is_no_limit() -> None:
    costs = parse_machine("mesh:4x4,port=none").costs
    assert costs.port_out_Bps == costs.port_in_Bps == inf


@pytest.mark.parametrize(
    ("options", "inject_s", "eject_s"),
    [
        ("port=none", 0, 0),
        ("port_out=none,port_in=none", 0, 0),
        ("port_out=none", 500e-9, 500e-9),
        ("port=none,inject=3us", 3e-6, 0),
        ("eject=3us,port=none", 0, 3e-6),
        ("port=none,port=1GB/s", 500e-9, 500e-9),
    ],
)
def test_without_ports_unstated_latencies_of_the_interface_are_0(
    options: str, inject_s: float, eject_s: float
) -> None:
    for costs in (
        parse_machine(f"mesh:4x4,{options}").costs,
        with_settings(parse_machine("mesh:4x4"), options).costs,
    ):
        assert (costs.inject, costs.eject) == (Steps((inject_s,)), Steps((eject_s,)))
        assert (costs.provenance["inject"] == NO_INTERFACE) == (inject_s == 0)


def test_a_narrow_word_splits_the_source_of_a_wide_one() -> None:
    provenance = parse_machine("paragon,send_overhead=1us").costs.provenance
    assert "overhead" not in provenance
    assert provenance["send_overhead"].tag == "given"
    assert provenance["receive_overhead"].tag == "printed"


def test_defaults_of_bare_networks() -> None:
    costs = parse_machine("mesh:4x4").costs
    assert costs == default_costs()
    assert (costs.link_Bps, costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps) == (
        25e9,
        25e9,
        25e9,
        inf,
    )
    assert costs.inject.at(1) == costs.eject.at(1) == 500e-9
    assert (costs.hop_s, costs.setup_s, costs.signal_s) == (100e-9, 0, 1e-6)
    assert costs.synchronization.at(64) == pytest.approx(12e-6)
    assert (costs.tolerance, costs.blocking, costs.flit_B, costs.first_barrier) == (1, 0, 16, False)
    assert set(costs.provenance) == set(DEFAULTS)
    assert set(costs.provenance.values()) == {Provenance("default")}


def test_options_reach_the_costs_of_single_methods() -> None:
    machine = parse_machine("iwarp,overhead=2us")
    assert (
        machine.costs_for("naive").overhead.at(1)
        == machine.costs_for("first-fit").overhead.at(1)
        == 2e-6
    )
    assert machine.costs_for("naive").setup_s == 0
    assert machine.costs_for("first-fit").setup_s == pytest.approx(8.8e-6)


def test_dead_nodes_leave_a_graph_of_the_survivors() -> None:
    machine = parse_machine("mesh:4x4,dead=3;7,width=2")
    topology = machine.topology
    assert (topology.kind, topology.nodes, topology.endpoints) == ("graph", 14, 14)
    assert topology.labels == tuple(str(k) for k in range(16) if k not in (3, 7))
    # 48 links of the mesh, less those of nodes 3 (2 neighbours) and 7 (3), their own link counted
    # once, both ways
    assert topology.links == 48 - 2 * (2 + 3 - 1)
    assert set(topology.widths().tolist()) == {2}
    assert machine.routing.rule == "shortest-path"
    assert machine.name == "mesh:4x4,width=2,dead=3;7"
    assert machine_of_record(machine.to_spec()) == machine_of_record(machine.name) == machine


WRONG = [
    ("mesh:0x4", "mesh:0x4: size 0 '0': must be from 1 to 999999999"),
    ("mesh:4y4", "mesh:4y4: size 0 '4y4': must be a whole number; sizes are written as 8x8"),
    ("mesh:", "mesh:: a size is required after ':'"),
    ("mesh:-4x4", "mesh:-4x4: size 0 '-4': must be from 1 to 999999999"),
    ("ring:4x4", "ring:4x4: must be a whole number"),
    ("hypercube:25", "hypercube:25: must be from 0 to 20"),
    (
        "mesh:99999x99999",
        "mesh:99999x99999: sides = (99999, 99999): 9999800001 nodes, at most 1048576",
    ),
    ("paragon:4", "paragon:4: 2 sizes required, given 1"),
    ("ipsc860:63", "ipsc860:63: a hypercube needs a power of two of nodes, given 63"),
    ("ring:9999999999", "ring:9999999999: must be from 1 to 999999999"),
    ("", "machine '': a preset, network or file is required; `conset machines` lists presets"),
    ("meshh:4", "unknown machine 'meshh': did you mean 'mesh'?"),
    ("paragn", "unknown machine 'paragn': did you mean 'paragon'?"),
    ("mesh:4x4,lnk=3", "unknown option of mesh 'lnk': did you mean 'link'?"),
    ("mesh:4x4,link", "option 'link': expected WORD=VALUE"),
    ("mesh:4x4,link=", "option 'link=': expected WORD=VALUE"),
    ("mesh:4x4,link=-3GB/s", "link '-3GB/s': must be above 0 B/s, is -3e+09 B/s"),
    ("mesh:4x4,link=3GG/s", "link '3GG/s': unknown unit 'GG/s': did you mean 'Gb/s'?"),
    ("mesh:4x4,link=16", "link '16': a unit is required, as 16GB/s"),
    ("mesh:4x4,link=25e9", "link '25e9': a unit is required, as 25GB/s"),
    ("mesh:4x4,overhead=2", "overhead '2': a unit is required, as 2us"),
    ("mesh:4x4,hop=5e-7", "hop '5e-7': a unit is required, as 500ns"),
    ("mesh:4x4,setup=1e10s", "setup '1e10s': must be at most 1e+06 s, is 1e+10 s"),
    ("mesh:4x4,preempts=true", "preempts=true: needs processors=one, is two"),
    ("iwarp,processors=two", "preempts=true: needs processors=one, is two"),
    ("mesh:4x4,hop=-1us", "hop '-1us': must be at least 0 s, is -1e-06 s"),
    ("mesh:4x4,tolerance=0", "tolerance '0': must be at least 1 and below 2^31, is 0"),
    ("mesh:4x4,tolerance=1.5", "tolerance '1.5': a whole number required"),
    ("mesh:4x4,blocking=-1", "blocking '-1': must be at least 0 and at most 10, is -1"),
    ("mesh:4x4,blocking=nan", "blocking 'nan': must be at least 0 and at most 10, is nan"),
    ("mesh:4x4,exchange_weight=0", "exchange_weight '0': must be at least 0.5 and at most 1, is 0"),
    ("mesh:4x4,exchange_syncs=redy", "unknown policy 'redy': did you mean 'ready'?"),
    ("mesh:4x4,first_barrier=1", "first_barrier '1': must be true or false"),
    ("mesh:4x4,flit=0", "flit '0': must be at least 1 B, is 0 B"),
    ("mesh:4x4,size_range=4KiB;1KiB", "size_range: must rise, is 4096 B to 1024 B"),
    ("torus:4x4,tie=plos", "unknown tie 'plos': did you mean 'plus'?"),
    ("torus:4x4,routing=nowrap", "unknown routing of a torus 'nowrap': did you mean 'no-wrap'?"),
    ("torus:4x4,width=0", "torus: width=0: must be from 1 to 1000000"),
    ("crossbar:4,width=2", "crossbar:4: width = 2: a crossbar has no links"),
    ("crossbar:4,dead=1", "crossbar: dead: a crossbar is ports only; give it fewer nodes instead"),
    ("mesh:4x4,dead=16", "mesh:4x4: dead[0] = 16: must be a node from 0 to 15"),
    ("mesh:4x4,dead=3;3", "mesh:4x4: dead[1] = 3: is named twice"),
    ("mesh:4x4,dead=x", "mesh: dead 'x': must be a whole number, several as 3;7, a link as 3-4"),
    ("mesh:4x4,dead=3-5", "mesh:4x4: dead link 0: nodes 3 and 5 are not joined by a link"),
    (
        "mesh:4x4,dead=1,routing=dimension-order",
        "unknown routing of a graph 'dimension-order': known: "
        "adaptive, dmodk, ecmp, minimal, shortest-path, smodk, valiant",
    ),
    ("mesh:2x1,dead=0;1", "mesh:2x1: dead: 2 of 2 nodes; at least 1 must be left"),
    (
        "mesh:3x3,dead=1;3",
        "mesh:3x3: dead = 1;3: disconnected: node 0 '0' cannot reach node 1 '2'; every endpoint "
        "must reach every other",
    ),
    (
        "net.edges,link=3",
        "machine 'net.edges,link=3': a file takes no options; its costs stand in a machine file "
        "or in conset.machine.spec.with_settings",
    ),
]


@pytest.mark.parametrize(("spec", "line"), WRONG)
def test_wrong_words_are_usage_errors(spec: str, line: str) -> None:
    with pytest.raises(ConsetError) as caught:
        parse_machine(spec)
    assert type(caught.value) is UsageError
    assert str(caught.value) == line


def test_missing_files_and_directories(tmp_path: object) -> None:
    for spec, rule in (
        (f"{tmp_path}/a.toml", "no such file"),
        (str(tmp_path), "one output of ibnetdiscover or topology.conf required, found: none"),
    ):
        with pytest.raises(InputError) as caught:
            parse_machine(spec)
        assert str(caught.value) == f"{spec}: {rule}"


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: Costs(setup_s=1e10), "setup_s = 1e+10: must be at most 1e+06 s, is 1e+10 s"),
        (lambda: Costs(hop_s=-1.0), "hop_s = -1.0: must be finite and at least 0 s"),
        (lambda: Costs(signal_s=float("nan")), "signal_s = nan: must be finite and at least 0 s"),
        (
            lambda: Costs(link_Bps=1e-300),
            "link_Bps = 1e-300: must be at least 0.001 B/s, is 1e-300 B/s",
        ),
        (
            lambda: Costs(port_in_Bps=1e300),
            "port_in_Bps = 1e+300: must be at most 1e+18 B/s, or none, is 1e+300 B/s",
        ),
        (lambda: Costs(node_Bps=float("nan")), "node_Bps = nan: must be above 0 B/s"),
        (lambda: Costs(in_flight=0), "in_flight = 0: must be at least 1 and at most 2147483647"),
        (lambda: Costs(eager_B=0.5), "eager_B = 0.5: must be whole bytes from 0 to 2^62"),
        (lambda: Costs(preempts=True), "preempts=true: needs processors=one, is two"),
        (lambda: Steps((1e7,)), "a cost in steps = 1e+07: must be at most 1e+06 s, is 1e+07 s"),
        (lambda: Steps((inf,)), "a cost in steps = inf: must be finite and at least 0 s"),
        (
            lambda: Synchronization(1e10),
            "synchronization: base_s = 1e+10: must be at most 1e+06 s, is 1e+10 s",
        ),
        (
            lambda: Synchronization(0, -1),
            "synchronization: per_log2_s = -1: must be finite and at least 0 s",
        ),
    ],
)
def test_costs_out_of_range_are_refused_where_they_are_made(
    make: Callable[[], object], line: str
) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == line


def test_every_word_reads_what_it_writes_in_words() -> None:
    assert {field for word in PARAMETERS.values() for field in word.fields} == {
        name for name in vars(default_costs()) if name != "provenance"
    }
