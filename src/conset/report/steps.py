"""Phases of a schedule step by step: the data that the page's script (`steps.js`) draws from.

The network as other pictures draw it, and of every transfer its ranks, size, links, start and end.
Compressed, so that ten thousand messages stay below a hundred kilobytes; a reader without
JavaScript has the still pictures.
"""

from __future__ import annotations

import base64
import json
import zlib
from importlib.resources import files
from typing import Any

import numpy as np
from markupsafe import Markup

from conset.base import Floats, Ints, Ints32
from conset.models import Timeline
from conset.report.network_layout import Plan, plan_of, positions
from conset.schedule import Schedule, transfer_links

MAX_TRANSFERS, MAX_NODES = 20_000, 1_500
"""Schedules and networks beyond these are not stepped through."""
TICKS = 10_000
"""Steps of the time axis."""


def has_steps(schedule: Schedule) -> bool:
    """Return whether a schedule is small enough, and its routes are known."""
    topology = schedule.machine.topology
    known = schedule.machine.routing.is_known or schedule.route_offsets is not None
    return known and 0 < schedule.transfers <= MAX_TRANSFERS and topology.nodes <= MAX_NODES


def steps_card(schedule: Schedule, timeline: Timeline | None) -> str:
    """Return the element and its data, as HTML.

    Args:
        schedule: of which `has_steps` is true.
        timeline: when each of its transfers starts and ends; None: the time axis is left out.
    """
    data = json.dumps(_data(schedule, timeline), separators=(",", ":"))
    packed = base64.b64encode(zlib.compress(data.encode(), 9)).decode()
    return Markup('<div class="steps" hidden data-steps="{}"></div>').format(packed)


def script() -> Markup:
    """Return the script of a page with such elements."""
    return Markup(files("conset.report").joinpath("steps.js").read_text(encoding="utf-8"))


def _data(schedule: Schedule, timeline: Timeline | None) -> dict[str, Any]:
    pattern, topology = schedule.pattern, schedule.machine.topology
    nodes = schedule.nodes_of(np.arange(pattern.ranks, dtype=np.int32))
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    offsets, links = transfer_links(schedule)
    used, index = np.unique(links, return_inverse=True)
    place, ends, own = _places(schedule, used)
    # of each link its number among those that leave its place: routes go on as they went
    order = np.argsort(ends[:, 0], kind="stable")
    begins = np.searchsorted(ends[order, 0], ends[order, 0])
    number = np.empty(used.size, np.int64)
    number[order] = np.arange(used.size) - begins
    data: dict[str, Any] = {
        "place": np.round((place - place.min(axis=0)) * 1000).astype(int).tolist(),
        "rank": own[nodes].tolist(),
        "wires": ends.tolist(),
        "hops": np.diff(offsets).tolist(),
        "ways": number[index].tolist(),
        "bent": topology.wraps,
        "names": [topology.link_name(int(link)) for link in used],
        "phases": schedule.phase_offsets.tolist(),
        "source": source.tolist(),
        "target": target.tolist(),
        "bytes": schedule.size.tolist(),
    }
    if timeline is not None and timeline.start_s.shape == source.shape and timeline.time_s > 0:
        unit = TICKS / timeline.time_s
        start = np.round(timeline.start_s * unit).astype(np.int64)
        data["time_s"] = timeline.time_s
        data["model"] = timeline.model
        data["start"] = start.tolist()
        data["took"] = (np.round(timeline.end_s * unit).astype(np.int64) - start).tolist()
    return data


def _places(schedule: Schedule, used: Ints32) -> tuple[Floats, Ints, Ints]:
    """(places of what is drawn, its ends for every used link, what is drawn for every node)."""
    topology = schedule.machine.topology
    plan: Plan | None = plan_of(topology) if topology.kind == "graph" else None
    place = positions(topology) if plan is None else plan.place
    own = np.arange(topology.nodes) if plan is None or plan.part is None else plan.part
    ends = np.stack(topology.ends, axis=1)[used] if used.size else np.zeros((0, 2), np.int64)
    return place * (1.0, -1.0), own[ends], own
