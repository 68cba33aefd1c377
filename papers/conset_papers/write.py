"""Writing items: Markdown, CSV and SVG for each, and one index over all.

Tables of them in the terminal.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conset.base import InputError, count_of, replacing
from conset.report import Heat, picture_charts, plain, save, table_markdown
from conset_papers.item import (
    BASES,
    VERDICTS,
    Item,
    Picture,
    Table,
    Value,
    outcome_of,
    read_rows,
)
from conset_papers.table import PAPERS, rows_of, slug

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table as RichTable


INDEX = "index.md"
MECHANISMS = ("section", "mechanism", "command", "output", "difference and reason")
COLUMNS = ("paper", "item", "rms error", "largest", *VERDICTS)
INDEX_COLUMNS = (
    *("paper", "item", "shows", "basis", "computed from what", "rms error", "largest"),
    *VERDICTS,
)


def write_item(item: Item, folder: Path) -> list[Path]:
    """Writes `folder/<paper>/<item>.md` with its tables (CSV) and its pictures (SVG).

    Raises:
        InputError: the folder cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    place = folder / item.paper
    _make(place)
    written = []
    names = []
    for table, name in zip(item.all_tables(), table_names(item), strict=True):
        path = place / f"{name}.csv"
        _write(path, table_csv(table))
        written.append(path)
    for picture in pictures_of(item):
        path = place / f"{picture_name(item, picture)}.svg"
        save(picture.draw, path)
        names.append(path.name)
        written.append(path)
    path = place / f"{slug(item.name)}.md"
    _write(path, item_markdown(item, names))
    return [path, *written]


def write_index(items: Sequence[Item], folder: Path) -> Path:
    """Writes `folder/index.md`.

    Every item with what it rests on, its errors and its verdict, failures first.
    """
    _make(folder)
    path = folder / INDEX
    _write(path, index_markdown(items))
    return path


def page_markdown(paper: str) -> str:
    """The page of a paper in the guide.

    Its mechanisms with a command and a part of its output, differences, and recorded outcomes.
    """
    folder, _, title = PAPERS[paper]
    mechanisms = [
        (
            row["section"],
            row["mechanism"],
            f"`{row['command']}`",
            ", ".join(f"`{part}`" for part in row["output"].split("|")),
            row["difference"],
        )
        for row in read_rows(folder, "mechanisms.csv")
    ]
    outcomes = [(row.item, *row.expected.values()) for row in rows_of(paper)]
    lines = [
        f"# Reproduced: {paper}",
        "",
        f"Written by `python -m conset_papers.write docs` from `papers/conset_papers/{folder}`.",
        "",
        f"{title}: each mechanism with a command and a part of its output, run in order in one "
        "folder.",
        "",
        "## Mechanisms",
        *table_markdown(MECHANISMS, mechanisms, range(5)),
        "",
        "## Tables and figures",
        f"`conset reproduce {paper} ITEM`; recorded: seconds on a free core, cells and claims.",
        "",
        *table_markdown(("item", "seconds", *VERDICTS), outcomes, (0,)),
    ]
    return "\n".join(lines) + "\n"


def table_names(item: Item) -> list[str]:
    """File names of the item's tables without suffix: the first has the item's own."""
    titles = [table.title.partition(":")[0] for table in item.all_tables()]
    return [
        slug(item.name) if k == 0 else f"{slug(item.name)}-{slug(title)}"
        for k, title in enumerate(titles)
    ]


def pictures_of(item: Item) -> tuple[Picture, ...]:
    """The item's own pictures; without any a map of its cells' errors, where it has some."""
    if item.pictures or not item.cells:
        return item.pictures
    return (Picture(lambda: picture_errors(item)),)


def picture_errors(item: Item) -> Figure:
    """|error| of every cell; a line surrounds what is outside the tolerance."""
    rows = list(dict.fromkeys(cell.row for cell in reversed(item.cells)))
    columns = list(dict.fromkeys(cell.column for cell in item.cells))
    errors = np.full((len(rows), len(columns)), np.nan)
    for cell in item.cells:
        errors[rows.index(cell.row), columns.index(cell.column)] = 100 * abs(cell.error)
    labels = [name.replace(" ", "\n") for name in columns]
    outside = np.zeros(errors.shape, bool)
    for cell in item.outside:
        outside[rows.index(cell.row), columns.index(cell.column)] = True
    heat = Heat("", "", "", labels, rows, errors, outside)
    return picture_charts(
        [heat],
        title=f"{item.name}: {item.title}",
        subtitle="errors against the published numbers [%]",
        width=max(7.0, 1.3 * len(columns) + 2),
        height=1.2 + 0.3 * len(rows),
    )


def picture_name(item: Item, picture: Picture) -> str:
    """File name without suffix."""
    return slug(f"{item.name} {picture.name}")


def item_markdown(item: Item, pictures: Sequence[str] = ()) -> str:
    """Title, basis, verdict, how it was made, pictures, tables, departures."""
    lines = [
        f"# {item.name}: {item.title}",
        "",
        f"*{item.basis_sentence}*",
        "",
        _verdict(item),
        "",
        item.about,
        "",
    ]
    lines += [line for name in pictures for line in (f"![{item.name}: {item.title}]({name})", "")]
    for table in item.all_tables():
        lines += [f"## {table.title}", "", *lines_of(table), ""]
    if item.all_departures:
        lines += [
            "## Departures",
            "",
            *(f"- {plain(departure)}" for departure in item.all_departures),
            "",
        ]
    return "\n".join(lines)


