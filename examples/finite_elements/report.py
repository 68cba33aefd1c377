"""What rank 0 says of a result: to people, to files, and whether it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from conjugate_gradients import Solution, Vector
from numpy.typing import NDArray
from problem import Problem
from solve import solve_on_one

import conset
from conset.base.errors import ExecutionError

ITERATES_APART = 1e-10
"""Largest difference of the first iterates from one rank's, relative to the largest value."""
SOLUTION_APART = 10
"""Largest difference of the solution from one rank's, in tolerances."""


def describe(problem: Problem, schedule: conset.Schedule) -> dict[str, Any]:
    """The problem in numbers."""
    mesh, pattern = problem.mesh, schedule.pattern
    return {
        "mesh": mesh.name,
        "elements": mesh.count,
        "nodes": int(mesh.nodes.size),
        "fixed": int(problem.fixed.sum()),
        "closed": bool(problem.mass),
        "ranks": pattern.ranks,
        "messages": pattern.messages,
        "bytes": pattern.bytes,
        "machine": schedule.machine.name,
        "method": schedule.method,
        "phases": schedule.phases,
        "sync": str(schedule.sync),
    }


def compare(
    problem: Problem, found: Vector, iterates: NDArray[np.float64], tolerance: float
) -> tuple[dict[str, Any], Solution]:
    """How far the result of all ranks is from one rank's, and that.

    Args:
        problem: what was solved.
        found: shape=(points of the mesh), the solution.
        iterates: shape=(iterates, points of the mesh), the first ones.
        tolerance: of both.

    Raises:
        ExecutionError: there are more or fewer iterates than of one rank.
    """
    one, system, part = solve_on_one(problem, tolerance, len(iterates))
    if len(iterates) != len(one.iterates):
        raise ExecutionError(
            f"{len(iterates)} iterates, one rank has {len(one.iterates)}: must agree"
        )
    apart = [
        float(np.abs(every[part.nodes] - alone).max() / np.abs(alone).max())
        for every, alone in zip(iterates, one.iterates, strict=True)
    ]
    x = found[part.nodes]
    residual = system.right - system.matrix @ np.where(part.fixed, 0.0, x)
    numbers = {
        "kept": len(iterates),
        "iterates_apart": max(apart, default=0.0),
        "solution_apart": float(np.linalg.norm(x - one.x) / np.linalg.norm(one.x)),
        "residual": float(np.linalg.norm(residual) / (np.linalg.norm(system.right) or 1.0)),
        "one_rank_iterations": one.iterations,
    }
    if problem.exact is not None:
        exact = problem.exact[part.nodes]
        numbers["error"] = float(np.abs(x - exact).max() / np.abs(exact).max())
    return numbers, one


def require_equal(result: dict[str, Any]) -> None:
    """Checks that all ranks together found what one finds.

    Raises:
        ExecutionError: they did not.
    """
    for what, key, allowed in (
        ("first iterates differ", "iterates_apart", ITERATES_APART),
        ("solution differs", "solution_apart", SOLUTION_APART * result["tolerance"]),
    ):
        if not result[key] <= allowed:  # a NaN, too
            raise ExecutionError(
                f"the {what} by {result[key]:.1e} from one rank's: at most {allowed:.1e} allowed"
            )


def format_result(result: dict[str, Any], folder: Path) -> str:
    """The result for people, with the columns of the text's Table 5 for each exchange."""
    exact = f"; {result['error']:.1e} from the exact one" if "error" in result else ""
    given = (
        "no boundary, with a mass term"
        if result["closed"]
        else f"{result['fixed']:,} on the boundary"
    )
    lines = [
        f"{result['mesh']}: {result['elements']:,} elements, {result['nodes']:,} nodes ({given}) "
        f"in {result['ranks']} "
        "parts",
        f"halo: {result['messages']} messages, {result['bytes']:,} B; {result['machine']}, "
        f"{result['method']}, phases: "
        f"{result['phases']}, sync {result['sync']}",
        f"iterations: {result['iterations']}, one rank {result['one_rank_iterations']}; the first "
        f"{result['kept']} "
        f"iterates differ by {result['iterates_apart']:.1e}, the solution by "
        f"{result['solution_apart']:.1e}{exact}",
    ]
    if result["ways"]:
        lines += ["", *_table(result["ways"])]
    return "\n".join([*lines, "", f"{folder}/ has the solution, the layout and the schedule"])


def _table(ways: dict[str, dict[str, float]]) -> list[str]:
    """Microseconds of an iteration, by way."""
    head = ("product", "MFLOPS", "exchange", "MB/s", "reductions", "vectors", "slowest rank")
    rows = [f"{'us an iteration':24}" + "".join(f"{name:>13}" for name in head)]
    for way, row in ways.items():
        values = (
            row["product_s"] * 1e6,
            row["mflops"],
            row["exchange_s"] * 1e6,
            row["bandwidth_Bps"] / 1e6,
            row["reduction_s"] * 1e6,
            row["vectors_s"] * 1e6,
            row["iteration_s"] * 1e6,
        )
        rows.append(f"{way:24}" + "".join(f"{value:13.1f}" for value in values))
    return rows
