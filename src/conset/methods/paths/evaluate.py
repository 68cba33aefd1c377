"""Evaluate: what paths cost on a machine, by its words, without an event in time.

Problem: compare many ways to combine one pattern; the models of events are too slow for hundreds of
candidates.
Idea: processors and ports are served in order, stage by stage, all ranks at once. A rank sends the
bundles of a stage one after the other, first those that are forwarded; then it takes, in the order
in which they arrive, the bundles it has to forward, and goes on to the next stage. Bundles that end
at it are taken after the last stage.

- send: `send_overhead`, and bytes / `copy` where it is packed; then it starts up at the port and
  its bytes leave at the rate of that
- on its way: `inject` + `eject` + `per_transfer` + `hop` × links of the route, and signals above
  the eager threshold
- port: ranks of a node share it, out and in: bundles pass in order
- link: bundles pass in order the one link of their route that carries most in the stage
- receive: `receive_overhead`, and bytes / `copy` where it is packed
- set-up: once for each rank and stage in which it sends or receives

With `processors = one` a rank receives when it has sent, with `two` both go on at once; with
`shared` nothing is over before each node has done the work of all its ranks. A bundle inside a node
uses no port and has no latency; its bytes are copied at `copy`.
Left out: the other links of a route, `in_flight`, and phases within a stage; the models of events
know them.
Complexity: O(bundles log bundles + hops of all bundles) time and memory for each stage.

Mixed: each message direct, or along other paths together with others, as the cost model says,
improved by search: `cpp/include/conset/combining/mixes.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conset import _core
from conset.base import Floats, InputError, Ints32
from conset.machine import Machine, Steps, core_network, message_costs
from conset.methods.paths.multiphase import box_network
from conset.methods.phases.table import LARGE
from conset.pattern import Pattern
from conset.schedule import Paths, direct


@dataclass(frozen=True)
class Estimate:
    """What paths cost.

    Attributes:
        time_s: until the last rank has all that is sent to it [s].
        work_s: of all processors together: overheads, packing, set-ups [s].
        busiest_s: the same of the rank that has most [s].
        stage_s: how much later the last rank is done after each stage; together `time_s` [s].
        bundles: messages sent in all stages.
        bytes: sent in all stages [B].
    """

    time_s: float
    work_s: float
    busiest_s: float
    stage_s: tuple[float, ...]
    bundles: int
    bytes: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to combine.

    Attributes:
        name: as `--combine` takes it; what others hand in as they name it.
        paths: where the messages go.
        estimate: what it costs.
    """

    name: str
    paths: Paths
    estimate: Estimate


def evaluate(
    paths: Paths,
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    part_s: float = 0.0,
) -> Estimate:
    """The estimate of paths on a machine.

    Args:
        paths: where the messages go.
        machine: whose costs and routes hold.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        part_s: work for each part that is packed or taken apart, beside its bytes [s]; no word of
            machines says it.

    Raises:
        InputError: more ranks than nodes, or a placement of another number of ranks.
    """
    ranks, nodes = paths.pattern.ranks, machine.topology.endpoints
    node = np.arange(ranks, dtype=np.int32) if placement is None else placement
    if placement is None and ranks > nodes:
        raise InputError(f"{ranks} ranks on {nodes} nodes: a placement is required")
    if node.shape != (ranks,):
        raise InputError(
            f"placement has shape {node.shape}: one node for each of {ranks} ranks required"
        )
    clock = _clock(machine, node, part_s)
    ends, sent = [0.0], [paths.stage_pattern(stage) for stage in range(paths.stages)]
    for stage, each in enumerate(sent):
        parts, forwarded = paths.held(stage)
        packed = np.zeros(0) if each.packed is None else each.packed
        clock.run(
            *map(np.ascontiguousarray, (each.source, each.target, each.size)),
            packed=packed.astype(np.uint8),
            parts=np.ascontiguousarray(parts, np.int64),
            forwarded=forwarded.astype(np.uint8),
        )
        ends.append(clock.now)
    clock.finish()
    ends[-1] = clock.now
    return Estimate(
        clock.now,
        clock.work,
        clock.busiest,
        tuple(np.diff(ends).tolist()),
        sum(each.messages for each in sent),
        sum(each.bytes for each in sent),
    )


