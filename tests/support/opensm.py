"""OpenSM on ibsim: cablings, the programs that route and dump them, and a slow reader of the files.

ibsim simulates an InfiniBand fabric without hardware, kernel modules or root. OpenSM routes it, the
diagnostics of InfiniBand write its cables and forwarding tables. The Debian packages are opensm,
ibsim-utils and infiniband-diags.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path

End = tuple[str, int]
"""A node, by its name or identifier, and one of its ports."""

PROGRAMS = ("opensm", "ibsim", "ibnetdiscover", "dump_fts")
PACKAGES = "opensm ibsim-utils infiniband-diags"
LIBRARY = "umad2sim/libumad2sim.so"
"""Library that connects a program to ibsim instead of the kernel, below a folder of libraries."""
TIMEOUT_S = 30
"""Time limit of one program. Each of them takes less than 0.1 s when the machine is idle."""


# Cablings


@dataclass
class Cabling:
    """Hosts, switches and the cables between their ports.

    Attributes:
        ports: the other end of the cable at each port of each node. Names of hosts begin with
            "host". A switch may have ports without a cable.
    """

    ports: dict[str, dict[int, End]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, in the order of their numbers."""
        names = [name for name in self.ports if is_host(name)]
        return sorted(names, key=lambda name: int(name.removeprefix("host")))

    @property
    def cables(self) -> int:
        """Number of cables."""
        return sum(map(len, self.ports.values())) // 2

    def connect(self, one: str, other: str, at: int = 0, other_at: int = 0) -> None:
        """Connect two nodes by a cable, at their next free ports unless these are given."""
        at = at or len(self.ports[one]) + 1
        other_at = other_at or len(self.ports[other]) + 1
        assert at not in self.ports[one]
        assert other_at not in self.ports[other]
        self.ports[one][at] = other, other_at
        self.ports[other][other_at] = one, at

    def netfile(self) -> str:
        """Return the cabling in ibsim's NET format, which lists each cable at both ends."""
        blocks = []
        for name, ports in self.ports.items():
            head = f'{"Hca" if is_host(name) else "Switch"}\t{max(ports)}\t"{name}"'
            lines = [f'[{port}]\t"{peer}"[{at}]' for port, (peer, at) in sorted(ports.items())]
            blocks.append("\n".join([head, *lines, ""]))
        return "\n".join(blocks)


def is_host(name: str) -> bool:
    """Whether a node of a cabling is a host."""
    return name.startswith("host")


def leaf_spine(leaves: int, spines: int, hosts: int, cables: int = 1, ports: int = 1) -> Cabling:
    """Two levels of switches, with parallel cables between each leaf and each spine.

    Args:
        leaves: number of leaf switches.
        spines: number of spine switches.
        hosts: number of hosts in all. Host k is on leaf k mod `leaves`, its further ports are on
            the next leaves.
        cables: number of cables between each leaf and each spine.
        ports: most ports of a host; host k has 1 + k mod `ports` of them.
    """
    cabling = Cabling()
    for host in range(hosts):
        for port in range(1 + host % ports):
            cabling.connect(f"host{host}", f"leaf{(host + port) % leaves}")
    for leaf in range(leaves):
        for spine in range(spines):
            for _ in range(cables):
                cabling.connect(f"leaf{leaf}", f"spine{spine}")
    return cabling


def fat_tree(k: int) -> Cabling:
    """Three-level fat tree of switches with `k` ports: k³/4 hosts."""
    cabling, half = Cabling(), k // 2
    for edge in range(k * half):
        for host in range(half):
            cabling.connect(f"host{edge * half + host}", f"edge{edge}")
    for pod in range(k):
        for edge in range(half):
            for middle in range(half):
                cabling.connect(f"edge{pod * half + edge}", f"middle{pod * half + middle}")
    for middle in range(k * half):
        for top in range(half):
            cabling.connect(f"middle{middle}", f"top{middle % half * half + top}")
    return cabling


def ring(switches: int, hosts: int) -> Cabling:
    """Ring of switches, each with `hosts` hosts behind the ports of the ring."""
    cabling = Cabling()
    for switch in range(switches):
        cabling.connect(f"switch{switch}", f"switch{(switch + 1) % switches}", 1, 2)
    add_hosts(cabling, switches, hosts)
    return cabling


