"""Exchanges that are scheduled at run time: every rank gives its row, all agree on a schedule.

Problem: an application knows its pattern only while it runs, and each rank only its own row.

Idea: the rows, compressed to their messages, are put together in one collective; every rank
computes the same schedule from the same seed, or rank 0 computes it for all
(`cpp/include/conset/runtime/exchange.hpp`). What is wrong on one rank is found before anything is
sent, and is an error on every rank.

Reference: Wang and Ranka, Scheduling of unstructured communication on the Intel iPSC/860, sections
2.1 and 4.2.

Sides: what a rank sends, or receives, as an application gives it: array, counts, displacements.

A receive buffer may be given, or made, when its sizes are known (`Receiver`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from conset import _core
from conset.base import (
    ExecutionError,
    InputError,
    Ints,
    Ints32,
    UsageError,
    frozen_ints,
    python_interface,
    unknown_name,
)
from conset.execution.agreement import Attempt
from conset.execution.buffers import (
    Buffer,
    NativeExecutor,
    by_handle,
    find_buffer,
    library,
    require_apart,
)
from conset.execution.exchange import Exchange
from conset.execution.plan import PLAN, write_plan_file
from conset.execution.planner import make_plan
from conset.machine import FAMILIES, SUFFIX, Machine, parse_machine, write_machine
from conset.schedule import Compiled, read_compiled

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Elements:
    """What counts and displacements of a side are in.

    Attributes:
        datatype: of MPI.
        each: so many of it are one element: 1, or the bytes of an element that MPI does not name.
        name: `float64`; empty where the caller gave the datatype.
        dtype: of an array that holds them.
    """

    datatype: MPI.Datatype
    each: int
    name: str
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Side:
    """One side of an exchange.

    Attributes:
        buffer: where its elements are; None: not there yet.
        elements: what they are.
        blocks: in the order of the peers, counted in numbers of `elements.datatype`; None: not
            known yet.
        owner: the array as it was given.
    """

    buffer: Buffer | None
    elements: Elements
    blocks: _core.Blocks | None
    owner: Any


def no_sides() -> tuple[Side, Side]:
    """Of a rank whose arguments are wrong, which the core hears of all the same."""
    from mpi4py import MPI

    nothing = Side(None, Elements(MPI.BYTE, 1, "", np.dtype(np.uint8)), None, None)
    return nothing, nothing


@dataclass(frozen=True)
class Arguments:
    """Buffers, counts and displacements of a rank as it gave them; see `conset.alltoallv_init`."""

    sendbuf: Any
    sendcounts: ArrayLike
    sdispls: ArrayLike | None
    recvbuf: Any
    recvcounts: ArrayLike | None
    rdispls: ArrayLike | None

    def sides(self, targets: Ints32, sources: Ints32) -> tuple[Side, Side]:
        """What is sent and what is received, checked as far as one rank can.

        Args:
            targets: shape=(blocks to send).
            sources: shape=(blocks to receive); not looked at where `recvcounts` is None.

        Raises:
            InputError: buffers, counts and displacements do not fit each other. UsageError: an
                argument is missing.
        """
        send = _side(self.sendbuf, "send", targets, self.sendcounts, self.sdispls)
        if self.recvcounts is None and self.rdispls is not None:
            raise UsageError("rdispls: not without recvcounts, blocks then lie one after the other")
        if self.recvcounts is None and self.recvbuf is None:
            if not send.elements.name:
                raise UsageError("recvbuf: required where sendbuf comes with a datatype")
            return send, Side(None, send.elements, None, None)
        receive = _side(self.recvbuf, "recv", sources, self.recvcounts, self.rdispls)
        assert send.buffer is not None
        assert receive.buffer is not None
        require_apart(send.buffer, receive.buffer)
        names = (send.elements.name, receive.elements.name)
        if all(names) and names[0] != names[1]:
            raise InputError(
                f"recvbuf: elements are {names[1]}, those of sendbuf {names[0]}: must be the same"
            )
        return send, receive


def _side(
    given: Any,
    end: str,
    peers: Ints32,
    counts: ArrayLike | None,
    displs: ArrayLike | None,
) -> Side:
    """The `send` or `recv` side of what was given; without counts its blocks are not known."""
    buffer, elements = _find(given, f"{end}buf")
    blocks = None if counts is None else _blocks(end, buffer, elements, peers, counts, displs)
    return Side(buffer, elements, blocks, given[0] if isinstance(given, list | tuple) else given)


def _find(given: Any, name: str) -> tuple[Buffer, Elements]:
    """Buffer and elements of an array, or of `[array, datatype]` as mpi4py has it."""
    from mpi4py import MPI

    if isinstance(given, list | tuple):
        if len(given) != 2 or not isinstance(given[1], MPI.Datatype):
            raise UsageError(
                f"{name}: expected an array or [array, datatype], given {len(given)} entries"
            )
        buffer = find_buffer(given[0], name)
        return buffer, Elements(given[1], 1, "", buffer.dtype)
    buffer = find_buffer(given, name)
    datatype = _named_datatype(buffer.dtype)
    each = 1 if datatype is not None else buffer.dtype.itemsize
    name = str(buffer.dtype)
    return buffer, Elements(datatype or MPI.BYTE, each, name, buffer.dtype)


def _named_datatype(dtype: np.dtype[Any]) -> MPI.Datatype | None:
    from mpi4py import MPI

    if dtype.kind not in "biufc" or not dtype.isnative:
        return None
    try:
        datatype = MPI.Datatype.fromcode(dtype.char)
    except ValueError:
        return None
    return datatype if datatype.Get_size() == dtype.itemsize else None


def _blocks(
    end: str,
    buffer: Buffer,
    elements: Elements,
    peers: Ints32,
    counts: ArrayLike,
    displs: ArrayLike | None,
) -> _core.Blocks:
    count = _of_peers(counts, f"{end}counts", peers.size)
    if (negative := np.flatnonzero(count < 0)).size:
        raise InputError(f"{end}counts[{negative[0]}] = {count[negative[0]]}: must be at least 0")
    start = (
        np.cumsum(count) - count
        if displs is None
        else _of_peers(displs, f"{end[0]}displs", peers.size)
    )
    # a datatype may reach beyond its extent, and before its start
    _, extent = elements.datatype.Get_extent()
    lower, size = elements.datatype.Get_true_extent()
    step = extent * elements.each
    for k in np.flatnonzero(count > 0).tolist():
        first = int(start[k]) * step + lower
        last = (int(start[k]) + int(count[k])) * step - extent + lower + size
        if step and (first < 0 or last > buffer.bytes):
            raise InputError(
                f"{buffer.name} has {buffer.bytes} bytes: its block {k}, {count[k]} elements from "
                f"{start[k]} on, "
                f"takes bytes {first} to {last}"
            )
    return _core.Blocks(peer=peers, count=count * elements.each, displacement=start * elements.each)


def _of_peers(values: ArrayLike, name: str, peers: int) -> Ints:
    array: Ints = np.ascontiguousarray(frozen_ints(values, np.int64, name))
    if array.shape != (peers,):
        raise InputError(
            f"{name} has shape {array.shape}: one entry for each of {peers} peers required"
        )
    return array


class Receiver:
    """Gives the core a buffer as soon as it knows what comes.

    The caller's if it holds all, or a new array.

    Attributes:
        array: what it gave last.
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.side: Side | None = None
        self.array: Any = None

    def __call__(self, counts: Ints) -> tuple[int, str]:
        """The address of a buffer for blocks one after the other, or what is wrong.

        Args:
            counts: shape=(blocks), numbers of the side's datatype.
        """
        side = self.side
        assert side is not None
        numbers = int(counts.sum())
        if side.buffer is None:
            elements = numbers // max(side.elements.each, 1)
            self.array = np.empty(elements, side.elements.dtype)
            return self.array.ctypes.data, ""
        _, extent = side.elements.datatype.Get_extent()
        if numbers * extent > side.buffer.bytes:
            return (
                0,
                f"rank {self._rank}: recvbuf has {side.buffer.bytes} bytes: "
                f"{numbers * extent} arrive",
            )
        self.array = side.owner
        return side.buffer.address, ""


