"""Schedule files: the same bytes every time, read back as written, and every broken one refused
in one located line."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.machine.costs import Limits
from conset.machine.network.topology import Topology
from conset.schedule.document import Document
from conset.schedule.files.compiled import read_compiled, to_schedule, write_compiled
from conset.schedule.files.documents import read_document
from support.hand_made import ANY, all_to_all, document, greedy, machine_on

MESH = machine_on(Topology.mesh(3, 3), "mesh:3x3")


def small(**changes: Any) -> Document:
    messages = all_to_all(9)
    return document(MESH, messages, greedy(MESH, messages, ANY), **changes)


def full() -> Document:
    """A document with everything in it.

    Split messages, order, placement, routes and a timetable.
    """
    messages = [[0, 1, 10], [0, 2, 2**40], [3, 1, 30]]
    phases = [[[0, 1, 10, 0], [3, 1, 20, 2]], [], [[0, 2, 2**40, 1], [3, 1, 10, 2]]]
    routes: list[list[list[int]]] = [[[8, 7], [7]], [], [[8, 5, 4, 7, 6], [7]]]
    timetable: list[list[list[float]]] = [[[0, 0.1], [1 / 3, 2e6]], [], [[0, 100], [1, 2]]]
    order, placement = [[0, 1], [0, 2]], [8, 7, 6, 7]
    return document(
        MESH,
        messages,
        phases,
        Limits(channels=12),
        ranks=4,
        routes=routes,
        timetable=timetable,
        before=order,
        placement=placement,
    )


def assert_same(a: Document, b: Document) -> None:
    for field in fields(Document):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray):
            assert_array_equal(one, other, err_msg=field.name)
        else:
            assert one == other, field.name


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize(
    "make", [small, full, lambda: document(MESH, [], []), lambda: document(MESH, [], [[], []])]
)
def test_what_is_written_is_read(tmp_path: Path, suffix: str, make: Callable[[], Document]) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    write_compiled(make(), first)
    found = read_document(first)
    assert_same(found, make())
    write_compiled(found, second)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


def test_the_json_form_is_that_of_the_schema(tmp_path: Path) -> None:
    write_compiled(full(), tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()
    found = json.loads(text)
    assert list(found) == [
        "schema",
        "machine",
        "method",
        "sync",
        "limits",
        "limits_asked",
        "pattern",
        "placement",
        "phases",
        "routes",
        "timetable",
        "figures",
        "manifest",
    ]
    assert found["schema"] == "conset/schedule@1"
    assert found["limits"] == {
        "send": None,
        "receive": None,
        "link": None,
        "channels": 12,
        "duplex": "full",
    }
    order = [[0, 1], [0, 2]]
    messages = [[0, 1, 10], [0, 2, 2**40], [3, 1, 30]]
    assert found["pattern"] == {
        "ranks": 4,
        "name": "pattern",
        "messages": messages,
        "before": order,
    }
    assert found["placement"] == [8, 7, 6, 7]
    assert found["phases"] == [
        [[0, 1, 10, 0], [3, 1, 20, 2]],
        [],
        [[0, 2, 2**40, 1], [3, 1, 10, 2]],
    ]
    assert found["routes"] == [[[8, 7], [7]], [], [[8, 5, 4, 7, 6], [7]]]
    assert found["timetable"] == [[[0.0, 0.1], [1 / 3, 2e6]], [], [[0.0, 100.0], [1.0, 2.0]]]
    assert list(found["figures"]["load"]) == ["send", "receive", "link", "channels", "sum"]
    assert "\n[[0,1,10,0], [3,1,20,2]],\n[],\n" in text  # one phase to the line


def test_a_long_phase_is_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import conset.schedule.files.documents as module

    write_compiled(full(), tmp_path / "whole.json")
    monkeypatch.setattr(module, "_BLOCK", 1)
    write_compiled(full(), tmp_path / "pieces.json")
    assert (tmp_path / "whole.json").read_bytes() == (tmp_path / "pieces.json").read_bytes()


def test_npz_holds_int32_where_it_fits_and_no_clock(tmp_path: Path) -> None:
    write_compiled(full(), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as found:
        assert found["size"].dtype == np.int64  # 2^40 bytes
        assert found["transfer_message"].dtype == np.int32
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_the_noun_comes_back(tmp_path: Path, suffix: str) -> None:
    write_compiled(full(), tmp_path / f"a.{suffix}")
    schedule = read_compiled(tmp_path / f"a.{suffix}")
    assert schedule.pattern.messages == 3
    assert schedule.size.tolist() == [10, 20, 2**40, 10]
    assert schedule.source_node.tolist() == [8, 7, 8, 7]
    assert schedule.limits == Limits(channels=12)
    assert schedule.machine.name == "mesh:3x3"
    assert schedule.timetable is not None
    assert schedule.timetable.shape == (4, 2)
    assert to_schedule(small()).parts is None


def test_a_schedule_is_written_with_its_figures(tmp_path: Path) -> None:
    pytest.importorskip("conset._core", reason="the C++ core counts the figures")
    from conset.verification import verify

    schedule = to_schedule(small())
    write_compiled(schedule, tmp_path / "a.json")
    found = read_document(tmp_path / "a.json")
    assert found.figures == small().figures
    assert verify(found).ok


def test_messages_in_another_order_are_renumbered() -> None:
    messages = [[2, 0, 7], [0, 1, 5], [1, 2, 6]]
    phases = [[[*row, m] for m, row in enumerate(messages)]]
    schedule = to_schedule(document(MESH, messages, phases, before=[[0, 1]], ranks=9))
    assert schedule.pattern.size.tolist() == [5, 6, 7]
    assert schedule.message.tolist() == [2, 0, 1]
    assert schedule.pattern.before is not None
    assert schedule.pattern.before.tolist() == [[2, 0]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"machine": "mseh:3x3"}, "did you mean 'mesh'"),
        ({"machine": "cluster.toml"}, "carries the whole object"),
        ({"transfer_message": np.full(72, 72)}, "must be from 0 to 71"),
        ({"transfer_source": np.zeros(72, np.int64)}, "its message"),
        ({"ranks": 10}, "10 ranks without a placement on the 9 nodes"),
        ({"placement": np.full(9, 9)}, "placement: 9 nodes from 0 to 8"),
        ({"size": np.zeros(72, np.int64)}, "must be above 0 B"),
    ],
)
def test_an_unsound_document_is_no_schedule(changes: dict[str, Any], words: str) -> None:
    given = small()
    with pytest.raises(InputError, match=words):
        to_schedule(
            Document(**{f.name: getattr(given, f.name) for f in fields(Document)} | changes)
        )


# Structure: each edit of the JSON object, and what the one line must say


def edited(change: Callable[[Any], Any], path: Path) -> Path:
    write_compiled(full(), path)
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    return path


def put(*keys: Any) -> Callable[[Any], None]:
    """Sets the value that the last of `keys` is, at the place that the others name."""
    *way, key, value = keys

    def change(found: Any) -> None:
        for step in way:
            found = found[step]
        found[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda o: o.pop("routes"), "schedule: key 'routes' is missing"),
        (put("phase", []), "schedule: unknown key 'phase': did you mean 'phases'?"),
        (
            put("schema", "conset/schedule@2"),
            "schema: must be 'conset/schedule@1', is 'conset/schedule@2'",
        ),
        (put("machine", 5), "machine: a spec or an object is required, given 5"),
        (put("method", None), "method: must be text, is null"),
        (put("sync", "barier"), "unknown sync 'barier': did you mean 'barrier'?"),
        (put("limits", "send", "one"), "limits.send: must be a whole number, is 'one'"),
        (put("limits", "send", True), "limits.send: must be a whole number, is True"),
        (put("limits", "link", 0), "limits.link = 0: must be at least 1, or null for none"),
        (put("limits", "duplex", "half"), "limits.duplex: must be 'full' or 'exchange', is 'half'"),
        (put("limits", "recieve", 1), "limits: unknown key 'recieve': did you mean 'receive'?"),
        (put("limits_asked", 0), "limits_asked: must be true or false, is 0"),
        (put("pattern", "ranks", 0), "pattern.ranks = 0: must be at least 1"),
        (put("pattern", "ranks", 2**31), "pattern.ranks = 2147483648: must be at most 2147483647"),
        (
            put("pattern", "messages", 1, [0, 1]),
            r"pattern.messages\[1\]: 3 numbers required, given 2",
        ),
        (
            put("pattern", "messages", 1, 2, "9"),
            r"pattern.messages\[1\]\[2\]: must be a whole number, is '9'",
        ),
        (
            put("pattern", "messages", 1, 2, 1.5),
            r"pattern.messages\[1\]\[2\]: must be a whole number, is 1.5",
        ),
        (
            put("pattern", "messages", 1, 2, 2**63),
            r"pattern.messages\[1\]\[2\] = 9223372036854775808: must fit into 64",
        ),
        (put("pattern", "before", 0, [0]), r"pattern.before\[0\]: 2 numbers required, given 1"),
        (put("placement", 1, None), r"placement\[1\]: must be a whole number, is null"),
        (put("phases", {}), "phases: must be a list"),
        (put("phases", 1, None), r"phases\[1\]: must be a list, is null"),
        (put("phases", 2, 1, [3, 1, 10]), r"phases\[2\]\[1\]: 4 numbers required, given 3"),
        (put("phases", 2, 1, 3, False), r"phases\[2\]\[1\]\[3\]: must be a whole number, is False"),
        (lambda o: o["routes"].pop(), "routes: 2 phases, `phases` has 3"),
        (lambda o: o["routes"][2].pop(), r"routes\[2\]: 1 entries, phases\[2\] has 2 transfers"),
        (put("routes", 2, 0, None), r"routes\[2\]\[0\]: must be a list, is null"),
        (put("routes", 2, 0, 1, "x"), r"routes\[2\]\[0\]\[1\]: must be a whole number, is 'x'"),
        (put("timetable", 0, 1, [1]), r"timetable\[0\]\[1\]: 2 numbers required, given 1"),
        (
            put("timetable", 0, 1, [1, "2"]),
            r"timetable\[0\]\[1\]: two numbers of seconds required, given \[1, '2'\]",
        ),
        (
            lambda o: o["timetable"][0].pop(),
            r"timetable\[0\]: 1 entries, phases\[0\] has 2 transfers",
        ),
        (lambda o: o["figures"]["load"].pop("sum"), "figures.load: key 'sum' is missing"),
        (put("figures", "phases", 1.0), "figures.phases: must be a whole number, is 1.0"),
        (put("manifest", "seed", "0"), "manifest.seed: must be a whole number, is '0'"),
    ],
)
def test_a_broken_structure_is_located(
    tmp_path: Path, change: Callable[[Any], Any], words: str
) -> None:
    path = edited(change, tmp_path / "a.json")
    with pytest.raises(InputError, match=words) as error:
        read_document(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n", "line 2 column 1: not valid JSON"),
        ("[1]", "an object is required"),
        ('{"a": 1, "a": 2}', "key 'a' is there twice"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=words):
        read_document(tmp_path / "a.json")


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    for suffix in ("json", "npz"):
        path = tmp_path / f"a.{suffix}"
        write_compiled(full(), path)
        whole = path.read_bytes()
        for length in range(0, len(whole) - 2, 97):
            path.write_bytes(whole[:length])
            with pytest.raises(InputError, match=r"a\.(json|npz): "):
                read_document(path)


def npz_with(path: Path, **changes: Any) -> Path:
    write_compiled(full(), path)
    with np.load(path) as archive:
        entries = {name: archive[name] for name in archive.files}
    entries |= changes
    np.savez(path, **{name: values for name, values in entries.items() if values is not None})
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": None}, "entry 'target' is missing"),
        ({"extra": np.zeros(1)}, "unknown entry 'extra'"),
        ({"target": np.zeros(3)}, "entry 'target': int32 or int64 required, given float64"),
        ({"target": np.zeros(2, np.int32)}, "entry 'target': 3 values required, given 2"),
        ({"before": np.zeros((2, 3), np.int32)}, r"entry 'before': wrong shape \(2, 3\)"),
        ({"phase_offsets": np.array([0, 5])}, "entry 'phase_offsets': must rise from 0 to 4"),
        ({"phase_offsets": np.array([0, 3, 2, 4])}, "entry 'phase_offsets': must rise from 0 to 4"),
        ({"route_nodes": None}, "go together"),
        ({"route_offsets": np.array([0, 9])}, "entry 'route_offsets': 5 values required, given 2"),
        ({"timetable": np.zeros((4, 3))}, "entry 'timetable'"),
        ({"header": np.array("{")}, "entry 'header': line 1 column 2: not valid JSON"),
        ({"header": np.array([1])}, "entry 'header': one text required"),
        ({"size": np.array([{}, {}, {}])}, "no valid .npz archive: member 'size.npy'"),
    ],
)
def test_a_broken_archive_is_located(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_document(npz_with(tmp_path / "a.npz", **changes))


def test_paths_that_are_no_schedule_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_document(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a directory"):
        read_document(tmp_path)
    (tmp_path / "a.txt").write_text("{}")
    with pytest.raises(UsageError, match=r"ends in .json or .npz, given '.txt'"):
        read_document(tmp_path / "a.txt")
    with pytest.raises(UsageError, match="a schedule file ends in"):
        write_compiled(small(), tmp_path / "b.yaml")
    with pytest.raises(InputError, match="cannot be written"):
        write_compiled(small(), tmp_path / "none" / "b.json")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


# The command


def test_verify_of_a_sound_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_compiled(small(), tmp_path / "a.json")
    assert run(["verify", str(tmp_path / "a.json")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'a.json'}: ok, 72 messages in ")
    assert run(["verify", str(tmp_path / "a.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "conset/verify@1"
    assert (found["ok"], found["violations"]) == (True, [])
    assert found["figures"] == small().figures
    assert set(found["manifest"]) == {"version", "seed", "command", "input_sha256"}


def test_verify_of_an_edited_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = edited(put("phases", 0, 0, 2, 9), tmp_path / "a.json")
    assert run(["verify", str(path)]) == 4
    out, err = capsys.readouterr()
    assert out == (
        "message-bytes: phase 0 transfer 0: carries 9 B of message 0 (0 → 1, 10 B), and "
        "nothing else does\n"
    )
    assert err == f"conset: {path}: 1 violation\n"
    assert run(["verify", str(path), "--json"]) == 4
    out, err = capsys.readouterr()
    found = json.loads(out)  # one object, nothing else
    assert found["ok"] is False
    assert [(v["rule"], v["phase"], v["transfer"]) for v in found["violations"]] == [
        ("message-bytes", 0, 0)
    ]
    assert err.startswith("message-bytes: ")


def test_verify_with_a_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_compiled(small(), tmp_path / "a.json")
    assert run(["verify", str(tmp_path / "a.json"), "--window", "2"]) == 4
    assert (
        "window-send: phases 0 to 1 together: node 0 (0, 0) sends 2 messages"
        in capsys.readouterr().out
    )
    assert run(["verify", str(tmp_path / "a.json"), "--window", "0"]) == 2


def test_verify_of_a_malformed_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = edited(put("machine", "mesh:0x3"), tmp_path / "a.json")
    assert run(["verify", str(path), "--json"]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["exit"] == 3
    assert err.count("\n") == 1
    assert str(path) in err


def test_a_reader_outside_the_project_agrees(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[3] / "shared" / "check" / "check_schedule.py"
    if not script.exists():
        pytest.skip(
            "no ../shared/check beside the checkout: a reader made by others is not part "
            "of the project"
        )
    for topology, name in ((Topology.mesh(3, 3), "mesh:3x3"), (Topology.torus(4, 4), "torus:4x4")):
        machine = machine_on(topology, name)
        messages = all_to_all(topology.nodes)
        given = document(machine, messages, greedy(machine, messages, ANY))
        write_compiled(given, tmp_path / "a.json")
        verified = subprocess.run(
            [sys.executable, script, tmp_path / "a.json"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert verified.returncode == 0, verified.stdout
        assert f"'sum_L': {given.figures['load']['sum']}" in verified.stdout
        assert f"'phase_bytes': {given.figures['phase_bytes']}" in verified.stdout


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("random:degree=3", "random:degree=3"),
        ("/home/a/mesh.mtx", "mesh.mtx"),
        ("a\nb\x1b", "a?b?"),
        ("x" * 400, "x" * 300),
    ],
)
def test_a_file_holds_the_final_name_of_the_pattern(
    tmp_path: Path, suffix: str, name: str, read: str
) -> None:
    schedule = to_schedule(full())
    path = tmp_path / f"a{suffix}"
    write_compiled(replace(schedule, pattern=replace(schedule.pattern, name=name)), path)
    assert read_compiled(path).pattern.name == read


def test_a_file_without_the_name_of_the_pattern_is_read(tmp_path: Path) -> None:
    write_compiled(full(), tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    del found["pattern"]["name"]
    (tmp_path / "a.json").write_text(json.dumps(found))
    assert read_compiled(tmp_path / "a.json").pattern.name == "pattern"
    found["pattern"]["name"] = "a\nb"
    (tmp_path / "a.json").write_text(json.dumps(found))
    with pytest.raises(
        InputError, match=r"pattern\.name: must be one line of at most 300 letters, has 3"
    ):
        read_compiled(tmp_path / "a.json")