def index_markdown(items: Sequence[Item]) -> str:
    """Totals, then a table of items for each verdict, those that do not agree first.

    Then what departs.
    """
    lines = [
        "# Reproduction of the four papers",
        "",
        f"{count_of(len(items), 'item')}. Cells and claims: {format_outcome(items)}.",
        "",
        *(f"- {paper}: {text}" for paper, text in outcomes(items).items()),
        "",
        *(f"- *{basis}*: {words}" for basis, words in BASES.items()),
    ]
    for verdict in VERDICTS:
        chosen = [item for item in items if item.verdict == verdict]
        if chosen:
            lines += ["", f"## {verdict.capitalize()}", ""]
            lines += table_markdown(
                INDEX_COLUMNS, (_index_row(item) for item in chosen), (0, 1, 2, 3, 4)
            )
    ordered = sorted(items, key=lambda item: VERDICTS.index(item.verdict))
    parting = [(item, departure) for item in ordered for departure in item.all_departures]
    if parting:
        lines += [
            "",
            "## Departures",
            "",
            *(f"- {item.paper}, {item.name}: {plain(departure)}" for item, departure in parting),
        ]
    return "\n".join(lines) + "\n"


def outcomes(items: Sequence[Item]) -> dict[str, str]:
    """Paper → how many of its cells and claims hold, fail and are not judged."""
    papers = dict.fromkeys(item.paper for item in items)
    return {p: format_outcome([item for item in items if item.paper == p]) for p in papers}


def format_outcome(items: Sequence[Item]) -> str:
    """`3 fails, 40 holds, 2 not judged`."""
    found = outcome_of(items)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS)


def _index_row(item: Item) -> tuple[str, ...]:
    return (
        item.paper,
        f"[{item.name}]({item.paper}/{slug(item.name)}.md)",
        plain(item.title),
        item.basis,
        plain(item.derivation),
        *format_errors(item),
        *(str(item.outcome[verdict]) for verdict in VERDICTS),
    )


def format_errors(item: Item) -> tuple[str, str]:
    """(rms, largest) for people; a dash without cells."""
    if item.rms_error is None or item.max_error is None:
        return ("–", "–")
    return (f"{item.rms_error:.1%}", f"{item.max_error:.1%}")


def items_parts(items: Sequence[Item], folder: Path | None = None) -> list[RenderableType]:
    """What the terminal shows: one item with its tables, or a summary of several.

    Texts have rich's markup.
    """
    from rich.markup import escape

    if len(items) == 1:
        parts = _item_parts(items[0])
        parts += [f"[dim]{escape(departure)}[/]" for departure in items[0].all_departures]
        parts.append(f"{items[0].verdict}: {format_outcome(items)}")
    else:
        parts = [summary_table(items), *(f"{p}: {text}" for p, text in outcomes(items).items())]
        parts.append(f"all: {format_outcome(items)}")
    if folder is not None:
        parts.append(escape(f"written to {folder}, from {folder / INDEX} on"))
    return parts


def list_parts(rows: Sequence[dict[str, str]]) -> list[RenderableType]:
    """What the terminal shows of recorded items: a table, and what all take together."""
    total = sum(float(row["seconds"]) for row in rows)
    return [
        _rich_table(tuple(rows[0]), [tuple(row.values()) for row in rows]),
        f"{count_of(len(rows), 'item')}, about {total:.0f} s on a free core: conset reproduce all. "
        "Alone, an item that shares simulations with another one takes longer.",
    ]


def _item_parts(item: Item) -> list[RenderableType]:
    from rich.markup import escape
    from rich.text import Text

    head = f"[bold]{escape(item.name)}[/]: {escape(item.title)}\n{escape(item.basis_sentence)}\n"
    parts: list[RenderableType] = [f"{head}[dim]{escape(item.about)}[/]"]
    for table in (*item.all_tables(), *item.measured):
        parts += [Text(table.title, "bold"), _rich_table(table.columns, table.rows)]
    return parts


def summary_table(items: Sequence[Item]) -> RichTable:
    """One line for each item."""
    rows: list[tuple[Value, ...]] = [
        (item.paper, item.name, *format_errors(item), *(item.outcome[v] for v in VERDICTS))
        for item in items
    ]
    return _rich_table(COLUMNS, rows)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> RichTable:
    from rich import box
    from rich.markup import escape
    from rich.table import Table as RichTable

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(columns):
        number = all(not isinstance(row[k], str) for row in rows)
        table.add_column(escape(name), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(format_value(value)) for value in row))
    return table


def lines_of(table: Table) -> list[str]:
    """Markdown; columns of numbers to the right."""
    text_columns = [
        k
        for k in range(len(table.columns))
        if not all(isinstance(row[k], int | float) or row[k] is None for row in table.rows)
    ]
    rows = ([plain(format_value(value)) for value in row] for row in table.rows)
    return table_markdown([plain(name) for name in table.columns], rows, text_columns)


def table_csv(table: Table) -> str:
    """Columns, then rows, to full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([("" if value is None else value) for value in row] for row in table.rows)
    return text.getvalue()


def format_value(value: Value) -> str:
    """A value for people: whole numbers with separators, others to four digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (value == int(value) and abs(value) >= 1000):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _verdict(item: Item) -> str:
    errors = "rms error {}, largest {}; ".format(*format_errors(item)) if item.errors else ""
    return f"**{item.verdict.capitalize()}**: {errors}{format_outcome([item])}. {item.why}".strip()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from None


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for paper in PAPERS:
        if PAPERS[paper][2]:
            _write(Path(sys.argv[1]) / f"{paper}.md", page_markdown(paper))
