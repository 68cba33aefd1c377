"""What notebooks show of nouns: facts, a small picture with its legend.

Sound HTML, whatever names are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import conset
from conset.bounds import bound_stages
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.report.page import verification_html


def parsed(noun: Any) -> ElementTree.Element:
    """The form of a noun, which must be well-formed."""
    html = noun._repr_html_()
    assert html is not None
    return ElementTree.fromstring(html)  # our own


def words_of(noun: Any) -> str:
    return " ".join(text.strip() for text in parsed(noun).itertext() if text.strip())


def fills(noun: Any) -> list[str]:
    """Of the legend's rectangles, from left to right."""
    return [
        rect.get("fill", "") for rect in parsed(noun).iter("rect") if rect.get("fill") != "none"
    ]


def test_a_thumbnail_has_a_legend_from_bright_to_dark() -> None:
    pattern = Pattern.from_messages([0, 1, 2], [1, 2, 0], [1024, 2048, 65536], 3, name="three")
    picture = next(parsed(pattern).iter("svg"))
    assert picture[0].text == "bytes from row to column, 1 KiB to 64 KiB, dark is more"
    assert [text.text for text in picture.iter("text")] == ["1 KiB", "bytes", "64 KiB"]
    brightness = [sum(bytes.fromhex(fill[1:])) for fill in fills(pattern)]
    assert brightness == sorted(brightness, reverse=True)
    cells = [path.get("fill") for path in picture.iter("path")]
    assert (cells[0], cells[2]) == (fills(pattern)[0], fills(pattern)[-1])
    schedule = conset.compile("alltoall", "mesh:2x2", method="coloring")
    assert [text.text for text in parsed(schedule).iter("text")] == ["0", "phase", "2"]


def test_a_thumbnail_of_one_value_says_it() -> None:
    pattern = Pattern.from_messages([0, 1], [1, 0], [4096, 4096], 2)
    assert [text.text for text in parsed(pattern).iter("text")] == ["bytes 4 KiB in every cell"]
    assert not list(parsed(Pattern.from_messages([], [], [], 2)).iter("svg"))


def test_bounds() -> None:
    found = conset.bound("alltoall:size=1KiB", "mesh:4x4")
    words = words_of(found)
    assert f"{found.phases:,}" in words
    assert found.phases_witness in words
    assert found.time_class in words
    machine = parse_machine("paragon:4x4")
    staged = bound_stages(parse_pattern("alltoall", ranks=16), machine, stages=2)
    assert f"{staged.sends:,}" in words_of(staged)
    assert "at most 2 stages" in words_of(staged)


def test_predictions() -> None:
    schedule = conset.compile(
        "alltoall:size=1KiB", "paragon:4x4", method="coloring", sync="barrier"
    )
    timing = conset.predict(schedule)
    words = words_of(timing)
    assert f"by {timing.by} on paragon:4x4" in words
    assert timing.prediction.formula in words
    heights = [
        float(rect.get("height", ""))
        for rect in parsed(timing).iter("rect")
        if rect.get("width") == "46"
    ]
    times = [timing.terms[name] for name in timing.terms]
    assert np.array(heights) / sum(heights) == pytest.approx(np.array(times) / sum(times), abs=1e-3)
    assert "by formula on paragon:4x4" in words_of(timing.prediction)
    assert timing.prediction.witness in words_of(timing.prediction)


def test_verifications() -> None:
    schedule = conset.compile("alltoall", "mesh:2x2", method="coloring")
    good = conset.verify(schedule)
    assert good.ok
    assert "every rule holds" in words_of(good)
    broken = conset.verify(replace(schedule, phase_offsets=np.array([0, schedule.transfers])))
    assert not broken.ok
    words = words_of(broken)
    for rule in {violation.rule for violation in broken.violations}:
        assert rule in words
    assert broken.violations[0].text in words
    assert "none" not in verification_html(replace(good, figures={}))


def test_timelines() -> None:
    schedule = conset.compile("alltoall", "mesh:2x2", method="naive")
    timeline = conset.simulate(schedule)
    words = words_of(timeline)
    assert timeline.model in words
    most = max(
        int(((timeline.start_s <= t) & (timeline.end_s > t)).sum()) for t in timeline.start_s
    )
    assert f"{most} messages under way at most" in words
    bare = replace(timeline, workload=None)
    assert "mean latency" in words_of(bare)


@pytest.mark.parametrize("make", [conset.predict, conset.verify, conset.simulate])
def test_names_are_text(make: Any) -> None:
    schedule = conset.compile("alltoall", "mesh:2x2", method="coloring")
    evil = "<script>alert(1)</script>"
    schedule = replace(schedule, machine=replace(schedule.machine, name=evil))
    assert "<script" not in make(schedule)._repr_html_()
