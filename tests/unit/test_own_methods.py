"""Methods of other people: functions, files, installed packages.

In Python and on the command line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.compilation.options import method_names
from conset.methods.phases import given
from conset.methods.phases.table import all_methods, find_method, load_method, table
from conset.studies.campaign.campaign import ContenderEntry, expand_contenders

SOURCE = '''"""Methods for the tests."""

import numpy as np

import conset


@conset.method(limits="send=1,receive=1", keeps_order=True, title="one message after the other")
def one_by_one(problem):
    messages, before = problem.pattern.messages, problem.pattern.before
    waits = [] if before is None else before.tolist()
    phase, left = np.zeros(messages, int), list(range(messages))
    while left:
        chosen = next(m for m in left if not any(b == m and a in left for a, b in waits))
        phase[chosen] = messages - len(left)
        left.remove(chosen)
    return conset.Phases.of(phase)


def by_distance(problem):
    """Every rank sends i places up in phase i."""
    pattern = problem.pattern
    return conset.Phases.of((pattern.target - pattern.source) % pattern.ranks)


def at_once(problem):
    return conset.Phases.of(np.zeros(problem.pattern.messages, int))


def too_few(problem):
    return conset.Phases.of([0])


def a_list(problem):
    return [0]


def breaks(problem):
    return 1 / 0


def negative(problem):
    return conset.Phases.of(np.full(problem.pattern.messages, -1))


def refuses(problem):
    raise conset.InputError("method refuses requires a mesh, given none")
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("conset.methods.phases.table._others", {})
    return path


def by_distance(problem: conset.Problem) -> conset.Phases:
    """Every rank sends i places up in phase i."""
    pattern = problem.pattern
    return conset.Phases.of((pattern.target - pattern.source) % pattern.ranks)


def test_a_file_is_a_method_of_the_command_line(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compile", "alltoall", "--on", "crossbar:9", "--method", "mine.py:by_distance"]
    assert run([*words, "-o", "a.npz", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["method"], said["phases"], said["verified"]) == ("mine.py:by_distance", 8, True)
    assert said["limits"] == find_method("first-fit").limits(conset.Topology.ring(4)).to_object()
    mine.unlink()
    schedule = conset.read("a.npz")
    assert isinstance(schedule, conset.Schedule)
    assert schedule.method == "mine.py:by_distance"
    assert conset.verify("a.npz").ok
    assert conset.bound(schedule).phases == 8
    assert conset.predict(schedule).time_s > 0
    for command in ("verify", "predict", "bound", "simulate", "show"):
        words = {"bound": ["alltoall", "--on", "crossbar:9"]}.get(command, ["a.npz"])
        assert run([command, *words]) == 0, command
    capsys.readouterr()


def test_a_function_is_a_method_of_python(mine: Path) -> None:
    schedule = conset.compile("alltoall", "crossbar:9", method=by_distance)
    assert schedule.method == "test_own_methods.py:by_distance"
    assert schedule.phases == 8
    assert conset.verify(schedule).ok
    again = conset.compile("alltoall", "crossbar:9", method="mine.py:by_distance")
    assert np.array_equal(again.message, schedule.message)


def test_a_comparison_has_them_beside_the_rows(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ["coloring", by_distance, "mine.py:one_by_one"]
    rows = conset.compare("alltoall", "crossbar:9", methods=methods).rows
    assert {row["method"]: row["phases"] for row in rows} == {
        "coloring": 8,
        "test_own_methods.py:by_distance": 8,
        "mine.py:one_by_one": 72,
    }
    words = [
        "--methods",
        f"first-fit,{mine}:one_by_one",
        "--sync",
        "barrier,mine.py:one_by_one=none",
    ]
    assert run(["compare", "alltoall", "--on", "crossbar:9", *words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["method"]: row["sync"] for row in rows} == {
        "first-fit": "barrier",
        "mine.py:one_by_one": "none",
    }


def test_two_of_one_name_are_refused(mine: Path) -> None:
    other = mine.parent / "b"
    other.mkdir()
    (other / "mine.py").write_text(SOURCE)
    with pytest.raises(UsageError, match=r"two are called 'mine\.py:at_once'"):
        method_names(["mine.py:at_once", "b/mine.py:at_once"])
    assert method_names(["mine.py:at_once", "mine.py:at_once"]) == ["mine.py:at_once"]


def test_what_it_keeps_is_declared(mine: Path) -> None:
    row = load_method("mine.py:one_by_one")
    assert row.title == "one message after the other"
    assert row.ordered
    assert str(row.limits(conset.Topology.ring(4))) == "send 1, receive 1"
    plain = load_method("mine.py:by_distance")
    assert plain.title == "Every rank sends i places up in phase i."
    pattern = conset.Pattern.from_messages([0, 1], [1, 2], [1, 1], 4, before=[(0, 1)])
    assert conset.compile(pattern, "ring:4", method="mine.py:one_by_one").phases == 2
    with pytest.raises(InputError, match="requires a pattern without an order"):
        conset.compile(pattern, "ring:4", method="mine.py:by_distance")
    with pytest.raises(InputError, match="keeps link 1: link=2 was asked"):
        conset.compile("alltoall", "ring:4", method="mine.py:by_distance", contention=2)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("mine.py:at_once", 4, "the method breaks a rule: phase 0: node 0 (0, 0) sends 8 messages"),
        ("mine.py:too_few", 3, "gave phases of 1 messages, the pattern has 72"),
        ("mine.py:a_list", 3, "must give conset.Phases, gave list"),
        ("mine.py:breaks", 3, "method mine.py:breaks: mine.py:39: ZeroDivisionError: division by"),
        ("mine.py:negative", 3, "mine.py:43: ValueError: phase = -1: must be from 0"),
        ("mine.py:refuses", 3, "method refuses requires a mesh, given none"),
        ("mine.py:nothing", 2, "no function 'nothing' in mine.py: one_by_one, by_distance"),
        ("mine.py:np", 2, "no function 'np' in mine.py"),
        ("none.py:f", 3, "none.py: no such file"),
        ("syntax.py:f", 3, "syntax.py:2: SyntaxError"),
        ("raises.py:f", 3, "raises.py:1: KeyError: 'a'"),
    ],
)
def test_what_is_wrong_is_one_line(
    mine: Path, capsys: pytest.CaptureFixture[str], name: str, code: int, said: str
) -> None:
    Path("syntax.py").write_text("a = 1\ndef f(:\n")
    Path("raises.py").write_text("{}['a']\n")
    assert run(["compile", "alltoall", "--on", "mesh:3x3", "--method", name]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_files_of_data_execute_nothing(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine.write_text(f"{SOURCE}\nopen('executed', 'w').close()\n")
    with pytest.raises(UsageError, match="not loaded: a file is executed where"):
        find_method("mine.py:one_by_one")
    Path("p.toml").write_text('[[block]]\npattern = "alltoall"\nmethod = "mine.py:one_by_one"\n')
    assert run(["compile", "p.toml", "--on", "ring:4", "-o", "p.json"]) == 3
    assert "not loaded" in capsys.readouterr().err
    conset.write(conset.compile("alltoall", "ring:4", method=by_distance), "a.json")
    text = Path("a.json").read_text().replace("test_own_methods.py", "mine.py")
    Path("a.json").write_text(text)
    for command in ("verify", "predict", "simulate", "show"):
        assert run([command, "a.json"]) == 0
    assert not Path("executed").exists()
    load_method("mine.py:one_by_one")
    assert Path("executed").exists()


class Entry:
    def __init__(self, name: str, function: object) -> None:
        self.name, self.value, self.function = name, "package:function", function

    def load(self) -> object:
        if isinstance(self.function, Exception):
            raise self.function
        return self.function


def test_one_call_of_pytest_tests_a_method(mine: Path) -> None:
    def tested(*names: str) -> tuple[int, str]:
        methods = [word for name in names for word in ("--method", f"mine.py:{name}")]
        words = ["-p", "conset.testing.plugin", "--pyargs", "conset.testing", *methods]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-k", "order or ring or spare", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout + done.stderr

    status, said = tested("one_by_one")
    assert status == 0, said
    assert " passed" in said
    status, said = tested("at_once")
    assert status == 1
    assert "test_every_message_is_there_once_within_the_limits[mine.py:at_once-ring:9-" in said
    status, said = tested("nothing")
    assert status == 2
    assert "no function 'nothing' in mine.py" in said


def test_the_example_of_the_guide_runs(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "my-algorithm.md").read_text()
    mine.write_text(text.partition("<<'END_OF_FILE'\n")[2].partition("END_OF_FILE\n")[0])
    command = next(line for line in text.splitlines() if line.startswith("conset compare"))
    assert run([*command.split()[1:], "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    phases = {row["method"]: row["phases"] for row in rows}
    assert phases == {"mine.py:longest": 15, "coloring": 15, "naive": 1}
    assert all(row["verified"] for row in rows)


def test_packages_register_methods(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [Entry("theirs", by_distance), Entry("naive", by_distance)]
    asked = []
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: asked.append(group) or entries
    )
    assert find_method("naive") is table()["naive"]
    assert not asked
    assert conset.compile("alltoall", "crossbar:9", method="theirs").method == "theirs"
    assert asked == [given.GROUP]
    assert run(["methods", "--json"]) == 0
    listed = [row["name"] for row in json.loads(capsys.readouterr().out)["methods"]]
    assert listed == [*table(), "theirs"]
    with pytest.raises(UsageError, match="did you mean 'theirs'"):
        find_method("theirss")
    entries[0].function = ImportError("no module named x")
    with pytest.raises(
        InputError, match=r"method theirs of package:function: .*ImportError: no mo"
    ):
        all_methods()


def test_a_campaign_names_files_beside_it(mine: Path) -> None:
    found = expand_contenders([ContenderEntry(method=["mine.py:one_by_one"])], mine.parent)
    assert [each.name for each in found] == ["mine.py:one_by_one"]
