"""The Thakur text's exchanges and Scott's.

Against the pseudo-code line by line, on parts of patterns, and refusals.
"""

from __future__ import annotations

import numpy as np
import pytest

from conset.base.errors import InputError
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.spec import parse_machine
from conset.methods.phases.pairwise_exchange import gen_contention, pex_contention
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset.verification import verify


def compiled(spec: str, on: str, **options: object) -> Schedule:
    machine = parse_machine(on)
    pattern = parse_pattern(spec, topology=machine.topology)
    return checked(pattern, on, **options)


def checked(pattern: Pattern, on: str, **options: object) -> Schedule:
    schedule = compile_pattern(pattern, parse_machine(on), CompileOptions(**options))  # type: ignore[arg-type]
    verification = verify(schedule)
    assert verification.ok, verification.violations[:3]
    return schedule


def pairs_of(schedule: Schedule) -> list[set[tuple[int, int]]]:
    source, target = (
        ranks[schedule.message] for ranks in (schedule.pattern.source, schedule.pattern.target)
    )
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    return [
        set(pairs[a:b])
        for a, b in zip(schedule.phase_offsets, schedule.phase_offsets[1:], strict=False)
    ]


def figure(name: str, p: int, modulus: int | None = None) -> list[set[tuple[int, int]]]:
    """The text's Figures 1, 2, 4 (with modulus q unless another is given) and 5, processor by
    processor."""
    q = 1
    while q < p:
        q *= 2
    shift = (q - p) // 2 if name == "pex-gen-shift" else 0
    steps = []
    for j in range(1, p if name in ("pex", "gen") else q):
        step = set()
        for mynumber in range(p):
            if name == "gen":
                destination = (mynumber + j) % p
            else:
                destination = (((mynumber + shift) % (modulus or q)) ^ j) - shift
                if destination < 0:
                    destination += q
            if destination < p:
                step.add((mynumber, destination))
        steps.append(step)
    return [step for step in steps if step]


@pytest.mark.parametrize(
    "mesh", [(1, 1), (1, 2), (3, 1), (2, 4), (3, 3), (4, 4), (4, 5), (3, 7), (1, 11), (8, 4)]
)
@pytest.mark.parametrize("method", ["pex", "pex-gen", "pex-gen-shift", "gen"])
def test_steps_are_those_of_the_figures(method: str, mesh: tuple[int, int]) -> None:
    p = mesh[0] * mesh[1]
    if method == "pex" and p & (p - 1):
        pytest.skip("pex requires a power of two")
    schedule = compiled("alltoall", f"mesh:{mesh[0]}x{mesh[1]}", method=method)
    assert pairs_of(schedule) == figure(method, p)


def test_the_modulus_that_is_printed_breaks_the_symmetry() -> None:
    """20 ranks: shift 6.

    With `mod p` ranks message themselves and partners disagree; with `mod q` they are 6 to 25.
    """
    printed, read = figure("pex-gen-shift", 20, 20), figure("pex-gen-shift", 20)
    assert any(x == y for step in printed for x, y in step)
    assert any((y, x) not in step for step in printed for x, y in step)
    assert all(x != y and (y, x) in step for step in read for x, y in step)
    assert [(rank + 6) % 32 for rank in range(20)] == list(range(6, 26))


@pytest.mark.parametrize("sides", [(8,), (2, 4, 2), (4, 1, 8), (2, 2, 2, 4)])
def test_the_formula_of_pex_holds_in_any_number_of_dimensions(sides: tuple[int, ...]) -> None:
    load = phase_loads(compiled("alltoall", "mesh:" + "x".join(map(str, sides)), method="pex")).link
    assert np.array_equal(load, pex_contention(sides))


@pytest.mark.parametrize("rows", range(1, 8))
@pytest.mark.parametrize("columns", range(1, 8))
def test_the_exact_formula_of_gen_holds_on_any_mesh(rows: int, columns: int) -> None:
    if rows * columns == 1:
        assert gen_contention(rows, columns).size == 0
        return
    load = phase_loads(compiled("alltoall", f"mesh:{rows}x{columns}", method="gen")).link
    assert np.array_equal(load, gen_contention(rows, columns))


def test_steps_without_messages_vanish() -> None:
    schedule = compiled("shift:by=3", "mesh:4x4", method="gen")
    assert schedule.phases == 1
    assert compiled("butterfly", "mesh:4x4", method="pex").phases == 4


@pytest.mark.parametrize("method", ["pex", "pex-gen", "pex-gen-shift"])
def test_exchanges_keep_the_duplex_rule(method: str) -> None:
    compiled("random:degree=5", "mesh:4x4", method=method, limits="duplex=exchange")


def test_gen_does_not_exchange() -> None:
    with pytest.raises(InputError, match="method gen keeps duplex full: duplex=exchange was asked"):
        compiled("alltoall", "mesh:4x4", method="gen", limits="duplex=exchange")


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("mesh:4x5", "method pex requires sides that are powers of two, given 5"),
        ("crossbar:12", "method pex requires a power of two of ranks, given 12"),
    ],
)
def test_pex_requires_powers_of_two(on: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        compiled("alltoall", on, method="pex")


@pytest.mark.parametrize("method", ["pex", "pex-gen", "pex-gen-shift", "gen", "scott"])
def test_ranks_that_share_a_node_are_refused(method: str) -> None:
    pattern = parse_pattern("alltoall", ranks=32)
    with pytest.raises(
        InputError, match=f"method {method} requires one rank per node, given 2 ranks on node 0"
    ):
        checked(pattern, "mesh:4x4", method=method, ranks_per_node=2)


@pytest.mark.parametrize(
    ("on", "given"),
    [
        ("mesh:6x6", "mesh 6x6"),
        ("mesh:4x8", "mesh 4x8"),
        ("torus:8x8", "torus 8x8"),
        ("ring:16", "ring 16"),
        ("hypercube:4", "hypercube 2x2x2x2"),
        ("mesh:4x4,dead=3", "graph 15 nodes"),
        ("mesh:4x4x4", "mesh 4x4x4"),
    ],
)
def test_scott_requires_a_square_mesh_of_side_4m(on: str, given: str) -> None:
    with pytest.raises(
        InputError,
        match=f"method scott requires an n x n mesh with n divisible by 4, given {given}",
    ):
        compiled("alltoall", on, method="scott")


def test_scott_takes_a_torus_whose_routes_do_not_wrap() -> None:
    assert compiled("alltoall", "torus:8x8,routing=no-wrap", method="scott").phases == 128


@pytest.mark.parametrize("placement", ["identity", "random"])
def test_scott_takes_parts_of_an_exchange_and_any_placement(placement: str) -> None:
    assert (
        compiled("random:degree=5", "mesh:8x8", method="scott", placement=placement, seed=3).phases
        <= 128
    )
    assert (
        compiled("alltoall", "mesh:8x8", method="scott", placement=placement, seed=3).phases == 128
    )
    few = parse_pattern("alltoall", ranks=10)
    checked(few, "mesh:4x4", method="scott", placement=placement)
