"""Fit: the parameters of a lone message and its neighbours, from times of probes.

Problem. Which overheads, latencies and rates make the models reproduce what was measured?
Idea. A closed form of `docs/cost-model.md` gives each parameter a first value from the one or two
    series that show it; then all are refined together: least squares over the logarithms of
    measured and simulated times, large errors counted less (`soft_l1`). The simulation is the one
    that will read the parameters, so nothing is fitted to another model. Choices that are no
    numbers (processors, slots, costs by size) are tried in turn and kept where they pay.
Scale. Times are counted in the time of a small message alone, rates by their logarithm, so that a
    step of one size means the same everywhere. A cost by size is a first value and what is added
    above a size (`send_overhead>4096`). What is not fitted is no limit for a rate, 0 for a time.
Fewest parameters. A number that cannot be distinguished from 0, or a rate that holds nothing back,
    is left out.
Intervals. 95 %: covariance of the fit at its end, scaled by how well they fit, with a weak prior of
    the size of the parameter itself, so that what the data do not show has a wide interval and no
    infinite one.
Cost. A simulation of some dozen probes per number and step: about a second a fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, Literal

import numpy as np

from conset.base import Floats
from conset.machine import Costs, Machine, Steps, route_hops
from conset.studies.calibrate.measurements import Measurements, flow_times
from conset.studies.calibrate.probes import SMALLEST_B, Probe

RATES: dict[str, tuple[str, ...]] = {
    "port": ("port_out_Bps", "port_in_Bps"),
    "port_out": ("port_out_Bps",),
    "port_in": ("port_in_Bps",),
    "node": ("node_Bps",),
    "link": ("link_Bps",),
}
"""Rates, and the fields of `Costs` they set: one for both ports where they are not distinct."""
TIMES = ("send_overhead", "receive_overhead", "inject", "hop")
"""Words that may change with the size; `hop` then is `hop_by_size`."""
START = "start"
"""How far apart ranks begin: part of what is measured, no word of the machine."""

Values = Floats


def step_name(word: str, above: int) -> str:
    """The name of what a word costs more above a size [B]."""
    return f"{word}>{above}"


@dataclass(frozen=True)
class Parameters:
    """Numbers by name, and the choices that are no numbers.

    Attributes:
        values: times [s] and rates [B/s].
        processors: of a rank.
        in_flight: slots of a rank; None: all.
        unit_s: the time of a small message alone [s].
    """

    values: Mapping[str, float]
    unit_s: float
    processors: Literal["one", "two"] = "two"
    in_flight: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers, in the order of `to_vector`."""
        return tuple(self.values)

    @property
    def start_s(self) -> float:
        """What every probe takes besides [s]."""
        return self.values.get(START, 0.0)

    def is_rate(self, name: str) -> bool:
        """Whether a number is a rate."""
        return name in RATES

    def to_vector(self) -> Values:
        """shape=(numbers)."""
        return np.array(
            [
                log(value) if name in RATES else value / self.unit_s
                for name, value in self.values.items()
            ]
        )

    def with_vector(self, vector: Values) -> Parameters:
        """The same parameters with other numbers."""
        values = {
            name: exp(x) if name in RATES else max(float(x), 0.0) * self.unit_s
            for name, x in zip(self.values, vector, strict=True)
        }
        return replace(self, values=values)

    def with_value(self, name: str, value: float) -> Parameters:
        """With one more number, or another one."""
        return replace(self, values={**self.values, name: value})

    def without(self, name: str) -> Parameters:
        """Without a number."""
        return replace(
            self, values={word: value for word, value in self.values.items() if word != name}
        )

    def steps(self, word: str) -> Steps:
        """A time by size."""
        base = self.values.get(word, 0.0)
        above = sorted(
            (int(name.partition(">")[2]), value)
            for name, value in self.values.items()
            if name.startswith(f"{word}>")
        )
        seconds = base + np.concatenate([[0.0], np.cumsum([value for _, value in above])])
        return Steps(tuple(seconds.tolist()), (*(float(size) for size, _ in above), inf))

    def costs(self, base: Costs) -> Costs:
        """`base` with these words."""
        hop = self.steps("hop")
        fields: dict[str, Any] = {
            "send_overhead": self.steps("send_overhead"),
            "receive_overhead": self.steps("receive_overhead"),
            "inject": self.steps("inject"),
            "eject": Steps(),
            "hop_s": hop.seconds[0],
            "hop_by_size": hop if len(hop.seconds) > 1 else None,
            "processors": self.processors,
            "in_flight": self.in_flight,
            **dict.fromkeys((name for names in RATES.values() for name in names), inf),
            **{
                name: self.values[word]
                for word, names in RATES.items()
                if word in self.values
                for name in names
            },
        }
        return replace(base, **fields)