METHODS = _core.method_names()
"""That the core can schedule by without Python."""
_REGULAR = "|".join(name for name, family in FAMILIES.items() if family.is_regular)
_BARE_NETWORK = re.compile(f"({_REGULAR}):[0-9x]+")
"""That the core reads as it is written."""


def check_methods(names: Iterable[str]) -> None:
    """Raises UsageError for a method that the core does not have; names the nearest."""
    for name in names:
        if name not in METHODS:
            raise unknown_name("method at run time", name, METHODS, options=["methods"])


@contextmanager
def temporary_folders() -> Iterator[Callable[[], Path]]:
    """A function that makes a folder each time it is called; all are removed at the end."""
    with ExitStack() as folders:
        yield lambda: Path(folders.enter_context(TemporaryDirectory(prefix="conset-machine-")))


def machine_word(machine: Machine | str | Path | None, folder: Callable[[], Path]) -> str:
    """What `machine=` of an exchange says: a bare network's spec or a `.machine` file.

    Empty: a crossbar.

    Args:
        machine: as `alltoallv_init` takes it.
        folder: called where a file has to be written, for where.

    Raises:
        UsageError, InputError: no machine, or a file that cannot be written.
    """
    if machine is None:
        return ""
    if isinstance(machine, Machine):
        if _BARE_NETWORK.fullmatch(machine.name) and parse_machine(machine.name) == machine:
            return machine.name
    else:
        text = str(machine)
        if _BARE_NETWORK.fullmatch(text) or text.endswith(SUFFIX):
            return text
        machine = parse_machine(text)
    path = folder() / f"machine{SUFFIX}"
    write_machine(path, machine)
    return str(path)


