"""A page: facts and pictures of one thing in one HTML file, which needs no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIX = ".html"
MAX_PHASES = 64
"""Phases that a page draws one by one; a sentence says that there are more."""

_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 2em; }} svg {{ max-width: 100%; height: auto; }}
pre {{ overflow-x: auto; }} td {{ padding-right: 1em; }}</style>
<h1>{title}</h1>
"""


def is_page(path: Path | None) -> bool:
    """Whether an output is a page rather than a picture."""
    return path is not None and path.suffix.lower() == SUFFIX


def write_page(path: Path, title: str, facts: str, text: str, draws: Sequence[Callable[[], Figure]]) -> None:
    """Writes a page.

    Args:
        path: `.html`.
        title: in words.
        facts: HTML, escaped.
        text: as in the terminal, without markup.
        draws: the pictures, in order.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from html import escape
    from tempfile import TemporaryDirectory

    from conset.files import replacing
    from conset.report.style import save

    parts = [_HEAD.format(title=escape(title)), facts]
    with TemporaryDirectory() as folder:
        for k, draw in enumerate(draws):
            picture = Path(folder) / f"{k}.svg"
            save(draw, picture)
            svg = picture.read_text(encoding="utf-8")
            parts.append(f"<figure>{_own_ids(svg[svg.index('<svg') :], k)}</figure>\n")
    if text:
        parts.append(f"<pre>{escape(text)}</pre>\n")
    with replacing(path) as temporary:
        temporary.write_text("".join(parts), encoding="utf-8")


def _own_ids(svg: str, number: int) -> str:
    """A picture whose ids are those of no other on the page."""
    for before in ('id="', "url(#", 'xlink:href="#'):
        svg = svg.replace(before, f"{before}p{number}-")
    return svg
