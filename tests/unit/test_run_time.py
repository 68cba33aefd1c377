"""Run-time scheduling: its arithmetic, its predictions, its report and its words.

Jobs are in `tests/mpi/`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import UsageError
from conset.cli.main import run
from conset.execution.planner import plan_direct
from conset.inputs import load_machine, load_pattern
from conset.pattern.pattern import Pattern
from conset.report.markdown import section_markdown
from conset.report.sweeps import format_ms, run_time_section
from conset.schedule.schedule import Schedule
from conset.studies.run_time.costs import (
    MIN_REPEATS,
    Gain,
    RunTimeCosts,
    RunTimeRow,
    uses_until_paid,
)
from conset.studies.run_time.job import (
    ENTRY_B,
    HEAD_B,
    collection,
    concatenation,
    distribution,
    grown_sides,
    predict_costs,
    row_bytes,
    scaled_machine,
)

POSTING = RunTimeRow(
    "naive",
    "none",
    "",
    True,
    "naive",
    "none",
    1,
    rows_s=(0.0,) * 8,
    schedule_s=(0.0,) * 8,
    plan_s=(1e-4,) * 8,
    setup_s=(2e-4,) * 8,
    first_s=(5e-3,) * 8,
    execution_s=(4e-3,) * 8,
)


def scheduled(setup_s: float, execution_s: float, *, spread: float = 0.0) -> RunTimeRow:
    """A row whose executions differ by `spread`, up and down in turn [s]."""
    execution = tuple(execution_s + spread * (-1) ** k for k in range(8))
    times = {
        "rows_s": (1e-3,) * 8,
        "schedule_s": (2e-3,) * 8,
        "plan_s": (1e-3,) * 8,
        "setup_s": (setup_s,) * 8,
    }
    return replace(
        POSTING,
        method="rs-n",
        asked_method="rs-n",
        compute="all",
        phases=9,
        execution_s=execution,
        **times,
    )


def shortened(row: RunTimeRow, repeat: int) -> RunTimeRow:
    """The first repetitions."""
    names = ("rows_s", "schedule_s", "plan_s", "setup_s", "first_s", "execution_s")
    return replace(row, **{name: getattr(row, name)[:repeat] for name in names})


def test_uses_until_paid_is_the_least_number_whose_sum_is_no_more() -> None:
    rng = np.random.default_rng(1)
    for extra, gain in rng.uniform(1e-4, 1e-2, (200, 2)):
        uses = uses_until_paid(extra, gain)
        assert uses is not None
        assert uses * gain >= extra
        assert uses == 1 or (uses - 1) * gain < extra
    assert uses_until_paid(-1.0, 1e-3) == 1
    assert uses_until_paid(1.0, 0.0) is None
    assert uses_until_paid(1.0, -1e-3) is None


def test_a_schedule_pays_when_its_gain_has_made_up_for_its_set_up() -> None:
    row = scheduled(setup_s=5.2e-3, execution_s=3e-3)
    pays = row.pays_against(POSTING)
    assert (pays.uses, pays.least, pays.most) == (5, 5, 5)  # 5 ms more, 1 ms less each time
    assert pays.ratio.median == pytest.approx(0.75)
    assert row.scheduling_s == pytest.approx(3e-3)
    assert row.overhead == pytest.approx(1.0)
    assert row.share == pytest.approx(3 / 7)


def test_posting_everything_needs_no_rows() -> None:
    posting = replace(POSTING, rows_s=(1e-3,) * 8, schedule_s=(5e-4,) * 8, setup_s=(2e-3,) * 8)
    row = scheduled(setup_s=5.5e-3, execution_s=3e-3)
    assert row.pays_against(posting).extra_s == pytest.approx(5e-3)
    learned = replace(posting, sources_known=False)  # which learns its sources from them
    assert row.pays_against(learned).extra_s == pytest.approx(3.5e-3)


def test_a_gain_within_its_interval_never_pays() -> None:
    slower, unsure = scheduled(5e-3, 5e-3), scheduled(5e-3, 4e-3, spread=1e-3)
    assert slower.pays_against(POSTING).uses is None
    gain = unsure.pays_against(POSTING)
    assert gain.uses is None
    assert gain.gain.low_s < 0 < gain.gain.high_s
    short, posting = (shortened(row, MIN_REPEATS - 1) for row in (scheduled(5e-3, 3e-3), POSTING))
    assert short.pays_against(posting).uses is None


def test_gains_are_paired() -> None:
    drift = np.linspace(1e-3, 1e-1, 20)  # the machine gets slower, both alike
    gain = Gain.of(drift + 1e-4, drift)
    assert gain.low_s == pytest.approx(1e-4)
    assert gain.high_s == pytest.approx(1e-4)


def test_a_rank_knows_its_row_and_its_column() -> None:
    pattern = Pattern.from_messages([0, 0, 2, 3], [1, 2, 0, 0], [10, 20, 5, 7], 4)
    sends, receives = plan_direct(pattern).pair_ranges(0)
    assert sends.dense(np.arange(4)) == ([0, 10, 20, 0], [0, 0, 10, 0])
    assert receives.dense(np.arange(4)) == ([0, 0, 5, 7], [0, 0, 0, 5])
    assert receives.peer.tolist() == [2, 3]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 13])
def test_concatenation_brings_every_row_to_every_rank(ranks: int) -> None:
    pattern = load_pattern("random-rows:degree=1" if ranks > 1 else "alltoall", f"crossbar:{ranks}")
    steps = concatenation(pattern, load_machine(f"crossbar:{ranks}"))
    assert steps.phases == (ranks - 1).bit_length()
    size = row_bytes(pattern)
    has = [{rank} for rank in range(ranks)]
    for phase in range(steps.phases):
        before = [set(each) for each in has]
        for m in steps.message[
            steps.phase_offsets[phase] : steps.phase_offsets[phase + 1]
        ].tolist():
            source, target = int(steps.pattern.source[m]), int(steps.pattern.target[m])
            new = before[source] - before[target]
            assert (
                sum(int(size[rank]) for rank in new) == steps.pattern.size[m]
            )  # no more than is missing
            has[target] |= before[source]
    assert all(len(each) == ranks for each in has)


def test_gather_and_scatter_carry_what_the_others_have() -> None:
    pattern, machine = load_pattern("random:degree=3", "crossbar:8"), load_machine("crossbar:8")
    rows, parts = collection(pattern, machine), distribution(pattern, machine)
    assert rows.pattern.bytes == 7 * (HEAD_B + 3 * ENTRY_B)
    assert set(rows.pattern.target.tolist()) == {0}
    assert set(parts.pattern.source.tolist()) == {0}
    assert (rows.phases, parts.phases) == (1, 1)


@pytest.mark.parametrize(
    ("spec", "ranks", "name"),
    [
        ("torus:4x4", 1024, "torus:32x32"),
        ("mesh:4x8,link=1GB/s", 4096, "mesh:64x64,link=1GB/s"),
        ("hypercube:4", 1024, "hypercube:10"),
        ("ring:6", 18, "ring:18"),
        ("crossbar:16", 16, "crossbar:16"),
        ("ipsc860:64", 1024, "ipsc860:1024"),
        ("paragon:4x4", 64, "paragon:8x8"),
    ],
)
def test_machines_grow(spec: str, ranks: int, name: str) -> None:
    grown = scaled_machine(load_machine(spec), ranks)
    assert grown.name == name
    assert grown.topology.endpoints == ranks


def test_what_cannot_grow_is_refused() -> None:
    with pytest.raises(UsageError, match="must be a multiple of the 16 nodes of 4x4"):
        scaled_machine(load_machine("torus:4x4"), 100)
    with pytest.raises(UsageError, match="power of two"):
        scaled_machine(load_machine("hypercube:4"), 100)
    assert grown_sides([2, 2, 2], 3 * 5 * 8) == [10, 6, 2]


@pytest.fixture(scope="module")
def predicted() -> RunTimeCosts:
    return predict_costs(
        load_pattern("random:degree=4,size=4KiB", "ipsc860:16"),
        load_machine("ipsc860:16"),
        ("rs-nl",),
    )


def test_a_prediction_has_the_schedules_of_a_compile(predicted: RunTimeCosts) -> None:
    row = predicted.find("rs-nl", "ready", "all")
    schedule = conset.compile(
        "random:degree=4,size=4KiB", "ipsc860:16", method="rs-nl", sync="ready"
    )
    assert isinstance(schedule, Schedule)
    assert row.phases == schedule.phases
    assert row.execution_s == (conset.predict(schedule).time_s,)
    naive = conset.compile("random:degree=4,size=4KiB", "ipsc860:16", method="naive", sync="none")
    assert predicted.posting.execution_s == (conset.predict(naive).time_s,)
    assert {row.asked_sync for row in predicted.rows} == {"none", "ready", "auto"}
    assert (
        predicted.find("rs-nl", "none", "one").rows_s
        > predicted.find("rs-nl", "none", "all").rows_s
    )


def test_methods_that_do_not_apply_are_left_out() -> None:
    found = predict_costs(
        load_pattern("random:degree=2", "ring:5"), load_machine("ring:5"), ("lp", "first-fit")
    )
    names = {row.method for row in found.rows} | {name for name, _ in found.skipped}
    assert names == {"naive", "first-fit", "lp"}
    with pytest.raises(UsageError, match="did you mean 'rs-n'"):
        predict_costs(load_pattern("shift", "ring:5"), load_machine("ring:5"), ("rsn",))


def test_the_report_says_when_it_pays() -> None:
    rows = (
        POSTING,
        replace(POSTING, sources_known=False),
        scheduled(5.2e-3, 3e-3),
        scheduled(5e-3, 5e-3),
    )
    costs = RunTimeCosts(
        16, "random", "torus:4x4", 64, 2**16, "MPICH 5", True, rows, (("lp", "needs a cube"),)
    )
    result = conset.RunTimeResult(costs, repeat=8, cores=2, local_ranks=16)
    text = section_markdown(run_time_section(result))
    lines = text.splitlines()
    assert lines[0] == "**random on torus:4x4: 16 ranks, 64 messages, 64 KiB; measured, MPICH 5**"
    assert lines[4] == "| naive | none |  | 1 | 0 | 0 | 0.100 | 0.200 | 4.00 | 1 | 0.00 |  |"
    assert lines[6] == (
        "| rs-n | none | all | 9 | 1.00 | 2.00 | 1.00 | 5.20 | 3.00 | 0.75 (0.75-0.75) | 0.43 | 5 |"
    )
    assert lines[7].endswith("| never |")
    assert "- the first to pay: rs-n under none, computed by every rank, after 5 uses" in lines
    assert "- lp: left out, needs a cube" in lines
    assert any("16 ranks share 2 cores" in line for line in lines)
    found = costs.to_object()
    assert json.loads(json.dumps(found)) == found
    assert [row["pays"] and row["pays"]["uses"] for row in found["rows"]] == [None, None, 5, None]
    assert [format_ms(time_s) for time_s in (None, 0, 1.234e-6, 0.5, 4.66)] == [
        "–",
        "0",
        "0.00123",
        "500",
        "4,660",
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["alltoall", "--at-run-time"], "a machine is required"),
        (["s.json", "--on", "ring:4"], "--on ring:4: goes only with --at-run-time"),
        (
            ["alltoall", "--at-run-time", "--on", "ring:4", "--sync", "none"],
            "--sync none: does not go with --at-run-time",
        ),
        (
            ["alltoall", "--at-run-time", "--on", "ring:4", "--predict", "8,x"],
            "'x': a number of ranks is required",
        ),
        (["alltoall", "--at-run-time", "--on", "ring:4", "-o", "x.png"], "a report ends in .md"),
        (
            ["alltoall", "--at-run-time", "--on", "ring:4", "--methods", "pex"],
            "unknown method at run time 'pex'",
        ),
    ],
)
def test_wrong_words(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", *words]) == 2
    assert text in capsys.readouterr().err


def test_the_command_predicts_without_a_job(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "costs.md"
    words = [
        "random:degree=2",
        "--on",
        "ipsc860:4",
        "--methods",
        "rs-n",
        "--predict",
        "8,16",
        "-o",
        str(file),
        "--json",
    ]
    assert run(["run", "--at-run-time", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "conset/run-time@1"
    assert found["measured"] is None
    assert [each["ranks"] for each in found["predicted"]] == [8, 16]
    assert found["manifest"]["command"] == (
        "conset run --at-run-time random:degree=2 --on ipsc860:4 --methods rs-n --predict "
        "8,16 --repeat 20"
    )
    assert file.read_text().count("predicted by circuit") == 2
