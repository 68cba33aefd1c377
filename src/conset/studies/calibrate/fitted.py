"""Fitted parameters of a machine, each with its interval and the probes it was estimated from.

One kind of parameter after the other, each on the machine known so far: lone messages, barriers,
signals, eager messages, jitter, contention. Notes tell what contradicts the stated network, what
was lost, and what is not known.

Contention: what messages that meet on links do to each other, and which model says it best.

Probes of contention change no word of a lone message. They decide between models of how bytes cross
links: `flow`, in which a message that waits holds nothing; `wormhole` with one lane or several, in
which it keeps what it has; packets in bounded buffers, where there is that model. They give the
formula's `tolerance` and `blocking`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log2
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from conset.base import Floats, format_rate, format_size, format_time
from conset.machine import MAX_BLOCKING, MAX_WITHIN, PARAMETERS, Machine, Synchronization
from conset.models import predict
from conset.studies.calibrate.fit import RATES, TIMES, Fit, Fitter, Interval, step_name
from conset.studies.calibrate.measurements import Evidence, Measurements, answer, flow_times
from conset.studies.calibrate.probes import PHASES, SMALLEST_B, Probe, make_schedule

SERIES = ("share", "crowd", "pressure", "storm")
"""What meets on links.

What models are compared over, with long messages of one rank to or from several at once.
"""
HARMLESS = 1.5
"""Factor over fair sharing up to which a link carries messages without harm."""
BETTER = 0.85
"""A model later in the list must have this share of the error of the best before it, at most."""
EXACT = 0.08
"""A model with at most this error is not given up for a longer one."""
HELD_UP = 1.2
"""Ratio above which links are taken to have back-pressure.

A message behind one that is held up takes at least so many times what it takes if all bytes of the
other go first: so long it may wait in a queue that is first come, first served.
"""
FAR = 0.25
"""With so large an error `flow` is given up where another model is better at all."""
CLEARLY = 1 / 3
"""Largest share of the error that a model without back-pressure may have to be taken."""
BUFFERS_B = tuple(round(4000 * 1.25**k) for k in range(23))
"""Bytes that a switch may hold of what comes over one link, for the model of packets."""
WINDOWS_B = (*(round(4000 * 1.25**k) for k in range(24)), inf)
"""Bytes of a message that may be on their way at once, for the same."""
EXPLAINED = 0.15
"""A model with at most this error explains what limits messages that meet.

