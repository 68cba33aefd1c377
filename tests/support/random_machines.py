"""Random machines: every key of the costs drawn, on small networks.

Shared by tests of bounds, formulas and models.

Times are multiples of 0.1 us and rates whole MB/s, so that a counterexample can be worked out with
a pencil. Each value is likelier to be the one that switches its cost off than any other: most
machines have a few costs, some have all.
"""

from __future__ import annotations

from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from conset.machine.costs import Costs, Steps, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern

US = 1e-6
MB = 1e6

TOPOLOGIES = (
    Topology.mesh(4),
    Topology.mesh(2, 3),
    Topology.mesh(3, 3),
    Topology.torus(4, 2),
    Topology.torus(3, 3),
    Topology.ring(5),
    Topology.hypercube(2),
    Topology.hypercube(3),
    Topology.crossbar(4),
    Topology.crossbar(7),
)
"""Networks of links of one width, as every model takes them."""

SIZES_B = (1, 16, 100, 101, 1000, 4096, 20_000)
POLICIES = ("none", "local", "ready", "barrier", "barrier:2", "barrier:3", "detect")


def or_none(nothing: Any, *values: Any) -> st.SearchStrategy[Any]:
    """`nothing`, which switches a cost off, about half of the time; else one of `values`."""
    return st.one_of(st.just(nothing), st.sampled_from(values))


TIMES = or_none(0.0, 0.1 * US, 0.7 * US, 2 * US, 13 * US)
RATES = or_none(inf, 10 * MB, 30 * MB, 100 * MB, 1000 * MB)


@st.composite
def steps(draw: st.DrawFn) -> Steps:
    """A cost by size: one value, or another one from 101 bytes on."""
    low = draw(TIMES)
    return Steps((low, draw(TIMES)), (100.0, inf)) if draw(st.booleans()) else Steps((low,))


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(["wormhole", "circuit", "flow"]),
    "send_overhead": steps(),
    "receive_overhead": steps(),
    "inject": steps(),
    "eject": steps(),
    "port_out_Bps": RATES,
    "port_in_Bps": RATES,
    "node_Bps": RATES,
    "exchange_weight": or_none(1.0, 0.5, 0.7),
    "exchange_syncs": or_none(
        (), ("ready",), ("local", "ready"), ("none", "barrier"), POLICIES[:4]
    ),
    "link_Bps": st.sampled_from([10 * MB, 30 * MB, 100 * MB, 1000 * MB]),
    "hop_s": TIMES,
    "hop_by_size": st.one_of(st.none(), steps()),
    "synchronization": st.builds(Synchronization, TIMES, TIMES),
    "setup_s": TIMES,
    "signal_s": TIMES,
    "first_barrier": st.booleans(),
    "tolerance": st.integers(1, 3),
    "blocking": or_none(0.0, 0.4, 1.0),
    "per_transfer_s": TIMES,
    "jitter_s": st.just(0.0),  # formulas and bounds know nothing of it
    "in_flight": or_none(None, 1, 2, 3),
    "receives": or_none(None, 1, 2),
    "lanes": st.integers(1, 3),
    "processors": st.sampled_from(["two", "one", "shared"]),
    "preempts": st.booleans(),
    "receive": st.sampled_from(["after", "before"]),
    "outstanding_receives": or_none(None, 2, 50),
    "eager_B": or_none(None, 0.0, 100.0, 4096.0),
    "copy_Bps": RATES,
    "buffers_B": or_none(inf, 200.0, 20_000.0),
    "overlap": or_none(0.0, 0.5, 1.0),
    "computation_s": TIMES,
    "flit_B": st.sampled_from([16, 4, 64]),
    "packet_B": st.sampled_from([1448.0, 500.0, 90.0]),
    "link_buffers_B": or_none(inf, 1448.0, 4000.0),
    "window_B": or_none(inf, 1448.0, 3000.0),
    "startup_s": TIMES,
}
"""How each field of `Costs` is drawn; a new field without a row fails the import."""

LEFT_OUT = {"size_range_B", "provenance", "reconfigure_s", "partial"}
"""What is no cost, as the range only warns, and what crossbars alone have."""

assert set(FIELDS) | LEFT_OUT == {field.name for field in fields(Costs)}, "every cost is drawn"


@st.composite
def costs(draw: st.DrawFn, **given: Any) -> Costs:
    """Costs with every field drawn but those given."""
    drawn = {
        name: given[name] if name in given else draw(values) for name, values in FIELDS.items()
    }
    if drawn["preempts"] and "processors" not in given:
        drawn["processors"] = "one"
    return Costs(**drawn)


@st.composite
def machines(
    draw: st.DrawFn, topologies: tuple[Topology, ...] = TOPOLOGIES, **given: Any
) -> Machine:
    """A small network of `topologies` with random costs.

    Those given stay: `machines(preempts=False)`.
    """
    topology = draw(st.sampled_from(topologies))
    return Machine(topology.kind, topology, Routing.default(topology), draw(costs(**given)))


@st.composite
def patterns(draw: st.DrawFn, ranks: int, most: int = 16) -> Pattern:
    """Up to `most` messages of a few sizes between any ranks, or a complete exchange.

    Some of them packed.
    """
    if draw(st.integers(0, 4)) == 0:
        source, target = np.divmod(np.arange(ranks * ranks), ranks)
        apart = source != target
        size = np.full(int(apart.sum()), draw(st.sampled_from(SIZES_B)))
        return packed(Pattern.from_messages(source[apart], target[apart], size, ranks))
    end = st.integers(0, ranks - 1)
    rows = draw(st.lists(st.tuples(end, end, st.sampled_from(SIZES_B)), max_size=most))
    return packed(Pattern.from_messages(*np.array(rows, np.int64).reshape(-1, 3).T, ranks))


def packed(pattern: Pattern) -> Pattern:
    """The same messages, none, some or all of them packed.

    Which, hangs on the pattern, so that nothing is drawn.
    """
    rng = np.random.default_rng(pattern.bytes + pattern.messages)
    return replace(pattern, packed=rng.random(pattern.messages) < rng.choice([0.0, 0.5, 1.0]))
