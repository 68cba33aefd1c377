"""Rules by which an MPI library chooses its own complete exchange, from the machine's model.

For each size of message the fastest of what libraries have: everything posted at once, step by
step, at most so many sends at once (contention), or forwarded in log2 steps (Bruck). Files:

| library | file | how it is loaded |
| --- | --- | --- |
| Open MPI 4.1.8, 5.0.7 and later | rules with a column of requests | see below |
| Open MPI 6 | the same as `.json` | see below |
| MPICH | a shell's `export` lines | `. FILE` before `mpiexec` |

Of Open MPI `coll_tuned_use_dynamic_rules` must be 1, `coll_tuned_dynamic_rules_filename` is the
file; in version 6 `coll_tuned_priority` must be above that of `han`. Rules are by the bytes that a
rank sends to all. A set of rules holds from its number of ranks on, and before the first set: so
the rules are between sets that leave other communicators their own choice.

MPICH has thresholds in a table of its own alone; variables set one algorithm and its number of
requests for all sizes. They are those for the size of the pattern; other sizes are comments.

Sources: https://docs.open-mpi.org (tuning-apps/coll-tuned), ompi/mca/coll/tuned;
https://github.com/pmodels/mpich (src/mpi/coll/alltoall).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from conset.base import InputError, NoScheduleError, UsageError, replacing, unknown_name
from conset.compilation import CompileOptions, Placement, compile_combined, placement_of
from conset.machine import Machine
from conset.pattern import Pattern, parse_pattern
from conset.studies.advice import CLEAR, exchanges
from conset.studies.times import time_schedule

TUNED_SIZES = tuple(8 * 4**k for k in range(10))
"""Sizes of messages for which rules are made [B]."""
IN_FLIGHT = (1, 2, 4, 8, 16, 32)
"""Sends in flight that rules may ask for."""
LIBRARIES = ("openmpi", "mpich")
ALGORITHMS: Mapping[str, tuple[int, str, str]] = {
    "linear": (1, "linear", "scattered"),
    "pairwise": (2, "pairwise", "pairwise"),
    "bruck": (3, "modified_bruck", "brucks"),
    "throttled": (4, "linear_sync", "scattered"),
}
"""Algorithm → its number and its name in Open MPI, its name in MPICH."""
_ALLTOALL = 3


@dataclass(frozen=True)
class Rule:
    """What an MPI library is to do for complete exchanges of messages from a size on.

    Attributes:
        size: of each message [B].
        algorithm: `linear`, `pairwise`, `bruck`, or `throttled`: at most `in_flight` sends at once.
        in_flight: of `throttled`; 0 elsewhere.
        time_s: by the machine's model [s].
    """

    size: int
    algorithm: str
    in_flight: int
    time_s: float


def tune(pattern: Pattern, machine: Machine, options: CompileOptions) -> list[Rule]:
    """The fastest algorithm of an MPI library for each size, for as many ranks as a pattern has.

    Of times closer than 2 % the simpler one: linear, pairwise, throttled, Bruck.
    """
    placement = placement_of(pattern, machine, options)
    rules = []
    for size in TUNED_SIZES:
        exchange = parse_pattern(f"alltoall:size={size}", ranks=pattern.ranks)
        times = _algorithms(exchange, machine, placement)
        least = min(time_s for _, _, time_s in times)
        rules.append(Rule(size, *next(row for row in times if row[2] <= least * CLEAR)))
    return rules


def _algorithms(
    exchange: Pattern, machine: Machine, placement: Placement
) -> list[tuple[str, int, float]]:
    """(algorithm, sends in flight, time) of each, the simplest first."""
    made = exchanges(exchange, machine, placement)
    naive, shift = made["naive exchange"], made["shift order"]
    found = [
        ("linear", 0, time_schedule(naive).time_s),
        ("pairwise", 0, time_schedule(shift).time_s),
    ]
    for count in IN_FLIGHT:
        if count < exchange.ranks - 1:
            throttled = replace(naive, in_flight=count)
            found.append(("throttled", count, time_schedule(throttled).time_s))
    with suppress(InputError, NoScheduleError):
        options = CompileOptions(method="naive", combine="radix:2")
        stages = compile_combined(exchange, machine, options, "radix:2")
        found.append(("bruck", 0, time_schedule(stages.whole).time_s))
    return found


def check_tuning(path: Path | None, library: str) -> None:
    """Raises `UsageError` for an unknown library, or a file in a form that it does not read."""
    if library not in LIBRARIES:
        raise unknown_name("library", library, LIBRARIES, options=["for"])
    if library == "mpich" and path is not None and path.suffix == ".json":
        raise UsageError(f"{path}: MPICH reads no such file; lines of a shell are written")


def write_tuning(
    rules: Sequence[Rule], ranks: int, path: Path, library: str, size: float = 0
) -> None:
    """Writes the rules in the form of a library.

    Args:
        rules: by rising size.
        ranks: of the communicators for which they hold.
        path: the file; of Open MPI 6 where it ends in `.json`.
        library: one of `LIBRARIES`.
        size: of the messages that matter, where a library takes one rule [B].

    Raises:
        UsageError: as `check_tuning`.
        InputError: the folder is missing or not writable.
    """
    check_tuning(path, library)
    if library == "mpich":
        text = _mpich(rules, size)
    else:
        text = _open_mpi_json(rules, ranks) if path.suffix == ".json" else _open_mpi(rules, ranks)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def merged_rules(rules: Sequence[Rule]) -> list[Rule]:
    """The first of every run of rules that ask for the same."""
    runs = groupby(rules, key=lambda rule: (rule.algorithm, rule.in_flight))
    return [next(run) for _, run in runs]


def _open_mpi(rules: Sequence[Rule], ranks: int) -> str:
    """Four sets: the second holds for `ranks`, in versions 5 and 6 of the reader."""
    merged = merged_rules(rules)
    own = [f"{len(merged)} # rules: bytes a rank sends, algorithm, topology, segment, requests"]
    for k, rule in enumerate(merged):
        least = 0 if k == 0 else rule.size * ranks
        own.append(f"{least} {ALGORITHMS[rule.algorithm][0]} 0 0 {rule.in_flight}")
    default = ["1 # rule: Open MPI's own choice", "0 0 0 0 0"]
    lines = ["rule-file-version-2", "1 # collective", f"{_ALLTOALL} # alltoall", "4 # sets"]
    for count, held in ((ranks, default), (ranks, own), (ranks + 1, own), (ranks + 1, default)):
        lines += [f"{count} # ranks", *held]
    return "\n".join(lines) + "\n"


def _open_mpi_json(rules: Sequence[Rule], ranks: int) -> str:
    merged = merged_rules(rules)
    ends: list[int | str] = [rule.size * ranks - 1 for rule in merged[1:]]
    rows = [
        {
            "msg_size_min": 0 if k == 0 else rule.size * ranks,
            "msg_size_max": end,
            "alg": ALGORITHMS[rule.algorithm][1],
            **({"reqs": rule.in_flight} if rule.in_flight else {}),
        }
        for k, (rule, end) in enumerate(zip(merged, [*ends, "inf"], strict=True))
    ]
    communicator = {"comm_size_min": ranks, "comm_size_max": ranks, "rules": rows}
    whole = {
        "rule_file_version": 3,
        "module": "tuned",
        "collectives": {"alltoall": [communicator]},
    }
    return json.dumps(whole, indent=2) + "\n"


def _mpich(rules: Sequence[Rule], size: float) -> str:
    """One rule as variables, the others as comments."""
    lines = []
    for rule in merged_rules(rules):
        in_flight = f", {rule.in_flight} at once" if rule.in_flight else ""
        lines.append(f"# from {rule.size} B to each: {rule.algorithm}{in_flight}")
    chosen = [rules[0], *(rule for rule in rules if rule.size <= size)][-1]
    lines += [
        f"export MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM={ALGORITHMS[chosen.algorithm][2]}",
        f"export MPIR_CVAR_ALLTOALL_THROTTLE={chosen.in_flight}",
    ]
    return "\n".join(lines) + "\n"
