"""Traces, timeline files and the command: what is read, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.models import Workload
from conset.models.flow import simulate_flow
from conset.models.settings import Settings
from conset.models.table import MODELS, find_model
from conset.models.timeline import read_record, write_timeline
from conset.models.trace import read_trace
from support.hand_made_workloads import cycles_machine

TRACE = "id,time,src,dst,bytes,deps\n10,0,0,3,160,\n11,2.5,1,2,320,10\n12,0,2,2,64,10;11\n"
MACHINE = cycles_machine("mesh:4x4")


def trace_file(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_trace_is_read_column_by_column(tmp_path: Path) -> None:
    work = read_trace(trace_file(tmp_path, TRACE), MACHINE)
    assert work.source.tolist() == [0, 1, 2]
    assert work.target.tolist() == [3, 2, 2]
    assert work.bytes.tolist() == [160, 320, 64]
    assert work.time_s * 1e9 == pytest.approx([0, 2.5, 0])
    assert work.dep_offsets.tolist() == [0, 0, 1, 3]
    assert work.deps.tolist() == [0, 0, 1]
    assert work.phases == 0


def test_a_trace_without_deps_and_an_empty_one_are_read(tmp_path: Path) -> None:
    assert (
        read_trace(trace_file(tmp_path, "id,time,src,dst,bytes\n0,0,0,3,160\n"), MACHINE).messages
        == 1
    )
    assert read_trace(trace_file(tmp_path, "id,time,src,dst,bytes,deps\n"), MACHINE).messages == 0


def test_a_trace_has_the_names_of_columns_that_patterns_have(tmp_path: Path) -> None:
    text = TRACE.replace("id,time,src,dst,bytes,deps", "ID,Time,source,dest,Size,after")
    assert text != TRACE
    found, expected = (read_trace(trace_file(tmp_path, each), MACHINE) for each in (text, TRACE))
    assert found == expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("id,time,src,dst,size KiB\n", "line 1: the header must be id,time,src,dst,bytes,deps, is"),
        ("a,b\n1,2\n", "line 1: the header must be id,time,src,dst,bytes,deps, is 'a,b'"),
        (TRACE.replace("0,0,3", "0,16,3"), "line 2: src = 16: must be a rank from 0 to 15"),
        (TRACE.replace("2.5,1,2", "2.5,1,-2"), "line 3: dst = -2: must be a rank from 0 to 15"),
        (TRACE.replace("320", "-320"), "line 3: bytes = -320: must be from 0 to 2"),
        (TRACE.replace("320", "many"), "line 3: bytes = 'many': a whole number required"),
        (
            TRACE.replace("320", "9999999999999999999"),
            "line 3: bytes = 9999999999999999999: must be below",
        ),
        (TRACE.replace("2.5", "nan"), "line 3: time = nan: must be finite and at least 0 ns"),
        (TRACE.replace("2.5", "-1"), r"line 3: time = -1.0: must be finite and at least 0 ns"),
        (TRACE.replace("11,2.5", "10,2.5"), "line 3: id = 10: is given twice"),
        (TRACE.replace("10;11", "10;99"), "line 4: deps: no message has the id 99"),
        (TRACE.replace("10;11", "10;x"), "line 4: deps: 'x': whole numbers separated by ';'"),
        (TRACE.replace(",64,10;11", ""), "line 4: 6 columns required, given 4"),
    ],
)
def test_a_bad_trace_is_refused_in_one_line(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        read_trace(trace_file(tmp_path, text), MACHINE)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("record", [False, True])
def test_a_timeline_survives_its_file(tmp_path: Path, suffix: str, record: bool) -> None:
    work = read_trace(trace_file(tmp_path, TRACE), MACHINE)
    timeline = simulate_flow(work, MACHINE, Settings(record=record))
    paths = [tmp_path / f"{name}{suffix}" for name in ("a", "b")]
    for path in paths:
        write_timeline(timeline, path)
    again = read_record(paths[0]).timeline
    assert again.end_s.tobytes() == timeline.end_s.tobytes()
    assert (again.time_s, again.mean_latency_s, again.in_flight) == (
        timeline.time_s,
        timeline.mean_latency_s,
        None,
    )
    assert again.workload is not None
    assert again.workload.bytes.tolist() == work.bytes.tolist()
    assert (again.rates is not None) is record
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"{broken", b'{"schema": "conset/timeline@1"}']
)
def test_what_is_no_timeline_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.json: "):
        read_record(path)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write_timeline(simulate_flow(read_trace(trace_file(tmp_path, TRACE), MACHINE), MACHINE), path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match=r"no \.npz archive, or truncated"):
        read_record(path)


def test_a_timeline_of_another_suffix_is_refused(tmp_path: Path) -> None:
    work = read_trace(trace_file(tmp_path, TRACE), MACHINE)
    with pytest.raises(UsageError, match=r"\.json or \.npz"):
        write_timeline(simulate_flow(work, MACHINE), tmp_path / "x.svg")


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown model 'flwo': did you mean 'flow'"):
        find_model("flwo")
    assert next(iter(MODELS)) == "flow"


def test_a_workload_keeps_the_schedule_s_lists_and_routes() -> None:
    schedule = conset.compile("alltoall", "mesh:2x2", method="first-fit")
    work = Workload.of_schedule(schedule)
    assert (work.messages, work.phases) == (12, schedule.phases)
    assert np.array_equal(work.phase_of, schedule.phase_of)


def test_the_python_interface_takes_schedules_workloads_and_traces(tmp_path: Path) -> None:
    schedule = conset.compile("alltoall", "mesh:2x2", method="first-fit")
    own = conset.simulate(schedule, sync="barrier", in_flight=1)
    other = conset.simulate(schedule, "mesh:2x2,synchronization=0", sync="barrier", in_flight=1)
    assert own.time_s == pytest.approx(other.time_s + 4e-6 * (schedule.phases - 1))
    path = trace_file(tmp_path, TRACE)
    assert (
        conset.simulate(path, SPEC).time_s
        == conset.simulate(read_trace(path, MACHINE), MACHINE).time_s
    )
    with pytest.raises(UsageError, match="a machine is required"):
        conset.simulate(path)


# ---- the command

SPEC = "mesh:4x4,link=16GB/s,hop=4ns,port=16GB/s,inject=3ns,eject=2ns"


def simulate(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["simulate", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_simulates_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = trace_file(tmp_path, TRACE)
    found = simulate(capsys, str(path), "--on", SPEC, "-o", str(tmp_path / "x.npz"))
    assert found["schema"] == "conset/simulate@1"
    assert (found["model"], found["sync"], found["in_flight"], found["messages"]) == (
        "flow",
        "none",
        "all",
        3,
    )
    # 0→3 alone: 5 + 12 + 10 = 27; then 1→2: 5 + 4 + 20; the third stays in its node and waits for
    # both
    assert found["time_s"] == pytest.approx(56e-9)
    assert read_record(tmp_path / "x.npz").timeline.end_s * 1e9 == pytest.approx([27, 56, 56])


def test_the_command_simulates_a_schedule_and_a_what_if(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    schedule = conset.compile("alltoall", "mesh:2x2", method="first-fit")
    conset.write(schedule, path)
    plain = simulate(capsys, str(path), "--sync", "barrier")
    free = simulate(capsys, str(path), "--sync", "barrier", "--set", "synchronization=0")
    barrier = 4e-6 * (schedule.phases - 1)
    assert plain["time_s"] == pytest.approx(float(str(free["time_s"])) + barrier)
    assert len(plain["phase_end_s"]) == schedule.phases  # type: ignore[arg-type]
    one = simulate(capsys, str(path), "--in-flight", "1", "--receives", "1", "--fairness", "rtt")
    assert one["in_flight"] == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["t.csv"], 2),
        (["t.csv", "--on", SPEC, "--sync", "barrier"], 2),
        (["t.csv", "--on", SPEC, "--in-flight", "none"], 2),
        (["t.csv", "--on", SPEC, "--model", "flux"], 2),
        (["t.csv", "--on", SPEC, "--fairness", "fair"], 2),
        (["t.csv", "--on", SPEC, "-o", "x.pdf"], 2),
        (["t.csv", "--on", "mesh:2x1"], 3),
        (["missing.csv", "--on", SPEC], 3),
        (["what.txt", "--on", SPEC], 2),
    ],
)
def test_bad_words_end_with_one_line(
    words: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace_file(tmp_path, TRACE)
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", *words]) == code
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