def _clock(machine: Machine, node: Ints32, part_s: float = 0.0) -> _core.StageClock:
    costs = machine.costs
    return _core.StageClock(
        core_network(machine.topology, machine.routing),
        np.ascontiguousarray(node, np.int32),
        message_costs(machine, costs, "none", in_flight=costs.in_flight),
        one_processor=costs.one_processor,
        part_s=part_s,
    )


def bundle_costs(machine: Machine) -> _core.BundleCosts:
    """What a bundle costs both its ends, for merging."""
    costs = machine.costs
    link = 1 / costs.link_Bps if machine.topology.link_slots else 0.0
    rates = [
        costs.setup_s,
        1 / costs.copy_Bps,
        max(1 / costs.port_out_Bps, 1 / costs.node_Bps, link),
        0.0,
    ]
    return _core.BundleCosts(
        *_steps(costs.send_overhead + Steps((costs.startup_s,))),
        *_steps(costs.receive_overhead),
        np.array(rates),
    )


def _steps(steps: Steps) -> tuple[Floats, Floats]:
    return np.array(steps.up_to_B, np.float64), np.array(steps.seconds, np.float64)


REL_TOL = 1e-3
"""Estimates that differ by less are as good as each other."""


def mixed(
    pattern: Pattern,
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    seed: int = 0,
    effort: int = 1,
) -> Paths:
    """The mix of least estimated time that was found, of those as fast the one of least work.

    Direct if none is better.

    Args:
        pattern: what is sent.
        machine: whose costs and network count.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        seed: of the order in which equally busy ranks are visited when merging; 0: by number.
        effort: how much is tried, at least 1.

    Raises:
        InputError: messages with an order.
    """
    paths = direct(pattern)
    held = evaluate(paths, machine, placement)
    least_s = held.time_s
    for each in mixed_candidates(pattern, machine, placement, seed=seed, effort=effort):
        least_s = min(least_s, each.estimate.time_s)
        as_fast = each.estimate.time_s <= (1 + REL_TOL) * least_s
        if as_fast and (
            held.time_s > (1 + REL_TOL) * least_s or each.estimate.work_s < held.work_s
        ):
            paths, held = each.paths, each.estimate
    return paths


def mixed_candidates(
    pattern: Pattern,
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    seed: int = 0,
    effort: int = 1,
) -> list[Candidate]:
    """Mixes of a pattern with what they cost, as they are found; none where bundles are no work.

    Args: as of `mixed`. Ends early, with what was found, when asked to stop.
    """
    if not pattern.messages or pattern.before is not None:
        return []
    if pattern.messages > LARGE and pattern.is_complete:
        return []  # boxes are optimal
    node = np.arange(pattern.ranks, dtype=np.int32) if placement is None else placement
    mixes = _core.mixed_ways(
        _clock(machine, node),
        bundle_costs(machine),
        box_network(machine, node),
        np.ascontiguousarray(node, np.int32),
        np.ascontiguousarray(pattern.source),
        np.ascontiguousarray(pattern.target),
        np.ascontiguousarray(pattern.size),
        seed=seed,
        effort=max(effort, 1),
    )
    found = []
    for name, flat, (time_s, work_s, busiest_s, stage_s, bundles, size) in mixes:
        paths = Paths(pattern, flat.reshape((pattern.messages, -1), order="F"), name=name)
        estimate = Estimate(time_s, work_s, busiest_s, tuple(stage_s), bundles, size)
        found.append(Candidate(f"mixed {name}", paths, estimate))
    return found
