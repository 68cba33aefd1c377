"""Files that the examples of the command line read, where no earlier example wrote them."""

from __future__ import annotations

from pathlib import Path

INPUTS = {
    "messages.csv": "source,target,bytes\n0,1,4096\n1,2,65536\n2,3,512\n3,0,4096\n0,2,1024\n",
    "trace.csv": "id,time,src,dst,bytes,deps\n0,0,0,5,4096,\n1,1000,5,10,4096,0\n2,0,3,12,65536,\n",
    "program.toml": (
        '[[block]]\npattern = "shift:by=1"\nrepeat = 10\n\n[[block]]\npattern = "shift:by=4"\n'
    ),
    "transpose.py": (
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrow = bytearray(4096 * comm.size)\n"
        "for step in range(10):\n    comm.Alltoall(row, bytearray(len(row)))\n"
        "print(comm.rank, 'is done')\n"
    ),
    "campaign.toml": (
        'mode = "simulated"\nsizes = ["1KiB"]\n\n[[machines]]\nspec = "mesh:2x2"\n\n[[patterns]]\n'
        'spec = "alltoall"\n'
    ),
}


def write_inputs(folder: Path) -> None:
    """Writes them all."""
    for name, text in INPUTS.items():
        (folder / name).write_text(text)