SERIES = ("chain", "pair", "both", "out", "in")
"""What words are fitted to; of `share` and `apart` the first two."""
FLOOR = 0.02
"""Of the standard error of a logarithm: no machine keeps to its words more exactly."""
PAYS = 10.0
"""By how much a criterion (BIC) must fall before more parameters are believed.

"very strong" evidence.
"""
BINDS = 0.85
"""A rate limits several messages that together are slower than this share of as many alone."""
DOUBTFUL = 0.6
"""Of squares in standard errors.

Above it more parameters are looked for (right ones leave about a third).
"""
MAX_STEPS = 4
SLOTS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; `high` infinite: no upper end was seen."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Fit:
    """What was found.

    Attributes:
        parameters: the fitted parameters.
        intervals: by the names of the numbers; a rate that limits nothing has the largest seen as
            its `low`.
        probes: that were fitted.
        measured_s: shape=(probes) [s].
        fitted_s: shape=(probes) [s]: by them.
    """

    parameters: Parameters
    intervals: dict[str, Interval]
    probes: tuple[Probe, ...]
    measured_s: Floats
    fitted_s: Floats

    @property
    def deviation(self) -> float:
        """Median of |log(measured / fitted)|."""
        return float(np.median(np.abs(np.log(self.measured_s / self.fitted_s))))


