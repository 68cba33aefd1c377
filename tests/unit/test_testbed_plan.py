"""What a testbed is going to build: wiring, names, batches and words, without any privilege."""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset.base.errors import ConsetError, InputError, UnavailableError, UsageError
from conset.cli.main import run
from conset.execution import agreement
from conset.execution.agreement import cores_and_ranks
from conset.machine.network.routes import route_links
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset_testbed import access, addresses, beds, commands
from conset_testbed.launcher import ranks_per_node
from conset_testbed.mpiexec import parse
from conset_testbed.settings import FABRICS, Settings, format_bits, parse_bits, parse_bytes
from conset_testbed.state import BedState
from conset_testbed.wiring import Wiring, wire

NETWORKS = (
    "mesh:2x3,planes=2,routing=shortest-path",
    "mesh:4x4",
    "mesh:2x3x2",
    "torus:4x4",
    "torus:5x2",
    "hypercube:3",
    "ring:6",
    "torus:4x4,routing=no-wrap",
)


def wired(spec: str, **options: Any) -> Wiring:
    machine = parse_machine(spec)
    return wire(machine.topology, machine.routing, 20e6, **options)


@pytest.mark.parametrize("spec", NETWORKS)
def test_routes_are_those_of_the_network(spec: str) -> None:
    machine, wiring = parse_machine(spec), wired(spec)
    n = machine.topology.endpoints
    source, target = (part.astype(np.int32).ravel() for part in np.divmod(np.arange(n * n), n))
    offsets, slots = route_links(machine.topology, machine.routing, source, target)
    ends = machine.topology.ends
    for k in range(n * n):
        expected = [
            (int(ends[0][slot]), int(ends[1][slot])) for slot in slots[offsets[k] : offsets[k + 1]]
        ]
        found = [wiring.links[link] for link in wiring.route(int(source[k]), int(target[k]))]
        assert [(link.source, link.target) for link in found] == expected
    assert len(wiring.links) == machine.topology.links == 2 * len(wiring.wires)


def test_ports_alone_become_a_switch() -> None:
    wiring = wired("crossbar:5")
    assert (wiring.endpoints, wiring.nodes, len(wiring.links)) == (5, 6, 10)
    for source in range(5):
        for target in range(5):
            nodes = [wiring.links[link].target for link in wiring.route(source, target)]
            assert nodes == ([] if source == target else [5, target])


@pytest.mark.parametrize("spec", ["mesh:3x3", "ring:5"])
def test_ports_of_their_own_stand_before_the_network(spec: str) -> None:
    bare, with_ports = wired(spec), wired(spec, port_bps=5e6)
    n = bare.endpoints
    assert with_ports.nodes == 2 * n
    for source in range(n):
        for target in range(n):
            if source == target:
                continue
            inner = [bare.links[link] for link in bare.route(source, target)]
            found = [with_ports.links[link] for link in with_ports.route(source, target)]
            assert [(link.source, link.target) for link in found] == [
                (source, n + source),
                *((n + link.source, n + link.target) for link in inner),
                (n + target, target),
            ]
            assert [link.rate_bps for link in found] == [5e6, *[20e6] * len(inner), 5e6]


def test_widths_and_rates_of_links_are_kept() -> None:
    source, target = np.array([0, 1, 2, 2], np.int32), np.array([2, 2, 0, 1], np.int32)
    topology = Topology(
        "graph",
        (),
        2,
        3,
        source,
        target,
        np.array([1, 2, 1, 2], np.int32),
        np.array([1e9, 3e9, 1e9, 3e9]),
    )
    from conset.machine.network.routing import Routing

    wiring = wire(topology, Routing.default(topology), 10e6)
    assert [link.rate_bps for link in wiring.links] == [10e6, 60e6, 10e6, 60e6]


def test_what_no_testbed_can_be_is_refused() -> None:
    one_way = Topology(
        "graph", (), 2, 3, np.array([0, 1, 2, 2], np.int32), np.array([1, 2, 0, 1], np.int32)
    )
    from conset.machine.network.routing import Routing

    with pytest.raises(InputError, match="a testbed needs a link back"):
        wire(one_way, Routing.default(one_way), 1e6)
    with pytest.raises(InputError, match="1 endpoints: a testbed has from 2 to 1024"):
        wired("mesh:1x1")
    with pytest.raises(InputError, match="1089 endpoints"):
        wired("mesh:33x33")