def torus(width: int, height: int) -> Cabling:
    """Torus of switches with a host each; one pair of ports for each dimension, as `dor` needs."""
    cabling = Cabling()
    for y in range(height):
        for x in range(width):
            here = f"switch{y * width + x}"
            cabling.connect(here, f"switch{y * width + (x + 1) % width}", 1, 2)
            cabling.connect(here, f"switch{(y + 1) % height * width + x}", 3, 4)
    add_hosts(cabling, width * height, 1)
    return cabling


def random_regular(switches: int, degree: int, hosts: int, seed: int) -> Cabling:
    """Connected random graph of switches with `degree` neighbours and `hosts` hosts each.

    Random pairings of all ports are drawn until one is a simple connected graph.
    """
    draw = random.Random(seed)
    while True:
        ends = [switch for switch in range(switches) for _ in range(degree)]
        draw.shuffle(ends)
        pairs = {frozenset(pair) for pair in zip(ends[::2], ends[1::2], strict=True)}
        simple = len(pairs) == len(ends) // 2 and all(len(pair) == 2 for pair in pairs)
        if simple and is_connected(switches, pairs):
            break
    cabling = Cabling()
    for one, other in combinations(range(switches), 2):
        if frozenset((one, other)) in pairs:
            cabling.connect(f"switch{one}", f"switch{other}")
    add_hosts(cabling, switches, hosts)
    return cabling


def is_connected(nodes: int, pairs: set[frozenset[int]]) -> bool:
    """Whether pairs of nodes connect all of them."""
    reached, before = {0}, 0
    while before < len(reached):
        before = len(reached)
        reached |= {node for pair in pairs if pair & reached for node in pair}
    return len(reached) == nodes


def add_hosts(cabling: Cabling, switches: int, hosts: int) -> None:
    """Connect `hosts` hosts to each of the switches."""
    for host in range(switches * hosts):
        cabling.connect(f"host{host}", f"switch{host // hosts}")


# Programs


