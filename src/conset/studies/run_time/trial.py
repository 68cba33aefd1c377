"""Trial: what scheduling at run time takes inside a job, method beside method.

Every rank knows its own row only. In each repetition every variant (a method, a policy, who
computes) sets an exchange up from the rows, uses it `EXECUTIONS` times and frees it; even and odd
repetitions take the variants in opposite orders, the first repetition is dropped. Barriers, the
filling of buffers and the check of every received byte are outside the clock. Of the times of the
parts of a set-up (rows, schedule, plan) the longest over the ranks counts; of the whole set-up and
of an execution the last end minus the first start (`times_over_ranks`).

Ranks that do not know who sends to them learn it from the rows; one of their baselines receives
what it finds (send-detect-receive, the policy `detect`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI

from conset.base import Bytes, Floats, InputError, NoScheduleError
from conset.execution import (
    DIRECT,
    Given,
    MeasuredRank,
    Plan,
    Result,
    Tamper,
    Tell,
    alltoallv_init,
    require_ranks,
    times_over_ranks,
)
from conset.studies.run_time.costs import DETECT, POSTING, SYNCS, WAYS

EXECUTIONS = 3
"""Of each exchange: the first, and those whose mean is the time of an execution."""
Bytes = Bytes
PARTS = ("rows_s", "schedule_s", "plan_s")
"""Of a set-up, as an exchange reports them."""


@dataclass(frozen=True)
class Variant:
    """What is measured beside others.

    Attributes:
        method: as it is asked for.
        sync: as it is asked for.
        compute: `all` or `one`; `auto`: nothing is computed.
        sources_known: whether ranks know what they receive.
    """

    method: str
    sync: str
    compute: str = "auto"
    sources_known: bool = True

    @property
    def name(self) -> str:
        """`rs-n, ready, all`."""
        known = [] if self.sources_known else ["sources unknown"]
        return ", ".join(
            [self.method, self.sync, *([] if self.compute == "auto" else [self.compute]), *known]
        )


def variants_of(methods: list[str]) -> list[Variant]:
    """The naive exchange: with known sources, with learned ones, and with these under `detect`.

    Then every method.

    Methods run under every policy and are computed both ways.
    """
    found = [
        Variant(POSTING, "none"),
        Variant(POSTING, "none", sources_known=False),
        Variant(POSTING, DETECT, sources_known=False),
    ]
    others = [method for method in dict.fromkeys(methods) if method != POSTING]
    return found + [
        Variant(method, sync, way) for method in others for sync in SYNCS for way in WAYS
    ]


class Trial:
    """What a rank keeps over all repetitions."""

    def __init__(
        self,
        comm: MPI.Intracomm,
        direct: Plan,
        orders: dict[str, Any],
        tamper: Tamper | None,
    ) -> None:
        self.comm, self.orders = comm, orders
        self.own = MeasuredRank(comm, direct, orders["timeout_s"], tamper)
        everyone = np.arange(comm.size)
        self.sends = self.own.sends.dense(everyone)
        self.receives = self.own.receives.dense(everyone)

    def open(self, variant: Variant) -> Any:
        """An exchange from the rows; collective."""
        own = self.own
        return alltoallv_init(
            self.comm,
            own.send,
            *self.sends,
            *((own.received, *self.receives) if variant.sources_known else (None, None, None)),
            machine=self.orders["machine"],
            method=variant.method,
            sync=variant.sync,
            timeout_s=self.orders["timeout_s"],
            seed=self.orders["seed"],
            compute=variant.compute,
            combine="none",  # what is predicted beside it goes directly
        )

    def measure(self, variant: Variant, repetition: int) -> tuple[Any, Floats]:
        """(the exchange, freed.

        Shape=(2, 1 + EXECUTIONS + parts): starts and ends of the clock, and reported times).
        """
        clock = np.zeros((2, 1 + EXECUTIONS + len(PARTS)))
        own = self.own
        own.waiter.barrier(self.comm)
        clock[0, 0] = time.monotonic()
        exchange = self.open(variant)
        clock[1, 0] = time.monotonic()
        for k in range(1, 1 + EXECUTIONS):
            own.spoil(self.received_by(variant, exchange))
            own.waiter.barrier(self.comm)
            clock[0, k] = time.monotonic()
            exchange.exchange()
            clock[1, k] = time.monotonic()
            own.compare(variant.name, repetition, self.received_by(variant, exchange))
        clock[1, 1 + EXECUTIONS :] = [getattr(exchange.times, part) for part in PARTS]
        own.waiter.barrier(self.comm)
        exchange.close()
        return exchange, clock

    def received_by(self, variant: Variant, exchange: Any) -> Bytes:
        """Where a variant receives.

        Where sources are not known before the buffer is the exchange's own.
        """
        return (
            self.own.received
            if variant.sources_known
            else np.asarray(exchange.recvbuf).view(np.uint8)
        )


def measure_run_time(
    comm: MPI.Intracomm, given: Given, tell: Tell, tamper: Tamper | None = None
) -> Result | None:
    """Measures all variants; on rank 0 what `RunTimeResult` is made of. The task of `measure_job`.

    Args:
        comm: as many ranks as the pattern has.
        given: every message directly, as the plan `DIRECT`, of which a rank looks at its own.
            Orders: `methods`, `machine` (as `alltoallv_init` takes it), `seed`, `repeat`,
            `timeout_s`.
        tell: hears how much is done.
        tamper: called after an execution; tests change a byte.

    Raises:
        InputError, UsageError: what an exchange refuses, on every rank. ExecutionError: a deadline
            has passed.
    """
    orders = given.orders
    require_ranks(comm, given.plans[DIRECT].ranks, "pattern")
    trial = Trial(comm, given.plans[DIRECT], orders, tamper)
    variants, skipped = variants_of(orders["methods"]), {}
    clocks: dict[Variant, list[Floats]] = {variant: [] for variant in variants}
    facts: dict[Variant, dict[str, Any]] = {}
    for repetition in range(orders["repeat"] + 1):
        for place, variant in enumerate(variants if repetition % 2 == 0 else variants[::-1]):
            tell((repetition + place / len(variants)) / (orders["repeat"] + 1), "")
            try:
                exchange, clock = trial.measure(variant, repetition)
            except (InputError, NoScheduleError) as reason:  # agreed: every rank comes here
                if (
                    variant.method not in orders["methods"]
                    or variant.method == POSTING
                    or repetition > 0
                ):
                    raise
                skipped[variant.method] = str(reason)
                continue
            clocks[variant].append(clock)
            facts[variant] = {
                "method": exchange.method,
                "sync": str(exchange.sync),
                "phases": exchange.phases,
            }
        variants = [variant for variant in variants if variant.method not in skipped]
    rows = [
        _row(trial.own, variant, facts[variant], np.array(clocks[variant][1:]))
        for variant in variants
    ]
    found = trial.own.gather_facts()
    return None if found is None else {**found, "rows": rows, "skipped": [*skipped.items()]}


def _row(
    own: MeasuredRank, variant: Variant, facts: dict[str, Any], clock: Floats
) -> dict[str, Any]:
    """The times of a variant over all ranks.

    `clock` of this rank, shape=(repetitions, 2, columns).
    """
    timed = 1 + EXECUTIONS
    times = times_over_ranks(
        own.comm, clock[:, :, :timed].swapaxes(0, 1), own.one_machine, own.waiter
    )
    reported = np.ascontiguousarray(clock[:, 1, timed:])
    longest = np.empty_like(reported)
    own.comm.Allreduce(reported, longest, MPI.MAX)
    return {
        **facts,
        "asked_method": variant.method,
        "asked_sync": variant.sync,
        "compute": "" if variant.compute == "auto" else variant.compute,
        "sources_known": variant.sources_known,
        **{part: longest[:, k].tolist() for k, part in enumerate(PARTS)},
        "setup_s": times[:, 0].tolist(),
        "first_s": times[:, 1].tolist(),
        "execution_s": times[:, 2:].mean(axis=1).tolist(),
    }