@pytest.mark.parametrize(
    ("spec", "deadlocks"),
    [
        ("mesh:4x4", False),
        ("mesh:3x2x3", False),
        ("hypercube:4", False),
        ("crossbar:8", False),
        ("torus:4x4,routing=no-wrap", False),
        ("torus:2x2", False),
        ("ring:4", False),  # ties by parity: no route turns up at an odd node
        ("ring:4,tie=plus", True),
        ("ring:5", True),
        ("torus:4x4", False),
        ("torus:4x4,tie=plus", True),
        ("torus:5x2", True),
        ("torus:3x3", False),  # no route takes two links of a ring of three
    ],
)
def test_circles_of_buffers_are_found(spec: str, deadlocks: bool) -> None:
    wiring = wired(spec)
    circle = wiring.cycle()
    assert bool(circle) == deadlocks
    needed = {
        pair
        for s in range(wiring.endpoints)
        for t in range(wiring.endpoints)
        for route in [wiring.route(s, t)]
        for pair in pairwise(route)
    }
    assert all(pair in needed for pair in zip(circle, circle[1:] + circle[:1], strict=True))


def test_back_pressure_is_refused_where_it_could_deadlock() -> None:
    from conset_testbed.lifecycle import plan

    with pytest.raises(
        UsageError, match=r"fabric credit on ring:6: 6 buffers wait for each other in a circle"
    ):
        plan(Settings(network="ring:6", fabric="credit"))
    assert plan(Settings(network="ring:6", fabric="fq")).endpoints == 6


@pytest.mark.parametrize("spec", [*NETWORKS, "crossbar:4"])
def test_batches_join_route_and_limit_every_link(spec: str) -> None:
    wiring, settings = wired(spec), Settings(name="t", network=spec)
    n = wiring.endpoints
    creations = commands.creations(settings, wiring)
    assert len(creations) == len(wiring.wires) + n
    # every device is made once, and has one queue
    made = sorted(
        (words[k + 3], words[k + 1])
        for words in (line.split() for line in creations)
        for k, word in enumerate(words)
        if word == "name" and words[k + 1].startswith("p")
    )
    # by namespace and device: the hardware address at the other end of its wire
    opposite = {}
    for line in creations:
        if line.startswith("link add name p"):
            words = line.split()
            (a, b) = ([words[k + i] for i in (1, 3, 5)] for k, w in enumerate(words) if w == "name")
            opposite[a[1], a[0]], opposite[b[1], b[0]] = b[2], a[2]
    queues = commands.queue_lines(settings, wiring)
    limited = sorted((name, line.split()[3]) for name, lines in queues.items() for line in lines)
    assert made == limited
    assert len(set(made)) == len(wiring.links)
    batches = commands.kernel_lines(settings, wiring)
    assert set(batches) == {addresses.namespace("t", node, n) for node in range(wiring.nodes)}
    for node in range(wiring.nodes):
        lines = batches[addresses.namespace("t", node, n)]
        routes = {line.split()[2]: line.split() for line in lines if line.startswith("route")}
        for target in range(n):
            link = wiring.next_link[node][target]
            found = routes.get(f"{addresses.address(target, n)}/32")
            assert (found is None) == (link < 0)
            if found is not None:
                assert found[4] == addresses.address(wiring.links[link].target, n)
                # the neighbour is reached by the device that the route names
                near = {
                    words[6]: words[4]
                    for words in (x.split() for x in lines if x.startswith("neigh"))
                    if words[2] == found[4]
                }
                space = addresses.namespace("t", node, n)
                assert near[found[6]] == opposite[space, found[6]]


def test_lines_of_a_small_bed() -> None:
    settings, wiring = Settings(name="t", network="mesh:1x2", fabric="lossless"), wired("mesh:1x2")
    assert commands.creations(settings, wiring)[0] == (
        "link add name p0 netns cb.t.n0 address 02:63:00:00:00:00 mtu 1500 type veth "
        "peer name p0 netns cb.t.n1 address 02:63:00:01:00:00 mtu 1500"
    )
    assert commands.queue_lines(settings, wiring)["cb.t.n1"] == [
        "qdisc add dev p0 root tbf rate 20000000bit burst 3128b limit 262144b"
    ]
    assert (
        "route add 10.77.0.2/32 via 10.77.0.2 dev p0 onlink src 10.77.0.1 congctl reno cwnd lock "
        "16 initcwnd 16 "
        "rto_min 5000ms" in commands.kernel_lines(settings, wiring)["cb.t.n0"]
    )
    assert commands.description(
        Settings(name="t", network="mesh:1x2", fabric="credit"), wiring
    ) == (
        "discipline credit\nbuffer 12288\nlatency 0\nstore-and-forward 0\nnodes 2 2\n"
        "endpoint /run/netns/cb.t.n0\nendpoint /run/netns/cb.t.n1\n"
        "link 0 1 20000000\nlink 1 0 20000000\nnext 0 -1 0\nnext 1 1 -1\n"
    )


