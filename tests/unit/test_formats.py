"""Conset's own files.

What a file is, what its models accept and how they word what they do not, their JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from conset.api import compile as compile_schedule
from conset.base.errors import InputError, UsageError
from conset.base.files import write_archive
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.spec import parse_machine
from conset.models import Workload
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.timeline import read_record, write_timeline
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import document_of, read_compiled, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.files.keys import (
    ProgramFile,
    ScheduleEntries,
    ScheduleFile,
    TimelineFile,
    checked,
    json_schema,
)
from conset.schedule.files.sniff import Sniffed, sniff
from conset.schedule.schedule import Schedule

MESH = parse_machine("mesh:2x2")
READERS: dict[tuple[str, ...], Callable[[Path], object]] = {
    ("schedule", "program"): read_document,
    ("timeline",): read_record,
}


def made(**options: Any) -> Schedule:
    pattern = Pattern.from_messages(
        [0, 1, 3, 2], [1, 2, 0, 2], [10, 20, 2**40, 5], 4, before=[[0, 1]]
    )
    return compile_schedule(pattern, MESH, **{"method": "first-fit", **options})


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A file of every form and container, by `form.container`."""
    schedule, settings = made(), Settings(record=True)
    timeline = MODELS["flow"].simulate(Workload.of_schedule(schedule), MESH, settings)
    block = BlockSpec(
        "a", Pattern.from_messages([0, 1], [1, 0], [1, 1], 4), 3, CompileOptions("first-fit")
    )
    for container in ("json", "npz"):
        write_compiled(schedule, tmp_path / f"schedule.{container}")
        write_timeline(
            timeline, tmp_path / f"timeline.{container}", machine=MESH, settings=settings
        )
    program = compile_program([block], MESH, CompileOptions("first-fit"))
    write_compiled(document_of(program), tmp_path / "program.json")
    return {path.name: path for path in tmp_path.iterdir()}


# What a file is


def test_every_file_is_known_by_its_contents(files: dict[str, Path], tmp_path: Path) -> None:
    for name, path in files.items():
        form, _, container = name.partition(".")
        renamed = tmp_path / "any.name"
        renamed.write_bytes(path.read_bytes())
        assert sniff(renamed) == sniff(path) == Sniffed(form, container, f"conset/{form}@1")  # type: ignore[arg-type]


def test_a_file_with_its_keys_in_another_order_is_known(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """`schema` is at its end, and a program's schedules name theirs first."""
    for name in ("schedule.json", "timeline.json", "program.json"):
        turned = dict(reversed(json.loads(files[name].read_text()).items()))
        path = tmp_path / f"turned-{name}"
        path.write_text(json.dumps(turned))
        assert sniff(path) == sniff(files[name])
        assert run(["verify", str(path)]) == 0


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", Sniffed("unknown", "unknown")),
        (b"\x00\xff", Sniffed("unknown", "unknown")),
        (b"PK\x03\x04 half", Sniffed("unknown", "unknown")),
        (b"[1]", Sniffed("unknown", "unknown")),
        (b"{", Sniffed("unknown", "json")),
        (b"{" * 100_000, Sniffed("unknown", "json")),
        (b'{"a": 1}', Sniffed("unknown", "json")),
        (b'{"schema": 7}', Sniffed("unknown", "json")),
        (b' \n{"schema" : "conset/schedule@2"', Sniffed("unknown", "json", "conset/schedule@2")),
        (
            b'\xef\xbb\xbf{"schema": "conset/program@1"',
            Sniffed("program", "json", "conset/program@1"),
        ),
        (b'{"name": "m", "network": {"kind": "ring", "nodes": 4}}', Sniffed("machine", "json")),
        (b'{"x": {"schema": "conset/schedule@1"}}', Sniffed("unknown", "json")),
    ],
)
def test_what_else_a_file_may_be(tmp_path: Path, content: bytes, found: Sniffed) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(content)
    assert sniff(path) == found


