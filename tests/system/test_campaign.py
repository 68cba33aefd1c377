"""Campaigns: cases of a file, results that are kept and taken again, what is right, what is said
of bad files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from conset.base.errors import ExecutionError, InputError, UnavailableError, UsageError
from conset.cli.main import run as run_command
from conset.execution.stopping import Race, Stopping
from conset.report import campaign as report
from conset.report.campaign import picture_errors, picture_ratios, write_campaign_page
from conset.studies.campaign.campaign import Campaign, MachineSource, campaign_of, read_campaign
from conset.studies.campaign.result import (
    Case,
    CaseResult,
    Contest,
    summarize_campaign,
    write_tables,
)
from conset.studies.campaign.run import (
    SCHEDULED,
    Progress,
    Standing,
    choose_measured,
    parse_share,
    read_results,
    run_campaign,
    select_cases,
    state_of_cases,
)
from conset.studies.contender import CHOICE, NAIVE

TINY: dict[str, Any] = {
    "name": "tiny",
    "mode": "simulated",
    "sizes": ["1KiB", "64KiB"],
    "models": ["wormhole"],
    "machines": [{"spec": "mesh:2x2", "name": "square"}],
    "patterns": [{"spec": "alltoall", "name": "complete"}],
    "contenders": [{"method": "first-fit", "contention": [1, "none"], "sync": ["none", "barrier"]}],
}
TEXT = """
mode = "simulated"
sizes = ["1KiB"]

[[machines]]
spec = "mesh:2x2"

[[machines]]
name = "second"
spec = "ring:4"

[[patterns]]
spec = "alltoall"
"""


def tiny(**changes: Any) -> Campaign:
    return campaign_of({**deepcopy(TINY), **changes})


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both cases done."""
    folder = tmp_path_factory.mktemp("campaign")
    assert run_campaign(tiny(), folder).fresh == 2
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "cases").iterdir()}


def test_cases_are_the_matrix_in_the_order_of_the_file() -> None:
    campaign = tiny(
        machines=[
            {"spec": "mesh:2x2", "name": "a", "sizes": ["64KiB"]},
            {"spec": "ring:4", "patterns": ["skewed"]},
        ],
        patterns=[
            {"spec": "alltoall", "name": "complete"},
            {
                "spec": "random:degree=2,size=log-uniform({size/8},{size*2})",
                "name": "skewed",
                "seeds": [1, 2],
            },
            {"spec": "shift:by=1,size=8B"},
        ],
    )
    assert [case.name for case in campaign.cases] == [
        "a/complete/64KiB",
        "a/skewed/64KiB/seed=1",
        "a/skewed/64KiB/seed=2",
        "a/shift-by-1-size-8B",
        "ring-4/skewed/1KiB/seed=1",
        "ring-4/skewed/1KiB/seed=2",
        "ring-4/skewed/64KiB/seed=1",
        "ring-4/skewed/64KiB/seed=2",
    ]
    assert campaign.cases[0].spec == "alltoall:size=65536"
    assert campaign.cases[1].spec == "random:degree=2,size=log-uniform(8192,131072)"
    assert campaign.cases[3].spec == "shift:by=1,size=8B"


def test_a_result_says_what_each_contender_takes(kept: Path) -> None:
    results = read_results(tiny(), kept)
    assert [result.name for result in results] == ["square/complete/1KiB", "square/complete/64KiB"]
    for result in results:
        assert [each.name for each in result.contests][:2] == [CHOICE, NAIVE]
        assert {"first-fit c1 none", "first-fit none", "first-fit c1 barrier"} <= {
            each.name for each in result.timed
        }
        for each in result.timed:
            assert each.times_s == (each.predicted_s["wormhole"],)
            assert result.to_naive(each).median == pytest.approx(
                each.times_s[0] / result.naive.times_s[0]
            )
        assert result.best.median_s == min(each.median_s for each in result.timed)
    assert [summary.cases for summary in summarize_campaign(results)] == [2]


