"""Clusters: networks, routes and jobs from the files of their own tools."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base import InputError, UsageError
from conset.cli.main import run
from conset.inputs import load_machine, load_pattern
from conset.machine import Machine, route_links
from conset.machine.cables import back_of, cable_name, find_cable, without_cable
from conset.machine.hosts import LAUNCHER_FILES, read_hosts
from conset.machine.spec import machine_of_record
from conset.schedule import phase_loads
from conset.studies.campaign.campaign import campaign_of
from conset.studies.campaign.run import read_results, run_campaign
from support.fabrics import Cluster

FORMS = {"dump_fts": Cluster.dump_fts, "lfts": Cluster.opensm_lfts, "fdbs": Cluster.fdbs}


def written(folder: Path, cluster: Cluster, form: str = "dump_fts") -> str:
    """The spec of its network and tables, in files."""
    net, routes = folder / "net.txt", folder / "lfts.txt"
    net.write_text(cluster.ibnetdiscover())
    routes.write_text(FORMS[form](cluster))
    return f"{net},routes={routes}"


def walked(cluster: Cluster, source: str, target: str, rail: int, offset: int) -> list[str]:
    """The ports at which the links of a route begin, by the tables, hop by hop."""
    lid = cluster.lid[target, 1 + rail] + offset
    found, (node, _) = [f"{source}:{1 + rail}"], cluster.peer[source, 1 + rail]
    while node != target:
        port = cluster.tables[node][lid]
        found.append(f"{node}:{port}")
        node, _ = cluster.peer[node, port]
    return found


def routes_of(machine: Machine) -> list[list[str]]:
    """The ports at which the links of the route of every pair begin."""
    n = machine.topology.endpoints
    source, target = (part.ravel().astype(np.int32) for part in np.divmod(np.arange(n * n), n))
    offsets, links = route_links(machine.topology, machine.routing, source, target)
    names = [machine.topology.link_labels[link] for link in links.tolist()]
    return [names[a:b] for a, b in pairwise(offsets.tolist())]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lmc", [0, 1, 2])
@pytest.mark.parametrize("rails", [1, 2])
def test_routes_are_those_of_the_tables(tmp_path: Path, form: str, lmc: int, rails: int) -> None:
    cluster = Cluster(leaves=3, spines=2, cables=2, lmc=lmc, rails=rails)
    machine = load_machine(written(tmp_path, cluster, form))
    hosts, found = cluster.host_names, routes_of(machine)
    assert machine.topology.labels == (*hosts, *cluster.switch_names)
    assert machine.topology.links == len(cluster.peer)
    assert machine.routing.rule == ("forwarding" if lmc == 0 and rails == 1 else "table")
    n = len(hosts)
    for pair, ports in enumerate(found):
        s, t = divmod(pair, n)
        rail, offset = (s + t) % rails, (s + t) // rails % (1 << lmc)
        expected = [] if s == t else walked(cluster, hosts[s], hosts[t], rail, offset)
        assert ports == expected


def test_a_schedule_keeps_the_routes_and_verifies(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, Cluster()))
    assert machine_of_record(machine.to_spec()) == machine
    schedule = conset.compile("alltoall:size=1KiB", machine, method="negotiated")
    assert conset.verify(schedule).ok
    conset.write(schedule, tmp_path / "s.json")
    assert conset.read(tmp_path / "s.json") == schedule
    assert conset.verify(tmp_path / "s.json").ok


def test_a_verifier_walks_what_switches_have(tmp_path: Path) -> None:
    """An entry that a file's machine has otherwise: its loads are others, and are refused."""
    schedule = conset.compile("alltoall", load_machine(written(tmp_path, Cluster())), method="gen")
    conset.write(schedule, tmp_path / "s.json")
    found = json.loads((tmp_path / "s.json").read_text())
    assert conset.verify(tmp_path / "s.json").ok
    network = found["machine"]["network"]
    ends, row = network["links"], network["next_links"][0]  # of leaf0, whose node follows the hosts
    used = row[-1]
    row[-1] = next(link for link, pair in enumerate(ends) if pair == ends[used] and link != used)
    (tmp_path / "s.json").write_text(json.dumps(found))
    again = conset.read(tmp_path / "s.json").machine
    assert routes_of(again) != routes_of(schedule.machine)
    network["next_links"][0][-1] = -1
    (tmp_path / "s.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match=r"of node 6 'leaf0' towards node 5 'n6': no way"):
        conset.read(tmp_path / "s.json")


def test_rates_are_those_of_generations(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.rate["leaf0", 4] = "4xDDR"
    machine = load_machine(written(tmp_path, cluster))
    link = find_cable(machine.topology, "leaf0 port 4")
    rates = machine.topology.link_rate_Bps
    assert rates is not None
    assert rates[link] == rates[back_of(machine.topology, link)] == 2e9
    assert sorted(set(rates.tolist())) == [2e9, 12.5e9]
    assert machine.costs.link_Bps == machine.costs.port_out_Bps == 12.5e9
    assert machine.costs.model == "packet"
    assert len(machine.warnings) == 1
    assert (
        "leaf0 port 4 – spine0 port 1 runs at 4xDDR, its siblings at 4xEDR" in machine.warnings[0]
    )
    plain = load_machine(written(tmp_path, Cluster(rails=2)) + ",switching=fair,overhead=2us")
    assert plain.costs.port_out_Bps == 25e9
    assert plain.costs.model == "flow"
    assert plain.costs.send_overhead.seconds == (1e-6,)


@pytest.mark.parametrize(
    ("rate", "Gbps"), [("4xQDR", 32), ("4xFDR", 54.545), ("2xHDR", 100), ("4xNDR", 400)]
)
def test_data_rates(tmp_path: Path, rate: str, Gbps: float) -> None:
    cluster = Cluster()
    cluster.rate = dict.fromkeys(cluster.peer, rate)
    machine = load_machine(written(tmp_path, cluster))
    assert machine.topology.link_rate_Bps is None
    assert machine.costs.link_Bps == pytest.approx(Gbps * 1e9 / 8, rel=1e-4)


def test_without_tables_routes_are_assumed(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(Cluster().ibnetdiscover())
    machine = load_machine(tmp_path / "net.txt")
    assert machine.routing.rule == "ecmp"
    assert "no forwarding tables were given" in machine.warnings[0]
    stated = load_machine(f"{tmp_path / 'net.txt'},routing=dmodk")
    assert stated.routing.rule == "dmodk"
    assert stated.warnings == ()


def test_a_directory_is_what_its_files_contain(tmp_path: Path) -> None:
    spec = written(tmp_path, Cluster())
    (tmp_path / "README").write_text("nothing of a fabric\n")
    (tmp_path / "order.dump").write_text("0x0001\tn1\n0x0002\tn2\n")
    found, named = load_machine(tmp_path), load_machine(spec)
    assert (found, found.name) == (named, tmp_path.name)
    (tmp_path / "second.txt").write_text(Cluster().ibnetdiscover())
    with pytest.raises(InputError, match=r"one output of ibnetdiscover .* net\.txt, second\.txt"):
        load_machine(tmp_path)
    with pytest.raises(InputError, match="found: none"):
        load_machine(tmp_path.parent)


def test_an_order_of_hosts(tmp_path: Path) -> None:
    spec = written(tmp_path, Cluster())
    (tmp_path / "order").write_text("0x0004\tn4\n0x0002\tn2\n")
    machine = load_machine(f"{spec},order={tmp_path / 'order'}")
    assert machine.topology.labels[:6] == ("n4", "n2", "n1", "n3", "n5", "n6")


JOBS = {
    "list": ("n5,n[1-2],n6", ["n5", "n1", "n2", "n6"]),
    "rank file": ("rank 1=n2 slot=0\nrank 0=n5 slot=1\n", ["n5", "n2"]),
    "hydra": ("n5:2\n# a comment\nn1\n", ["n5", "n5", "n1"]),
    "open mpi": ("n5 slots=2 max_slots=4\nn1\n", ["n5", "n5", "n1"]),
    "slurm": ("n5\nn1\nn5\n", ["n5", "n1", "n5"]),
}


@pytest.mark.parametrize("kind", JOBS)
def test_hosts_of_a_job(tmp_path: Path, kind: str) -> None:
    """Its hosts in the order of ranks, all others left out; several ranks of one share it."""
    spec, (text, hosts) = written(tmp_path, Cluster()), JOBS[kind]
    if kind != "list":
        (tmp_path / "job").write_text(text)
        text = str(tmp_path / "job")
    machine = load_machine(f"{spec},hosts={text}")
    own = list(dict.fromkeys(hosts))
    assert list(machine.topology.labels[: machine.topology.endpoints]) == own
    assert machine.ranks() == len(hosts)
    schedule = conset.compile(load_pattern("alltoall", machine), machine, method="first-fit")
    assert conset.verify(schedule).ok
    nodes = np.arange(len(hosts)) if schedule.placement is None else schedule.placement
    assert machine.host_names(nodes) == hosts


def test_campaigns_place_the_ranks_of_a_job(tmp_path: Path) -> None:
    spec = f"{written(tmp_path, Cluster())},hosts=n5,n5,n1,n2,n1"
    campaign = campaign_of(
        {
            "mode": "simulated",
            "machines": [{"spec": spec, "name": "job"}, {"spec": "mesh:2", "ranks_per_node": 4}],
            "patterns": [{"spec": "alltoall:size=1KiB"}],
            "contenders": [{"method": "first-fit", "sync": "barrier"}],
        }
    )
    (shared, crowded) = run_campaign(campaign, tmp_path / "results").results
    assert (shared.ranks, crowded.ranks) == (5, 8)
    machine = load_machine(spec)
    alone = conset.compile("alltoall:size=1KiB", machine, method="first-fit", sync="barrier")
    assert alone.placement is not None
    time_s = conset.simulate(alone).time_s
    assert shared.contest("first-fit barrier").times_s == pytest.approx((time_s,))
    assert read_results(campaign, tmp_path / "results") == [shared, crowded]


def test_hosts_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"{written(tmp_path, Cluster())},hosts=$SLURM_JOB_NODELIST"
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[2-3]")
    assert load_machine(spec).topology.labels[:2] == ("n2", "n3")
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    with pytest.raises(UsageError, match="SLURM_JOB_NODELIST is not set"):
        load_machine(spec)


@pytest.mark.parametrize("suffix", LAUNCHER_FILES)
def test_files_of_launchers_are_read_as_written(tmp_path: Path, suffix: str) -> None:
    hosts = ["n2", "n2", "n1", "n2"]
    path = tmp_path / f"x{suffix}"
    path.write_text(LAUNCHER_FILES[suffix](hosts))
    assert read_hosts(str(path)) == hosts


def _text(name: str, change: tuple[str, str]) -> dict[str, str]:
    cluster = Cluster()
    texts = {"net.txt": cluster.ibnetdiscover(), "lfts.txt": cluster.opensm_lfts()}
    assert change[0] in texts[name]
    return texts | {name: texts[name].replace(*change, 1)}


FIRST = "[1](100041) \t"
WRONG = {
    "a port without a cable": (
        _text("lfts.txt", ("0x0006 005", "0x0006 009")),
        "switch leaf0 sends LID 6 to port 9, which has no cable",
    ),
    "a missing LID": (
        _text("lfts.txt", ("0x0006 005 # Channel Adapter", "#")),
        "switch leaf0 has no entry for LID 6 of n6",
    ),
    "a loop": (
        _text("lfts.txt", ("0x0004 003", "0x0004 001")),
        r"switch \w+ sends LID 4 of n4 to port \d: loop",
    ),
    "another host": (
        _text("lfts.txt", ("0x0001 001", "0x0001 002")),
        "switch leaf0 sends LID 1 of n1 to port 2: leads to node 1 'n2'",
    ),
    "the switch itself": (
        _text("lfts.txt", ("0x0001 001", "0x0001 000")),
        "sends LID 1 to port 0, which is the switch itself",
    ),
    "another fabric": (
        _text("lfts.txt", ("guid 0x0000000000200000", "guid 0x0000000000209990")),
        "lfts.txt:1: switch 0x0000000000209990 is not in net.txt: tables of another fabric",
    ),
    "a table that is missing": (
        {
            k: v.split("Unicast lids [0-10] of switch Lid 10")[0] if k == "lfts.txt" else v
            for k, v in _text("net.txt", ("", "")).items()
        },
        "no table of switch spine1, 3 of 4 switches have one",
    ),
    "other adapters": (
        _text("lfts.txt", ("portguid 0x0000000000100041", "portguid 0x0000000000100099")),
        "LID 1 is port 0x100099, in net.txt 0x100041: tables of another fabric",
    ),
    "a cut file": (
        {
            k: v[: v.rindex("[1]")] if k == "net.txt" else v
            for k, v in _text("net.txt", ("", "")).items()
        },
        "joined to n6 port 1, which does not say so: the file is cut short",
    ),
    "an unknown rate": (_text("net.txt", ("4xEDR", "4xABC")), "rate '4xABC': lanes x one of SDR"),
    "a LID out of range": (_text("net.txt", ("lid 1 lmc 0", "lid 99999 lmc 0")), "lid 99999 lmc 0"),
    "no entry": (_text("lfts.txt", ("0x0002 002", "0x0002 zzz")), "'0x0002 zzz.*no entry"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_contradicts_itself_is_refused(tmp_path: Path, what: str) -> None:
    texts, rule = WRONG[what]
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rule):
        load_machine(f"{tmp_path / 'net.txt'},routes={tmp_path / 'lfts.txt'}")


def test_hosts_out_of_reach_are_left_out_with_a_warning(tmp_path: Path) -> None:
    cluster = Cluster()
    del cluster.tables["leaf1"][2]
    spec = written(tmp_path, cluster, "fdbs")
    machine = load_machine(spec)
    assert "n2" not in machine.topology.labels
    assert machine.warnings == (
        "lfts.txt: LID 2 of host n2 is unreachable at leaf1: it is left out",
    )
    with pytest.raises(InputError, match="switch leaf1 cannot reach LID 2 of n2"):
        load_machine(f"{spec},hosts=n2,n5")
    alone = cluster.ibnetdiscover() + '\nCa\t1 "H-0000000000999999"\t\t# "lost"\n'
    (tmp_path / "net.txt").write_text(alone)
    assert "net.txt: host lost has no cable: it is left out" in load_machine(spec).warnings


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ("hosts=n7", "hosts: 'n7' is no host of net.txt"),
        ("color=red", "unknown option of a cluster"),
        ("routing=ecmp", "the tables of routes= say the routes"),
        ("hosts=n[1", "hosts: "),
        ("uplink=1GB/s", "does not go with net.txt"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: str, rule: str) -> None:
    with pytest.raises((InputError, UsageError), match=rule.replace("[", r"\[")):
        load_machine(f"{written(tmp_path, Cluster())},{options}")
    with pytest.raises(UsageError, match="is forwarding tables; the network comes first"):
        load_machine(tmp_path / "lfts.txt")


def test_numbers_of_real_subnet_managers(shared_data: Path) -> None:
    """Busiest link of a complete exchange, and the sum of the worst over the steps of a shift."""
    for folder, busiest, shift in (
        ("leaf_spine_16", 15, 15),
        ("leaf_spine_96", 144, 166),
        ("leaf_spine_144_ftree", 264, 274),
        ("torus_6x6_two_cables_dead_dfsssp", 42, 119),
    ):
        machine = load_machine(shared_data / "clusters" / folder)
        exchange = load_pattern("alltoall", machine)
        naive = conset.compile(exchange, machine, method="naive")
        steps = conset.compile(exchange, machine, method="gen")
        assert int(phase_loads(naive).link.max()) == busiest
        assert int(phase_loads(steps).link.sum()) == shift


SLURM = """# two leaves
SwitchName=s0 Nodes=n[001-003]
switchname=s1 nodes=n[005-006],n004 LinkSpeed=100
SwitchName=top Switches=s[0-1]
"""


def test_a_tree_of_slurm(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(SLURM)
    spec = f"{tmp_path / 'topology.conf'},link=10GB/s"
    machine = load_machine(spec)
    topology = machine.topology
    assert topology.labels == (*(f"n00{k}" for k in range(1, 7)), "s0", "s1", "top")
    assert topology.level is not None
    assert topology.level.tolist() == [0] * 6 + [1, 1, 2]
    rates = topology.link_rate_Bps
    assert rates is not None
    assert set(rates[topology.link_target == 8].tolist()) == {30e9}
    assert any("uplink= states another" in line for line in machine.warnings)
    stated = load_machine(f"{spec},uplink=5GB/s,hosts=n00[4-6]")
    assert stated.topology.labels == ("n004", "n005", "n006", "s1", "top")
    assert conset.verify(conset.compile("alltoall", stated)).ok


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("s[0-1]", "s[0-2]"), "switch s2 below top has no line"),
        (("s[0-1]", "s[0-1],top"), "below each other in a circle: top"),
        (("n004", "n001"), "host n001 is below s0 too"),
        (("switchname=s1", "switchname=s0"), "switch s0 is given twice"),
        (("Nodes=n", "Colour=n"), "key 'colour': Nodes or Switches required"),
        (("s[0-1]", "s0"), "disconnected"),
    ],
)
def test_a_tree_that_is_none(tmp_path: Path, change: tuple[str, str], rule: str) -> None:
    (tmp_path / "topology.conf").write_text(SLURM.replace(*change, 1))
    with pytest.raises(InputError, match=rule):
        load_machine(tmp_path / "topology.conf")


def test_a_dead_cable_moves_its_messages_to_its_siblings(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, Cluster()))
    topology = machine.topology
    link = find_cable(topology, "leaf0:4")
    assert cable_name(topology, link) == "leaf0 port 4 → spine0 port 1"
    left = without_cable(machine, link)
    assert left.topology.links == topology.links - 2
    dead = {"leaf0:4", "spine0:1"}
    for before, after in zip(routes_of(machine), routes_of(left), strict=True):
        if dead.isdisjoint(before):
            assert after == before
        else:
            assert dead.isdisjoint(after)
            assert len(after) == len(before)


def test_a_cable_that_is_the_only_way_is_not_left_out(tmp_path: Path) -> None:
    machine = load_machine(written(tmp_path, Cluster(spines=1, cables=1)))
    with pytest.raises(InputError, match="not connected: no route from node 3 'n4' to node 0 'n1'"):
        without_cable(machine, find_cable(machine.topology, "leaf0-spine0"))
    mesh = load_machine("mesh:3x3")
    assert without_cable(mesh, find_cable(mesh.topology, "0-1")).topology.links == 22
    with pytest.raises(UsageError, match=r"a port .* or two nodes"):
        find_cable(mesh.topology, "0-5")


def test_an_order_for_a_launcher_is_that_of_the_naive_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A complete exchange loads links alike in every order; what meets on them differs."""
    monkeypatch.chdir(Path(__file__).parents[2] / "benchmarks" / "leaf_spine")
    words = ["compile", "alltoall:size=64KiB", "--on", "net.txt,routes=lfts.txt,hosts=hosts.txt"]
    ranks = tmp_path / "x.hostfile"
    assert run([*words, "--placement", "auto", "-o", str(ranks), "--json"]) == 0
    order = json.loads(capsys.readouterr().out)["rank_order"]
    assert order["gain"] > 1.1
    assert read_hosts(str(ranks)) == order["hosts"]


def test_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ranks in an order that crosses the spines: sorted by switch they need not; files for both."""
    cluster = Cluster(leaves=4, hosts=4, spines=2, cables=1)
    cluster.rate["leaf0", 5] = "4xDDR"
    spec = written(tmp_path, cluster)
    hosts = ",".join(f"n{4 * (k % 4) + k // 4 + 1}" for k in range(16))
    out = {name: tmp_path / name for name in ("x.rankfile", "rules", "rules.json", "env")}
    words = ["advise", "neighbor:sides=16", "--on", f"{spec},hosts={hosts}"]
    (tmp_path / "chain.csv").write_text(
        "source,target,bytes\n" + "".join(f"{r},{r + 1},65536\n" for r in range(15))
    )
    words[1] = str(tmp_path / "chain.csv")
    assert run([*words, "--without", "leaf1:5", "-o", str(out["x.rankfile"]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own, best = found["rank_orders"]
    assert best["naive_s"] < own["naive_s"]
    assert read_hosts(str(out["x.rankfile"])) == best["hosts"]
    assert sorted(best["hosts"]) == sorted(own["hosts"])
    assert found["repairs"][0]["name"] == "spine0 port 1 → leaf0 port 5"
    assert found["others"][0]["name"].endswith("without leaf1 port 5")
    assert [way["name"] for way in found["ways"]][:3] == [
        "naive exchange",
        "shift order",
        "pairwise exchange",
    ]
    for name, library in (("rules", "openmpi"), ("rules.json", "openmpi"), ("env", "mpich")):
        assert run([*words, "--tuning", str(out[name]), "--for", library]) == 0
    assert out["rules"].read_text().startswith("rule-file-version-2\n1 #")
    rules = json.loads(out["rules.json"].read_text())["collectives"]["alltoall"][0]
    assert "4 # sets\n16 # ranks\n" in out["rules"].read_text()
    assert (rules["comm_size_min"], rules["rules"][-1]["msg_size_max"]) == (16, "inf")
    assert "MPIR_CVAR_ALLTOALL_THROTTLE=" in out["env"].read_text()
    assert "first spine0 port 1 → leaf0 port 5" in capsys.readouterr().out


def test_an_order_of_ranks_for_a_launcher(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, Cluster(leaves=4, hosts=4, spines=1, cables=1))
    hosts = ",".join(f"n{4 * (k % 4) + k // 4 + 1}" for k in range(16))
    path = tmp_path / "x.hostfile"
    words = ["compile", "stencil:sides=16,size=64KiB", "--on", f"{spec},hosts={hosts}"]
    assert run([*words, "--placement", "auto", "-o", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    order = json.loads(captured.out)["rank_order"]
    assert order["gain"] > 1.5
    assert "times faster in this order of ranks" in captured.err.splitlines()[0]
    assert read_hosts(str(path)) == order["hosts"]
    again = ["compile", "stencil:sides=16,size=64KiB", "--on", spec, "--method", "naive"]
    assert run([*again, "--placement", str(path)]) == 0


def test_what_a_program_was_seen_to_send(shared_data: Path) -> None:
    folder = shared_data / "clusters" / "openmpi_monitoring"
    for path in (folder / "prof.2.prof", folder / "wheel_5" / "p5.0.prof"):
        pattern = load_pattern(path)
        expected = np.full((4, 4), 4096) - 4096 * np.eye(4, dtype=int)
        for rank in range(4):
            expected[rank, (rank + 1) % 4] += 100 * (rank + 1)
        assert pattern.matrix().tolist() == expected.tolist()
        assert {k: n for k, n in enumerate(pattern.sent) if n} == {7: 1, 8: 1, 9: 2, 13: 12}


PROF = """# POINT TO POINT
E\t{r}\t{other}\t{size} bytes\t1 msgs sent\t0,0,0,1
# OSC
S\t{r}\t{other}\t7 bytes\t1 msgs sent
R\t{r}\t{other}\t5 bytes\t1 msgs sent
# COLLECTIVES
C\t{r}\t{other}\t99 bytes\t1 msgs sent
D\tMPI_COMM_WORLD\tprocs: 0,1
A2A\t{r}\t99 bytes\t1 msgs sent
"""


def test_monitoring_of_one_sided_transfers(tmp_path: Path) -> None:
    for rank in range(2):
        text = PROF.format(r=rank, other=1 - rank, size=4 + rank)
        (tmp_path / f"p.{rank}.prof").write_text(text)
    assert load_pattern(tmp_path / "p.0.prof").matrix().tolist() == [[0, 16], [17, 0]]
    (tmp_path / "p.1.prof").unlink()
    with pytest.raises(InputError, match=r"p\.1\.prof: missing, the program had 2 ranks"):
        load_pattern(tmp_path / "p.0.prof")
    (tmp_path / "p.1.prof").write_text(PROF.format(r=0, other=1, size=4))
    with pytest.raises(InputError, match="sent by rank 0 in the file of rank 1"):
        load_pattern(tmp_path / "p.0.prof")


def test_other_routes_are_of_the_same_hosts(tmp_path: Path) -> None:
    spec = written(tmp_path, Cluster())
    found = conset.advise("alltoall", spec, others=[f"{tmp_path / 'net.txt'},routing=dmodk"])
    assert [each.name for each in found.others] == ["net"]
    with pytest.raises(UsageError, match="its 6 hosts are not the 2 of net"):
        conset.advise("alltoall", f"{spec},hosts=n1,n5", others=[spec])
