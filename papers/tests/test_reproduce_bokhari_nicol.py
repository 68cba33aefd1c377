"""The Paragon's text reproduced.

Printed numbers, permutations, bounds, and what the model says of its claims.

Bounds at 15,232 B: `golden/paragon_pred_15232.csv`, a separate script's evaluation of Table 1 (274
log2 n - 134 us a barrier, 231 + 0.022 m us a message) in whole microseconds, for both readings of
the logarithm. Times of a prototype of the same model,
`golden/machines/prototype_paragon_slice_15232.csv`, are for comparison: they agree where messages
do not race, and differ in how ties fall where they do.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.models import Workload
from conset_papers import find_rows
from conset_papers.bokhari_nicol import exchange, schedules, slices, surfaces
from conset_papers.bokhari_nicol.exchange import SLICE_B, Pair, Setting
from conset_papers.item import Item
from conset_papers.write import write_item


def claims(item: Item) -> dict[bool, list[str]]:
    """Claims that are judged by whether they hold."""
    return {
        holds: [one.statement for one in item.claims if one.asserted and one.holds == holds]
        for holds in (True, False)
    }


def test_every_item_of_the_text_has_a_row_in_its_order() -> None:
    names = [row.item for row in find_rows("bokhari-nicol")]
    figures = [f"Figure {number}" for number in range(7, 16)]
    first = [
        "Figure 1",
        "Table 1",
        "Figure 2",
        "Figure 3",
        "Figure 4",
        "Figure 5",
        "Table 2",
        "Figure 6",
    ]
    assert names == [*first, *figures, "Assumptions", "Synchronization"]


def test_figure_1_holds_every_route_against_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    item = schedules.figure_1()
    assert item.verdict == "holds", item.all_departures
    assert "240 of 240" in item.claims[0].figures
    assert schedules.row_column(4, 2).tolist() == [4, 5, 6, 2]
    monkeypatch.setattr(schedules, "row_column", lambda source, target: np.array([source, target]))
    assert not schedules.figure_1().claims[0].holds


def test_figure_2_counts_what_the_axes_say() -> None:
    item = schedules.figure_2()
    assert not item.outside
    assert [(cell.published, cell.ours) for cell in item.cells] == [
        (128, 128),
        (512, 512),
        (256, 255),
        (1024, 1024),
    ]
    assert schedules.count_group(Pair(8, 1, 2)) == (
        1,
        2,
    )  # two permutations collapse to one, contention doubles
    assert schedules.count_group(Pair(8, 2, 4)) == (4, 8)


def test_table_1_is_what_the_preset_predicts() -> None:
    """By pencil: 274 · 3 - 134 = 688 us on 8 x 8; 231 + 0.022 · 15232 = 566.104 us."""
    item = schedules.table_1()
    assert (item.basis, item.cells, item.verdict) == ("formula", (), "not judged")
    assert all(claim.holds for claim in item.claims)
    assert exchange.barrier_us(8) == pytest.approx(688)
    assert exchange.barrier_us(8, of_nodes=True) == pytest.approx(1510)
    assert exchange.message_us(SLICE_B) == pytest.approx(566.104)


def golden(shared_golden: Path) -> dict[tuple[int, int], dict[str, str]]:
    with (shared_golden / "paragon_pred_15232.csv").open() as file:
        return {(int(row["n"]), int(row["link_contention"])): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("side", exchange.SIDES)
def test_bounds_are_those_of_the_golden_table_to_the_microsecond(
    side: int, shared_golden: Path
) -> None:
    rows = golden(shared_golden)
    for pair in exchange.pairs(side, new=False):
        row = rows[side, pair.link]
        assert int(row["node_contention"]) == pair.node
        for of_nodes, reading in ((False, "logn"), (True, "logN")):
            expected = [int(row[f"{what}_us_{reading}"]) for what in ("lower", "upper")]
            found = [
                round(bound)
                for bound in exchange.printed_bounds_us(side, pair.link, SLICE_B, of_nodes=of_nodes)
            ]
            assert found == expected, (pair, reading)
        compiled = [round(bound) for bound in exchange.bounds_us(pair)]
        assert compiled == [int(row["lower_us_logn"]), int(row["upper_us_logn"])], pair


def test_pairs_are_those_of_the_text_and_the_new_ones() -> None:
    assert [pair.label for pair in exchange.pairs(8)] == [
        "(1, 1)",
        "(1, 2)",
        "(2, 4)",
        "(4, 8)",
        "(8, 16)",
        "(16, 32)",
        "(32, 64)",
        "(64, 128)",
    ]
    assert [pair.label for pair in exchange.pairs(12) if pair.new] == ["(1, 2)"]
    assert [pair.label for pair in exchange.pairs(16) if pair.new] == ["(1, 3)"]
    assert exchange.pairs(12)[-1] == Pair(12, 3, 144)
    assert exchange.pairs(16)[-1] == Pair(16, 4, 256)


def test_new_points_have_the_bounds_of_the_formula() -> None:
    """By pencil: 12 x 12, c = 2: 216 · (848.3 + 566.1) us.

    16 x 16, c = 3: 342 · (962 + 566.1) us.
    """
    for pair, phases, lower_ms in ((Pair(12, 2), 216, 305.5), (Pair(16, 3), 342, 522.6)):
        assert exchange.bounded(pair.side, pair.contention).phases == phases
        assert exchange.bounds_us(pair)[0] / 1e3 == pytest.approx(lower_ms, abs=0.05)


def test_figure_3_transposes_the_matrix() -> None:
    item = schedules.figure_3()
    assert item.verdict == "holds"
    schedule = conset.compile("alltoall", "mesh:2x2", method="bounded")
    before = np.tile(np.arange(4), (4, 1))
    assert np.array_equal(schedules.moved_blocks(schedule, before), before.T)
    with pytest.raises(ValueError, match="is on"):
        schedules.moved_blocks(schedule, before.T)


def test_figure_4_rows_are_tiles_of_the_compiled_schedule() -> None:
    item = schedules.figure_4()
    assert item.verdict == "holds"
    rows = schedules.printed_rows("figure_4")
    assert len(rows) == 22
    assert "22 of 22" in item.claims[0].figures


def test_a_misread_row_is_found() -> None:
    """One digit of the scan changed: no tile, and no phase that holds all four messages."""
    schedule = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=1)
    row = schedules.printed_rows("figure_4")[6]
    phase = schedules.phase_matrix(schedule)
    assert len(schedules.phases_of(row, phase)) == 1
    wrong = replace(row, target=row.target + np.array([[1, 0], [0, 0], [0, 0], [0, 0]]))
    assert len(schedules.phases_of(wrong, phase)) > 1
    assert not schedules.is_tile(np.array([0, 1, 6, 7]), np.array([1, 0, 7, 6]), 8)
    assert schedules.is_tile(np.array([0, 1, 6, 7]), np.array([1, 7, 0, 6]), 8)


def test_figure_5_is_literally_phases_96_and_97() -> None:
    item = schedules.figure_5()
    assert item.verdict == "holds"
    assert (len(item.cells), len(item.claims)) == (64, 3)
    assert "phases 96 + 97 at contention 1, phase 48 at contention 2" in item.claims[0].figures


def test_figure_6_collapses() -> None:
    assert schedules.figure_6().verdict == "holds"


def test_naive_orders_are_permutations_node_by_node() -> None:
    work = Workload.of_schedule(conset.compile("alltoall", "paragon:4x4", method="naive"))
    for order in exchange.ORDERS:
        listed = exchange.naive_order(work, order, seed=3)
        assert sorted(listed) == list(range(work.messages))
        assert np.all(np.diff(work.source[listed]) >= 0)
    rotated = exchange.naive_order(work, "rotated")
    assert work.target[rotated][15:19].tolist() == [2, 3, 4, 5]
    one, two = (exchange.naive_order(work, "random", seed) for seed in (1, 2))
    assert not np.array_equal(one, two)


FAILS_4 = {
    "abstract: bounded beats naive for all but the smallest messages, where naive wins; naive in "
    "ascending order",
}
FAILS_8 = FAILS_4 | {
    "section 7: improvement is arrested at node contention 16: every size has its least time there",
}


@pytest.mark.parametrize(("side", "fails"), [(4, FAILS_4), (8, FAILS_8)])
def test_surfaces_of_small_meshes_and_the_texts_words(side: int, fails: set[str]) -> None:
    surface = surfaces.trace_surface(side, (1024, SLICE_B, 65_536))
    found = surfaces.claims_of(surface)
    assert {claim.statement for claim in found if claim.asserted and not claim.holds} == fails
    for size in surface.sizes:
        assert surface.scott[size] == pytest.approx(surface.bounded[Pair(side, 1), size], rel=1e-9)


def test_scott_and_naive_can_win() -> None:
    """The claims about rivals see one slow pair, and a naive program that wins where it should
    not."""
    surface = surfaces.trace_surface(8, (1024, SLICE_B, 65_536))
    slow = replace(surface, bounded={**surface.bounded, (Pair(8, 2, 8), 1024): 1.0})
    assert "(8, 16) at 1 KiB" in surfaces._beats_scott(slow).figures
    assert not surfaces._beats_scott(slow).holds
    small = replace(surface, naive={**surface.naive, ("ascending", 1024): 0.0})
    assert surfaces._beats_naive(small, "ascending").holds
    large = replace(surface, naive={**surface.naive, ("ascending", 65_536): 0.0})
    assert not surfaces._beats_naive(large, "ascending").holds


def test_the_plane_has_the_surface_in_it() -> None:
    plane = surfaces.trace_plane(8, (SLICE_B,))
    assert len(plane) == 2 * 7
    for pair in exchange.pairs(8):
        assert plane[(pair.contention, pair.every), SLICE_B] == exchange.bounded_s(pair)
    (claim,) = surfaces.plane_claims(plane, 8)
    assert claim.holds
    one = {**plane, ((1, 2), SLICE_B): 1.03 * plane[(1, 2), SLICE_B]}
    assert not surfaces.plane_claims(one, 8)[0].holds


def test_naive_and_one_group_do_not_run_on_16_x_16() -> None:
    assert "255 receives" in exchange.refusal(16)
    assert "255 receives" in exchange.refusal(16, Pair(16, 4, 256))
    assert not exchange.refusal(16, Pair(16, 4, 128))
    assert not exchange.refusal(12)


@pytest.mark.texts
def test_figure_11_on_three_sizes_in_ascending_order() -> None:
    for side in surfaces.MESHES:
        surface = surfaces.trace_surface(side, (512, SLICE_B, 65_536))
        for size in surface.sizes:
            assert surfaces.improvement(surface, size, "ascending") > surfaces.LEVEL
            assert surfaces.improvement(surface, size, "rotated") < surfaces.improvement(
                surface, size, "ascending"
            )


def test_slices_are_judged_where_nothing_was_fitted_to() -> None:
    """On 4 x 4 and 8 x 8 predicted times alone; 12 x 12 fails where three messages share a link."""
    found = {side: slices.slices(side) for side in (4, 8, 12)}
    for item in found.values():
        assert (item.basis, item.cells) == ("formula", ())
        assert "give the text's bounds back" in item.claims[-1].statement
        assert item.claims[-1].holds
    assert {
        side: (len(claims(item)[True]), len(claims(item)[False])) for side, item in found.items()
    } == {
        4: (1, 0),
        8: (1, 0),
        12: (5, 1),
    }
    (merged,) = claims(found[12])[False]
    assert "close to the lower bound (5 %) up to link contention 4" in merged


def test_figure_15_is_not_what_the_text_says() -> None:
    """At (1, 4) far above the lower bound, and no longer rising where the text's time does."""
    points = slices.slice_points(16, slices.fitted().setting)
    (merged,) = (point for point in points if point.pair.link == 4)
    assert 0.8 < merged.over < 0.9
    assert [claim.holds for claim in slices._trend(points)] == [True, False]
    assert [claim.holds for claim in slices._trend(slices.slice_points(16))] == [False, False]


