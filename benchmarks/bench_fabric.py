"""A fabric of 10,000 hosts from the files of its tools: time and memory.

    PYTHONPATH=src python benchmarks/bench_fabric.py [FOLDER]

The fabric has three levels: `LEAVES` switches with `HOSTS` hosts each, in pods with `MIDDLES`
switches above, and `CORES` switches that join the pods. Its forwarding tables, as `dump_fts`
writes them, have 11 million lines and 0.8 GB. Both files are made in a temporary folder, inside
FOLDER where it is given, and removed afterwards.

Each line is a process of its own: its wall and processor times [s], and its peak memory [GiB],
which includes the interpreter and the package. The run fails above `MOST_S` or `MOST_GiB`.

- read: `conset.load_machine` of the network and its tables, which are checked;
- routed: the same, and the core's form of all routes;
- job: the same of `JOB` hosts only, and their complete exchange compiled with first fit.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PODS, LEAVES, HOSTS, MIDDLES, CORES = 20, 500, 20, 20, 100
"""Pods; leaf switches, hosts of each; middle switches of a pod; switches above the pods."""
IN_POD = LEAVES // PODS
UP, CABLES = 15, 3
"""Cables of a middle switch upwards; those to the same switch."""
ABOVE = UP // CABLES
ENDPOINTS, NODES = LEAVES * HOSTS, LEAVES * (1 + HOSTS) + PODS * MIDDLES + CORES
JOB = 512
MOST_S, MOST_GiB = 60.0, 4.0
OWNER = "Channel Adapter portguid 0x{:016x}: 'n{:05d} HCA-1'"
OF_SWITCH = "Switch portguid 0x{:016x}: 's{:04d}'"
Ints = NDArray[np.int64]


def main() -> int:
    if len(sys.argv) > 1 and sys.argv[1] == "--measure":
        print(json.dumps(measure(sys.argv[2], sys.argv[3])))
        return 0
    print(f"{ENDPOINTS} hosts, {NODES - ENDPOINTS} switches, {len(cables())} cables")
    missed = 0
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        start = time.perf_counter()
        size = write(Path(folder))
        print(f"written: {size / 1e9:.2f} GB of tables in {time.perf_counter() - start:.1f} s")
        for what in ("read", "routed", "job"):
            command = [sys.executable, __file__, "--measure", what, folder]
            result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found = json.loads(result.stdout)
            over = found["wall_s"] > MOST_S or found["peak_GiB"] > MOST_GiB
            missed += over
            print(
                f"{what:>8}: {found['wall_s']:6.1f} s, of a processor {found['cpu_s']:6.1f} s, "
                f"{found['peak_GiB']:5.2f} GiB{'  OVER' if over else ''}  {found['what']}",
                flush=True,
            )
    return 1 if missed else 0


def measure(what: str, folder: str) -> dict[str, float | str]:
    """Reads the files in this process; what it took."""
    import conset
    from conset.machine import core_network

    hosts = ""
    if what == "job":
        (Path(folder) / "job").write_text(
            "".join(f"n{k * ENDPOINTS // JOB:05d}\n" for k in range(JOB))
        )
        hosts = f",hosts={folder}/job"
    start, begin = time.perf_counter(), time.process_time()
    machine = conset.load_machine(f"{folder}/net.txt,routes={folder}/lfts.txt{hosts}")
    made = f"{machine.topology.links} links"
    if what == "routed":
        core_network(machine.topology, machine.routing)
    if what == "job":
        schedule = conset.compile("alltoall", machine, method="first-fit", sync="barrier")
        made = f"{schedule.pattern.messages} messages in {schedule.phases} phases"
    return {
        "wall_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - begin,
        "peak_GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "what": made,
    }


def cables() -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(node, port) of both ends of every cable; nodes are hosts, leaf, middle and top switches."""
    found = [
        ((host, 1), (ENDPOINTS + host // HOSTS, 1 + host % HOSTS)) for host in range(ENDPOINTS)
    ]
    middle, core = ENDPOINTS + LEAVES, ENDPOINTS + LEAVES + PODS * MIDDLES
    for leaf in range(LEAVES):
        pod, place = divmod(leaf, IN_POD)
        for k in range(MIDDLES):
            ends = (ENDPOINTS + leaf, 1 + HOSTS + k), (middle + pod * MIDDLES + k, 1 + place)
            found.append(ends)
    for pod in range(PODS):
        for k in range(MIDDLES):
            for up in range(UP):
                above, cable = divmod(up, CABLES)
                found.append(
                    (
                        (middle + pod * MIDDLES + k, 1 + IN_POD + up),
                        (core + k * ABOVE + above, 1 + pod * CABLES + cable),
                    )
                )
    return found


def tables() -> Iterator[tuple[int, Ints]]:
    """(switch, its port for each host): up by the number of the host, down the only way."""
    host = np.arange(ENDPOINTS)
    leaf, pod = host // HOSTS, host // (HOSTS * IN_POD)
    for k in range(LEAVES):
        yield k, np.where(leaf == k, 1 + host % HOSTS, 1 + HOSTS + host % MIDDLES)
    for k in range(PODS * MIDDLES):
        up = 1 + IN_POD + host // MIDDLES % UP
        yield LEAVES + k, np.where(pod == k // MIDDLES, 1 + leaf % IN_POD, up)
    for k in range(CORES):
        yield LEAVES + PODS * MIDDLES + k, 1 + pod * CABLES + host // 300 % CABLES


def write(folder: Path) -> int:
    """Writes `net.txt` and `lfts.txt`; the size of the second [B]."""
    network(folder / "net.txt")
    lids = np.array([f"0x{lid:04x} " for lid in range(1, NODES + 1)])
    owners = [OWNER.format(guid(k) + 1, k) for k in range(ENDPOINTS)]
    owners += [OF_SWITCH.format(guid(k), k - ENDPOINTS) for k in range(ENDPOINTS, NODES)]
    lines = [f"{lid}000 : ({owner})\n".encode() for lid, owner in zip(lids, owners, strict=True)]
    text = np.frombuffer(b"".join(lines), np.uint8).copy()
    at = np.cumsum([0, *map(len, lines)])[:-1, None] + 7 + np.arange(3)
    digits = np.array([list(f"{port:03d}".encode()) for port in range(256)], np.uint8)
    size = 0
    with (folder / "lfts.txt").open("wb") as file:
        for switch, port in tables():
            other = np.ones(NODES - ENDPOINTS, np.int64)  # switches hold no ranks
            other[switch] = 0
            text[at] = digits[np.concatenate([port, other])]
            node = ENDPOINTS + switch
            head = (
                f"Unicast lids [0x0-0x{NODES:x}] of switch DR path slid 0; dlid 0; 0 guid "
                f"0x{guid(node):016x} (s{switch:04d}):\n  Lid  Out   Destination\n"
                "       Port     Info \n"
            )
            size += file.write(head.encode())
            size += file.write(text.tobytes())
            size += file.write(f"{NODES} valid lids dumped \n".encode())
    return size


def network(path: Path) -> None:
    """Writes what `ibnetdiscover` writes: a block for each node, a line for each of its ports."""
    ports: dict[int, list[tuple[int, int, int]]] = {node: [] for node in range(NODES)}
    for one, other in cables():
        ports[one[0]].append((one[1], *other))
        ports[other[0]].append((other[1], *one))
    with path.open("w") as file:
        for node in (*range(ENDPOINTS, NODES), *range(ENDPOINTS)):
            count, of_host = len(ports[node]), node < ENDPOINTS
            about = name(node) if of_host else f"{name(node)} base port 0 lid {node + 1} lmc 0"
            file.write(f"\nvendid=0x2c9\nsysimgguid=0x{guid(node):x}\n")
            file.write(f'{"Ca" if of_host else "Switch"}\t{count} "{mark(node)}"\t\t# {about}\n')
            for port, other, there in sorted(ports[node]):
                own = f"({guid(node) + 1:x})" if of_host else ""
                far = f"({guid(other) + 1:x})" if other < ENDPOINTS else ""
                lids = f"lid {node + 1} lmc 0 " if of_host else ""
                file.write(
                    f'[{port}]{own} \t"{mark(other)}"[{there}]{far}\t\t'
                    f"# {lids}{name(other)} lid {other + 1} 4xHDR\n"
                )


def guid(node: int) -> int:
    return 0x98039B0300000000 + 16 * node


def mark(node: int) -> str:
    return f"{'H' if node < ENDPOINTS else 'S'}-{guid(node):016x}"


def name(node: int) -> str:
    return f'"n{node:05d} HCA-1"' if node < ENDPOINTS else f'"s{node - ENDPOINTS:04d}"'


if __name__ == "__main__":
    sys.exit(main())
