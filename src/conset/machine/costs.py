"""Costs and limits of a machine.

Costs: how long things take on it, every number with where it comes from.

A number is checked where the costs are made: times are finite and at most `MAX_TIME_S`, rates at
least `MIN_RATE_Bps` and at most `MAX_RATE_Bps` or infinite, sizes whole bytes, so that no model
meets a sum that it cannot carry.

Limits: what may happen at once in a phase.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf, log2
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    MAX_TIME_S,
    Bools,
    Floats,
    InputError,
    Ints,
    MAX_RATE_Bps,
    MIN_RATE_Bps,
    UsageError,
    ValueObject,
    unknown_name,
)

Tag = Literal[
    "printed",
    "derived",
    "fitted",
    "other source",
    "commonly reported, not checked",
    "assumed",
    "unknown",
    "default",
    "given",
]

Model = Literal["wormhole", "circuit", "flow", "packet"]
Processors = Literal["one", "two", "shared"]
Receive = Literal["before", "after"]

GUESSED: tuple[Tag, ...] = ("default", "unknown", "assumed", "commonly reported, not checked")
"""Tags of costs that nothing vouches for."""
GUESS, MAX_WITHIN = 2.0, 10.0
"""Factors: by which such a cost may be wrong; the largest that a cost may state of itself."""

SYNCS = ("none", "local", "ready", "barrier")
"""Policies that a cost may hold for."""
MAX_COUNT = 2**31 - 1
MAX_BLOCKING = 10.0


@dataclass(frozen=True)
class Provenance:
    """Where a number comes from.

    `tag` says how sure it is, `source` names paper and section, or what it fits, `within` the
    factor by which the true number is larger or smaller at most (95 %); 1: not stated.
    """

    tag: Tag
    source: str = ""
    within: float = 1.0

    @property
    def spread(self) -> float:
        """As `within`; `GUESS` of a guess that does not state it."""
        return GUESS if self.within == 1 and self.tag in GUESSED else self.within

    @staticmethod
    def of(tag: Any, source: Any = "", within: float = 1.0) -> Provenance:
        """Checked limits of a file or an object.

        Raises:
            UsageError: an unknown tag, or a source that is no text.
        """
        if tag not in get_args(Tag):
            raise unknown_name("tag", str(tag), get_args(Tag))
        if not isinstance(source, str):
            raise UsageError(f"source: a text required, is {source!r}")
        return Provenance(cast(Tag, tag), source, within)


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"{name} = {value}: must be at least {low:g} and at most {high:.10g}")


def _check_time(name: str, time_s: float) -> None:
    if not 0 <= time_s < inf:
        raise InputError(f"{name} = {time_s}: must be finite and at least 0 s")
    if time_s > MAX_TIME_S:
        raise InputError(f"{name} = {time_s:g}: must be at most {MAX_TIME_S:g} s, is {time_s:g} s")


def _check_size(name: str, size_B: float) -> None:  # noqa: N803
    if not 0 <= size_B <= MAX_SIZE_B or size_B != int(size_B):
        raise InputError(f"{name} = {size_B:g}: must be whole bytes from 0 to 2^62")


def check_rate(name: str, rate_Bps: float) -> None:  # noqa: N803
    """Raises InputError for a rate [B/s] that no machine has; infinite is no limit and allowed."""
    if not rate_Bps > 0:
        raise InputError(f"{name} = {rate_Bps}: must be above 0 B/s")
    if rate_Bps != inf and not MIN_RATE_Bps <= rate_Bps <= MAX_RATE_Bps:
        rule = (
            f"at least {MIN_RATE_Bps:g} B/s"
            if rate_Bps < MIN_RATE_Bps
            else f"at most {MAX_RATE_Bps:g} B/s, or none"
        )
        raise InputError(f"{name} = {rate_Bps:g}: must be {rule}, is {rate_Bps:g} B/s")


@dataclass(frozen=True)
class Steps:
    """A cost that changes with the size of a message.

    `seconds[k]` holds up to and including `up_to_B[k]` bytes.

    Attributes:
        up_to_B: rising, the last is infinite.
        seconds: one more step than there are changes [s].
    """

    seconds: tuple[float, ...] = (0.0,)
    up_to_B: tuple[float, ...] = (inf,)  # noqa: N815

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.up_to_B, self.up_to_B[1:], strict=False))
        if len(self.seconds) != len(self.up_to_B) or not rising or self.up_to_B[-1] != inf:
            raise InputError("a cost in steps needs rising sizes, the last without limit")
        for size in self.up_to_B[:-1]:
            _check_size("a cost in steps: up_to_B", size)
        for time in self.seconds:
            _check_time("a cost in steps", time)

    def at(self, size_B: float) -> float:  # noqa: N803
        """The cost [s] of a message of `size_B` bytes."""
        return self.seconds[bisect_left(self.up_to_B, size_B)]

    def of(self, size: Ints) -> Floats:
        """shape=(messages): the cost [s] of each size [B]."""
        if len(self.seconds) == 1:
            return np.broadcast_to(np.float64(self.seconds[0]), size.shape)
        return np.asarray(self.seconds)[np.searchsorted(np.asarray(self.up_to_B), size)]

    def __add__(self, other: Steps) -> Steps:
        limits = tuple(sorted({*self.up_to_B, *other.up_to_B}))
        return Steps(tuple(self.at(b) + other.at(b) for b in limits), limits)


@dataclass(frozen=True)
class Synchronization:
    """Time of a barrier over N nodes: `base_s + per_log2_s · log2(N)`, never below 0.

    The Paragon text gives it over the side n of an n×n mesh: 274 log2 n - 134 us, here `per_log2_s`
    = 137 us, as log2 n = log2(N)/2.
    """

    base_s: float = 0.0
    per_log2_s: float = 0.0

    def __post_init__(self) -> None:
        _check_time("synchronization: base_s", abs(self.base_s))
        _check_time("synchronization: per_log2_s", self.per_log2_s)

    def at(self, nodes: int) -> float:
        """The time of one barrier [s]."""
        return max(0.0, self.base_s + self.per_log2_s * log2(max(nodes, 1)))


@dataclass(frozen=True, eq=False)
class Costs(ValueObject):
    """What the machine models charge. Rates are per port, or per link and unit of width.

    Attributes:
        model: the model of simulation that the machine follows: `wormhole`, `circuit`, `flow` or
            `packet`.
        send_overhead: work of the sending processor on a message, by size [s].
        receive_overhead: work of the receiving processor on it [s].
        startup_s: how long it keeps the port out of its node, which all ranks of the node share,
            before its bytes [s]: one message after the other, each as bytes would that flow out of
            the node that long.
        inject: latency into the network, by size [s]; keeps nothing busy.
        eject: latency out of it [s].
        port_out_Bps: rate out of a node [B/s], infinite for none.
        port_in_Bps: rate into a node [B/s].
        node_Bps: rate in and out of a node together [B/s]; infinite where ports are independent.
        exchange_weight: what a byte of a synchronized exchange counts in `node_Bps` (1: no
            exception).
        exchange_syncs: policies under which two messages of a pair in one phase are a synchronized
            exchange.
        link_Bps: rate of a link per unit of width [B/s]; a graph's own rates win.
        hop_s: latency per link [s].
        hop_by_size: latency per link where it changes with the size of a message, None: `hop_s` for
            all; for simulation by `wormhole` and `circuit`.
        synchronization: a barrier.
        setup_s: cost of opening a phase [s].
        signal_s: a zero-byte ready signal [s].
        reconfigure_s: of a machine of circuit switches: what a switch needs to change connections
            [s]; None: it has none.
        partial: whether connections that a circuit switch keeps carry bytes meanwhile.
        first_barrier: whether entering the first phase is charged.
        tolerance: messages a link carries at once without harm.
        blocking: exponent of the loss beyond `tolerance`; 0 is fair sharing.
        per_transfer_s: cost of one transfer inside an open phase (ConSet's measured 96 clocks) [s];
            for simulation.
        jitter_s: mean of what chance adds to the receiver's work on a message, drawn from an
            exponential distribution [s]; for simulation.
        in_flight: sends a rank keeps open at once, None: all; for simulation.
        receives: receives a rank takes at once, None: all; for simulation.
        lanes: virtual channels per link and pool; for simulation.
        processors: `one`: one processor of a rank works on what it sends and on what it receives;
            `two`: one for each; `shared`: one of each node, for all its ranks: ranks that share a
            core.
        preempts: with one processor, whether sending takes it from receiving at once: bytes into
            the node stand still while it sends, and a receive begins when the send under way has
            ended; for `wormhole`.
        receive: `before`: the receiver's overhead is paid before bytes flow, with the path held;
            `after`: when they have arrived.
        outstanding_receives: receives a rank may have posted, None: no limit.
        eager_B: up to this size a message is sent at once, and what finds no receive is taken into
            a system buffer; longer ones wait for a request and a grant, a signal each. None:
            receives are there, or the header waits.
        copy_Bps: rate of copies: a message inside a node; by a processor, a message out of a system
            buffer (for `wormhole`), and a packed message at both ends; infinite: at once.
        buffers_B: system buffers of a rank; a message without room waits in the network; for
            `wormhole`.
        overlap: share of the time in which bytes flow that a node's computation may hide.
        computation_s: what every node is to compute beside the schedule [s]; a question, no
            property of a machine.
        flit_B: bytes of a flit; for simulation.
        packet_B: bytes of a message that travel together; for `packet`.
        link_buffers_B: bytes that a switch holds of what comes over a link, or out of a port; for
            `packet`.
        window_B: bytes of a message that may be on their way at once; for `packet`.
        size_range_B: sizes of message the numbers were made for; predicting outside warns.
        provenance: for each word, where its number comes from.
    """

    model: Model = "flow"
    send_overhead: Steps = Steps()
    receive_overhead: Steps = Steps()
    startup_s: float = 0.0
    inject: Steps = Steps()
    eject: Steps = Steps()
    port_out_Bps: float = inf  # noqa: N815
    port_in_Bps: float = inf  # noqa: N815
    node_Bps: float = inf  # noqa: N815
    exchange_weight: float = 1.0
    exchange_syncs: tuple[str, ...] = ()
    link_Bps: float = inf  # noqa: N815
    hop_s: float = 0.0
    hop_by_size: Steps | None = None
    synchronization: Synchronization = Synchronization()
    setup_s: float = 0.0
    signal_s: float = 0.0
    reconfigure_s: float | None = None
    partial: bool = False
    first_barrier: bool = False
    tolerance: int = 1
    blocking: float = 0.0
    per_transfer_s: float = 0.0
    jitter_s: float = 0.0
    in_flight: int | None = None
    receives: int | None = None
    lanes: int = 1
    processors: Processors = "two"
    preempts: bool = False
    receive: Receive = "after"
    outstanding_receives: int | None = None
    eager_B: float | None = None  # noqa: N815
    copy_Bps: float = inf  # noqa: N815
    buffers_B: float = inf  # noqa: N815
    overlap: float = 0.0
    computation_s: float = 0.0
    flit_B: int = 16  # noqa: N815
    packet_B: float = 1448.0  # noqa: N815
    link_buffers_B: float = inf  # noqa: N815
    window_B: float = inf  # noqa: N815
    size_range_B: tuple[float, float] = (0.0, inf)  # noqa: N815
    provenance: Mapping[str, Provenance] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )

    def __post_init__(self) -> None:
        for name in ("port_out_Bps", "port_in_Bps", "node_Bps", "link_Bps", "copy_Bps"):
            check_rate(name, getattr(self, name))
        for name in (
            "startup_s",
            "hop_s",
            "setup_s",
            "signal_s",
            "per_transfer_s",
            "jitter_s",
            "computation_s",
        ):
            _check_time(name, getattr(self, name))
        _check_time("reconfigure_s", self.reconfigure_s or 0.0)
        for name, low, high in (
            ("blocking", 0, MAX_BLOCKING),
            ("overlap", 0, 1),
            (
                "exchange_weight",
                0.5,
                1,
            ),  # below, a message would be faster for another one coming back
            ("tolerance", 1, MAX_COUNT),
            ("lanes", 1, MAX_COUNT),
            ("flit_B", 1, MAX_SIZE_B),
            ("packet_B", 1, MAX_SIZE_B),
        ):
            _check_range(name, getattr(self, name), low, high)
        for name in ("in_flight", "receives", "outstanding_receives"):
            if getattr(self, name) is not None:
                _check_range(name, getattr(self, name), 1, MAX_COUNT)
        for name in ("eager_B", "buffers_B", "packet_B", "link_buffers_B", "window_B"):
            size = getattr(self, name)
            if size is not None and size != inf:
                _check_size(name, size)
        for name in ("link_buffers_B", "window_B"):
            if getattr(self, name) < self.packet_B:
                raise InputError(
                    f"{name} = {getattr(self, name):g}: must hold a packet, of {self.packet_B:g} B"
                )
        self._check_names()

    def _check_names(self) -> None:
        for name, choices in (("model", Model), ("processors", Processors), ("receive", Receive)):
            if getattr(self, name) not in get_args(choices):
                raise unknown_name(name, str(getattr(self, name)), get_args(choices))
        for policy in self.exchange_syncs:
            if policy not in SYNCS:
                raise unknown_name("policy", str(policy), SYNCS)
        if self.partial and self.reconfigure_s is None:
            raise InputError("partial=true: is about circuit switches; needs reconfigure=TIME")
        if self.preempts and self.processors != "one":
            raise InputError(f"preempts=true: needs processors=one, is {self.processors}")
        if len(self.size_range_B) != 2:
            raise InputError(f"size_range_B: two sizes required, given {len(self.size_range_B)}")
        low, high = self.size_range_B
        for size in (low, high):
            if size != inf:
                _check_size("size_range_B", size)
        if not low <= high or low == inf:
            raise InputError(f"size_range_B: must rise, is {low:g} B to {high:g} B")

    @property
    def hop(self) -> Steps:
        """Latency per link by size of message [s]."""
        return Steps((self.hop_s,)) if self.hop_by_size is None else self.hop_by_size

    @property
    def overhead(self) -> Steps:
        """Overhead of a message at both ends together, its start-up included [s]."""
        ends = self.send_overhead + self.receive_overhead + self.inject + self.eject
        return ends + Steps((self.startup_s,))

    @property
    def one_processor(self) -> bool:
        """Whether one processor, of a rank or its node, works on both sends and receives."""
        return self.processors != "two"

    @property
    def is_measured(self) -> bool:
        """Whether they were measured, as `conset calibrate` does, so that they have errors."""
        model = self.provenance.get("model")
        return self.jitter_s > 0 or (model is not None and model.tag == "fitted")

    @property
    def has_overheads(self) -> bool:
        """Whether messages are work for processors, or for ports before their bytes."""
        times = (*self.send_overhead.seconds, *self.receive_overhead.seconds, self.startup_s)
        return any(times)

    def copies(self, size: Ints, packed: Bools | None) -> Floats:
        """shape=(messages): what putting together and taking apart cost each end [s].

        0 for what is not packed.

        Args:
            size: shape=(messages) [B].
            packed: shape=(messages), or None: nothing is packed.
        """
        if packed is None or self.copy_Bps == inf:
            return np.broadcast_to(np.float64(0.0), size.shape)
        return np.asarray(np.where(packed, size / self.copy_Bps, 0.0))

    @property
    def detected_B(self) -> float:  # noqa: N802
        """Largest message that is copied out of a system buffer where no receive is posted [B].

        Above `eager_B` a message is asked for; without that threshold every message is copied.
        """
        return inf if self.eager_B is None else self.eager_B

    def unbuffered_B(self, size: Ints) -> int:  # noqa: N802
        """Largest message that no system buffer holds though none may wait elsewhere [B]; 0: none.

        Args:
            size: shape=(messages) [B]: those that leave their nodes.
        """
        return int(size[(size <= self.detected_B) & (size > self.buffers_B)].max(initial=0))

    @property
    def requests(self) -> Steps:
        """What a request and a grant cost a message, by size [s].

        Nothing where no threshold is given.
        """
        if self.eager_B is None or not self.signal_s:
            return Steps()
        return Steps((0.0, 2 * self.signal_s), (self.eager_B, inf))

    @property
    def half_duplex(self) -> bool:
        """Whether a node's sends and receives share one rate below that of its ports together."""
        return self.node_Bps < self.port_in_Bps + self.port_out_Bps


def without_switches(costs: Costs) -> Costs:
    """Costs of a phase by itself, whose connections are open."""
    return replace(costs, setup_s=0.0, synchronization=Synchronization())


Duplex = Literal["full", "exchange"]

MAX_LIMIT = 2**31 - 1
"""Largest limit; more messages a pattern does not have."""


@dataclass(frozen=True, eq=False)
class Limits(ValueObject):
    """Upper limits on a phase; None is no limit.

    Attributes:
        send: messages leaving a node at once.
        receive: messages entering a node at once.
        link: messages on a link at once, per unit of its width.
        channels: routes through a node at once, its own ends included (ConSet's logical channels).
        duplex: `exchange`: a node that sends and receives in one phase does so with one partner.
    """

    send: int | None = None
    receive: int | None = None
    link: int | None = None
    channels: int | None = None
    duplex: Duplex = "full"

    def __post_init__(self) -> None:
        for name in ("send", "receive", "link", "channels"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"limit {name}={value}: must be at least 1")
            if value is not None and value > MAX_LIMIT:
                raise UsageError(f"limit {name}={value}: must be at most {MAX_LIMIT}, or none")
        if self.channels == 1:
            raise UsageError(
                "limit channels=1: a route takes a channel in both its ends; must be at least 2 "
                "for any phase"
            )
        if self.duplex not in ("full", "exchange"):
            raise unknown_name("duplex", str(self.duplex), ("full", "exchange"))

    def tightened(self, other: Limits) -> Limits:
        """The stricter of both, limit by limit; the same object where nothing is stricter."""
        both: dict[str, Any] = {}
        for name in ("send", "receive", "link", "channels"):
            one, two = getattr(self, name), getattr(other, name)
            both[name] = two if one is None else one if two is None else min(one, two)
        both["duplex"] = "exchange" if "exchange" in (self.duplex, other.duplex) else "full"
        return self if both == vars(self) else Limits(**both)

    def changed(self, text: str) -> Limits:
        """These limits with the values of `send=1,link=2,channels=none,duplex=exchange` changed.

        Raises:
            UsageError: an unknown word or a value that is neither a number above 0 nor `none`.
        """
        limits = self
        for item in filter(None, text.split(",")):
            name, equals, value = (part.strip() for part in item.partition("="))
            if name not in {f.name for f in fields(Limits)}:
                raise unknown_name("limit", name, (f.name for f in fields(Limits)))
            if not equals:
                raise UsageError(f"limit '{item}': expected {name}=VALUE")
            if name == "duplex":
                limits = replace(limits, duplex=value)  # type: ignore[arg-type]
                continue
            if value != "none" and not (value.isascii() and value.isdigit() and len(value) < 1000):
                raise UsageError(f"limit '{item}': must be a whole number of at least 1, or none")
            limits = replace(limits, **{name: None if value == "none" else int(value)})  # type: ignore[arg-type]
        return limits

    def to_object(self) -> dict[str, int | str | None]:
        """As in a schedule file.

        `{"send": 1, "receive": 1, "link": null, "channels": null, "duplex": "full"}`.
        """
        return {f.name: getattr(self, f.name) for f in fields(Limits)}

    def to_text(self) -> str:
        """The text that `changed` takes: `send=1,receive=1,link=none,…`."""
        values = self.to_object().items()
        return ",".join(f"{name}={'none' if value is None else value}" for name, value in values)

    def __str__(self) -> str:
        parts = [
            f"{name} {value}" for name, value in self.to_object().items() if isinstance(value, int)
        ]
        if self.duplex == "exchange":
            parts.append("duplex exchange")
        return ", ".join(parts) or "none"
