"""Page: facts, tables and pictures as one HTML file that needs nothing else.

Its form is `page.html.jinja`.

`show -o x.html` writes one with what it shows of one thing; `report`, `campaign` and `calibrate`
write sections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conset.report.facts import Fact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conset.report.facts import Summary
    from conset.report.terminal_schedule import Views
    from conset.schedule.schedule import Schedule

FORM = "page.html.jinja"
SUFFIX = ".html"
MAX_PHASES = 64
"""Phases that a page draws one by one; a sentence says that there are more."""
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
        card: HTML, what came from outside escaped; may be empty.
        text: as in the terminal, without markup; may be empty.
    """

    title: str
    facts: Sequence[Fact] = ()
    table: PageTable | None = None
    draws: Sequence[Draw] = ()
    folded: bool = False
    card: str = ""
    text: str = ""


@dataclass(frozen=True)
class Section:
    """What a page says of one file.

    Attributes:
        title: the file and what it is; "": neither heading nor verdict.
        subtitle: in a line.
        verified: None: it says too little to be checked.
        violations: rules that it breaks, in words.
        parts: in their order.
        label: what stands beside the title in place of the verdict; "": the verdict.
    """

    title: str
    subtitle: str
    verified: bool | None
    violations: Sequence[str] = ()
    parts: Sequence[Part] = field(default=())
    label: str = ""

    @property
    def verdict(self) -> str:
        """Whether it is right, in words."""
        if self.label:
            return self.label
        return (
            "not checked"
            if self.verified is None
            else "verified"
            if self.verified
            else "breaks rules"
        )

    @property
    def mark(self) -> str:
        """The class of the verdict's style."""
        return "unknown" if self.verified is None else "" if self.verified else "wrong"


def is_page(path: Path | None) -> bool:
    """Whether an output is a page rather than a picture."""
    return path is not None and path.suffix.lower() == SUFFIX


def check_page_path(path: Path) -> None:
    """Raises UsageError unless the suffix is a page's, MissingExtraError without matplotlib."""
    from conset.base.errors import UsageError
    from conset.report.style import require_matplotlib

    if not is_page(path):
        raise UsageError(
            f"-o {path}: a report is a page and must end in {SUFFIX}, given '{path.suffix}'"
        )
    require_matplotlib()


def write_page(path: Path, title: str, card: str, text: str, draws: Sequence[Draw]) -> None:
    """Writes a page about one thing.

    Args:
        path: `.html`.
        title: in words.
        card: HTML, escaped.
        text: as in the terminal; markup of rich, which a page leaves out.
        draws: the pictures, in order.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from rich.text import Text

    plain = Text.from_markup(text).plain if text else ""
    parts = [Part("", draws=draws, card=card), Part("", text=plain)]
    write_sections(path, title, "", None, (), [Section("", "", None, parts=parts)])


def write_schedule_page(
    path: Path, schedule: Schedule, summary: Summary, views: Views, width: int
) -> None:
    """A page with the schedule's facts, its picture, those of phases asked for, and its text.

    The text is `width` letters wide.
    """
    from functools import partial

    from conset.report.html import schedule_html
    from conset.report.picture_schedule import picture_phase, picture_schedule
    from conset.report.terminal_schedule import views_text

    phases = range(min(schedule.phases, MAX_PHASES)) if views.phase == -1 else [views.phase]
    draws = [
        partial(picture_schedule, schedule, summary),
        *(partial(picture_phase, schedule, phase) for phase in phases if phase is not None),
    ]
    text = views_text(schedule, summary, views, width)
    if views.phase == -1 and schedule.phases > MAX_PHASES:
        text = f"pictures of the first {MAX_PHASES} of {schedule.phases:,} phases\n\n{text}"
    title = f"{schedule.method} on {schedule.machine.name}"
    write_page(path, title, schedule_html(schedule), text, draws)


def own_ids(svg: str, number: int) -> str:
    """A picture whose ids are those of no other on the page; what it says is left alone."""

    def own(tag: re.Match[str]) -> str:
        found = tag[0]
        for before in (' id="', "url(#", 'xlink:href="#'):
            found = found.replace(before, f"{before}p{number}-")
        return found

    return re.sub(r"<[^>]+>", own, svg)


def write_sections(
    path: Path,
    title: str,
    subtitle: str,
    summary: PageTable | None,
    notes: Sequence[str],
    sections: Sequence[Section],
) -> None:
    """Writes a page; the same content gives the same bytes.

    Args:
        path: `.html`.
        title: of the page.
        subtitle: below it; may be empty.
        summary: the table at its top, a row for each section in order; None: none.
        notes: below that table.
        sections: in their order.

    Raises:
        MissingExtraError: matplotlib is not installed. InputError: `path` cannot be written.
    """
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    from conset.base.files import replacing

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    form = environment.from_string(
        files("conset.report").joinpath(FORM).read_text(encoding="utf-8")
    )
    numbers = iter(range(10**9))
    bodies = [_body(section, k, numbers) for k, section in enumerate(sections)]
    text = form.render(
        title=title, subtitle=subtitle, summary=summary, notes=notes, sections=bodies
    )
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def anchor(k: int) -> str:
    """Of section k."""
    return f"file-{k}"


def _body(section: Section, k: int, numbers: Any) -> dict[str, Any]:
    """A section with its pictures drawn; ids of pictures are numbered over the page."""
    from markupsafe import Markup

    from conset.report.style import svg_text

    def drawn(draw: Draw) -> Markup:
        svg = svg_text(draw)
        return Markup(own_ids(svg[svg.index("<svg") :], next(numbers)))

    parts = [
        {
            "title": part.title,
            "facts": part.facts,
            "table": part.table,
            "folded": part.folded,
            "card": Markup(part.card),
            "text": part.text,
            "pictures": [drawn(draw) for draw in part.draws],
        }
        for part in section.parts
    ]
    return {
        "anchor": anchor(k),
        "title": section.title,
        "subtitle": section.subtitle,
        "verdict": section.verdict,
        "mark": section.mark,
        "violations": section.violations,
        "parts": parts,
    }
