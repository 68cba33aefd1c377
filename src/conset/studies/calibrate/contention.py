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
from conset.studies.calibrate.measurements import Measurements, answer
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


def _packets_apply(machine: Machine) -> bool:
    """Whether there is that model for a machine.

    Packets know no rate of a node in and out together.
    """
    return machine.costs.node_Bps == inf


def _models(machine: Machine, window: float) -> list[list[ContentionModel]]:
    """Kinds of models, the simplest first; of a kind the best stands for it."""
    return [
        [ContentionModel("flow", {"model": "flow", "lanes": 1})],
        [
            ContentionModel(f"wormhole, lanes {n}", {"model": "wormhole", "lanes": n})
            for n in (1, 2, 4)
        ],
        *([[_packets(size, window) for size in BUFFERS_B]] if _packets_apply(machine) else []),
    ]


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
        tolerance: of the formula: messages of an exchange that a link carries without loss.
        harmless: messages that one link alone carries in the time of fair sharing.
        tested: the most that were tried on one link.
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
    tolerance: int
    harmless: int
    tested: int
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


def find_contention(
    probes: Sequence[Probe], data: Measurements, machine: Machine, start_s: float
) -> Contention | None:
    """What the probes of contention show on a machine whose other words are known.

    None: there are none.

    Args:
        probes: all.
        data: their times.
        machine: with the words of a lone message.
        start_s: what every probe takes besides.
    """
    used = [probe for probe in probes if probe.series in SERIES]
    if not used or machine.topology.kind == "crossbar":
        return None
    measured = np.array([data.typical_s(probe.name) for probe in used])
    # a model that has one message of a rank at a time on its way shows where several go different
    # ways
    compared = [*used, *(probe for probe in probes if probe.one_each)]
    typical = np.array([data.typical_s(probe.name) for probe in compared])
    said: dict[str, NDArray[np.float64]] = {}
    logs: dict[str, float] = {}
    models: list[ContentionModel] = []
    behind = [probe for probe in probes if probe.series == "behind"]
    window = _find_window(behind, data, machine, start_s) if _packets_apply(machine) else None
    for kind in _models(machine, inf if window is None else window[1]):
        for model in kind:
            said[model.name] = (
                np.array([answer(probe, model.on(machine)) for probe in compared]) + start_s
            )
            logs[model.name] = float(
                np.sqrt(np.mean(np.log(typical / np.minimum(said[model.name], 1e6)) ** 2))
            )
        models.append(min(kind, key=lambda each: logs[each.name]))
    flow = np.array([answer(probe, machine, "flow") for probe in used]) + start_s
    ratio = measured / flow
    pressure = tuple(float(r) for p, r in zip(used, ratio, strict=True) if p.series == "pressure")
    best = models[0]
    pressed = [probe for probe in used if probe.series == "pressure"]
    held_up = max(
        (
            data.typical_s(probe.name) / (_time_behind(probe, machine) + start_s)
            for probe in pressed
        ),
        default=0.0,
    )
    enough = BETTER if not pressed or held_up > HELD_UP or logs[best.name] > FAR else CLEARLY
    for model in models[1:]:
        if logs[best.name] > EXACT and logs[model.name] < enough * logs[best.name]:
            best = model
    errors = {model.name: logs[model.name] for model in models}
    buffers = None
    if "link_buffers_B" in best.fields:
        alike = [
            size for size in BUFFERS_B if logs[f"packet, buffers {size} B"] <= 2 * logs[best.name]
        ]
        step = BUFFERS_B[1] / BUFFERS_B[0]
        buffers = (min(alike) / step, max(alike) * step)
    shared = [k for k, probe in enumerate(used) if probe.series in ("share", "crowd")]
    sharing = sorted((int(used[k].x), float(ratio[k])) for k in shared)
    tolerance = 1
    for count, over in sharing:
        if over > HARMLESS:
            break
        tolerance = max(tolerance, count)
    tested = max((count for count, _ in sharing), default=1)
    formula_tolerance, blocking, low, high = _fit_blocking(
        used, data, machine, tolerance, str(best.fields["model"]), start_s
    )
    return Contention(
        best,
        buffers,
        window if buffers is not None else None,
        formula_tolerance,
        tolerance,
        tested,
        blocking,
        low,
        high,
        errors,
        tuple(sharing),
        pressure,
        held_up,
        _steady_rate(compared, typical, said[best.name]) if logs[best.name] <= EXPLAINED else 1.0,
    )


def _time_behind(probe: Probe, machine: Machine) -> float:
    """Time of a probe's watched message if its source's other message goes first [s].

    Two messages of one length that share a link fairly end when one behind the other would.
    """
    pattern = probe.schedule.pattern
    both = np.flatnonzero(
        pattern.source == pattern.source[np.flatnonzero(pattern.target == probe.watch)[0]]
    )
    messages = [
        (int(pattern.source[k]), int(pattern.target[k]), int(pattern.size[k])) for k in both
    ]
    alone = make_schedule(probe.schedule.machine, probe.ranks, messages, name=probe.name)
    return answer(replace(probe, schedule=alone), machine, "flow")


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


def _find_window(
    behind: Sequence[Probe], data: Measurements, machine: Machine, start_s: float
) -> tuple[float, float, float] | None:
    """(least, best, most) bytes of a message on their way, by a short one posted after long ones.

    None: no probe.

    No link there has more than one message: what buffers hold does not matter.
    """
    if not behind:
        return None
    probe = behind[0]
    measured = data.typical_s(probe.name)
    tried = [window for window in WINDOWS_B if window < probe.size or window == inf]
    said = [answer(probe, _packets(inf, window).on(machine)) + start_s for window in tried]
    logs = [abs(float(np.log(time / measured))) for time in said]
    alike = [
        window
        for window, each in zip(tried, logs, strict=True)
        if each < max(NEAR, min(logs) + 1e-9)
    ]
    best = tried[int(np.argmin(logs))]
    low, high = min(alike), max(alike)
    return (
        (low / 1.25 if low < inf else float(probe.size)),
        (inf if high == inf else best),
        high * 1.25,
    )


def _fit_blocking(
    used: Sequence[Probe],
    data: Measurements,
    machine: Machine,
    harmless: int,
    model: str,
    start_s: float,
) -> tuple[int, float, float, float]:
    """(tolerance, exponent, low, high) with the least error of the formula.

    The interval from leaving one out.

    Where messages hold links while they wait, exchanges lose what messages of one link do not: then
    only storms count, and any tolerance may be; else what one link carries without harm is the
    tolerance.
    """
    series = ("crowd", "storm") if model == "flow" else ("storm",)
    chosen = [probe for probe in used if probe.series in series]
    if not chosen:
        return harmless, 0.0, 0.0, MAX_BLOCKING

    def error(blocking: float, tolerance: int, left_out: int = -1) -> float:
        there = replace(
            machine, costs=replace(machine.costs, tolerance=tolerance, blocking=float(blocking))
        )
        logs = [
            np.log(
                data.typical_s(probe.name)
                / (predict(probe.schedule, machine=there).time_s + start_s)
            )
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
