"""Pictures mean the same everywhere.

Dark is more, width is bytes, logarithms are named, hue alone tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'conset[draw]'")

from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

import conset
from conset.compilation.options import CompileOptions
from conset.machine.network.graph_files import read_gml
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.report import campaign, comparison, network_drawing, program_pictures, style
from conset.report.comparison import picture_compare
from conset.report.machine import picture_machine
from conset.report.markdown import section_markdown
from conset.report.pattern import picture_pattern, rank_bytes, skew_of
from conset.report.schedule import LANES, picture_phase, picture_schedule
from conset.report.sweeps import (
    describe_winner,
    draw_tradeoff,
    picture_curve,
    picture_regions,
    regions_lines,
    regions_section,
)
from conset.report.timeline import OVERHEAD, WAITING, TimelineView, marked_phases, picture_timeline
from conset.schedule.schedule import Schedule
from conset.studies import chart_regions, trace_curves
from conset.studies.compare.comparison import compare_stages
from conset.studies.compare.regions import Cell, Regions
from support.vector_pictures import drawn, texts, titles

NAIVE = CompileOptions(method="naive")
FAMILIES = (
    "mesh:4x4",
    "torus:3x3",
    "ring:6",
    "hypercube:4",
    "crossbar:5",
    "fat-tree:k=4",
    "leaf-spine:leaves=3,spines=2,hosts=4",
    "dragonfly:groups=5,routers=2,nodes=2",
    "rails:hosts=3,gpus=4",
    "hyperx:sides=3x4,nodes=2",
    "slim-fly:q=3,nodes=1",
    "express-mesh:sides=5x3",
    "mesh:3x4,planes=2",
)


def skewed() -> Pattern:
    """Sizes over decades, and rank 0 sends most."""
    source, target = np.divmod(np.arange(64), 8)
    return Pattern.from_messages(source, target, 8 * 4 ** (7 - source), 8, name="skewed")


@cache
def schedule_of(
    pattern: str = "alltoall:size=2KiB", machine: str = "mesh:4x4", method: str = "first-fit"
) -> Schedule:
    return conset.compile(pattern, machine, method=method)


@cache
def view_of(sync: str = "barrier") -> TimelineView:
    schedule = schedule_of(machine="paragon:4x4")
    return TimelineView(conset.simulate(schedule, sync=sync), schedule.machine)


@cache
def random_map() -> Regions:
    return chart_regions(
        "random", parse_machine("ipsc860:16"), ["naive", "rs-n", "lp"], NAIVE, sizes=(64, 16384)
    )


@cache
def stages() -> Any:
    pattern = parse_pattern("alltoall", ranks=16)
    return compare_stages(
        pattern, parse_machine("paragon:4x4"), NAIVE, sizes=(8, 65536), combines=(), by="flow"
    )


@cache
def curve() -> Any:
    return trace_curves(
        parse_pattern("alltoall:size=1KiB", ranks=16),
        parse_machine("paragon:4x4"),
        CompileOptions(),
    )[0]


def compared() -> Any:
    bound = {"phases": 3, "phases_witness": "rank 0 sends 3 messages", "time_s": 1e-5}
    terms = {"transfer": 1e-5, "setup": 5e-6, "synchronization": 1e-5}
    row = {
        "method": "lp",
        "sync": "local",
        "phases": 21,
        "bound": bound,
        "predicted_s": 2.5e-5,
        "terms": terms,
    }
    return picture_compare([row], title="one")


PICTURES: dict[str, Callable[[], Any]] = {
    **{
        f"network {words}": partial(lambda words: picture_machine(parse_machine(words)), words)
        for words in FAMILIES
    },
    "pattern": lambda: picture_pattern(skewed()),
    "schedule": lambda: picture_schedule(schedule_of()),
    "schedule of sizes": lambda: picture_schedule(
        conset.compile(skewed(), "ring:8", method="first-fit")
    ),
    "phase": lambda: picture_phase(schedule_of(), 0),
    "phase with shared links": lambda: picture_phase(schedule_of(method="naive"), 0),
    "phase of a graph": lambda: picture_phase(schedule_of("shift:by=3", "fat-tree:k=4"), 0),
    "phase of a crossbar": lambda: picture_phase(schedule_of("shift:by=1", "crossbar:5"), 0),
    "timeline": lambda: picture_timeline(view_of()),
    "map": lambda: picture_regions(random_map(), title="map"),
    "curve": lambda: picture_curve([curve()], title="curve"),
    "stages over sizes": lambda: draw_tradeoff(stages(), title="stages"),
    "comparison": compared,
}


@pytest.mark.parametrize("name", list(PICTURES))
def test_texts_are_text_and_the_whole_has_a_title(name: str) -> None:
    svg = style.svg_text(PICTURES[name])
    root = ElementTree.fromstring(svg)
    assert root[0].tag.endswith("}title")
    assert len(titles(svg)[0]) > 2
    assert len(texts(svg)) > 2
    glyphs = [path for path in root.iter() if path.get("id", "").startswith("DejaVu")]
    assert not glyphs, "an outline of a letter cannot be searched or read aloud"


@pytest.mark.parametrize("name", list(PICTURES))
def test_logarithmic_axes_say_so(name: str) -> None:
    figure = PICTURES[name]()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                assert "logarithmic" in axis.get_label_text(), name
            else:
                assert "logarithmic" not in axis.get_label_text(), name


def lightness(colour: Any) -> float:
    """Of a colour, as Oklab has it."""
    return float(oklab(np.asarray(to_rgb(colour))[None])[0, 0])


def test_dark_is_more_in_every_matrix() -> None:
    for figure, cells in (
        (picture_pattern(skewed()), [((7, 6), (0, 1))]),  # rank 0 sends most
        (picture_schedule(schedule_of()), []),
    ):
        image = figure.axes[0].images[0]
        values = np.asarray(image.get_array(), float)
        rising = [
            lightness(image.cmap(image.norm(value)))
            for value in np.unique(values[np.isfinite(values)])
        ]
        assert (np.diff(rising) < 0).all()
        for less, more in cells:
            assert values[less] < values[more]


def test_numbers_in_cells_can_be_read() -> None:
    axes = picture_schedule(schedule_of()).axes[0]
    image = axes.images[0]
    behind = {
        image.cmap(image.norm(float(text.get_text()))): text.get_color() for text in axes.texts
    }
    assert set(behind.values()) == {style.INK, style.PAPER}
    for colour, ink in behind.items():
        assert contrast(colour, ink) >= 3.9


def contrast(one: Any, other: Any) -> float:
    """WCAG 2.1."""
    linear = [
        linear_rgb(np.asarray(to_rgb(colour))) @ (0.2126, 0.7152, 0.0722) for colour in (one, other)
    ]
    return float((max(linear) + 0.05) / (min(linear) + 0.05))


def loads(figure: Any) -> LineCollection:
    """The collection of loaded links."""
    return next(
        each
        for axes in figure.axes
        for each in axes.collections
        if each.get_gid() == "conset-loads"
    )


def two_sizes(method: str) -> Schedule:
    """Rank 0 sends 1 KiB to 1 and 4 KiB to 2 along a line, 3 sends 4 KiB to 2."""
    pattern = Pattern.from_messages([0, 0, 3], [1, 2, 2], [1024, 4096, 4096], 4, name="sizes")
    return conset.compile(pattern, "mesh:4", method=method)


def test_width_is_bytes_and_the_key_says_how_many() -> None:
    figure = picture_phase(two_sizes("naive"), 0)
    lines = loads(figure)
    width = dict(zip(titles_of(figure), lines.get_linewidths(), strict=True))
    heavy, light = width["link 0 → 1: 2 messages, 5 KiB"], width["link 1 → 2: 1 message, 4 KiB"]
    assert heavy / light == pytest.approx(5 / 4)  # 5 KiB on the first link, 4 KiB on the second
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["4 KiB", "5 KiB on a link"]
    drawn_widths = [line.get_linewidth() for line in legend.get_lines()]
    assert drawn_widths == pytest.approx(sorted({light, heavy}))
    assert LANES in legend.get_title().get_text().replace("\n", " ")


def titles_of(figure: Any) -> list[str]:
    return list(figure.conset_titles["conset-loads"])


def test_loads_are_darker_where_more_meets_and_bars_use_their_range() -> None:
    schedule = schedule_of(method="naive")
    figure = picture_phase(schedule, 0)
    lines = loads(figure)
    load = np.array([int(re.search(r": (\d+) messages?", title)[1]) for title in titles_of(figure)])  # type: ignore[index]
    shade = np.array([lightness(colour[:3]) for colour in lines.get_colors()])
    assert shade[load == load.max()].max() < shade[load == load.min()].min()
    bar = next(axes for axes in figure.axes if axes.get_ylabel() == "messages on a link")
    ticks = [int(text.get_text()) for text in bar.get_yticklabels()]
    assert (min(ticks), max(ticks)) == (load.min(), load.max())


def test_a_picture_of_hashed_routes_says_that_it_is_one_sample() -> None:
    known = drawn(lambda: picture_phase(schedule_of("shift:by=5", "fat-tree:k=4"), 0))
    assert not any("sample" in text for text in known)
    hashed = schedule_of("shift:by=5", "fat-tree:k=4,routing=ecmp")
    words = " ".join(drawn(lambda: picture_phase(hashed, 0)))
    assert "One sample: these are routes that ecmp may take; which it takes, a hash draws." in words
    assert "in one sample of its routes" in words


def test_bytes_of_ranks_and_their_skew() -> None:
    pattern = Pattern.from_messages([0, 0, 1, 2], [1, 2, 2, 0], [100, 300, 200, 200], 4, name="p")
    sent, received = rank_bytes(pattern)
    assert sent.tolist() == [400, 200, 200, 0]
    assert received.tolist() == [200, 100, 500, 0]
    assert skew_of(sent) == 2
    assert skew_of(np.zeros(3)) == 1
    words = drawn(lambda: picture_pattern(pattern))
    assert "rank; largest / mean: sent 2, received 2.5" in words
    assert "bytes per rank" in words


def test_ends_of_phases_are_marked_and_numbered() -> None:
    view = view_of()
    figure = picture_timeline(view)
    phases = view.timeline.phase_end_s.size
    marked, what = marked_phases(view)
    assert marked == list(range(phases))
    assert what in figure.axes[3].get_xlabel()
    numbers = [int(text.get_text()) for text in figure.axes[0].texts]
    assert numbers[0] == 0
    assert numbers == sorted(numbers)
    unit = 1e-3 if "[ms]" in figure.axes[3].get_xlabel() else 1e-6
    for panel in figure.axes[:4]:
        places = {
            round(float(line.get_xdata()[0]) * unit, 12)
            for line in panel.lines
            if len(set(line.get_xdata())) == 1
        }
        assert {round(float(end), 12) for end in view.timeline.phase_end_s} <= places


def test_of_many_phases_every_kth_is_marked() -> None:
    schedule = schedule_of("alltoall", "crossbar:100", "coloring")
    view = TimelineView(conset.simulate(schedule, sync="barrier"), schedule.machine)
    marked, what = marked_phases(view)
    assert marked[:2] == [1, 3]
    assert what == "upright lines: ends of phases, one in 2"


def uniform_map(**more: Any) -> Regions:
    cells = tuple(
        Cell(degree, size, "lp", "none", 1.0, "naive", margin, {"lp": 1.0, "naive": 1 + margin})
        for (degree, size), margin in zip(
            [(2, 64), (2, 128), (4, 64), (4, 128)], (0.1, 0.2, 0.3, 0.4), strict=True
        )
    )
    return Regions((2, 4), (64, 128), ("lp", "naive"), 1.0, cells, **more)


def test_a_map_with_one_winner_says_so_in_a_sentence() -> None:
    one = uniform_map()
    sentence = "lp is best everywhere: the next method takes 10 % to 40 % longer"
    assert describe_winner(one) == sentence
    assert regions_lines(one)[0] == sentence
    assert [
        row.count("lp")
        for row in section_markdown(regions_section(one, "random", "m")).splitlines()
        if row.startswith("| 2")
    ] == [0]
    table = regions_section(one, "random", "m").parts[0].table
    assert table is not None
    assert [row[1] for row in table.rows] == ["10 %", "30 %"]
    words = drawn(lambda: picture_regions(one, title="t"))
    assert "lp" not in words
    assert {"10 %", "40 %"} <= set(words)
    assert describe_winner(random_map()) == ""


def test_phases_and_bound_are_written_together() -> None:
    assert "21 (bound 3)" in drawn(compared)


def test_links_of_different_rates_are_told_apart() -> None:
    words = drawn(
        lambda: picture_machine(
            parse_machine("leaf-spine:leaves=2,spines=2,hosts=2,rates=25GB/s;100GB/s")
        )
    )
    assert {"25 GB/s", "100 GB/s"} <= set(words)


def test_nodes_of_graph_files_have_their_own_names_and_rates() -> None:
    text = (
        'graph [ node [ id 0 label "Denver" ] node [ id 1 label "Kansas City" ] node [ id 2 '
        'label "Houston" ] '
    )
    text += "edge [ source 0 target 1 ] edge [ source 1 target 2 ] ]"
    topology = Topology.of_graph(read_gml(text), 1e9)
    rates = np.where(topology.link_source + topology.link_target == 1, 1e9, 4e9)
    topology = replace(topology, link_rate_Bps=rates)
    machine = replace(parse_machine("ring:3"), topology=topology, routing=Routing("shortest-path"))
    svg = style.svg_text(lambda: picture_machine(machine))
    assert {"Denver", "Kansas City", "Houston", "1 GB/s", "4 GB/s"} <= set(texts(svg))
    assert "link 0 'Denver' → 1 'Kansas City', 1 GB/s" in " ".join(titles(svg))


# ---- what eyes tell apart

SIGHT = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""Linear RGB to what is seen.

Machado, Oliveira, Fernandes 2009, severity 1 (doi 10.1109/TVCG.2009.113).
"""


