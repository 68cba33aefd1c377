"""Style: what all pictures share.

Colours, type, and writing them so that the same input gives the same bytes.

Figures are made without pyplot, so no window system, no global state; matplotlib is imported only
when one is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from io import BytesIO
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base import Floats, format_time, import_extra, replacing, require_suffix

if TYPE_CHECKING:  # other modules name the types of matplotlib by this one
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Figure

INK = "#22262b"
"""Text and frames."""
QUIET = "#6b7280"
"""Secondary text, ticks."""
FAINT = "#d5d9df"
"""Idle links, grid lines."""
ACCENT = "#31688e"
"""Bars and lines: the blue of viridis."""
BOUND = "#c2410c"
"""Bounds and limits: the one colour that is not in the colour map."""
PALE = "#9aa3af"
"""What is behind the subject of a picture: links of a network, other schedules."""
WORK = "#8f99a8"
"""A processor at work, a connection that drains.

Between the grey of the grid and that of small print.
"""
AMBER = "#e9a23b"
"""A third kind beside `ACCENT` and `BOUND`, brighter than both."""
SLATE = "#323a47"
"""What holds others up: switches of a network, barriers."""
PAPER = "#ffffff"
TERM_COLOURS = {"transfer": ACCENT, "setup": AMBER, "synchronization": SLATE}
"""What a time is made of."""

RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": [
        "DejaVu Sans",
        "Verdana",
    ],  # the second is as wide, where a vector picture finds no first
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 7,
    "axes.labelsize": 9.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": PAPER,
    "svg.hashsalt": "conset",
    "svg.fonttype": "none",
    "path.simplify": True,
}
FORMATS = (".svg", ".png")
DOTS_PER_INCH = 150
STEPS = (1, 2, 4, 5, 10)
RANK_STEPS = (1, 2, 4, 5, 8, 10)
"""Distances of ticks at whole numbers, times powers of ten."""
RASTER = 6000
"""Above so many lines a vector picture would be larger than its pixels."""
LOG_STEPS = ((10.0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)), (2000.0, (1.0, 2.0, 5.0)), (inf, (1.0,)))
"""(largest factor between the ends of a logarithmic axis, ticks in a decade)."""
TIME_STEPS = ((200.0, (1, 2, 5)), (5000.0, (1, 3)), (inf, (1,)))
"""Likewise of an axis of times."""
RATIO_STEPS: Sequence[tuple[float, Sequence[float]]] = (
    (2.5, (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2)),
    (20, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10)),
    (inf, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)),
)
"""(largest factor between the ends of an axis of ratios, its ticks)."""
REMARK: Any = {"size": 8.5, "weight": "normal", "color": BOUND}
"""Type of a remark above a panel, at the right."""
GRID = 2**17
"""Axes stand on multiples of 1/GRID of the picture."""


def colour_map() -> Colormap:
    """The one colour map: viridis without its palest end, which vanishes on white paper.

    For kinds, without order.

    What has an order takes `amount_map`.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["viridis"](np.linspace(0.0, 0.94, 256)), name="conset")


def amount_map() -> Colormap:
    """The colour map from bright to dark.

    On white paper dark is more, or later, in every picture.
    """
    return colour_map().reversed()


def spread_colours(count: int) -> Floats:
    """shape=(count, 4): kinds in golden-ratio steps through the colour map.

    So that neighbours differ.
    """
    step = (np.arange(count) * 0.6180339887) % 1
    return np.asarray(colour_map()(step), np.float64).reshape(count, 4)


def ink_on(colour: Any) -> str:
    """Whichever of `INK` and `PAPER` contrasts more with a colour (WCAG 2.1 luminance)."""
    from matplotlib.colors import to_rgb

    def luminance(shade: Any) -> float:
        red, green, blue = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(shade)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    behind, dark = luminance(colour) + 0.05, luminance(INK) + 0.05
    return INK if behind / dark >= 1.05 / behind else PAPER


def time_unit(longest_s: float) -> tuple[float, str]:
    """(unit [s], its name) in which so long a time is at least 1, for an axis."""
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    return next((unit for unit in units if longest_s >= unit[0]), units[-1])


LOGARITHMIC = ", logarithmic"
"""What the label of such an axis ends in."""


def log_axis(axes: Axes, which: str, label: str, base: float = 10) -> None:
    """Makes an axis, `x` or `y`, logarithmic; its label says so."""
    axes.set(**{f"{which}label": f"{label}{LOGARITHMIC}"})
    if which == "x":
        axes.set_xscale("log", base=base)
    else:
        axes.set_yscale("log", base=base)


