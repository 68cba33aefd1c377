"""Writes docs/connections-simulated.md.

The text's patterns, element by element, beside its measured columns.

    PYTHONPATH=src python benchmarks/connections_simulated.py [OUT.md]

Feldmann, Stricker and Warfel measured three patterns on an 8 x 8 iWarp (Tables 1 to 3). Their
schedules, made again by `conset_papers.conset_iwarp`, are simulated by `connections`: words move
hop by hop through the linkage tables. Once as the text's programs ran them, a node sending on one
connection and receiving from one; once interleaved, all connections of a node at once; and both
without the 104 clocks of a transfer, which are a fit. The complete exchange is the mean over the
seeds of the router. A few minutes.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import conset
from conset.base.files import replacing
from conset.models import Timeline
from conset.schedule.loads import phase_loads
from conset_papers.conset_iwarp.columns import (
    ALL_TO_ALL,
    BASICS,
    SIZES,
    Basic,
    Setting,
    published,
    schedule_of,
)
from conset_papers.conset_iwarp.machine import clocks

OUT = Path(__file__).resolve().parents[1] / "docs/connections-simulated.md"
FREE = "per_transfer=0"
QUEUES = (1, 2, 3, 4, 8, 64)
MOST = 2048
"""Words up to which all seeds are averaged; above, the first one alone."""


@dataclass(frozen=True)
class Way:
    """How connections of a node are used."""

    in_flight: str = "1"
    words: str = ""
    queue: int | None = None
    receive_order: str = "list"
    model: str = "connections"


ONE, ALL = Way(), Way("all")
ONE_FREE, ALL_FREE = Way(words=FREE), Way("all", FREE)


@lru_cache(maxsize=512)
def runs(which: Basic, words: int, way: Way) -> tuple[tuple[float, Timeline], ...]:
    """(time [clocks], timeline) of every seed."""
    seeds = which.seeds if words <= MOST else 1
    found = []
    for seed in range(seeds):
        schedule = schedule_of(which, words, Setting("", way.words), seed)
        timeline = conset.simulate(
            schedule,
            model=way.model,
            sync="barrier",
            in_flight=way.in_flight,
            receives=way.in_flight,
            receive_order=way.receive_order,
            queue=way.queue,
        )
        found.append((clocks(timeline.time_s), timeline))
    return tuple(found)


def mean(which: Basic, words: int, way: Way) -> float:
    """The mean over the seeds [clocks]."""
    return float(np.mean([time_s for time_s, _ in runs(which, words, way)]))


def beside_measured() -> list[str]:
    """The table of the text's cells."""
    lines = [
        "| pattern | words | measured | one at a time | error | interleaved | error | one, free | "
        "interleaved, free | "
        "predicted |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for which in BASICS:
        for words in SIZES:
            row = published(which.table)[words]
            measured = row["conset_measured"]
            one, every = (mean(which, words, way) for way in (ONE, ALL))
            free = [f"{mean(which, words, way):,.0f}" for way in (ONE_FREE, ALL_FREE)]
            cells = [
                which.name,
                f"{words:,}",
                f"{measured:,.0f}",
                f"{one:,.0f}",
                f"{one / measured - 1:+.1%}",
                f"{every:,.0f}",
                f"{every / measured - 1:+.1%}",
                *free,
                f"{row['conset_predicted']:,.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def parts() -> list[str]:
    """Where the time of the largest size goes, in transfers of all words over one port."""
    words = SIZES[-1]
    lines = [
        "| pattern | phases | switches [clocks] | drained [clocks] | busiest port | busiest link "
        "| interleaved | "
        "one at a time | measured |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for which in BASICS:
        _, timeline = runs(which, words, ONE)[0]
        switch, unit = timeline.figures["switch"], 2.0 * words
        opened = clocks(
            timeline.figures["opening_s"] + switch["synchronization_s"] + switch["setup_s"]
        )
        sums = [_loads(which, words, of_links) for of_links in (False, True)]
        simulated = [(mean(which, words, way) - opened) / unit for way in (ALL_FREE, ONE_FREE)]
        measured = (published(which.table)[words]["conset_measured"] - opened) / unit
        cells = [
            which.name,
            f"{switch['count'] + 1}",
            f"{opened:,.0f}",
            f"{clocks(switch['drain_s']):,.0f}",
        ]
        cells += [f"{value:.2f}" for value in (*sums, *simulated, measured)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _loads(which: Basic, words: int, of_links: bool) -> float:
    """The sum over phases of the most transfers at a port, or on a link."""
    loads = phase_loads(schedule_of(which, words, Setting("")))
    return float((loads.link if of_links else np.maximum(loads.send, loads.receive)).sum())


def assumptions() -> list[str]:
    """What queues and the order of receives change, at 256 words."""
    lines = [
        "| pattern | receives in any order | flow | "
        + " | ".join(f"queue {q}" for q in QUEUES)
        + " |"
    ]
    lines.append("| --- |" + " ---: |" * (len(QUEUES) + 2))
    for which in BASICS:
        for name, way in (("one at a time", ONE), ("interleaved", ALL)):
            ways = [Way(way.in_flight, receive_order="any"), Way(way.in_flight, model="flow")]
            ways += [Way(way.in_flight, queue=queue) for queue in QUEUES]
            cells = [f"{which.name}, {name}", *(f"{mean(which, 256, each):,.0f}" for each in ways)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


TEXT = """# Connections simulated, beside the text's measurements

Generated by `benchmarks/connections_simulated.py`; simulated, so the same on every computer.

`conset simulate FILE --model connections` loads the linkage tables of each phase and moves every \
word hop by hop: out
of the sender's gate into its first channel, at every node over the link and into the channel that \
the table says, out
of the target's gate. Gates and links take one word after the other, in turn, from the connections \
that wait and have
room behind; a channel holds 8 words (assumed; see below). Phases are switched: drain, \
synchronization, set-up.
Times in clocks of 50 ns. Measured and predicted: Feldmann, Stricker, Warfel, Tables 1 to 3, \
ConSet columns.

*One at a time*: a node sends on one connection and receives from one, in the order of its list, \
and pays 104 clocks for
each transfer at both ends (`--in-flight 1 --receives 1`). *Interleaved*: all connections of a \
node at once
(`--in-flight all --receives all`). *Free*: nothing per transfer (`--set per_transfer=0`). The \
schedules are
those by hand of `conset reproduce conset`: torus and butterfly in dimension order, the complete \
exchange by the text's
router in 30 phases with lists by AS, the mean of {seeds} seeds up to 2,048 words, of one seed \
above.

{measured}

One at a time is what was measured: from 256 words on every cell is within 4 %. The 104 clocks of \
a transfer are a fit
of these tables (by `flow`); the shape over sizes and patterns is the model's own. The complete \
exchange depends on the
router's random order, which the text does not give: the first seed alone is 1 % above the mean of \
five.

Why the columns differ, at 16,384 words in units of one transfer over a port, switches left out:

{parts}

*Busiest port* and *busiest link* are sums over the phases of the most transfers at one; nothing \
is faster.

- **Torus**: no two routes share a link, so order does not matter. Interleaved, free is the text's \
prediction and the
  latency of a word; the measured time has the cost of a transfer four times on top.
- **Butterfly**: interleaved, ports and links are busy throughout, 6 units, as the text predicts. \
One at a time it is
  10, and so was measured: the nodes exchange along one dimension after the other, in step. Where \
this goes over three
  links of a ring, two routes share a link while links that other exchanges need stand still; \
interleaved, the other
  exchanges fill them.
- **Complete exchange**: the prediction counts 63 transfers at each port, as if phases were \
balanced. The router's are
  not: the busiest ports add up to 2.7 times that, links to a little more. Interleaved, the time \
is 5 % above the
  busiest links. One at a time it is 1.6 times that, and within 1 % of what was measured: lists by \
AS know processors
  and no links, so a transfer waits for a partner that is held up on a link elsewhere.
- **Draining** is what the last words of a phase need when no sender has any left. It is no cost \
of large transfers, and
  6 % of the complete exchange of 32 words.
- **What is left** at small sizes: in the complete exchange 5,500 clocks at 32 words and 5,300 at \
256, about 180 a
  phase; in the butterfly 100 and 112 a phase; in the torus, which opens one phase, nothing. So it \
goes with phases
  rather than words, and may be a cost of entering one beside the 528 clocks that the text states; \
three patterns are
  too few to tell it from the cost of a transfer. From 2,048 words on torus and butterfly are 0.4 \
to 1.4 % too fast, in
  proportion to the words: the measured loops did not quite keep up with a port.

What is assumed and how much it matters, at 256 words:

{assumptions}

A word keeps its place in a channel from when it begins to cross the link until it has crossed the \
next one: 2 + 4 + 2
clocks here. So 4 words keep up with a link, and fewer do not. Interleaved, longer queues change \
nothing. One at a time
they let a sender go on to its next transfer while its receiver is still busy with another one: \
with 64 words to a
channel a message of 256 is mostly in the network, which saves 13 %; of 8 words to a channel, a \
long message has nearly
nothing. The text gives no figure; 8 is an assumption. Receives in any order lose the step that \
lists keep: 4 to 12 %.
`flow` shares links max-min and has a sender wait for its receiver's turn; where a sender fills \
queues first, the
butterfly is 1.4 % faster.

Speed: {speed}
"""


def main(out: Path) -> None:
    """Writes the page."""
    begun = time.perf_counter()
    tables = {"measured": beside_measured(), "parts": parts(), "assumptions": assumptions()}
    text = {name: "\n".join(lines) for name, lines in tables.items()}
    _, largest = runs(ALL_TO_ALL, SIZES[-1], ONE)[0]
    hops = largest.figures["element_hops"]
    text["speed"] = (
        f"the complete exchange of {SIZES[-1]:,} words moves words {hops:,} times, once for every "
        "gate and link.\n"
        "On two shared cores 14 to 36 million moves a second were seen, 28 to 70 ns each; "
        "interleaving costs more, as\n"
        "more connections wait in turn."
    )
    text["seeds"] = str(ALL_TO_ALL.seeds)
    with replacing(out) as temporary:
        temporary.write_text(TEXT.format(**text), encoding="utf-8")
    print(
        f"{out}: {time.perf_counter() - begun:.0f} s, {hops / largest.elapsed_s / 1e6:.0f} "
        "million moves a second"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
