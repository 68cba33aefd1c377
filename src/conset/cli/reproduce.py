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

    from conset.reproduction import Item
    from conset.reproduction.item import Value

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
    from conset.cli.progress import progress
    from conset.reproduction import find_rows
    from conset.schedule.manifest import Manifest

    rows = find_rows(paper, item)
    if output is not None:
        _check_folder(output)
    items = []
    for k, row in enumerate(rows):
        with progress(f"{row.paper} {row.item} ({k + 1} of {len(rows)})"):
            items.append(row.make())
            if output is not None:
                _write(items[-1], output)
    if output is not None:
        _write_index(items, output)
    if json:
        words = " ".join(["conset reproduce", *(word for word in (paper, item) if word)])
        print_json(SCHEMA, {"items": [made.to_object() for made in items]}, Manifest(command=words))
    _print(items, console(json), output)


def _check_folder(folder: Path) -> None:
    """Before anything is computed: a folder that can be made, and a library that can draw."""
    from conset.errors import UsageError
    from conset.report.style import require_matplotlib

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"-o {folder}: must be a folder, is a file")
    require_matplotlib()


def _write(item: Item, folder: Path) -> None:
    from conset.reproduction.write import write_item

    write_item(item, folder)


def _write_index(items: list[Item], folder: Path) -> None:
    from conset.reproduction.write import write_index

    write_index(items, folder)


def _print(items: list[Item], out: Console, folder: Path | None) -> None:
    from rich.markup import escape

    if len(items) == 1:
        _print_item(items[0], out)
    out.print(summary_table(items))
    for item in items:
        for words in item.all_departures:
            out.print(f"[dim]{escape(f'{item.paper}, {item.name}: {words}')}[/]")
    if folder is not None:
        out.print(escape(f"written to {folder}, from {folder / 'index.md'} on"))


def _print_item(item: Item, out: Console) -> None:
    from rich.markup import escape

    out.print(f"[bold]{escape(item.name)}[/]: {escape(item.title)}\n[dim]{escape(item.about)}[/]")
    for table in item.all_tables():
        out.print(escape(table.title), style="bold")
        out.print(_rich_table(table.columns, table.rows))


def summary_table(items: list[Item]) -> RichTable:
    """One line for each item."""
    from conset.reproduction.write import agrees_word, error_words

    rows = [(item.paper, item.name, item.title, item.count, *error_words(item), agrees_word(item)) for item in items]
    return _rich_table(("paper", "item", "shows", "cells", "rms error", "largest", "agrees"), rows)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> RichTable:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from conset.reproduction.write import value_words

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(columns):
        number = all(not isinstance(row[k], str) for row in rows)
        table.add_column(escape(name), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(value_words(value)) for value in row))
    return table
