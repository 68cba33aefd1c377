"""The guide does what it says.

Every block is run or says why not, and prints what stands behind it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

from conset.base.toml import parse_toml
from conset.cli.main import run
from conset.schedule.files.keys import json_schema

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def load(path: Path) -> ModuleType:
    """A program beside the documents, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


guide = load(DOCS / "run_guide.py")
gain = load(DOCS / "pictures" / "gain.py")
PAGES = {str(page.relative_to(ROOT)): page for page in guide.pages()}


def run_here(block: object, folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    """Blocks of commands alone are run by this process, which is faster.

    All others as readers run them.
    """
    commands = guide.only_commands(block.code) if block.language == "bash" else None  # type: ignore[attr-defined]
    if commands is None:
        return guide.run_shell(block, folder, variables)  # type: ignore[no-any-return]
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        for words in commands:
            code = run(words)
            if code:
                return code, out.getvalue()
    return 0, out.getvalue()


@pytest.mark.mpi
@pytest.mark.parametrize(
    "page", [name for name, path in PAGES.items() if guide.blocks(path.read_text())]
)
def test_every_block_does_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    guide.run_page(PAGES[page], tmp_path, run_here)


def test_no_command_escapes() -> None:
    """Commands stand in blocks that are run, or that say why not."""
    assert len(PAGES) > 30
    for name in sorted(PAGES):
        text = PAGES[name].read_text()
        outside = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert (
            re.findall(
                r"^(?: {4}|\$ ).*\b(?:conset|python|mpiexec|make) .*$", outside, re.MULTILINE
            )
            == []
        ), name
        for _, info, code, _ in guide.fences(text):
            if info not in ("bash", "python", "text", "console"):
                assert (
                    re.search(r"^(?:\$ ?)?(?:conset|mpiexec) [a-z-]", code, re.MULTILINE) is None
                ), name


def test_every_page_is_in_the_contents() -> None:
    listed = set()
    for index in (DOCS / "index.md", DOCS / "teaching" / "index.md"):
        for _, info, code, _ in guide.fences(index.read_text()):
            if info == "{toctree}":
                names = [line for line in code.splitlines() if line and not line.startswith(":")]
                listed |= {(index.parent / f"{name}.md").resolve() for name in names}
    assert {DOCS / "index.md", *listed} == {path for path in PAGES.values() if path.parent != ROOT}


def test_what_is_printed_is_compared() -> None:
    printed = "phases     7, bound 7\n  predicted  30.5 ms by formula"
    assert guide.first_missing("phases 7\npredicted … by formula", printed) is None
    assert guide.first_missing("phases 8", printed) == "phases 8"
    assert guide.first_missing("predicted\nphases", printed) == "phases"  # the other way round


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```bash\nfalse\ntrue\n```\n", "exit code 1"),
        ("```bash\necho 7\n```\n```text\n8\n```\n", "does not print\n8"),
        ("```{code-cell}\nx = 7\n```\n```{code-cell}\nassert x == 8\n```\n", "exit code 1"),
    ],
)
def test_a_block_that_fails_or_prints_something_else(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "ROOT", tmp_path)
    (page := tmp_path / "page.md").write_text(text)
    (folder := tmp_path / "scratch").mkdir()
    with pytest.raises(guide.GuideError, match=said):
        guide.run_page(page, folder)


def test_a_block_that_is_left_out() -> None:
    assert guide.blocks("<!-- not run: slow -->\n```bash\nfalse\n```\n")[0].reason == "slow"


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("conset compile alltoall --on mesh:4x4  # as usual\n\nconset methods\n", 2),
        ("conset compile 'random:size=uniform(1,2)' --on mesh:4x4\n", 1),
        ("conset compile random:size=uniform(1,2) --on mesh:4x4\n", None),
        ("conset methods | head\n", None),
        ("mpiexec -n 4 ./halo\n", None),
        ("python - <<'END'\nprint('conset')\nEND\n", None),
    ],
)
def test_what_needs_a_shell(text: str, commands: int | None) -> None:
    found = guide.only_commands(text)
    assert (None if found is None else len(found)) == commands


def test_the_picture_of_the_gain_is_of_the_measured_figures() -> None:
    """`python docs/pictures/gain.py` draws it again."""
    fabrics = gain.read_cases((DOCS / "decision.md").read_text())
    cases = [case for found in fabrics.values() for case in found]
    paying = sorted(f"{case.ratio:.2f}" for case in cases if case.pays)
    svg = (DOCS / "pictures" / "gain.svg").read_text()
    shown = sorted(re.findall(r"<!-- (0\.\d\d) -->|>(0\.\d\d)<", svg))
    ticks = {"0.50", "0.75"}
    assert [a or b for a, b in shown if (a or b) not in ticks] == [
        each for each in paying if each not in ticks
    ]
    assert f"in {sum(case.pays for case in cases)} of {len(cases)} cases" in svg


def test_the_schema_of_machine_files_accepts_presets() -> None:
    validator = jsonschema.Draft202012Validator(json_schema("machine"))
    files = sorted((ROOT / "src/conset/machine/presets").glob("*.toml"))
    assert len(files) > 5
    for path in files:
        data, _ = parse_toml(path.read_bytes(), path.name, "machine")
        data.pop("preset", None)
        validator.validate(data)
    assert not validator.is_valid({"network": {"kind": "mesh", "side": [4, 4]}})
    assert not validator.is_valid({"costs": {}})
