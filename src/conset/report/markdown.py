"""Markdown: text that stays text."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text that cannot end a cell of a table or start markup."""
    for mark in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())
