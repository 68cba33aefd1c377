"""Pictures of programs that forward, and what stages cost over sizes.

Tables, Markdown, the commands.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'conset[draw]'")

import typer
from typer.testing import CliRunner

from conset.base.errors import InputError, UsageError
from conset.cli import compare, show
from conset.compilation.options import CompileOptions
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.report.markdown import section_markdown
from conset.report.program_pictures import moves_of, pick_message, picture_message, rank_places
from conset.report.style import save
from conset.report.sweeps import draw_tradeoff, tradeoff_lines, tradeoff_section
from conset.schedule.files.compiled import document_of, write_compiled
from conset.schedule.paths import Paths
from conset.schedule.program import Program
from conset.studies.compare.comparison import StageRow, compare_stages, with_largest
from support.grid_programs import alltoall, rows_then_columns
from support.vector_pictures import drawn

NAIVE = CompileOptions(method="naive")


def program(ranks: int, machine: str, columns: Any, **given: Any) -> Program:
    """Any paths, every stage posted at once."""
    from conset.compilation.pipeline import compile_placed
    from conset.schedule.schedule import Manifest

    pattern = given.pop("pattern", None) or alltoall(ranks)
    paths = Paths(pattern, np.asarray(columns, np.int32), **given)
    on, patterns = parse_machine(machine), [paths.bundles(j).pattern for j in range(paths.stages)]
    schedules = [compile_placed(each, on, NAIVE, None, Manifest()) for each in patterns]
    return Program.of_schedules(paths, schedules, "none", Manifest())


def test_a_message_shows_its_way_and_its_company() -> None:
    rows = rows_then_columns(parse_machine("mesh:4x4"), (4, 4))
    assert pick_message(rows) == 14, "from corner to corner"
    words = drawn(lambda: picture_message(rows))
    for said in (
        "The way of message 14, from rank 0 to rank 15",
        "stage 0: rank 0 to rank 3",
        "stage 1: rank 3 to rank 15",
        "15",
        "6",
        "alltoall on mesh:4x4: 240 messages in 96 bundles, 2 stages, 1.60 times the bytes",
    ):
        assert said in words
    text = " ".join(words)
    assert "4 messages in one bundle, 32 B:" in text
    assert "0→3, 0→7, 0→11, 0→15" in text
    assert "0→15, 1→15, 2→15, 3→15" in text
    assert "rank 3 sends 3 bundles in this stage" in text


def test_a_message_that_stays_says_so() -> None:
    rows = rows_then_columns(parse_machine("mesh:4x4"), (4, 4))
    words = drawn(lambda: picture_message(rows, 0))
    assert "stage 0: rank 0 to rank 1" in words
    assert "stage 1: stays at rank 1" in words


def test_moves_of_a_message_in_parts_are_those_of_the_longest_way() -> None:
    pattern = Pattern.from_messages([0], [2], [10], 3)
    paths = Paths(
        pattern,
        np.array([[0, 2, 2], [0, 1, 2]], np.int32),
        message=np.zeros(2, np.int32),
        first=np.array([0, 4]),
        size=np.array([4, 6]),
    )
    moves = moves_of(paths, 0)
    assert [(m.here, m.there, m.size_B, m.parts.tolist()) for m in moves] == [
        (0, 1, 6, [1]),
        (1, 2, 6, [1]),
    ]


@pytest.mark.parametrize(
    ("ranks", "machine"), [(2, "crossbar:2"), (12, "crossbar:12"), (8, "hypercube:3")]
)
def test_other_networks_are_drawn(ranks: int, machine: str) -> None:
    pattern = alltoall(ranks)
    columns = np.column_stack(
        (pattern.source, (pattern.source + 1) % ranks, pattern.target, pattern.target)
    )
    assert "stage 2: stays at rank" in " ".join(
        drawn(lambda: picture_message(program(ranks, machine, columns)))
    )


def test_many_ranks_and_stages_are_drawn() -> None:
    pattern = Pattern.from_messages([0, 5], [399, 7], [8, 8], 400)
    columns = np.column_stack([pattern.source, *np.array([[50, 9]] * 5), pattern.target])
    big = program(400, "torus:20x20", columns, pattern=pattern)
    assert rank_places(big).shape == (400, 2)
    words = drawn(lambda: picture_message(big, 0))
    assert "stage 5: rank 50 to rank 399" in words


def test_what_cannot_be_drawn() -> None:
    rows = rows_then_columns(parse_machine("mesh:4x4"), (4, 4))
    with pytest.raises(UsageError, match="message = 240: must be from 0 to 239"):
        picture_message(rows, 240)
    blocks = Program.of(rows.schedules[0])
    with pytest.raises(UsageError, match="building blocks forwards nothing"):
        picture_message(blocks)
    empty = Pattern.from_messages([], [], [], 4)
    with pytest.raises(UsageError, match="without messages"):
        pick_message(program(4, "crossbar:4", np.zeros((0, 3)), pattern=empty))


def run(command: Any, *words: str) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command)
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_show_draws_a_program(tmp_path: Path) -> None:
    file = tmp_path / "program.json"
    write_compiled(document_of(rows_then_columns(parse_machine("mesh:4x4"), (4, 4))), file)
    for name in ("way.svg", "way.png", "way.html"):
        run(show.command, str(file), "-o", str(tmp_path / name), "--message", "5")
        assert (tmp_path / name).stat().st_size > 10_000
    assert "The way of message 5, from rank 0 to rank 6" in (tmp_path / "way.svg").read_text(
        encoding="utf-8"
    )
    with pytest.raises(UsageError, match="--message: selects what -o draws"):
        run(show.command, str(file), "--message", "5")
    with pytest.raises(UsageError, match="is for a program"):
        run(show.command, "mesh:4x4", "--message", "5")


def stage_rows() -> list[StageRow]:
    return compare_stages(
        alltoall(16), parse_machine("paragon:4x4"), NAIVE, sizes=(8, 65536), combines=(), by="flow"
    )


def test_stages_over_sizes(tmp_path: Path) -> None:
    """Small messages gain from stages, large ones do not; nothing is below the bound."""
    rows = stage_rows()
    by_name = {(row.size, row.name): row for row in rows}
    assert [row.stages for row in rows] == [1, 2, 3, 4] * 2
    assert (
        by_name[8, "4 stages"].time_s < by_name[8, "2 stages"].time_s < by_name[8, "direct"].time_s
    )
    assert (
        min((row for row in rows if row.size == 65536), key=lambda row: row.time_s).name == "direct"
    )
    assert by_name[8, "2 stages"].volume == pytest.approx(1.6)
    assert all(row.bound_s <= row.time_s * (1 + 1e-9) for row in rows)
    assert tradeoff_lines(rows)[0] == "least: 4 stages from 8 B, direct from 64 KiB"
    words = drawn(lambda: draw_tradeoff(rows, title="a title", subtitle="below it"))
    assert {
        "a title",
        "direct",
        "4 stages",
        "bound, any stages",
        "latency against volume, 8 B",
    } <= set(words)
    assert "2 stages, 96 sent" in words
    markdown = section_markdown(tradeoff_section(rows, "alltoall", "mesh:4x4"))
    assert markdown.startswith("**alltoall on mesh:4x4: messages combined in stages**")
    assert len(re.findall(r"\*\*[\d.]+ m?u?s\*\*", markdown)) == 2, "the least of each size"
    save(lambda: draw_tradeoff(rows[:1], title="one row"), tmp_path / "one.svg")


def test_sizes_are_scaled() -> None:
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 0], [100, 1000, 1], 3)
    assert with_largest(pattern, 10).size.tolist() == [1, 10, 1]
    assert with_largest(alltoall(4), 10).size.tolist() == [10] * 12


def test_what_stages_refuse() -> None:
    machine = parse_machine("mesh:2x2")
    with pytest.raises(InputError, match="has no messages"):
        compare_stages(Pattern.from_messages([], [], [], 4), machine, NAIVE)
    ordered = Pattern.from_messages([0, 1], [1, 2], [8, 8], 4, before=[[0, 1]])
    with pytest.raises(InputError, match="has an order"):
        compare_stages(ordered, machine, NAIVE)


def test_compare_draws_stages(tmp_path: Path) -> None:
    picture = tmp_path / "stages.png"
    words = (
        "alltoall",
        "--on",
        "mesh:4x4",
        "--stages",
        "--methods",
        "naive",
        "--sizes",
        "8",
        "--combine",
        "radix:4",
    )
    body = json.loads(run(compare.command, *words, "-o", str(picture), "--json"))
    assert picture.stat().st_size > 10_000
    assert [row["name"] for row in body["stages"]] == [
        "direct",
        "2 stages",
        "3 stages",
        "4 stages",
        "radix:4",
    ]
    for more, rule in (
        (("--curve",), "exclude each other"),
        (("--methods", "naive,first-fit"), "takes one method"),
        (("--sync", "none,local"), "takes one policy"),
    ):
        with pytest.raises(UsageError, match=rule):
            run(compare.command, "alltoall", "--on", "mesh:4x4", "--stages", *more)
