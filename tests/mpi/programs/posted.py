"""The most receives and sends that any rank has open at once in one exchange of each plan."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from conset import _core
from conset.execution import buffers
from conset.execution.buffers import entry_points
from conset.execution.exchange import Exchange
from conset.execution.measure import fill_buffer
from conset.execution.plan import Plan, read_plan_file

DATA = 1
HANDLE = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p
COUNT, HANDLES, FLAG = ctypes.c_int, ctypes.POINTER(HANDLE), ctypes.POINTER(ctypes.c_int)
CALLS = {
    "MPI_Send_init": (ctypes.c_void_p, COUNT, HANDLE, COUNT, COUNT, HANDLE, HANDLES),
    "MPI_Recv_init": (ctypes.c_void_p, COUNT, HANDLE, COUNT, COUNT, HANDLE, HANDLES),
    "MPI_Startall": (COUNT, HANDLES),
    "MPI_Test": (HANDLES, FLAG, ctypes.c_void_p),
}


class Watched:
    """MPI's calls, with what the executor has open.

    Requests that were started and have not been seen to end.
    """

    def __init__(self) -> None:
        self.side: dict[int, str] = {}
        self.open: dict[str, set[int]] = {"receives": set(), "sends": set()}
        self.most = {"receives": 0, "sends": 0}
        self.callbacks = [
            self.wrap(*pair) for pair in zip(_core.mpi_calls(), entry_points(), strict=True)
        ]

    def addresses(self) -> np.ndarray:
        return np.array(
            [ctypes.cast(call, ctypes.c_void_p).value for call in self.callbacks], np.uint64
        )

    def wrap(self, name: str, address: int) -> Any:
        if name not in CALLS:
            return ctypes.c_void_p(int(address))
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *CALLS[name])
        real, note = kind(int(address)), getattr(self, name)

        def call(*arguments: Any) -> int:
            if name == "MPI_Startall":
                note(*arguments)
                return int(real(*arguments))
            code = int(real(*arguments))
            note(*arguments)
            return code

        return kind(call)

    def MPI_Send_init(self, *arguments: Any) -> None:
        self.made("sends", *arguments)

    def MPI_Recv_init(self, *arguments: Any) -> None:
        self.made("receives", *arguments)

    def made(
        self,
        side: str,
        _buffer: int,
        _count: int,
        _type: int,
        _peer: int,
        tag: int,
        _comm: int,
        new: Any,
    ) -> None:
        if tag == DATA:
            self.side[new[0]] = side

    def MPI_Startall(self, count: int, requests: Any) -> None:
        for k in range(count):
            if requests[k] in self.side:
                side = self.side[requests[k]]
                self.open[side].add(requests[k])
                self.most[side] = max(self.most[side], len(self.open[side]))

    def MPI_Test(self, request: Any, flag: Any, _status: int) -> None:
        if flag[0] and request[0] in self.side:
            self.open[self.side[request[0]]].discard(request[0])


def count(comm: MPI.Intracomm, plan: Plan) -> dict[str, Any]:
    """What one rank had open, and whether it received what it should."""
    receives = plan.pair_ranges(comm.rank)[1]
    send = fill_buffer(
        plan.pair_ranges(comm.rank)[0], int(plan.send_bytes[comm.rank]), comm.rank, sending=True
    )
    expected = fill_buffer(receives, int(plan.receive_bytes[comm.rank]), comm.rank, sending=False)
    received = np.zeros_like(expected)
    watched = Watched()
    buffers.entry_points = watched.addresses
    with Exchange(comm, plan, send, received, timeout_s=20) as exchange:
        exchange.exchange()
    buffers.entry_points = entry_points
    return watched.most | {
        "right": bool((received == expected).all()),
        "left": sum(map(len, watched.open.values())),
    }


if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    found = {file.stem: count(comm, read_plan_file(file)) for file in sorted(folder.glob("*.plan"))}
    everybody = comm.gather(found)
    if everybody is not None:
        most = {
            sync: {
                "receives": max(rank[sync]["receives"] for rank in everybody),
                "sends": max(rank[sync]["sends"] for rank in everybody),
                "right": all(rank[sync]["right"] and not rank[sync]["left"] for rank in everybody),
            }
            for sync in found
        }
        (folder / "posted.json").write_text(json.dumps(most))
