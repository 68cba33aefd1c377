"""Everything that a calibration finds of a machine, with its interval and source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log2
from typing import Any

import numpy as np

from conset.base.units import format_rate, format_size, format_time
from conset.machine.costs import Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.words import WORDS
from conset.studies.calibrate.answers import answer, flow_times
from conset.studies.calibrate.contention import Contention, find_contention
from conset.studies.calibrate.fit import Fit, Fitter, Interval
from conset.studies.calibrate.measurements import Measurements
from conset.studies.calibrate.parameters import RATES, START, TIMES, step_name
from conset.studies.calibrate.probes import PHASES, SMALLEST_B, Probe

READ_FROM = {
    "send_overhead": "slope of small messages out of one rank",
    "receive_overhead": "slope of small messages into one rank",
    "inject": "a lone message, less the work at both ends",
    "hop": "lone messages over different distances",
    "port": "long messages out of one rank, and into one",
    "port_out": "long messages out of one rank to several",
    "port_in": "long messages into one rank from several",
    "node": "long messages both ways at once",
    "link": "long messages that share one link, and many at once",
}


@dataclass(frozen=True)
class FoundWord:
    """One word of the machine.

    Attributes:
        word: as in machine files.
        value: as a machine file writes it.
        text: value and interval for people.
        number: the number in SI units that the interval is of; None: it is a choice.
        low: of the 95 % interval.
        high: of it; infinite: no end was seen.
        unit: `s`, `B/s`, `B` or "".
        source: what it was read from.
        tag: as in machine files.
    """

    word: str
    value: Any
    text: str
    number: float | None
    low: float | None
    high: float | None
    unit: str
    source: str
    tag: str = "fitted"

    @property
    def is_vague(self) -> bool:
        """Whether an interval's ends are more than a factor of two apart."""
        if (
            not self.number
            or self.low is None
            or self.high is None
            or self.unit not in ("s", "B/s")
        ):
            return False
        return 2 * max(self.low, 1e-12) < self.high < inf

    def to_object(self) -> dict[str, Any]:
        """As `calibrate --json` prints it; an end that was not seen is null."""
        ends = [
            None if end is None or end == inf else end for end in (self.number, self.low, self.high)
        ]
        return {
            "word": self.word,
            "value": self.value,
            "number": ends[0],
            "low": ends[1],
            "high": ends[2],
            "unit": self.unit,
            "tag": self.tag,
            "source": self.source,
        }


@dataclass(frozen=True, eq=False)
class Found:
    """All words, and what else was seen.

    Attributes:
        words: in the order of machine files.
        machine: the stated network with these costs.
        fit: of the words of a lone message.
        contention: what messages do to each other; None: the network has no links, or too few
            ranks.
        barriers: (ranks, seconds, standard error) of barriers.
        notes: what is contradicted, lost, or not known.
        start_s: how far apart ranks begin [s].
    """

    words: tuple[FoundWord, ...]
    machine: Machine
    fit: Fit
    contention: Contention | None
    barriers: tuple[tuple[int, float, float], ...]
    notes: tuple[str, ...]
    start_s: float


def find_words(probes: Sequence[Probe], data: Measurements, structure: Machine) -> Found:
    """All words that the measurements show."""
    return _Finder(probes, data, structure).find()


def seconds(value: float) -> str:
    """A time as a machine file writes it, to four digits."""
    return format_time(float(f"{value:.4g}")) if value else "0 s"


def interval_text(word: str, value: float, interval: Interval) -> str:
    """`1.2 us (1.1 to 1.3 us)` for people."""
    write = format_rate if word in RATES else format_time
    if value == inf:
        return f"no limit seen (at least {write(interval.low)})"
    if value == 0:
        return f"0 (at most {write(interval.high)})"
    high = "∞" if interval.high == inf else write(interval.high)
    return f"{write(value)} ({write(interval.low)} to {high})"


CHANCE = 0.15
"""Share of a lone message's time below which differences are noise of the clock, not jitter."""