So that they show the rate of a link.
"""
NEAR = 0.1
"""Windows that say a time to this share of the measured one are alike."""


@dataclass(frozen=True)
class ContentionModel:
    """How messages cross links where they meet.

    Attributes:
        name: for people.
        fields: of `Costs`.
    """

    name: str
    fields: Mapping[str, Any]

    def on(self, machine: Machine) -> Machine:
        """The machine with this model."""
        return replace(machine, costs=replace(machine.costs, **self.fields))


def _packets(buffers: float, window: float) -> ContentionModel:
    fields = {
        "model": "packet",
        "lanes": 1,
        "link_buffers_B": float(buffers),
        "window_B": float(window),
    }
    return ContentionModel(f"packet, buffers {buffers:g} B", fields)


@dataclass(frozen=True)
class Contention:
    """What was found.

    Attributes:
        model: the model and its words.
        buffers_B: bytes in a switch that tell the model as well: the least and the most; None: it
            has no buffers.
        window_B: of the model of packets: (least, best, most) bytes of a message on their way;
            infinite: all of the longest that were sent; None: another model, or not measured.
        harmless: messages that one link alone carries in the time of fair sharing.
        tested: the most that were tried on one link.
        tolerance: of the formula: messages of an exchange that a link carries without loss.
        blocking: exponent of the loss beyond, for formulas.
        blocking_low: end of its interval.
        blocking_high: the other end.
        errors: root mean square of log(measured / simulated) by model.
        sharing: (messages through one link, time over fair time).
        pressure: (time of a message behind one that is held up, over what `flow` says).
        held_up: the largest time of such a message over what it takes if all bytes of the other go
            first.
        steady: by how much the rate of links must change for what fills them to be said right; 1:
            not at all.
    """

    model_words: ContentionModel
    buffers_B: tuple[float, float] | None  # noqa: N815
    window_B: tuple[float, float, float] | None  # noqa: N815
    harmless: int
    tested: int
    tolerance: int
    blocking: float
    blocking_low: float
    blocking_high: float
    errors: dict[str, float]
    sharing: tuple[tuple[int, float], ...]
    pressure: tuple[float, ...]
    held_up: float
    steady: float

    @property
    def pushes_back(self) -> bool:
        """Whether a message waits longer behind one that is held up than in any queue."""
        return self.held_up > HELD_UP

    @property
    def model(self) -> str:
        """The model of simulation."""
        return str(self.model_words.fields["model"])


def find_contention(evidence: Evidence, machine: Machine) -> Contention | None:
    """Return what the probes of contention show; None: there are none.

    Args:
        evidence: all probes and their times.
        machine: with the parameters of a lone message.
    """
    used = evidence.series(*SERIES)
    if not used or machine.topology.kind == "crossbar":
        return None
    # a model that has one message of a rank at a time on its way shows where several go different
    # ways
    compared = [*used, *(probe for probe in evidence.probes if probe.one_each)]
    typical = evidence.measured(compared)
    # packets know no rate of a node in and out together
    has_packets = machine.costs.node_Bps == inf
    window = _find_window(evidence, machine) if has_packets else None
    best_window = inf if window is None else window[1]
    kinds = [
        [ContentionModel("flow", {"model": "flow", "lanes": 1})],
        [
            ContentionModel(f"wormhole, lanes {n}", {"model": "wormhole", "lanes": n})
            for n in (1, 2, 4)
        ],
        [_packets(size, best_window) for size in BUFFERS_B if has_packets],
    ]
    said: dict[str, Floats] = {}
    logs: dict[str, float] = {}
    for model in (model for kind in kinds for model in kind):
        times = said[model.name] = evidence.simulated(compared, model.on(machine))
        logs[model.name] = float(np.sqrt(np.mean(np.log(typical / np.minimum(times, 1e6)) ** 2)))
    # the best of each kind, the simplest kind first
    models = [min(kind, key=lambda model: logs[model.name]) for kind in kinds if kind]
    pressed = [probe for probe in used if probe.series == "pressure"]
    first_s = evidence.simulated([_behind(probe) for probe in pressed], machine, "flow")
    held_up = max((evidence.measured(pressed) / first_s).tolist(), default=0.0)
    best = models[0]
    enough = BETTER if not pressed or held_up > HELD_UP or logs[best.name] > FAR else CLEARLY
    for model in models[1:]:
        if logs[best.name] > EXACT and logs[model.name] < enough * logs[best.name]:
            best = model
    buffers = None
    if "link_buffers_B" in best.fields:
        most = 2 * logs[best.name]
        alike = [size for size in BUFFERS_B if logs[f"packet, buffers {size} B"] <= most]
        step = BUFFERS_B[1] / BUFFERS_B[0]
        buffers = (min(alike) / step, max(alike) * step)
    ratio = (evidence.measured(used) / evidence.simulated(used, machine, "flow")).tolist()
    over_fair = list(zip(used, ratio, strict=True))
    sharing = sorted((int(p.x), over) for p, over in over_fair if p.series in ("share", "crowd"))
    harmful = next((k for k, (_, over) in enumerate(sharing) if over > HARMLESS), len(sharing))
    harmless = max((count for count, _ in sharing[:harmful]), default=1)
    return Contention(
        best,
        buffers,
        window if buffers is not None else None,
        harmless,
        max((count for count, _ in sharing), default=1),
        *_fit_blocking(evidence, machine, harmless, str(best.fields["model"])),
        {model.name: logs[model.name] for model in models},
        tuple(sharing),
        tuple(over for p, over in over_fair if p.series == "pressure"),
        held_up,
        _steady_rate(compared, typical, said[best.name]) if logs[best.name] <= EXPLAINED else 1.0,
    )


def _behind(probe: Probe) -> Probe:
    """Return a probe of the watched message and its source's other message alone.

    Two messages of one length that share a link fairly end when one behind the other would.
    """
    pattern = probe.schedule.pattern
    source = pattern.source[np.flatnonzero(pattern.target == probe.watch)[0]]
    messages = [
        (int(pattern.source[k]), int(pattern.target[k]), int(pattern.size[k]))
        for k in np.flatnonzero(pattern.source == source)
    ]
    alone = make_schedule(probe.schedule.machine, probe.ranks, messages, name=probe.name)
    return replace(probe, schedule=alone)


def _steady_rate(probes: Sequence[Probe], measured: Floats, said: Floats) -> float:
    """By how much the rate of links must change for what fills them to be said right in the median.

    1: not at all.

    The first packets of a message may pass faster than a link's rate (a token bucket, a buffer),
    and data one way leave room for acknowledgements of the other. Messages long and many enough to
    fill links both ways show what is left. Where no model says these times, the reason is unknown.

    Args:
        probes: that were compared.
        measured: shape=(probes) [s].
        said: likewise, by the model that was chosen.
    """
    filling = np.array([probe.series in ("crowd", "storm") for probe in probes])
    return (
        float(np.exp(np.median(np.log(said[filling] / measured[filling]))))
        if filling.any()
        else 1.0
    )


def _find_window(evidence: Evidence, machine: Machine) -> tuple[float, float, float] | None:
    """Return (least, best, most) bytes of a message on their way; None: there is no such probe.

    A short message posted after long ones shows them. No link there has more than one message: what
    buffers hold does not matter.
    """
    behind = evidence.series("behind")
    if not behind:
        return None
    probe = behind[0]
    measured = evidence.data.typical_s(probe.name)
    tried = [window for window in WINDOWS_B if window < probe.size or window == inf]
    machines = [_packets(inf, window).on(machine) for window in tried]
    times = [answer(probe, each) + evidence.start_s for each in machines]
    logs = [abs(float(np.log(time / measured))) for time in times]
    near = max(NEAR, min(logs) + 1e-9)
    alike = [window for window, log in zip(tried, logs, strict=True) if log < near]
    best = tried[int(np.argmin(logs))]
    low, high = min(alike), max(alike)
    return (
        (low / 1.25 if low < inf else float(probe.size)),
        (inf if high == inf else best),
        high * 1.25,
    )


def _fit_blocking(
    evidence: Evidence, machine: Machine, harmless: int, model: str
) -> tuple[int, float, float, float]:
    """Return (tolerance, exponent, low, high) with the least error of the formula.

    The interval is from leaving one out. Where messages hold links while they wait, exchanges lose
    what messages of one link do not: then only storms count, and any tolerance may be; else what
    one link carries without harm is the tolerance.
    """
    chosen = evidence.series("storm", *(["crowd"] if model == "flow" else []))
    if not chosen:
        return harmless, 0.0, 0.0, MAX_BLOCKING
    measured = evidence.measured(chosen)

    def error(blocking: float, tolerance: int, left_out: int = -1) -> float:
        there = replace(
            machine, costs=replace(machine.costs, tolerance=tolerance, blocking=float(blocking))
        )
        logs = [
            np.log(measured[k] / (predict(probe.schedule, machine=there).time_s + evidence.start_s))
            for k, probe in enumerate(chosen)
            if k != left_out
        ]
        return float(np.sum(np.square(logs)))

    def best(tolerance: int, left_out: int = -1) -> float:
        found = minimize_scalar(
            error,
            bounds=(0.0, 2.0),
            args=(tolerance, left_out),
            method="bounded",
            options={"xatol": 5e-3},
        )
        return float(found.x)

    tried = (harmless,) if model == "flow" else sorted({1, 2, 4, harmless})
    tolerance, value = min(
        ((each, best(each)) for each in tried), key=lambda each: error(each[1], each[0])
    )
    # one that explains nothing is 0
    if value < 0.02 or error(0.0, tolerance) <= 1.1 * error(value, tolerance) + 1e-6:
        return harmless, 0.0, 0.0, max(value, 0.02)
    others = [best(tolerance, k) for k in range(len(chosen))] if len(chosen) > 2 else [value]
    return tolerance, value, min(*others, value), max(*others, value)


ESTIMATED_FROM = {
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
CHANCE = 0.15
"""Share of a lone message's time below which differences of its times are noise, and no jitter."""
Barrier = tuple[int, float, float]
"""Ranks, seconds, standard error."""


