"""Settings of a bed: its network, fabric and rate as words, checked.

What each fabric sets in the kernel.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from conset.base import InputError, UsageError, parse_rate, parse_size, unknown_name

MAX_TTL_S = 7200.0
DEFAULT_TTL_S = 900.0
FRAME_BYTES = 14
"""What the kernel's queues count beside the packet."""


@dataclass(frozen=True)
class Fabric:
    """What carries packets, and how TCP behaves on it.

    Attributes:
        title: in words.
        queue_bytes: of every port; None: so deep that nothing is ever lost.
        congestion: TCP's congestion control.
        window: packets that a connection may have under way, locked; None: as TCP finds it.
        emulated: the discipline of the switches in user space; "": the kernel's queues.
    """

    title: str
    queue_bytes: int | None
    congestion: str
    window: int | None = None
    emulated: str = ""


FABRICS = {
    "lossless": Fabric(
        "kernel queues that hold every window: nothing is lost, shares are fair", None, "reno", 16
    ),
    "shallow": Fabric(
        "kernel queues of 64 KiB under stock TCP: an Ethernet switch of small buffers",
        64 * 1024,
        "cubic",
    ),
    "medium": Fabric("kernel queues of 256 KiB under stock TCP", 256 * 1024, "cubic"),
    "deep": Fabric("kernel queues of 16 MiB under stock TCP", 16 * 1024 * 1024, "cubic"),
    "credit": Fabric(
        "emulated: back-pressure, one FIFO per input whose head blocks what is behind it",
        None,
        "reno",
        16,
        "credit",
    ),
    "fq": Fabric("emulated: ideal fair queues without limit", None, "reno", 16, "fair"),
}
"""By their word."""


