"""What every rank does, and what rank 0 does beside it.

Mesh, cut and schedule before, comparison and report after.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import meshes
import numpy as np
from conjugate_gradients import Solution
from matrix import System
from mpi4py import MPI
from problem import Problem
from solve import CONSET, KEPT, MOST, TIMED, Gathered, Shares, collect, distributed, measure, solve

import conset
from conset.base.errors import ConsetError
from conset.base.files import replacing
from conset.execution.job import abort
from conset.pattern.layout import Layout

LAYOUT, SCHEDULE, ARRAYS, RESULT = "layout.npz", "halo.json", "result.npz", "result.json"
POLL_S = 0.005


def run_rank(options: argparse.Namespace) -> None:
    """One rank of the job; an error of one ends all.

    Raises:
        ConsetError: in a job of one rank.
    """
    comm = MPI.COMM_WORLD
    try:
        _run(comm, options)
    except ConsetError as error:
        if comm.size == 1:
            raise
        abort(comm, str(error), error.exit_code)


def _run(comm: MPI.Intracomm, options: argparse.Namespace) -> None:
    problem = prepare(options, comm.size) if comm.rank == 0 else None
    wait_quietly(comm)  # the files are there
    layout = conset.read_layout(options.output / LAYOUT)
    shares = Shares(layout, layout.pattern(), conset.plan(options.output / SCHEDULE, comm))
    part = comm.scatter(problem and [problem.part(layout, r) for r in range(comm.size)])
    system = System.of(part)
    with distributed(comm, shares, system, CONSET) as matrix:
        found = solve(matrix, system, part, tolerance=options.tolerance, most=MOST, keep=KEPT)
    vectors = [collect(comm, part.nodes, x) for x in (found.x, *found.iterates)]
    iterations = min(found.iterations, TIMED)
    ways = measure(comm, shares, system, part, iterations=iterations, repeat=options.repeat)
    entries = comm.reduce(system.matrix.nnz)
    if problem is not None:
        finish(problem, layout, found, vectors, entries, ways, options)
    wait_quietly(comm)


def finish(
    problem: Problem,
    layout: Layout,
    found: Solution,
    vectors: list[Gathered | None],
    entries: int,
    ways: dict[str, dict[str, float]],
    options: argparse.Namespace,
) -> None:
    """Rank 0: compares with one rank, writes, draws and says what was found.

    Raises:
        ExecutionError: it is not what one rank finds.
    """
    import report

    whole = np.full((len(vectors), len(problem.mesh.points)), np.nan)  # where no element is, too
    for row, (nodes, values) in zip(whole, filter(None, vectors), strict=True):
        row[nodes] = values
    apart, one = report.compare(problem, whole[0], whole[1:], options.tolerance)
    result = {
        **report.describe(problem, conset.read(options.output / SCHEDULE)),
        "entries": entries,
        "tolerance": options.tolerance,
        "iterations": found.iterations,
        **apart,
        "ways": ways,
    }
    if not options.no_pictures:
        import pictures

        pictures.draw_solution(options.output / "solution.png", problem.mesh, layout.part, whole[0])
        pictures.draw_convergence(options.output / "convergence.png", found, one, result)
    with replacing(options.output / ARRAYS) as temporary:
        np.savez(
            temporary,
            x=whole[0],
            iterates=whole[1:],
            residuals=found.residuals,
            fixed=problem.fixed,
        )
    with replacing(options.output / RESULT) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")
    print(report.format_result(result, options.output))
    report.require_equal(result)


def wait_quietly(comm: MPI.Intracomm) -> None:
    """Waits for all ranks and leaves the core to those that work.

    Which MPI's own barrier does not.
    """
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(POLL_S)


def prepare(options: argparse.Namespace, ranks: int) -> Problem:
    """Reads and cuts the mesh and compiles its exchange.

    Layout and schedule go to files that all ranks read.
    """
    options.output.mkdir(parents=True, exist_ok=True)
    path = Path(options.mesh)
    if options.mesh in meshes.TEXT_MESHES:
        path = options.output / f"{options.mesh}.msh"
        meshes.write_text_mesh(options.mesh, path)
    # a pack is in parts already
    cut = (
        conset.partition(path)
        if path.suffix == ".pack"
        else conset.partition(path, parts=ranks, seed=options.seed)
    )
    schedule = conset.compile(
        cut.pattern, options.on or f"crossbar:{ranks}", sync=options.sync, seed=options.seed
    )
    cut.layout.write(options.output / LAYOUT)
    conset.write(schedule, options.output / SCHEDULE)
    return Problem.laplace(meshes.read_mesh(path))
