"""Settings: how a workload is executed, in the same words for every model.

Where they are not specified, `--in-flight` and `--receives` are the machine's own numbers: the
texts' machines have one each (`conset machines`), bare networks and machine files without these
parameters none, which is `all`. What a machine does with a message that finds no receive (`eager`,
`buffers`, `copy`), what its processors do (`processors`, `preempts`, `receive`) and how data gets
to the network (`mode`) are parameters of the machine, changed by `--set` and `--mode`:

    option                            predict flow wormhole, circuit flit connections
    overheads, set-up, signal         yes yes yes yes, in cycles yes, no signal
    startup                           yes yes yes refused refused
    latencies, port rates             yes yes yes in the routers yes
    eager (request, grant)            yes yes yes no no
    buffers, copy, preempts           no yes yes no copy
    outstanding_receives              warns infeasible infeasible infeasible infeasible
    mode: overlap, computation        yes yes yes no no
    in_flight                         yes yes yes yes yes
    receives, receive order           no yes yes no yes
    queue                             no no no no yes
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, cast

import numpy as np

from conset.base import UsageError, shortened, unknown_name, whole_number
from conset.machine import Costs
from conset.schedule import MAX_IN_FLIGHT

MAX_VALUES = {"in_flight": 2**31 - 1, "receives": 2**31 - 1, "lanes": 2**16, "queue": 2**20}
"""What the counts of `Settings` may be at most."""
ReceiveOrder = Literal["list", "any"]
Fairness = Literal["equal", "rtt"]


def refuse_policy(costs: Costs, sync: str) -> None:
    """Raises UsageError for a policy between phases that circuit switches keep apart."""
    if costs.reconfigure_s is not None and sync != "none":
        raise UsageError(
            f"sync {sync}: circuit switches keep phases apart themselves; must be none",
            options=["sync"],
        )


@dataclass(frozen=True)
class Settings:
    """What an execution does beside what the machine costs.

    Attributes:
        sync: policy between phases: `none`, `local`, `ready`, `barrier`, `barrier:K`; a trace knows
            only `none`.
        in_flight: sends a rank keeps open at once, in list order; None: all (see `Settings.of` for
            the default).
        receives: receives a rank takes at once; None: all.
        receive_order: `list`: in list order; `any`: first come, first served; None: the model's
            own.
        fairness: `equal`: flows that share a bottleneck get the same rate; `rtt`: weighted by 1 /
            latency of the route, as in SimGrid.
        lanes: virtual channels per link and pool, for the models that have them; None: the
            machine's.
        queue: elements that a channel of a connection holds, for `connections`; None: 8, or more
            where links are long.
        record: whether the timeline keeps every change of a rate, and the steps of every message,
            for the checker and for pictures over time.
        until_s: the simulation ends as soon as its clock passes it [s]; what is not delivered then
            has no end.
        max_work: the simulation ends after so much counted work (`Timeline.figures["work"]`); None:
            never.
    """

    sync: str = "none"
    in_flight: int | None = None
    receives: int | None = None
    receive_order: ReceiveOrder | None = None
    fairness: Fairness = "equal"
    lanes: int | None = None
    queue: int | None = None
    record: bool = False
    until_s: float = inf
    max_work: int | None = None

    def __post_init__(self) -> None:
        for name in MAX_VALUES:
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1
            ):
                raise UsageError(f"{name} = {value}: must be at least 1, or all")
            if value is not None and value > MAX_VALUES[name]:
                raise UsageError(f"{name} = {value}: must be at most {MAX_VALUES[name]}, or all")
        if not self.until_s >= 0:
            raise UsageError(f"until_s = {self.until_s}: must be at least 0 s")
        if self.max_work is not None and not 0 <= self.max_work < 2**63:
            raise UsageError(f"max_work = {self.max_work}: must be from 0 to 2^63 - 1")
        if self.receive_order not in (None, "list", "any"):
            raise unknown_name("receive order", str(self.receive_order), ("list", "any"))
        if self.fairness not in ("equal", "rtt"):
            raise unknown_name("fairness", str(self.fairness), ("equal", "rtt"))

    @staticmethod
    def of(
        costs: Costs,
        *,
        sync: str = "none",
        in_flight: str | int | None = None,
        receives: str | int | None = None,
        receive_order: str | None = None,
        fairness: str = "equal",
        lanes: int | None = None,
        queue: int | None = None,
        record: bool = False,
        until_s: float = inf,
        max_work: int | None = None,
    ) -> Settings:
        """Settings as on the command line; what is None comes from the machine.

        Args:
            costs: whose `in_flight` and `receives` hold where it is not specified; a bare network's
                are all.
            sync: as in `Settings`.
            in_flight: a number or `all`.
            receives: a number or `all`.
            receive_order: as in `Settings`, and all that follow.
            fairness: of flows that share a bottleneck.
            lanes: virtual channels per link and pool.
            queue: elements that a channel holds.
            record: whether every change of a rate is kept.
            until_s: when the simulation ends [s].
            max_work: counted work after which it ends.

        Raises:
            UsageError: a value that is neither a whole number of at least 1 nor `all`; a policy
                between phases where circuit switches keep them apart.
        """
        refuse_policy(costs, sync)
        return Settings(
            sync=sync,
            in_flight=costs.in_flight if in_flight is None else parse_count(in_flight, "in_flight"),
            receives=costs.receives if receives is None else parse_count(receives, "receives"),
            receive_order=cast(
                ReceiveOrder | None, receive_order
            ),  # checked where settings are made
            fairness=cast(Fairness, fairness),
            lanes=lanes,
            queue=queue,
            record=record,
            until_s=until_s,
            max_work=max_work,
        )


def parse_count(value: str | int, what: str) -> int | None:
    """A whole number from 1 to `MAX_IN_FLIGHT`, or None for `all`.

    `what` is the option that says it.

    Raises:
        UsageError: anything else.
    """
    text = str(value).strip()
    if text == "all":
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= MAX_IN_FLIGHT:
        rule = f"must be a whole number from 1 to {MAX_IN_FLIGHT}, or all"
        given = shortened(repr(value) if isinstance(value, str) else text)
        raise UsageError(f"{what} {given}: {rule}", options=[what])
    return number
