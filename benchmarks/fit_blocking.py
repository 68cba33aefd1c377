"""Fits `blocking` of a machine's preset: the exponent of what a link loses beyond its tolerance.

    python benchmarks/fit_blocking.py [FOLDER OF GOLDEN TABLES]

The prediction formula says: link time = bytes / bandwidth · max(1, load / tolerance)^blocking. All other numbers of the
presets stay; the one exponent is chosen by least squares of log(predicted / told) over what published tables and a
prototype's simulations tell (columns say which). The formula is written out again here, in NumPy, over loads known in
closed form or counted, so that the fit shares nothing with `conset.prediction`.

It prints, per machine: the exponent, the root mean square of the log error with it and without (exponent 0), and what
the fit can and cannot explain. The presets carry the value, rounded to two digits.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"
EXPONENTS = np.round(np.arange(0.0, 2.001, 0.01), 2)

Case = tuple[str, float, Callable[[float], float]]
"""(name, time told, predicted time by the exponent): us, or clocks for iWarp."""


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def link_time(load: float, size: float, rate: float, tolerance: float, blocking: float) -> float:
    """Time of a link [us] that carries `load` messages of `size` bytes at `rate` [MB/s]."""
    return load * size / rate * max(1.0, load / tolerance) ** blocking


# Paragon: the complete exchange in groups of known node and link contention (003), and naive.


def paragon_time(n: int, size: float, groups: int, node: int, link: int, barriers: bool, blocking: float) -> float:
    """`groups` equal groups, each with `node` messages per port and `link` per link [us]."""
    barrier = 274 * np.log2(n) - 134 if barriers else 0.0
    port = node * (231 + 0.022 * size)
    return groups * (barrier + max(port, link_time(link, size, 175, 3, blocking)))


def paragon_cases(golden: Path) -> Iterator[Case]:
    seen = set()
    for row in rows(golden / "machines" / "prototype_paragon_surface.csv"):
        n, size = int(row["n"]), float(row["bytes"])
        node, link = int(row["node_contention"]), int(row["link_contention"])
        if n < 8 or size < 8640:  # on 4x4 overheads overlap, below 8640 B they are unknown
            continue
        groups = -(-(n**3 // 4) // link)
        ports = max(node, -(-n * n // groups))
        yield (
            f"{n}x{n} {size:g} B c={link}",
            float(row["bounded_ms"]) * 1e3,
            lambda b, a=(n, size, groups, ports, link, True): paragon_time(*a, b),  # type: ignore[misc]
        )
        if (n, size) not in seen and row["naive_ascending_ms"]:
            seen.add((n, size))
            told = float(row["naive_ascending_ms"]) * 1e3
            yield (
                f"{n}x{n} {size:g} B naive",
                told,
                lambda b, a=(n, size, 1, n * n - 1, n**3 // 4, False): paragon_time(*a, b),  # type: ignore[misc]
            )


# iPSC/860: d messages from and to every node of the 6-cube at once (001: AC).


def cube_load(degree: int, seed: int) -> int:
    """Largest number of e-cube routes over a link, every node sending to and receiving from `degree` others."""
    rng = np.random.default_rng(seed)
    load = np.zeros((64, 6), np.int64)
    taken = np.eye(64, dtype=bool)
    for _ in range(degree):
        target = rng.permutation(64)
        for _ in range(10_000):
            wrong = np.flatnonzero(taken[np.arange(64), target])
            if not wrong.size:
                break
            other = rng.integers(64, size=wrong.size)
            for a, b in zip(wrong, other, strict=True):
                target[[a, b]] = target[[b, a]]
        taken[np.arange(64), target] = True
        at = np.arange(64)
        for bit in range(6):
            cross = ((at ^ target) >> bit & 1).astype(bool)
            load[at[cross], bit] += 1
            at = np.where(cross, at ^ (1 << bit), at)
    return int(load.max())


def ipsc860_time(degree: int, size: float, load: float, blocking: float) -> float:
    """Half duplex: sends and receives of a node share its rate [us]."""
    overhead = 65 if size <= 100 else 147
    node = 2 * degree * (overhead / 2 + 0.39 * size)
    return max(node, link_time(load, size, 1 / 0.39, 1, blocking))


def ipsc860_cases(golden: Path) -> Iterator[Case]:
    loads = {degree: float(np.mean([cube_load(degree, seed) for seed in range(5)])) for degree in (4, 16, 32)}
    for row in rows(golden / "machines" / "prototype_ipsc860_times.csv"):
        if not row["setting"].startswith("AC in random order"):
            continue
        degree, size = int(row["d"]), float(row["bytes"])
        if size < 1024:  # overheads decide there, which no exponent changes
            continue
        yield (
            f"d={degree} {size:g} B AC",
            float(row["AC_ms"]) * 1e3,
            lambda b, a=(degree, size, loads[degree]): ipsc860_time(*a, b),  # type: ignore[misc]
        )


# Delta: pairwise exchanges, partner i XOR j in step j (002: PEX), printed times.


def mesh_loads(columns: int, rank_rows: int) -> NDArray[np.int64]:
    """shape=(steps, links): routes over each link of the mesh in every step of PEX, X first."""
    count = columns * rank_rows
    ranks = np.arange(count)
    loads = np.zeros((count - 1, 4, count), np.int64)
    for step in range(1, count):
        target = ranks ^ step
        x, y, tx, ty = ranks % columns, ranks // columns, target % columns, target // columns
        for at in range(columns - 1):
            np.add.at(loads[step - 1, 0], y[(x <= at) & (at < tx)] * columns + at, 1)
            np.add.at(loads[step - 1, 1], y[(tx <= at) & (at < x)] * columns + at, 1)
        for at in range(rank_rows - 1):
            np.add.at(loads[step - 1, 2], at * columns + tx[(y <= at) & (at < ty)], 1)
            np.add.at(loads[step - 1, 3], at * columns + tx[(ty <= at) & (at < y)], 1)
    return loads.reshape(count - 1, -1)


def delta_time(loads: NDArray[np.int64], size: float, blocking: float) -> float:
    """Policy `local`: work added up per port and link, the loads of each step by themselves [us]."""
    steps = loads.shape[0]
    node = steps * (220 + 0.7 * 2 * size / 6.5)
    port = steps * (220 + size / 4.8)
    link = (loads * size / 9 * np.maximum(1.0, loads / 2) ** blocking).sum(axis=0).max()
    return max(node, port, float(link))


def delta_cases(golden: Path) -> Iterator[Case]:
    known: dict[str, NDArray[np.int64]] = {}
    for row in rows(golden / "thakur_fit.csv"):
        if row["model"] != "paper" or row["algorithm"] != "PEX":
            continue
        mesh = row["mesh"]
        if mesh not in known:
            rank_rows, columns = (int(side) for side in mesh.split("x"))
            known[mesh] = mesh_loads(columns, rank_rows)
        yield (
            f"{mesh} {row['bytes']} B PEX",
            float(row["measured_s"]) * 1e6,
            lambda b, a=(known[mesh], float(row["bytes"])): delta_time(*a, b),  # type: ignore[misc]
        )


# iWarp: message passing (naive) of the neighbours and the all-to-all on 8x8 (000, Tables 1 and 3), printed clocks.


def iwarp_time(words: float, messages: int, load: int, blocking: float) -> float:
    """Clocks: 800 of overhead and 2 a word at a port, 2 a word at a link."""
    return max(messages * (800 + 2 * words), 2 * words * load * max(1.0, load / 12) ** blocking)


def iwarp_cases(golden: Path) -> Iterator[Case]:
    for file, messages, load in (("conset_table1_torus.csv", 4, 1), ("conset_table3_alltoall.csv", 63, 64)):
        for row in rows(golden / file):
            words = float(row["data_words_per_connection"])
            yield (
                f"{file[7:13]} {words:g} words",
                float(row["msgpass_measured_clocks"]),
                lambda b, a=(words, messages, load): iwarp_time(*a, b),  # type: ignore[misc]
            )


MACHINES = {"paragon": paragon_cases, "ipsc860": ipsc860_cases, "delta": delta_cases, "iwarp": iwarp_cases}


def fit(cases: list[Case]) -> tuple[float, NDArray[np.float64]]:
    """(best exponent, shape=(exponents, cases): log of predicted / told)."""
    errors = np.array([[np.log(time(b) / told) for _, told, time in cases] for b in EXPONENTS])
    best = int(np.argmin((errors**2).mean(axis=1)))
    return float(EXPONENTS[best]), errors


def main(golden: Path) -> None:
    for name, cases_of in MACHINES.items():
        cases = list(cases_of(golden))
        best, errors = fit(cases)
        rms = np.sqrt((errors**2).mean(axis=1))
        chosen = errors[np.flatnonzero(best == EXPONENTS)[0]]
        print(
            f"{name}: blocking {best:g}, {len(cases)} figures, rms log error {rms.min():.3f} (exponent 0: {rms[0]:.3f})"
        )
        for k in np.argsort(-np.abs(chosen))[:4]:
            print(f"    {cases[k][0]:28} predicted {np.exp(chosen[k]):.2f} of what is told")
        for (label, told, _), error, flat in zip(cases, chosen, errors[0], strict=True):
            if "15232" in label or "131072" in label or "16384" in label:
                shares = f"with {best:g} {np.exp(error):.2f}, with 0 {np.exp(flat):.2f}"
                print(f"    {label:28} told {told:9.0f} {'clocks' if name == 'iwarp' else 'us'}, {shares}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN)