class _Finder:
    def __init__(self, probes: Sequence[Probe], data: Measurements, structure: Machine) -> None:
        self.probes, self.data = list(probes), data
        self.fitter = Fitter(probes, data, structure)
        self.words: list[FoundWord] = []
        self.notes: list[str] = []

    def series(self, name: str) -> list[Probe]:
        """The probes of a series."""
        return [probe for probe in self.probes if probe.series == name]

    def find(self) -> Found:
        """One kind of word after the other, each on the machine known so far."""
        fit = self.fitter.fit()
        self.notes += fit.notes
        machine = self.fitter.machine(fit.parameters)
        self.start_s = fit.parameters.start_s
        barriers, machine = self._barriers(machine)
        machine = self._signal(machine)
        fit, machine = self._eager(fit, machine)
        fit, machine = self._jitter(fit, machine)
        contention = find_contention(self.probes, self.data, machine, self.start_s)
        if contention is not None:
            machine = contention.model_words.on(machine)
            costs = replace(
                machine.costs,
                tolerance=contention.tolerance,
                blocking=round(contention.blocking, 2),
            )
            machine = replace(machine, costs=costs)
            fit, machine = self._steady(fit, machine, contention)
        self._say_lone(fit)
        self._say_contention(contention)
        self._say_rest()
        self._check_structure(machine, contention)
        order = {word: place for place, word in enumerate(WORDS)}
        self.words.sort(key=lambda word: order[word.word])
        return Found(
            tuple(self.words),
            machine,
            fit,
            contention,
            tuple(barriers),
            tuple(self.notes),
            self.start_s,
        )

    # barriers, signals, eager messages

    def _barriers(self, machine: Machine) -> tuple[list[tuple[int, float, float]], Machine]:
        free = replace(machine, costs=replace(machine.costs, synchronization=Synchronization()))
        points = []
        for probe in self.series("barrier"):
            time = self.data.median_s(probe.name)
            rest = answer(probe, free, "flow") + self.start_s
            error = max(self.data.log_error(probe.name), 0.02) * time / (PHASES - 1)
            points.append((probe.ranks, max((time - rest) / (PHASES - 1), 0.0), error))
        barrier, low, high, text = _fit_barrier(points)
        counts = sorted({count for count, _, _ in points})
        ranks = counts[-1]
        at = barrier.at(ranks)
        signed = "-" if barrier.base_s < 0 else ""
        value: Any = seconds(barrier.base_s)
        if barrier.per_log2_s:
            value = {
                "base": signed + seconds(abs(barrier.base_s)),
                "per_log2": seconds(barrier.per_log2_s),
            }
        self.words.append(
            FoundWord(
                "synchronization",
                value,
                f"{text} ({format_time(low)} to {format_time(high)} for {ranks} ranks)",
                at,
                low,
                high,
                "s",
                f"{PHASES} phases under barriers of {', '.join(map(str, counts))} ranks; "
                f"for {ranks}: {format_time(low)} to {format_time(high)}",
            )
        )
        return points, replace(machine, costs=replace(machine.costs, synchronization=barrier))

    def _signal(self, machine: Machine) -> Machine:
        probe = self.series("ready")[0]
        time, unit = self.data.median_s(probe.name), self.fitter.data.alone_s
        error = max(self.data.log_error(probe.name), 0.02) * time

        def said(signal: float) -> float:
            costs = replace(machine.costs, signal_s=signal)
            return answer(probe, replace(machine, costs=costs), "flow") + self.start_s

        value, slope = 0.0, max((said(unit) - said(0.0)) / unit, 1e-3)
        for _ in range(6):
            value = max(value + (time - said(value)) / slope, 0.0)
        wide = 1.96 * error / slope
        low, high = max(value - wide, 0.0), value + wide
        self.words.append(
            FoundWord(
                "signal",
                seconds(value),
                interval_text("signal", value, Interval(value, low, high)),
                value,
                low,
                high,
                "s",
                f"{PHASES} phases under ready; {format_time(low)} to {format_time(high)}",
            )
        )
        return replace(machine, costs=replace(machine.costs, signal_s=value))

    def _eager(self, fit: Fit, machine: Machine) -> tuple[Fit, Machine]:
        """The threshold, and whether longer messages pay for asking."""
        tried = sorted(self.series("late"), key=lambda probe: probe.size)
        early = [self._ends_early(probe) for probe in tried]
        threshold = _threshold([probe.size for probe in tried], early)
        largest = tried[-1].size
        if threshold == 0:
            self._say_eager("none", 0.0, tried[0].size, "every send waits for its receive")
            return fit, machine
        if threshold == largest:
            text = (
                f"sends of up to {format_size(largest)}, the longest tried, end before their "
                "receive is posted"
            )
            self._say_eager("none", largest, inf, text)
            return fit, machine
        after = min(probe.size for probe in tried if probe.size > threshold)
        asking = replace(machine.costs, eager_B=float(threshold))
        other = Fitter(self.probes, self.data, replace(machine, costs=asking))
        refitted = other.fit()
        costs = [
            fitter.criterion(each.parameters, fitter.cost(fitter.residuals(each.parameters)))
            for fitter, each in ((self.fitter, fit), (other, refitted))
        ]
        text = (
            f"sends of up to {format_size(threshold)} end before their receive is posted, of "
            f"{format_size(after)} not"
        )
        if costs[1] < costs[0]:
            self._say_eager(format_size(threshold), threshold, after, text)
            self.start_s = refitted.parameters.start_s
            return refitted, other.machine(refitted.parameters)
        self._say_eager(
            "none",
            threshold,
            after,
            f"{text}; longer ones take no longer than the other words say, so none is charged",
        )
        return fit, machine

    def _ends_early(self, probe: Probe) -> bool:
        """Whether sends end before their receive is posted.

        No other send ever does, however disturbed it is.
        """
        times = sorted(self.data.times_s[probe.name])
        return times[min(1, len(times) - 1)] < 0.8 * probe.late_s

    def _say_eager(self, value: str, low: float, high: float, text: str) -> None:
        shown = f"{format_size(low)}" + ("" if high == inf else f" (below {format_size(high)})")
        if value == "none" and high == inf:
            shown = f"at least {format_size(low)}"
        self.words.append(
            FoundWord("eager", value, shown, float(low), float(low), float(high), "B", text)
        )

    def _jitter(self, fit: Fit, machine: Machine) -> tuple[Fit, Machine]:
        """What chance adds to a lone message: typical time less the least.

        It is taken off `inject`.

        Of a row of messages, each when the one before has come, the typical time is the mean of one
        of them, without what disturbs whole rows. Barriers and signals were measured whole: what
        chance adds to them is theirs.
        """
        small = [probe for probe in self.series("chain") if probe.size == SMALLEST_B]
        most = max(probe.schedule.transfers for probe in small)
        found, typical, least_s = [], [], inf
        for probe in (probe for probe in small if probe.schedule.transfers == most):
            pair = {probe.schedule.pattern.source[0], probe.schedule.pattern.target[0]}
            same = [
                each
                for each in small
                if each.schedule.pattern.source[0] in pair
                and each.schedule.pattern.target[0] in pair
            ]
            least = min(
                min(self.data.times_s[each.name]) / each.schedule.transfers for each in same
            )
            typical.append((self.data.typical_s(probe.name) - self.start_s) / most)
            found.append(max(typical[-1] - least, 0.0))
            least_s = min(least, least_s)
        value, low, high = float(np.median(found)), min(found), max(found)
        if value < CHANCE * float(np.median(typical)):
            value = low = 0.0
            high = max(high, CHANCE * float(np.median(typical)))
        text = interval_text("jitter", value, Interval(value, low, high))
        source = (
            f"a lone small message, typical less least time; {format_time(low)} to "
            f"{format_time(high)}"
        )
        self.words.append(FoundWord("jitter", seconds(value), text, value, low, high, "s", source))
        steps = fit.parameters.steps("inject")
        rest = np.maximum(np.array(steps.seconds) - value, 0.0)
        parameters = fit.parameters
        if "inject" in parameters.values:
            names = ["inject", *(step_name("inject", int(size)) for size in steps.up_to_B[:-1])]
            for name, added in zip(names, np.diff(rest, prepend=0.0).tolist(), strict=True):
                parameters = parameters.with_value(name, added)
            given = fit.intervals["inject"]
            shifted = Interval(
                float(rest[0]), max(given.low - value, 0.0), max(given.high - value, 0.0)
            )
            fit = replace(
                fit, parameters=parameters, intervals={**fit.intervals, "inject": shifted}
            )
        if not any(parameters.values.get(word) for word in TIMES):
            # among times that say nothing of each other the fit can lose all that a message takes;
            # the fastest had none
            parameters = parameters.with_value("inject", least_s)
            alone = Interval(least_s, 0.0, max(*typical, least_s))
            fit = replace(fit, parameters=parameters, intervals={**fit.intervals, "inject": alone})
        costs = replace(machine.costs, inject=parameters.steps("inject"), jitter_s=value)
        return fit, replace(machine, costs=costs)

    def _steady(self, fit: Fit, machine: Machine, contention: Contention) -> tuple[Fit, Machine]:
        """The rate of a link under many messages, where single ones have shown a rate."""
        if "link" not in fit.parameters.values:
            return fit, machine
        old, rate = fit.intervals["link"], fit.parameters.values["link"] * contention.steady
        moved = Interval(rate, old.low * contention.steady, old.high * contention.steady)
        machine = replace(machine, costs=replace(machine.costs, link_Bps=rate))
        fitted = flow_times(fit.probes, machine) + self.start_s
        return replace(
            fit,
            parameters=fit.parameters.with_value("link", rate),
            intervals={**fit.intervals, "link": moved},
            fitted_s=fitted,
        ), machine

    # in words

    def _say_lone(self, fit: Fit) -> None:
        parameters = fit.parameters
        for word in ("send_overhead", "receive_overhead", "inject", "hop"):
            steps = parameters.steps(word)
            interval = fit.intervals.get(word, Interval(0.0, 0.0, 0.01 * parameters.unit_s))
            if word == "hop" and self.fitter.structure.topology.kind == "crossbar":
                continue
            source = READ_FROM[word]
            text = interval_text(word, steps.seconds[0], interval)
            source += f"; {format_time(interval.low)} to {format_time(interval.high)}"
            if len(steps.seconds) > 1:
                rest = [
                    f"{format_time(time)} above {format_size(size)}"
                    for time, size in zip(steps.seconds[1:], steps.up_to_B, strict=False)
                ]
                text = f"{text}, {', '.join(rest)}"
            name = "hop_by_size" if word == "hop" and len(steps.seconds) > 1 else word
            if name != word:
                self._add(word, seconds(steps.seconds[0]), text, interval, "s", source)
            self._add(name, _write_steps(steps), text, interval, "s", source)
        self.words.append(
            FoundWord(
                "eject", "0 s", "part of inject", 0.0, None, None, "s", "part of inject", "assumed"
            )
        )
        rates = ["port"] if "port" in parameters.values else ["port_out", "port_in"]
        for word in (*rates, "node", "link"):
            if word == "link" and self.fitter.structure.topology.kind == "crossbar":
                continue
            seen = fit.intervals.get(word)
            if seen is None:
                if word == "link":
                    self.notes.append("link: the stated network has its own rates, which are kept")
                continue
            interval, value = seen, parameters.values.get(word, inf)
            written = "none" if value == inf else format_rate(float(f"{value:.4g}"))
            ends = (
                f"at least {format_rate(interval.low)}"
                if value == inf
                else (f"{format_rate(interval.low)} to {format_rate(interval.high)}")
            )
            self._add(
                word,
                written,
                interval_text(word, value, interval),
                interval,
                "B/s",
                f"{READ_FROM[word]}; {ends}",
            )
        self.words.append(
            FoundWord(
                "processors",
                parameters.processors,
                parameters.processors,
                None,
                None,
                None,
                "",
                "small messages both ways at once, beside one way",
            )
        )
        flight = "all" if parameters.in_flight is None else str(parameters.in_flight)
        most = max(
            (int(probe.x) for probe in self.series("pair") if probe.size == SMALLEST_B), default=1
        )
        self.words.append(
            FoundWord(
                "in_flight",
                parameters.in_flight or "all",
                flight,
                None,
                None,
                None,
                "",
                f"small messages of one rank under way at once, up to {most}",
            )
        )

    def _add(
        self, word: str, value: Any, text: str, interval: Interval, unit: str, source: str
    ) -> None:
        self.words.append(
            FoundWord(word, value, text, interval.value, interval.low, interval.high, unit, source)
        )

    def _say_contention(self, found: Contention | None) -> None:
        if found is None:
            if self.fitter.structure.topology.kind != "crossbar":
                self.notes.append(
                    "tolerance, blocking, model: no two pairs of these ranks share a link"
                )
            return
        errors = ", ".join(f"{model} {error:.3f}" for model, error in found.errors.items())
        source = f"rms of log(measured / simulated) over what meets on links: {errors}"
        self.words += [
            FoundWord("model", found.model, found.model, None, None, None, "", source),
            *self._model_words(found),
            FoundWord(
                "tolerance",
                found.tolerance,
                f"{found.tolerance}; one link alone carries {found.harmless} of {found.tested} "
                "tried without harm",
                float(found.harmless),
                float(found.harmless),
                inf if found.harmless == found.tested else float(found.harmless + 1),
                "",
                f"messages that share one link and take what fair sharing takes ({found.harmless} "
                f"of {found.tested} "
                "tried), and exchanges in which many meet",
            ),
            FoundWord(
                "blocking",
                round(found.blocking, 2),
                f"{found.blocking:.2f} ({found.blocking_low:.2f} to {found.blocking_high:.2f})",
                found.blocking,
                found.blocking_low,
                found.blocking_high,
                "",
                "exchanges in which many messages meet, by the formula",
            ),
        ]

    def _model_words(self, found: Contention) -> list[FoundWord]:
        fields = found.model_words.fields
        if found.buffers_B is None:
            return [
                FoundWord(
                    "lanes", fields["lanes"], str(fields["lanes"]), None, None, None, "", "as model"
                )
            ]
        size, (low, high) = fields["link_buffers_B"], found.buffers_B
        text = f"{size:g} B ({low:.0f} to {high:.0f} B)"
        source = f"messages behind one that is held up; {low:.0f} to {high:.0f} B"
        words = [
            FoundWord("link_buffers", f"{size:g} B", text, float(size), low, high, "B", source)
        ]
        if found.window_B is not None:
            least, window, most = found.window_B
            ends = f"at least {least:.0f} B" if most == inf else f"{least:.0f} to {most:.0f} B"
            value = "none" if window == inf else f"{window:g} B"
            text = f"no limit seen ({ends})" if window == inf else f"{value} ({ends})"
            source = f"a short message posted after long ones into other directions; {ends}"
            words.append(FoundWord("window", value, text, window, least, most, "B", source))
        return words

    def _say_rest(self) -> None:
        sizes = [SMALLEST_B, self.fitter.large]
        self.words.append(
            FoundWord(
                "size_range",
                [format_size(size) for size in sizes],
                " to ".join(map(format_size, sizes)),
                None,
                None,
                None,
                "B",
                "sizes that were sent",
            )
        )

    # what does not fit the network that was stated

    def _check_structure(self, machine: Machine, contention: Contention | None) -> None:
        apart = {int(probe.x): self.data.typical_s(probe.name) for probe in self.series("apart")}
        if apart:
            most = max(apart)
            slower = apart[most] / apart[min(apart)]
            if most > 1 and slower > 1.25:
                cores = " (ranks share cores)" if self.data.oversubscribed else ""
                self.notes.append(
                    f"{most} pairs that share nothing in the stated network take {slower:.2f} "
                    "times what one takes"
                    f"{cores}: something else is shared"
                )
        shared = sorted(
            (probe.x, self.data.typical_s(probe.name)) for probe in self.series("share")
        )
        if (
            len(shared) > 1
            and machine.costs.link_Bps == inf
            and machine.topology.link_rate_Bps is None
        ):
            self.notes.append(
                f"{shared[-1][0]:g} pairs that share a link in the stated network take "
                f"{shared[-1][1] / shared[0][1]:.2f} times what one takes: it holds nothing back, "
                "or is not shared"
            )
        both, loaded = self._at("both", 8), self._at("loaded", None)
        if both and loaded and loaded / both > 1.3:
            self.notes.append(
                f"small messages of all ranks at once take {loaded / both:.1f} times what those "
                "of one pair take: "
                "overheads grow with load"
            )
        met = [
            probe.name
            for probe in self.probes
            if probe.series in ("share", "crowd", "storm", "pressure")
        ]
        lost = sum(self.data.retransmissions.get(name, 0) for name in met)
        if lost:
            worst = max(met, key=self.data.spread)
            self.notes.append(
                f"loss: {lost} segments were sent again where messages met; the slowest "
                "repetition took "
                f"{self.data.spread(worst):.1f} times the typical one ({worst}). No word says so: "
                "measure what matters"
            )
        if contention is not None and contention.pressure:
            held = max(contention.pressure)
            if contention.pushes_back:
                self.notes.append(
                    f"back-pressure: behind one that is held up a message takes {held:.2f} times "
                    "its fair time, "
                    f"{contention.held_up:.2f} times what a queue explains"
                )
            elif held > 1.2:
                self.notes.append(
                    f"queues: behind one that is held up a message takes {held:.2f} times "
                    "its fair time, "
                    "no longer than behind all bytes of the other"
                )
        wide = [word.word for word in self.words if word.is_vague]
        if wide:
            self.notes.append(f"known within a factor of two at best: {', '.join(wide)}")

    def _at(self, series: str, x: float | None) -> float:
        found = [p for p in self.series(series) if p.size == SMALLEST_B and (x is None or p.x == x)]
        return self.data.typical_s(found[0].name) if found else 0.0


