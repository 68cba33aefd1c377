"""What crossed each link of a bed: of the kernel's queues, or of the switches in user space."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conset_testbed import addresses as a, namespaces as ns
from conset_testbed.emulator import read_counters

if TYPE_CHECKING:
    from conset_testbed.state import BedState


@dataclass(frozen=True)
class LinkCount:
    """One direction of a wire.

    Attributes:
        source: the node that it leaves.
        target: the node that it reaches.
        bytes: that have left, headers of frames counted.
        packets: of them.
        drops: packets that its queue had no room for.
    """

    source: int
    target: int
    bytes: int
    packets: int
    drops: int


@dataclass(frozen=True)
class Counters:
    """All links of a bed, since it was built.

    Attributes:
        links: in the order of the wiring.
        lost: packets that did not reach a program.
        lateness_s: emulated: how late the switches were at most since they were asked before [s];
            None: kernel queues.
    """

    links: tuple[LinkCount, ...]
    lost: int
    lateness_s: float | None

    def to_object(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "links": [vars(link) for link in self.links],
            "lost": self.lost,
            "lateness_s": self.lateness_s,
        }

    @staticmethod
    def of(found: dict[str, Any]) -> Counters:
        """Of an object that `to_object` made."""
        return Counters(
            tuple(LinkCount(**link) for link in found["links"]), found["lost"], found["lateness_s"]
        )


def count(bed: BedState) -> Counters:
    """The counters of a bed, by a process that may read them."""
    if bed.settings.emulated:
        found = read_counters(bed)
        links = tuple(
            LinkCount(source, target, octets, packets, 0)
            for (source, target, _), (octets, packets, _) in zip(
                bed.links, found["links"], strict=True
            )
        )
        return Counters(links, int(found["lost"]), found["worst_lateness_ns"] / 1e9)
    links = _kernel_counts(bed)
    return Counters(links, sum(link.drops for link in links), None)


def _kernel_counts(bed: BedState) -> tuple[LinkCount, ...]:
    leaving: dict[int, list[int]] = {}
    for k, (source, _, _) in enumerate(bed.links):
        leaving.setdefault(source, []).append(k)
    counts: dict[int, LinkCount] = {}
    for node, numbers in leaving.items():
        text = ns.run(
            ["tc", "-n", a.namespace(bed.name, node, bed.endpoints), "-s", "-j", "qdisc", "show"]
        )
        queues = {row["dev"]: row for row in json.loads(text or "[]") if row.get("kind") == "tbf"}
        for port, k in enumerate(numbers):
            row = queues[a.device(port)]
            counts[k] = LinkCount(
                *bed.links[k][:2], row.get("bytes", 0), row.get("packets", 0), row.get("drops", 0)
            )
    return tuple(counts[k] for k in range(len(bed.links)))
