"""HTML: the renderer of sections as a page that needs no other file, and the cards of notebooks.

A page has the form of `page.html.jinja`. Nouns ask for their card, `_repr_html_`, through
`conset.base.notebook`; everything that comes from outside is escaped.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from rich.text import Text

from conset.base import (
    Floats,
    count_of,
    format_size,
    format_time,
    register_form,
    replacing,
    require_suffix,
)
from conset.bounds.bounds import Bounds
from conset.bounds.stages import StageBounds
from conset.machine import Machine
from conset.models import Prediction, Timeline, under_way
from conset.pattern import Pattern
from conset.report import style
from conset.report.facts import (
    TERM_LABELS,
    bound_facts,
    cost_facts,
    machine_facts,
    pattern_facts,
    prediction_facts,
    prediction_section,
    schedule_facts,
    verified_text,
)
from conset.report.pattern import rank_grid
from conset.report.sections import Draw, Fact, Part, Section, Table
from conset.report.steps import script
from conset.report.timeline import TimelineView, timeline_facts
from conset.schedule import Schedule
from conset.studies import Timing
from conset.verification.verification import RULES, Verification

SUFFIX = ".html"
CELLS = 64
"""Most cells along a side of the small matrix of a card."""
SIDE = 160
"""Side of a small picture, without its legend [pixels]."""
BINS = 80
"""Steps of the small picture of a timeline."""
KINDS = 12
"""Most rules that are listed of a verification."""
STOPS = np.array([(170, 220, 50), (33, 145, 140), (68, 1, 84)])
"""Colours of pictures from bright to dark: enough for a thumbnail without matplotlib."""


# Pages


def is_page(path: Path | None) -> bool:
    """Return whether an output is a page rather than a picture."""
    return path is not None and path.suffix.lower() == SUFFIX


def check_page_path(path: Path) -> None:
    """Raise UsageError unless a page ends so, MissingExtraError without matplotlib."""
    require_suffix(path, "a page", SUFFIX)
    style.require_matplotlib()


def write_page(path: Path, title: str, card: str, text: str, draws: Sequence[Draw]) -> None:
    """Write a page about one noun.

    Args:
        path: `.html`.
        title: as text.
        card: HTML, escaped.
        text: as in the terminal, with markup of rich, which a page leaves out.
        draws: the pictures, in order.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: `path` cannot be written.
    """
    parts = [Part(draws=draws, card=card), Part(text=Text.from_markup(text).plain if text else "")]
    write_sections(path, title, "", None, (), [Section("", parts=parts)])


def write_sections(
    path: Path,
    title: str,
    subtitle: str,
    summary: Table | None,
    notes: Sequence[str],
    sections: Sequence[Section],
) -> None:
    """Write a page; the same content gives the same bytes.

    Args:
        path: `.html`.
        title: of the page.
        subtitle: below it; may be empty.
        summary: the table at its top, a row for each section in order; None: none.
        notes: below that table.
        sections: in their order.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: `path` cannot be written.
    """
    from jinja2 import Environment, StrictUndefined

    numbers, classes = count(), dict[str, str]()

    def picture(draw: Draw) -> Markup:
        svg = style.svg_text(draw)
        known = dict(classes)
        text = compact(own_ids(svg[svg.index("<svg") :], next(numbers)), known)
        if len(text) <= LARGEST or not stepped:
            classes.update(known)
            return Markup(text)
        title = re.search("<title>([^<]*)</title>", text)
        png = fewer_colours(style.png_bytes(draw, DOTS_PER_INCH))
        form = '<img alt="{}" src="data:image/png;base64,{}"/>'
        return Markup(form).format(Markup(title[1] if title else ""), png)

    stepped = any("data-steps" in part.card for each in sections for part in each.parts)

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    form = files("conset.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    text = environment.from_string(form).render(
        title=title,
        subtitle=subtitle,
        summary=summary,
        notes=notes,
        sections=sections,
        picture=picture,
        anchor=anchor,
        script=script() if stepped else "",
        styles=lambda: Markup("".join(f".{name}{{{text}}}\n" for text, name in classes.items())),
    )
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def anchor(k: int) -> str:
    """Return the anchor of section k."""
    return f"file-{k}"


def own_ids(svg: str, number: int) -> str:
    """Return a picture whose ids are those of no other on the page; its text is left alone."""
    marks = (' id="', "url(#", 'xlink:href="#')

    def own(tag: re.Match[str]) -> str:
        text = tag[0]
        for mark in marks:
            text = text.replace(mark, f"{mark}p{number}-")
        return text

    return re.sub(r"<[^>]+>", own, svg)


_NOTHING = re.compile(
    r' id="p\d+-(?:[xy]tick|line2d|text|patch)_\d+"| transform="rotate\(-0 [^)]*\)"'
)
"""What nothing refers to, and what turns nothing."""
_ALONE = re.compile(r"<g>\s*(<(?:use|path)[^>]*/>|<text[^>]*>[^<]*</text>)\s*</g>")
_PATH = re.compile(r'<path d="([^"]*)" class="(\w+)"/>')
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_DECIMALS = re.compile(r"(?<![\d.])(\d*[1-9]\d*\.\d)\d+")
_STYLE = re.compile(r'(?: clip-path="(url\([^)]*\))")? style="([^"]*)"')


LARGEST = 130_000
"""Letters of a picture beyond which a page that steps through phases has it in pixels."""
COLOURS, DOTS_PER_INCH = 48, 66
_EMBEDDED = re.compile(r"base64,([A-Za-z0-9+/=\s]+)")


def fewer_colours(png: bytes) -> str:
    """Return a picture in pixels of at most `COLOURS` colours, in base64."""
    from PIL import Image

    with Image.open(BytesIO(png)) as image, BytesIO() as small:
        method = Image.Quantize.FASTOCTREE
        image.convert("RGBA").quantize(COLOURS, method, dither=Image.Dither.NONE).save(
            small, "png", optimize=True
        )
        return base64.b64encode(min(small.getvalue(), png, key=len)).decode()


def compact(svg: str, classes: dict[str, str]) -> str:
    """Return a picture with tenths of points, and classes in place of repeated styles.

    Neighbouring lines of one style are one path.

    Args:
        svg: the picture.
        classes: text of a style → its class, for all pictures of the page; grows.
    """

    def in_class(found: re.Match[str]) -> str:
        text = f"{found[2]}; clip-path: {found[1]}" if found[1] else found[2]
        return f' class="{classes.setdefault(text, f"k{len(classes)}")}"'

    def shorter(tag: re.Match[str]) -> str:
        if "base64" in tag[0]:
            return _EMBEDDED.sub(
                lambda found: f"base64,{fewer_colours(base64.b64decode(found[1]))}", tag[0]
            )
        return _STYLE.sub(in_class, _DECIMALS.sub(r"\1", " ".join(tag[0].split())))

    text = re.sub(r"<[^>]+>", shorter, _METADATA.sub("", svg))
    text = re.sub(r"\n\s*", "\n", _NOTHING.sub("", text))
    for _ in range(3):
        text = _ALONE.sub(r"\1", text)
    open_lines = {name for style_text, name in classes.items() if "fill: none" in style_text}
    parts = _PATH.split(text)  # text, then line, class and text by turns
    merged = [parts[0]]
    for d, name, behind in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        tight = re.sub(r"\s*([MLCQZz])\s*", r"\1", d)
        mark = f'" class="{name}"/>'
        if name in open_lines and merged[-1].endswith(mark):
            merged[-1] = f"{merged[-1].removesuffix(mark)}{tight}{mark}"
        else:
            merged.append(f'<path d="{tight}{mark}')
        if behind.strip():
            merged.append(behind)
    return "".join(merged)


# Cards of notebooks


def pattern_html(pattern: Pattern) -> str:
    """Return facts and a thumbnail of the matrix of bytes."""
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, CELLS)
    picture = _thumbnail(grid, "bytes", format_size, np.log)
    return card("Pattern", pattern.name, pattern_facts(pattern), picture)


def machine_html(machine: Machine) -> str:
    """Return facts, and costs with their origins."""
    return card("Machine", machine.name, [*machine_facts(machine), *cost_facts(machine.costs)])


def schedule_html(schedule: Schedule) -> str:
    """Return facts and a thumbnail of the matrix coloured by phase."""
    pattern = schedule.pattern
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    phase_of = schedule.phase_of.astype(np.int64)
    grid = rank_grid(pattern.ranks, source, target, phase_of, CELLS, "least")
    name = f"{schedule.method} on {schedule.machine.name}"
    return card(
        "Schedule", name, schedule_facts(schedule), _thumbnail(grid, "phase", "{:.0f}".format)
    )


def bounds_html(bounds: Bounds) -> str:
    """Return the bounds of all schedules with witness and class."""
    tried = Fact("", f"the largest of {count_of(len(bounds.candidates), 'bound')}")
    return card("Bounds", "what no schedule beats", [*bound_facts(bounds), tried])


def stage_bounds_html(bounds: StageBounds) -> str:
    """Return the bounds of programs that forward in stages."""
    of = "any number of stages"
    if bounds.stages is not None:
        of = f"at most {count_of(bounds.stages, 'stage')}"
    return card("Bounds", f"what no program of {of} beats", bound_facts(bounds))


def prediction_html(prediction: Prediction) -> str:
    """Return the time by formula and what it is made of."""
    name = f"{format_time(prediction.time_s)} by formula on {prediction.machine}"
    facts = prediction_facts(prediction, prediction.terms)
    return card(
        "Prediction", f"{name} under sync {prediction.sync}", facts, _terms(prediction.terms)
    )


def timing_html(timing: Timing) -> str:
    """Return the time, by what, and what it is made of."""
    section = prediction_section(timing)
    return card("Timing", section.title, section.parts[0].facts, _terms(timing.terms))


def verification_html(verification: Verification) -> str:
    """Return verdict, figures, and each broken rule once, with how often and where first."""
    violations, figures = verification.violations, verification.figures
    first = {violation.rule: violation.text for violation in reversed(violations)}
    counts = Counter(violation.rule for violation in violations)
    facts = [
        Fact(rule, f"{times:,} ×, first: {first[rule]}", RULES.get(rule, ""))
        for rule, times in list(counts.items())[:KINDS]
    ]
    if len(counts) > KINDS:
        facts.append(Fact("", f"… {count_of(len(counts) - KINDS, 'more rule')}"))
    if figures:
        facts.append(Fact("counted", verified_text(figures, figures.get("messages", 0))))
    broken = count_of(len(violations), "violation")
    return card("Verification", "every rule holds" if verification.ok else broken, facts)


def timeline_html(timeline: Timeline) -> str:
    """Return what happened, and a small picture: messages under way over time."""
    by = f"by {timeline.model} on {timeline.machine}, sync {timeline.sync}"
    if timeline.workload is None:
        latency = Fact("mean latency", format_time(timeline.mean_latency_s))
        facts = [Fact("messages", f"{timeline.messages:,}"), latency]
    else:
        facts = timeline_facts(TimelineView(timeline))
    return card("Timeline", f"{format_time(timeline.time_s)} {by}", facts, _under_way(timeline))


def card(kind: str, name: str, facts: Iterable[Fact], picture: str = "") -> str:
    """Return kind and name, facts with their origins, a small picture beside them."""
    rows = "".join(
        f'<tr><td style="text-align:left;opacity:.65;white-space:nowrap">{escape(fact.label)}</td>'
        f'<td style="text-align:left">{escape(fact.strong + fact.value)}</td>'
        f'<td style="text-align:left;opacity:.65"><i>{escape(fact.origin)}</i></td></tr>'
        for fact in facts
    )
    return (
        '<div style="display:flex;gap:1.5em;align-items:flex-start;font-size:13px">'
        f"<div><b>{escape(kind)}</b> {escape(name)}<table>{rows}</table></div>{picture}</div>"
    )


def _thumbnail(
    grid: Floats,
    what: str,
    form: Callable[[float], str],
    scale_of: Callable[[Any], Any] = np.asarray,
) -> str:
    """Return a matrix as SVG with a legend: `what` from the least to the most, each in a form.

    Dark is more, in a scale; NaN stays empty.
    """
    seen = grid[np.isfinite(grid)]
    if not seen.size:
        return ""
    ends = [form(float(each)) for each in (seen.min(), seen.max())]
    grid, seen = scale_of(grid), scale_of(seen)
    low, high, side = float(seen.min()), float(seen.max()), len(grid)
    cells = []
    for row, column in np.argwhere(np.isfinite(grid)):
        share = (grid[row, column] - low) / (high - low) if high > low else 0.65
        cells.append(f'<path fill="{_colour(float(share))}" d="M{column} {row}h1v1h-1z"/>')
    matrix = (
        f'<svg width="{SIDE}" height="{SIDE}" viewBox="0 0 {side} {side}" '
        f'shape-rendering="crispEdges">{"".join(cells)}</svg>'
        f'<rect x=".5" y=".5" width="{SIDE - 1}" height="{SIDE - 1}" fill="none" stroke="#9aa3af"/>'
    )
    about = f"{what} from row to column"
    if low == high:
        caption = _legend(0, f"{what} {ends[0]} in every cell")
        return _small_picture(matrix, f"{about}: {ends[0]}", caption)
    steps = 16
    wide = SIDE / steps
    scale = "".join(
        f'<rect x="{k * wide:g}" y="{SIDE + 6}" width="{wide:g}" height="7" '
        f'fill="{_colour(k / (steps - 1))}"/>'
        for k in range(steps)
    )
    caption = (
        _legend(0, ends[0]) + _legend(SIDE / 2, what, "middle") + _legend(SIDE, ends[1], "end")
    )
    return _small_picture(matrix + scale, f"{about}, {ends[0]} to {ends[1]}, dark is more", caption)


def _terms(terms: Mapping[str, float]) -> str:
    """Return a bar of what a time is made of, and below it each part with its time."""
    whole = sum(terms.values())
    if not whole:
        return ""
    high, y, body = SIDE - 40, 0.0, []
    labels = [f"{TERM_LABELS[name]} {format_time(seconds)}" for name, seconds in terms.items()]
    for k, (name, seconds) in enumerate(terms.items()):
        part, colour, top = high * seconds / whole, style.TERM_COLOURS[name], high + 12 + 16 * k
        body.append(f'<rect x="0" y="{y:.2f}" width="46" height="{part:.2f}" fill="{colour}"/>')
        body.append(f'<rect x="0" y="{top}" width="9" height="9" fill="{colour}"/>')
        body.append(_legend(14, labels[k], y=top + 9))
        y += part
    return _small_picture("".join(body), ", ".join(labels), "")


def _under_way(timeline: Timeline) -> str:
    """Return messages under way over time, with the most of them and the whole time."""
    ended = np.isfinite(timeline.end_s)
    start_s, end_s = timeline.start_s[ended], timeline.end_s[ended]
    whole_s = float(end_s.max(initial=0.0))
    if not whole_s:
        return ""
    change = np.repeat([1, -1], end_s.size)
    # what ends makes room for what starts
    order = np.lexsort((change, np.concatenate([start_s, end_s])))
    most = int(np.cumsum(change[order]).max())
    share = under_way(start_s, end_s, np.linspace(0.0, whole_s, BINS + 1))[0] / max(most, 1)
    top, high, wide = 22, SIDE - 12, SIDE / BINS
    steps = "".join(
        f"L{wide * k:g} {top + (high - top) * (1 - value):.2f}h{wide:g}"
        for k, value in enumerate(share)
    )
    body = (
        f'<path d="M0 {high}{steps}V{high}z" fill="{style.ACCENT}"/>'
        f'<path d="M0 {high}H{SIDE}" stroke="{style.PALE}"/>'
    )
    said, end = f"{count_of(most, 'message')} under way at most", format_time(whole_s)
    captions = _legend(0, said, y=12) + _legend(0, "0", y=high + 14)
    captions += _legend(SIDE, end, "end", high + 14)
    return _small_picture(body, f"{said}, over {end}", captions)


def _small_picture(body: str, title: str, captions: str) -> str:
    """Return a small picture as tall as its drawing and its line of captions."""
    return (
        f'<svg width="{SIDE}" height="{SIDE + 28}" viewBox="0 0 {SIDE} {SIDE + 28}" '
        f'style="flex:none" role="img"><title>{escape(title)}</title>{body}{captions}</svg>'
    )


def _legend(x: float, text: str, anchor: str = "start", y: float = SIDE + 25) -> str:
    """Return a caption in the colour of the page's own text, light or dark."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="10" font-family="sans-serif" '
        f'fill="currentColor" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _colour(share: float) -> str:
    mixed = [np.interp(2 * share, (0, 1, 2), STOPS[:, k]) for k in range(3)]
    return "#" + "".join(f"{round(float(x)):02x}" for x in mixed)


CARDS: dict[type, Callable[[Any], str]] = {
    Pattern: pattern_html,
    Machine: machine_html,
    Schedule: schedule_html,
    Bounds: bounds_html,
    StageBounds: stage_bounds_html,
    Prediction: prediction_html,
    Timing: timing_html,
    Verification: verification_html,
    Timeline: timeline_html,
}
for noun, form_of in CARDS.items():
    register_form(noun, form_of)