def test_what_is_done_is_not_done_again(kept: Path, tmp_path: Path) -> None:
    before = files_of(kept)
    assert run_campaign(tiny(), kept).fresh == 0
    assert files_of(kept) == before
    again = run_campaign(tiny(), kept, again=["*/1KiB"])
    assert (again.fresh, len(again.results)) == (1, 2)
    assert files_of(kept) == before  # to the byte
    broken = next((kept / "cases").iterdir())
    broken.write_text(broken.read_text()[:100])
    assert run_campaign(tiny(), kept).fresh == 1
    assert files_of(kept) == before
    part = run_campaign(tiny(), tmp_path, only=["square/complete/1KiB"])
    assert (part.fresh, part.missing) == (1, [])
    assert state_of_cases(tiny(), tmp_path) == {
        "square/complete/1KiB": "done",
        "square/complete/64KiB": "open",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"machines": [{"spec": "mesh:2x2,link=1GB/s", "name": "square"}]},
        {"machines": [{"spec": "mesh:2x2", "name": "square", "set": "overhead=2us"}]},
        {"seeds": [3]},
        {"contenders": [{"method": "first-fit"}]},
        {"choice": {"sync": "barrier"}},
        {"models": ["flow"]},
    ],
)
def test_whatever_decides_a_result_opens_its_case(kept: Path, change: dict[str, Any]) -> None:
    assert set(state_of_cases(tiny(), kept).values()) == {"done"}
    assert set(state_of_cases(tiny(**change), kept).values()) == {"open"}


def test_what_only_names_does_not(kept: Path) -> None:
    assert set(state_of_cases(tiny(name="other", about="else"), kept).values()) == {"done"}
    renamed = tiny(machines=[{"spec": "mesh:2x2", "name": "square", "fabric": "f"}])
    assert {result.case.fabric for result in read_results(renamed, kept)} == {"f"}


def test_the_contents_of_a_pattern_count(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    (tmp_path / "c.toml").write_text(TEXT.replace('spec = "alltoall"', 'spec = "own.csv"'))
    file.write_text("source,target,bytes\n0,1,100\n2,3,100\n1,0,50\n3,0,5\n")
    campaign = read_campaign(tmp_path / "c.toml")
    assert [case.size for case in campaign.cases] == [None, None]
    run_campaign(campaign, tmp_path / "out")
    assert set(state_of_cases(campaign, tmp_path / "out").values()) == {"done"}
    file.write_text("source,target,bytes\n0,1,100\n2,3,100\n1,0,50\n3,0,6\n")
    assert set(state_of_cases(campaign, tmp_path / "out").values()) == {"open"}


class Reversed(ThreadPoolExecutor):
    """Begins with nothing: all are carried out at the end, the last first."""

    def __init__(self) -> None:
        super().__init__(1)
        self.waiting: list[Any] = []

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, function, args))
        if len(self.waiting) == 2:
            for each, made, given in reversed(self.waiting):
                each.set_result(made(*given))
        return future


