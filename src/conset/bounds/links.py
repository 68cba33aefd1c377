"""What one link of the machine's routes carries, or all together whatever the routes.

They hold for split messages as for whole ones. Where routes are the machine's the witness is a
link, where they are free both sums. O(sum of hops) each.

Link load: a link takes a limited number of messages at once.
    Statement: phases ≥ ⌈messages over l / (link · width of l)⌉ for every link l of the machine's
    routes. Proof: a phase holds at most `link` per unit of width of them. Memory O(links).

Link sum: the largest loads of all phases add up to at least what one link carries.
    Statement: ΣL ≥ ⌈messages over l / width of l⌉ for every link l of the machine's routes; with
    free routes ΣL ≥ ⌈Σ shortest hops / Σ width⌉, the mean instead of the largest. Proof: as for
    ports; the load of a link counts per unit of its width. Class: any limits. On an 8×8 torus the
    complete exchange takes 16384 hops on 256 links: 64, which is reached.

Link supply: a phase has only so many links, whatever the routes.
    Statement: phases ≥ ⌈Σ shortest hops of messages / Σ link · width over the links⌉. Proof: a
    message takes at least its shortest hops, and all links together take `link` per unit of width
    in a phase. Class: free routes. Memory O(messages). The linear program over cuts
    (`conset.bounds.lp`) is stronger where links are scarce in one place, as in the middle of a
    mesh.

Link time: a link carries its bytes at its rate.
    Statement: time ≥ the least lead-in + bytes over l / (rate · width of l) + the least lead-out,
    for every link l of the machine's routes, where a message leads in with its set-up (or signal),
    send overhead and latency, and out with its receive overhead, the other way round where this
    goes before. Proof: in step 5 of a message's life no model exceeds the rate of a link, and no
    byte flows before the steps ahead of it. With barriers leads are paid in every group the link
    has messages in. Class: any limits, every policy.

Expected link time and sum: where a hash draws routes, the busiest link in expectation.
    Statement: E[time] ≥ max over links l of E[bytes over l] / (rate · width of l), between the
    least lead-in and lead-out of any message; E[ΣL] ≥ max over l of E[messages over l] / width.
    Proof: for every outcome of the hash the time is at least that of each link, so E[max over l] ≥
    max over l of E (Jensen's inequality: a maximum is convex), and E[bytes over l] is the sum over
    messages of bytes times the chance to pass l, whatever hashes share. Class: in expectation over
    the hash, any limits, every policy. A single outcome may be faster; most are slower.

Link supply in time: all links together carry only so much, whatever the routes.
    Statement: time ≥ Σ bytes · shortest hops / Σ rate · width over the links. Proof: in time T link
    l carries at most T · rate · width bytes; a message is carried over at least its shortest hops;
    all bytes flow between the least lead-in and the least lead-out of any message, with barriers in
    every group. Class: free routes, any limits, every policy.
"""

from __future__ import annotations

import numpy as np

from conset.base.units import count_of, format_rate
from conset.bounds.problem import BoundProblem, BoundValue


def bound_link_load(problem: BoundProblem) -> BoundValue | None:
    """The busiest link by messages per unit of width.

    None without a limit, with free routes, or without links.
    """
    limit = problem.limits.link
    if limit is None or problem.free or problem.topology.link_slots == 0:
        return None
    at_once = limit * problem.topology.widths().astype(np.int64)
    phases = -(-problem.link_messages // at_once)
    link = int(phases.argmax())
    name, count = problem.topology.link_name(link), problem.link_messages[link]
    witness = f"{name} carries {count_of(int(count), 'message')} at {at_once[link]} a phase"
    return BoundValue(int(phases[link]), witness)


def bound_link_sum(problem: BoundProblem) -> BoundValue | None:
    """The busiest link, or all hops over all links where routes are free; None without links."""
    topology = problem.topology
    if topology.links == 0:
        return None
    widths = topology.widths().astype(np.int64)
    if problem.free:
        hops, supply = (
            int(problem.least_hops.sum(dtype=np.int64)),
            int(widths[topology.link_exists].sum()),
        )
        return BoundValue(
            problem.per_supply(hops, supply),
            f"{count_of(hops, 'hop')} at least on {count_of(supply, 'link')}, counted by width",
        )
    load = -(-problem.link_messages // widths)
    link = int(load.argmax())
    return BoundValue(
        int(load[link]),
        f"{topology.link_name(link)} carries "
        f"{count_of(int(problem.link_messages[link]), 'message')}",
    )


def bound_expected_link_sum(problem: BoundProblem) -> BoundValue | None:
    """The busiest link by expected messages per unit of width; None where no hash draws routes."""
    if not problem.is_hashed or problem.topology.links == 0:
        return None
    load = problem.expected.messages / problem.topology.widths()
    link = int(load.argmax())
    messages = float(problem.expected.messages[link])
    name = problem.topology.link_name(link)
    return BoundValue(float(load[link]), f"{name} carries {_expected(messages)}")


def _expected(messages: float) -> str:
    """`1 message expected`, `2.5 messages expected`."""
    return f"{messages:.6g} {'message' if messages == 1 else 'messages'} expected"


def bound_expected_link_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest link by expected bytes [s].

    None where no hash draws routes, or links cost nothing.
    """
    if not problem.is_hashed or problem.link_work.size == 0 or problem.topology.links == 0:
        return None
    time = problem.expected.bytes * problem.link_work
    link = int(time.argmax())
    messages, size = problem.expected.messages[link], problem.expected.bytes[link]
    name = problem.topology.link_name(link)
    witness = f"{name} carries {_expected(float(messages))}, {size:,.0f} B"
    return BoundValue(problem.all_bytes(float(time[link]), phases), witness)


def bound_link_supply(problem: BoundProblem) -> BoundValue | None:
    """All hops over all links; None without a limit or with the machine's routes."""
    limit = problem.limits.link
    topology = problem.topology
    if limit is None or not problem.free or topology.links == 0:
        return None
    hops = int(problem.least_hops.sum(dtype=np.int64))
    supply = limit * int(topology.widths()[topology.link_exists].sum(dtype=np.int64))
    witness = f"{count_of(hops, 'hop')} at least, all {topology.links} links take {supply} a phase"
    return BoundValue(-(-hops // supply), witness)


def bound_link_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest link by bytes [s]; None with free routes or where links cost nothing."""
    links = problem.sums.links
    if links is None:
        return None
    limit, width = problem.limits.link, problem.topology.widths()
    # messages per unit of width, as the limit counts them
    needed = problem.phases_of((-(-problem.link_messages // width), limit))
    time = problem.in_groups(problem.totals.bytes * problem.link_work, links.both, needed, phases)
    if not time.any():
        return None
    link = int(time.argmax())
    count, size = problem.link_messages[link], problem.totals.bytes[link]
    return BoundValue(
        float(time[link]),
        f"{problem.topology.link_name(link)} carries {count_of(int(count), 'message')}, {size:,} B",
    )


def bound_link_supply_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """All bytes times hops over all rates [s].

    None with the machine's routes, or where no link costs anything.
    """
    work, topology = problem.link_work, problem.topology
    if not problem.free or work.size == 0 or not work.all() or not topology.links:
        return None
    carried = float((problem.size * problem.least_hops.astype(np.float64)).sum())
    rate = float(np.broadcast_to(1 / work, topology.link_slots)[topology.link_exists].sum())
    witness = (
        f"{carried:,.0f} B · hops at least, all {topology.links} links carry {format_rate(rate)}"
    )
    return BoundValue(problem.all_bytes(carried / rate, phases), witness)
