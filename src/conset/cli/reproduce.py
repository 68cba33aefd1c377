"""`conset reproduce`: the tables, figures and claims of the four texts, made again by the pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conset.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table as RichTable

    from conset_papers import Item, Row
    from conset_papers.item import Value

SCHEMA = "conset/reproduce@1"

PaperArgument = Annotated[
    str | None, typer.Argument(metavar="[PAPER]", help="conset, wang-ranka, thakur or bokhari-nicol; else all.")
]
ItemArgument = Annotated[
    str | None, typer.Argument(metavar="[TABLE]", help="One table, figure or claim of it: table-1, figure-5 …")
]
FolderOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Markdown, CSV and SVG of every item, and an index."),
]


def command(
    paper: PaperArgument = None, item: ItemArgument = None, output: FolderOption = None, json: o.JsonOption = False
) -> None:
    """Reproduce the four texts: every table and figure from the pipeline, with the error of each cell."""
    from conset.cli.output import console, print_json
    from conset.cli.signals import STOPPED
    from conset.schedule.manifest import Manifest
    from conset_papers import find_rows

    rows = find_rows(paper, item)
    if output is not None:
        _check_folder(output)
    items = make(rows, output)
    stopped = len(items) < len(rows)
    if json:
        command = " ".join(["conset reproduce", *(word for word in (paper, item) if word)])
        body = {"items": [made.to_object() for made in items], "stopped_early": stopped}
        print_json(SCHEMA, body, Manifest(command=command))
    _print(items, console(json), output)
    if stopped:
        raise typer.Exit(STOPPED)


def make(rows: Sequence[Row], folder: Path | None) -> list[Item]:
    """The items of `rows`, each written as soon as it is made, then the index; after Ctrl-C those made before it.

    Raises:
        KeyboardInterrupt: Ctrl-C before the first was made.
    """
    from conset import _core
    from conset.cli.output import progress
    from conset.cli.signals import interruptible
    from conset_papers.write import write_index, write_item

    items: list[Item] = []
    try:
        with interruptible():
            for k, row in enumerate(rows):
                with progress(f"{row.paper} {row.item} ({k + 1} of {len(rows)})"):
                    made = row.make()
                    if _core.stop_asked():
                        raise KeyboardInterrupt  # what a search gives that was cut short is no reproduction
                    items.append(made)
                    if folder is not None:
                        write_item(made, folder)
    except KeyboardInterrupt:
        if not items:
            raise
    if folder is not None:
        write_index(items, folder)
    return items


def _check_folder(folder: Path) -> None:
    """Before anything is computed: a folder that can be made, and a library that can draw."""
    from conset.errors import UsageError
    from conset.report.style import require_matplotlib

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"-o {folder}: must be a folder, is a file")
    require_matplotlib()


def _print(items: list[Item], out: Console, folder: Path | None) -> None:
    from rich.markup import escape

    if len(items) == 1:
        _print_item(items[0], out)
    out.print(summary_table(items))
    for item in items:
        for departure in item.all_departures:
            out.print(f"[dim]{escape(f'{item.paper}, {item.name}: {departure}')}[/]")
    if folder is not None:
        out.print(escape(f"written to {folder}, from {folder / 'index.md'} on"))


def _print_item(item: Item, out: Console) -> None:
    from rich.markup import escape

    out.print(f"[bold]{escape(item.name)}[/]: {escape(item.title)}\n[dim]{escape(item.about)}[/]")
    for table in (*item.all_tables(), *item.measured):
        out.print(escape(table.title), style="bold")
        out.print(_rich_table(table.columns, table.rows))


def summary_table(items: list[Item]) -> RichTable:
    """One line for each item."""
    from conset_papers.write import agrees_word, format_errors

    rows = [(item.paper, item.name, item.title, item.count, *format_errors(item), agrees_word(item)) for item in items]
    return _rich_table(("paper", "item", "shows", "cells", "rms error", "largest", "agrees"), rows)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> RichTable:
    from rich.markup import escape

    from conset.report.terminal import plain_table
    from conset_papers.write import format_value

    table = plain_table()
    for k, name in enumerate(columns):
        number = all(not isinstance(row[k], str) for row in rows)
        table.add_column(escape(name), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(format_value(value)) for value in row))
    return table