@dataclass(frozen=True)
class FittedParameter:
    """One parameter of the machine.

    Attributes:
        word: its key in machine files.
        value: as a machine file has it.
        text: value and interval for people.
        number: the number in SI units that the interval is of; None: it is a choice.
        low: of the 95 % interval.
        high: of it; infinite: no end was seen.
        unit: `s`, `B/s`, `B` or "".
        source: what it was estimated from.
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

    @staticmethod
    def choice(word: str, value: Any, source: str, text: str = "") -> FittedParameter:
        """Return a parameter that is no number with an interval."""
        return FittedParameter(word, value, text or str(value), None, None, None, "", source)

    @staticmethod
    def time(word: str, interval: Interval, source: str) -> FittedParameter:
        """Return a parameter that is one time, whose interval its source repeats."""
        text = interval_text(word, interval.value, interval)
        ends = f"{format_time(interval.low)} to {format_time(interval.high)}"
        value = seconds(interval.value)
        return FittedParameter(
            word, value, text, interval.value, interval.low, interval.high, "s", f"{source}; {ends}"
        )

    @property
    def is_vague(self) -> bool:
        """Whether an interval's ends are more than a factor of two apart."""
        is_measured = self.number and self.low is not None and self.high is not None
        if not is_measured or self.unit not in ("s", "B/s"):
            return False
        return 2 * max(self.low or 0.0, 1e-12) < (self.high or 0.0) < inf

    @property
    def within(self) -> dict[str, float]:
        """As a machine file has it: the factor to the farther end of a time's or rate's interval.

        From 1.01 to `MAX_WITHIN`; nothing of anything else, of 0 and of what has no limit.
        """
        number, low, high = self.number or inf, self.low or 1e-300, self.high or inf
        if self.unit not in ("s", "B/s") or number == inf:
            return {}
        factor = min(max(high / number, number / low, 1.01), MAX_WITHIN)
        return {"within": float(f"{factor:.3g}")}

    def to_object(self) -> dict[str, Any]:
        """Return the object of `calibrate --json`; an end that was not seen is null."""
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
    """All parameters, and what else was seen.

    Attributes:
        words: in the order of machine files.
        machine: the stated network with these costs.
        fit: of the parameters of a lone message.
        contention: how messages affect each other; None: the network has no links, or too few
            ranks.
        barriers: times of barriers by number of ranks.
        notes: what is contradicted, lost, or not known.
    """

    words: tuple[FittedParameter, ...]
    machine: Machine
    fit: Fit
    contention: Contention | None
    barriers: tuple[Barrier, ...]
    notes: tuple[str, ...]

    @property
    def start_s(self) -> float:
        """How far apart ranks begin [s]."""
        return self.fit.parameters.start_s


