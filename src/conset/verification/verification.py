"""Verification: what the verifier found, every violation with its rule and its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conset.base import ValueObject

RULES: dict[str, str] = {
    "pattern": "messages join two different ranks that exist, have "
    "bytes, 2^62 together at most; ordered "
    "ones share a "
    "rank, and no order is cyclic",
    "ranks": "the ranks fit the machine",
    "placement": "every rank has a node that may hold ranks",
    "limits": (
        "the stated limits are no looser than the machine's hard ones, unless they were asked for"
    ),
    "message-index": "a transfer names a message of the pattern",
    "message-ends": "a transfer joins the ranks of its message",
    "message-missing": "every message is scheduled",
    "message-bytes": "the parts of a message add up to it, exactly once",
    "part-size": "a transfer has bytes",
    "route-node": "a route visits nodes of the network and has at least one",
    "route-ends": "a route joins the nodes of its transfer",
    "route-link": "consecutive nodes of a route are joined by a link",
    "route-plane": "a route stays in one plane",
    "route-simple": "a route visits a node once",
    "send": "messages leaving a node in a phase",
    "receive": "messages entering a node in a phase",
    "link": "messages on a link in a phase, per unit of its width",
    "channels": "routes through a node in a phase, its own ends included",
    "channel-number": "a stop of a route has a channel of its node, from 0 and below the limit",
    "channel-taken": "a channel of a node is used once in a phase",
    "linkage": (
        "followed through the linkage tables, a connection comes out at the gate of its target"
    ),
    "duplex": "a node that sends and receives in a phase does so with one partner",
    "window-send": "`send` over consecutive phases together",
    "window-receive": "`receive` over consecutive phases together",
    "window-link": "`link` over consecutive phases together",
    "window-channels": "`channels` over consecutive phases together",
    "window-duplex": "`duplex` over consecutive phases together",
    "timetable-interval": "start and end are finite, from 0 on, and the start is not after the end",
    "timetable-length": "a window of a timetable is at least as long as its bytes need",
    "timetable-send": "a node sends one message at an instant of a timetable",
    "timetable-receive": "a node receives one message at an instant of a timetable",
    "timetable-link": "a link carries one message per unit of width at an instant of a timetable",
    "circuit-times": "what passes circuit switches has a timetable",
    "circuit-change": (
        "a circuit switch connects a port to one other at a time, and carries nothing while it "
        "changes that"
    ),
    "order": (
        "what comes before ends in an earlier phase, or earlier in the timetable of the same one"
    ),
    "in-flight": "sends a rank keeps open are a whole number of at least 1, or all",
    "posting": "every rank's transfers of a phase stand in the order that is named",
    "bandwidth": "a connection is guaranteed the bandwidth that the file says was asked for it",
    "latency": (
        "an element of a connection takes at most the time that the file says was asked for it"
    ),
    "figures": "the stated figures are the true ones",
}
"""Every rule of the verifier, as text; a violation names one of them."""


@dataclass(frozen=True, eq=False)
class Violation(ValueObject):
    """One broken rule.

    Attributes:
        phase: where, or None where the rule is not about one phase.
        transfer: position in that phase's list, or None. Of a limit, the first transfer beyond it
            in list order.
        rule: a key of `RULES`.
        text: one line for people, both numbers in it.
    """

    phase: int | None
    transfer: int | None
    rule: str
    text: str

    def to_object(self) -> dict[str, Any]:
        """`{"phase": …, "transfer": …, "rule": …, "text": …}`."""
        return {
            "phase": self.phase,
            "transfer": self.transfer,
            "rule": self.rule,
            "text": self.text,
        }


@dataclass(frozen=True, eq=False)
class Verification(ValueObject):
    """The verdict on a schedule.

    Attributes:
        ok: whether no rule is broken.
        violations: all of them, in the order of phases and transfers; what is not about a phase
            comes first.
        figures: the true ones, counted here: `phases`, `load` {send, receive, link, channels, sum},
            `phase_bytes`.
        unchecked: keys of the file that no rule is about: `modelled`, times that models gave.
    """

    ok: bool
    violations: tuple[Violation, ...]
    figures: Mapping[str, Any]
    unchecked: tuple[str, ...] = ()

    @staticmethod
    def of(
        violations: list[Violation], figures: Mapping[str, Any], unchecked: tuple[str, ...] = ()
    ) -> Verification:
        """The verdict that `violations` amount to, sorted by place."""
        by_place = sorted(
            violations,
            key=lambda v: (
                -1 if v.phase is None else v.phase,
                -1 if v.transfer is None else v.transfer,
            ),
        )
        return Verification(not violations, tuple(by_place), figures, unchecked)

    def to_object(self) -> dict[str, Any]:
        """As `conset verify --json` prints it, without schema and manifest."""
        return {
            "ok": self.ok,
            "violations": [v.to_object() for v in self.violations],
            "figures": dict(self.figures),
            **({"unchecked": list(self.unchecked)} if self.unchecked else {}),
        }