def test_fabrics_set_queues_and_tcp() -> None:
    of = {name: Settings(fabric=name) for name in FABRICS}
    assert [of[name].queue_limit(16) for name in ("shallow", "medium", "deep")] == [
        2**16,
        2**18,
        2**24,
    ]
    # 64 pairs may cross one link, each with 16 packets of 1514 bytes under way, and a quarter of
    # reserve
    assert of["lossless"].queue_limit(16) == 64 * 16 * 1514 * 5 // 4
    assert commands.route_metrics(of["medium"]) == "congctl cubic"
    assert commands.route_metrics(Settings(fabric="medium", window=4, congestion="reno")) == (
        "congctl reno cwnd lock 4 initcwnd 4"
    )
    assert commands.route_metrics(Settings(window=0)) == "congctl reno rto_min 5000ms"
    assert [name for name in FABRICS if of[name].emulated] == ["credit", "fq"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "../x"}, "a name has 1 to 16 letters"),
        ({"name": "seventeen-letters"}, "a name has 1 to 16 letters"),
        ({"fabric": "credits"}, "did you mean 'credit'"),
        ({"rate_bps": 10.0}, "rate 10 bit/s: must be from 10 kbit/s"),
        ({"ttl_s": 1e9}, "ttl 1e"),
        ({"mtu": 100}, "mtu 100: must be from 576 to 9000"),
        ({"buffer_bytes": 1513}, "buffer 1513: must hold a packet of 1514 bytes"),
        ({"queue_bytes": 3000}, "queue 3000: must hold two packets"),
        ({"window": -1}, "window -1"),
        ({"latency_ns": -5}, "latency -5 ns"),
        ({"congestion": "x; reboot"}, "must be the name of a congestion control"),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConsetError, match=said):
        Settings(**wrong)


def test_settings_are_read_as_they_were_written() -> None:
    settings = Settings(network="torus:3x3", fabric="fq", port_bps=5e6, window=0)
    assert Settings.of(settings.to_object()) == settings
    with pytest.raises(InputError, match="unknown key 'colour'"):
        Settings.of({"colour": "red"})


def test_rates_and_sizes_in_both_spellings() -> None:
    assert parse_bits("20mbit") == parse_bits("2.5 MB/s") == parse_bits("20 Mb/s") == 20e6
    assert parse_bits("1.5gbit/s") == 1.5e9
    assert parse_bytes("12k", "buffer") == parse_bytes("12 KiB", "buffer") == 12288
    assert [format_bits(rate) for rate in (20e6, 1.5e9, 64e3)] == [
        "20 Mbit/s",
        "1.5 Gbit/s",
        "64 kbit/s",
    ]
    for wrong in ("fast", "0mbit", "1.2.3mbit", "20 furlong"):
        with pytest.raises(UsageError, match="rate"):
            parse_bits(wrong)


def test_addresses_are_distinct() -> None:
    n = 600
    assert len({addresses.address(node, n) for node in range(900)}) == 900
    assert len({addresses.management_address(endpoint) for endpoint in range(n)}) == n
    assert addresses.address(250, n) == "10.77.1.1"
    assert addresses.address(600, n) == "10.79.0.1"


def test_ranks_on_nodes() -> None:
    assert [ranks_per_node(16, n) for n in (1, 5, 16, 32)] == [(1, 1), (5, 1), (16, 1), (16, 2)]
    with pytest.raises(UsageError, match="-n 20: must be a multiple of the 16 nodes"):
        ranks_per_node(16, 20)


