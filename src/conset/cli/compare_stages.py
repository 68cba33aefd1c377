"""`conset compare --stages`: programs of several numbers of stages over sizes of message."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conset.compilation.options import CompileOptions
    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern


def run_stages(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    output: Path | None,
    *,
    sizes: Sequence[int],
    combines: Sequence[str],
    by: str | None,
    markdown: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Computes, prints and writes time and volume over sizes; returns what `--json` says of them.

    Raises:
        InputError: the pattern has no messages, or an order.
    """
    from conset.cli.output import print_markdown, print_parts, progress
    from conset.report.style import write_report
    from conset.report.tradeoff import (
        draw_tradeoff,
        tradeoff_lines,
        tradeoff_markdown,
        tradeoff_parts,
        tradeoff_title,
    )
    from conset.studies.compare.stages import compare_stages

    rows = compare_stages(
        pattern, machine, options, sizes=sizes, combines=combines, by=by, watch=progress
    )
    title = tradeoff_title(pattern.name, machine.name)
    write_markdown = partial(tradeoff_markdown, rows, title=title)
    if markdown:
        print_markdown(write_markdown(), as_json)
    else:
        print_parts(tradeoff_parts(rows, title), as_json)
    if output is not None:
        write_report(
            output,
            write_markdown,
            lambda: draw_tradeoff(rows, title=title, subtitle=tradeoff_lines(rows)[0]),
        )
    return {"stages": [row.to_object() for row in rows]}
