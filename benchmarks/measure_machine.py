"""Measures what messages cost where ranks share cores.

Writes a machine file for `--combine`.

Measured: exchanges with different numbers of messages a rank, sizes and stages: complete, random
ones, and boxes of two and three stages, carried out by conset's executor as the benchmark of
combined exchanges does (`combined.py`: blocks, interleaved, medians). Fitted by non-negative least
absolute relative errors:

    wall = sum over messages of m(bytes) + e * (ranks that do anything in a stage, over stages) +
    c * (bytes packed)

`m` is linear between some sizes. Everything is work: latencies of loopback hide behind the work of
others.

The file says: a crossbar of as many nodes as there are cores, with `shared` processors: one for the
ranks of a node, no latency, ports without limit. The wall time is the work of all ranks over C
cores, so that a message is C m(bytes) of work, half of it at each end (`send_overhead`,
`receive_overhead`, in steps), `setup = C e` once a phase and rank, and `copy = 2 / (C c)`, as
sender and receiver both pay bytes / copy. Programs for it are compiled with `--ranks-per-node R/C`.

With `--alone` every rank is a node with processors of its own. Where ranks have about the same to
do, a rank's own cost of a message is then its cost to the wall times R, whatever C is, as

    the busiest rank's sum  =  R * (work of all over R)  =  wall;

but it says too much for the busiest rank of a skewed pattern, whose work all cores serve while
others have little. The `skew` of an exchange in the summary is the factor: the most messages of a
rank over the mean.

    PYTHONPATH=src python benchmarks/measure_machine.py --transport tcp -o build/tcp32.toml
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from exchanges.conset_plans import plan_word
from exchanges.job import TRANSPORTS, Cell, Variant, Waiting, find_libraries, find_wheel, run_job
from exchanges.patterns import make_pattern, make_random
from numpy.typing import NDArray
from scipy.optimize import nnls

from conset.execution.plan import Plan
from conset.pattern.pattern import Pattern

SIZES = (8, 64, 512, 4096)
BLOCKS = 24
NODES_B = (8, 256, 2048, 16384, 65536)
"""`m` is linear between these sizes, constant below and in proportion above."""
LIMITS_B = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
"""Where the steps of the file end."""


@dataclass(frozen=True)
class Exchange:
    """What is measured: a plan, and what it asks of the ranks.

    Attributes:
        name: unique.
        pattern, plan: what is exchanged, and how.
    """

    name: str
    pattern: Pattern
    plan: Plan

    @property
    def features(self) -> NDArray[np.float64]:
        """Messages by the weights of `NODES_B`, ranks at work over stages, packed bytes."""
        sends, receives = self.plan.sends, self.plan.receives
        sides = [np.stack([side.rank, side.phase]) for side in (sends, receives)]
        active = np.unique(np.concatenate(sides, axis=1), axis=1).shape[1]
        return np.array([*hats(sends.bytes).sum(axis=0), active, packed_bytes(self.plan)])

    @property
    def skew(self) -> float:
        """The most messages of a rank over the mean."""
        ranks = self.plan.ranks
        count = np.bincount(self.plan.sends.rank, minlength=ranks) + np.bincount(
            self.plan.receives.rank, minlength=ranks
        )
        return float(count.max() / count.mean())


def hats(size: NDArray[np.int64]) -> NDArray[np.float64]:
    """shape=(messages, nodes): the weights of linear interpolation between `NODES_B`."""
    nodes = np.array(NODES_B, float)
    at = np.clip(size.astype(float), nodes[0], None)
    k = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, nodes.size - 2)
    share = (at - nodes[k]) / (nodes[k + 1] - nodes[k])
    weights = np.zeros((size.size, nodes.size))
    rows = np.arange(size.size)
    inside = share <= 1
    weights[rows[inside], k[inside]] = 1 - share[inside]
    weights[rows[inside], k[inside] + 1] = share[inside]
    weights[~inside, -1] = at[~inside] / nodes[-1]
    return weights


def packed_bytes(plan: Plan) -> float:
    """Bytes of messages put together from pieces, sends of all ranks."""
    packs = getattr(plan, "packs", None)
    if packs is None:
        return 0.0
    packed = np.diff(packs.offsets) > 0
    return float(plan.sends.bytes[packed].sum())


def exchanges_to_measure(ranks: int, sizes: list[int]) -> list[Exchange]:
    """Direct exchanges of several degrees, and boxes of two and three stages."""
    found = []
    some = max(1, 3 * ranks // 8)
    degrees = sorted({d for d in (2, 6, 12, 20) if d < ranks})
    for size in sizes:
        complete = make_pattern("complete", ranks, size)
        found.append(Exchange(f"complete {size}", complete, plan_word(complete, "none")))
        for degree in degrees:
            pattern = make_random(ranks, size, degree)
            found.append(Exchange(f"random {degree} {size}", pattern, plan_word(pattern, "none")))
        for stages in ("2", "3"):
            for name, pattern in (
                ("complete", complete),
                (f"random {some}", make_random(ranks, size, some)),
            ):
                plan = plan_word(pattern, stages)
                found.append(Exchange(f"{name} {size} in {stages} stages", pattern, plan))
    return found


def fit(
    exchanges: list[Exchange], wall: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Costs by column of `Exchange.features`, and the relative errors of the fit.

    A longer message costs no less.
    """
    features = np.array([each.features for each in exchanges])
    rises = np.eye(
        features.shape[1]
    )  # what is found: the first message cost, the rises to the next ones, the others
    rises[: len(NODES_B), : len(NODES_B)] = np.tril(np.ones((len(NODES_B), len(NODES_B))))
    columns = features @ rises
    # bytes and counts differ by orders of magnitude: columns of the same size
    scale = np.maximum(columns.max(axis=0), 1e-30)
    trust = np.ones(wall.size)
    for _ in range(
        10
    ):  # least absolute errors: what the machine did beside one exchange must not tilt all
        found, _ = nnls(columns / scale * (trust / wall)[:, None], trust)
        costs = rises @ (found / scale)
        errors = features @ costs / wall - 1
        trust = 1 / np.sqrt(np.maximum(np.abs(errors), 0.02))
    return costs, errors