def test_slices_agree_with_a_prototype_where_messages_do_not_race(shared_golden: Path) -> None:
    with (shared_golden / "machines" / "prototype_paragon_slice_15232.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if preset(row) and int(row["n"]) in (4, 8, 12)]
    met = 0
    for row in rows:
        for pair in exchange.pairs(int(row["n"]), new=False):
            if pair.link == int(row["link_contention"]):
                time_ms = exchange.bounded_s(pair) * 1e3
                within = 0.001 if pair.node <= 4 else 0.03
                assert time_ms == pytest.approx(float(row["simulated_ms"]), rel=within), pair
                met += 1
    assert met == 20


def preset(row: dict[str, str]) -> bool:
    """The prototype's row with the preset's settings."""
    wanted = {
        "lanes": "3",
        "in_flight": "3",
        "inj": "3",
        "ej": "3",
        "one_cpu": "0",
        "link_MB_s": "175",
    }
    return all(row[name] == value for name, value in wanted.items())


def test_the_setting_is_fitted_to_4_x_4_and_8_x_8_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    slices.candidates.cache_clear()
    sides: set[int] = set()

    def seen(side: int, setting: Setting) -> list[slices.Point]:
        sides.add(side)
        return slice_points(side, setting)

    slice_points = slices.slice_points
    monkeypatch.setattr(slices, "slice_points", seen)
    best = slices.fitted()
    assert sides == {4, 8}
    assert best.setting == Setting(2, "2", "overhead=0,startup=231us")
    assert [one.holds for one in slices.candidates() if one.holds >= best.holds] == [7]
    (preset,) = (one for one in slices.candidates() if one.setting == Setting(3, "3"))
    assert (preset.holds, slices._held(exchange.PRESET, slices.FIT)) == (5, (5, 8))
    one_lane = slices.slice_points(8, Setting(1, "3"))
    assert all(point.label == "above" for point in one_lane if point.pair.link > 1)


def test_the_same_phases_without_barriers() -> None:
    (row,) = slices.trace_rows(8, (SLICE_B,))
    assert row.policy["local"] < 0.9 * row.barriers
    assert row.free < row.barriers


@pytest.mark.texts
@pytest.mark.parametrize("item", ["figure-3", "figure-4", "figure-5", "figure-6", "figure-12"])
def test_items_are_written_with_their_pictures(item: str, tmp_path: Path) -> None:
    (row,) = find_rows("bokhari-nicol", item)
    one, two = (write_item(row.make(), tmp_path / name) for name in ("one", "two"))
    assert [path.name for path in one if path.suffix == ".svg"] == [f"{item}.svg"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


@pytest.mark.texts
def test_a_surface_is_written_with_its_three_pictures(tmp_path: Path) -> None:
    (row,) = find_rows("bokhari-nicol", "figure-7")
    names = [path.name for path in write_item(row.make(), tmp_path)]
    assert [name for name in names if name.endswith(".svg")] == [
        "figure-7.svg",
        "figure-7-surface.svg",
        "figure-7-plane.svg",
    ]
