"""What commands print: one JSON object on stdout with `--json`, else text for people; progress on terminals only."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conset.schedule.manifest import Manifest

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 120
"""Columns of tables where the output is no terminal."""


def error_object(message: str, code: int) -> dict[str, Any]:
    """`conset/error@1`: the message and the exit code."""
    return {"schema": "conset/error@1", "message": message, "exit": code, "manifest": Manifest().to_object()}


def console(as_json: bool = False) -> Console:
    """Where text for people goes: stdout, or stderr where stdout belongs to a JSON object."""
    from rich.console import Console

    file = sys.stderr if as_json else sys.stdout
    return Console(file=file, highlight=False, width=None if file.isatty() else WIDTH, soft_wrap=not file.isatty())


def print_json(schema: str, body: Mapping[str, Any], manifest: Manifest) -> None:
    """One object on stdout: `schema`, the body, `manifest`."""
    print(json.dumps({"schema": schema, **body, "manifest": manifest.to_object()}, indent=1))  # noqa: T201