def test_words_of_mpiexec() -> None:
    job = parse(
        ["bed", "-n", "4", "-env", "A", "b c", "-x", "D=e", "--timeout", "3s", "python", "-n", "7"]
    )
    assert (job.bed, job.ranks, job.program, job.timeout_s) == (
        "bed",
        4,
        ["python", "-n", "7"],
        3.0,
    )
    assert job.variables == {"A": "b c", "D": "e"}
    for wrong, said in (
        ([], "the name of a testbed"),
        (["-n", "4"], "the name of a testbed"),
        (["bed", "-n", "x", "true"], "-n x: must be a whole number"),
        (["bed", "-n"], "a value is required"),
        (["bed", "-n", "2"], "a program is required"),
        (["bed", "--bind-to", "core", "true"], "unknown option '--bind-to'"),
    ):
        with pytest.raises(UsageError, match=said):
            parse(wrong)


@pytest.mark.parametrize(
    ("says", "text"),
    [
        (
            "unshare: unshare failed: Operation not permitted",
            "root is needed, or user namespaces, which are not",
        ),
        ("", "root is needed, or user namespaces, which are not permitted here: status 1"),
    ],
)
def test_why_there_can_be_no_testbed(monkeypatch: pytest.MonkeyPatch, says: str, text: str) -> None:
    monkeypatch.setattr(access, "require_tools", lambda: None)
    monkeypatch.setattr(access, "enter_new", lambda: ["sh", "-c", f"echo {says} >&2; exit 1", "--"])
    found = access.check()
    assert found.kernel == found.emulated
    assert found.text.startswith(f"not possible here: {text}")
    assert says in found.text
    for emulated in (False, True):
        with pytest.raises(UnavailableError, match="root is needed"):
            found.require(emulated=emulated)


def test_a_program_that_configures_networks_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert access.check().text == (
        "not possible here: 'ip' is not installed (Debian packages: iproute2, util-linux)"
        if sys.platform == "linux"
        else f"not possible here: a testbed needs Linux, this is {sys.platform}"
    )
    only_kernel = access.Permission("user namespace", "", "/dev/net/tun: Permission denied")
    assert only_kernel.text == (
        "in a user namespace, without root: kernel fabrics; not the emulated ones: /dev/net/tun: "
        "Permission denied"
    )
    only_kernel.require(emulated=False)
    with pytest.raises(UnavailableError, match=r"/dev/net/tun"):
        only_kernel.require(emulated=True)


@pytest.mark.parametrize(
    "broken", ["", "null", "{", '{"settings": {"name": "b"}, "links": []}', "[" * 50_000]
)
def test_a_bed_that_cannot_be_read_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    monkeypatch.setenv(access.STATE, str(tmp_path / "state"))
    for name in ("a", "b", "c"):
        BedState(Settings(name=name), 4, 4, [(0, 1, 2e7)]).claim()
    (tmp_path / "state" / "b" / "bed.json").write_text(broken)
    assert run(["testbed", "list", "--json"]) == InputError.exit_code
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [row["name"] for row in found["testbeds"]] == ["a", "c"]
    assert [row["name"] for row in found["failed"]] == ["b"]
    assert printed.err.startswith("conset: testbed 'b': ")
    assert "not written by a testbed" in printed.err
    asked = []

    def call_inside(before: list[str], action: str, name: str) -> dict[str, Any]:
        asked.append((action, name))
        return {"removed": ["one"], "foreign": []}

    monkeypatch.setattr(beds, "call_inside", call_inside)
    assert run(["testbed", "down", "--all"]) == InputError.exit_code
    assert asked == [("down", "a"), ("down", "c")]
    printed = capsys.readouterr()
    assert printed.out == "testbed 'a': 1 namespace removed\ntestbed 'c': 1 namespace removed\n"
    assert printed.err.startswith("conset: testbed 'b': ")


def test_ranks_under_one_kernel_are_on_one_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    colours = []

    class Comm:
        size = 1

        def Split(self, colour: int) -> Comm:
            colours.append(colour)
            return self

        def allgather(self, own: Any) -> list[Any]:
            return [own]

        def Free(self) -> None:
            pass

    comm: Any = Comm()
    assert cores_and_ranks(comm) == (len(os.sched_getaffinity(0)), 1, True)
    cores_and_ranks(comm)
    (tmp_path / "boot_id").write_text("another kernel")
    monkeypatch.setattr(agreement, "_BOOT", tmp_path / "boot_id")
    cores_and_ranks(comm)
    assert colours[0] == colours[1] != colours[2]
    assert all(0 <= colour < 2**31 for colour in colours)
