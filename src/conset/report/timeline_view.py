"""Timeline view: what terminal, picture and `--json` show of a timeline.

Facts, links over time, the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.base.units import count_of, format_rate, format_size, format_time
from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.timeline import Timeline, resource_name
from conset.models.usage import (
    BINS,
    Usage,
    flowing_from,
    flowing_until,
    least_time,
    under_way,
    usage_of,
)
from conset.models.workload import Workload
from conset.report.style import WORK

Floats = NDArray[np.float64]

WAITING = "#d3d8df"
"""The colour of messages that wait: as the grid's grey."""
OVERHEAD = WORK
"""The colour of messages on which a processor works."""


@dataclass(frozen=True, eq=False)
class Part:
    """What messages do for a part of their time.

    Attributes:
        what: in words.
        begin_s: shape=(messages) [s].
        end_s: shape=(messages) [s].
        colour: of pictures; None: that of bytes.
    """

    what: str
    begin_s: Floats
    end_s: Floats
    colour: str | None


@dataclass(frozen=True, eq=False)
class TimelineView:
    """A timeline and what it was made from.

    Machine and settings are None where a file only names them.

    Raises:
        InputError: a timeline that does not say which messages it is of.
    """

    timeline: Timeline
    machine: Machine | None = None
    settings: Settings | None = None

    def __post_init__(self) -> None:
        if self.timeline.workload is None:
            raise InputError("the timeline does not say which messages it is of")

    @property
    def work(self) -> Workload:
        """What was played."""
        assert self.timeline.workload is not None  # refused at construction
        return self.timeline.workload

    @cached_property
    def usage(self) -> Usage | None:
        """Links and ports over time; None without a machine, whose rates these are."""
        return (
            None
            if self.machine is None
            else usage_of(self.timeline, self.work, self.machine, self.how)
        )

    @property
    def how(self) -> Settings:
        """How it was executed, as far as anybody says."""
        return self.settings or Settings(sync=self.timeline.sync, in_flight=self.timeline.in_flight)

    @cached_property
    def first(self) -> Floats:
        """shape=(messages) [s]: when bytes of each message began to flow.

        (0) where nobody knows.
        """
        return flowing_from(self.timeline, self.work, self.machine, self.how)

    @cached_property
    def bound(self) -> tuple[float, str] | None:
        """(time [s], witness): what no execution of these messages under these settings beats."""
        if self.machine is None:
            return None
        return least_time(self.work, self.machine, self.how, self.timeline.model)

    @cached_property
    def ranks(self) -> int:
        """Rows of a picture: ranks that send or receive, and those before them; at least 1."""
        rank = (self.work.sending_rank, self.work.receiving_rank)
        return int(max(values.max(initial=0) for values in rank)) + 1

    @property
    def flowing(self) -> str:
        """What a message does between its first and its last byte, in words."""
        return "flits under way" if self.timeline.model == "flit" else "bytes flow"

    @property
    def latency(self) -> str:
        """What it does between its send overhead and its first byte."""
        if self.timeline.model not in ("wormhole", "circuit"):
            return "latency"
        before = (
            self.machine is not None
            and self.machine.costs_for(self.work.method).receive == "before"
        )
        return "latency, or channel or receiver busy" if before else "latency, or channel busy"

    @property
    def waiting(self) -> str:
        """What it does while no byte of it flows."""
        return f"overhead, {self.latency}"

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The life of every message: bytes first.

        Overheads and what is between them as far as the timeline says.
        """
        timeline = self.timeline
        start, sent, end, left = (
            timeline.start_s,
            timeline.sent_s,
            timeline.end_s,
            flowing_until(timeline),
        )
        first = np.minimum(self.first, left) if self.first.size else start
        parts = [Part(self.flowing, first, left, None)]
        if self.first.size:
            known = sent.size > 0
            parts.append(
                Part(
                    self.latency if known else self.waiting,
                    sent if known else start,
                    first,
                    WAITING,
                )
            )
        if sent.size:
            caption = "overheads, or processor busy"
            parts += [Part(caption, start, sent, OVERHEAD), Part(caption, left, end, OVERHEAD)]
        elif (end > left).any():
            parts.append(Part("overhead", left, end, OVERHEAD))
        return tuple(parts)

    def leaving(self) -> tuple[Floats, Floats, str]:
        """(what leaves each rank as a share, its messages that do not flow.

        Both shape=(ranks, bins)), of what.
        """
        timeline, work = self.timeline, self.work
        usage, placed = self.usage, work.sender.size > 0
        edges = (
            np.linspace(0.0, timeline.time_s or 1.0, BINS + 1) if usage is None else usage.edges_s
        )
        flowing, *others = self.parts
        rank = work.sending_rank
        waits = np.zeros((self.ranks, edges.size - 1))
        for part in others:
            waits += under_way(part.begin_s, part.end_s, edges, rank, self.ranks)
        if usage is None or self.machine is None or placed:
            flows = under_way(flowing.begin_s, flowing.end_s, edges, rank, self.ranks)
            return (
                flows / (flows.max(initial=0.0) or 1.0),
                waits,
                "share of the most messages a rank has open",
            )
        rate = self.machine.costs_for(work.method).port_out_Bps
        if np.isfinite(rate):
            return usage.out[: self.ranks] / rate, waits, "share of the port's rate"
        return (
            usage.out[: self.ranks] / (usage.out.max(initial=0.0) or 1.0),
            waits,
            "share of the most a rank sends",
        )

    def describe_bound(self) -> str:
        """`bound 22.7 ms, the time is 3.62 times it`; empty where nothing is known."""
        if self.bound is None or not self.bound[0]:
            return ""
        gap = self.timeline.time_s / self.bound[0]
        if gap < 1.1:
            far = "reached" if gap < 1.0005 else f"the time is {gap - 1:.1%} above"
        else:
            far = f"the time is {gap:.3g} times it"
        return f"bound {format_time(self.bound[0])}, {far}"

    @property
    def spread(self) -> str:
        """How far what is drawn over time is not what happened; empty where it is."""
        if self.usage is None or self.usage.exact:
            return ""
        return "bytes of a message are spread evenly over its time"

    def describe_busiest(self) -> str:
        """`link 3 → 4: 64 KiB at 175 MB/s need 374.5 us`; empty where nothing limits."""
        usage = self.usage
        if usage is None or usage.busiest < 0 or self.machine is None:
            return ""
        name = resource_name(self.machine.topology, usage.busiest)
        size, rate = format_size(float(usage.carried[-1])), format_rate(usage.rate_Bps)
        return f"{name}: {size} at {rate} need {format_time(usage.work_s)}"

    def describe_bottlenecks(self, count: int = 3) -> str:
        """`link 3 → 4 limits 12 messages, …`: what limited most.

        Empty where nothing did or it is not known.
        """
        held = self.timeline.held_by[self.timeline.held_by >= 0]
        if not held.size or self.machine is None:
            return ""
        which, counts = np.unique(held, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:count]
        topology = self.machine.topology
        counted = [(resource_name(topology, int(which[k])), int(counts[k])) for k in most]
        names = [f"{name} limits {count_of(number, 'message')}" for name, number in counted]
        return ", ".join(names) + (
            f" and {which.size - count:,} more" if which.size > count else ""
        )

    def headlines(self) -> tuple[str, str]:
        """Title and second line."""
        timeline = self.timeline
        flight = "all" if timeline.in_flight is None else timeline.in_flight
        size = format_size(int(self.work.bytes.sum()))
        title = (
            f"{self.work.name} on {timeline.machine}: {format_time(timeline.time_s)} by "
            f"{timeline.model}"
        )
        second = (
            f"{count_of(timeline.messages, 'message')}, {size}, sync {timeline.sync}, in "
            f"flight {flight}"
        )
        if self.bound is not None:
            second += f" · bound {format_time(self.bound[0])}: {self.bound[1]}"
        return title, second

    def to_object(self) -> dict[str, Any]:
        """As `show --json` prints it.

        Shares of capacity over time, bytes that the busiest resource has carried.
        """
        usage = self.usage
        body: dict[str, Any] = {
            "name": self.work.name,
            **{
                key: value for key, value in self.timeline.to_object().items() if key != "elapsed_s"
            },
            "ranks": self.ranks,
            "bytes": int(self.work.bytes.sum()),
            "bound": None
            if self.bound is None
            else {"time_s": self.bound[0], "time_witness": self.bound[1]},
            "gap": None
            if not self.bound or not self.bound[0]
            else self.timeline.time_s / self.bound[0],
            "over_time": None,
        }
        if usage is not None:
            body["over_time"] = {
                "edges_s": usage.edges_s.tolist(),
                "of": "links" if usage.of_links else "ports",
                "mean": usage.mean.tolist(),
                "largest": usage.largest.tolist(),
                "busiest": self.describe_busiest(),
                "carried": usage.carried.tolist(),
                "exact": usage.exact,
            }
        return body
