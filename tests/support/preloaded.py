"""Unmodified programs under `libconset-preload.so`, loaded by the environment alone, and plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import conset
from conset.cli.config import find_c_library
from conset.execution.plan import write_plan_file
from conset.pattern.pattern import Pattern
from conset.pattern.readers.records import Record, ranges_text

KINDS = ("alltoall", "alltoallv", "alltoallw")
"""Exchanges that can be intercepted."""

Bytes = NDArray[np.int64]
Exchanges = Sequence[tuple[str, Sequence[int]]]
"""Kind, and members: ranks of the world in the communicator's order."""


@contextmanager
def preloaded(**variables: object) -> Iterator[None]:
    """The library is loaded into what is started, with variables whose names begin `CONSET_`."""
    library = find_c_library().prefix / "lib" / "libconset-preload.so"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        for name, value in variables.items():
            patch.setenv(f"CONSET_{name}", str(value))
        yield


def even(size: int, members: Sequence[int] = range(4), ranks: int = 4) -> Bytes:
    """Bytes between the ranks of the world in an exchange of even blocks among `members`."""
    found = np.zeros((ranks, ranks), np.int64)
    found[np.ix_(members, members)] = size
    np.fill_diagonal(found, 0)
    return found


def write_plans(
    folder: Path, exchanges: Exchanges, sync: str = "local", ranks: int = 4, period: int = 1
) -> Path:
    """Plans as `conset advise` leaves them; in a period one of many phases and one of one phase."""
    folder.mkdir(exist_ok=True)
    lines = ["conset/plans@1", f"ranks {ranks}"]
    for kind, members in exchanges:
        source, target = np.nonzero(even(1, members, ranks))
        pattern = Pattern.from_messages(source, target, np.full(source.size, 1000), ranks)
        for position in range(period):
            name = f"plan-{'-'.join(map(str, members))}-{position}.plan"
            lines.append(f"plan {kind} {ranges_text(np.array(members))} {period} {position} {name}")
            if not (folder / name).exists():
                method = ("first-fit", "naive")[position % 2]
                schedule = conset.compile(pattern, f"crossbar:{ranks}", method=method)
                assert schedule.phases >= (1 if position % 2 else len(members) - 1)
                write_plan_file(conset.plan(schedule, sync=sync), folder / name)
    (folder / "plans.txt").write_text("\n".join([*lines, ""]))
    return folder


def intercepted(record: Record) -> Exchanges:
    """What can be intercepted of a program."""
    return [
        (each.kind, each.members.tolist())
        for each in record.exchanges
        if each.kind in KINDS and len(each.members) > 2
    ]


def read_summary(path: Path) -> list[dict[str, Any]]:
    """The lines of the end; none where nothing was said."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ordered_kinds(lines: Iterable[dict[str, Any]]) -> set[str]:
    return {line["kind"] for line in lines if line.get("choice") == "ordered"}