def test_every_executor_gives_the_same_bytes(kept: Path, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        for k, executor in enumerate((processes, Reversed())):
            run = run_campaign(tiny(), tmp_path / str(k), executor=executor)
            assert [result.name for result in run.results] == [case.name for case in tiny().cases]
            assert files_of(tmp_path / str(k)) == files_of(kept)


def test_a_case_that_fails_does_not_stop_the_others() -> None:
    run = run_campaign(
        tiny(
            sizes=["1KiB"],
            patterns=[{"spec": "butterfly"}, {"spec": "alltoall"}],
            machines=[{"spec": "ring:3"}],
        )
    )
    assert [result.name for result in run.results] == ["ring-3/alltoall/1KiB"]
    assert list(run.failures) == ["ring-3/butterfly/1KiB"]
    assert "power of two" in str(run.failures["ring-3/butterfly/1KiB"])


def test_a_machine_that_cannot_be_calibrated_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(source: MachineSource, *_: object) -> None:
        raise ExecutionError(f"{source.name} has no job")

    monkeypatch.setattr("conset.studies.campaign.run.calibrate_machine", fail)
    machines = [{"spec": "mesh:2x2", "name": name, "calibrate": True} for name in ("one", "two")]
    run = run_campaign(tiny(mode="measured", models=[], sizes=["1KiB"], machines=machines))
    failed = {name: str(error) for name, error in run.failures.items()}
    assert failed == {f"{name}/complete/1KiB": f"{name} has no job" for name in ("one", "two")}
    assert (run.results, run.missing) == ([], [])


def test_a_testbed_that_is_not_available_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def standing(source: MachineSource) -> Iterator[Standing]:
        if source.name == "bed":
            raise UnavailableError("network namespaces are not permitted")
        yield Standing(source.spec, "srun")

    def no_job(*_: object) -> None:
        raise ExecutionError("no job")

    monkeypatch.setattr("conset.studies.campaign.run.standing", standing)
    monkeypatch.setattr("conset.studies.campaign.run.measure_case", no_job)
    path = tmp_path / "c.toml"
    path.write_text(
        'sizes = ["1KiB"]\n[[patterns]]\nspec = "alltoall"\n[[machines]]\nname = "bed"\nspec = '
        '"mesh:2x2"\n'
        'testbed = { rows = 2, columns = 2 }\n[[machines]]\nname = "other"\nspec = "ring:4"\n'
    )
    assert run_command(["campaign", str(path), "--json"]) == ExecutionError.exit_code
    printed = capsys.readouterr()
    assert json.loads(printed.out)["failures"] == [
        {
            "case": "bed/alltoall/1KiB",
            "message": "not available: network namespaces are not permitted",
        },
        {"case": "other/alltoall/1KiB", "message": "no job"},
    ]
    assert "bed/alltoall/1KiB: not available: network namespaces are not permitted" in printed.err
    assert run_command(["campaign", str(path), "--only", "bed"]) == UnavailableError.exit_code


def test_no_case_is_begun_that_would_end_too_late(kept: Path) -> None:
    run = run_campaign(tiny(seeds=[7]), stop_after_s=1e-9)
    assert (run.results, len(run.missing)) == ([], 2)
    assert (
        len(run_campaign(tiny(), kept, stop_after_s=1e-9).results) == 2
    )  # what is done is taken all the same


def test_cases_by_name() -> None:
    assert [case.name for case in select_cases(tiny(), ["square/*/64KiB"])] == [
        "square/complete/64KiB"
    ]
    assert len(select_cases(tiny(), ["square"])) == 2
    with pytest.raises(
        UsageError, match="unknown case 'square/complete/2KiB': did you mean 'square/complete/1KiB'"
    ):
        select_cases(tiny(), ["square/complete/2KiB"])


def test_progress_says_how_long_it_takes() -> None:
    assert str(Progress("a/b", 3, 9, None)) == "a/b, 3 of 9 cases done"
    assert str(Progress("a/b", 3, 9, 720.0)) == "a/b, 3 of 9 cases done, about 12 min left"


def result_of(times: dict[str, Sequence[float]], **kinds: str) -> CaseResult:
    contests = [
        Contest(
            name,
            kinds.get(name, {CHOICE: "choice", NAIVE: "naive"}.get(name, "schedule")),
            {
                "method": "lp",
                "contention": None,
                "sync": "none",
                "phases": 2,
                "stages": 1,
                "in_flight": None,
                "posting": "schedule",
                "why": "",
            },
            {"formula": 1.0},
            "formula",
            tuple(own),
        )
        for name, own in times.items()
    ]
    case = Case("m", "m", "p", "alltoall", 1024)
    return CaseResult(case, "d", "m", 4, 12, 12288, False, "", tuple(contests))


@pytest.mark.parametrize(
    ("auto", "other", "verdict", "right"),
    [
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], "right: the best", True),
        ([1.04, 1.04, 1.04], [1.0, 1.0, 1.0], "right: within 5 %", True),
        ([1.10, 1.10, 1.10], [1.0, 1.0, 1.0], "1.10 × the best", False),
        # the intervals reach across: nobody knows
        ([1.10, 0.95, 1.12], [1.0, 1.0, 1.0], "right: a tie", True),
        ([2.20, 2.20, 2.20], [2.2, 2.2, 2.2], "1.10 × the naive exchange", False),
    ],
)
def test_the_verdict(auto: list[float], other: list[float], verdict: str, right: bool) -> None:
    result = result_of({CHOICE: auto, NAIVE: [2.0, 2.0, 2.0], "x": other})
    assert (result.verdict, result.is_right) == (verdict, right)


