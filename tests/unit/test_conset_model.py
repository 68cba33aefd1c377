"""Every command of docs/conset-model.md, run in its order in one folder, prints what stands
beside it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from conset.cli.main import run
from conset_papers.table import CONSET_IWARP, slug

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/conset-model.md").read_text()
CODE = re.compile(r"`([^`]+)`")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]
COMMANDS = [
    (row[1].strip("`"), CODE.findall(row[2])) for row in ROWS if row[1].startswith("`conset ")
]
"""(command, what it prints)."""
PROGRAMS = dict(re.findall(r"```python\n# (\w+\.py).*?\n(.*?)```", PAGE, re.DOTALL))


def test_every_command_prints_what_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    shutil.copy(ROOT / "examples/connections/program.toml", tmp_path)
    exec(PROGRAMS["bitonic.py"], {})  # the page's own
    assert len(COMMANDS) > 40
    wrong = []
    for command, printed in COMMANDS:
        if command.startswith("conset run "):  # of MPI
            continue
        code = run(shlex.split(command)[1:])
        out, err = capfd.readouterr()
        if code or not printed or any(text not in out for text in printed):
            wrong.append(f"{command}: {code}, not all of {printed} in\n{out}{err}")
    assert wrong == []


def test_every_item_of_the_text_is_named() -> None:
    named = {word for row in ROWS if len(row) == 2 for word in CODE.findall(row[1])}
    assert named == {slug(item) for item, _, _ in CONSET_IWARP}


def test_every_section_of_the_model_has_a_row() -> None:
    """Principles, primitives, costs, algorithms and transfer modes of the text, by its own
    words."""
    words = (
        "Principle 2.1",
        "Principle 2.2",
        "Principle 2.3",
        "send element",
        "receive element",
        "instantiate phase",
        "t_sync",
        "t_phase",
        "1/b",
        "latency l",
        "Principles 3.1 and 3.2",
        "3.3",
        "msg send",
        "msg receive",
        "t_s and t_r",
        "logical channels",
        "drain",
        "dateline",
        "APR",
        "AS,",
        "streaming",
        "systolic",
        "spooling",
    )
    first = " ".join(row[0] for row in ROWS)
    assert [word for word in words if word not in first] == []
