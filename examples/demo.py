"""The main job, command by command: a finite-element mesh becomes a schedule that runs over MPI.

    python examples/demo.py FOLDER

Every step is a `conset` command as a user would type it; it is printed before it runs.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


def main(folder: Path) -> None:
    """Runs all steps; ends with the exit code of the first that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    mesh, schedule = folder / "m11k.msh", folder / "halo.json"
    start = time.monotonic()

    say("1. A mesh of 11,000 nodes and 20,998 triangles, as the ConSet text's m11k.")
    run(sys.executable, HERE / "make_mesh.py", mesh)

    say("2. METIS cuts it into 16 parts; their halo exchange is compiled for a 4 × 4 mesh of nodes.")
    conset("compile", mesh, "--parts", 16, "--on", "mesh:4x4")
    say("   Left to itself the compiler says when order gains nothing. Asked for the fewest phases without contention:")
    fewest = ("--contention", 1, "--objective", "phases", "--sync", "barrier")
    conset("compile", mesh, "--parts", 16, "--on", "mesh:4x4", *fewest, "-o", schedule)

    say("3. Verified again from the file alone, by code that shares nothing with the compiler; then the bounds.")
    conset("verify", schedule)
    conset("bound", mesh, "--parts", 16, "--on", "mesh:4x4")

    say("4. Methods side by side, then what two machines of the texts would make of this schedule.")
    conset("compare", mesh, "--parts", 16, "--on", "mesh:4x4")
    for machine in ("paragon:4x4", "delta:4x4"):
        conset("predict", schedule, "--on", machine)
    say("   8 bytes a node are little: posting everything wins. With 1 KiB for each shared node order pays:")
    methods = "auto,naive,rs-nl,coloring,first-fit,negotiated,decreasing"
    word = ("--word", "1KiB", "--sync", "none,local", "--methods", methods)
    conset("compare", mesh, "--parts", 16, "--on", "delta:4x4", *word)

    say("5. Pictures: who sends what to whom and in which phase, and the load of the links beside its bound.")
    conset("show", schedule, "-o", folder / "halo.svg")
    conset("show", schedule, "--phase", 0, "-o", folder / "phase-0.svg")

    say("6. The schedule on 16 MPI ranks, beside the naive exchange and MPI's own collectives; every byte checked.")
    conset("run", schedule, "--repeat", 20)

    say(f"Done in {time.monotonic() - start:.0f} s. Schedule and pictures lie in {folder}/.")


def say(text: str) -> None:
    """A heading on a terminal that may be a file."""
    print(f"\n── {text}", flush=True)


def conset(*words: object) -> None:
    """One `conset` command, shown as typed."""
    print(f"\n$ conset {shlex.join(str(w) for w in words)}", flush=True)
    run(BIN / "conset", *words)


def run(*words: object) -> None:
    """One program; a failure ends the demo with its exit code."""
    code = subprocess.run([str(w) for w in words], check=False).returncode
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