def test_what_is_not_right_is_said_with_what_the_models_say_of_it() -> None:
    wrong = result_of({CHOICE: [1.1] * 3, NAIVE: [2.0] * 3, "x": [1.0] * 3})
    by_mpi = result_of(
        {CHOICE: [1.1] * 3, NAIVE: [2.0] * 3, "alltoallv": [1.0] * 3}, alltoallv="mpi"
    )
    by_mpi = replace(
        by_mpi, contests=(*by_mpi.contests[:2], replace(by_mpi.contests[2], predicted_s={}))
    )
    assert (
        "× x, 1.1 s against 1 s; formula says 1 s against 1 s, no difference"
        in report.why_wrong(wrong)
    )
    assert (
        "× MPI_Alltoallv, 1.1 s against 1 s; of MPI_Alltoallv no model says anything"
        in report.why_wrong(by_mpi)
    )
    right = result_of({CHOICE: [0.5] * 3, NAIVE: [2.0] * 3})
    assert report.why_wrong(right) == ""
    text = report.campaign_markdown(tiny(sizes=["1KiB", "2KiB", "4KiB"]), [wrong, right])
    assert "1 of 3 cases is not done, and not in these figures." in text
    # the naive exchange takes 1.82 and 4 times the choice; of 1 s predicted 1.1 s and 0.5 s came
    assert (
        "Order pays in 2 of 2 cases; there the choice is 2.91 times as fast as the naive exchange"
        in text
    )
    assert (
        "at least 1.25 times in 2. What it takes was predicted within 10 % in 1 of 2, "
        "within 15 % in 1." in text
    )
    assert (
        "Where the choice was not right:\n\n- m/p/1KiB: lp none took 1.10 (1.10 to 1.10) ×" in text
    )


def test_a_choice_above_posting_everything_by_chance_is_not_held_against_it() -> None:
    result = result_of({CHOICE: [2.2, 1.9, 2.2], NAIVE: [2.0, 2.0, 2.0]})
    assert not result.is_above_naive
    assert result.verdict == "right: a tie"


def test_ratios_are_paired_by_repetition() -> None:
    """The network is twice as slow in every second repetition.

    A contender that was left out early has fewer.
    """
    slow = np.array([1.0, 2.0] * 5)
    result = result_of(
        {CHOICE: 0.5 * slow, NAIVE: slow, "x": [1.5, 3.0], "alltoallv": 0.8 * slow}, alltoallv="mpi"
    )
    assert result.to_naive(result.choice).to_object() == {"median": 0.5, "low": 0.5, "high": 0.5}
    assert result.to_naive(result.contest("x")).median == 1.5
    assert result.best_mpi is result.contest("alltoallv")
    assert result.to_mpi is not None
    assert result.to_mpi.median == pytest.approx(0.625)
    (summary,) = summarize_campaign([result])
    assert (summary.pays, summary.gain, summary.gain_mpi) == (1, 2.0, pytest.approx(1.6))
    assert summary.errors["formula"].count == 4
    assert CaseResult.of_object(json.loads(json.dumps(result.to_object()))) == result


def test_tables_have_a_row_for_each_contender(kept: Path, tmp_path: Path) -> None:
    results = read_results(tiny(), kept)
    write_tables(results, tmp_path, {"schema": "x"})
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(result.contests) for result in results)
    assert [row["contender"] for row in rows][:2] == [CHOICE, NAIVE]
    assert float(rows[1]["ratio_to_naive"]) == 1
    assert sum(row["is_best"] == "1" for row in rows) == 2
    assert len(json.loads((tmp_path / "results.json").read_text())["cases"]) == 2


