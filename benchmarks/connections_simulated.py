"""Writes docs/connections-simulated.md: the text's patterns, element by element, beside its measured columns.

    PYTHONPATH=src python benchmarks/connections_simulated.py [OUT.md]

Feldmann, Stricker and Warfel measured three patterns on an 8 x 8 iWarp (Tables 1 to 3). Their schedules, made again by
`conset_papers.conset_iwarp`, are simulated by `connections`: words move hop by hop through the linkage tables. Once as
the text's programs ran them, a node sending on one connection and receiving from one; once interleaved, all connections
of a node at once; and both without the 104 clocks of a transfer, which are a fit. The complete exchange is the mean
over the seeds of the router. About three minutes.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import conset
from conset.files import replacing
from conset.simulation import Timeline
from conset_papers.conset_iwarp.basic import ALL_TO_ALL, BASICS, SIZES, Basic
from conset_papers.conset_iwarp.columns import Setting, published, schedule_of
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
        beside = {} if way.queue is None else {"queue": way.queue}
        timeline = conset.simulate(
            schedule, model=way.model, sync="barrier", in_flight=way.in_flight, receives=way.in_flight,
            receive_order=way.receive_order, **beside,
        )  # fmt: skip
        found.append((clocks(timeline.time_s), timeline))
    return tuple(found)


def mean(which: Basic, words: int, way: Way) -> float:
    """The mean over the seeds [clocks]."""
    return float(np.mean([time_s for time_s, _ in runs(which, words, way)]))


def beside_measured() -> list[str]:
    """The table of the text's cells."""
    lines = [
        "| pattern | words | measured | one at a time | error | interleaved | error | one, free | interleaved, free | "
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
                which.name, f"{words:,}", f"{measured:,.0f}", f"{one:,.0f}", f"{one / measured - 1:+.1%}",
                f"{every:,.0f}", f"{every / measured - 1:+.1%}", *free, f"{row['conset_predicted']:,.0f}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def parts() -> list[str]:
    """Where the time of the largest size goes, in transfers of all words over one port."""
    words = SIZES[-1]
    lines = [
        "| pattern | phases | switches [clocks] | drained [clocks] | busiest port | busiest link | interleaved | "
        "one at a time | measured |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for which in BASICS:
        _, timeline = runs(which, words, ONE)[0]
        switch, unit = timeline.figures["switch"], 2.0 * words
        opened = clocks(timeline.figures["opening_s"] + switch["synchronization_s"] + switch["setup_s"])
        sums = [_loads(which, words, of_links) for of_links in (False, True)]
        simulated = [(mean(which, words, way) - opened) / unit for way in (ALL_FREE, ONE_FREE)]
        measured = (published(which.table)[words]["conset_measured"] - opened) / unit
        cells = [which.name, f"{switch['count'] + 1}", f"{opened:,.0f}", f"{clocks(switch['drain_s']):,.0f}"]
        cells += [f"{value:.2f}" for value in (*sums, *simulated, measured)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _loads(which: Basic, words: int, of_links: bool) -> float:
    """The sum over phases of the most transfers at a port, or on a link."""
    loads = conset.schedule.loads.phase_loads(schedule_of(which, words, Setting("")))
    return float((loads.link if of_links else np.maximum(loads.send, loads.receive)).sum())


def assumptions() -> list[str]:
    """What queues and the order of receives change, at 256 words."""
    lines = ["| pattern | receives in any order | flow | " + " | ".join(f"queue {q}" for q in QUEUES) + " |"]
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

`conset simulate FILE --model connections` loads the linkage tables of each phase and moves every word hop by hop: out
of the sender's gate into its first channel, at every node over the link and into the channel that the table says, out
of the target's gate. Gates and links take one word after the other, in turn, from the connections that wait and have
room behind; a channel holds 8 words (assumed; see below). Phases are switched: drain, synchronization, set-up.
Times in clocks of 50 ns. Measured and predicted: Feldmann, Stricker, Warfel, Tables 1 to 3, ConSet columns.

*One at a time*: a node sends on one connection and receives from one, in the order of its list, and pays 104 clocks for
each transfer at both ends (`--in-flight 1 --receives 1`). *Interleaved*: all connections of a node at once
(`--in-flight all --receives all`). *Free*: nothing per transfer (`--set per_transfer=0`).

{measured}

What differs, and why:

- **One at a time is what was measured.** The text's programs transfer with a tight loop over one connection; all cells
  from 256 words on are within 4 %. The 104 clocks of a transfer are a fit of this column (`conset show --machine
  iwarp`), so small sizes agree by construction in sum, not one by one; the shape over the sizes and over the patterns
  is the model's own.
- **The prediction of the text is the interleaved time without a cost of a transfer**, where no link is narrower than the
  ports: torus and gray butterfly meet it to a few clocks of latency. It counts ports alone, so it misses what links
  cost in the complete exchange.
- **Order costs more than links.** In transfers of all words over one port, 16,384 words:

{parts}

  The butterfly has at most 3 transfers on a link and 3 at a port in each of its two phases: 6 transfers interleaved.
  One at a time it is 10: in a phase the nodes exchange along one dimension after the other, in step, and where the
  exchange goes over two links of a ring, two routes share each link while the links that the other exchanges use stand
  still. The complete exchange has the same effect on the lists of AS, which knows processors and no links.
- **Draining is no matter**: of the time between phases it is what the last words need to arrive, below 1 % even at
  32 words.
- What is left of the measured time at 32 words, 10 % in the complete exchange, is nothing that connections do: it does
  not grow with the words, and no queue or order below makes it.

What is assumed and how much it matters, at 256 words:

{assumptions}

A word keeps its place in a channel from when it begins to cross the link until it has crossed the next one: 2 + 4 + 2
clocks here, so 4 words keep up with a link, and fewer do not. From 4 on the length of queues changes little, as most
words wait in memory, not in queues. The text gives no figure; 8 words is an assumption. `flow` shares links max-min
and lets a sender wait for its receiver's turn, where a real sender fills the queues of the connection first.

Speed: {speed}
"""


def main(out: Path) -> None:
    """Writes the page."""
    begun = time.perf_counter()
    tables = {"measured": beside_measured(), "parts": parts(), "assumptions": assumptions()}
    text = {name: "\n".join(lines) for name, lines in tables.items()}
    text["parts"] = "\n".join(f"  {line}" for line in tables["parts"])
    _, largest = runs(ALL_TO_ALL, SIZES[-1], ONE)[0]
    hops = largest.figures["element_hops"]
    text["speed"] = (
        f"the complete exchange of {SIZES[-1]:,} words moves words {hops:,} times (each once for every gate and link), "
        "about 20 to 35 million a second, 30 to 50 ns each, on one core of the computer that this page was made on."
    )
    with replacing(out) as temporary:
        temporary.write_text(TEXT.format(**text), encoding="utf-8")
    print(f"{out}: {time.perf_counter() - begun:.0f} s, {hops / largest.elapsed_s / 1e6:.0f} million moves a second")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