class Fitter:
    """Fits parameters to the probes of one calibration."""

    def __init__(self, probes: Sequence[Probe], data: Measurements, structure: Machine) -> None:
        self.structure, self.data = structure, data
        self.by_name = {probe.name: probe for probe in probes}
        self.probes = [
            probe
            for probe in probes
            if (probe.series in SERIES or (probe.series in ("share", "apart") and probe.x <= 2))
            and probe.name in data.times_s
        ]
        self.busy = any(probe.times > 1 for probe in probes)
        if self.busy:  # what others do not do at the same time takes a fraction of that
            self.probes = [probe for probe in self.probes if probe.times > 1]
        self.measured: Values = np.array([data.typical_s(probe.name) for probe in self.probes])
        self.sigma: Values = np.hypot([data.log_error(probe.name) for probe in self.probes], FLOOR)
        self.large = max(probe.size for probe in self.probes)
        self.lower: dict[str, float] = {}
        self.upper: dict[str, float] = {}

    def machine(self, parameters: Parameters) -> Machine:
        """The stated network with costs of these parameters."""
        return replace(self.structure, costs=parameters.costs(self.structure.costs))

    def times(self, parameters: Parameters) -> Values:
        """shape=(probes): by these parameters [s]."""
        return flow_times(self.probes, self.machine(parameters)) + parameters.start_s + 1e-10

    def residuals(self, parameters: Parameters) -> Values:
        """shape=(probes): log(fitted / measured) in standard errors."""
        return np.log(self.times(parameters) / self.measured) / self.sigma

    def cost(self, residuals: Values) -> float:
        """A sum of squares in which large ones count as their size."""
        return float(np.sum(2 * 4 * (np.sqrt(1 + residuals**2 / 4) - 1)))

    def criterion(self, parameters: Parameters, cost: float) -> float:
        """BIC: how badly it fits, and how long it is."""
        n = len(self.probes)
        return n * log(max(cost, 1e-3 * n) / n) + len(parameters.values) * log(n)

    def jacobian(
        self, parameters: Parameters, base: Values | None = None, *, down: bool = False
    ) -> Values:
        """shape=(probes, numbers).

        Change of residuals by the vector of parameters, upwards or downwards.
        """
        base = self.residuals(parameters) if base is None else base
        vector, columns = parameters.to_vector(), []
        for k, name in enumerate(parameters.names):
            step = 0.01 if parameters.is_rate(name) else 0.02 * max(vector[k], 0.1)
            step = (
                -min(step, vector[k])
                if down and vector[k] > 0 and not parameters.is_rate(name)
                else step
            )
            step = -step if down and parameters.is_rate(name) else step
            moved = vector.copy()
            moved[k] += step
            columns.append((self.residuals(parameters.with_vector(moved)) - base) / step)
        return np.stack(columns, axis=1)

    def refine(
        self, parameters: Parameters, rounds: int = 8, *, held: str = ""
    ) -> tuple[Parameters, float]:
        """Parameters with the numbers that fit best near the given ones.

        But for `held`, and their cost.

        Damped Gauss-Newton, weights again at every step; times stay at least 0.
        """
        vector, residuals = parameters.to_vector(), self.residuals(parameters)
        cost, damping = self.cost(residuals), 1e-3
        for _ in range(rounds):
            jacobian = self.jacobian(parameters.with_vector(vector), residuals)
            jacobian[:, [name == held for name in parameters.names]] = 0.0
            weight = 1 / np.sqrt(1 + residuals**2 / 4)
            normal = jacobian.T @ (weight[:, None] * jacobian)
            slope = jacobian.T @ (weight * residuals)
            before = cost
            while damping < 1e6:
                scale = damping * (np.diag(normal) + 1e-6 * max(np.trace(normal), 1e-12))
                moved = vector - _solve_bounded(normal + np.diag(scale), slope, vector, parameters)
                found = self.residuals(parameters.with_vector(moved))
                if self.cost(found) < cost:
                    vector, residuals, cost = moved, found, self.cost(found)
                    damping = max(damping / 10, 1e-6)
                    break
                damping *= 10
            if damping >= 1e6 or before - cost < 1e-3 * before:
                break
        return parameters.with_vector(vector), cost

    # first values

    def first(self) -> Parameters:
        """By the closed forms."""
        near = self._chains(SMALLEST_B)
        unit = max(min(near.values()), 1e-9)
        send, receive = self._window_slope("out", "pair"), self._window_slope("in", "pair")
        hops = sorted(near)
        hop = 0.0
        if len(hops) > 1:
            hop = max((near[hops[-1]] - near[hops[0]]) / (hops[-1] - hops[0]), 0.0)
        share = min(1.0, 0.98 * unit / max(send + receive, 1e-12))
        values = {
            "send_overhead": send * share,
            "receive_overhead": receive * share,
            "inject": max(unit - (send + receive) * share - hops[0] * hop, 0.02 * unit),
        }
        if len(hops) > 1 and hops[-1] > 0:
            values["hop"] = max(hop, 1e-3 * unit)
        values |= self.first_rates()
        values[START] = 0.02 * unit
        # ranks that share a core have one processor at most
        return Parameters(values, unit, processors="one" if self.busy else "two")

    def _of(self, series: str, size: int) -> list[Probe]:
        """Return the probes of a series and size."""
        return [probe for probe in self.probes if (probe.series, probe.size) == (series, size)]

    def _typical_s(self, probe: Probe) -> float:
        return self.data.typical_s(probe.name)

    def _chains(self, size: int) -> dict[int, float]:
        """Return the time of a message of a size by its number of links [s]."""
        topology, routing = self.structure.topology, self.structure.routing
        found: dict[int, float] = {}
        for probe in self._of("chain", size):
            schedule = probe.schedule
            hops = int(route_hops(topology, routing, schedule.source_node, schedule.target_node)[0])
            found[hops] = min(found.get(hops, inf), self._typical_s(probe) / probe.messages)
        return found

    def _window_slope(self, *series: str) -> float:
        """Return the time from one small message of a window to the next [s].

        Of the first series that has a slope; 0 where none has.
        """
        for name in series:
            points = sorted((p.x, self._typical_s(p)) for p in self._of(name, SMALLEST_B))
            if len(points) > 1:
                (x0, t0), (x1, t1) = points[len(points) // 2 - 1], points[-1]
                if t1 > t0:
                    return (t1 - t0) / (x1 - x0)
        return 0.0

    def _rate(self, probe: Probe, base: float) -> float:
        """Return bytes over time of a probe of long messages, without what precedes them [B/s]."""
        return probe.messages * self.large / max(self._typical_s(probe) - base, 1e-12)

    def _largest_rate(self, series: str, base: float, x: float | None = None) -> float:
        """Return the rate of a series' probe of most long messages, or of `x`; 0: there is none."""
        probes = [p for p in self._of(series, self.large) if x in (None, p.x)]
        if not probes:
            return 0.0
        return self._rate(max(probes, key=lambda p: (p.x, p.messages)), base)

    def first_rates(self) -> dict[str, float]:
        """Which rates hold something back, and about how large they are [B/s]."""
        sizes = sorted({probe.size for probe in self.probes if probe.series == "chain"})
        chains = [min(self._chains(size).values()) for size in sizes[-2:]]
        alone = self.large / max(chains[-1], 1e-12)
        if len(sizes) > 1 and chains[1] > chains[0]:
            alone = (sizes[-1] - sizes[-2]) / (chains[1] - chains[0])
        base = max(chains[-1] - self.large / alone, 0.0)
        single = self._largest_rate("pair", base) or alone
        crossbar = self.structure.topology.kind == "crossbar"
        rates: dict[str, float] = {}
        shared = self._largest_rate("share", base, 2)
        stated = self.structure.topology.link_rate_Bps is not None
        if not crossbar and not stated:
            if not shared:
                rates["link"] = single
            elif shared < BINDS * 2 * single:
                rates["link"] = max(shared, single)
            else:
                self.lower["link"] = shared
        for word, series in (("port_out", "out"), ("port_in", "in")):
            fan = self._of(series, self.large)
            most = max((self._distinct(p) for p in fan), default=1)
            widest = (self._rate(p, base) for p in fan if self._distinct(p) == most)
            together = max(widest, default=single)
            if (most > 1 and together < BINDS * most * single) or (crossbar and most == 1):
                rates[word] = together
            else:
                self.lower[word] = together
        if not {"link", "port_out", "port_in"} & set(rates) and not stated:
            rates["port_out"] = rates["port_in"] = single
        both = {"port_out", "port_in"} <= set(rates)
        if both and 0.8 < rates["port_out"] / rates["port_in"] < 1.25:
            rates["port"] = float(np.sqrt(rates.pop("port_out") * rates.pop("port_in")))
        ways = self._of("both", self.large)
        together = max((self._rate(p, base) for p in ways), default=0.0)
        one_way = min(rates.get(word, inf) for word in ("port", "port_out", "port_in"))
        if ways and self._largest_rate("both", base) < BINDS * 2 * min(single, one_way):
            rates["node"] = together
        else:
            self.lower["node"] = together
        return rates

    def _distinct(self, probe: Probe) -> int:
        """Pairs of ranks of a probe."""
        pattern = probe.schedule.pattern
        pairs = set(zip(pattern.source.tolist(), pattern.target.tolist(), strict=True))
        return len(pairs) // probe.times

    # choices

    def fit(self) -> Fit:
        """The fewest parameters that the data support."""
        parameters, cost = self.refine(self.first())
        other: Literal["one", "two"] = "one" if parameters.processors == "two" else "two"
        parameters, cost = self._better(parameters, cost, replace(parameters, processors=other))
        if "port" in parameters.values:  # two rates where one does not fit
            port = parameters.values["port"]
            ports = {"port_out": port * 1.02, "port_in": port * 0.98}
            apart = replace(parameters, values={**parameters.values, **ports}).without("port")
            parameters, cost = self._better(parameters, cost, apart)
        if cost / len(self.probes) > DOUBTFUL:
            # whether parameters without slots predict messages of one rank at once worst
            own = np.array([probe.series in ("pair", "out") for probe in self.probes])
            if float(np.mean(np.minimum(self.residuals(parameters)[own] ** 2, 16.0))) > DOUBTFUL:
                parameters, cost = self._choose_slots(parameters, cost)
            parameters, cost = self._add_steps(parameters, cost)
        parameters, cost = self._restart(parameters, cost)
        parameters, cost = self._drop(parameters, cost)
        intervals = self._widened(parameters, cost, self.intervals(parameters))
        for word in [
            name
            for name in parameters.names
            if name in RATES and intervals[name].high > 10 * intervals[name].low
        ]:
            # a rate of which so little is seen is none that limits anything, but bytes cost time
            # somewhere
            if self._last_limit(parameters, word):
                continue
            seen, parameters = intervals.pop(word).low, parameters.without(word)
            self.lower |= dict.fromkeys(
                ("port_out", "port_in") if word == "port" else (word,), seen
            )
        for word, seen in self.lower.items():
            intervals.setdefault(word, Interval(inf, seen, inf))
        for word, most in self.upper.items():
            intervals.setdefault(word, Interval(0.0, 0.0, most))
        return Fit(parameters, intervals, tuple(self.probes), self.measured, self.times(parameters))

    def _better(
        self, parameters: Parameters, cost: float, start: Parameters
    ) -> tuple[Parameters, float]:
        """Return the fit from another start where it is better, else the given one."""
        found, other = self.refine(start)
        if self.criterion(found, other) < self.criterion(parameters, cost) - 2:
            return found, other
        return parameters, cost

    def _restart(self, parameters: Parameters, cost: float) -> tuple[Parameters, float]:
        """From other shares of what a small message takes.

        Descents end where two works are equally busy.
        """
        whole = sum(
            parameters.values.get(word, 0.0)
            for word in ("send_overhead", "receive_overhead", "inject")
        )
        others = {"send_overhead": "receive_overhead", "receive_overhead": "send_overhead"}
        for word in others:
            for factor in (0.3, 0.7, 1.6):
                own = min(parameters.values.get(word, 0.0) * factor, 0.9 * whole)
                start = parameters.with_value(word, own).with_value(
                    "inject",
                    max(whole - own - parameters.values.get(others[word], 0.0), 0.02 * whole),
                )
                found, other = self.refine(start, 4)
                if other < 0.98 * cost:
                    parameters, cost = self.refine(found)
        return parameters, cost

    def _choose_slots(self, parameters: Parameters, cost: float) -> tuple[Parameters, float]:
        best, least = parameters, cost
        gap = self._window_slope("out", "pair")
        windows = {probe.x for probe in self._of("pair", SMALLEST_B)}
        starts: list[tuple[float, Parameters]] = []
        for slots in SLOTS:
            if len(windows) < 2 or max(windows) <= slots:
                continue
            values = dict(parameters.values)
            values["send_overhead"] = 0.5 * gap if slots > 1 else 0.3 * gap
            values["inject"] = max(slots * gap - values["send_overhead"], 0.02 * parameters.unit_s)
            values["receive_overhead"] = min(parameters.values.get("receive_overhead", 0.0), gap)
            found, other = self.refine(replace(parameters, values=values, in_flight=slots), 2)
            starts.append((other, found))
        for _, start in sorted(starts, key=lambda each: each[0])[:2]:
            for processors in ("two", "one"):
                found, other = self.refine(replace(start, processors=processors))
                if other < least - (0 if processors == start.processors else 2):
                    best, least = found, other
        believed = self.criterion(best, least) <= self.criterion(parameters, cost) - PAYS
        return (best, least) if best.in_flight is None or believed else (parameters, cost)

    def _add_steps(self, parameters: Parameters, cost: float) -> tuple[Parameters, float]:
        """Costs by size, the one that promises most first, as long as they pay."""
        sizes = sorted({probe.size for probe in self.probes})[:-1]
        for _ in range(MAX_STEPS):
            residuals = self.residuals(parameters)
            weight = 1 / np.sqrt(1 + residuals**2 / 4)
            promised: list[tuple[float, str, float]] = []
            words = [word for word in TIMES if word in parameters.values]
            for name in (step_name(word, size) for word in words for size in sizes):
                if name in parameters.values:
                    continue
                step = 0.05 * parameters.unit_s
                column = (self.residuals(parameters.with_value(name, step)) - residuals) / step
                against, curve = float(weight * column @ residuals), float(weight * column @ column)
                if against < 0 < curve:
                    promised.append((against**2 / curve, name, -against / curve))
            tried = [
                self.refine(parameters.with_value(name, value))
                for _, name, value in sorted(promised, reverse=True)[:2]
            ]
            if not tried:
                break
            found, other = min(tried, key=lambda each: each[1])
            if self.criterion(found, other) > self.criterion(parameters, cost) - PAYS:
                break
            parameters, cost = found, other
        return parameters, cost

    def _drop(self, parameters: Parameters, cost: float) -> tuple[Parameters, float]:
        """Leaves out numbers that the data do not need.

        Times that could be 0, rates that limit nothing.
        """
        for name in sorted(
            parameters.names,
            key=lambda name: (">" not in name, name not in RATES, parameters.values[name]),
        ):
            rest = parameters.without(name)
            if self._last_limit(parameters, name):
                continue
            if any(other.startswith(f"{name}>") for other in parameters.names) or (
                name not in RATES
                and parameters.values[name] > 0.2 * parameters.unit_s
                and name != START
            ):
                continue
            simple = self.cost(self.residuals(rest))
            if self.criterion(rest, simple) > self.criterion(parameters, cost) + 2 * PAYS:
                continue
            found, other = self.refine(rest, 4)
            if self.criterion(found, other) <= self.criterion(parameters, cost):
                if name in RATES:
                    both = ("port_out", "port_in") if name == "port" else (name,)
                    self.lower |= dict.fromkeys(both, parameters.values[name])
                else:
                    self.upper[name] = self.intervals(parameters)[name].high
                parameters, cost = found, other
        return parameters, cost

    def _last_limit(self, parameters: Parameters, name: str) -> bool:
        """Whether without a number nothing would say what bytes of one message cost."""
        limits = set(RATES) - {"node"}
        stated = self.structure.topology.link_rate_Bps is not None
        return name in limits and not stated and not limits & set(parameters.without(name).values)

    def intervals(self, parameters: Parameters) -> dict[str, Interval]:
        """95 % intervals of the numbers."""
        residuals = self.residuals(parameters)
        up, down = (self.jacobian(parameters, residuals, down=down) for down in (False, True))
        # where the busier of two works decides, a word shows in one direction only
        jacobian = np.where(np.sum(up**2, axis=0) <= np.sum(down**2, axis=0), up, down)
        weight = 1 / np.sqrt(1 + residuals**2 / 4)
        scale = max(self.cost(residuals) / max(len(self.probes) - len(parameters.names), 1), 1.0)
        prior = np.eye(len(parameters.names))
        covariance = scale * np.linalg.inv(jacobian.T @ (weight[:, None] * jacobian) + prior)
        error = 1.96 * np.sqrt(np.diag(covariance))
        intervals = {}
        for name, value, wide in zip(
            parameters.names, parameters.values.values(), error, strict=True
        ):
            if parameters.is_rate(name):
                intervals[name] = Interval(value, value * np.exp(-wide), value * np.exp(wide))
            else:
                reach = wide * parameters.unit_s
                intervals[name] = Interval(value, max(value - reach, 0.0), value + reach)
        return intervals

    def _widened(
        self, parameters: Parameters, cost: float, intervals: dict[str, Interval]
    ) -> dict[str, Interval]:
        """Intervals of works, down to where the data speak against less.

        Beside a busier work they do not.
        """
        allowed = 3.84 * max(cost / max(len(self.probes) - len(parameters.names), 1), 1.0)
        for word in ("send_overhead", "receive_overhead"):
            if parameters.values.get(word, 0.0) <= 0 or "inject" not in parameters.values:
                continue
            given = intervals[word]
            for share in (0.5, 0.1):
                value = share * given.value
                rest = parameters.values["inject"] + given.value - value
                start = parameters.with_value(word, value).with_value("inject", rest)
                if value >= given.low or self.refine(start, 4, held=word)[1] > cost + allowed:
                    break
                other = intervals["inject"]
                intervals[word] = replace(intervals[word], low=value if share > 0.1 else 0.0)
                intervals["inject"] = replace(other, high=max(other.high, rest))
        return intervals


def _solve_bounded(normal: Values, slope: Values, vector: Values, parameters: Parameters) -> Values:
    """The step of a Gauss-Newton method that keeps times at least 0.

    Those that would leave are held at 0.
    """
    free = np.ones(vector.size, bool)
    times = np.array([not parameters.is_rate(name) for name in parameters.names])
    step: Values = np.zeros(vector.size)
    for _ in range(vector.size):
        held = times & ~free
        right = slope - normal[:, held] @ vector[held]
        step[held] = vector[held]
        if free.any():
            step[free] = np.linalg.solve(normal[np.ix_(free, free)], right[free])
        step = (
            np.clip(step, -3.0, None)
            if not times.any()
            else np.where(times, step, np.clip(step, -1.0, 1.0))
        )
        leaves = free & times & (vector - step < 0)
        if not leaves.any():
            break
        free &= ~leaves
    return step
