"""Files of programs that forward.

What stands in them, what is refused in one line, what commands say of them.
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

from conset.base.errors import InputError
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.spec import parse_machine
from conset.models import predict
from conset.models.formula.evaluate import predict_program
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.document import BundlesDocument
from conset.schedule.files.compiled import document_of, read_compiled, to_program, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.files.keys import json_schema
from conset.schedule.paths import Paths
from conset.schedule.program import Program, chained
from conset.schedule.schedule import Manifest
from conset.verification import PROGRAM_RULES, verify
from support.forwarding import bundles_of_rows, rows_of, with_rows

LINE = parse_machine("mesh:1x4")


def program_of(paths: Paths, machine: Any = LINE, sync: str = "local") -> Program:
    options = CompileOptions("first-fit")
    schedules = [
        compile_pattern(paths.bundles(j).pattern, machine, options) for j in range(paths.stages)
    ]
    return Program.of_schedules(paths, schedules, sync, Manifest("by hand"))


def by_hand() -> Program:
    """0 → 3 with 64 B and 0 → 2 with 8 B by way of 1, and 1 → 0 with 10 B, its second half by
    way of 2."""
    pattern = Pattern.from_messages([0, 0, 1], [2, 3, 0], [8, 64, 10], 4, name="three")
    positions = [[0, 1, 2], [0, 1, 3], [1, 0, 0], [1, 2, 0]]
    return program_of(Paths(pattern, positions, [0, 1, 2, 2], [0, 0, 0, 5], [8, 64, 5, 5]))  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.json"
    write_compiled(document_of(by_hand()), path)
    return path


def test_what_stands_in_a_file(file: Path) -> None:
    found = json.loads(file.read_text())
    assert list(found) == ["schema", "machine", "sync", "messages", "stages", "figures", "manifest"]
    assert found["sync"] == "local"
    messages = [[0, 2, 8], [0, 3, 64], [1, 0, 10]]
    assert found["messages"] == {"ranks": 4, "name": "three", "messages": messages, "before": None}
    first, second = found["stages"]
    assert list(first) == ["name", "repeat", "turns", "contexts", "bundles", "schedule"]
    assert first["bundles"] == [
        [0, 1, 72, [[0, 0, 7], [1, 0, 63]]],
        [1, 0, 5, [[2, 0, 4]]],
        [1, 2, 5, [[2, 5, 9]]],
    ]
    assert second["bundles"] == [
        [1, 2, 8, [[0, 0, 7]]],
        [1, 3, 64, [[1, 0, 63]]],
        [2, 0, 5, [[2, 5, 9]]],
    ]
    assert first["schedule"]["pattern"]["messages"] == [row[:3] for row in first["bundles"]]
    # 72 + 5 + 5 and 8 + 64 + 5 B are sent; between the stages rank 1 holds 72 B for others, rank 2
    # half a message
    assert {
        key: found["figures"][key]
        for key in ("messages", "bytes", "stages", "bundles", "staging_bytes")
    } == {
        "messages": 3,
        "bytes": 82,
        "stages": 2,
        "bundles": 6,
        "staging_bytes": 72,
    }
    assert found["figures"]["volume"] == 159 / 82
    assert read_compiled(file) == by_hand()


def test_a_box_of_4_by_8_sends_as_much_as_it_must() -> None:
    """Complete exchange of 32 ranks in 2 stages of 3 and 7 bundles a rank.

    E_1 + 2 e_2 = 10 + 2 · 21 hops of 31.
    """
    machine = parse_machine("mesh:4x8")
    pattern = parse_pattern("alltoall:size=8", topology=machine.topology, ranks=32)
    source, target = pattern.source, pattern.target
    program = program_of(
        Paths(pattern, np.column_stack((source, source // 8 * 8 + target % 8, target))), machine
    )
    figures = program.figures()
    assert (figures["bundles"], figures["volume"]) == (320, 52 / 31)
    assert figures["staging_bytes"] == 7 * 3 * 8, (
        "of 7 others of the row, 8 B for each of 3 other rows"
    )
    verdict = verify(document_of(program))
    assert verdict.ok
    assert dict(verdict.figures) == figures


def test_a_later_stage_may_run_an_earlier_one_s_schedule(tmp_path: Path) -> None:
    """0 → 1 → 0: a message of 2 goes to 0 by way of 1 twice as often as it need."""
    pattern = Pattern.from_messages([0, 1], [1, 0], [8, 8], 2)
    paths = Paths(pattern, [[0, 1, 0, 1], [1, 0, 1, 0]])  # type: ignore[arg-type]
    machine = parse_machine("crossbar:2")
    program = program_of(paths, machine)
    stages = tuple(replace(stage, schedule=0) for stage in program.stages)
    program = replace(
        program, stages=stages, schedules=program.schedules[:1], contexts=program.contexts[:1]
    )
    path = tmp_path / "p.json"
    write_compiled(document_of(program), path)
    found = json.loads(path.read_text())
    assert [type(stage["schedule"]) for stage in found["stages"]] == [dict, int, int]
    assert [stage.get("contexts") for stage in found["stages"]] == [[0], None, None]
    jsonschema.Draft202012Validator(json_schema("program")).validate(found)
    assert verify(read_document(path)).ok
    assert read_compiled(path) == program
    found["stages"][2]["schedule"] = 1
    path.write_text(json.dumps(found))
    assert read_compiled(path) == program, "stage 1 runs the schedule of stage 0"


def test_blocks_that_are_equal_are_written_once(tmp_path: Path) -> None:
    pattern = parse_pattern("shift:by=1", topology=LINE.topology, ranks=4)
    options = CompileOptions("first-fit")
    blocks = [BlockSpec(name, pattern, 2, options) for name in ("a", "b")]
    program = compile_program(blocks, LINE, options)
    path = tmp_path / "p.json"
    write_compiled(document_of(program), path)
    stages = json.loads(path.read_text())["stages"]
    assert [list(stage) for stage in stages] == [
        ["name", "repeat", "turns", "contexts", "schedule"],
        ["name", "repeat", "turns", "schedule"],
    ]
    assert stages[1]["schedule"] == 0
    assert read_compiled(path) == program


def test_bytes_may_be_cut_otherwise_in_every_stage() -> None:
    """A message that goes in two bundles and goes on in one, in one range or two, or the other
    way round."""
    program = by_hand()
    document = document_of(program)
    rows = rows_of(document)
    rows[0][0][3] = [[0, 0, 7], [1, 0, 31], [1, 32, 63]]
    once = to_program(with_rows(document, rows))
    assert once.paths is not None
    assert once.paths.parts == 5
    assert once.figures() == program.figures()
    assert verify(with_rows(document, rows)).ok
    assert verify(document_of(once)).ok
    packed = program.schedules[1].pattern.packed
    assert packed is None
    assert once.schedules[1].pattern.packed is not None, "two parts travel there"


def test_messages_and_bundles_may_stand_in_any_order(file: Path) -> None:
    """Those of a stage in that of its schedule's messages.

    Parts within a bundle and the messages as they like.
    """
    found = json.loads(file.read_text())
    found["messages"]["messages"].reverse()
    for stage in found["stages"]:
        for row in stage["bundles"]:
            row[3] = [[2 - m, first, last] for m, first, last in reversed(row[3])]
        schedule = stage["schedule"]
        stage["bundles"].reverse()
        schedule["pattern"]["messages"].reverse()
        if "packed" in schedule["pattern"]:
            schedule["pattern"]["packed"] = [2 - m for m in schedule["pattern"]["packed"]]
        schedule["phases"] = [
            [[*row[:3], 2 - row[3]] for row in phase] for phase in schedule["phases"]
        ]
    file.write_text(json.dumps(found))
    assert verify(read_document(file)).ok
    again, program = read_compiled(file), by_hand()
    assert again.figures() == program.figures()
    assert [schedule.pattern for schedule in again.schedules] == [
        schedule.pattern for schedule in program.schedules
    ]


Change = Callable[[dict[str, Any]], object]


def bundle(stage: int, b: int, *values: Any) -> Change:
    def change(found: dict[str, Any]) -> None:
        row = found["stages"][stage]["bundles"][b]
        row[: len(values)] = [
            old if new is None else new for old, new in zip(row, values, strict=False)
        ]

    return change


def at(*keys: Any) -> Change:
    """The last of `keys` is put where the others say; None: it is taken away."""

    def change(found: Any) -> None:
        *outer, key, value = keys
        for k in outer:
            found = found[k]
        if value is None:
            del found[key]
        else:
            found[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            at("stages", 1, "schedule", 1),
            "stages[1].schedule = 1: must be a schedule or the number of an earlier st",
        ),
        (
            at("stages", 0, "schedule", -1),
            "stages[0].schedule = -1: must be a schedule or the number of an earlier ",
        ),
        (
            at("stages", 1, "schedule", 0),
            "stages[1].contexts: must stand beside the schedule, in stage 0",
        ),
        (
            at("stages", 1, "schedule", True),
            "stages[1].schedule: a schedule or the number of an earlier stage requi",
        ),
        (
            at("stages", 1, "schedule", "method", None),
            "stages[1].schedule: schedule: key 'method' is missing",
        ),
        (at("stages", 1, "contexts", None), "stages[1]: key 'contexts' is missing"),
        (
            at("stages", 1, "bundles", None),
            "stages[1]: key 'bundles' is missing, the program has 'messages'",
        ),
        (
            at("messages", None),
            "stages have bundles, the messages that they carry are missing: key 'messages'",
        ),
        (
            at("messages", "before", [[0, 1]]),
            "messages.before: must be null for the messages of a program that",
        ),
        (
            at("messages", "packed", [0]),
            "messages.packed: must be null for the messages of a program that forwards",
        ),
        (
            at("messages", "messages", 1, [0, 3]),
            "messages.messages[1]: 3 numbers required, given 2",
        ),
        (at("messages", "messages", 1, [0, 4, 64]), "target[1] = 4: must be a rank from 0 to 3"),
        (at("messages", "messages", 1, [9, 3, 64]), "source[1] = 9: must be a rank from 0 to 3"),
        (at("messages", "ranks", 2**31 - 1), "messages.ranks = 2147483647: the schedules have 4"),
        (at("sync", "sometimes"), "unknown sync 'sometimes'"),
        (at("staging_limit", -1), "staging_limit = -1: must be at least 0"),
        (
            at("staging_limit", 71),
            "a rank holds 72 B for others between two stages, staging_limit_B is 71 B",
        ),
        (
            at("stages", 0, "repeat", 2),
            "stages[0]: a stage that forwards runs once and does not turn",
        ),
        (at("stages", 0, "bundles", 7), "stages[0].bundles: must be a list, is 7"),
        (
            at("stages", 0, "bundles", [[0, 1, 8]]),
            "stages[0].bundles[0]: 4 entries required, given 3",
        ),
        (bundle(0, 1, 1, "x"), "stages[0].bundles[1][1]: must be a whole number, is 'x'"),
        (bundle(0, 1, None, None, None, 7), "stages[0].bundles[1][3]: must be a list, is 7"),
        (
            bundle(0, 1, None, None, None, [[2, 0]]),
            "stages[0].bundles[1][3][0]: 3 numbers required, given 2",
        ),
        (
            bundle(0, 1, None, None, None, [[2, 0, 2**63]]),
            "stages[0].bundles[1][3][0][2] = 9223372036854775808: must ",
        ),
        (
            bundle(0, 1, None, None, None, [[3, 0, 4]]),
            "stages[0].bundles[1]: message 3, must be from 0 to 2",
        ),
        (
            bundle(0, 1, None, None, None, [[2, 0, 10]]),
            "stages[0].bundles[1]: bytes 0 to 10 of message 2, which has",
        ),
        (
            bundle(0, 1, None, None, None, [[2, 3, 2]]),
            "stages[0].bundles[1]: bytes 3 to 2 of message 2, which has 1",
        ),
        (
            bundle(0, 1, None, None, None, [[2, 0, 6]]),
            "stages[0].bundles[2]: bytes 5 to 9 of message 2, of which the stage sends some twice",
        ),
        (bundle(0, 1, None, 4), "stages[0].bundles[1]: rank 4, must be from 0 to 3"),
        (
            bundle(1, 2, 3),
            "stages[1].bundles[2]: bytes 5 to 9 of message 2 are at rank 2, not at rank 3",
        ),
        (bundle(1, 2, 2, 1), "message 2: after the last stage at rank 1, its target is rank 0"),
        (
            bundle(1, 1, None, None, None, []),
            "message 1: after the last stage at rank 1, its target is rank 3",
        ),
        (
            at("stages", 0, "schedule", "pattern", "messages", 0, [0, 1, 71]),
            "stages[0]: its schedule does not send ",
        ),
    ],
)
def test_what_is_no_program_is_refused_in_one_line(file: Path, change: Change, line: str) -> None:
    found = json.loads(file.read_text())
    change(found)
    if line.startswith("stages[0]: its schedule"):
        schedule = found["stages"][0]["schedule"]
        schedule["phases"] = [
            [[s, t, 71 if b == 72 else b, m] for s, t, b, m in p] for p in schedule["phases"]
        ]
    file.write_text(json.dumps(found))
    with pytest.raises(InputError) as caught:
        read_compiled(file)
    assert str(caught.value).startswith(f"{file}: {line}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "rule", "text"),
    [
        (
            bundle(1, 1, None, None, 63),
            "program-bundle",
            "stage 1 bundle 1 (1 → 3): has 63 B, message 1 of its sche",
        ),
        (
            bundle(0, 0, None, None, None, [[0, 0, 7]]),
            "program-bundle",
            "stage 0 bundle 0 (0 → 1): has 72 B, its pa",
        ),
        (
            bundle(0, 1, None, None, None, [[2, 0, 4], [2, 5, 9]]),
            "program-part",
            "stage 0 bundle 2 (1 → 2): bytes 5",
        ),
        (
            at("messages", "messages", 2, [1, 3, 10]),
            "program-delivery",
            "message 2: ends at rank 0, its target is r",
        ),
        (
            at("messages", "messages", 2, [2, 0, 10]),
            "program-path",
            "stage 0 bundle 1 (1 → 0): bytes 0 to 4 of mess",
        ),
        (
            at("messages", "messages", 2, [1, 0, 11]),
            "program-delivery",
            "message 2: ends at rank 1, its target is r",
        ),
        (
            at("messages", "messages", 2, [0, 0, 10]),
            "program-message",
            "message 2 (0 → 0, 10 B): joins a rank to it",
        ),
        (
            at("messages", "ranks", 5),
            "program-message",
            "the messages are of 5 ranks, the schedules of 4",
        ),
        (
            at("figures", "volume", 2.0),
            "program-figures",
            "volume: file says 2.0, recount gives 1.9390243902439024",
        ),
        (
            at("figures", "bundles", None),
            "program-figures",
            "bundles: file says nothing, recount gives 6",
        ),
        (
            at("staging_limit", 71),
            "program-staging",
            "between stages 0 and 1: rank 1 holds 72 B for others, at most",
        ),
        (
            at("stages", 1, "turns", True),
            "program-stage",
            "stage 1 'stage 1': forwards, must run once and not turn",
        ),
        (
            at("stages", 0, "bundles", 2, None),
            "program-bundle",
            "stage 0: 2 bundles, its schedule sends 3 messages",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    file: Path, change: Change, rule: str, text: str
) -> None:
    found = json.loads(file.read_text())
    change(found)
    file.write_text(json.dumps(found))
    violations = verify(read_document(file)).violations
    assert rule in PROGRAM_RULES
    assert any(v.rule == rule and v.text.startswith(text) for v in violations), [
        v.text for v in violations
    ]


def test_a_limit_on_what_ranks_hold(tmp_path: Path) -> None:
    program = replace(by_hand(), staging_limit_B=72)
    path = tmp_path / "p.json"
    write_compiled(document_of(program), path)
    assert json.loads(path.read_text())["staging_limit"] == 72
    assert verify(read_document(path)).ok
    assert read_compiled(path) == program
    with pytest.raises(
        InputError, match="a rank holds 72 B for others between two stages, staging_limit_B is 71 B"
    ):
        replace(program, staging_limit_B=71)
    with pytest.raises(InputError, match="stages with messages of their own hold none"):
        replace(Program.of(program.schedules[0]), staging_limit_B=1)


def test_more_stages_than_any_message_is_worth() -> None:
    document = document_of(by_hand())
    stages = (*document.stages[:1], *[document.stages[1]] * 64)
    texts = [v.text for v in verify(replace(document, stages=stages)).violations]
    assert texts == ["65 stages forward, at most 64"]
    with pytest.raises(InputError, match=r"^stages: 65 that forward, at most 64$"):
        to_program(replace(document, stages=stages))


def test_programs_run_all_their_schedules() -> None:
    program = by_hand()
    with pytest.raises(InputError, match=r"^schedules\[1\]: no stage runs it$"):
        replace(program, paths=None, stages=(program.stages[0],) * 2)


def test_the_schema_says_what_stands_in_a_file(file: Path) -> None:
    validator = jsonschema.Draft202012Validator(json_schema("program"))
    found = json.loads(file.read_text())
    validator.validate(found | {"staging_limit": 72})
    for change in (
        at("stages", 0, "bundles", 0, [0, 1, 72]),
        at("stages", 0, "bundles", 0, [0, 1, 72, [[0, 1]]]),
        at("stages", 0, "bundles", 0, [0, 1, 72, [[0, 0, 7.5]]]),
        at("stages", 0, "schedule", "0"),
        at("stages", 0, "schedule", "method", None),
        at("messages", "before", []),
        at("messages", "ranks", None),
        at("staging_limit", -1),
        at("figures", "volume", "1"),
        at("stages", 0, "more", 1),
    ):
        other = json.loads(file.read_text())
        change(other)
        assert not validator.is_valid(other)


def test_one_bundle_with_more_parts_than_are_written_at_once(tmp_path: Path) -> None:
    """70,000 bytes, each a part of its own, in one bundle.

    Then 1 bundle that holds none, as no sound file has.
    """
    count = 70_000
    each = np.arange(count)
    pattern = Pattern.from_messages([0, 1], [1, 0], [count, 1], 2)
    message = np.append(np.zeros(count, np.int32), 1).astype(np.int32)
    positions = np.column_stack((message, 1 - message)).astype(np.int32)
    paths = Paths(pattern, positions, message, np.append(each, 0), np.ones(count + 1, np.int64))
    document = document_of(program_of(paths, parse_machine("crossbar:2")))
    path = tmp_path / "p.json"
    write_compiled(document, path)
    read = read_document(path)
    assert verify(read).ok
    bundles = read.stages[0].bundles
    assert isinstance(bundles, BundlesDocument)
    np.testing.assert_array_equal(bundles.first, np.append(each, 0))
    empty = with_rows(document, [[[0, 1, count, []], [1, 0, 1, []]]])
    write_compiled(empty, path)
    assert {v.rule for v in verify(read_document(path)).violations} == {"program-bundle"}
    assert bundles_of_rows([]).offsets.tolist() == [0]


def test_commands(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(file)]) == 0
    assert "3 messages in 6 bundles, 2 stages, " in capsys.readouterr().out
    assert run(["verify", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["staging_bytes"] == 72
    assert run(["show", str(file)]) == 0
    text = capsys.readouterr().out
    for line in (
        "three on mesh:1x4: 4 ranks, 3 messages, 82 B",
        "stage 0:   3 bundles, at most 2 of a rank",
        "a rank holds 72 B",
        "volume     1.939: bytes that all stages send, over bytes delivered",
        "every byte at its target",
    ):
        assert line in text
    assert run(["show", str(file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(stage["bundles"], stage["most_bundles"]) for stage in shown["stages"]] == [
        (3, 2),
        (3, 2),
    ]
    assert (shown["sync"], shown["verified"]) == ("local", True)
    assert run(["predict", str(file), "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    whole = predict(chained(read_compiled(file)), sync="local").time_s
    assert predicted["time_s"] == pytest.approx(whole)
    assert predicted["sync"] == "local"
    assert len(predict_program(by_hand()).block_s) == 2
    found = json.loads(file.read_text())
    found["stages"][0]["bundles"][1][3][0][1] = 1
    file.write_text(json.dumps(found))
    assert run(["verify", str(file)]) == 4
    assert (
        "program-bundle: stage 0 bundle 1 (1 → 0): has 5 B, its parts 4 B"
        in capsys.readouterr().out
    )
