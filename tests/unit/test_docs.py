"""The documents stay true: every path they name exists, every command they show is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conset.cli.main import COMMANDS
from conset.methods.table import table

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
PATH = re.compile(r"`((?:src|cpp|tests|benchmarks|examples|docs|\.ci)/[\w./-]*|\.importlinter)`")
TARGET = re.compile(r"`make ([a-z-]+)`")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_a_document_names_exists(document: str) -> None:
    named = [p for p in PATH.findall((ROOT / document).read_text()) if "NAME" not in p]
    missing = [p for p in named if not (ROOT / p).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_a_document_names_exists(document: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(TARGET.findall((ROOT / document).read_text())) <= set(targets)


def test_every_command_the_readme_shows_exists() -> None:
    shown = re.findall(r"^ +(?:\$ )?conset ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown
    assert set(shown) <= set(COMMANDS)


def test_every_room_stands_in_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [p.name for p in (ROOT / "src/conset").iterdir() if (p / "__init__.py").exists()]
    assert [name for name in packages if f"`src/conset/{name}/`" not in text] == []


def test_the_catalogue_holds_every_row_of_the_table_as_it_stands() -> None:
    """`make catalogue` writes it again; what was measured is its own business, what is promised is checked here."""
    text = (ROOT / "docs/algorithms.md").read_text()
    for row in table().values():
        assert f"## `{row.name}`" in text
        for promise in (row.domain, row.guarantee, row.complexity, row.reference):
            assert f": {promise}\n" in text, row.name
        assert f"- **file**: `src/{row.schedule.__module__.replace('.', '/')}.py`\n" in text, row.name
