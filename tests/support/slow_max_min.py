"""Max-min fair rates by raising all of them together from nothing, until a resource is full.

Of a message that switches spread every link gets its part, exactly as `slow_spread` walks all its
ways.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from support import slow_spread
from support.hand_made import edges

if TYPE_CHECKING:
    from conset.machine.machine import Machine
    from support.slow_release import Release


def max_min(run: Release) -> dict[int, float]:
    """The rate [B/s] of every message whose bytes flow.

    0 for those whose receiver's processor is taken.
    """
    rate = dict.fromkeys(run.bytes_left, 0.0)
    rising = {m for m in run.bytes_left if m < 0 or not run.is_sending(run.receiver[m])}
    uses = {m: _uses(run, m, rising) for m in rising}
    room = {r: _capacity(run, r) for use in uses.values() for r in use}
    room = {r: capacity for r, capacity in room.items() if capacity < inf}
    speed = {m: _speed(run, m) for m in rising}
    while rising:
        drawn = {r: sum(speed[m] * uses[m].get(r, 0.0) for m in rising) for r in room}
        step = min((room[r] / drawn[r] for r in room if drawn[r] > 0), default=inf)
        full = {r for r in room if drawn[r] > 0 and room[r] / drawn[r] <= step * (1 + 1e-12)}
        for m in rising:
            rate[m] += step * speed[m]
        if step == inf:
            break
        room = {r: max(0.0, room[r] - step * drawn[r]) for r in room}
        rising = {m for m in rising if not full & uses[m].keys()}
    return rate


def most_alone(run: Release, m: int) -> float:
    """The least rate on the way of a message."""
    return min(_capacity(run, resource) for resource in _uses(run, m, set()))


def _uses(run: Release, m: int, flowing: set[int]) -> dict[Any, float]:
    """What a byte of m counts at every resource.

    ("alone", m): one message takes one unit of width. A start-up takes the port out of its node.
    """
    if m < 0:
        return {("alone", m): 1.0, ("out", int(run.work.source[~m])): 1.0}
    s, t = int(run.work.source[m]), int(run.work.target[m])
    node = run.costs.exchange_weight if run.partner.get(m) in flowing else 1.0
    links = {("link", link): 1.0 for link in run.links[m]}
    if _is_spread(run):
        ends = list(zip(*(each.tolist() for each in run.machine.topology.ends), strict=True))
        links = {
            ("link", ends[k]): float(part)
            for k, part in slow_spread.chances(run.machine, s, t).items()
        }
    return {
        ("alone", m): 1.0,
        ("out", s): 1.0,
        ("in", t): 1.0,
        ("node", s): node,
        ("node", t): node,
        **links,
    }


def _is_spread(run: Release) -> bool:
    return run.machine.routing.knowledge == "adaptive"


def _capacity(run: Release, resource: tuple[str, Any]) -> float:
    kind, which = resource
    if kind == "alone":
        if which < 0:
            return 1.0 if run.costs.port_out_Bps == inf else inf
        if _is_spread(run):
            return inf  # its parts take wires of their own
        return min((_link(run.machine, link)[0] for link in run.links[which]), default=inf)
    if kind == "link":
        rate, width = _link(run.machine, which)
        return rate * width
    return {"out": run.costs.port_out_Bps, "in": run.costs.port_in_Bps, "node": run.costs.node_Bps}[
        kind
    ]


def _link(machine: Machine, link: tuple[int, int]) -> tuple[float, int]:
    """The rate of a unit of width, and the width."""
    topology = machine.topology
    rate = machine.costs.link_Bps
    if topology.link_rate_Bps is not None:
        rate = float(topology.link_rate_Bps[edges(topology).index(link)])
    return rate, link_width(machine, link)


def link_width(machine: Machine, link: tuple[int, int]) -> int:
    """Parallel wires of a link."""
    topology = machine.topology
    return (
        topology.width
        if topology.link_width is None
        else int(topology.link_width[edges(topology).index(link)])
    )


def _speed(run: Release, m: int) -> float:
    """How fast a rate rises: alike, or as 1 / latency of the route (of the smallest message)."""
    costs = run.costs
    if m < 0:
        return 1.0
    latency = costs.inject.seconds[0] + len(run.links[m]) * costs.hop_s + costs.eject.seconds[0]
    return 1 / latency if run.settings.fairness == "rtt" and latency > 0 else 1.0