def plan_word(schedule: Compiled | str | Path | None, folder: Callable[[], Path]) -> str:
    """What `schedule=` of an exchange says: a plan file; empty: none.

    Args:
        schedule: compiled, or a file of it or of its plan.
        folder: called where a file has to be written, for where.

    Raises:
        UsageError, InputError: no schedule, or a file that cannot be written.
    """
    if schedule is None:
        return ""
    if isinstance(schedule, str | Path):
        if str(schedule).endswith(PLAN[1]):
            return str(schedule)
        schedule = read_compiled(schedule)
    path = folder() / f"schedule{PLAN[1]}"
    write_plan_file(make_plan(schedule), path)
    return str(path)


@dataclass(frozen=True)
class SetupTimes:
    """What making, or updating, an exchange took on this rank [s].

    Attributes:
        rows_s: telling others what this rank sends.
        schedule_s: computing the schedule.
        plan_s: this rank's part of it, and its requests.
        schedule_run_s: what the schedule takes, by `measure`; 0: not measured.
        mpi_run_s: what `MPI_Ialltoallv` takes, likewise.
    """

    rows_s: float
    schedule_s: float
    plan_s: float
    schedule_run_s: float = 0.0
    mpi_run_s: float = 0.0


MEMORY = 2**26
"""Temporary memory that stages may take of a rank [B]."""


@dataclass(frozen=True)
class ScheduleOptions:
    """How an exchange is scheduled; see `conset.alltoallv_init`."""

    machine: Machine | str | Path | None = None
    method: str = "auto"
    sync: str = "auto"
    timeout_s: float | None = None
    seed: int = 0
    compute: str = "auto"
    schedule: Compiled | str | Path | None = None
    effort: int = 1
    combine: str = "auto"
    memory: int = MEMORY
    measure: int = 0
    ranks_per_node: int = 1

    def to_core(self, folder: Callable[[], Path]) -> _core.ExchangeOptions:
        """For the core; any other than a bare network goes through a file.

        The file is in the folder that `folder` makes.

        Raises:
            UsageError, InputError: an option, or the machine.
        """
        if self.timeout_s is not None and not (isfinite(self.timeout_s) and self.timeout_s > 0):
            raise UsageError(
                f"timeout_s {self.timeout_s}: must be above 0, and finite", options=["timeout_s"]
            )
        bits_of = {"seed": 64, "effort": 31, "memory": 63, "measure": 31, "ranks_per_node": 31}
        for word, bits in bits_of.items():
            if not 0 <= (value := getattr(self, word)) < 2**bits:
                raise UsageError(f"{word} {value}: must be from 0 to 2^{bits} - 1", options=[word])
        return _core.ExchangeOptions(
            machine=machine_word(self.machine, folder),
            method=self.method,
            sync=self.sync,
            compute=self.compute,
            timeout_s=self.timeout_s or 0.0,
            seed=self.seed,
            effort=self.effort,
            schedule=plan_word(self.schedule, folder),
            combine=self.combine,
            memory=self.memory,
            measure=self.measure,
            ranks_per_node=self.ranks_per_node,
        )