def write_machine(
    path: Path, costs: NDArray[np.float64], nodes: int, *, shared: bool, about: str, source: str
) -> None:
    """The machine file.

    The wall time of a cost is its work over `nodes`: cores, or ranks with one each.
    """
    message, active, copied = costs[: len(NODES_B)], costs[-2], costs[-1]
    middle = np.array([8, *(np.sqrt(a * b) for a, b in pairwise(LIMITS_B)), LIMITS_B[-1]])
    seconds = hats(middle.astype(np.int64)) @ message * nodes / 2
    steps = [
        f'{{ up_to = "{limit} B", value = "{s * 1e6:.4g} us" }}'
        for limit, s in zip(LIMITS_B, seconds[:-1], strict=True)
    ]
    value = "[" + ", ".join([*steps, f'{{ value = "{seconds[-1] * 1e6:.4g} us" }}']) + "]"
    tag = f'tag = "fitted", source = "{source}"'
    none = 'tag = "assumed", source = "all is work here"'
    copy = f'"{2 / (nodes * copied):.4g} B/s"' if copied > 0 else '"none"'
    lines = [
        f'about = "{about}"',
        "",
        "[network]",
        'kind = "crossbar"',
        f"nodes = {nodes}",
        "",
        "[costs]",
        f'processors = {{ value = "{"shared" if shared else "one"}", {tag} }}',
        f"send_overhead = {{ value = {value}, {tag} }}",
        f"receive_overhead = {{ value = {value}, {tag} }}",
        f'setup = {{ value = "{active * nodes * 1e6:.4g} us", {tag} }}',
        f"copy = {{ value = {copy}, {tag} }}",
        f"inject = {{ value = 0, {none} }}",
        f"eject = {{ value = 0, {none} }}",
        f'port_out = {{ value = "1 TB/s", {none} }}',
        f'port_in = {{ value = "1 TB/s", {none} }}',
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def measure(exchanges: list[Exchange], arguments: argparse.Namespace) -> NDArray[np.float64]:
    """Median wall time of each [s], one after the other in one job."""
    waiting = Waiting(plan_nap_us=arguments.plan_nap_us)
    cells = [
        Cell(
            each.name,
            each.pattern,
            (Variant(each.name, "combined", plan=each.plan, waiting=waiting),),
            BLOCKS,
        )
        for each in exchanges
    ]
    with tempfile.TemporaryDirectory() as folder:
        libraries = find_libraries(Path(folder), None)
        result = run_job(
            cells, libraries, arguments.ranks, arguments.transport, realtime=arguments.realtime
        )
    wrong = [cell["name"] for cell in result["cells"] if any(cell["wrong"].values())]
    if wrong:
        raise SystemExit(f"wrong bytes: {wrong}")
    return np.array([np.median(cell["times"][cell["name"]]["wall_s"]) for cell in result["cells"]])


def measure_machine(path: Path, arguments: argparse.Namespace, *, alone: bool = False) -> None:
    """Measures, fits, says how well, and writes the machine file.

    Args:
        path: of the file.
        arguments: `transport`, `ranks`, `plan_nap_us` and `realtime` as on the command line.
        alone: a node for each rank instead of one for each core.
    """
    cores = len(os.sched_getaffinity(0))
    if arguments.ranks % cores:
        raise SystemExit(f"{arguments.ranks} ranks on {cores} cores: as many on each core required")
    exchanges = exchanges_to_measure(arguments.ranks, list(SIZES))
    wall = measure(exchanges, arguments)
    costs, errors = fit(exchanges, wall)
    named: dict[str, Any] = {
        f"message of {size} B": cost * 1e6 for size, cost in zip(NODES_B, costs, strict=False)
    }
    named |= {"rank and stage": costs[-2] * 1e6, "packed byte": costs[-1] * 1e6}
    print(
        json.dumps(
            {f"{name} [us]": float(f"{value:.4g}") for name, value in named.items()}, indent=1
        )
    )
    for each, seconds, error in sorted(
        zip(exchanges, wall, errors, strict=True), key=lambda row: -abs(row[2])
    ):
        print(f"{each.name:32s} {seconds * 1e6:8.0f} us  fit {error:+.0%}  skew {each.skew:.2f}")
    print(f"rms of relative errors {np.sqrt(np.mean(errors**2)):.1%}", flush=True)
    about = (
        f"{arguments.ranks} ranks that share the cores of one machine, {arguments.transport}, "
        f"{find_wheel()}"
    )
    shared = not alone and cores < arguments.ranks
    nodes = cores if shared else arguments.ranks
    write_machine(
        path,
        costs,
        nodes,
        shared=shared,
        about=about,
        source=f"{len(exchanges)} exchanges of measure_machine.py",
    )
    if shared:
        print(f"{path}: compile with --ranks-per-node {arguments.ranks // cores}")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transport", choices=tuple(TRANSPORTS), required=True)
    parser.add_argument("--ranks", type=int, default=32)
    parser.add_argument(
        "--plan-nap-us", type=float, default=0.0, help="longest nap of conset's executor"
    )
    parser.add_argument("--realtime", action="store_true", help="ahead of other processes")
    parser.add_argument(
        "--alone", action="store_true", help="a node with processors of its own for each rank"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    arguments = read_arguments()
    measure_machine(arguments.output, arguments, alone=arguments.alone)


if __name__ == "__main__":
    main()