def find_words(probes: Sequence[Probe], data: Measurements, structure: Machine) -> Found:
    """Return all parameters that the measurements show."""
    evidence = Evidence(probes, data)
    fitter = Fitter(probes, data, structure)
    fit = fitter.fit()
    notes: list[str] = []
    machine = fitter.machine(fit.parameters)
    barriers, synchronization, machine = _barriers(evidence, fit, machine)
    signal, machine = _signal(evidence, fit, machine)
    eager, fit, machine = _eager(evidence, fitter, fit, machine)
    jitter, fit, machine = _jitter(evidence, fit, machine)
    contention = find_contention(replace(evidence, start_s=fit.parameters.start_s), machine)
    copy, machine = _copy(evidence, fit, machine)
    found = [synchronization, signal, eager, jitter, *copy]
    if contention is not None:
        machine = contention.model_words.on(machine)
        costs = replace(
            machine.costs,
            tolerance=contention.tolerance,
            blocking=round(contention.blocking, 2),
        )
        fit, machine = _steady(fit, replace(machine, costs=costs), contention)
        found += _contention_parameters(contention)
    small = [int(probe.x) for probe in evidence.series("pair") if probe.size == SMALLEST_B]
    choice = FittedParameter.choice
    found += [
        *_times(fit, structure),
        *_rates(fit, structure),
        choice(
            "processors",
            fit.parameters.processors,
            "small messages both ways at once, beside one way",
        ),
        choice(
            "in_flight",
            fit.parameters.in_flight or "all",
            f"small messages of one rank under way at once, up to {max(small, default=1)}",
        ),
    ]
    if "link" not in fit.intervals and structure.topology.kind != "crossbar":
        notes.append("link: the stated network has its own rates, which are kept")
    if contention is None and structure.topology.kind != "crossbar":
        notes.append("tolerance, blocking, model: no two pairs of these ranks share a link")
    sizes = [format_size(size) for size in (SMALLEST_B, fitter.large)]
    found.append(
        replace(
            choice("size_range", sizes, "sizes that were sent", " to ".join(sizes)),
            unit="B",
        )
    )
    notes += _contradictions(evidence, machine, contention)
    wide = [parameter.word for parameter in found if parameter.is_vague]
    order = {word: place for place, word in enumerate(PARAMETERS)}
    found.sort(key=lambda parameter: order[parameter.word])
    if wide:
        notes.append(f"known within a factor of two at best: {', '.join(wide)}")
    return Found(tuple(found), machine, fit, contention, tuple(barriers), tuple(notes))


def seconds(value: float) -> str:
    """Return a time as a machine file has it, to four digits."""
    return format_time(float(f"{value:.4g}")) if value else "0 s"


def interval_text(word: str, value: float, interval: Interval) -> str:
    """Return `1.2 us (1.1 to 1.3 us)` for people."""
    write = format_rate if word in RATES else format_time
    if value == inf:
        return f"no limit seen (at least {write(interval.low)})"
    if value == 0:
        return f"0 (at most {write(interval.high)})"
    high = "∞" if interval.high == inf else write(interval.high)
    return f"{write(value)} ({write(interval.low)} to {high})"