class RowExchange(Exchange):
    """An exchange that was scheduled at run time.

    Of `alltoallv_init` and `neighbor_alltoallv_init`.

    Attributes:
        recvbuf: the array where blocks arrive: the one that was given, or made where sources were
            not known.
        sources: shape=(blocks), int32: where blocks come from, in the order of the receive buffer's
            counts.
        recvcounts: shape=(blocks), int64: their elements.
        method: what made the schedule, or `MPI_Ialltoallv`.
        sync: how phases are kept apart.
        phases: of the schedule.
        combine: how messages are combined in stages, as `conset compile --combine` takes it, or
            `none`.
        memory: temporary memory of that, of the rank that needs most [B].
        left_out: least memory of a way that was left out for it [B]; 0: none was.
        times: what making it, or its last update, took here.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        targets: Ints32,
        sources: Ints32,
        arguments: Arguments,
        options: ScheduleOptions,
    ) -> None:
        """Schedules and makes the requests; collective.

        Args:
            comm: duplicated.
            targets: shape=(blocks to send), ranks.
            sources: shape=(blocks to receive), ranks.
            arguments: this rank's buffers, counts and displacements.
            options: the same on all ranks.
        """
        from mpi4py import MPI

        self.comm = comm
        self.timeout_s = options.timeout_s
        self._started_s: float | None = None
        self._targets, self._sources = targets, sources
        self._known = arguments.recvcounts is not None
        self._receiver = Receiver(comm.rank)
        attempt = Attempt(comm.rank)
        with temporary_folders() as folder:
            core_options = attempt.result(lambda: options.to_core(folder))
            sides = attempt.result(lambda: arguments.sides(targets, sources)) or no_sides()
            self._receiver.side = sides[1]
            native, outcome = by_handle(_core.ExchangeOfInts, _core.ExchangeOfPointers).of_rows(
                mpi=library(),
                comm=MPI._handleof(comm),
                options=core_options or ScheduleOptions().to_core(folder),
                give_buffer=None if self._known else self._receiver,
                own_by_message=any(each.buffer and each.buffer.device for each in sides),
                before=attempt.outcome,
                owner=(sides, self._receiver),
                **(_for_core(sides) | ({} if self._known else {"receives": None})),
            )
        attempt.require(outcome)
        assert native is not None
        self._rows = native
        self._native = cast(NativeExecutor, native)  # the same calls
        self.poll_interval_s = native.nap_s
        self._describe(sides)

    def update(
        self,
        sendbuf: Any,
        sendcounts: ArrayLike,
        sdispls: ArrayLike | None = None,
        recvbuf: Any = None,
        recvcounts: ArrayLike | None = None,
        rdispls: ArrayLike | None = None,
    ) -> None:
        """Other counts, displacements or buffers; collective.

        Messages that stay keep their phases where they can.

        Arguments are those of the function that made the exchange, with recvcounts if it had them.
        What is wrong on one rank is an error on every rank, and the exchange is as it was.

        Raises:
            UsageError, InputError, NoScheduleError: as making one.
            ExecutionError: the exchange is running, on this rank or another, or closed.
        """
        self._open("update")
        attempt = Attempt(self.comm.rank)
        arguments = Arguments(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls)
        sides = attempt.result(lambda: self._new_sides(arguments)) or no_sides()
        self._receiver.side = sides[1]
        outcome = self._rows.update(
            before=attempt.outcome,
            owner=(sides, self._receiver, self._receiver.array),
            **_for_core(sides),
        )
        attempt.require(outcome)
        self._describe(sides)

    def _new_sides(self, arguments: Arguments) -> tuple[Side, Side]:
        if self._started_s is not None:
            raise ExecutionError("update: an exchange is running, call wait first")
        if self._known != (arguments.recvcounts is not None):
            rule = (
                "required, they were given before"
                if self._known
                else "must be None, as they were before"
            )
            raise UsageError(f"recvcounts: {rule}")
        return arguments.sides(self._targets, self._sources)

    def _release(self, native: NativeExecutor) -> None:
        # requests and the communicators that only the core knows
        Attempt(self.comm.rank).require(self._rows.release())

    def _describe(self, sides: tuple[Side, Side]) -> None:
        """Attributes, of what was made."""
        native, elements = self._rows, sides[1].elements
        self.recvbuf = sides[1].owner if self._known else self._receiver.array
        self._sides = sides
        blocks = native.receives
        self.sources, self.recvcounts = blocks.peer.copy(), blocks.count // max(elements.each, 1)
        self.method, self.sync, self.phases = native.method, native.sync, native.phases
        stages, times = native.stages, native.times
        self.combine, self.memory, self.left_out = stages.combine, stages.memory, stages.left_out
        self.times = SetupTimes(
            times.rows, times.schedule, times.plan, times.schedule_run, times.mpi_run
        )


def _for_core(sides: tuple[Side, Side]) -> dict[str, Any]:
    """Where buffers are, blocks, and what elements are, of a rank that has any."""
    from mpi4py import MPI

    send, receive = sides
    none = np.zeros(0, np.int64)
    no_blocks = _core.Blocks(peer=np.zeros(0, np.int32), count=none, displacement=none)
    blocks = [each.blocks or no_blocks for each in sides]
    has_any = any(each.count.any() for each in blocks)
    return {
        "sides": _core.Sides(
            send=0 if send.buffer is None else send.buffer.address,
            # a receive buffer that is to be given later is nowhere
            receive=0
            if receive.buffer is None or receive.blocks is None
            else receive.buffer.address,
            send_type=MPI._handleof(send.elements.datatype),
            receive_type=MPI._handleof(receive.elements.datatype),
        ),
        "sends": blocks[0],
        "receives": blocks[1],
        "elements": (send.elements.name or receive.elements.name) if has_any else "",
    }


BufferLike = Any
"""A contiguous array, a buffer, an array of a device, or `[array, datatype]`.

