"""Hosts of jobs: which host each rank runs on, in the files that launchers read and write.

| file | lines |
| --- | --- |
| rank file (Open MPI) | `rank 0=n1 slot=0` |
| host file (MPICH, Hydra; Open MPI) | `n1`, `n1:4`, `n1 slots=4`: the next ranks, 4 of them on n1 |
| Slurm (`SLURM_HOSTFILE` with `--distribution=arbitrary`) | a host for each rank |

Instead of a file a list may be given, `n[001-016],m3` (expanded by ClusterShell), or
`$SLURM_JOB_NODELIST`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from conset.base import (
    InputError,
    UsageError,
    import_extra,
    read_text,
    replacing,
    shortened,
)

MAX_RANKS = 1 << 22
"""Of a job."""
MAX_HOSTS = 1 << 18
"""Of a list with brackets; making them takes up to a second."""
_PIECE = re.compile(r"(?:\[[^\]]*\]?|[^\s,;\[])+")
_RANGE = re.compile(r"\s*0*(\d+)\s*-\s*0*(\d+)\s*(?:/\s*\d+\s*)?", re.ASCII)
_RANK = re.compile(r"rank\s+(\d{1,9})\s*=\s*(\S+?)(?:\s+slots?\s*=\s*\S+)?")
_HOST = re.compile(
    r"([\w.\-]+)(?::(\d{1,9})|(?:\s+slots\s*=\s*(\d{1,9}))?(?:\s+max[-_]slots\s*=\s*\d+)?)"
)


def read_hosts(text: str) -> list[str]:
    """The host of each rank, by a list, the name of a file or `$VARIABLE`.

    Raises:
        UsageError: a variable that is not set, a list that does not parse.
        InputError: a file with another line; names file and line.
        MissingExtraError: a list with brackets, without ClusterShell.
    """
    if text.startswith("$"):
        name = text[1:].strip("{}")
        if not (listed := os.environ.get(name)):
            raise UsageError(f"hosts={text}: the variable {name} is not set")
        return expand(listed)
    path = Path(text)
    if "[" in text or not os.path.isfile(text):  # unlike Path.is_file, no error for long texts
        if "[" not in text and ("/" in text or path.suffix in LAUNCHER_FILES):
            raise InputError(f"{path}: no such file of hosts")
        return expand(text)
    by_rank: dict[int, str] = {}
    names: list[str] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        where, text = f"{path.name}:{number}", line.partition("#")[0].strip()
        if found_rank := _RANK.fullmatch(text):
            rank = int(found_rank[1])
            if rank in by_rank or rank >= MAX_RANKS:
                raise InputError(f"{where}: rank {rank}: each once, below {MAX_RANKS}")
            by_rank[rank] = found_rank[2]
        elif found := _HOST.fullmatch(text):
            names += [found[1]] * min(int(found[2] or found[3] or 1), MAX_RANKS + 1)
        elif "[" in text:
            names += expand(text, where)
        elif text:
            raise InputError(
                f"{where}: '{shortened(text)}': expected a host, HOST:N, HOST slots=N or "
                "rank R=HOST"
            )
        if len(names) > MAX_RANKS:
            raise InputError(f"{where}: more than {MAX_RANKS} ranks")
    if by_rank and (names or max(by_rank) != len(by_rank) - 1):
        missing = next(rank for rank in range(len(by_rank) + 1) if rank not in by_rank)
        raise InputError(f"{path.name}: {len(by_rank)} ranks, and none is rank {missing}")
    if not by_rank and not names:
        raise InputError(f"{path.name}: names no host")
    return [by_rank[rank] for rank in range(len(by_rank))] if by_rank else names


def expand(text: str, where: str = "hosts") -> list[str]:
    """The hosts of a list such as `n[001-016],m3`, in its order.

    Raises:
        UsageError: it does not parse, or names more than `MAX_HOSTS`.
        MissingExtraError: brackets, without ClusterShell.
    """
    names: list[str] = []
    for piece in _PIECE.findall(text):
        if "[" not in piece:
            names.append(piece)
        elif len(names) + _most(piece) > MAX_HOSTS:
            raise UsageError(f"{where}: '{shortened(piece)}': more than {MAX_HOSTS} hosts")
        else:
            names += _expanded(piece, where)
    if not names:
        raise UsageError(f"{where}: names no host")
    return names


def _most(piece: str) -> float:
    """How many hosts a piece with brackets has at most; ClusterShell makes them all at once."""
    count = 1.0
    for inside in re.findall(r"\[([^\]]*)", piece):
        total = 0.0
        for ends in map(_RANGE.fullmatch, inside.split(",")):
            if ends is None:
                total += 1
            elif max(len(ends[1]), len(ends[2])) > 9:
                return math.inf
            else:
                total += max(1, int(ends[2]) - int(ends[1]) + 1)
        count *= total
    return count


def _expanded(piece: str, where: str) -> list[str]:
    """The hosts of a piece with brackets; no group is looked up, which could start a program."""
    nodes = import_extra("ClusterShell.NodeSet", "clusters")
    try:
        return [str(name) for name in nodes.NodeSet(piece, resolver=nodes.RESOLVER_NOGROUP)]
    except (nodes.NodeSetException, ValueError, AssertionError) as error:
        raise UsageError(f"{where}: '{shortened(piece)}': {shortened(str(error))}") from None


def rank_file(hosts: Iterable[str]) -> str:
    """Open MPI's rank file of a job: the slots of a host are taken in the order of its ranks."""
    slot: dict[str, int] = {}
    lines = []
    for rank, host in enumerate(hosts):
        slot[host] = slot.get(host, -1) + 1
        lines.append(f"rank {rank}={host} slot={slot[host]}\n")
    return "".join(lines)


def host_file(hosts: Sequence[str]) -> str:
    """MPICH's file of hosts: runs of ranks on one host are one line."""
    runs = [(host, len(list(ranks))) for host, ranks in groupby(hosts)]
    return "".join(f"{host}:{count}\n" for host, count in runs)


def slurm_file(hosts: Iterable[str]) -> str:
    """A host for each rank, as `SLURM_HOSTFILE` names it."""
    return "".join(f"{host}\n" for host in hosts)


LAUNCHER_FILES = {".rankfile": rank_file, ".hostfile": host_file, ".slurm": slurm_file}
"""Files of launchers by suffix."""


def write_hosts(hosts: Sequence[str], path: Path) -> None:
    """Writes the host of each rank for the launcher that the suffix of a file names."""
    with replacing(path) as beside:
        beside.write_text(LAUNCHER_FILES[path.suffix](hosts), encoding="utf-8")