def _barriers(
    evidence: Evidence, fit: Fit, machine: Machine
) -> tuple[list[Barrier], FittedParameter, Machine]:
    free = replace(machine, costs=replace(machine.costs, synchronization=Synchronization()))
    points = []
    for probe in evidence.series("barrier"):
        time = evidence.data.median_s(probe.name)
        rest = answer(probe, free, "flow") + fit.parameters.start_s
        error = max(evidence.data.log_error(probe.name), 0.02) * time / (PHASES - 1)
        points.append((probe.ranks, max((time - rest) / (PHASES - 1), 0.0), error))
    barrier, low, high, text = _fit_barrier(points)
    counts = sorted({count for count, _, _ in points})
    ranks = counts[-1]
    value: Any = seconds(barrier.base_s)
    if barrier.per_log2_s:
        base = ("-" if barrier.base_s < 0 else "") + seconds(abs(barrier.base_s))
        value = {"base": base, "per_log2": seconds(barrier.per_log2_s)}
    ends = f"{format_time(low)} to {format_time(high)}"
    parameter = FittedParameter(
        "synchronization",
        value,
        f"{text} ({ends} for {ranks} ranks)",
        barrier.at(ranks),
        low,
        high,
        "s",
        f"{PHASES} phases under barriers of {', '.join(map(str, counts))} ranks; "
        f"for {ranks}: {ends}",
    )
    costs = replace(machine.costs, synchronization=barrier)
    return points, parameter, replace(machine, costs=costs)