@dataclass(frozen=True)
class Settings:
    """What a bed is made of.

    Attributes:
        name: of the bed, 1 to 16 letters, digits, `-` or `_`.
        network: its words: `mesh:4x4`, a machine file.
        fabric: a word of `FABRICS`.
        rate_bps: of a link of width 1, in each direction [bit/s].
        port_bps: of a link between every endpoint and its router [bit/s]; None: an endpoint is its
            router.
        queue_bytes: of every port; None: the fabric's.
        window: packets that a connection may have under way; None: the fabric's; 0: as TCP finds
            it.
        congestion: TCP's congestion control; "": the fabric's.
        buffer_bytes: `credit`: of every input.
        latency_ns: emulated fabrics: of every hop.
        store_and_forward: emulated fabrics: a packet leaves when it is complete.
        mtu: of links [B].
        ttl_s: the bed is removed after that time.
    """

    name: str = "bed"
    network: str = "mesh:4x4"
    fabric: str = "lossless"
    rate_bps: float = 20e6
    port_bps: float | None = None
    queue_bytes: int | None = None
    window: int | None = None
    congestion: str = ""
    buffer_bytes: int = 12 * 1024
    latency_ns: int = 0
    store_and_forward: bool = False
    mtu: int = 1500
    ttl_s: float = DEFAULT_TTL_S

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,16}", self.name):
            raise UsageError(
                f"testbed '{self.name}': a name has 1 to 16 letters, digits, '-' or '_'"
            )
        if self.fabric not in FABRICS:
            raise unknown_name("fabric", self.fabric, FABRICS)
        if not 1 <= self.ttl_s <= MAX_TTL_S:
            raise UsageError(
                f"ttl {self.ttl_s:g} s: must be from 1 s to {MAX_TTL_S:g} s", options=["ttl"]
            )
        for what, rate in (("rate", self.rate_bps), ("port_rate", self.port_bps)):
            if rate is not None and not (1e4 <= rate <= 1e11):
                raise UsageError(
                    f"{what} {rate:g} bit/s: must be from 10 kbit/s to 100 Gbit/s", options=[what]
                )
        if not 576 <= self.mtu <= 9000:
            raise UsageError(f"mtu {self.mtu}: must be from 576 to 9000 bytes", options=["mtu"])
        if self.buffer_bytes < self.frame_bytes:
            raise UsageError(
                f"buffer {self.buffer_bytes}: must hold a packet of {self.frame_bytes} "
                "bytes at least"
            )
        if self.queue_bytes is not None and self.queue_bytes < 2 * self.frame_bytes:
            raise UsageError(
                f"queue {self.queue_bytes}: must hold two packets of {self.frame_bytes} "
                "bytes at least"
            )
        if self.window is not None and not 0 <= self.window <= 10_000:
            raise UsageError(
                f"window {self.window}: must be from 0 to 10000 packets", options=["window"]
            )
        if self.latency_ns < 0:
            raise UsageError(f"latency {self.latency_ns} ns: must be at least 0")
        if not re.fullmatch(r"[a-z0-9_]{0,15}", self.congestion):
            raise UsageError(
                f"congestion '{self.congestion}': must be the name of a congestion control of TCP"
            )

    @property
    def kind(self) -> Fabric:
        """The fabric's own settings."""
        return FABRICS[self.fabric]

    @property
    def emulated(self) -> bool:
        """Whether switches in user space carry packets."""
        return bool(self.kind.emulated)

    @property
    def frame_bytes(self) -> int:
        """What a full packet takes of a link."""
        return self.mtu + FRAME_BYTES

    @property
    def burst_bytes(self) -> int:
        """Depth of the token buckets.

        Two packets, as with one a late timer loses bandwidth for good.
        """
        return 2 * self.frame_bytes + 100

    @property
    def window_packets(self) -> int | None:
        """Packets of a connection that may be under way; None: as TCP finds it."""
        window = self.kind.window if self.window is None else self.window
        return window or None

    @property
    def congestion_control(self) -> str:
        """That of TCP."""
        return self.congestion or self.kind.congestion

    @property
    def title(self) -> str:
        """In words: `mesh:4x4, credit, 20 Mbit/s`."""
        port = "" if self.port_bps is None else f", ports {format_bits(self.port_bps)}"
        return f"{self.network}, {self.fabric}, {format_bits(self.rate_bps)}{port}"

    def queue_limit(self, endpoints: int) -> int:
        """Bytes that the queue of a port takes.

        Where nothing is to be lost: the windows of all connections that may cross one link; a
        quarter of n² pairs bounds the busiest link of a mesh.
        """
        stated = self.kind.queue_bytes if self.queue_bytes is None else self.queue_bytes
        if stated is not None:
            return stated
        windows = int(endpoints**2 / 4 * (self.window_packets or 64) * self.frame_bytes * 1.25)
        return min(64 * 2**20, max(256 * 1024, windows))

    def to_object(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @staticmethod
    def of(found: dict[str, Any]) -> Settings:
        """Of an object that `to_object` made."""
        names = {field.name for field in fields(Settings)}
        unknown = sorted(set(found) - names)
        if unknown:
            raise InputError(f"settings of a testbed: unknown key '{unknown[0]}'")
        return Settings(**found)


def parse_bits(value: str | float, what: str = "rate") -> float:
    """A rate [bit/s]: `20mbit` as `tc` has it, or with a unit as everywhere: `2.5 MB/s`.

    Raises:
        UsageError: not a number with such a unit.
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmg]?)bit(?:/s|ps)?\s*", str(value).lower())
    if match is None:
        return parse_rate(value, what) * 8
    try:
        rate = float(match[1]) * {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[match[2]]
    except ValueError:
        rate = math.nan
    if not rate > 0:
        raise UsageError(f"{what} '{value}': a rate above 0 is required, as 20mbit")
    return rate


def parse_bytes(value: str | int, what: str) -> int:
    """A size [B]: `12k` as `tc` has it, or as everywhere: `12 KiB`."""
    match = re.fullmatch(r"([0-9]+)([km])", str(value).lower())
    return int(match[1]) * {"k": 1024, "m": 1024**2}[match[2]] if match else parse_size(value, what)


def format_bits(rate_bps: float) -> str:
    """`20 Mbit/s`."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if rate_bps >= factor:
            return f"{rate_bps / factor:.4g} {unit}"
    return f"{rate_bps:.4g} bit/s"
