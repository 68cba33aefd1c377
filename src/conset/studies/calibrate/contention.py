"""Contention: what messages that meet on links do to each other, and which model says it best.

Probes of contention change no word of a lone message. They decide between models of how bytes cross
links: `flow`, in which a message that waits holds nothing; `wormhole` with one lane or several, in
which it keeps what it has; packets in bounded buffers, where there is that model. They give the
formula's `tolerance` and `blocking`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from conset.machine.costs import MAX_BLOCKING
from conset.machine.machine import Machine
from conset.models.formula import predict
from conset.studies.calibrate.measurements import Evidence, answer
from conset.studies.calibrate.probes import Probe, make_schedule

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
"""Factor from which links are taken to push back.

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
"""A model with at most this error says what limits messages that meet.

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
    said: dict[str, NDArray[np.float64]] = {}
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


def _steady_rate(
    probes: Sequence[Probe], measured: NDArray[np.float64], said: NDArray[np.float64]
) -> float:
    """By how much the rate of links must change for what fills them to be said right in the median.

    1: not at all.

    The first packets of a message may pass faster than a link's rate (a token bucket, a buffer),
    and data one way leave room for acknowledgements of the other. Messages long and many enough to
    fill links both ways show what is left. Where no model says these times, nobody knows why.

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
        costs = replace(machine.costs, tolerance=tolerance, blocking=float(blocking))
        there = replace(machine, costs=costs)
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
