"""Vector pictures as tests read them: drawn twice, parsed, their texts and titles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from conset.report.style import svg_text

SVG = "{http://www.w3.org/2000/svg}"


def drawn(draw: Callable[[], Any]) -> list[str]:
    """Draws twice, checks that the bytes agree, and returns the texts."""
    first = svg_text(draw)
    assert first == svg_text(draw)
    assert "<dc:date>" not in first
    return texts(first)


def texts(svg: str | Path) -> list[str]:
    """What a picture says: its `<text>`s, each a line; no text is an outline."""
    return ["".join(text.itertext()).strip() for text in _root(svg).iter(f"{SVG}text")]


def titles(svg: str | Path) -> list[str]:
    """What a picture says where a pointer rests: its `<title>`s, that of the whole first."""
    return [title.text or "" for title in _root(svg).iter(f"{SVG}title")]


def _root(svg: str | Path) -> ElementTree.Element:
    text = svg.read_text(encoding="utf-8") if isinstance(svg, Path) else svg
    return ElementTree.fromstring(text)  # our own
