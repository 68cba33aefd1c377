"""Draws `message_life.svg`, the picture of `docs/cost-model.md`.

`python docs/pictures/message_life.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from conset.report.style import ACCENT, BOUND, FAINT, INK, QUIET, new_figure, save

SEND, LATENCY, HOP, BYTES, RECEIVE = 2.0, 3.5, 0.8, 3.4, 2.2
HOPS = 3
ROWS = [
    "sending processor of s",
    "latency",
    "link 1",
    "link 2",
    "link 3",
    "port out of s, port in of t",
    "receiving processor of t",
    "slot of s",
]
HELD = "#b9cfe0"
AFTER, BEFORE = "when the bytes have arrived", "before bytes flow, the path is held"


def bar(
    axes: Axes,
    row: int,
    start: float,
    length: float,
    colour: str,
    text: str = "",
    ink: str = "white",
) -> None:
    """A bar of a row with its text inside."""
    axes.barh(-row, length, left=start, height=0.62, color=colour, edgecolor="none")
    axes.text(start + length / 2, -row, text, ha="center", va="center", color=ink, fontsize=8.5)


def life(axes: Axes, receive: str) -> float:
    """One message of three links from time 0 on; its delivery."""
    path = SEND + LATENCY + HOPS * HOP
    flow = path + (RECEIVE if receive == "before" else 0)
    left = flow + BYTES
    bar(axes, 0, 0, SEND, ACCENT, "send_overhead")
    bar(axes, 1, SEND, LATENCY, FAINT, "per_transfer + inject + eject", INK)
    for k in range(HOPS):
        taken = SEND + LATENCY + k * HOP
        bar(axes, 1, taken, HOP, FAINT, "hop", INK)
        axes.plot([taken, taken], [-0.69, -1.31], color="white", lw=1)
        bar(axes, 2 + k, taken, flow - taken, HELD, "held" if flow - taken > HOP else "", INK)
        bar(axes, 2 + k, flow, BYTES, ACCENT, "bytes")
    bar(axes, 5, flow, BYTES, ACCENT, "bytes at the least rate r")
    bar(axes, 6, path if receive == "before" else left, RECEIVE, ACCENT, "receive_overhead")
    bar(axes, 7, 0, left, HELD, "one of in_flight", INK)
    delivered = left if receive == "before" else left + RECEIVE
    for time, text in ((0.0, "2"), (SEND, "3"), (path, "4"), (left, "5, 6"), (delivered, "7")):
        if text == "7" and receive == "before":
            continue
        axes.axvline(time, color=QUIET, lw=0.6, ls=(0, (3, 3)), zorder=0)
        axes.text(time, 0.75, text, ha="center", va="bottom", color=QUIET, fontsize=8.5)
    axes.axvline(delivered, color=BOUND, lw=1.2, zorder=0)
    axes.text(delivered + 0.1, -7.55, "delivered", ha="left", va="top", color=BOUND, fontsize=9)
    return delivered


def draw() -> Figure:
    """Both places of the receiver's work, one above the other."""
    figure = new_figure(10, 6.4)
    panels = figure.subplots(2, 1, sharex=True)
    for axes, receive, when in zip(panels, ("after", "before"), (AFTER, BEFORE), strict=True):
        life(axes, receive)
        axes.set_title(f"receive={receive}: the receiver works {when}", pad=18)
        axes.set_yticks([-row for row in range(len(ROWS))], ROWS)
        axes.set_xticks([])
        axes.set_ylim(-7.9, 0.6)
        axes.set_xlim(0, SEND + LATENCY + HOPS * HOP + BYTES + RECEIVE + 1.1)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
    panels[1].set_xlabel("time; numbers: the step that has ended")
    return figure


if __name__ == "__main__":
    save(draw, sys.argv[1] if sys.argv[1:] else Path(__file__).with_suffix(".svg"))
