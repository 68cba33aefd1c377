"""Order: the lists of ranks and how many of their messages are open at once.

And whether a node may post its receives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.schedule.policy import most_posted, parse_sync

Rows = list[tuple[int, NDArray[np.int32]]]
"""(rank, its messages in list order)."""


def require_one_route(workload: Workload, machine: Machine, model: str) -> None:
    """Raises InputError where messages are spread over many routes, of which `model` knows one."""
    if machine.routing.knowledge == "adaptive" and not workload.link_offsets.size:
        raise InputError(
            f"{model}: {machine.name} spreads every message over several routes (routing "
            f"adaptive), where {model} "
            "follows one: model flow shares links in such parts; or state another routing",
            options=["model"],
        )


def in_list_order(workload: Workload, rank: NDArray[np.int32]) -> Rows:
    """The messages of every rank in list order; `rank[m]` is the rank of message m at one end."""
    if not workload.messages:
        return []
    listed = workload.order if workload.order.size else np.arange(workload.messages, dtype=np.int32)
    by_rank = listed[np.argsort(rank[listed], kind="stable")]
    ranks, first = np.unique(rank[by_rank], return_index=True)
    return [(int(r), row) for r, row in zip(ranks, np.split(by_rank, first[1:]), strict=True)]


def most_open(rows: Rows, start: NDArray[np.float64], end: NDArray[np.float64]) -> tuple[int, int]:
    """(most messages open at once at one rank, that rank).

    A message is open from `start` until before `end`.
    """
    most, where = 0, -1
    for rank, row in rows:
        long = row[end[row] > start[row]]
        times = np.concatenate([start[long], end[long]])
        steps = np.concatenate([np.ones(long.size), -np.ones(long.size)])
        running = np.cumsum(
            steps[np.lexsort((steps, times))]
        )  # at one time, ends come before starts
        if running.size and running.max() > most:
            most, where = int(running.max()), rank
    return most, where


def check_receives(workload: Workload, machine: Machine, costs: Costs, settings: Settings) -> None:
    """Receives are posted first.

    All of a node under `none`, those of a phase or group under the other policies.

    What a rank takes at once (`--receives`) makes no difference: the others are posted too.

    Raises:
        InputError: more than the machine's `outstanding_receives` at a node; names it and both
            numbers.
    """
    limit = costs.outstanding_receives
    if limit is None:
        return
    sync = parse_sync(settings.sync)
    posted, node = most_posted(workload.source, workload.target, workload.phase_of, sync)
    if posted > limit:
        raise InputError(
            f"infeasible: {machine.topology.node_name(node)} would have {posted} receives "
            "posted under sync "
            f"{settings.sync}, {machine.name} allows {limit}"
        )