def require_matplotlib() -> None:
    """Raises `MissingExtraError` where matplotlib is not installed."""
    import_extra("matplotlib.figure", "draw")


def check_output(path: Path, what: str, *texts: str) -> None:
    """Check an output that is a picture, or text with one of the suffixes `texts`.

    Raises:
        UsageError: another suffix.
        MissingExtraError: a picture without matplotlib.
    """
    require_suffix(path, what, *texts, *FORMATS)
    if path.suffix.lower() in FORMATS:
        require_matplotlib()


def new_figure(width: float, height: float, title: str = "", subtitle: str = "") -> Figure:
    """A figure of `width` × `height` inches whose axes arrange themselves, with a headline."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if title:
        headline(figure, title, subtitle)
    return figure


def headline(figure: Figure, title: str, subtitle: str = "") -> None:
    """Title and a quieter second line at the top left.

    Long lines shrink rather than run out of the picture.

    Together they are the `<title>` of a vector picture.
    """
    named: Any = figure
    named.conset_title = ": ".join(filter(None, (title, subtitle)))
    height = figure.get_figheight()
    width_pt = figure.get_figwidth() * 72
    lines = [(title, 14.0, INK, "bold", 0.30)]
    if subtitle:
        lines.append((subtitle, 10.5, QUIET, "normal", 0.56))
    for text, size, colour, weight, below in lines:
        share = 0.64 if weight == "bold" else 0.56
        figure.text(
            0.014,
            1 - below / height,
            text,
            size=max(min(size, width_pt * 0.97 / (share * max(len(text), 1))), 6),
            color=colour,
            weight=weight,
            va="baseline",
        )
    top = (0.74 if subtitle else 0.46) / height
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.008, 0.008, 0.984, 0.992 - top))


def _titled(svg: str, titles: dict[str, list[str]]) -> str:
    """A vector picture with `<title>`s in the parts of its collections."""
    for gid, names in titles.items():
        start = svg.find(f'<g id="{gid}"')
        if start < 0:
            continue
        end = svg.index("</g>", start)
        parts = iter(names)

        def named(part: re.Match[str], parts: Iterator[str] = parts) -> str:
            name = next(parts, None)
            return (
                part[0]
                if name is None
                else f"<{part[1]}{part[2]}><title>{escape(name)}</title></{part[1]}>"
            )

        body = re.sub(r"<(path|use)\b([^>]*?)/>(?!\s*</defs>)", named, svg[start:end])
        svg = svg[:start] + body + svg[end:]
    return svg


def add_lines(
    axes: Axes, points: Any, *, gid: str = "", titles: Sequence[str] = (), **look: Any
) -> None:
    """Add polylines, shape=(lines, points, 2); many are drawn as pixels.

    Args:
        axes: where.
        points: the lines.
        gid: identifies the collection in a vector picture; "": nothing does.
        titles: one for each line; a vector picture shows it where a pointer rests.
        look: keywords of matplotlib's LineCollection.
    """
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(points), **look)
    lines.set_rasterized(len(points) > RASTER)
    add_collection(axes, lines, gid, titles)


def add_areas(
    axes: Axes, corners: Any, *, gid: str = "", titles: Sequence[str] = (), **look: Any
) -> None:
    """Add polygons, shape=(areas, corners, 2); arguments as of `add_lines`."""
    from matplotlib.collections import PolyCollection

    add_collection(axes, PolyCollection(list(corners), **look), gid, titles)


def add_collection(axes: Axes, collection: Any, gid: str, titles: Sequence[str]) -> None:
    """Add a collection, under a gid of its own in the figure; arguments as of `add_lines`."""
    if gid:
        collection.set_gid(gid)
    axes.add_collection(collection)
    if titles:
        figure: Any = axes.get_figure()
        figure.conset_titles = {**getattr(figure, "conset_titles", {}), gid: list(titles)}


def boxes(left: Any, right: Any, low: Any, high: Any) -> Floats:
    """Return the corners of rectangles, shape=(boxes, 4, 2), for `add_areas`."""
    corners = ((left, low), (right, low), (right, high), (left, high))
    return np.stack([np.stack(np.broadcast_arrays(*each), axis=1) for each in corners], axis=1)


def whole_ticks(axis: Any, most: int, steps: Sequence[float] | None = None) -> None:
    """Set at most so many ticks, at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(most, integer=True, steps=steps))


def phase_ticks(axis: Any, low: float, high: float) -> None:
    """Set ticks at whole numbers of phases; the ends of the axis decide which."""
    whole_ticks(axis, 8, STEPS)