def linear_rgb(rgb: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray[Any, Any], sight: str = "normal") -> np.ndarray[Any, Any]:
    """shape=(colours, 3): Oklab (Ottosson 2020) of sRGB as an eye sees it.

    Distances are near those perceived.
    """
    seen = np.clip(linear_rgb(rgb) @ SIGHT[sight].T, 0, 1)
    cones = (
        seen
        @ np.array(
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ]
        ).T
    )
    root = np.cbrt(cones)
    return np.asarray(
        root
        @ np.array(
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ]
        ).T
    )


MODELS = ("predicted", "flow", "wormhole", "flit", "measured")
PALETTES: dict[str, list[Any]] = {
    "marks": [style.ACCENT, style.BOUND, style.AMBER, style.SLATE, style.PAPER],
    "terms of a time beside its bound": [*style.TERM_COLOURS.values(), style.BOUND, style.PAPER],
    "parts of a switch": [*program_pictures.COLOURS.values(), style.PAPER],
    "contenders beside predictions": [
        *campaign.COLOURS.values(),
        style.BOUND,
        style.PAPER,
    ],
    "parts of a message's life": [style.ACCENT, WAITING, OVERHEAD, style.BOUND, style.PAPER],
    "senders and receivers of a bundle": [
        program_pictures.FROM,
        program_pictures.TO,
        style.BOUND,
        style.PAPER,
    ],
    "formula, models, measured": [comparison._colour(name, MODELS) for name in MODELS],
    "switches and links": [network_drawing.SWITCH, network_drawing.LINK, style.ACCENT, style.PAPER],
}
LEAST = 0.1
"""Distance in Oklab; some 0.02 is just seen side by side."""


