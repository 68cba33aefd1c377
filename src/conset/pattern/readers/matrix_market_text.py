"""The text of a Matrix Market file, checked line by line before a parser sees it.

SciPy's parser ends the process where the last line ends in a blank without a newline, and reads `2.0x` as 2, `0x10` as
0, `1D2` as 1 and `4-5` as 4. So every line must be of the format's grammar first: one regular expression over the whole
text, whose possessive repeats never step back: 0.1 to 0.3 s for a million lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from conset.errors import InputError
from conset.files import shown

_BANNER = re.compile(rb"%%?MatrixMarket[ \t]+matrix[ \t]+(\w+)[ \t]+([\w-]+)[ \t]+([\w-]+)[ \t]*", re.IGNORECASE)
_SIZES = re.compile(rb"([0-9]{1,19})(?:[ \t]+([0-9]{1,19}))(?:[ \t]+([0-9]{1,19}))?")
_REAL = rb"[+-]?+(?:(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+|[nN][aA][nN]|[iI][nN][fF])"
_VALUES = {
    "real": (_REAL, "a number"), "double": (_REAL, "a number"), "integer": (rb"[+-]?+[0-9]++", "a whole number"),
    "unsigned-integer": (rb"[0-9]++", "a whole number"), "complex": (_REAL + rb"[ \t]++" + _REAL, "two numbers"),
    "pattern": (b"", ""),
}  # fmt: skip
"""Kind of value → its grammar and its name in errors."""
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


@dataclass(frozen=True)
class Text:
    """A Matrix Market file whose lines are sound.

    Attributes:
        content: the file, with a newline at its end and no plus in front of a number.
        field: `real`, `integer`, `pattern` …, in lower case.
    """

    content: bytes
    field: str


def checked_text(path: Path) -> Text:
    """The text of a file, every line checked, with as many entries as its header promises.

    Raises:
        InputError: names the line and what is required there.
    """
    content = path.read_bytes()
    content = content if content.endswith(b"\n") else content + b"\n"
    form, field, symmetry = _banner(content, path)
    begin, number, sizes = _sizes(content, form, path)
    promised = sizes[2] if form == "coordinate" else _stored(sizes[0], sizes[1], symmetry)
    lines = _entries(content, begin, form, field)
    end = lines.match(content, begin).end()  # type: ignore[union-attr]  # it matches no line at all too
    if end < len(content):
        line = content[end : content.index(b"\n", end)]
        number += content.count(b"\n", begin, end) + 1
        raise InputError(f"{path}, line {number}: {_rule(form, field)}, given '{shown(_decoded(line).strip())}'")
    found = content.count(b"\n", begin) - len(_BLANK.findall(content, begin))
    if found != promised:
        state = "truncated: " if found < promised else ""
        raise InputError(f"{path}: {state}the header promises {promised} entries, the file has {found}")
    if content.find(b"+", begin) >= 0:  # SciPy does not read a plus in front of a number
        content = content[:begin] + _PLUS.sub(b"", content[begin:])
    return Text(content, field)


_PLUS = re.compile(rb"(?<![eE])\+")
_BLANK = re.compile(rb"^[ \t\r]*+\n", re.MULTILINE)


def _banner(content: bytes, path: Path) -> tuple[str, str, str]:
    match = _BANNER.fullmatch(content[: content.index(b"\n")].rstrip())
    fields = [word.decode().lower() for word in match.groups()] if match else ["", "", ""]
    known = fields[0] in ("coordinate", "array") and fields[1] in _VALUES and fields[2] in _SYMMETRIES
    if not known or fields[:2] == ["array", "pattern"]:
        first = shown(_decoded(content[: content.index(b"\n")]).strip())
        required = "%%MatrixMarket matrix coordinate|array real|integer|complex|pattern general|symmetric|…"
        raise InputError(f"{path}: no Matrix Market file: line 1 must be {required}, is '{first}'")
    return fields[0], fields[1], fields[2]


def _sizes(content: bytes, form: str, path: Path) -> tuple[int, int, tuple[int, ...]]:
    """(where the entries begin, number of the line of sizes, the sizes)."""
    begin, number = content.index(b"\n") + 1, 1
    while begin < len(content):
        end, number = content.index(b"\n", begin), number + 1
        line = content[begin:end].strip()
        begin = end + 1
        if not line or line.startswith(b"%"):
            continue
        match = _SIZES.fullmatch(line)
        count = 3 if form == "coordinate" else 2
        if match is None or sum(word is not None for word in match.groups()) != count:
            what = "rows, columns and entries" if count == 3 else "rows and columns"
            raise InputError(f"{path}, line {number}: {what} required, given '{shown(_decoded(line))}'")
        return begin, number, tuple(int(word) for word in match.groups() if word is not None)
    raise InputError(f"{path}: truncated: no line of sizes after the header")


def _stored(rows: int, columns: int, symmetry: str) -> int:
    """Values of a dense matrix in its file: below and on the diagonal where it is symmetric."""
    if symmetry == "general":
        return rows * columns
    return rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2


def _entries(content: bytes, begin: int, form: str, field: str) -> re.Pattern[bytes]:
    """What matches all lines of entries, blank ones included, up to the first that is none."""
    value, _ = _VALUES[field]
    ends = rb"[0-9]++[ \t]++[0-9]++" if form == "coordinate" else b""
    between = rb"[ \t]++" if ends and value else b""
    return re.compile(rb"(?:[ \t]*+(?:" + ends + between + value + rb"[ \t]*+)?+\r?+\n)*+")


def _rule(form: str, field: str) -> str:
    _, value = _VALUES[field]
    if form == "array":
        return f"{value} required"
    return f"row and column required, and {value}" if value else "row and column required"


def _decoded(text: bytes) -> str:
    return text[:200].decode("utf-8", errors="replace")
