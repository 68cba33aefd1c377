"""`conset reproduce`.

Reproduction of the tables, figures and claims of the four papers by the pipeline.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import conset
from conset import _core
from conset.base import STOPPED, UnavailableError, UsageError, counted, interruptible
from conset.cli import options as o
from conset.cli.output import print_json, print_note, print_parts, progress
from conset.report import require_matplotlib
from conset.schedule import Manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conset_papers import Item, Row


PaperArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PAPER]", help="conset, wang-ranka, thakur, bokhari-nicol or all; else a list."
    ),
]
ItemArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TABLE]", help="One table, figure or claim of it: table-1, figure-5 …"),
]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Markdown, CSV and SVG of every item, and an index."
    ),
]


def command(
    paper: PaperArgument = None,
    item: ItemArgument = None,
    output: FolderOption = None,
    json: o.JsonOption = False,
) -> None:
    """Reproduce the four papers.

    Every table and figure from the pipeline, with the error of each cell. Without a paper, list
    the items with their duration and recorded outcome.
    """
    find_papers()
    from conset_papers import find_rows
    from conset_papers.write import items_parts, list_parts

    rows = find_rows(paper, item)
    if paper is None and output is None:
        known = [{"paper": row.paper, "item": row.item, **row.expected} for row in rows]
        if json:
            print_json("conset/reproduce-list@1", {"items": known}, Manifest("conset reproduce"))
        print_parts(list_parts(known), json)
        return
    if output is not None:
        if output.exists() and not output.is_dir():  # before anything is computed
            raise UsageError(f"-o {output}: must be a folder, is a file")
        require_matplotlib()
    items = make(rows, output)
    stopped = len(items) < len(rows)
    if json:
        command = " ".join(["conset reproduce", *(word for word in (paper, item) if word)])
        body = {"items": [made.to_object() for made in items], "stopped_early": stopped}
        print_json("conset/reproduce@2", body, Manifest(command=command))
    print_parts(items_parts(items, output), json)
    if stopped:
        raise typer.Exit(STOPPED)


def find_papers() -> None:
    """Make `conset_papers` importable: as it is installed, or as it lies in this checkout.

    Raises:
        UnavailableError: it is neither.
    """
    checkout = Path(conset.__file__).resolve().parents[2] / "papers"
    if find_spec("conset_papers") is None:
        if not (checkout / "conset_papers").is_dir():
            raise UnavailableError(
                "conset-papers is not installed: pip install ./papers in a checkout of conset"
            )
        sys.path.append(str(checkout))


def make(rows: Sequence[Row], folder: Path | None) -> list[Item]:
    """The items of `rows`, each written and reported as soon as it is made, then the index.

    After Ctrl-C those made before it.

    Raises:
        KeyboardInterrupt: Ctrl-C before the first was made.
    """
    from conset_papers.write import format_outcome, write_index, write_item

    items: list[Item] = []
    try:
        with interruptible():
            for k, row in enumerate(counted(rows)):
                label = f"{row.paper} {row.item} ({k + 1} of {len(rows)})"
                with progress(f"{label}, about {row.expected['seconds']} s"):
                    made = row.make()
                    if _core.stop_asked():
                        # what a search gives that was cut short is no reproduction
                        raise KeyboardInterrupt
                    items.append(made)
                    if folder is not None:
                        write_item(made, folder)
                    if len(rows) > 1:
                        print_note(f"{label}: {format_outcome([made])}")
    except KeyboardInterrupt:
        if not items:
            raise
    if folder is not None:
        write_index(items, folder)
    return items
