"""What the help of every command shows at its end.

Lines that can be pasted, and that the tests execute.

In this order, in one folder: later lines read what earlier ones wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "compile": (
            "conset compile alltoall --on mesh:4x4 -o s.json",
            "conset compile 'random:degree=4,size=log-uniform(64,64KiB)' --on torus:4x4 --method "
            "coloring --sync local",
            "conset compile messages.csv --on ring:4 --contention 1 -o ring.json",
            "conset compile program.toml --on iwarp:4x4 -o p.json",
        ),
        "verify": (
            "conset verify s.json",
            "conset verify p.json --json",
        ),
        "bound": (
            "conset bound transpose --on mesh:4x4",
            "conset bound alltoall --on mesh:4x4 --routes free",
        ),
        "predict": (
            "conset predict s.json",
            "conset predict s.json --on torus:4x4 --sync local",
            "conset predict s.json --set synchronization=0,overhead=2us --by formula",
        ),
        "simulate": (
            "conset simulate s.json",
            "conset simulate s.json --model wormhole --check -o t.json",
            "conset simulate trace.csv --on mesh:4x4,link=1GB/s",
        ),
        "run": (
            "conset run ring.json --repeat 5",
            "conset run shift --at-run-time --on mesh:8x8 --predict 64",
        ),
        "calibrate": (
            "conset calibrate --on crossbar:2 --quick --time 2s -o machine.toml",
            "conset calibrate --on crossbar:3 --quick --emulate crossbar:3,overhead=2us",
        ),
        "plan": (
            "conset plan s.json",
            "conset plan s.json -o s.plan",
            "conset plan ring.json --c -o ring.c",
        ),
        "advise": (
            "conset advise alltoall:size=64KiB --on fat-tree:k=4",
            "conset advise alltoall --on leaf-spine:leaves=4,spines=2,hosts=4 --without 16-20",
        ),
        "record": ("conset record -o calls -- mpiexec -n 4 python transpose.py",),
        "intercept": (
            "conset advise calls --on mesh:2x2 && conset intercept --advice calls -- mpiexec -n 4 "
            "python transpose.py",
            "conset intercept --on mesh:2x2 -o gain.json -- mpiexec -n 4 python transpose.py",
        ),
        "convert": (
            "conset convert s.json -o s.goal",
            "conset convert alltoall:ranks=8,size=64KiB -o exchange.xml",
            "conset convert exchange.xml --on mesh:2x4 -o exchange.json",
        ),
        "show": (
            "conset show paragon:4x4",
            "conset show random:degree=4 --on mesh:4x4",
            "conset show s.json --phase 0",
            "conset show s.json -o s.svg",
        ),
        "report": ("conset report s.json t.json -o page.html",),
        "compare": (
            "conset compare alltoall --on mesh:4x4 --methods naive,lp,bounded",
            "conset compare transpose shift:by=3 --on mesh:4x4 --on torus:4x4 --methods "
            "naive,first-fit -o times.csv",
            "conset compare random:degree=3 --on ipsc860:8 --methods naive,rs-nl --sync "
            "ready,none --simulate -o times.svg",
            "conset compare alltoall --on mesh:4x4 --curve --sizes 1KiB,16KiB",
        ),
        "campaign": (
            "conset campaign campaign.toml --list",
            "conset campaign campaign.toml -o results",
        ),
        "reproduce": ("conset reproduce thakur table-1 -o texts",),
        "methods": (
            "conset methods",
            "conset methods bounded",
            "conset methods --on fat-tree:k=4 --pattern random:degree=3",
        ),
        "patterns": (
            "conset patterns",
            "conset patterns random",
        ),
        "machines": (
            "conset machines",
            "conset machines paragon:8x8",
            "conset machines mesh:4x4,link=1GB/s -o mesh.machine",
        ),
        "config": (
            "conset config",
            "conset config --cflags --libs",
        ),
        "testbed": (
            "conset testbed check",
            "conset testbed up lab --on mesh:2x2 --fabric shallow --rate 20mbit",
            "conset testbed down lab",
        ),
        "testbed check": ("conset testbed check",),
        "testbed up": ("conset testbed up lab --on mesh:2x2 --rate 50mbit --ttl 5min",),
        "testbed list": ("conset testbed list",),
        "testbed run": ("conset testbed run lab -n 2 python -m mpi4py.bench helloworld",),
        "testbed mpiexec": (
            "conset run ring.json --repeat 3 --mpiexec 'conset testbed mpiexec lab'",
        ),
        "testbed stats": ("conset testbed stats lab --links 4",),
        "testbed down": ("conset testbed down lab",),
        "testbed with": (
            "conset testbed with --name lab --on mesh:2x2 -- conset run ring.json --repeat 3 "
            "--mpiexec 'conset testbed mpiexec lab'",
        ),
        "doctor": ("conset doctor",),
    }
)
"""Command → lines of a shell; of a command of `testbed` under both words."""


def examples_text(command: str) -> str:
    """The end of a command's help; typer wraps no line after the backspace."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])
