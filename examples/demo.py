"""The main job, command by command: an exchange and a mesh become schedules that run over MPI.

    python examples/demo.py FOLDER

Every step is a `conset` command as a user would type it; it is printed before it runs. The first
and the last lines are the result.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


def main(folder: Path) -> None:
    """Runs all steps; ends with the exit code of the first that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    machine, exchange = folder / "credit.toml", folder / "exchange.json"
    machine.write_text(MACHINE, encoding="utf-8")
    say("1. A complete exchange on 16 nodes with back-pressure: compiled, verified, reported.")
    conset("compile", EXCHANGE, "--on", machine, "-o", exchange)
    conset("verify", exchange)
    report = folder / "report.html"
    conset("report", exchange, "-o", report, quiet=True)

    say("2. The same on such a network, made of namespaces on this machine; every byte checked.")
    result = contended(folder, machine, exchange)

    say("3. A finite-element mesh of 20,998 triangles in 16 parts: its halo exchange on the Delta.")
    mesh, halo = folder / "m11k.msh", folder / "halo.json"
    run(sys.executable, HERE / "make_mesh.py", mesh)
    parts = ("--parts", 16, "--on", "delta:4x4", "--word", "1KiB")
    conset("compile", mesh, *parts, "-o", halo)
    conset("show", halo, "-o", folder / "halo.svg", quiet=True)

    say("4. The halo exchange on 16 MPI ranks of this machine, where it meets no network.")
    conset("run", halo, "--repeat", 5)

    print(
        f"\n{result}\n{report} shows it, {folder}/halo.svg the halo exchange "
        f"({time.monotonic() - start:.0f} s)."
    )


EXCHANGE = "alltoall:size=64KiB"
"""Between all nodes; its times on the testbed are far above what a busy machine adds."""
MACHINE = """\
# What `conset testbed up --fabric credit --rate 20mbit` builds: 4 x 4 nodes with back-pressure.
# Words as `conset calibrate` finds them, measured on two busy cores (docs/cost-model.md, \
docs/testbed.md).
about = "contended network on one machine, emulated"

[network]
kind = "mesh"
sides = [4, 4]

[costs]
model = "packet"             # packets that queue, the first of a queue holds back what is behind it
link = "2.39MB/s"            # 1448 of 1514 bytes at 20 Mbit/s
port = "2.39MB/s"
link_buffers = "11584B"      # 8 packets behind each link
window = "92672B"
overhead = "200us"
inject = "700us"
eject = "0s"
signal = "1.2ms"
synchronization = "4.5ms"    # a barrier of 16 ranks
jitter = "1ms"
"""
RECORDED = (
    "Recorded, not measured now, on a machine of two cores: the schedule took 0.54 s, posting "
    "everything 0.89 s in rotated order and 1.20 s in rank order."
)
BED = "demo"
TTL_S = 150
LONGEST_S = 120.0


def contended(folder: Path, machine: Path, exchange: Path) -> str:
    """The exchange measured on a contended network beside the naive one in two orders.

    Returns the result in a sentence; what was recorded before where nothing can be measured.
    """
    files = {"the schedule": exchange}
    for order in ("rotated", "ascending"):
        file = folder / f"{order}.json"
        words = ("--method", "naive", "--posting", order)
        quietly("compile", EXCHANGE, "--on", machine, *words, "-o", file)
        files["rotated order" if order == "rotated" else "rank order"] = file
    permission = answers("testbed", "check", "--json")
    if not permission or not permission[0].get("emulated_ok"):
        print(f"No testbed: {permission[0].get('text') if permission else 'not permitted'}.")
        return RECORDED
    name = f"{BED}-{os.getpid()}"[:16]
    bed = ("--name", name, "--on", "mesh:4x4", "--fabric", "credit", "--rate", "20mbit")
    jobs = " && ".join(
        f"{shlex.quote(str(BIN / 'conset'))} run {shlex.quote(str(file))} --repeat 3 --json"
        ' --mpiexec "$CONSET_TESTBED_MPIEXEC"'
        for file in files.values()
    )
    found = answers("testbed", "with", *bed, "--ttl", f"{TTL_S}s", "--", "sh", "-c", jobs)
    if len(found) != len(files):
        print("The testbed gave no figures.")
        return RECORDED
    times = dict(zip(files, (each["median_s"] for each in found), strict=True))
    for what, time_s in times.items():
        print(f"  {what:<16}{time_s:>8.2f} s measured")
    own = times["the schedule"]
    gains = [
        f"{times[order] / own:.1f} times as fast as" for order in ("rotated order", "rank order")
    ]
    return (
        f"Measured: the schedule is {gains[0]} the naive exchange in rotated order, {gains[1]} "
        f"in rank order ({own:.2f} s), every byte checked."
    )


def say(text: str) -> None:
    """A heading on a terminal that may be a file."""
    print(f"\n── {text}", flush=True)


def conset(*words: object, quiet: bool = False) -> None:
    """One `conset` command, shown as typed; where it is quiet, without what it prints."""
    print(f"$ conset {shlex.join(str(w) for w in words)}", flush=True)
    (quietly if quiet else run)(*(words if quiet else (BIN / "conset", *words)))


def quietly(*words: object) -> None:
    """One `conset` command without its output; a failure ends the demo with its exit code."""
    run(BIN / "conset", *words, stdout=subprocess.DEVNULL)


def answers(*words: object) -> list[dict[str, Any]]:
    """The JSON objects that one `conset` command prints, shown as typed; none where it fails."""
    print(f"$ conset {shlex.join(str(w) for w in words)[:150]}", flush=True)
    command = [str(w) for w in (BIN / "conset", *words)]
    found: list[dict[str, Any]] = []
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        done = subprocess.run(command, **pipes, text=True, check=False, timeout=LONGEST_S)
        text = done.stdout.strip()
        while text:
            each, end = json.JSONDecoder().raw_decode(text)
            found, text = [*found, each], text[end:].lstrip()
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        print(f"({error})", flush=True)
        return []
    return found


def run(*words: object, stdout: int | None = None) -> None:
    """One program; a failure ends the demo with its exit code."""
    code = subprocess.run([str(w) for w in words], check=False, stdout=stdout).returncode
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
