"""Programs through connections, one rank alone.

What is called when, and where the bytes of each connection lie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

from conset.execution.measure import Connected
from conset.execution.open_program import PhaseConnection, SwitchTimes
from conset.execution.plan import PairRanges


@dataclass
class Recorded:
    """Stands for an open program.

    Rank 0 sends to 1 and 2 and receives from 2, in two phases, forth and back.
    """

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    switches: int = 0

    def steps(self) -> list[tuple[int, int]]:
        return [(0, 0), (0, 1), (0, 1), (0, 0)]

    def connections(self, block: int, phase: int) -> tuple[PhaseConnection, ...]:
        to_1 = PhaseConnection(1, "send", 0, 0, 3, np.inf, 0.0)
        from_2, to_2 = (
            PhaseConnection(2, "receive", 1, 5, 2, np.inf, 0.0),
            PhaseConnection(2, "send", 2, 1, 4, np.inf, 0.0),
        )
        return (to_1,) if phase == 0 else (from_2, to_2)

    def instantiate(self, block: int, phase: int) -> None:
        self.calls.append(("open", phase))
        self.switches += 1

    def connection(self, *, id: int) -> Recorded.End:
        (end,) = (each for k in (0, 1) for each in self.connections(0, k) if each.id == id)
        return self.End(self, end.peer, end.direction)

    def phase_end(self) -> None:
        self.calls.append(("end",))

    @property
    def times(self) -> SwitchTimes:
        seconds = float(self.switches)
        return SwitchTimes(0, self.switches, seconds, 2 * seconds, 3 * seconds, 0, 0)

    @dataclass
    class End:
        program: Recorded
        peer: int
        direction: str

        def spool_send(self, view: np.ndarray) -> None:
            self.program.calls.append(("send", self.peer, view.tolist()))

        def spool_receive(self, view: np.ndarray) -> None:
            view[:] = 7
            self.program.calls.append(("receive", self.peer, view.size))

        def spool_wait(self) -> None:
            self.program.calls.append(("wait", self.peer, self.direction))


def ranges(*rows: tuple[int, int, int]) -> PairRanges:
    peer, offset, size = (np.array(column) for column in zip(*rows, strict=True))
    return PairRanges(peer.astype(np.int32), offset.astype(np.int64), size.astype(np.int64))


def connected(program: Recorded, *, ordered: bool = False) -> tuple[Connected, np.ndarray]:
    send, receive = np.arange(14, dtype=np.uint8), np.zeros(4, np.uint8)
    both = ranges((1, 0, 6), (2, 6, 8)), ranges((2, 0, 4))
    return Connected(program, *both, send, receive, ordered=ordered), receive  # type: ignore[arg-type]


def test_what_a_pair_exchanges_travels_piece_after_piece_in_the_order_of_the_phases() -> None:
    program = Recorded()
    variant, received = connected(program)
    variant.exchange()
    second = [("receive", 2, 2), ("wait", 2, "receive"), ("wait", 2, "send"), ("end",)]
    assert program.calls == [
        ("open", 0),
        ("send", 1, [0, 1, 2]),
        ("wait", 1, "send"),
        ("end",),
        ("open", 1),
        second[0],
        ("send", 2, [6, 7, 8, 9]),
        *second[1:],
        ("open", 1),
        second[0],
        ("send", 2, [10, 11, 12, 13]),
        *second[1:],
        ("open", 0),
        ("send", 1, [3, 4, 5]),
        ("wait", 1, "send"),
        ("end",),
    ]
    assert received.tolist() == [7] * 4


def test_with_an_order_each_connection_ends_before_the_next_begins() -> None:
    program = Recorded()
    connected(program, ordered=True)[0].exchange()
    at = program.calls.index(("receive", 2, 2))
    assert program.calls[at + 1] == ("wait", 2, "receive")
    assert program.calls[at + 2][0] == "send"


def test_parts_are_of_each_exchange_and_the_first_context_is_entered_before() -> None:
    program = Recorded()
    variant, _ = connected(program)
    variant.prepare()
    assert program.calls == [("open", 0), ("end",)]
    variant.exchange()
    variant.exchange()
    assert variant.parts == [(4, 4.0, 8.0, 12.0)] * 2