def count_ticks(axis: Any, low: float, high: float) -> None:
    """Set few ticks at whole numbers, with commas; the ends of the axis decide which."""
    whole_ticks(axis, 4)
    axis.set_major_formatter("{x:,.0f}")


def plain_log_ticks(axis: Any, low: float, high: float) -> None:
    """Set ticks of a logarithmic axis as plain numbers, the more the fewer decades there are."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    subs = next(subs for factor, subs in LOG_STEPS if high <= factor * low)
    axis.set_major_locator(LogLocator(10, subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_locator(NullLocator())


def time_ticks(axis: Any, low: float, high: float) -> None:
    """Set ticks of a logarithmic axis as times with units, the more the fewer decades there are."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    digits = next(digits for factor, digits in TIME_STEPS if high <= factor * low)
    ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    shown = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(shown, [format_time(tick) for tick in shown])
    axis.minorticks_off()


def ratio_ticks(axis: Any, low: float, high: float) -> None:
    """Set ticks of a logarithmic axis of ratios, the closer around 1 the less the ends differ."""
    ratios = next(ratios for factor, ratios in RATIO_STEPS if high <= factor * low)
    ticks = [ratio for ratio in ratios if low <= ratio <= high]
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def scale_of(low: float, high: float) -> Any:
    """Return what a colour bar of numbers without an image shows."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(low, high), amount_map())


def legend_above(
    axes: Axes, columns: int, *, height: float = 0.99, column_spacing: float = 1.2
) -> None:
    """Add a legend above the axes, at the left."""
    axes.legend(
        borderaxespad=0.1,
        handlelength=1.2,
        columnspacing=column_spacing,
        loc="lower left",
        bbox_to_anchor=(-0.01, height),
        ncols=columns,
    )


def colour_bar(axes: Axes, image: Any, label: str, **how: Any) -> Any:
    """Add a bar without a frame that explains the colours of an image; return it."""
    figure: Any = axes.get_figure()
    bar = figure.colorbar(image, ax=axes, **how)
    bar.outline.set_visible(False)
    bar.set_label(label)
    return bar


def plain(axes: Axes) -> None:
    """Axes without frame and ticks, for drawings."""
    axes.set_axis_off()
    axes.set_aspect("equal")


def save(draw: Callable[[], Figure], path: str | Path) -> None:
    """Draws and writes `path` (.svg or .png) under the style.

    No date, fixed ids: the same input, the same bytes.

    Raises:
        UsageError: another suffix.
        MissingExtraError: matplotlib is not installed.
        InputError: `path` cannot be written.
    """
    path = require_suffix(path, "a picture", *FORMATS)
    picture = _drawn(draw, "svg" if path.suffix.lower() == ".svg" else "png")
    with replacing(path) as temporary:
        temporary.write_bytes(picture)


def svg_text(draw: Callable[[], Figure]) -> str:
    """A picture as `save` writes it into `.svg`.

    Raises `MissingExtraError` where matplotlib is not installed.
    """
    return _drawn(draw, "svg").decode()


def png_bytes(draw: Callable[[], Figure], dots_per_inch: int) -> bytes:
    """A picture as `save` writes it into `.png`, in other pixels; raises as `svg_text`."""
    return _drawn(draw, "png", dots_per_inch)


def _drawn(draw: Callable[[], Figure], form: str, dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(RC), BytesIO() as picture:
        figure = draw()
        _settle(figure)
        if form == "png":
            figure.savefig(picture, format=form, dpi=dots_per_inch, metadata={"Software": None})
            return picture.getvalue()
        metadata = {"Date": None, "Creator": "conset", "Title": title_of(figure)}
        figure.savefig(picture, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
        return _titled(picture.getvalue().decode(), getattr(figure, "conset_titles", {})).encode()


def title_of(figure: Figure) -> str:
    """What a picture is, as text: its headline, or the titles of its panels."""
    panels = (axes.get_title(loc="left") or axes.get_title() for axes in figure.axes)
    return getattr(figure, "conset_title", "") or "; ".join(filter(None, panels)) or "picture"


def _settle(figure: Figure) -> None:
    """Arranges the axes once and rounds their places.

    The solver behind the arrangement walks sets of objects, so the last bits of what it finds
    differ from run to run; a vector picture's ids are hashes of them. A binary grid: equal shares
    of decimal margins may lie halfway between two decimals, where the last bit decides.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text() and not text.get_text().startswith(
            "$\\mathdefault{"
        ):  # ticks of logarithmic axes
            text.set_parse_math(False)  # a name, however it looks
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (
            round(float(x) * GRID) / GRID for x in axes.get_position(original=True).bounds
        )
        axes.set_position((left, bottom, width, height))
