"""What the commands of `conset testbed` say, in lines and as JSON."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from conset.base import ConsetError, count_of, format_size
from conset_testbed.beds import Bed, Removed
from conset_testbed.counters import Counters
from conset_testbed.settings import format_bits
from conset_testbed.state import BedState


def bed_object(bed: Bed) -> dict[str, Any]:
    """A bed that was built."""
    return {
        "name": bed.name,
        "network": bed.network,
        "fabric": bed.settings.fabric,
        "endpoints": bed.endpoints,
        "nodes": bed.nodes,
        "links": bed.links,
        "mpiexec": bed.mpiexec,
        "settings": bed.settings.to_object(),
    }


def state_object(state: BedState) -> dict[str, Any]:
    """A bed that was written down."""
    left = max(0.0, state.expires - time.time())
    return {
        "name": state.name,
        "network": state.settings.network,
        "fabric": state.settings.fabric,
        "endpoints": state.endpoints,
        "nodes": state.nodes,
        "links": len(state.links),
        "seconds_left": round(left),
    }


def built_text(bed: Bed) -> str:
    """What stands, and what to do with it."""
    return (
        f"testbed '{bed.name}': {bed.settings.title}; {count_of(bed.endpoints, 'endpoint')}, "
        f"{count_of(bed.nodes - bed.endpoints, 'switch', 'switches')}, "
        f"{count_of(bed.links, 'link')}; "
        f"built in {bed.build_s:.1f} s, removed in {bed.settings.ttl_s:.0f} s\n"
        f'conset run FILE --mpiexec "conset testbed mpiexec {bed.name}"'
    )


def removed_text(removed: Removed) -> str:
    """What is gone, and what was left alone."""
    text = f"testbed '{removed.name}': {count_of(removed.removed, 'namespace')} removed"
    return (
        f"{text}; left alone, not made by it: {', '.join(removed.foreign)}"
        if removed.foreign
        else text
    )


def stats_text(counters: Counters, most: int) -> str:
    """Sums, then the busiest links."""
    links = counters.links
    octets, packets = sum(link.bytes for link in links), sum(link.packets for link in links)
    late = (
        ""
        if counters.lateness_s is None
        else f", switches at most {counters.lateness_s * 1e3:.2f} ms late"
    )
    lines = [
        f"{count_of(len(links), 'link')}: {format_size(octets)} in {count_of(packets, 'packet')}, "
        f"{counters.lost:,} lost{late}"
    ]
    lines += [
        f"  {link.source:>4} → {link.target:<4} {link.bytes:>14,} B {link.packets:>10,} packets "
        f"{link.drops:>8,} drops"
        for link in sorted(links, key=lambda link: -link.bytes)[:most]
    ]
    return "\n".join(lines)


def failed_objects(failed: Mapping[str, ConsetError]) -> list[dict[str, str]]:
    """Testbeds that could not be read or removed, by name, and why."""
    return [
        {"name": name, "message": str(error).removeprefix(f"testbed '{name}': ")}
        for name, error in failed.items()
    ]


def list_text(beds: Sequence[BedState]) -> str:
    """A line each."""
    if not beds:
        return "no testbeds"
    return "\n".join(
        f"{each.name:<16} {each.settings.network}, {each.settings.fabric}, "
        f"{format_bits(each.settings.rate_bps)}, "
        f"{max(0.0, each.expires - time.time()):.0f} s left"
        for each in beds
    )