BROKEN = [
    (
        'spec = "alltoall"',
        'spek = "alltoall"',
        r"c\.toml:13: patterns\[0\]\.spek: unknown key 'spek': .* 'spec'",
    ),
    (
        'name = "second"',
        'name = "second"\ncalibrated = true',
        r"machines\[1\]\.calibrated: .*did you mean 'calibrate'",
    ),
    (
        'mode = "simulated"',
        'mode = "simulate"',
        r"c\.toml:2: mode: unknown word 'simulate': did you mean 'simulated'",
    ),
    (
        'mode = "simulated"',
        'mode = "simulated"\nmodel = ["flow"]',
        r"unknown key 'model': did you mean 'models'",
    ),
    (
        'mode = "simulated"',
        'mode = "simulated"\nmodels = ["flo"]',
        r"unknown model 'flo': did you mean 'flow'",
    ),
    ('sizes = ["1KiB"]', 'sizes = ["1KB/s"]', r"unknown unit 'KB/s'"),
    ('sizes = ["1KiB"]', "sizes = []", r"c\.toml:3: sizes: list must have at least 1 item"),
    (
        'spec = "mesh:2x2"',
        'spec = "mash:2x2"',
        r"machines\[0\]: unknown machine 'mash': did you mean 'mesh'",
    ),
    ('spec = "mesh:2x2"', "calibrate = true", r"machines\[0\]: needs a spec or a testbed"),
    (
        'spec = "mesh:2x2"',
        'spec = "mesh:2x2"\nmpiexec = "srun"',
        r"machines\[0\]\.mpiexec: is for mode measured",
    ),
    ('name = "second"', 'name = "mesh-2x2"', r"machines\[1\]: name 'mesh-2x2' is used twice"),
    (
        'name = "second"',
        'name = "second"\npatterns = ["altoall"]',
        r"unknown pattern 'altoall': .* 'alltoall'",
    ),
    (
        'mode = "simulated"',
        'mode = "simulated"\n[repeat]\nleast = 9\nmost = 4',
        r"and 9 \(least\) at most 4",
    ),
    (
        'mode = "simulated"',
        'mode = "simulated"\n[repeat]\ntime = "fast"',
        r"c\.toml:15: repeat\.time: time 'fast'",
    ),
    (
        'spec = "alltoall"',
        'spec = "alltoall"\n[[contenders]]\nmethod = "firstfit"',
        r"unknown method 'firstfit': did you mean 'first-fit'",
    ),
    ('spec = "alltoall"', 'spec = "alltoall:size={size/0}"', r"must not be divided by 0"),
    *(
        ('spec = "alltoall"', f'spec = "alltoall"\n[choice]\nmeasure = {given}', message)
        for given, message in (
            ("-1", r"choice\.measure"),
            ('"5"', r"choice\.measure"),
            ("2.5", r"choice\.measure"),
            ("5", r"choice\.measure: needs mode measured, and collectives in mpi"),
        )
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_what_is_wrong_with_a_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = TEXT.replace(old, new, 1)
    if new.startswith("mode") and "[repeat]" in new:
        text = TEXT + new.partition("\n")[2]
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_campaign(tmp_path / "c.toml")
    assert str(caught.value).startswith("c.toml")
    assert "\n" not in str(caught.value)


def test_measured_campaigns_take_no_executor() -> None:
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(UsageError, match="executor: is for simulated campaigns"),
    ):
        run_campaign(tiny(mode="measured", models=[]), executor=executor)


@pytest.mark.parametrize(
    "wrong", [{"least": 0}, {"least": 5, "most": 4}, {"drop": 0.5}, {"precision": 0}, {"time_s": 0}]
)
def test_stopping_is_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        replace(Stopping(), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("time_s", [1e-6, 0.0031, 3.9])
def test_pictures_of_times_that_are_all_alike(time_s: float) -> None:
    result = result_of({CHOICE: [time_s] * 3, NAIVE: [time_s] * 3})
    for picture in (picture_ratios, picture_errors):
        axes = picture([result], "m").axes[0]
        assert axes.get_xlabel().endswith(", logarithmic")
        assert [label for label in axes.get_xticklabels() if label.get_text()]


NAMES = ["auto", "x", "y", "naive"]


def raced(
    stopping: Stopping, times: Sequence[Sequence[float]], each_s: float = 0.0
) -> tuple[Race, list[list[str]]]:
    """(the race, who goes on after each repetition).

    The first of `times` is the one that is dropped.
    """
    race, going, after = (
        Race(NAMES, stopping, frozenset({"auto", "naive"})),
        np.ones(4, np.uint8),
        [],
    )
    for k, took in enumerate(times):
        going = race.after(k, np.array(took), going, (k + 1) * each_s)
        after.append([name for name, goes in zip(NAMES, going, strict=True) if goes])
        if not going.any():
            break
    return race, after


def test_repetitions_end_where_intervals_are_narrow() -> None:
    race, after = raced(
        Stopping(least=3, most=20, precision=0.03), [[9, 9, 9, 9], *[[1, 1.01, 1.02, 2]] * 9]
    )
    assert (len(after), race.stopped) == (4, "precision")
    assert race.times_s["auto"] == [1, 1, 1]


def test_repetitions_go_on_while_they_are_not() -> None:
    wild = [[1 + k % 3, 1, 1, 2] for k in range(9)]
    race, after = raced(Stopping(least=3, most=6, precision=0.03), wild)
    assert (len(after), race.stopped) == (7, "most")


@pytest.mark.parametrize("before", [1, 2, 5])
def test_what_chooses_is_not_what_is_reported(before: int) -> None:
    """Repetitions before those that count are apart from them, and not among what ends them."""
    times = [[9, 9, 9, 9], *[[3, 1, 2, 9]] * before, *[[1, 1, 1, 1]] * 9]
    race, after = raced(Stopping(least=3, most=20, precision=0.03, before=before), times)
    assert (len(after), race.stopped) == (1 + before + 3, "precision")
    assert race.before_s == dict(zip(NAMES, ([t] * before for t in (3, 1, 2, 9)), strict=True))
    assert set(map(tuple, race.times_s.values())) == {(1, 1, 1)}


@pytest.mark.parametrize("seed", range(5))
def test_the_choice_by_measurement_is_the_fastest_of_its_schedule_and_mpi(seed: int) -> None:
    random = Random(seed)
    names = [CHOICE, NAIVE, "lp", "alltoallv", "alltoall"]
    contests = list(result_of(dict.fromkeys(names, ()), alltoallv="mpi", alltoall="mpi").contests)
    contests[2] = replace(contests[2], same_as=CHOICE)
    before = {name: [random.uniform(1, 2) for _ in range(3)] for name in names}
    before[NAIVE] = [0.5] * 3  # is no candidate
    medians = {name: sorted(before[name])[1] for name in (CHOICE, "alltoallv", "alltoall")}
    fastest = min(medians, key=lambda name: medians[name])
    choice, *others = choose_measured(contests, before)
    assert (choice.name, choice.kind) == (CHOICE, "choice")
    assert "measured in 3 rounds before" in choice.facts["why"]
    assert [each.name for each in others[:4]] == names[1:]
    if fastest == CHOICE:
        assert (choice.same_as, choice.facts["method"], len(others)) == ("", "lp", 4)
    else:
        assert (choice.same_as, choice.facts["method"]) == (fastest, fastest)
        assert not choice.predicted_s  # no model says anything of MPI's own
        assert (others[1].same_as, others[4].name) == (SCHEDULED, SCHEDULED)
        assert report.choice_name(choice) == report.MPI_NAMES[fastest]
    without = [replace(each, skipped="no" if each.name == fastest else "") for each in contests]
    assert choose_measured(without, before)[0].same_as != fastest


def test_who_is_clearly_slower_is_left_out() -> None:
    """y from the first repetition on, x when there are intervals.

    What is fixed stays, however slow.
    """
    times = [[1, 1, 1, 1], *([[1, 1.3, 2, 2.5 + k % 2] for k in range(9)])]
    race, after = raced(Stopping(least=4, most=6, precision=0.001, drop=1.2), times)
    assert after[0] == NAMES
    assert after[1] == ["auto", "x", "naive"]
    assert after[4] == ["auto", "naive"]
    assert {name: len(own) for name, own in race.times_s.items()} == {
        "auto": 6,
        "x": 4,
        "y": 1,
        "naive": 6,
    }
    kept, _ = raced(Stopping(least=4, most=6, precision=0.001, drop=0), times)
    assert {len(own) for own in kept.times_s.values()} == {6}


def test_repetitions_end_in_time() -> None:
    wild = [[1 + k % 3, 1, 1, 2] for k in range(30)]
    # three of 10 s are within 35 s; the least number may take four times what is allowed
    assert len(raced(Stopping(least=2, most=20, time_s=35), wild, each_s=10)[1]) == 3
    race, after = raced(Stopping(least=5, most=20, time_s=16), wild, each_s=10)
    assert (len(after), race.stopped) == (6, "time")
    assert (
        len(raced(Stopping(least=5, most=20, time_s=4), wild, each_s=10)[1]) == 2
    )  # one is something


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "c.toml", tmp_path / "out"
    file.write_text(TEXT.replace("[[machines]]", '[[machines]]\nfabric = "f"'))
    words = ["campaign", str(file), "-o", str(folder)]
    assert run_command([*words, "--list"]) == 0
    assert capsys.readouterr().out.count("open") == 2
    assert run_command([*words[:2], "--only", "second", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["done"], found["missing"]) == ("conset/campaign@1", 1, [])
    assert found["cases"][0]["name"] == "second/alltoall/1KiB"
    assert run_command([*words, "--markdown", str(tmp_path / "d.md")]) == 0
    assert "the choice was right in" in capsys.readouterr().out
    made = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert sorted(made) == ["decision.md", "index.html", "results.csv", "results.json"]
    assert (tmp_path / "d.md").read_bytes() == made["decision.md"]
    assert b"| second/alltoall/1KiB |" in made["decision.md"]
    page = made["index.html"].decode()
    assert page.count("<figure><svg") == 2
    assert "Predicted beside simulated" in page
    assert "second" in page
    again = read_campaign(file)
    write_campaign_page(
        folder / "again.html", again, read_results(again, folder), "conset campaign c.toml"
    )
    assert (folder / "again.html").read_bytes() == made[
        "index.html"
    ]  # the same input, the same bytes
    monkeypatch.setattr(report, "write_campaign_page", lambda *arguments: None)
    assert run_command([*words, "--again", "second", "--stop-after", "1ns"]) == 6
    assert "1 case left: the same command goes on" in capsys.readouterr().out


def test_ctrl_c_keeps_what_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from conset.studies.campaign import run as module

    (tmp_path / "c.toml").write_text(TEXT)
    real, calls = module.simulate_case, []

    def interrupted(task: Any) -> dict[str, Any]:
        calls.append(task)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(task)

    monkeypatch.setattr(module, "simulate_case", interrupted)
    monkeypatch.setattr(report, "write_campaign_page", lambda *arguments: None)
    words = ["campaign", str(tmp_path / "c.toml"), "-o", str(tmp_path / "out")]
    assert run_command(words) == 6
    said = capsys.readouterr().out
    assert "mesh-2x2/alltoall/1KiB" in said
    assert "1 case left: the same command goes on" in said
    monkeypatch.setattr(module, "simulate_case", real)
    assert run_command(words) == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--executor", "mip"], 2, "unknown --executor 'mip': did you mean 'mpi'"),
        (["--only", "thrid"], 2, "unknown case 'thrid'"),
        (["--markdown", "x.txt"], 2, "a table ends in .md"),
        (["--stop-after", "5"], 2, "a unit is required"),
    ],
)
def test_words_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    (tmp_path / "c.toml").write_text(TEXT)
    assert run_command(["campaign", str(tmp_path / "c.toml"), *words]) == code
    assert message in capsys.readouterr().err


# Executors of other libraries, parts of a campaign, several processes in one folder

MAKERS = """
def dask():
    from distributed import Client

    client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
    return client.get_executor()


def loky():
    from loky import get_reusable_executor

    return get_reusable_executor(2)


class Jobs:
    '''Runs a task when it is asked about it the second time, as a queue of jobs does.'''

    def submit(self, function, *arguments):
        return Job(function, arguments)


class Job:
    def __init__(self, function, arguments):
        self.function, self.arguments, self.asked = function, arguments, 0

    def done(self):
        self.asked += 1
        return self.asked > 1

    def result(self):
        return self.function(*self.arguments)

    def cancel(self):
        pass


def nothing():
    return 5
"""


@pytest.mark.parametrize("name", ["dask", "loky", "Jobs"])
def test_executors_of_other_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name != "Jobs":
        pytest.importorskip({"dask": "distributed"}.get(name, name), reason=f"{name} is missing")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("conset.base.executors.POLL_S", 0.01)
    (tmp_path / f"makers_{name}.py").write_text(MAKERS)
    (tmp_path / "c.toml").write_text(TEXT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that are not ours
        words = ["campaign", "c.toml", "-o", "out", "--executor", f"makers_{name}:{name}"]
        assert run_command(words) == 0
    campaign = read_campaign(tmp_path / "c.toml")
    alone = run_campaign(campaign)
    found = read_results(campaign, tmp_path / "out")
    assert [each.to_object() for each in found] == [each.to_object() for each in alone.results]
    assert run_command([*words[:4], "--executor", f"makers_{name}:nothing"]) == 2
    assert run_command([*words[:4], "--executor", "missing_module:dask"]) == 2


def test_parts_of_a_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = tiny(sizes=["1KiB", "2KiB", "4KiB", "8KiB", "16KiB"])
    parts = [select_cases(campaign, (), (k, 3)) for k in (1, 2, 3)]
    assert sorted(case.name for part in parts for case in part) == sorted(
        case.name for case in campaign.cases
    )
    assert [len(part) for part in parts] == [2, 2, 1]
    assert parse_share("2/3") == (2, 3)
    for word in ("0/3", "4/3", "x", "1/0", "slurm"):
        with pytest.raises(UsageError, match="share"):
            parse_share(word)
    for name, value in (("ID", "9"), ("MIN", "3"), ("COUNT", "4"), ("STEP", "2")):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    assert parse_share("slurm") == (4, 4)
    for k in (1, 2, 3):
        run_campaign(campaign, tmp_path, share=(k, 3))
    assert len(read_results(campaign, tmp_path)) == 5


def test_no_case_runs_twice(tmp_path: Path) -> None:
    """Eight processes with one folder, killed at random; the results of a case are written once."""
    (tmp_path / "c.toml").write_text(
        TEXT.replace('["1KiB"]', '["1KiB", "2KiB", "4KiB"]') + "seeds = [0, 1]\n"
    )
    campaign = read_campaign(tmp_path / "c.toml")
    folder = tmp_path / "out"
    program = Path(sys.executable).with_name("conset")
    command = [str(program), "campaign", "c.toml", "-o", "out"]
    random, known, first = Random(3), dict[str, int](), True
    for _ in range(40):
        left = len(campaign.cases) - len(known)
        if not left:
            break
        writers = [
            subprocess.Popen(
                command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for _ in range(8)
        ]
        time.sleep(random.uniform(2.0, 5.0))
        for writer in writers:
            if first or random.random() < 0.7:
                writer.kill()
        first = False
        for writer in writers:
            writer.wait(timeout=120)
        files = {path.name: path.stat().st_ino for path in (folder / "cases").glob("*.json")}
        assert known.items() <= files.items(), "no file is written again"
        known = files
    assert len(known) == len(campaign.cases)
    alone = run_campaign(campaign)
    found = read_results(campaign, folder)
    assert [each.to_object() for each in found] == [each.to_object() for each in alone.results]
