"""TOML in files, parsed without belief.

How deep the keys go is looked up before a reader sees them.

A reader of TOML keeps every prefix of a dotted key, so its time and memory grow with the square of
the parts: 200 kB of `a.a.a…` take more than any machine has. Nested arrays and inline tables end at
the reader's own depth.
"""

from __future__ import annotations

import re
from typing import Any

from conset.base.errors import InputError

MAX_PARTS = 32
"""Parts of one key, as in `methods.lp.setup`, which has three."""

_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|' + r"'[^'\n]*'"
_PART = rf"(?:[A-Za-z0-9_-]+|{_STRING})"
_DOT = r"[ \t]*\.[ \t]*"
_TOKEN = re.compile(
    rf"(?P<deep>{_PART}(?:{_DOT}{_PART}){{{MAX_PARTS},}})"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^']*(?:'(?!'')[^']*)*'''"
    rf"|#[^\n]*|{_PART}|[^A-Za-z0-9_\-\"'#]+|.",
    re.DOTALL,
)


def parse_toml(content: bytes, where: str, what: str) -> tuple[dict[str, Any], str]:
    """What a file says, and its text.

    Args:
        content: of the file.
        where: its name, for errors.
        what: it should be, for errors: `machine`.

    Raises:
        InputError: no UTF-8, no TOML, nested too deeply, or a number of thousands of digits.
    """
    import tomllib

    try:
        text = content.decode("utf-8-sig")
        _check_depth(text, where)
        return tomllib.loads(text), text
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: is no complete TOML: {error}") from None
    except (
        RecursionError,
        ValueError,
    ) as error:  # nested too deeply, a number of thousands of digits
        raise InputError(f"{where}: no TOML of a {what}: {error}") from None


def _check_depth(text: str, where: str) -> None:
    """Raises `InputError` where a key has more parts than `MAX_PARTS`.

    Strings and comments may have any dots.
    """
    if not any(line.count(".") >= MAX_PARTS for line in text.split("\n")):
        return  # nearly all files
    for token in _TOKEN.finditer(text):
        if token["deep"] is not None:
            line = text.count("\n", 0, token.start()) + 1
            parts = len(re.findall(_PART, token["deep"]))
            raise InputError(
                f"{where}, line {line}: a key of {parts} parts, nested too deeply: at "
                f"most {MAX_PARTS}"
            )
