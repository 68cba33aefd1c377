"""Open programs on 4 ranks: connections.py FOLDER CHECK.

A rank writes 'right' when all was as it must be.
"""

from __future__ import annotations

import array
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import conset
from conset.base.errors import ConsetError, ExecutionError, InputError, UsageError
from conset.machine.costs import Limits
from conset.schedule.program import Program, Stage

RANKS = 4
PAIRS = [(s, t) for s in range(RANKS) for t in range(RANKS) if s != t]
MACHINE = conset.load_machine(f"crossbar:{RANKS}")


def schedule_of(phases: list[list[tuple[int, int]]], size: int = 8) -> conset.Schedule:
    """A message of `size` bytes for each pair of each phase; no pair twice."""
    pairs = sorted(pair for phase in phases for pair in phase)
    pattern = conset.Pattern.from_messages(
        [s for s, _ in pairs], [t for _, t in pairs], [size] * len(pairs), RANKS
    )
    message = [pairs.index(pair) for phase in phases for pair in phase]
    offsets = np.cumsum([0, *(len(phase) for phase in phases)])
    return conset.Schedule(
        pattern, MACHINE, "naive", Limits(), offsets, np.array(message, np.int32)
    )


def one_phase() -> conset.Schedule:
    """All pairs at once."""
    return schedule_of([PAIRS])


def shift(by: int) -> list[tuple[int, int]]:
    """Rank r sends to r + by."""
    return [(r, (r + by) % RANKS) for r in range(RANKS)]


def require(fine: bool, what: str) -> None:
    if not fine:
        raise AssertionError(what)


def refused(kind: type[ConsetError], call: Callable[[], object], *words: str) -> None:
    """Checks that the call raises that, in one line with these words."""
    try:
        call()
    except kind as error:
        text = str(error)
        require(
            "\n" not in text and all(word in text for word in words),
            f"'{text}' lacks one of {words}",
        )
        return
    raise AssertionError(f"no {kind.__name__}: {words}")


def both(program: conset.OpenProgram, peer: int) -> tuple[conset.Connection, conset.Connection]:
    """To and from a peer."""
    return program.connection(peer, "send"), program.connection(peer, "receive")


def interleaved(comm: MPI.Intracomm) -> None:
    """Elements of several connections in turns, through packets of a few.

    Every peer another type.
    """
    rank = comm.rank
    pair = np.dtype([("key", "<i4"), ("value", "<f8")])
    types = [np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.complex128), pair]

    def values(source: int, target: int, count: int) -> NDArray[Any]:
        """What goes from one rank to another, of the type of the pair."""
        numbers = np.arange(count) * 7 + 100 * source + target
        found = np.zeros(count, types[(source + target) % len(types)])
        for field in found.dtype.names or (None,):
            (found if field is None else found[field])[:] = numbers
        return found

    for packet_bytes, credits in ((16, 1), (40, 2), (4096, 4)):
        with conset.program_open(
            one_phase(), comm, packet_bytes=packet_bytes, credits=credits, timeout_s=20
        ) as program:
            for _ in range(2):
                program.instantiate(0, 0)
                peers = [peer for peer in range(RANKS) if peer != rank]
                ends = {peer: both(program, peer) for peer in peers}
                out = {peer: values(rank, peer, 150) for peer in peers}
                got = {peer: np.zeros_like(values(peer, rank, 150)) for peer in peers}
                for k in range(150):
                    for peer in peers:
                        ends[peer][0].send_elements(out[peer][k : k + 1])
                    for peer in peers:
                        ends[peer][1].receive_elements(got[peer][k : k + 1])
                program.phase_end()
                for peer in peers:
                    require(bool((got[peer] == values(peer, rank, 150)).all()), f"from {peer}")
            require(program.times.elements == 2 * 3 * 150, f"elements {program.times.elements}")
            require(
                program.times.phases == 2 and program.times.switches == 0, "phases and switches"
            )


