"""TOML that nests without end, by dotted keys.

Refused before a reader keeps every prefix of them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from conset.base.errors import InputError
from conset.base.toml import MAX_PARTS, parse_toml
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.programs import read_program
from conset.machine.file import read_machine
from conset.machine.spec import parse_machine

FORMS = [
    "{} = 1",
    "[{}]",
    "[[{}]]",
    "x = {{{} = 1}}",
    "a = '''\n'''\n{} = 1",
    'a = "\\""\n{} = 1',
    "a = 1 # '\n{} = 1",
]


@pytest.mark.parametrize("parts", [MAX_PARTS + 1, 100_000])
@pytest.mark.parametrize("part", ["a", "'a b'", '"a.\\""'])
@pytest.mark.parametrize("form", FORMS)
def test_keys_without_end(tmp_path: Path, form: str, part: str, parts: int) -> None:
    path = tmp_path / "a.toml"
    path.write_text("# first\n" + form.format(" . ".join([part] * parts)))
    rule = (
        f"a.toml, line {2 + form.count(chr(10))}: a key of {parts} parts, nested too deeply: at "
        f"most {MAX_PARTS}"
    )
    with pytest.raises(InputError, match=re.escape(rule)):
        read_machine(path)
    with pytest.raises(InputError, match=re.escape(rule)):
        read_program(path, parse_machine("mesh:2x2"), CompileOptions())


@pytest.mark.parametrize(
    "words", [["alltoall", "--on", "deep.toml"], ["deep.toml", "--on", "mesh:2x2"]]
)
def test_the_command_line_says_it_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.toml").write_text(".".join(["a"] * 100_000) + "=1")
    assert run(["compile", *words]) == 3
    assert (
        "deep.toml, line 1: a key of 100000 parts, nested too deeply: at most 32\n"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "form",
    [
        "name = '{}'",
        'name = "\\"{}"',
        'name = """\n"" {}"""',
        "name = '''\n'{}'''",
        "# {}",
        "a = 1 # '\n#{}",
    ],
)
def test_dots_of_strings_and_comments_are_no_depth(form: str) -> None:
    text = form.format(".".join("a" * 500))
    assert parse_toml(text.encode(), "a.toml", "machine") == (tomllib.loads(text), text)


def test_numbers_and_keys_at_the_limit_are_read() -> None:
    text = f"{'.'.join('a' * MAX_PARTS)} = 1\nrates = [{', '.join(['1.5'] * 1000)}]"
    assert parse_toml(text.encode(), "a.toml", "machine")[0]["rates"] == [1.5] * 1000
