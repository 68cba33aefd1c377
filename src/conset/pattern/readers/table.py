"""The table of all readers: which file is read how; the help, the errors and the tests read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from conset.pattern.layout import Partition
from conset.pattern.pattern import Pattern
from conset.pattern.readers.csv import read_csv
from conset.pattern.readers.demands import read_demand_matrix
from conset.pattern.readers.entries import ReadOptions
from conset.pattern.readers.goal import read_goal
from conset.pattern.readers.htsim import read_connections
from conset.pattern.readers.matrix_market import partition_matrix, read_matrix_market
from conset.pattern.readers.mesh import partition_mesh, partition_metis_graph
from conset.pattern.readers.mesh_text import MESHES
from conset.pattern.readers.monitoring import read_monitoring
from conset.pattern.readers.msccl import read_msccl
from conset.pattern.readers.npz import read_npz
from conset.pattern.readers.records import SUFFIX as RECORD, read_mpi_record
from conset.pattern.readers.spark98 import partition_spark98, read_spark98
from conset.pattern.readers.time_independent import read_time_independent


@dataclass(frozen=True)
class Reader:
    """A row of the table.

    Attributes:
        function: file and options to pattern.
        summary: what the file holds, one line.
        takes: options of the command line that matter; others are refused.
        partition: file and options to the pattern and its layout; None: the file contains messages
            only.
    """

    function: Callable[[Path, ReadOptions], Pattern]
    summary: str
    takes: tuple[str, ...] = ()
    partition: Callable[[Path, ReadOptions], Partition] | None = None


def _parted(partition: Callable[[Path, ReadOptions], Partition], summary: str) -> Reader:
    """Of a mesh or graph, which is a pattern once it is partitioned."""
    return Reader(
        lambda path, options: partition(path, options).pattern,
        summary,
        ("parts", "word"),
        partition,
    )


READERS: Mapping[str, Reader] = {
    ".mtx": Reader(
        read_matrix_market,
        "Matrix Market: entries are bytes, or a matrix that is distributed",
        ("rows_to", "parts", "word", "unit"),
        partition_matrix,
    ),
    ".npz": Reader(read_npz, "NumPy archive: matrix, or source, target, bytes", ("unit",)),
    ".csv": Reader(
        read_csv, "a square matrix, or messages under source,target[,bytes][,after][,id]", ("unit",)
    ),
    ".json": Reader(
        read_demand_matrix,
        "node-link JSON of TopoHub and SNDlib: the demands, in units of `word` bytes",
        ("word",),
    ),
    ".pack": Reader(
        read_spark98,
        "Spark98: a partitioned mesh with its communication",
        ("word",),
        partition_spark98,
    ),
    ".goal": Reader(read_goal, "GOAL of LogGOPSim and ATLAHS: sends, receives and their order"),
    ".tit": Reader(
        read_time_independent, "time-independent trace of SimGrid's SMPI: what every rank calls"
    ),
    ".xml": Reader(
        read_msccl, "MSCCL: the steps of an exchange, in chunks of `word` bytes", ("word",)
    ),
    ".prof": Reader(
        read_monitoring, "Open MPI's monitoring: what each rank sent, with the files beside it"
    ),
    RECORD: Reader(
        lambda path, _: read_mpi_record(path).pattern(),
        "record of a program's MPI calls: a folder, or one of its files",
    ),
    ".cm": Reader(read_connections, "htsim's connection matrix: flows between hosts"),
    **{suffix: _parted(partition_mesh, found.summary) for suffix, found in MESHES.items()},
    ".graph": _parted(partition_metis_graph, "METIS graph: vertices by their neighbours"),
    ".mgraph": _parted(partition_metis_graph, "METIS graph"),
}
"""Suffix → reader."""