def buffers(comm: MPI.Intracomm) -> None:
    """Whatever has one contiguous buffer; runs that are cut otherwise than they were sent."""
    rank = comm.rank
    to, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    with conset.program_open(
        schedule_of([shift(1)]), comm, packet_bytes=64, timeout_s=20
    ) as program:
        program.instantiate("pattern", 0)
        send, receive = program.connection(to, "send"), program.connection(before, "receive")
        send.send_elements(b"ab")
        send.send_elements(bytearray(b"cd"))
        send.send_elements(array.array("B", [1, 2, 3]))
        send.send_elements(memoryview(b"efg")[1:])
        send.send_elements(np.arange(200, dtype=np.uint8).reshape(20, 10))
        send.send_elements(np.zeros(0, np.uint8))
        send.send_elements(np.uint8(9))
        got = bytearray(210)
        receive.receive_elements(memoryview(got)[:5])
        receive.receive_elements(memoryview(got)[5:])
        require(got == b"abcd\1\2\3fg" + bytes(range(200)) + b"\t", f"bytes {bytes(got[:12])!r}")
        program.phase_end()
        program.instantiate(0, 0)
        send.send_elements(np.float64(rank))
        number = np.zeros((), np.float64)
        receive.receive_elements(number)
        require(number == before, "a number")
        for plain in (lambda r: 3.5 + r, lambda r: r, lambda r: 1j * r, lambda r: r % 2 == 1):
            sent, expected = plain(rank), plain(before)
            program.phase_end()
            program.instantiate(0, 0)
            send.send_elements(sent)
            got_one = receive.receive_element(np.array(sent).dtype)
            require(got_one == expected and type(got_one) is type(sent), f"plain {got_one!r}")
            if isinstance(sent, float):
                send.spool_send(sent)
                require(receive.receive_element() == expected, "a spooled number")
        program.phase_end()


