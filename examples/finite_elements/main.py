"""Solves Laplace's equation on a mesh in parts: one command, which starts its ranks itself.

    python examples/finite_elements/main.py MESH --parts 8

MESH is a file (Gmsh, a Spark98 pack, whatever meshio reads: triangles, quadrilaterals, tetrahedra,
hexahedra), or a mesh of the ConSet text: m11k, c10k, c100k, q20k. Rank 0 reads it, lets METIS cut
it and compiles the halo exchange; every rank assembles its own elements. What it shows, and how to
read it: docs/finite-elements.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# ranks compute side by side: threads of NumPy's library would take each other's cores; it looks
# when it is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from conset.base.errors import ConsetError, InputError
from conset.execution.job import explain_end, find_job, find_launcher, start_job


def parse(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("mesh", help="a file, or one of m11k, c10k, c100k, q20k")
    parser.add_argument("--parts", type=int, default=None, help="ranks; a pack has its own number")
    parser.add_argument("--on", default=None, help="machine to compile for; default crossbar:PARTS")
    parser.add_argument("--sync", default=None, help="policy of the exchange")
    parser.add_argument("--tolerance", type=float, default=1e-8, help="of the residual")
    parser.add_argument("--repeat", type=int, default=3, help="timed rounds; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="of METIS and the compiler")
    parser.add_argument(
        "--timeout", type=float, default=600.0, help="seconds until the job is ended"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("build/finite-elements"), help="folder of results"
    )
    parser.add_argument("--no-pictures", action="store_true", help="leave them out")
    return parser.parse_args(words)


def parts_of(options: argparse.Namespace) -> int:
    """How many ranks are needed.

    Raises:
        InputError: a pack with another number of parts, or no pack.
    """
    if not options.mesh.endswith(".pack"):
        return options.parts or 4
    try:
        count = int(Path(options.mesh).read_bytes().split(maxsplit=5)[4])
    except (OSError, IndexError, ValueError) as error:
        raise InputError(f"{options.mesh}: no Spark98 pack: {error}") from None
    if options.parts not in (None, count):
        raise InputError(
            f"{options.mesh}: has {count} parts, --parts says {options.parts}: must agree"
        )
    return count


def start(options: argparse.Namespace, ranks: int) -> None:
    """Starts this very command on all ranks.

    Raises:
        ExecutionError: the job did not end well.
    """
    program = ["-m", "mpi4py", str(Path(__file__).resolve()), *sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="conset-") as folder:
        ended = start_job(
            find_launcher(), ranks, program, folder=Path(folder), timeout_s=options.timeout
        )
    if ended.status:
        if "conset: " not in ended.err:  # else that line says it
            print(ended.err, end="", file=sys.stderr)
        raise explain_end(ended, options.timeout)
    print(ended.out, end="")


def main() -> int:
    """Solves as a rank of a job, or starts one; returns the exit code."""
    options = parse(sys.argv[1:])
    try:
        inside = find_job() is not None
        ranks = 0 if inside else parts_of(options)
        if not inside and ranks > 1:
            start(options, ranks)
            return 0
        from job import run_rank

        run_rank(options)
    except ConsetError as error:
        print(f"conset: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
