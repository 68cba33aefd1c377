"""The text's four algorithms, and today's beside them: what compiles each, and how it is executed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Algorithm:
    """One competitor.

    Attributes:
        name: in tables and pictures.
        method: what compiles it here.
        sync: S1 of the text is `ready` (a zero-byte signal for each message), S2 is `none` (everything posted in
            schedule order).
        order: of a rank's sends within a phase: as compiled, `random`, or `rotated` (first to its next higher rank).
    """

    name: str
    method: str
    sync: str
    order: str = "compiled"


AC = Algorithm("AC", "naive", "none")
"""The text does not say in which order AC sends; `naive` sends by ascending target, as the rows of COM stand."""
LP = Algorithm("LP", "lp", "ready")
RS_N = Algorithm("RS_N", "rs-n", "none")
RS_NL = Algorithm("RS_NL", "rs-nl", "ready")
TEXT = (AC, LP, RS_N, RS_NL)
"""S1 for those that exploit exchanges, S2 for the others: Section 6."""

AC_RANDOM = Algorithm("AC, random order", "naive", "none", order="random")
AC_ROTATED = Algorithm("AC, rotated order", "naive", "none", order="rotated")
ORDERS = (AC, AC_RANDOM, AC_ROTATED)
"""AC with the orders that decide whether it comes before RS_N."""

TODAY = (
    Algorithm("half-duplex, S1", "half-duplex", "ready"),
    Algorithm("negotiated, S1", "negotiated", "ready"),
    Algorithm("negotiated, S2", "negotiated", "none"),
)
"""What this compiler has beside them: exchanges only, and few permutations free of contention."""

UNSCHEDULED_OR_NODES = ("AC", "RS_N")
"""One class: both S2 and without heed to links; which of the two is first hangs on the order of AC's sends."""
