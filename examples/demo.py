"""The main job, command by command: a finite-element mesh becomes a schedule that runs over MPI.

    python examples/demo.py FOLDER

Every step is a `conset` command as a user would type it; it is printed before it runs.
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
    mesh, schedule = folder / "m11k.msh", folder / "halo.json"
    start = time.monotonic()

    say("1. A mesh of 11,000 nodes and 20,998 triangles, as the ConSet text's m11k.")
    run(sys.executable, HERE / "make_mesh.py", mesh)

    say(
        "2. METIS cuts it into 16 parts; their halo exchange is compiled for a 4 × 4 mesh of nodes."
    )
    conset("compile", mesh, "--parts", 16, "--on", "mesh:4x4")
    say(
        "   Left to itself the compiler says when order gains nothing. Asked for the fewest "
        "phases without contention:"
    )
    fewest = ("--contention", 1, "--objective", "phases", "--sync", "barrier")
    conset("compile", mesh, "--parts", 16, "--on", "mesh:4x4", *fewest, "-o", schedule)

    say(
        "3. Verified again from the file alone, by code that shares nothing with the compiler; "
        "then the bounds."
    )
    conset("verify", schedule)
    conset("bound", mesh, "--parts", 16, "--on", "mesh:4x4")

    say("4. Methods side by side, then what two machines of the texts would make of this schedule.")
    conset("compare", mesh, "--parts", 16, "--on", "mesh:4x4")
    for machine in ("paragon:4x4", "delta:4x4"):
        conset("predict", schedule, "--on", machine)
    say(
        "   8 bytes a node are little: posting everything wins. With 1 KiB for each shared "
        "node order pays:"
    )
    methods = "auto,naive,rs-nl,coloring,first-fit,negotiated,decreasing"
    word = ("--word", "1KiB", "--sync", "none,local", "--methods", methods)
    conset("compare", mesh, "--parts", 16, "--on", "delta:4x4", *word)

    say(
        "5. Pictures: who sends what to whom and in which phase, and the load of the links "
        "beside its bound."
    )
    conset("show", schedule, "-o", folder / "halo.svg")
    conset("show", schedule, "--phase", 0, "-o", folder / "phase-0.svg")

    say(
        "6. The schedule on 16 MPI ranks, beside the naive exchange and MPI's own collectives; "
        "every byte checked."
    )
    conset("run", schedule, "--repeat", 20)

    say(
        "7. Where the network is contended: 16 nodes on this machine, joined by links of 20 "
        "Mbit/s that push back."
    )
    contended(folder)

    say(f"Done in {time.monotonic() - start:.0f} s. Schedule and pictures lie in {folder}/.")


EXCHANGE = "alltoall:size=64KiB"
"""Between all nodes; its times on the testbed are far above what a busy machine adds."""
MACHINE = """\
# What `conset testbed up --fabric credit --rate 20mbit` builds: 4 x 4 nodes, links that push back.
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
RECORDED = """\
Recorded, not measured now: on a machine of two cores, contention 1 with a barrier after each of \
16 phases took 0.59 s
and posting everything 1.20 s, paired by repetition 0.49 of it (0.48 to 0.53)."""
BED = "demo"
TTL_S = 120
LONGEST_S = 90.0


def contended(folder: Path) -> None:
    """A complete exchange on a contended network, predicted and measured.

    Whatever fails here, the demo goes on.
    """
    machine, schedule, naive = (
        folder / "credit.toml",
        folder / "exchange.json",
        folder / "naive.json",
    )
    machine.write_text(MACHINE, encoding="utf-8")
    say(
        "   Its words were measured before, as `conset calibrate` does in two minutes. Does "
        "order pay there?"
    )
    conset("compile", EXCHANGE, "--on", machine, "-o", schedule)
    conset("compile", EXCHANGE, "--on", machine, "--method", "naive", "-o", naive)
    say("   Predicted, packet by packet:")
    predicted = [
        asked("simulate", file, "--model", "packet", "--json").get("time_s")
        for file in (schedule, naive)
    ]
    say("   Measured, where this machine permits a network of its own (docs/testbed.md):")
    permission = asked("testbed", "check", "--json")
    if not permission.get("emulated_ok"):
        print(f"No testbed: {permission.get('text', 'it could not be asked for')}.\n{RECORDED}")
        return
    where = (
        "--name",
        f"{BED}-{os.getpid()}"[:16],
        "--on",
        "mesh:4x4",
        "--fabric",
        "credit",
        "--rate",
        "20mbit",
    )
    job = f"{shlex.quote(str(BIN / 'conset'))} run {shlex.quote(str(schedule))} --repeat 3 --json"
    job += ' --mpiexec "$CONSET_TESTBED_MPIEXEC"'
    measured = asked("testbed", "with", *where, "--ttl", f"{TTL_S}s", "--", "sh", "-c", job)
    if "median_s" not in measured or None in predicted:
        print(f"The testbed gave no figures.\n{RECORDED}")
        return
    times = measured["median_s"], measured["naive_median_s"]
    ratio = measured["ratio_to_naive"]["schedule"]
    print(f"\n{'':<22}{'predicted':>12}{'measured':>12}")
    for what, by_model, found in zip(
        ("the schedule", "posting everything"), predicted, times, strict=True
    ):
        print(f"{what:<22}{by_model:>10.2f} s{found:>10.2f} s")
    print(
        f"{'ratio':<22}{predicted[0] / predicted[1]:>12.2f}{ratio['median']:>12.2f}"
        f"   ({ratio['low']:.2f} to {ratio['high']:.2f}, paired by repetition)"
    )
    gain = 1 / ratio["median"]
    if gain > 1:
        print(
            f"The schedule is {gain:.1f} times as fast as posting everything, every byte checked."
        )
    else:
        print(
            "Order gained nothing this time; the load of this machine is "
            f"{os.getloadavg()[0]:.0f}.\n{RECORDED}"
        )


def say(text: str) -> None:
    """A heading on a terminal that may be a file."""
    print(f"\n── {text}", flush=True)


def conset(*words: object) -> None:
    """One `conset` command, shown as typed."""
    print(f"\n$ conset {shlex.join(str(w) for w in words)}", flush=True)
    run(BIN / "conset", *words)


def asked(*words: object) -> dict[str, Any]:
    """What one `conset` command answers as JSON, shown as typed; its text for people passes.

    {} where it fails.
    """
    print(f"\n$ conset {shlex.join(str(w) for w in words)}", flush=True)
    command = [str(w) for w in (BIN / "conset", *words)]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, timeout=LONGEST_S
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        print(f"({error})", flush=True)
        return {}
    return found


def run(*words: object) -> None:
    """One program; a failure ends the demo with its exit code."""
    code = subprocess.run([str(w) for w in words], check=False).returncode
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
