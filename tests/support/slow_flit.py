"""The flit model as an obvious slow program.

The specification that the fast one is compared with.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from conset.machine.machine import Machine
from conset.machine.network.routes import route_links
from conset.models import Workload
from conset.models.flit import flits_of, ports_of


def slow_flit(workload: Workload, machine: Machine, lanes: int, depth: int = 8) -> list[int]:
    """Delivery of every message [cycles].

    Every router, lane and flit in every cycle, as the rules are told.

    A flit is (message, is head, is tail). Lanes of all ports of all routers are visited in every
    cycle; nothing is skipped or kept as bits.
    """
    topology = machine.topology
    ports, nodes = ports_of(topology, machine.routing), topology.nodes
    offsets, links = route_links(topology, machine.routing, workload.source, workload.target)
    flits = flits_of(workload.bytes, machine.costs.flit_B)
    release = np.round(workload.time_s * 1e9).astype(int)
    eject = inject = ports.count - 1
    far = {}
    for slot, (u, v) in enumerate(zip(*topology.ends, strict=True)):
        if ports.out[slot] >= 0:
            far[u, ports.out[slot]] = (v, ports.into[slot])
    back = {b: a for a, b in far.items()}

    def plan(m: int) -> list[tuple[int, range]]:
        """(output, lanes allowed) at each router of the way."""
        route = [int(k) for k in links[offsets[m] : offsets[m + 1]]]
        result = []
        for k, slot in enumerate(route):
            run = [s for s in route if ports.out[s] == ports.out[slot]]
            if ports.ring[slot] == 0:
                allowed = range(lanes)
            else:
                up, across = ports.ring[slot] <= 2, any(ports.ring[s] in (2, 4) for s in run)
                allowed = range(lanes // 2, lanes) if across == up else range(lanes // 2)
            result.append((int(ports.out[route[k]]), allowed))
        return [*result, (eject, range(lanes))]

    plans = [plan(m) for m in range(workload.messages)]
    deps = [list(workload.deps[a:b]) for a, b in itertools.pairwise(workload.dep_offsets)]
    lists = [[m for m in range(workload.messages) if workload.source[m] == n] for n in range(nodes)]
    every = list(itertools.product(range(nodes), range(ports.count), range(lanes)))
    buffer = {key: [] for key in every}  # input lanes
    state = dict.fromkeys(every)  # None: idle; (output, lane) held
    owner = dict.fromkeys(every)  # output lanes: input (port, lane)
    credit = dict.fromkeys(
        every, depth
    )  # output lanes; for the last port: those of the node's own lanes
    hop = [0] * workload.messages
    turn_out = {(n, p): 0 for n in range(nodes) for p in range(ports.count)}
    turn_in, turn_lane = dict(turn_out), dict(turn_out)
    grant_turn, accept_turn = dict.fromkeys(every, 0), dict.fromkeys(every, 0)
    sending: list[tuple[int, int, int] | None] = [None] * nodes  # message, flits sent, lane
    last_lane = [-1] * nodes
    done = [-1] * workload.messages
    events: dict[int, list[tuple[str, Any]]] = {}
    wide = ports.count * lanes

    def goes_from(m: int, t: int) -> tuple[int, bool, int] | None:
        """When it was let go, by its time or by a delivery later in that cycle.

        None where it is not yet.
        """
        since = [
            (int(release[m]), False),
            *((done[d] if done[d] >= 0 else t, True) for d in deps[m]),
        ]
        return (*max(since), m) if max(since) <= (t, False) else None

    def first(candidates: list[int], turn: int, size: int) -> int:
        return min(candidates, key=lambda k: (k - turn) % size)

    for t in range(100_000):
        if all(d >= 0 for d in done):
            return done
        now = events.pop(t, [])
        for kind, key in now:
            if kind == "room":
                credit[key] += 1
        for n in range(nodes):
            if sending[n] is None and lists[n]:
                free = [
                    v
                    for k in range(1, lanes + 1)
                    if credit[n, inject, v := (last_lane[n] + k) % lanes] > 0
                ]
                ready = sorted(since for m in lists[n] if (since := goes_from(m, t)) is not None)
                if ready and free:
                    m = ready[0][2]
                    lists[n].remove(m)
                    sending[n], last_lane[n] = (m, 0, free[0]), free[0]
            if sending[n] is not None:
                m, sent, lane = sending[n]
                if credit[n, inject, lane] > 0:
                    credit[n, inject, lane] -= 1
                    flit = (m, sent == 0, sent + 1 == flits[m])
                    events.setdefault(t + 2, []).append(("flit", ((n, inject, lane), flit)))
                    sending[n] = None if flit[2] else (m, sent + 1, lane)
        for kind, what in now:
            if kind == "done":
                done[what] = t
        for kind, what in now:
            if kind == "flit":
                buffer[what[0]].append(what[1])
            elif kind == "credit":
                credit[what] += 1
        for n in range(nodes):
            keys = [key for key in every if key[0] == n]
            # requests of VA and SA, both before any grant of this cycle
            asks: dict[int, list[int]] = {}
            able: dict[tuple[int, int], list[int]] = {}
            for _, port, lane in keys:
                key = (n, port, lane)
                if not buffer[key]:
                    continue
                if state[key] is None:
                    output, allowed = plans[buffer[key][0][0]][hop[buffer[key][0][0]]]
                    for v in allowed:
                        if owner[n, output, v] is None:
                            asks.setdefault(output * lanes + v, []).append(port * lanes + lane)
                else:
                    output, v = state[key]
                    if output == eject or credit[n, output, v] > 0:
                        able.setdefault((port, output), []).append(lane)
            grants: dict[int, list[int]] = {}
            for out, askers in asks.items():
                grants.setdefault(
                    first(askers, grant_turn[n, out // lanes, out % lanes], wide), []
                ).append(out)
            for into, outs in grants.items():
                into_key = (n, into // lanes, into % lanes)
                out = first(outs, accept_turn[into_key], wide)
                accept_turn[into_key] = (out + 1) % wide
                grant_turn[n, out // lanes, out % lanes] = (into + 1) % wide
                state[into_key] = (out // lanes, out % lanes)
                owner[n, out // lanes, out % lanes] = into_key
                hop[buffer[into_key][0][0]] += 1
            ports_granted: dict[int, list[int]] = {}
            for output in range(ports.count):
                askers = [port for port in range(ports.count) if (port, output) in able]
                if askers:
                    ports_granted.setdefault(
                        first(askers, turn_out[n, output], ports.count), []
                    ).append(output)
            for port, outputs in ports_granted.items():
                output = first(outputs, turn_in[n, port], ports.count)
                lane = first(able[port, output], turn_lane[n, port], lanes)
                turn_out[n, output], turn_in[n, port] = (
                    (port + 1) % ports.count,
                    (output + 1) % ports.count,
                )
                turn_lane[n, port] = (lane + 1) % lanes
                key = (n, port, lane)
                m, _, tail = flit = buffer[key].pop(0)
                _, v = state[key]
                if port == inject:
                    events.setdefault(t + 2, []).append(("room", key))
                else:
                    u, out = back[n, port]
                    events.setdefault(t + 3, []).append(("credit", (u, out, lane)))
                if output == eject:
                    if tail:
                        events.setdefault(t + 3, []).append(("done", m))
                else:
                    credit[n, output, v] -= 1
                    events.setdefault(t + 3, []).append(("flit", ((*far[n, output], v), flit)))
                if tail:
                    state[key], owner[n, output, v] = None, None
    raise AssertionError("did not end")
