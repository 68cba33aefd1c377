"""HTML of outcomes: what notebooks show of bounds, predictions, verifications and timelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from conset.base.notebook import register_form
from conset.base.units import count_of, format_load, format_time
from conset.bounds.bounds import Bounds
from conset.bounds.stages import StageBounds
from conset.models.formula.prediction import Prediction
from conset.models.timeline import Timeline
from conset.models.usage import under_way
from conset.report import style
from conset.report.facts import LOADS, TERM_LABELS, Fact
from conset.report.html import SIDE, card, legend_word, small_picture
from conset.report.outcome import verified_program_text
from conset.report.terminal_timeline import timeline_facts
from conset.report.timeline_view import TimelineView
from conset.studies.times import Timing
from conset.verification.verification import RULES, Verification

KINDS = 12
"""Most rules that are listed of a verification."""
BINS = 80
"""Steps of the small picture of a timeline."""


def bounds_html(bounds: Bounds) -> str:
    """What no schedule beats, with what proves it and of which schedules it speaks."""
    facts = [
        Fact("phases, at least", f"{bounds.phases:,}", bounds.phases_witness),
        Fact("of all", bounds.phases_class),
        Fact("time, at least", format_time(bounds.time_s), bounds.time_witness),
        Fact("of all", bounds.time_class),
        Fact(
            "sum of loads, at least",
            format_load(bounds.load_sum, grouped=True),
            bounds.load_sum_witness,
        ),
        Fact("of all", bounds.load_sum_class),
        Fact("the largest of", count_of(len(bounds.candidates), "bound")),
    ]
    return card("Bounds", "what no schedule beats", (fact for fact in facts if fact.value))


def stage_bounds_html(bounds: StageBounds) -> str:
    """What no program that forwards in stages beats."""
    of = (
        "any number of stages"
        if bounds.stages is None
        else f"at most {count_of(bounds.stages, 'stage')}"
    )
    facts = [
        Fact("time, at least", format_time(bounds.time_s), bounds.time_witness),
        Fact("sends of a rank, at least", f"{bounds.sends:,}", bounds.sends_witness),
        Fact("of all", bounds.stages_class),
        Fact("volume, at least", f"{bounds.volume:.3f} of the bytes", bounds.volume_witness),
        Fact("of all", bounds.volume_class),
    ]
    return card("Bounds", f"what no program of {of} beats", facts)


def prediction_html(prediction: Prediction) -> str:
    """The time by formula and what it is made of."""
    name = f"{format_time(prediction.time_s)} by formula on {prediction.machine}"
    return card("Prediction", name, _prediction_facts(prediction), _terms(prediction.terms))


def timing_html(timing: Timing) -> str:
    """The time, by what, and what it is made of."""
    said = timing.prediction
    facts = _prediction_facts(said)
    if timing.by != "formula":
        facts[:0] = [Fact("by formula", f"{format_time(said.time_s)}, which ignores blocking")]
    if timing.stands_in:
        facts[:0] = [Fact("instead of the model", timing.stands_in)]
    name = f"{format_time(timing.time_s)} by {timing.by} on {said.machine}"
    return card("Timing", name, facts, _terms(timing.terms))


def _prediction_facts(prediction: Prediction) -> list[Fact]:
    phases = prediction.phase_s
    facts = [
        Fact("under", f"sync {prediction.sync}"),
        Fact("formula", prediction.formula),
        Fact("busiest", prediction.witness),
        Fact("phases", f"{phases.size:,}"),
    ]
    return [*facts, *(Fact("warning", line) for line in prediction.warnings)]


def verification_html(verification: Verification) -> str:
    """The verdict and the figures.

    Of what is broken, each rule once, with how often and where first.
    """
    figures = verification.figures
    facts: list[Fact] = []
    counts = Counter(violation.rule for violation in verification.violations)
    first = {violation.rule: violation.text for violation in reversed(verification.violations)}
    for rule, count in list(counts.items())[:KINDS]:
        facts.append(Fact(rule, f"{count:,} ×, first: {first[rule]}", RULES.get(rule, "")))
    if len(counts) > KINDS:
        facts.append(Fact("", f"… {count_of(len(counts) - KINDS, 'more rule')}"))
    if "load" in figures:
        load = ", ".join(f"{name} {format_load(figures['load'][name])}" for name in LOADS)
        facts += [Fact("phases", f"{figures['phases']:,}"), Fact("largest load", load)]
    elif figures:
        facts.append(Fact("counted", verified_program_text(figures)))
    broken = count_of(len(verification.violations), "violation")
    return card("Verification", "every rule holds" if verification.ok else broken, facts)


def timeline_html(timeline: Timeline) -> str:
    """What happened, and a small picture: messages under way over time."""
    name = (
        f"{format_time(timeline.time_s)} by {timeline.model} on {timeline.machine}, sync "
        f"{timeline.sync}"
    )
    if timeline.workload is None:
        facts = [
            Fact("messages", f"{timeline.messages:,}"),
            Fact("mean latency", format_time(timeline.mean_latency_s)),
        ]
    else:
        facts = timeline_facts(TimelineView(timeline))
    return card("Timeline", name, facts, _under_way(timeline))


def _terms(terms: Mapping[str, float]) -> str:
    """What a time is made of: a bar, and below it each part with its time."""
    whole = sum(terms.values())
    if not whole:
        return ""
    high, y, body = SIDE - 40, 0.0, []
    for k, (name, seconds) in enumerate(terms.items()):
        part, colour = high * seconds / whole, style.TERM_COLOURS[name]
        label = f"{TERM_LABELS[name]} {format_time(seconds)}"
        body.append(f'<rect x="0" y="{y:.2f}" width="46" height="{part:.2f}" fill="{colour}"/>')
        top = high + 12 + 16 * k
        body.append(
            f'<rect x="0" y="{top}" width="9" height="9" '
            f'fill="{colour}"/>{legend_word(14, label, y=top + 9)}'
        )
        y += part
    said = ", ".join(
        f"{TERM_LABELS[name]} {format_time(seconds)}" for name, seconds in terms.items()
    )
    return small_picture("".join(body), said, "")


def _under_way(timeline: Timeline) -> str:
    """Messages under way over time; the most of them and the whole time are written."""
    ended = np.isfinite(timeline.end_s)
    start_s, end_s = timeline.start_s[ended], timeline.end_s[ended]
    whole_s = float(end_s.max(initial=0.0))
    if not whole_s:
        return ""
    change = np.repeat([1, -1], end_s.size)
    order = np.lexsort(
        (change, np.concatenate([start_s, end_s]))
    )  # what ends makes room for what starts
    most = int(np.cumsum(change[order]).max())
    count = under_way(start_s, end_s, np.linspace(0.0, whole_s, BINS + 1))[0] / max(most, 1)
    top, high, wide = 22, SIDE - 12, SIDE / BINS
    steps = "".join(
        f"L{wide * k:g} {top + (high - top) * (1 - value):.2f}h{wide:g}"
        for k, value in enumerate(count)
    )
    body = (
        f'<path d="M0 {high}{steps}V{high}z" fill="{style.ACCENT}"/><path d="M0 {high}H{SIDE}" '
        f'stroke="{style.PALE}"/>'
    )
    said = f"{count_of(most, 'message')} under way at most"
    words = legend_word(0, said, y=12) + legend_word(0, "0", y=high + 14)
    words += legend_word(SIDE, format_time(whole_s), "end", high + 14)
    return small_picture(body, f"{said}, over {format_time(whole_s)}", words)


register_form(Bounds, bounds_html)
register_form(StageBounds, stage_bounds_html)
register_form(Prediction, prediction_html)
register_form(Timing, timing_html)
register_form(Verification, verification_html)
register_form(Timeline, timeline_html)