def modes(comm: MPI.Intracomm) -> None:
    """Systolic: a product of matrix and vector that stores no message.

    Spooling in the background.
    """
    rank, n = comm.rank, 500
    rng = np.random.default_rng(5)
    matrix, vector = rng.random((RANKS * n, 3)), rng.random(RANKS * n)
    own = slice(rank * n, (rank + 1) * n)
    with conset.program_open(
        one_phase(), comm, packet_bytes=256, credits=2, timeout_s=20
    ) as program:
        program.instantiate(0, 0)
        peers = [(rank + k) % RANKS for k in range(1, RANKS)]
        result = vector[own] @ matrix[own]
        runs = []
        for k in range(1, RANKS):
            to, before = (rank + k) % RANKS, (rank - k) % RANKS
            left = vector[own]

            def produce(elements: NDArray[Any]) -> None:
                nonlocal left
                elements[:] = left[: elements.size]
                left = left[elements.size :]

            row = before * n

            def consume(elements: NDArray[Any]) -> None:
                nonlocal row, result
                require(not elements.flags.writeable and elements.size >= 1, "a read-only run")
                result = result + elements @ matrix[row : row + elements.size]
                row += elements.size
                runs.append(elements.size)

            for _ in range(n // 20):  # less than the credits' worth at a time
                program.connection(to, "send").send_computed(20, np.float64, produce)
                program.connection(before, "receive").receive_apply(20, float, consume)
        require(bool(np.allclose(result, vector @ matrix)), "the product")
        require(max(runs) <= 32 and sum(runs) == 3 * n, "runs fit a packet")
        program.phase_end()
        program.instantiate(0, 0)
        out = {peer: np.arange(n) + 1000 * rank + peer for peer in peers}
        got = {peer: np.zeros(n, np.int64) for peer in peers}
        for peer in peers:
            program.connection(peer, "send").spool_send(out[peer][: n // 2])
            program.connection(peer, "send").spool_send(out[peer][n // 2 :])
            program.connection(peer, "receive").spool_receive(got[peer])
        while program.progress():
            pass
        for peer in peers[:2]:
            program.connection(peer, "send").spool_wait()
            program.connection(peer, "receive").spool_wait()
            require(
                bool((got[peer] == np.arange(n) + 1000 * peer + rank).all()), f"spooled from {peer}"
            )
        program.phase_end()  # waits for the rest, whose buffers it gives back
        require(
            bool((got[peers[2]] == np.arange(n) + 1000 * peers[2] + rank).all()),
            "spooled, not waited for",
        )
        # a buffer that is spooled cannot be resized until it is given back
        program.instantiate(0, 0)
        block = bytearray(1000)
        program.connection(peers[0], "send").spool_send(block)
        got_block = bytearray(1000)
        program.connection(peers[2], "receive").spool_receive(got_block)
        try:
            block.append(1)
            raise AssertionError("a spooled buffer was resized")
        except BufferError:
            pass
        program.connection(peers[0], "send").spool_wait()
        block.append(1)
        program.phase_end()
        got_block.append(1)


def errors(comm: MPI.Intracomm) -> None:
    """What is refused, in words, and that the program goes on where it can."""
    rank = comm.rank
    refused(
        UsageError,
        lambda: conset.program_open(one_phase(), comm, credits=0),
        "credits 0: must be from 1",
    )
    refused(
        UsageError,
        lambda: conset.program_open(one_phase(), comm, timeout_s=-1),
        "timeout_s -1: must be above 0",
    )
    refused(
        InputError,
        lambda: conset.program_open(one_phase(), comm, credits=1 + rank % 2),
        "rank 1: packets of",
    )
    refused(InputError, lambda: conset.program_open("no.plan", comm), "no.plan: no such file")
    refused(
        InputError,
        lambda: conset.program_open("no.json" if rank else "other.json", comm),
        "rank 1: program",
    )
    small = conset.compile("shift", "crossbar:2", method="first-fit")
    refused(
        InputError,
        lambda: conset.program_open(small, comm),
        "the MPI job has 4 ranks, the program 2",
    )
    other = one_phase() if rank == 2 else schedule_of([shift(1), shift(2)])
    refused(InputError, lambda: conset.program_open(other, comm), "rank 2: program of digest")
    program = conset.program_open(schedule_of([shift(1), shift(2)]), comm, timeout_s=20)
    refused(ExecutionError, lambda: program.connection(0, "send"), "no phase is open")
    refused(ExecutionError, program.phase_end, "no phase is open")
    refused(UsageError, lambda: program.instantiate(1, 0), "block 1: must be from 0 to 0")
    refused(UsageError, lambda: program.instantiate("pattem", 0), "did you mean 'pattern'?")
    refused(UsageError, lambda: program.instantiate(0, 2), "phase 2")
    program.instantiate(0, 0)
    refused(ExecutionError, lambda: program.instantiate(0, 1), "has ended")
    refused(ExecutionError, program.close, "ended the phase")
    words = (
        f"no connection from rank {rank} (node {rank}) to rank {(rank + 2) % 4} (node "
        f"{(rank + 2) % 4})",
    )
    refused(
        UsageError,
        lambda: program.connection((rank + 2) % 4, "send"),
        "phase 0: ",
        *words,
        "phase 1 has it",
    )
    words = (
        f"no connection from rank {(rank + 1) % 4} (node {(rank + 1) % 4}) to rank {rank} "
        f"(node {rank})",
    )
    refused(UsageError, lambda: program.connection((rank + 1) % 4, "receive"), *words)
    refused(UsageError, lambda: program.connection(rank, "sent"), "unknown direction 'sent'")  # type: ignore[arg-type]
    send, receive = (
        program.connection((rank + 1) % 4, "send"),
        program.connection((rank - 1) % 4, "receive"),
    )
    numbers = np.arange(6.0)
    locked = np.zeros(6)
    locked.flags.writeable = False
    refused(
        InputError,
        lambda: send.send_elements([1, 2]),
        "elements: a contiguous buffer required, given list",
    )
    refused(InputError, lambda: receive.receive_elements(3.0), "buffer required, given float")
    refused(InputError, lambda: send.send_elements(10**30), "elements: has Python objects")
    refused(
        InputError,
        lambda: send.send_elements(numbers[::2]),
        "elements: must be one contiguous buffer",
    )
    refused(
        InputError, lambda: send.send_elements(np.array([None])), "elements: has Python objects"
    )
    refused(InputError, lambda: receive.receive_elements(locked), "elements: must be writable")
    refused(InputError, lambda: receive.spool_receive(b"constant"), "elements: must be writable")
    refused(ConsetError, lambda: receive.send_elements(numbers))
    refused(ConsetError, lambda: send.receive_elements(numbers))
    send.send_elements(numbers)
    refused(InputError, lambda: send.send_elements(np.zeros(1, np.float32)), "4 B", "8 B")

    def stumble(elements: NDArray[Any]) -> None:
        raise KeyError(f"operator of {rank}")

    kept: list[NDArray[Any]] = []
    for call in (receive.receive_apply, send.send_computed):
        try:
            call(2, np.float64, stumble)
            raise AssertionError("an operator's error was lost")
        except KeyError as error:
            require(error.args == (f"operator of {rank}",), "the operator's own error")
    refused(
        ExecutionError,
        lambda: receive.receive_apply(2, np.float64, kept.append),
        "has kept its array",
    )
    kept.clear()
    refused(InputError, lambda: receive.receive_apply(2, np.object_, stumble), "elements of object")
    got = np.zeros(6)
    receive.receive_elements(got)  # what operators stumbled over is still there
    require(bool((got == numbers).all()), "elements after errors")
    spare = np.zeros(1)
    send.send_elements(spare)
    refused(InputError, program.phase_end, "'pattern', phase 0", f"rank {rank}", "6 of 7")
    program.instantiate(0, 1)  # the phase has ended
    refused(ConsetError, lambda: send.send_elements(spare))
    last = program.connection((rank + 2) % 4, "receive")
    program.connection((rank + 2) % 4, "send").send_elements(np.arange(3.0))
    if rank != 2:
        last.receive_elements(np.zeros(3))
        program.phase_end()
    else:
        refused(InputError, lambda: last.receive_elements(np.zeros(5)), "'pattern', phase 1", "3")
        with suppress(InputError):  # what stays unread
            program.phase_end()
    program.close()
    program.close()
    refused(ExecutionError, lambda: program.instantiate(0, 0), "the program is closed")
    refused(ExecutionError, lambda: last.receive_elements(spare), "the program is closed")
    require("closed" in repr(program), repr(program))


def contexts(comm: MPI.Intracomm) -> None:
    """Blocks that turn and share contexts.

    As many switches as the program counts, every element right.
    """
    rank = comm.rank
    phases = [shift(1), shift(2), shift(3)]
    inner, outer = schedule_of(phases), schedule_of([shift(3)])
    stages = (
        Stage("forth and back", 4, 0, True),
        Stage("last", 2, 1, False),
        Stage("again", 1, 0, False),
    )
    noun = Program(MACHINE, stages, (inner, outer), ((5, 7, 8), (8,)))
    with conset.program_open(noun, comm, packet_bytes=32, credits=1, timeout_s=20) as program:
        require(
            [block.name for block in program.blocks] == ["forth and back", "last", "again"], "names"
        )
        require(program.phases("last") == 1 and program.phases(0) == 3, "phases")
        steps = list(program.steps())
        forth = [(0, 0), (0, 1), (0, 2)]
        require(
            steps == [*forth, *forth[::-1]] * 2 + [(1, 0)] * 2 + [(2, 0), (2, 1), (2, 2)],
            f"steps {steps}",
        )
        for block, phase in steps:
            (first,) = [row for row in program.connections(block, phase) if row.direction == "send"]
            program.instantiate(block, phase)
            to = first.peer
            before = 2 * rank - to  # the shift the other way
            got = np.zeros(40, np.int64)
            receive = program.connection(before % RANKS, "receive")
            receive.spool_receive(got)
            program.connection(to, "send").send_elements(np.arange(40) + rank)
            receive.spool_wait()
            require(
                bool((got == np.arange(40) + before % RANKS).all()), f"block {block}, phase {phase}"
            )
            program.phase_end()
        require(program.times.phases == noun.phases == len(steps), "phases")
        require(
            program.times.switches == noun.switches,
            f"{program.times.switches} switches, {noun.switches} counted",
        )
        times = program.times
        require(min(times.drain_s, times.synchronization_s, times.setup_s) >= 0, "times")
        rows = program.connections("forth and back", 1)
        require({row.direction for row in rows} == {"send", "receive"}, "directions")
        require(
            [row.order for row in rows] == [0, 1] and rows[0].bytes == 8, "rows in posting order"
        )


def deadline(comm: MPI.Intracomm) -> None:
    """Ranks 0, 1 and 2 wait in a cycle, 3 for one of them: every rank is told, in words."""
    rank = comm.rank
    program = conset.program_open(one_phase(), comm, timeout_s=3)
    program.instantiate(0, 0)
    peer = (rank + 1) % 3 if rank < 3 else 0
    try:
        program.connection(peer, "receive").receive_elements(np.zeros(1))
        raise AssertionError("nothing was sent")
    except ExecutionError as error:
        text = str(error)
    require("\n" not in text and f"{rank} waits for" in text.replace("rank ", ""), text)
    if rank < 3:
        require(all(f"{r}" in text for r in range(3)), text)
    texts = comm.allgather(text)
    if rank == 0:
        (Path(sys.argv[1]) / "deadline.txt").write_text("\n".join(texts))
    refused(ExecutionError, lambda: program.instantiate(0, 0))  # of no more use
    program.close()


def interrupted(comm: MPI.Intracomm) -> None:
    """Ctrl-C while a rank waits; other threads of Python run meanwhile."""
    program = conset.program_open(one_phase(), comm)
    program.instantiate(0, 0)
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        program.connection((comm.rank + 1) % RANKS, "receive").receive_elements(np.zeros(1))
        raise AssertionError("nothing was sent")
    except KeyboardInterrupt:
        pass
    program.close()


def threads(comm: MPI.Intracomm) -> None:
    """A second thread is refused while the first waits, and sees Python go on."""
    program = conset.program_open(one_phase(), comm, timeout_s=20)
    program.instantiate(0, 0)
    peer = comm.rank ^ 1
    send, receive = both(program, peer)
    said: list[str] = []

    def second() -> None:
        try:
            send.send_elements(np.ones(1))
            said.append("sent")
        except ExecutionError as error:
            said.append(str(error))
        comm.send(None, peer, tag=9)

    if comm.rank % 2 == 0:
        timer = threading.Timer(1.0, second)
        timer.start()
        receive.receive_elements(np.zeros(1))
        timer.join()
        require(said == ["the program is in use by another thread: one at a time"], str(said))
    else:
        comm.recv(source=peer, tag=9)
        send.send_elements(np.ones(1))
    program.phase_end()
    program.close()


def files(comm: MPI.Intracomm) -> None:
    """The same program from a plan, a program file and the noun."""
    folder = Path(sys.argv[1])
    for what in (folder / "x.plan", str(folder / "prog.json"), conset.read(folder / "prog.json")):
        with conset.program_open(what, comm, timeout_s=20) as program:
            rows = [program.connections(*step) for step in program.steps()]
            for step, own in zip(program.steps(), rows, strict=True):
                program.instantiate(*step)
                for row in own:  # in posting order, one after the other
                    if row.direction == "send":
                        program.connection(row.peer, "send").send_elements(
                            bytes([comm.rank]) * row.bytes
                        )
                    else:
                        got = bytearray(row.bytes)
                        program.connection(row.peer, "receive").receive_elements(got)
                        require(got == bytes([row.peer]) * row.bytes, f"from {row.peer}")
                program.phase_end()
        if comm.rank == 0:
            (
                folder
                / f"rows-{Path(str(what)).suffix if isinstance(what, str | Path) else 'noun'}"
            ).write_text(repr(rows))


def twice(comm: MPI.Intracomm) -> None:
    """Two connections to each next rank, used in turns: first by the later id at one end."""
    rank, ahead = comm.rank, (comm.rank + 1) % RANKS
    source = np.repeat(np.arange(RANKS), 2)
    pattern = conset.Pattern.from_messages(
        source, (source + 1) % RANKS, [80, 160] * RANKS, RANKS, ids=20 + np.arange(2 * RANKS)
    )
    message = np.arange(2 * RANKS, dtype=np.int32)
    phases = np.array([0, 2 * RANKS])
    schedule = conset.Schedule(pattern, MACHINE, "naive", Limits(), phases, message)
    with conset.program_open(schedule, comm, timeout_s=20) as program:
        program.instantiate(0, 0)
        rows = program.connections(0, 0)
        require(len(rows) == 4, str(rows))
        refused(UsageError, lambda: program.connection(ahead, "send"), "connections", "by its id")
        refused(UsageError, lambda: program.connection(id=99), "no connection 99 at rank")
        refused(UsageError, lambda: program.connection(ahead, "send", id=0), "beside a peer")
        ends = {row.id: program.connection(id=row.id) for row in rows}
        sends = [row.id for row in rows if row.direction == "send"]
        receives = [row.id for row in rows if row.direction == "receive"]
        require(sends == [20 + 2 * rank, 21 + 2 * rank], str(sends))
        for k in range(600):  # more than the credits of either hold
            for id in sends:
                ends[id].send_elements(np.array([1000.0 * id + k]))
            for id in reversed(receives):
                element = np.empty(1)
                ends[id].receive_elements(element)
                require(element[0] == 1000.0 * id + k, f"connection {id}: {element[0]}")
        program.phase_end()


CHECKS = {
    check.__name__: check
    for check in (
        interleaved,
        buffers,
        modes,
        errors,
        contexts,
        deadline,
        interrupted,
        threads,
        files,
        twice,
    )
}


def main() -> None:
    comm = MPI.COMM_WORLD
    CHECKS[sys.argv[2]](comm)
    (Path(sys.argv[1]) / f"rank-{comm.rank}").write_text("right")


if __name__ == "__main__":
    main()
