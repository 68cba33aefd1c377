"""Options that several commands share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conset.cli import completion as c

PatternArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        autocompletion=c.complete_pattern,
        help=(
            "A spec (alltoall, random:degree=16,size=4KiB …) or a file (.mtx .npz .csv "
            ".pack, a mesh)."
        ),
    ),
]
MachineOption = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="MACHINE",
        autocompletion=c.complete_machine,
        help=(
            "A preset (paragon:8x8), a network (torus:8x8,link=16GB/s) or a file (.toml, "
            ".graphml, edge list)."
        ),
    ),
]
OtherMachineOption = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="MACHINE",
        autocompletion=c.complete_machine,
        help="Another machine than the schedule's own.",
    ),
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A schedule file (.json or .npz).")
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="M",
        autocompletion=c.complete_method,
        help="How phases are found: auto, or one that `conset methods` lists.",
    ),
]
ContentionOption = Annotated[
    int | None, typer.Option("--contention", metavar="C", help="Messages a link may carry at once.")
]
ChannelsOption = Annotated[
    int | None,
    typer.Option("--channels", metavar="K", help="Routes through a node at once, ends included."),
]
LimitsOption = Annotated[
    str | None,
    typer.Option(
        "--limits",
        metavar="WORDS",
        help="As send=1,receive=1,link=2; also channels=none and duplex=exchange.",
    ),
]
PatternsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATTERN...",
        autocompletion=c.complete_pattern,
        help=(
            "Specs (alltoall, random:degree=16,size=4KiB …) or files (.mtx .npz .csv "
            ".pack, meshes)."
        ),
    ),
]
MachinesOption = Annotated[
    list[str],
    typer.Option(
        "--on",
        metavar="MACHINE",
        autocompletion=c.complete_machine,
        help=(
            "A preset (paragon:8x8), a network (torus:8x8,link=16GB/s) or a file; may be repeated."
        ),
    ),
]
PlacementOption = Annotated[
    str,
    typer.Option(
        "--placement",
        metavar="P",
        autocompletion=c.complete_placement,
        help=(
            "identity, gray, random, bisection, annealed, annealed-bytes, auto, or a "
            "file of node ids."
        ),
    ),
]
RanksPerNodeOption = Annotated[
    int, typer.Option("--ranks-per-node", metavar="K", help="Ranks on each node.")
]
POLICIES = (
    "none: post everything in schedule order; local: a rank ends its own phase first; ready: "
    "local, and a zero-byte "
    "signal for each message; barrier[:K]: a barrier after every K phases"
)
"""What keeps phases apart, policy by policy."""
SyncOption = Annotated[
    str | None,
    typer.Option("--sync", metavar="S", autocompletion=c.complete_sync, help=f"{POLICIES}."),
]
ChosenSyncOption = Annotated[
    str | None,
    typer.Option(
        "--sync",
        metavar="S",
        autocompletion=c.complete_chosen_sync,
        help=f"{POLICIES}; auto: the fastest by --rank-by.",
    ),
]
InFlightOption = Annotated[
    str | None,
    typer.Option(
        "--in-flight",
        metavar="N",
        help=(
            "Sends a rank keeps open at once, or all. Default: the schedule's, else its "
            "machine's, else all."
        ),
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of every random choice.")
]
TimetableOption = Annotated[
    str | None,
    typer.Option(
        "--timetable",
        metavar="T",
        help="as or event-list: transfers of a phase one after the other.",
    ),
]
PartsOption = Annotated[
    int | None,
    typer.Option("--parts", metavar="N", help="Parts of a mesh or graph, by METIS; one rank each."),
]
RowsToOption = Annotated[
    int | None,
    typer.Option("--rows-to", metavar="N", help="Distribute a sparse matrix by rows over N ranks."),
]
WordOption = Annotated[
    str,
    typer.Option(
        "--word", metavar="SIZE", help="Bytes per entry or node where a file counts words."
    ),
]
LayoutOption = Annotated[
    Path | None,
    typer.Option(
        "--layout",
        metavar="FILE.npz",
        help="Where to write who owns what of a mesh, graph or matrix, for applications.",
    ),
]
RouterOption = Annotated[
    str | None,
    typer.Option(
        "--router",
        metavar="R",
        help="Of connections: sequential, negotiated, orbits or closed-form.",
    ),
]
PhasesOption = Annotated[
    int | None,
    typer.Option("--phases", metavar="P", help="Of connections: exactly so many phases.", min=1),
]
PostingOption = Annotated[
    str,
    typer.Option(
        "--posting",
        metavar="O",
        help=(
            "Of naive: schedule (by index), ascending, rotated, random, longest-first, pairwise "
            "or dimension."
        ),
    ),
]
RoutesOption = Annotated[
    str,
    typer.Option(
        "--routes", metavar="R", help="fixed: the machine's routes; free: chosen with the phases."
    ),
]
ObjectiveOption = Annotated[
    str,
    typer.Option("--objective", metavar="O", help="time, or phases: fewest phases, then least ΣL."),
]
RankByOption = Annotated[
    str | None,
    typer.Option(
        "--rank-by",
        metavar="R",
        autocompletion=c.complete_ranking,
        help=(
            "What chooses: flow, wormhole, circuit, packet (simulated) or formula; default: the "
            "machine's model."
        ),
    ),
]
MinBandwidthOption = Annotated[
    str | None,
    typer.Option(
        "--min-bandwidth",
        metavar="RATE|FILE",
        help="What every connection is guaranteed, or a .csv of it.",
    ),
]
MaxLatencyOption = Annotated[
    str | None,
    typer.Option(
        "--max-latency",
        metavar="TIME|FILE",
        help="What an element may take at most, or a .csv of it.",
    ),
]
SetOption = Annotated[
    str | None,
    typer.Option("--set", metavar="WORDS", help="What if: synchronization=0,overhead=2us,…"),
]
ModeOption = Annotated[
    str | None,
    typer.Option(
        "--mode", metavar="MODE", help="A transfer mode of the machine: iwarp has spooling, …."
    ),
]
CombineOption = Annotated[
    str,
    typer.Option(
        "--combine",
        metavar="C",
        help=(
            "Forward small messages in stages: none, auto, sides (8x8), radix:2, node-aware, "
            "virtual-grid:4x4, mixed."
        ),
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Where to write; without it nothing is written."
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout, text on stderr.")
]
