"""Runs every command and program of the guide as a reader would, each page in its own folder.

    python docs/run_guide.py [PAGE …]

Of a page (all of `docs/`, and README.md) these blocks are run in their order:

- ```` ```bash ````: by `bash -euo pipefail`;
- ```` ```python ````: by Python; the ```` ```{code-cell} ```` blocks of a notebook: as one program;
- ```` ```text ```` right behind one of these: what it must print, line by line; `…` stands for
  anything.

A block behind `<!-- not run: REASON -->` is left out. Files that a page names as its own are
written by the page; of the repository `examples` and `benchmarks` stand in the folder. Nothing else
is needed but an installed conset.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
LINKED = ("examples", "benchmarks")
"""What pages use of the repository."""
TIMEOUT_S = 300.0
NOT_RUN = re.compile(r"<!-- not run: (.+) -->$")
CELL = "{code-cell}"


class GuideError(Exception):
    """A block that fails, or does not print what stands behind it."""


@dataclass(frozen=True)
class Block:
    """Something to run.

    Attributes:
        line: of the page, where it begins.
        language: `bash` or `python`.
        code: its text.
        prints: what stands behind it as its output; "" where nothing does.
        reason: why it is not run; "" where it is.
    """

    line: int
    language: str
    code: str
    prints: str = ""
    reason: str = ""


def pages() -> list[Path]:
    """README.md and every page of the guide."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def fences(text: str) -> Iterator[tuple[int, str, str, str]]:
    """(line, info string, text, last non-empty line before it) of every fenced block."""
    lines = text.splitlines()
    number, before = 0, ""
    while number < len(lines):
        opened = re.match(r"(`{3,}|:{3,})(.*)$", lines[number])
        if opened is None:
            before = lines[number].strip() or before
            number += 1
            continue
        end = next(
            (k for k in range(number + 1, len(lines)) if lines[k].rstrip() == opened[1]), len(lines)
        )
        yield number + 1, opened[2].strip(), "\n".join(lines[number + 1 : end]) + "\n", before
        number, before = end + 1, lines[number]


def blocks(text: str) -> list[Block]:
    """What a page has to run; the cells of a notebook are one block."""
    found: list[Block] = []
    cells: list[tuple[int, str]] = []
    for line, info, code, before in fences(text):
        if info.startswith(CELL):
            cells.append((line, re.sub(r"\A(?::.*\n)+", "", code)))
        elif info in ("bash", "python"):
            left_out = NOT_RUN.match(before)
            found.append(Block(line, info, code, reason=left_out[1] if left_out else ""))
        elif info == "text" and re.fullmatch(r"`{3,}(bash|python)", before) and found:
            last = found.pop()
            found.append(Block(last.line, last.language, last.code, code, last.reason))
    if cells:
        found.append(Block(cells[0][0], "python", "\n".join(code for _, code in cells)))
    return found


def first_missing(expected: str, printed: str) -> str | None:
    """The first line of `expected` that is not in `printed` behind the lines before it.

    None where all are.

    White space counts as one blank; `…` is anything.
    """
    flat, at = " ".join(printed.split()), 0
    for line in expected.splitlines():
        parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
        found = re.compile(".{0,400}?".join(parts)).search(flat, at)
        if found is None:
            return line
        at = found.end()
    return None


def only_commands(code: str) -> list[list[str]] | None:
    """The words of each line of a block that has commands of conset and nothing else of a shell.

    Else None.
    """
    commands = []
    for line in code.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        try:
            found = list(words)
        except ValueError:  # a quotation over several lines
            return None
        if not found:
            continue
        shell = any(set(word) <= set("();<>|&") or set(word) & set("$*?~\\`\n") for word in found)
        if found[0] != "conset" or shell:
            return None
        commands.append(found[1:])
    return commands


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """The environment of a block: `conset` and `python` are those of this interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        command = Path(folder) / "conset"
        start = shlex.quote("from conset.cli.main import main; main()")
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {start} "$@"\n')
        command.chmod(0o755)
        path = os.pathsep.join(
            [folder, str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        )
        yield {**os.environ, "PATH": path, "MPLBACKEND": "agg"}


def run_shell(block: Block, folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    """(exit code, output) of a block, run as it stands."""
    command = (
        ["bash", "-euo", "pipefail", "-c"] if block.language == "bash" else [sys.executable, "-c"]
    )
    done = subprocess.run(
        [*command, block.code],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout


def run_page(
    page: Path,
    folder: Path,
    runner: Callable[[Block, Path, dict[str, str]], tuple[int, str]] = run_shell,
) -> int:
    """Runs the blocks of a page in `folder`; how many there were.

    Raises:
        GuideError: a block ends with another code than 0, or does not print what stands behind it.
    """
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    count = 0
    with environment() as variables:
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.reason:
                continue
            count += 1
            code, printed = runner(block, folder, variables)
            where = f"{page.relative_to(ROOT)}:{block.line}"
            if code:
                raise GuideError(f"{where}: exit code {code}\n{block.code}\n{printed}")
            missing = first_missing(block.prints, printed)
            if missing is not None:
                raise GuideError(f"{where}: does not print\n{missing}\nbut\n{printed}")
    return count


def main(names: Sequence[str]) -> int:
    """Runs the pages that are named, or all; the number of those that fail."""
    chosen = [Path(name).resolve() for name in names] or pages()
    failed = 0
    for page in chosen:
        start = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                count = run_page(page, Path(folder))
        except (GuideError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED {error}", flush=True)
        else:
            print(
                f"{page.relative_to(ROOT)}: {count} blocks, {time.monotonic() - start:.1f} s",
                flush=True,
            )
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) != 0)
