"""The documents stay true: every path they name exists, every command they show is one."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from conset.cli.main import COMMANDS
from conset.machine.network import families
from conset.methods.phases import given
from conset.methods.phases.table import table

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
PATH = re.compile(
    r"`((?:src|papers|cpp|tests|benchmarks|examples|docs|\.ci)/[\w./-]*|\.importlinter)`"
)
DOTTED = re.compile(
    r"(?<![\w.])(?:conset|conset_papers)(?!\.(?:h|pc|cpp|f90)\b)(?:\.[A-Za-z_]\w*)+"
)
TEXTS = [
    *DOCUMENTS,
    *(
        str(p.relative_to(ROOT))
        for folder, suffix in (
            ("docs", "md"),
            ("src", "py"),
            ("papers", "py"),
            ("tests", "py"),
            ("benchmarks", "py"),
            ("cpp", "hpp"),
            ("cpp", "cpp"),
        )
        for p in sorted((ROOT / folder).rglob(f"*.{suffix}"))
    ),
]
"""Documents, and every source with its docstrings and comments."""
TARGET = re.compile(r"`make ([a-z-]+)`")


def test_every_path_that_is_named_exists() -> None:
    named = {
        (text, path)
        for text in TEXTS
        for path in PATH.findall((ROOT / text).read_text())
        if "NAME" not in path
    }
    assert len(named) > 50
    assert not {(text, path) for text, path in named if not (ROOT / path).exists()}


def test_every_dotted_name_exists() -> None:
    """`conset.methods.phases.core`, `conset.verify`: a module, what one of them has, or a group."""
    texts = [
        text for text in TEXTS if not text.startswith("tests/")
    ]  # tests also name what is refused
    named = {(text, name) for text in texts for name in DOTTED.findall((ROOT / text).read_text())}
    assert len(named) > 300
    groups = {families.GROUP, given.GROUP}  # of entry points, which are no modules
    assert not {(text, name) for text, name in named if name not in groups and not exists(name)}


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one; of that nothing more is asked."""
    module, _, attribute = name.rpartition(".")
    if found(name):
        return True
    return hasattr(import_module(module), attribute) if found(module) else exists(module)


def found(module: str) -> bool:
    """Whether there is such a module."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_a_document_names_exists(document: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(TARGET.findall((ROOT / document).read_text())) <= set(targets)


def test_every_command_the_readme_shows_exists() -> None:
    shown = re.findall(r"^(?:\$ )?conset ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown
    assert set(shown) <= set(COMMANDS)


def test_every_package_stands_in_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [p.name for p in (ROOT / "src/conset").iterdir() if (p / "__init__.py").exists()]
    assert [name for name in packages if f"`src/conset/{name}/`" not in text] == []


def test_the_catalogue_holds_every_row_of_the_table_as_it_stands() -> None:
    """`make catalogue` writes it again.

    What was measured is its own business, what is promised is checked here.
    """
    text = (ROOT / "docs/algorithms.md").read_text()
    for row in table().values():
        assert f"## `{row.name}`" in text
        for promise in (row.domain, row.guarantee, row.complexity, row.reference):
            assert f": {promise}\n" in text, row.name
        assert f"- **file**: `src/{row.run.__module__.replace('.', '/')}.py`\n" in text, row.name