def _threshold(sizes: Sequence[int], early: Sequence[bool]) -> int:
    """The size that parts early sends from late ones with the fewest on the wrong side.

    0: none is early.
    """
    wrong = [sum(not e for e in early[:k]) + sum(early[k:]) for k in range(len(sizes) + 1)]
    k = int(np.argmin(wrong))
    return sizes[k - 1] if k else 0


def _fit_barrier(
    points: Sequence[tuple[int, float, float]],
) -> tuple[Synchronization, float, float, str]:
    """(barrier, low, high, text): over the ranks, by the fewest terms that do.

    Low and high for the most ranks.
    """
    ranks = np.array([log2(count) for count, _, _ in points])
    times = np.array([time for _, time, _ in points])
    sigma = np.maximum([error for _, _, error in points], 0.05 * np.maximum(times, 1e-12))
    forms = {"base": np.stack([np.ones_like(ranks)], 1), "log": ranks[:, None]}
    distinct = len(set(ranks.tolist()))
    if distinct > 2:
        forms["both"] = np.stack([np.ones_like(ranks), ranks], 1)
    found = {}
    for name, matrix in forms.items():
        weighted = matrix / sigma[:, None]
        values, *_ = np.linalg.lstsq(weighted, times / sigma, rcond=None)
        miss = float(np.sum((weighted @ values - times / sigma) ** 2))
        covariance = np.linalg.inv(weighted.T @ weighted) * max(
            miss / max(len(points) - values.size, 1), 1.0
        )
        found[name] = (miss + 4 * values.size, values, covariance, matrix[-1])
    if distinct == 1:
        found.pop("log")
    if "both" in found and found["both"][1][-1] < 0:
        found.pop("both")
    name = min(found, key=lambda each: found[each][0])
    _, values, covariance, last = found[name]
    values = np.maximum(values, 0.0) if name != "both" else values
    barrier = Synchronization(
        0.0 if name == "log" else float(values[0]), float(values[-1]) if name != "base" else 0.0
    )
    most = max(count for count, _, _ in points)
    wide = 1.96 * float(np.sqrt(last @ covariance @ last))
    at = barrier.at(most)
    text = {
        "base": format_time(barrier.base_s),
        "log": f"{format_time(barrier.per_log2_s)} · log2 N",
        "both": f"{format_time(barrier.base_s)} + {format_time(barrier.per_log2_s)} · log2 N",
    }[name]
    return barrier, max(at - wide, 0.0), at + wide, text


def _write_steps(steps: Steps) -> Any:
    if len(steps.seconds) == 1:
        return seconds(steps.seconds[0])
    rows: list[dict[str, str]] = [
        {"up_to": format_size(size), "value": seconds(time)}
        for time, size in zip(steps.seconds, steps.up_to_B, strict=True)
        if size < inf
    ]
    return [*rows, {"value": seconds(steps.seconds[-1])}]


__all__ = ["START", "Found", "FoundWord", "find_words"]
