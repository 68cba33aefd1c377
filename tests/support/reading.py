"""What tests of readers share.

A file with some content, read or refused, and the messages it holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conset.base.errors import InputError
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern

PACK = """4 2
2 3
2 2
3 3 1
3 1 1
1 0 0
2 1 0
3 0 1
2 1 0
3 0 1
4 1 1
1
1
1 0 1 2
2 1 2 0
2 9
1 9
0 0
0 1
1 1
2
2
0
2 1 2
2 0 1
0
"""
"""Two triangles over four nodes, a subdomain each.

Nodes 2 and 3 are shared: local 1, 2 of one, 0, 1 of the other.
"""


def read(folder: Path, name: str, content: str | bytes, **options: Any) -> Pattern:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse_pattern(str(path), **options)


def refused(folder: Path, name: str, content: str | bytes, **options: Any) -> str:
    """The one line an `InputError` says, which names the file, without its folder."""
    with pytest.raises(InputError) as caught:
        read(folder, name, content, **options)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(str(folder / name))
    return line.removeprefix(f"{folder}/")


def messages(pattern: Pattern) -> list[tuple[int, int, int]]:
    return list(
        zip(pattern.source.tolist(), pattern.target.tolist(), pattern.size.tolist(), strict=True)
    )
