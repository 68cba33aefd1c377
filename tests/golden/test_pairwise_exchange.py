"""Contention of the Thakur text's algorithms on its ten meshes.

Corrected formulas against loads counted link by link.

Source of the figures: counts of every step by a prototype that shares no code with this one (all
ten meshes of the text's Tables 2 to 6), columns `equal`, `formula_higher`, `formula_lower`,
`max_actual`. The text prints formulas only.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.spec import parse_machine
from conset.methods.phases.pairwise_exchange import (
    gen_contention,
    pex_contention,
    text_gen_contention,
)
from conset.pattern.spec import parse_pattern
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify

POWERS_OF_TWO = [(4, 4), (8, 8), (16, 8), (16, 16), (16, 32)]
OTHERS = [(4, 5), (6, 8), (16, 9), (16, 14), (16, 30)]


def exchange(method: str, rows: int, columns: int) -> Schedule:
    machine = parse_machine(f"delta:{rows}x{columns}")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    schedule = compile_pattern(pattern, machine, CompileOptions(method=method))
    assert verify(schedule).ok
    return schedule


def counted(method: str, rows: int, columns: int) -> NDArray[np.int32]:
    return phase_loads(exchange(method, rows, columns)).link


@pytest.mark.parametrize(("rows", "columns"), POWERS_OF_TWO)
def test_pex_loads_its_links_as_the_formula_with_floors_says(rows: int, columns: int) -> None:
    load = counted("pex", rows, columns)
    assert np.array_equal(load, pex_contention((rows, columns)))
    assert load.max() == max(rows, columns) // 2  # the text: limited by max(r, c)/2


@pytest.mark.parametrize(
    ("rows", "columns", "too_high"),
    [(4, 4, 7), (8, 8, 46), (16, 8, 102), (16, 16, 221), (16, 32, 461)],
)
def test_the_ceilings_of_the_scan_would_be_too_high(rows: int, columns: int, too_high: int) -> None:
    step = np.arange(1, rows * columns)
    ceiling = 2 ** np.ceil(np.log2(np.maximum(step % columns, step // columns))).astype(int)
    load = pex_contention((rows, columns))
    assert np.count_nonzero(ceiling > load) == too_high
    assert not np.any(ceiling < load)


@pytest.mark.parametrize(("rows", "columns"), POWERS_OF_TWO + OTHERS)
def test_gen_loads_its_links_as_the_exact_formula_says(rows: int, columns: int) -> None:
    load = counted("gen", rows, columns)
    assert np.array_equal(load, gen_contention(rows, columns))
    assert load.max() == max(rows, columns) // 2


GEN_SUM = {
    (4, 4): 2,
    (8, 8): 30,
    (16, 8): 70,
    (16, 16): 182,
    (16, 32): 406,
    (4, 5): 4,
    (6, 8): 20,
    (16, 9): 84,
    (16, 14): 154,
    (16, 30): 378,
}
"""Steps in which the text's sum of both terms is too high."""


@pytest.mark.parametrize("mesh", GEN_SUM)
def test_the_texts_formula_for_gen_is_an_upper_bound(mesh: tuple[int, int]) -> None:
    text, exact = text_gen_contention(*mesh), gen_contention(*mesh)
    assert np.count_nonzero(text > exact) == GEN_SUM[mesh]
    assert not np.any(text < exact)


PAIRWISE = {
    (4, 5): (31, 3, 5, 4),
    (6, 8): (63, 4, 0, 0),
    (16, 9): (255, 8, 30, 21),
    (16, 14): (255, 9, 62, 56),
    (16, 30): (511, 18, 266, 229),
}
"""Mesh → steps, largest load of either algorithm, steps of pex-gen and of pex-gen-shift above
pex's formula."""


@pytest.mark.parametrize("mesh", PAIRWISE)
def test_pairwise_exchanges_off_powers_of_two_exceed_the_formula_of_pex(
    mesh: tuple[int, int],
) -> None:
    steps, largest, above, above_shifted = PAIRWISE[mesh]
    step = np.arange(1, steps + 1)
    formula = 2 ** np.floor(np.log2(np.maximum(step % mesh[1], step // mesh[1]))).astype(int)
    for method, more in (("pex-gen", above), ("pex-gen-shift", above_shifted)):
        load = counted(method, *mesh)
        assert load.size == steps
        assert load.max() == largest
        assert np.count_nonzero(load > formula) == more


def test_table_1_pairs_of_pex_on_eight_processors() -> None:
    """Table 1 of the text, seven steps of four exchanges."""
    table = {
        1: {(0, 1), (2, 3), (4, 5), (6, 7)},
        2: {(0, 2), (1, 3), (4, 6), (5, 7)},
        3: {(0, 3), (1, 2), (4, 7), (5, 6)},
        4: {(0, 4), (1, 5), (2, 6), (3, 7)},
        5: {(0, 5), (1, 4), (2, 7), (3, 6)},
        6: {(0, 6), (1, 7), (2, 4), (3, 5)},
        7: {(0, 7), (1, 6), (2, 5), (3, 4)},
    }
    schedule = exchange("pex", 2, 4)
    source, target = schedule.source_node, schedule.target_node
    for step, pairs in table.items():
        sent = schedule.phase_of == step - 1
        assert set(zip(source[sent].tolist(), target[sent].tolist(), strict=True)) == pairs | {
            (b, a) for a, b in pairs
        }


@pytest.mark.parametrize("side", [4, 8, 12, 16, 20])
def test_scott_takes_as_many_phases_as_the_bisection_bound(side: int) -> None:
    """003, Section 4: a³/4 phases; 4a nodes are active in each, their own messages included."""
    schedule = exchange("scott", side, side)
    assert schedule.phases == side**3 // 4
    assert phase_loads(schedule).link.max() == 1
    assert np.diff(schedule.phase_offsets).max() == 4 * side
