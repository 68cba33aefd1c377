"""Section 7: the text's four conclusions, and the assumption that decides each border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.wang_ranka.borders import (
    NAMES,
    POWERS,
    above,
    format_bytes,
    last_of_ac,
    last_of_class,
    powers_off,
    winners,
)
from conset_papers.wang_ranka.times import (
    AC,
    AC_RANDOM,
    DEGREES,
    LP,
    RS_N,
    RS_NL,
    SEEDS,
    SET_UPS,
    SIZES,
    TEXT,
    Algorithm,
    Times,
    compiled,
    fact,
    set_up,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ABOUT = (
    "random:degree=d, regular both ways, on ipsc860:64, mean of {seeds} drawings, simulated by "
    "circuit; LP and "
    "RS_NL under ready (S1), AC and RS_N under none (S2), AC in ascending order. Each row of "
    "`What decides` changes "
    "one assumption: words are those of `--set`, so `conset simulate FILE --model circuit --set "
    "WORDS` shows the "
    "same."
)
DEPARTURES = (
    "the text prefers exchanges in RS_NL and leaves how to its reference [15]; here x tries to "
    "send to whoever "
    "sends to it already, and few messages meet their exchange: RS_NL's gain comes from free "
    "links and S1, not from "
    "exchanges",
)


@dataclass(frozen=True)
class Setting:
    """One assumption changed.

    Attributes:
        name: for people.
        label: as after `--set`.
        algorithms: who takes part, under which policies.
    """

    name: str
    label: str = ""
    algorithms: tuple[Algorithm, ...] = TEXT


SETTINGS = (
    Setting("as stated"),
    Setting("AC in random order", algorithms=(replace(AC_RANDOM, name=AC.name), LP, RS_N, RS_NL)),
    Setting("exchanges overlap nothing", "exchange_weight=1"),
    Setting("full duplex: sends and receives always overlap", "node=none"),
    Setting("S2 for all", algorithms=tuple(replace(one, sync="none") for one in TEXT)),
    Setting("S1 for all", algorithms=tuple(replace(one, sync="ready") for one in TEXT)),
    Setting(f"{SET_UPS[0]} us for every permutation", set_up(SET_UPS[0])),
    Setting("all messages in flight", "in_flight=all"),
    Setting("a processor for sends, one for receives", "processors=two"),
    Setting("receive overhead after the message", "receive=after"),
    Setting("one protocol (FORCED)", "overhead=95us,hop=10.3us,hop_by_size=none"),
)
"""What the text states first, then its neighbours."""


def reproduce(seeds: int = SEEDS, settings: Sequence[Setting] = SETTINGS) -> Item:
    """Simulates the text's setting and its neighbours.

    Args:
        seeds: drawings of each density.
        settings: the first three of `SETTINGS`, and as many more as are to be shown.
    """
    found = [simulated(one.algorithms, setting=one.label, seeds=seeds) for one in settings]
    times, without = found[0], found[2]
    return Item(
        "wang-ranka",
        "Section 7",
        "the conclusions, and which assumption decides",
        ABOUT.format(seeds=seeds),
        claims=_claims(times, without),
        tables=(_table(settings, found),),
        pictures=(Picture(lambda: _draw(times, without)),),
        departures=DEPARTURES,
        basis="computed",
    )


def _claims(times: Times, without: Times) -> tuple[Claim, ...]:
    large = [(d, k) for d in DEGREES for k, size in enumerate(SIZES) if size >= 2048]
    slower = [times["AC", d][k] / min(times[name, d][k] for name in NAMES) for d, k in large]
    last = [max(NAMES, key=lambda name: times[name, 4][k]) for k in range(len(SIZES))]
    end = [winners(times, d)[-1] for d in DEGREES if d >= 32]

    def longer(name: str) -> str:
        return f"{_end(without, name, 32) / _end(times, name, 32):.2f} times"

    return (
        Claim(
            "conclusion 1: AC is suitable for small messages only",
            min(slower) > 1,
            f"from 2 KiB on it takes {min(slower):.2f} to {max(slower):.2f} times the "
            "best of the four",
        ),
        Claim(
            "conclusion 2: LP is not suitable for low d",
            set(last) == {"LP"},
            f"slowest of the four at d = 4 for {last.count('LP')} of {len(SIZES)} sizes",
        ),
        Claim(
            "conclusion 2: LP performs very well for large d",
            set(end) == {"LP"},
            f"fastest at 128 KiB for {end.count('LP')} of {len(end)} densities from 32 on",
        ),
        _falls("conclusion 3: avoiding node contention reduces the time", "AC", "RS_N", times),
        _falls(
            "conclusion 3: avoiding link contention too reduces it further", "RS_N", "RS_NL", times
        ),
        Claim(
            "conclusion 4: exchanges are worth exploiting: without their overlap LP is "
            "fastest nowhere",
            not any("LP" in winners(without, d) for d in DEGREES),
            f"LP at d = 32 and 128 KiB {longer('LP')} as long",
        ),
        Claim(
            "conclusion 4, beside: RS_NL gains from the overlap of exchanges too, 5 % or more at "
            "some density",
            max(_end(without, "RS_NL", d) / _end(times, "RS_NL", d) for d in DEGREES) >= 1.05,
            f"RS_NL at d = 32 and 128 KiB {longer('RS_NL')} as long; of its messages "
            + ", ".join(f"{100 * exchanged(d):.0f} %" for d in DEGREES)
            + " meet their exchange (d = 4 to 48)",
            asserted=False,
        ),
    )


def exchanged(degree: int) -> float:
    """Share of RS_NL's messages with the answer in the same permutation, first drawing."""
    schedule = compiled(RS_NL, degree, 0)
    ways = list(zip(schedule.phase_of, schedule.source_node, schedule.target_node, strict=True))
    known = set(ways)
    return sum((phase, target, source) in known for phase, source, target in ways) / len(ways)


