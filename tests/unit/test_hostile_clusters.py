"""Files of clusters that are made to break a reader: refused in one line, and soon."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conset.base import InputError, UsageError
from conset.inputs import load_machine, load_pattern
from conset.machine.hosts import MAX_HOSTS, expand
from support.fabrics import Cluster
from support.fuzz_readers import soon


def spec_of(folder: Path, net: str, options: str = "") -> str:
    """The spec of a network beside the sound tables of a small fabric."""
    (folder / "net.txt").write_text(net)
    (folder / "lfts.txt").write_text(Cluster().dump_fts())
    return f"{folder / 'net.txt'},routes={folder / 'lfts.txt'}{options}"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("n[1-999999999]", f"more than {MAX_HOSTS} hosts"),
        (f"n[1-{'9' * 5000}]", f"more than {MAX_HOSTS} hosts"),
        ("n[1-3000]m[1-3000]", f"more than {MAX_HOSTS} hosts"),
        ("n[1-200000],m[1-200000]", f"more than {MAX_HOSTS} hosts"),
        (f"n[{'9' * 5000}]", "hosts: 'n"),
        ("n[1", "missing bracket"),
        ("n[2-1]", "bad range"),
    ],
)
def test_lists_without_end_are_refused_before_they_are_made(text: str, rule: str) -> None:
    pytest.importorskip("ClusterShell", reason="ClusterShell is not installed")
    with soon(), pytest.raises(UsageError, match=rule):
        expand(text)


def test_long_lists_take_linear_time() -> None:
    names = [f"node{k}" for k in range(100_000)]
    start = time.perf_counter()
    assert expand(",".join(names)) == names
    assert time.perf_counter() - start < 2


def test_a_list_of_hosts_starts_no_program(tmp_path: Path) -> None:
    """ClusterShell looks up `@group` by the commands of its configuration, unless forbidden."""
    pytest.importorskip("ClusterShell", reason="ClusterShell is not installed")
    (tmp_path / "groups.conf").write_text(
        f"[Main]\ndefault: x\n[x]\nmap: touch {tmp_path}/ran\nall: touch {tmp_path}/ran\n"
        f"list: touch {tmp_path}/ran\n"
    )
    path = tmp_path / "topology.conf"
    for hosts in ("@x[1-2]", "n[1-2]*", "n[1-2]&@x", f"@x;touch${{IFS}}{tmp_path}/ran;[1]"):
        path.write_text(f"SwitchName=s Nodes={hosts}\n")
        code = f"from conset import load_machine\nload_machine({str(path)!r})"
        environment = {**os.environ, "CLUSTERSHELL_CFGDIR": str(tmp_path)}
        subprocess.run(
            [sys.executable, "-c", code], env=environment, check=False, capture_output=True
        )
        assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("hosts", ["", "x1", "n1,n2", "n1,x1"])
def test_a_cable_between_two_hosts_is_left_out(tmp_path: Path, hosts: str) -> None:
    more = (
        '\nCa\t1 "H-00000000000000aa"\t\t# "x1"\n'
        '[1](ab) \t"H-00000000000000bb"[1]\t\t# lid 50 lmc 0 "x2" lid 51 4xEDR\n'
        '\nCa\t1 "H-00000000000000bb"\t\t# "x2"\n'
        '[1](bc) \t"H-00000000000000aa"[1]\t\t# lid 51 lmc 0 "x1" lid 50 4xEDR\n'
    )
    spec = spec_of(tmp_path, Cluster().ibnetdiscover() + more, f",hosts={hosts}" if hosts else "")
    if "x1" in hosts:
        with pytest.raises(InputError, match="'x1' is no host of"):
            load_machine(spec)
    else:
        machine = load_machine(spec)
        assert "x1" not in machine.topology.labels
        assert any("x1 port 1 – x2 port 1 joins two hosts" in line for line in machine.warnings)


def test_switches_with_one_guid_are_refused(tmp_path: Path) -> None:
    text = Cluster().ibnetdiscover()
    again = 'Switch\t4 "S-200000"\t\t# "leaf9" base port 0 lid 10 lmc 0\n'
    with pytest.raises(InputError, match="two switches have one guid"):
        load_machine(spec_of(tmp_path, text.replace("Switch", again + "Switch", 1)))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (f",hash={'9' * 5000}", "hash=99.*a whole number required"),
        (",hash=²", "hash=²: a whole number required"),
        (",order={}/lfts.txt", "lfts.txt: has no host of net.txt"),
        (",x]", "no file or directory of a cluster"),
        (f",{'x' * 5000}]", "no file or directory of a cluster"),
        (",\0]", "no file or directory of a cluster"),
    ],
)
def test_options_that_no_cluster_has(tmp_path: Path, options: str, rule: str) -> None:
    net = spec_of(tmp_path, Cluster().ibnetdiscover()).partition(",")[0]
    with pytest.raises((InputError, UsageError), match=rule):
        load_machine(net + options.format(tmp_path))


TREES = {
    "several switches": (
        "SwitchName=s[1-5000] Nodes=n[1-5000]\n",
        "topology.conf:1: n1 is below s1 and s2",
    ),
    "several above several": (
        "SwitchName=s[1-1000] Switches=t[1-1000]\n",
        f"topology.conf:1: more than {MAX_HOSTS} switches below others",
    ),
    "a chain that doubles": (
        "SwitchName=s0 Nodes=n[1-2]\n"
        + "".join(f"SwitchName=s{k} Switches=s{k - 1},s{k - 1}\n" for k in range(1, 1100)),
        "",
    ),
    "a long chain": (
        "SwitchName=s0 Nodes=n[1-2]\n"
        + "".join(f"SwitchName=s{k} Switches=s{k - 1}\n" for k in range(1, 5000)),
        "",
    ),
}


@pytest.mark.parametrize("kind", TREES)
def test_trees_that_grow(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("ClusterShell", reason="ClusterShell is not installed")
    text, rule = TREES[kind]
    (tmp_path / "topology.conf").write_text(text)
    with soon():
        if rule:
            with pytest.raises(InputError, match=rule):
                load_machine(tmp_path / "topology.conf")
        else:
            assert load_machine(tmp_path / "topology.conf").topology.endpoints == 2


def test_monitoring_that_adds_up_to_no_number(tmp_path: Path) -> None:
    many = 10**18 - 1
    line = f"E\t0\t1\t5 bytes\t{many} msgs sent\t0,{many}\n"
    path = tmp_path / "p.0.prof"
    (tmp_path / "p.1.prof").write_text("# none\n")
    path.write_text(12 * line)
    with pytest.raises(InputError, match=r"line 5: .* messages in all, at most 2\^62"):
        load_pattern(path)
    path.write_text("D\tMPI_COMM_WORLD\tprocs: 0,1,2\n")
    (tmp_path / "p.1.prof").write_text("D\tMPI_COMM_WORLD\tprocs: 0,1\n")
    with pytest.raises(InputError, match="line 1: 2 ranks, in the files before 3"):
        load_pattern(path)


@pytest.mark.parametrize("name", ["p[1]", "p**", "p?"])
def test_names_of_monitoring_files_are_no_patterns(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.0.prof").write_text("E\t0\t1\t5 bytes\t1 msgs sent\n")
    (tmp_path / f"{name}.1.prof").write_text("# none\n")
    assert load_pattern(tmp_path / f"{name}.0.prof").matrix().tolist() == [[0, 5], [0, 0]]
