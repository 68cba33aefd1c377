r"""Open MPI's monitoring (`NAME.R.prof`, one file per rank): what every rank of a program sent.

    mpirun --mca pml_monitoring_enable 1 --mca pml_monitoring_enable_output 3 \
           --mca pml_monitoring_filename $PWD/prof …

    # POINT TO POINT
    E	0	1	4196 bytes	2 msgs sent	0,0,0,0,0,0,0,1,0,0,0,0,0,1,…
    # OSC
    # COLLECTIVES
    C	0	1	4096 bytes	1 msgs sent
    D	MPI_COMM_WORLD	procs: 0,1,2,3

Lines `E` are messages of the program and, with `pml_monitoring_enable 1`, those of which its
collectives consist; with 2 these are lines `I`. Their sum is what went over the network. One-sided
transfers (`S`: put, `R`: got) add to it. `C` counts collectives once more, and is not read. Count k
of a line is of messages of 2^(k - 1) … 2^k - 1 bytes, count 0 of empty ones.

Source: https://github.com/open-mpi/ompi (ompi/mca/common/monitoring, `profile2mat.pl`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from glob import escape
from pathlib import Path

import numpy as np

from conset.base import MAX_SIZE_B, InputError, Ints, read_text, shortened
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import ReadOptions, pattern_from_list, require_ranks

COUNTS = 66
"""Classes of sizes, by their powers of two."""
_LINE = re.compile(
    r"([EISR])\t(\d{1,9})\t(\d{1,9})\t(\d{1,18}) bytes\t(\d{1,18}) msgs? sent"
    r"(?:\t((?:\d{0,18},)*\d{0,18}))?"
)
_WORLD = re.compile(r"D\tMPI_COMM_WORLD\tprocs: ([\d,]+)")
_OTHER = re.compile(r"#|[CD]\t|(?:O2A|A2O|A2A)\t|\s*$")


def read_monitoring(path: Path, options: ReadOptions) -> Pattern:
    """The bytes of every pair of ranks, from the files of all ranks beside the one that is named.

    Raises:
        InputError: no name with a rank, another line, a file of another rank, or a rank without a
            file.
    """
    found = re.fullmatch(r"(.*)\.(\d{1,9})\.prof", path.name)
    if found is None:
        raise InputError(f"{path}: named NAME.RANK.prof, as Open MPI's monitoring writes it")
    rows: list[tuple[int, int, int]] = []
    places: list[str] = []
    counts, ranks, rank, sent_in_all, named = np.zeros(COUNTS, np.int64), 1, 0, 0, False
    while rank < ranks:
        own = path.with_name(f"{found[1]}.{rank}.prof")
        if not own.is_file():
            raise InputError(f"{own}: missing, the program had {ranks} ranks")
        for number, line in enumerate(read_text(own).splitlines(), 1):
            where = f"{own}, line {number}"
            if sent := _LINE.fullmatch(line):
                rows.append(_row(sent, rank, where))
                places.append(where)
                counts += _counts(sent, where)
                sent_in_all += int(sent[5])
                if sent_in_all > MAX_SIZE_B:
                    raise InputError(f"{where}: {sent_in_all} messages in all, at most 2^62")
            elif world := _WORLD.fullmatch(line):
                size = require_ranks(world[1].count(",") + 1, where)
                if named and size != ranks:
                    raise InputError(f"{where}: {size} ranks, in the files before {ranks}")
                ranks, named = size, True
            elif not _OTHER.match(line):
                raise InputError(f"{where}: '{shortened(line)}': no line of a monitoring file")
        if rank == 0 and ranks == 1:  # without communicators: as many as there are files
            ranks = max(ranks, len(list(path.parent.glob(f"{escape(found[1])}.*.prof"))))
        rank += 1
    table = np.array(rows, np.int64).reshape(-1, 3)
    pattern = pattern_from_list(
        table[:, 0], table[:, 1], table[:, 2], [], lambda k: places[k], path, ranks
    )
    return replace(pattern, sent=tuple(counts.tolist()))


def _row(sent: re.Match[str], rank: int, where: str) -> tuple[int, int, int]:
    source, target = int(sent[2]), int(sent[3])
    if source != rank:
        raise InputError(f"{where}: sent by rank {source} in the file of rank {rank}")
    return (target, source, int(sent[4])) if sent[1] == "R" else (source, target, int(sent[4]))


def _counts(sent: re.Match[str], where: str) -> Ints:
    """How many messages of each size a line has; one-sided transfers have none."""
    counts = np.zeros(COUNTS, np.int64)
    if sent[6]:
        given = [int(count) if count else 0 for count in sent[6].split(",")]
        if len(given) > COUNTS or sum(given) != int(sent[5]):
            raise InputError(
                f"{where}: {len(given)} counts of {sum(given)} messages, {sent[5]} were sent"
            )
        counts[: len(given)] = given
    return counts
