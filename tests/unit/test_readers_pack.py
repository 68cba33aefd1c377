"""Reader of Spark98 packfiles on a case small enough for a pencil, and one line for everything
broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.reading import PACK, messages, read, refused


def test_pack(tmp_path: Path) -> None:
    assert messages(read(tmp_path, "a.pack", PACK)) == [(0, 1, 16), (1, 0, 16)]
    # one stray number may end the file
    assert messages(read(tmp_path, "a.pack", PACK + "0\n", word=24)) == [(0, 1, 48), (1, 0, 48)]


def test_pack_truncated_anywhere(tmp_path: Path) -> None:
    words = PACK.split()
    for length in range(1, len(words)):
        line = refused(tmp_path, "a.pack", " ".join(words[:length]))
        assert re.match(r"a.pack: truncated in .*: \d+ numbers required, \d+ left", line), line


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("4 2\n2 3", "4 x\n2 3", "number 2 of the file: 'x' is no number"),
        (
            "2 3\n2 2",
            "2 1e300\n2 2",
            "number 4 of the file (elements and corners) = 1e+300: must be whole and at least 0",
        ),
        ("3 3 1\n3", "nan 3 1\n3", "number 7 of the file: 'nan' is no number"),
        (
            "3 3 1\n3",
            "-3 3 1\n3",
            "number 7 of the file (nodes of subdomains) = -3: must be whole and at least 0",
        ),
        (
            "2 1 2\n2 0 1",
            "2 1 3\n2 0 1",
            "shared nodes of subdomains 0 and 1: node 3: must be below 3",
        ),
        (
            "2 1 2\n2 0 1",
            "2 1 2\n1 0",
            "subdomains 0 and 1 share 2 nodes one way, 1 the other: must agree",
        ),
        (
            "\n2\n2\n0",
            "\n3\n2\n0",
            "subdomain 0 shares 2 nodes in its lists, 3 in its length: must agree",
        ),
        (
            "2 0 1\n0\n",
            "2 0 1\n0\n7 7\n",
            "2 numbers are left after the last subdomain, at most 1 expected",
        ),
    ],
)
def test_pack_refused(tmp_path: Path, old: str, new: str, line: str) -> None:
    assert PACK.count(old) == 1
    assert refused(tmp_path, "a.pack", PACK.replace(old, new)) == f"a.pack: {line}"