def _end(times: Times, name: str, degree: int) -> float:
    return times[name, degree][-1]


def _falls(label: str, before: str, after: str, times: Times) -> Claim:
    """At 128 KiB `after` takes less than `before`, at every density."""
    saved = [1 - _end(times, after, d) / _end(times, before, d) for d in DEGREES]
    figures = ", ".join(f"{100 * share:.0f} %" for share in saved)
    return Claim(
        f"{label} (128 KiB)",
        min(saved) > 0,
        f"{after} takes less than {before} by {figures} (d = 4 to 48)",
    )


def _table(settings: Sequence[Setting], found: Sequence[Times]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for setting, times in zip(settings, found, strict=True):
        borders = last_of_class(times, 4), last_of_class(times, 32), above(times, 32, "LP")
        off = [
            powers_off(ours, int(published))
            for ours, published in zip(borders, _published(), strict=True)
        ]
        rows.append(
            (
                setting.name,
                setting.label,
                *(format_bytes(last_of_ac(times, d)) for d in (4, 32)),
                *map(format_bytes, borders),
                format_bytes(above(times, 48, "LP")),
                ", ".join(f"{d}" for d in DEGREES if "RS_NL" in winners(times, d)) or "none",
                *(max(_end(times, name, d) for name in NAMES) * 1e3 for d in (4, 32)),
                "yes" if max(map(abs, off)) <= POWERS else "no",
            )
        )
    columns = (
        "assumption",
        "words",
        "AC up to, d = 4",
        "AC up to, d = 32",
        "AC or RS_N up to, d = 4",
        "AC or RS_N up to, d = 32",
        "LP above, d = 32",
        "LP above, d = 48",
        "RS_NL somewhere fastest at d",
        "largest, d = 4 [ms]",
        "largest, d = 32 [ms]",
        "borders of AC or RS_N and of LP within two powers",
    )
    return Table(
        "What decides: borders and largest times under neighbouring assumptions",
        columns,
        tuple(rows),
    )


def _published() -> tuple[float, float, float]:
    return fact("ac_up_to", 4), fact("ac_up_to", 32), fact("lp_above", 32)


def _draw(times: Times, without: Times) -> Figure:
    def line(name: str, found: Times, k: int) -> Line:
        return Line(name, DEGREES, [_end(found, name, d) * 1e3 for d in DEGREES], colour=k)

    ticks = (DEGREES, [str(d) for d in DEGREES])
    across = "messages sent and received by every node, d"
    panels = [
        Panel(
            title,
            across,
            "time at 128 KiB [ms]",
            [line(name, found, k) for k, name in enumerate(NAMES)],
            ticks=ticks,
            y_limits=(0, 1.06 * max(_end(times, name, DEGREES[-1]) for name in NAMES) * 1e3),
        )
        for title, found in (("As stated", times), ("Exchanges overlap nothing", without))
    ]
    return picture_charts(
        panels,
        title="What the overlap of exchanges is worth",
        subtitle="ipsc860:64, circuit; LP and RS_NL under ready (S1), AC and RS_N under none (S2)",
    )