@pytest.mark.parametrize("sight", list(SIGHT))
@pytest.mark.parametrize("name", list(PALETTES))
def test_kinds_are_told_apart_by_every_eye(name: str, sight: str) -> None:
    colours = oklab(np.array([to_rgb(colour) for colour in PALETTES[name]]), sight)
    least = min(
        (float(np.linalg.norm(a - b)), i, j)
        for (i, a), (j, b) in combinations(enumerate(colours), 2)
    )
    assert least[0] >= LEAST, (PALETTES[name][least[1]], PALETTES[name][least[2]])


@pytest.mark.parametrize("sight", list(SIGHT))
def test_transfers_that_stand_beside_each_other_in_the_list_differ(sight: str) -> None:
    colours = oklab(style.spread_colours(40)[:, :3], sight)
    assert min(float(np.linalg.norm(a - b)) for a, b in pairwise(colours)) >= 0.15


@pytest.mark.parametrize("sight", list(SIGHT))
def test_amounts_rise_evenly_for_every_eye(sight: str) -> None:
    shades = oklab(style.amount_map()(np.linspace(0, 1, 17))[:, :3], sight)
    assert (np.diff(shades[:, 0]) < 0).all()
    steps = np.linalg.norm(np.diff(shades, axis=0), axis=1)
    assert steps.min() > 0.5 * steps.mean()
