"""The most receives and sends that any rank has open at once in one exchange of each plan."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from conset.execution.executor import Executor
from conset.execution.measure import fill_buffer
from conset.execution.plan import Plan


class Open:
    """Requests that were started and have not been seen to end."""

    def __init__(self) -> None:
        self.now: set[int] = set()
        self.most = 0


class Counted:
    """A request that says when it is started and ends."""

    def __init__(self, request: MPI.Prequest, among: Open) -> None:
        self.request, self.among = request, among

    def Start(self) -> None:
        self.among.now.add(id(self))
        self.among.most = max(self.among.most, len(self.among.now))
        self.request.Start()

    def Test(self) -> bool:
        ended: bool = self.request.Test()
        if ended:
            self.among.now.discard(id(self))
        return ended

    def Free(self) -> None:
        self.request.Free()


def count(comm: MPI.Intracomm, plan: Plan) -> dict[str, Any]:
    """What one rank had open, and whether it received what it should."""
    receives = plan.pair_ranges(comm.rank)[1]
    send = fill_buffer(plan.pair_ranges(comm.rank)[0], int(plan.send_bytes[comm.rank]), comm.rank, sending=True)
    expected = fill_buffer(receives, int(plan.receive_bytes[comm.rank]), comm.rank, sending=False)
    received = np.zeros_like(expected)
    with Executor(comm, plan, send, received, timeout_s=20) as executor:
        opened = {"receives": Open(), "sends": Open()}
        for step in executor._steps:
            for side, among in opened.items():
                counted: Any = [Counted(request, among) for request in getattr(step, side)]
                setattr(step, side, counted)
        executor.exchange()
        return {side: among.most for side, among in opened.items()} | {"right": bool((received == expected).all())}


if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    found = {file.stem: count(comm, Plan.load(file)) for file in sorted(folder.glob("*.npz"))}
    everybody = comm.gather(found)
    if everybody is not None:
        most = {
            sync: {
                "receives": max(rank[sync]["receives"] for rank in everybody),
                "sends": max(rank[sync]["sends"] for rank in everybody),
                "right": all(rank[sync]["right"] for rank in everybody),
            }
            for sync in found
        }
        (folder / "posted.json").write_text(json.dumps(most))