def find_program(name: str) -> str | None:
    """Path of a program. PATH of an ordinary user has no /usr/sbin, where Debian has most."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path)


@cache
def find_library() -> Path | None:
    """Path of the library that connects programs to ibsim."""
    usual = [f"lib/{LIBRARY}", f"lib64/{LIBRARY}", f"lib/*-linux-gnu*/{LIBRARY}"]
    return next((path for each in usual for path in Path("/usr").glob(each)), None)


@cache
def missing_programs() -> str:
    """Reason for a skip: what is not installed, and the packages that contain it; "" for none."""
    missing = [name for name in PROGRAMS if find_program(name) is None]
    if find_library() is None:
        missing.append(LIBRARY)
    return f"no {', '.join(missing)}: apt-get install {PACKAGES}" if missing else ""


def route(cabling: Cabling, engine: str, folder: Path, lmc: int = 0) -> None:
    """Route a cabling by OpenSM, and write what its tools report into a folder.

    The files are `net.txt` (ibnetdiscover), `lfts.txt` (dump_fts), and `opensm-lfts.dump` and
    `opensm.fdbs` (OpenSM).

    Args:
        cabling: hosts, switches and cables.
        engine: routing engine of OpenSM.
        folder: folder for all files; it is empty.
        lmc: each port of a host has 2^lmc LIDs.

    Raises:
        RuntimeError: a program failed, or OpenSM did not route by this engine.
    """
    (folder / "NET").write_text(cabling.netfile())
    with start_ibsim(folder, cabling.hosts[0]) as environment:

        def run(name: str, *options: str) -> str:
            done = subprocess.run(
                [str(find_program(name)), *options],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            if done.returncode or not done.stdout:
                raise RuntimeError(f"{name}: exit {done.returncode}: {done.stdout}{done.stderr}")
            return done.stdout

        # log level 0x43: errors, information, dumps of routes. OpenSM routes by minhop where the
        # engine fails; with no_fallback, it would try the engine again until it is killed.
        options = ["-R", engine, "-l", str(lmc), "-D", "0x43", "-f", "opensm.log"]
        run("opensm", "--once", *options)
        log = (folder / "opensm.log").read_text()
        if f"{engine} tables configured on all switches" not in log:
            raise RuntimeError(f"opensm -R {engine}: {log}")
        (folder / "net.txt").write_text(run("ibnetdiscover"))
        (folder / "lfts.txt").write_text(run("dump_fts"))


@contextmanager
def start_ibsim(folder: Path, host: str) -> Iterator[dict[str, str]]:
    """Simulate the cabling in `folder`/NET until the context ends.

    Yields:
        The environment of programs on `host`. The simulator has an abstract socket of its own, so
        any number of them run side by side.
    """
    socket = f"ibsim-{uuid.uuid4().hex}"
    environment = os.environ | {
        "IBSIM_SOCKNAME": socket,
        "SIM_HOST": host,
        "OSM_TMP_DIR": str(folder),
        "OSM_CACHE_DIR": str(folder),
    }
    with (
        (folder / "ibsim.log").open("w") as log,
        subprocess.Popen(
            [str(find_program("ibsim")), "-s", "-n", "NET"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as ibsim,
    ):
        try:
            end = time.monotonic() + TIMEOUT_S
            while f"@{socket}:ctl" not in Path("/proc/net/unix").read_text():
                if ibsim.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"ibsim: {(folder / 'ibsim.log').read_text()}")
                time.sleep(0.005)
            yield environment | {"LD_PRELOAD": str(find_library())}
        finally:
            ibsim.kill()


# Slow reader

NODE = re.compile(r'(?:Switch|Ca)\s+\d+\s+"(\S+)"\s+# "(\S+)"')
CABLE = re.compile(
    r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"(\S+)"\[(\d+)\](?:\([0-9a-f]+\))?\s+# (?:lid (\d+) lmc (\d+))?'
)
TABLE = re.compile(r"(?:Unicast lids .* guid|dump_ucast_routes: Switch) 0x([0-9a-f]{16})")
ENTRY = re.compile(r"0x([0-9a-fA-F]{4}) (?:: )?(\d{3}) ")


class SlowFabric:
    """Routes between hosts, walked switch by switch in the files of the tools.

    Attributes:
        name: name of each node, by its identifier (`S-0000000000200003`).
        peer: the other end of the cable at each end.
        lids: LIDs of each port of a host.
        table: port by which a switch forwards a LID; no entry where the switch has none.
        hosts: identifiers of hosts, in the order of the numbers in their names.
        rails: ports of each host, by its identifier.
    """

    def __init__(self, network: Path, routes: Path) -> None:
        self.name: dict[str, str] = {}
        self.peer: dict[End, End] = {}
        self.lids: dict[End, list[int]] = {}
        self.table: dict[tuple[str, int], int] = {}
        node = ""
        for line in network.read_text().splitlines():
            if found := NODE.match(line):
                node, self.name[node] = found[1], found[2]
            elif found := CABLE.match(line):
                end = node, int(found[1])
                self.peer[end] = found[2], int(found[3])
                if found[4]:
                    self.lids[end] = [int(found[4]) + k for k in range(2 ** int(found[5]))]
        for line in routes.read_text().splitlines():
            if found := TABLE.match(line):
                node = f"S-{found[1]}"
            elif found := ENTRY.match(line):
                self.table[node, int(found[1], 16)] = int(found[2])
        hosts = [node for node in self.name if node.startswith("H-")]
        self.hosts = sorted(hosts, key=lambda node: int(self.name[node].removeprefix("host")))
        self.rails = {
            host: sorted(port for node, port in self.lids if node == host) for host in hosts
        }

    def walk(self, source: int, target: int) -> list[str]:
        """Return the labels of the links from one host to another.

        With several ports or LIDs per host, the sum of the numbers of both hosts selects the port
        at each of them first, then the LID of the latter.
        """
        node, end = self.hosts[source], self.hosts[target]
        turn, rail = divmod(source + target, max(map(len, self.rails.values())))
        port, end_port = (self.rails[host][rail % len(self.rails[host])] for host in (node, end))
        lids = self.lids[end, end_port]
        lid = lids[turn % len(lids)]
        links = []
        while True:
            links.append(f"{self.name[node]}:{port}")
            node, _ = self.peer[node, port]
            if node == end:
                return links
            assert len(links) < len(self.name), f"LID {lid}: loop {links}"
            port = self.table[node, lid]

    def exchange(self) -> tuple[Counter[str], dict[tuple[int, int], int]]:
        """Return the load of each link in a complete exchange, and the hops of each pair."""
        loads, hops = Counter[str](), dict[tuple[int, int], int]()
        for source in range(len(self.hosts)):
            for target in range(len(self.hosts)):
                if source != target:
                    links = self.walk(source, target)
                    loads.update(links)
                    hops[source, target] = len(links)
        return loads, hops