def test_archives_and_machine_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for header, found in (
        (None, Sniffed("pattern", "npz")),
        (np.array("{"), Sniffed("unknown", "npz")),
        (np.array([1, 2]), Sniffed("unknown", "npz")),
        (np.array("[]"), Sniffed("unknown", "npz")),
        (
            np.array('{"schema": "conset/timeline@1"}'),
            Sniffed("timeline", "npz", "conset/timeline@1"),
        ),
    ):
        write_archive(
            path, [("matrix", np.zeros((2, 2)))] + ([] if header is None else [("header", header)])
        )
        assert sniff(path) == found
    (tmp_path / "m.toml").write_text('name = "m"\n[network]\nkind = "ring"\nnodes = 4\n')
    (tmp_path / "p.toml").write_text('[[block]]\npattern = "alltoall"\n')
    assert sniff(tmp_path / "m.toml") == Sniffed("machine", "toml")
    assert sniff(tmp_path / "p.toml").form == sniff(tmp_path).form == "unknown"


def test_a_file_of_another_form_is_named(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, path in files.items():
        form = name.partition(".")[0]
        for wanted, read in READERS.items():
            if form in wanted:
                read(path)
                continue
            with pytest.raises(
                InputError,
                match=rf"is a {form}, a {wanted[0]} is required: schema is 'conset/{form}@1'",
            ):
                read(path)
    for words in (["simulate", "timeline.npz"], ["predict", "timeline.json"]):
        assert run([words[0], str(files[words[1]])]) == 3
        assert "a schedule is required" in capsys.readouterr().err


# What is wrong, in one line


@pytest.mark.parametrize(
    ("model", "change", "line"),
    [
        (ScheduleFile, {"mahcine": 1}, "schedule: unknown key 'mahcine': did you mean 'machine'?"),
        (ScheduleFile, {"schema": None}, "schema: must be 'conset/schedule@1', is null"),
        (ScheduleFile, {"limits": 3}, "limits: an object is required, given 3"),
        (ScheduleFile, {"in_flight": None}, "in_flight = None: must be a whole number from 1 to"),
        (ScheduleFile, {"posting": "rotate"}, "unknown posting 'rotate': did you mean 'rotated'?"),
        (
            ScheduleFile,
            {"min_bandwidth_Bps": [1.0, -1]},
            r"min_bandwidth_Bps\[1\]: must be a rate from 0 to",
        ),
        (ScheduleFile, {"\ud800": 1}, "schedule: "),
        (ProgramFile, {"stages": [{"name": "a"}]}, r"stages\[0\]: key 'repeat' is missing"),
        (ProgramFile, {"stages": [1]}, r"stages\[0\]: an object is required, given 1"),
        (ProgramFile, {"stages": {}}, "stages: must be a list, is {}"),
        (
            ProgramFile,
            {"stages": [{"name": "a", "repeat": 1, "turns": 0, "schedule": 0}]},
            r"stages\[0\].turns: must be true or false, is 0",
        ),
        (TimelineFile, {"end": []}, "unknown entry 'end': did you mean 'end_s'?"),
        (
            TimelineFile,
            {"source": [0.5]},
            r"source\[0\] = 0.5: must be an integer from -2147483648",
        ),
        (
            TimelineFile,
            {"end_s": [1, float("inf")]},
            r"entry 'end_s': finite numbers required, \[1\] is not",
        ),
        (TimelineFile, {"settings": None}, "settings'?: an object is required, given null"),
        (
            ScheduleEntries,
            {"source": np.zeros(1)},
            "entry 'source': int32 or int64 required, given float64",
        ),
        (
            ScheduleEntries,
            {"before": np.zeros((1, 3), int)},
            r"entry 'before': wrong shape \(1, 3\): \(n, 2\) required",
        ),
        (ScheduleEntries, {"sizes": np.zeros(1)}, "unknown entry 'sizes': did you mean 'size'?"),
    ],
)
def test_what_a_model_refuses_is_one_line(
    files: dict[str, Path], model: type[Any], change: dict[str, Any], line: str
) -> None:
    form = {"ScheduleFile": "schedule", "ProgramFile": "program", "TimelineFile": "timeline"}.get(
        model.__name__
    )
    if form is None:
        with np.load(files["schedule.npz"]) as archive:
            found = dict(archive)
    else:
        found = json.loads(files[f"{form}.json"].read_text())
    checked(model, found)
    with pytest.raises(InputError, match=f"^{line}|^entry '{line}") as error:
        checked(model, found | change)
    assert "\n" not in str(error.value)


def test_the_outermost_fault_is_said_first(files: dict[str, Path]) -> None:
    found = json.loads(files["schedule.json"].read_text())
    found["limits"]["send"] = "one"
    found["pattern"]["rank"] = 1
    with pytest.raises(InputError, match=r"^pattern: unknown key 'rank': did you mean 'ranks'\?$"):
        checked(ScheduleFile, found)
    del found["method"]
    with pytest.raises(InputError, match=r"^schedule: key 'method' is missing$"):
        checked(ScheduleFile, found)


@pytest.mark.parametrize(
    ("first", "missing"),
    [("source", "target"), ("machine_spec", "changed"), ("rate_time_s", "rate_Bps")],
)
def test_entries_of_a_timeline_that_go_together(
    files: dict[str, Path], first: str, missing: str
) -> None:
    found = json.loads(files["timeline.json"].read_text())
    del found[missing]
    files["timeline.json"].write_text(json.dumps(found))
    with pytest.raises(InputError, match=f"entry '{missing}' is missing, '{first}' is there"):
        read_record(files["timeline.json"])


def test_an_archive_s_header_does_not_hide_its_columns(files: dict[str, Path]) -> None:
    with np.load(files["timeline.npz"]) as archive:
        entries = dict(archive)
    head = json.loads(str(entries.pop("header")))
    entries["header"] = np.array(json.dumps(head | {"end_s": [0.0]}))
    np.savez(files["timeline.npz"], **entries)
    with pytest.raises(
        InputError, match="entry 'end_s' is there twice: in the header and beside it"
    ):
        read_record(files["timeline.npz"])


# JSON Schema


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"timetable": "as"},
        {"method": "connections"},
        {"placement": "random"},
    ],
)
def test_the_schema_accepts_the_schedules_that_are_written(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    path = tmp_path / "s.json"
    for schedule in (
        made(**options),
        replace(made(**options), in_flight=2, min_bandwidth_Bps=np.arange(3.0)),
    ):
        write_compiled(schedule, path)
        found, schema = json.loads(path.read_text()), json_schema("schedule")
        jsonschema.Draft202012Validator(schema).validate(found)
        assert read_compiled(path).pattern.messages == schedule.pattern.messages


@pytest.mark.parametrize("form", ["schedule", "program", "timeline"])
def test_the_schema_accepts_what_is_written_and_little_else(
    files: dict[str, Path], form: str
) -> None:
    found, schema = json.loads(files[f"{form}.json"].read_text()), json_schema(form)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(found)
    assert not validator.is_valid(found | {"more": 1})
    assert not validator.is_valid(found | {"schema": "conset/other@1"})
    for key in set(schema["required"]):
        assert not validator.is_valid(
            {name: value for name, value in found.items() if name != key}
        ), key
    wrong = {"schedule": {"phases": [[[1, 2, 3]]]}, "timeline": {"end_s": ["1"]}}
    if form == "program":
        wrong[form] = {"stages": [{**found["stages"][0], "schedule": {}}]}
    assert not validator.is_valid(found | wrong[form])


def test_a_schema_of_no_form() -> None:
    with pytest.raises(UsageError, match="unknown form 'shedule': did you mean 'schedule'"):
        json_schema("shedule")