def _fit_barrier(points: Sequence[Barrier]) -> tuple[Synchronization, float, float, str]:
    """Return (barrier, low, high, text) over the ranks, by the fewest terms that fit.

    Low and high are for the most ranks.
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
        scale = max(miss / max(len(points) - values.size, 1), 1.0)
        covariance = np.linalg.inv(weighted.T @ weighted) * scale
        found[name] = (miss + 4 * values.size, values, covariance, matrix[-1])
    if distinct == 1:
        found.pop("log")
    if "both" in found and found["both"][1][-1] < 0:
        found.pop("both")
    name = min(found, key=lambda form: found[form][0])
    _, values, covariance, last = found[name]
    values = np.maximum(values, 0.0) if name != "both" else values
    barrier = Synchronization(
        0.0 if name == "log" else float(values[0]), float(values[-1]) if name != "base" else 0.0
    )
    wide = 1.96 * float(np.sqrt(last @ covariance @ last))
    at = barrier.at(max(count for count, _, _ in points))
    text = {
        "base": format_time(barrier.base_s),
        "log": f"{format_time(barrier.per_log2_s)} · log2 N",
        "both": f"{format_time(barrier.base_s)} + {format_time(barrier.per_log2_s)} · log2 N",
    }[name]
    return barrier, max(at - wide, 0.0), at + wide, text


def _signal(evidence: Evidence, fit: Fit, machine: Machine) -> tuple[FittedParameter, Machine]:
    probe = evidence.series("ready")[0]
    time = evidence.data.median_s(probe.name)

    def simulated(signal: float) -> float:
        there = replace(machine, costs=replace(machine.costs, signal_s=signal))
        return answer(probe, there, "flow") + fit.parameters.start_s

    error = max(evidence.data.log_error(probe.name), 0.02) * time
    interval = _found_by(simulated, time, error, evidence.data.alone_s)
    parameter = FittedParameter.time("signal", interval, f"{PHASES} phases under ready")
    return parameter, replace(machine, costs=replace(machine.costs, signal_s=interval.value))


def _found_by(
    simulated: Callable[[float], float], time: float, error: float, unit: float
) -> Interval:
    """Return the number, at least 0, with which a simulation takes the measured time [s].

    Args:
        simulated: the time with a number, which does not fall [s].
        time: measured [s].
        error: its standard error [s].
        unit: the size of such numbers.
    """
    value, slope = 0.0, max((simulated(unit) - simulated(0.0)) / unit, 1e-3 * time / unit)
    for _ in range(6):
        value = max(value + (time - simulated(value)) / slope, 0.0)
    wide = 1.96 * error / slope
    return Interval(value, max(value - wide, 0.0), value + wide)


def _copy(evidence: Evidence, fit: Fit, machine: Machine) -> tuple[list[FittedParameter], Machine]:
    """Return the rate at which bundles are packed, from what stages take more than plain bundles.

    Nothing is found where the network has links, or ranks are too few for bundles.
    """
    probes = {probe.name: probe for probe in evidence.series("stages")}
    if not probes:
        return [], machine
    packed, plain = (probes[f"stages {name}"] for name in ("packed", "plain"))

    def simulated(s_per_B: float) -> float:  # noqa: N803
        there = replace(machine.costs, copy_Bps=1 / s_per_B if s_per_B else inf)
        return answer(packed, replace(machine, costs=there), "flow") + fit.parameters.start_s

    data = evidence.data
    times = simulated(0.0) * data.typical_s(packed.name) / data.typical_s(plain.name)
    error = float(np.hypot(data.log_error(packed.name), data.log_error(plain.name)))
    found = _found_by(
        simulated, times, max(error, 0.02) * times, times / packed.schedule.pattern.bytes
    )
    slowest, fastest = 1 / max(found.high, 1e-30), 1 / found.low if found.low else inf
    value = 1 / found.value if found.low else inf
    source = "a complete exchange in two stages, beside the same bundles without packing"
    ends = (
        f"{format_rate(slowest)} to {format_rate(fastest)}"
        if found.low
        else f"at least {format_rate(slowest)}"
    )
    parameter = FittedParameter(
        "copy",
        "none" if value == inf else format_rate(float(f"{value:.4g}")),
        interval_text("port", value, Interval(value, slowest, fastest)),
        value,
        slowest,
        fastest,
        "B/s",
        f"{source}; {ends}",
    )
    return [parameter], replace(machine, costs=replace(machine.costs, copy_Bps=value))


def _eager(
    evidence: Evidence, fitter: Fitter, fit: Fit, machine: Machine
) -> tuple[FittedParameter, Fit, Machine]:
    """Return the threshold, and the fit: longer messages pay for asking if that fits better."""
    tried = sorted(evidence.series("late"), key=lambda probe: probe.size)
    early = []
    for probe in tried:
        # no send that waits for its receive ends before that, however disturbed it is
        times = sorted(evidence.data.times_s[probe.name])
        early.append(times[min(1, len(times) - 1)] < 0.8 * probe.late_s)
    # the size that parts early sends from late ones with the fewest on the wrong side
    wrong = [
        sum(not is_early for is_early in early[:k]) + sum(early[k:]) for k in range(len(tried) + 1)
    ]
    place = int(np.argmin(wrong))
    low = float(tried[place - 1].size) if place else 0.0
    high = float(tried[place].size) if place < len(tried) else inf
    longest = ", the longest tried," if high == inf else ""
    text = f"sends of up to {format_size(int(low))}{longest} end before their receive is posted"
    value = "none"
    if not place:
        text = "every send waits for its receive"
    elif high < inf:
        text += f", of {format_size(int(high))} not"
        asking = replace(machine, costs=replace(machine.costs, eager_B=low))
        other = Fitter(evidence.probes, evidence.data, asking)
        refitted = other.fit()
        if _criterion(other, refitted) < _criterion(fitter, fit):
            value = format_size(int(low))
            fit, machine = refitted, other.machine(refitted.parameters)
        else:
            text += "; longer ones take no longer than the other words say, so none is charged"
    shown = f"{format_size(int(low))}" + (
        "" if high == inf else f" (below {format_size(int(high))})"
    )
    if high == inf:
        shown = f"at least {shown}"
    return FittedParameter("eager", value, shown, low, low, high, "B", text), fit, machine


def _criterion(fitter: Fitter, fit: Fit) -> float:
    return fitter.criterion(fit.parameters, fitter.cost(fitter.residuals(fit.parameters)))


def _jitter(evidence: Evidence, fit: Fit, machine: Machine) -> tuple[FittedParameter, Fit, Machine]:
    """Return what chance adds to a lone message: typical time less the least, taken off `inject`.

    Of a row of messages, each when the one before has come, the typical time is the mean of one of
    them, without what disturbs whole rows. Barriers and signals were measured whole: what chance
    adds to them is theirs.
    """
    data = evidence.data
    small = [probe for probe in evidence.series("chain") if probe.size == SMALLEST_B]
    most = max(probe.messages for probe in small)
    found, typical, least_s = [], [], inf
    for probe in (probe for probe in small if probe.messages == most):
        pair = {probe.schedule.pattern.source[0], probe.schedule.pattern.target[0]}
        least = min(
            min(data.times_s[other.name]) / other.messages
            for other in small
            if {other.schedule.pattern.source[0], other.schedule.pattern.target[0]} <= pair
        )
        typical.append((data.typical_s(probe.name) - fit.parameters.start_s) / most)
        found.append(max(typical[-1] - least, 0.0))
        least_s = min(least, least_s)
    value, low, high = float(np.median(found)), min(found), max(found)
    if value < CHANCE * float(np.median(typical)):
        value = low = 0.0
        high = max(high, CHANCE * float(np.median(typical)))
    parameter = FittedParameter.time(
        "jitter", Interval(value, low, high), "a lone small message, typical less least time"
    )
    parameters, intervals = fit.parameters, dict(fit.intervals)
    steps = parameters.steps("inject")
    rest = np.maximum(np.array(steps.seconds) - value, 0.0)
    if "inject" in parameters.values:
        names = ["inject", *(step_name("inject", int(size)) for size in steps.up_to_B[:-1])]
        for name, added in zip(names, np.diff(rest, prepend=0.0).tolist(), strict=True):
            parameters = parameters.with_value(name, added)
        given = intervals["inject"]
        intervals["inject"] = Interval(
            float(rest[0]), max(given.low - value, 0.0), max(given.high - value, 0.0)
        )
    if not any(parameters.values.get(word) for word in TIMES):
        # among times that contradict each other the fit can lose all that a message takes; the
        # fastest message had no jitter
        parameters = parameters.with_value("inject", least_s)
        intervals["inject"] = Interval(least_s, 0.0, max(*typical, least_s))
    costs = replace(machine.costs, inject=parameters.steps("inject"), jitter_s=value)
    fit = replace(fit, parameters=parameters, intervals=intervals)
    return parameter, fit, replace(machine, costs=costs)


def _steady(fit: Fit, machine: Machine, contention: Contention) -> tuple[Fit, Machine]:
    """Return the rate of a link under many messages, where single ones have shown a rate."""
    if "link" not in fit.parameters.values:
        return fit, machine
    steady = contention.steady
    old, rate = fit.intervals["link"], fit.parameters.values["link"] * steady
    machine = replace(machine, costs=replace(machine.costs, link_Bps=rate))
    moved = Interval(rate, old.low * steady, old.high * steady)
    refitted = replace(
        fit,
        parameters=fit.parameters.with_value("link", rate),
        intervals={**fit.intervals, "link": moved},
        fitted_s=flow_times(fit.probes, machine) + fit.parameters.start_s,
    )
    return refitted, machine


def _times(fit: Fit, structure: Machine) -> Iterator[FittedParameter]:
    """Yield the times of a lone message."""
    for word in TIMES:
        if word == "hop" and structure.topology.kind == "crossbar":
            continue
        steps = fit.parameters.steps(word)
        none = Interval(0.0, 0.0, 0.01 * fit.parameters.unit_s)
        interval = replace(fit.intervals.get(word, none), value=steps.seconds[0])
        parameter = FittedParameter.time(word, interval, ESTIMATED_FROM[word])
        parameter = replace(parameter, number=fit.intervals.get(word, none).value)
        if len(steps.seconds) > 1:
            rest = [
                f"{format_time(time)} above {format_size(size)}"
                for time, size in zip(steps.seconds[1:], steps.up_to_B, strict=False)
            ]
            parameter = replace(parameter, text=f"{parameter.text}, {', '.join(rest)}")
            if word == "hop":
                yield parameter
                parameter = replace(parameter, word="hop_by_size")
            rows: list[Mapping[str, str]] = [
                {"up_to": format_size(size), "value": seconds(time)}
                for time, size in zip(steps.seconds, steps.up_to_B, strict=True)
                if size < inf
            ]
            parameter = replace(parameter, value=[*rows, {"value": seconds(steps.seconds[-1])}])
        yield parameter
    eject = FittedParameter.choice("eject", "0 s", "part of inject", "part of inject")
    yield replace(eject, number=0.0, unit="s", tag="assumed")


def _rates(fit: Fit, structure: Machine) -> Iterator[FittedParameter]:
    """Yield the rates of ports, nodes and links."""
    values = fit.parameters.values
    ports = ["port"] if "port" in values else ["port_out", "port_in"]
    links = [] if structure.topology.kind == "crossbar" else ["link"]
    for word in (*ports, "node", *links):
        interval, value = fit.intervals.get(word), values.get(word, inf)
        if interval is None:
            continue
        ends = f"at least {format_rate(interval.low)}"
        if value < inf:
            ends = f"{format_rate(interval.low)} to {format_rate(interval.high)}"
        yield FittedParameter(
            word,
            "none" if value == inf else format_rate(float(f"{value:.4g}")),
            interval_text(word, value, interval),
            interval.value,
            interval.low,
            interval.high,
            "B/s",
            f"{ESTIMATED_FROM[word]}; {ends}",
        )


def _contention_parameters(found: Contention) -> Iterator[FittedParameter]:
    """Yield the model of contention, its parameters, and those of the formula."""
    errors = ", ".join(f"{model} {error:.3f}" for model, error in found.errors.items())
    yield FittedParameter.choice(
        "model", found.model, f"rms of log(measured / simulated) over what meets on links: {errors}"
    )
    fields = found.model_words.fields
    if found.buffers_B is None:
        yield FittedParameter.choice("lanes", fields["lanes"], "as model")
    else:
        size, (low, high) = fields["link_buffers_B"], found.buffers_B
        ends = f"{low:.0f} to {high:.0f} B"
        yield FittedParameter(
            "link_buffers",
            f"{size:g} B",
            f"{size:g} B ({ends})",
            float(size),
            low,
            high,
            "B",
            f"messages behind one that is held up; {ends}",
        )
    if found.buffers_B is not None and found.window_B is not None:
        least, window, most = found.window_B
        ends = f"at least {least:.0f} B" if most == inf else f"{least:.0f} to {most:.0f} B"
        value = "none" if window == inf else f"{window:g} B"
        yield FittedParameter(
            "window",
            value,
            f"no limit seen ({ends})" if window == inf else f"{value} ({ends})",
            window,
            least,
            most,
            "B",
            f"a short message posted after long ones into other directions; {ends}",
        )
    yield FittedParameter(
        "tolerance",
        found.tolerance,
        f"{found.tolerance}; one link alone carries {found.harmless} of {found.tested} tried "
        "without harm",
        float(found.harmless),
        float(found.harmless),
        inf if found.harmless == found.tested else float(found.harmless + 1),
        "",
        f"messages that share one link and take what fair sharing takes ({found.harmless} of "
        f"{found.tested} tried), and exchanges in which many meet",
    )
    yield FittedParameter(
        "blocking",
        round(found.blocking, 2),
        f"{found.blocking:.2f} ({found.blocking_low:.2f} to {found.blocking_high:.2f})",
        found.blocking,
        found.blocking_low,
        found.blocking_high,
        "",
        "exchanges in which many messages meet, by the formula",
    )


def _contradictions(
    evidence: Evidence, machine: Machine, contention: Contention | None
) -> Iterator[str]:
    """Yield what does not fit the network that was stated, and what was lost or held up."""
    data = evidence.data
    apart = {int(probe.x): data.typical_s(probe.name) for probe in evidence.series("apart")}
    most = max(apart, default=1)
    slower = apart[most] / apart[min(apart)] if apart else 1.0
    if most > 1 and slower > 1.25:
        cores = " (ranks share cores)" if data.oversubscribed else ""
        yield (
            f"{most} pairs that share nothing in the stated network take {slower:.2f} times "
            f"what one takes{cores}: something else is shared"
        )
    shared = sorted((probe.x, data.typical_s(probe.name)) for probe in evidence.series("share"))
    unlimited = machine.costs.link_Bps == inf and machine.topology.link_rate_Bps is None
    if len(shared) > 1 and unlimited:
        yield (
            f"{shared[-1][0]:g} pairs that share a link in the stated network take "
            f"{shared[-1][1] / shared[0][1]:.2f} times what one takes: it holds nothing back, "
            "or is not shared"
        )
    small = [probe for probe in evidence.series("both", "loaded") if probe.size == SMALLEST_B]
    both = next((data.typical_s(p.name) for p in small if p.series == "both" and p.x == 8), 0.0)
    loaded = next((data.typical_s(p.name) for p in small if p.series == "loaded"), 0.0)
    if both and loaded / both > 1.3:
        yield (
            f"small messages of all ranks at once take {loaded / both:.1f} times what those of "
            "one pair take: overheads grow with load"
        )
    met = [probe.name for probe in evidence.series("share", "crowd", "storm", "pressure")]
    if lost := sum(data.retransmissions.get(name, 0) for name in met):
        worst = max(met, key=data.spread)
        yield (
            f"loss: {lost} segments were sent again where messages met; the slowest repetition "
            f"took {data.spread(worst):.1f} times the typical one ({worst}). No word says so: "
            "measure what matters"
        )
    held = max(contention.pressure, default=0.0) if contention is not None else 0.0
    if contention is not None and contention.pressure and contention.pushes_back:
        yield (
            f"back-pressure: behind one that is held up a message takes {held:.2f} times its "
            f"fair time, {contention.held_up:.2f} times what a queue explains"
        )
    elif held > 1.2:
        yield (
            f"queues: behind one that is held up a message takes {held:.2f} times its fair "
            "time, no longer than behind all bytes of the other"
        )