A buffer is anything with the buffer protocol.
"""


@python_interface
def alltoallv_init(
    comm: MPI.Intracomm,
    sendbuf: BufferLike,
    sendcounts: ArrayLike,
    sdispls: ArrayLike | None = None,
    recvbuf: BufferLike | None = None,
    recvcounts: ArrayLike | None = None,
    rdispls: ArrayLike | None = None,
    *,
    machine: Machine | str | Path | None = None,
    method: str = "auto",
    sync: str = "auto",
    timeout_s: float | None = None,
    seed: int = 0,
    compute: str = "auto",
    schedule: Compiled | str | Path | None = None,
    effort: int = 1,
    combine: str = "auto",
    memory: int = MEMORY,
    measure: int = 0,
    ranks_per_node: int = 1,
) -> RowExchange:
    """A persistent `Alltoallv` in the phases of a schedule: a given one, or made by the ranks now.

    Collective.

        with conset.alltoallv_init(comm, send, counts, None, receive, recvcounts) as exchange:
            exchange.start()
            exchange.wait()

    Buffers are contiguous arrays (NumPy, anything with the buffer protocol, or
    `__cuda_array_interface__` where the MPI library can reach it), or `[array, datatype]` as mpi4py
    has it, and stay where they are until the exchange is closed. Nothing is sent where something is
    wrong on some rank: every rank then has the same error.

    Args:
        comm: duplicated; the application's own messages do not meet the exchange's.
        sendbuf: what is sent.
        sendcounts: shape=(ranks): elements for each rank: items of the array, whatever its
            dimensions, or of the datatype. A block of none is no message; what a rank has for
            itself is copied.
        sdispls: shape=(ranks): elements before each block; None: one block after the other.
        recvbuf: where blocks arrive, elements like those of sendbuf; shares no byte with it. None,
            where recvcounts is None: an array is made, `exchange.recvbuf`.
        recvcounts: shape=(ranks): elements from each rank; what they send, byte for byte. None on
            all ranks: not known; blocks then lie in recvbuf by source, one after the other, see
            `exchange.sources` and `exchange.recvcounts`.
        rdispls: shape=(ranks): elements before each block; None: one block after the other.
        machine: what the schedule is for; None: a crossbar.
        method: naive, lp, gen, pex-gen-shift, rs-n, rs-nl, coloring, first-fit, decreasing,
            negotiated, half-duplex, event-list, bounded, or auto: the choice of `conset.compile`.
        sync: none, local, ready, detect, barrier, barrier:k, or auto.
        timeout_s: longest time of an exchange, and of each collective of this call [s]; or None.
        seed: of every random choice.
        compute: all ranks compute the schedule; one: rank 0 does, and gives each its part; auto:
            one where ranks exceed cores and messages × ranks are at least 2^18.
        schedule: compiled before, or its file (`.json`, `.plan`): its phases and policy are used.
            Counts must be its bytes, pair by pair; beside it only `timeout_s` may be given.
        effort: how long to search, as of `conset.compile`, counted; 0: by formula.
        combine: auto: bundles of messages are passed on in stages where the machine's model says
            that this takes 5 % less (method auto, plain elements, not by formula); none.
        memory: temporary memory of that on a rank [B]; ways that need more are left out.
        measure: rounds in which the schedule and `MPI_Ialltoallv` take turns on buffers of their
            own when the exchange is made or updated; the faster is used. 0: none. Of plain
            elements whose sources are known, a pair's messages in one block.
        ranks_per_node: rank r is on node r // ranks_per_node, unless the machine has a job.

    Raises:
        UsageError: an option. InputError: counts, displacements, buffers or the machine; what one
            rank sends is not what another expects. NoScheduleError: no schedule within the limits,
            or a method that does not apply.
        ExecutionError: MPI failed, or the deadline has passed.
    """
    peers = np.arange(comm.size, dtype=np.int32)
    options = ScheduleOptions(
        machine, method, sync, timeout_s, seed, compute, schedule, effort, combine, memory, measure
    )
    arguments = Arguments(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls)
    options = replace(options, ranks_per_node=ranks_per_node)
    return RowExchange(comm, peers, peers, arguments, options)


@python_interface
def neighbor_alltoallv_init(
    comm: MPI.Distgraphcomm,
    sendbuf: BufferLike,
    sendcounts: ArrayLike,
    sdispls: ArrayLike | None = None,
    recvbuf: BufferLike | None = None,
    recvcounts: ArrayLike | None = None,
    rdispls: ArrayLike | None = None,
    *,
    machine: Machine | str | Path | None = None,
    method: str = "auto",
    sync: str = "auto",
    timeout_s: float | None = None,
    seed: int = 0,
    compute: str = "auto",
    schedule: Compiled | str | Path | None = None,
    effort: int = 1,
    combine: str = "auto",
    memory: int = MEMORY,
    measure: int = 0,
    ranks_per_node: int = 1,
) -> RowExchange:
    """`alltoallv_init` with the neighbours of a distributed graph only; collective.

    Counts and displacements are in the order of the graph's lists of this rank: shape=(targets) of
    what is sent, shape=(sources) of what is received. A neighbour may stand there several times,
    and be the rank itself: blocks of one pair are matched in their order. All else is as there.

    Args:
        comm: a distributed graph; duplicated.
        sendbuf: what is sent.
        sendcounts: shape=(targets): elements for each.
        sdispls: shape=(targets): elements before each block; None: one block after the other.
        recvbuf: where blocks arrive; None where recvcounts is None: an array is made.
        recvcounts: shape=(sources): elements from each; None on all ranks: not known.
        rdispls: shape=(sources): elements before each block; None: one block after the other.
        machine: what the schedule is for; None: a crossbar.
        method: of the schedule.
        sync: how phases are kept apart.
        timeout_s: longest time of an exchange, and of each collective of this call [s]; or None.
        seed: of every random choice.
        compute: all, one or auto.
        schedule: compiled before, or its file.
        effort: how long to search.
        combine: auto or none.
        memory: temporary memory that stages may take of a rank [B].
        measure: rounds in which the schedule and `MPI_Ialltoallv` take turns, to choose.
        ranks_per_node: ranks on each node of the machine.

    Raises:
        UsageError, InputError, NoScheduleError, ExecutionError: as `alltoallv_init`; a UsageError
            where `comm` is no distributed graph.
    """
    if not hasattr(comm, "Get_dist_neighbors"):
        raise UsageError(
            f"comm: must be a distributed graph of mpi4py, is {type(comm).__name__}",
            options=["comm"],
        )
    sources, targets, _ = comm.Get_dist_neighbors()
    options = ScheduleOptions(
        machine, method, sync, timeout_s, seed, compute, schedule, effort, combine, memory, measure
    )
    return RowExchange(
        comm,
        np.array(targets, np.int32),
        np.array(sources, np.int32),
        Arguments(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls),
        replace(options, ranks_per_node=ranks_per_node),
    )
