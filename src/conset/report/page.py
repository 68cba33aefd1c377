"""Page: facts, tables and pictures as one HTML file that needs nothing else; its form is `page.html.jinja`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.report.facts import Fact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORM = "page.html.jinja"
Draw = Callable[[], "Figure"]


@dataclass(frozen=True)
class PageTable:
    """A table; text only, escaped when it is written.

    Attributes:
        columns: heads.
        rows: cells.
        left: columns of words, to the left; numbers stand to the right.
        wrapped: columns of long words, which may take several lines.
        links: anchors of sections that the first cells of rows lead to; (): none.
        head_links: likewise of heads; "": none.
        more: what is said below it.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Collection[int] = ()
    wrapped: Collection[int] = ()
    links: Sequence[str] = ()
    head_links: Sequence[str] = ()
    more: str = ""


@dataclass(frozen=True)
class Part:
    """A heading with what stands below it.

    Attributes:
        title: the heading; may be empty.
        facts: lines of label and value.
        table: or None.
        draws: pictures.
        folded: whether a reader opens it.
    """

    title: str
    facts: Sequence[Fact] = ()
    table: PageTable | None = None
    draws: Sequence[Draw] = ()
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """What a page says of one file.

    Attributes:
        title: the file and what it is.
        subtitle: in a line.
        verified: None: it says too little to be checked.
        violations: rules that it breaks, in words.
        parts: in their order.
    """

    title: str
    subtitle: str
    verified: bool | None
    violations: Sequence[str] = ()
    parts: Sequence[Part] = field(default=())

    @property
    def verdict(self) -> str:
        """Whether it is right, in words."""
        return "not checked" if self.verified is None else "verified" if self.verified else "breaks rules"

    @property
    def mark(self) -> str:
        """The class of the verdict's style."""
        return "unknown" if self.verified is None else "" if self.verified else "wrong"


def check_page_path(path: Path) -> None:
    """Raises UsageError unless the suffix is that of a page, MissingExtraError without matplotlib."""
    from conset.errors import UsageError
    from conset.report.html import SUFFIX, is_page
    from conset.report.style import require_matplotlib

    if not is_page(path):
        raise UsageError(f"-o {path}: a report is a page and must end in {SUFFIX}, given '{path.suffix}'")
    require_matplotlib()


def write_sections(
    path: Path, title: str, subtitle: str, summary: PageTable, notes: Sequence[str], sections: Sequence[Section]
) -> None:
    """Writes a page; the same content gives the same bytes.

    Args:
        path: `.html`.
        title: of the page.
        subtitle: below it.
        summary: the table at its top, a row for each section in order.
        notes: below that table.
        sections: in their order.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    from conset.files import replacing

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    form = environment.from_string(files("conset.report").joinpath(FORM).read_text(encoding="utf-8"))
    numbers = iter(range(10**9))
    bodies = [_body(section, k, numbers) for k, section in enumerate(sections)]
    text = form.render(title=title, subtitle=subtitle, summary=summary, notes=notes, sections=bodies)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def anchor(k: int) -> str:
    """Of section k."""
    return f"file-{k}"


def _body(section: Section, k: int, numbers: Any) -> dict[str, Any]:
    """A section with its pictures drawn; ids of pictures are numbered over the page."""
    from markupsafe import Markup

    from conset.report.html import own_ids
    from conset.report.style import svg_text

    def drawn(draw: Draw) -> Markup:
        svg = svg_text(draw)
        return Markup(own_ids(svg[svg.index("<svg") :], next(numbers)))

    parts = [
        {"title": part.title, "facts": part.facts, "table": part.table, "folded": part.folded,
         "pictures": [drawn(draw) for draw in part.draws]}
        for part in section.parts
    ]  # fmt: skip
    return {
        "anchor": anchor(k), "title": section.title, "subtitle": section.subtitle, "verdict": section.verdict,
        "mark": section.mark, "violations": section.violations, "parts": parts,
    }  # fmt: skip
