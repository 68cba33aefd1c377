"""What recording costs a message: ping-pong of 8 bytes, beside the same without it in one job.

    PYTHONPATH=src python benchmarks/bench_record.py [ROUNDS]

One job of four ranks: two as they are, two under the library of `conset record`. The pairs play in
turn, `EACH` round trips a round, and sleep meanwhile; a round trip has two calls that send. The run
fails where the median of the rounds is more than 1 % and more than 100 ns a call above that of the
bare pair.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from conset.cli.config import find_c_library
from conset.execution import find_launcher

EACH = 20_000
MOST, MOST_S = 1.01, 100e-9
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** words) {
    char data[8] = {0};
    int rank, rounds, each;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rounds = atoi(words[1]);
    each = atoi(words[2]);
    for (int round = 0; round < 2 * rounds; ++round) {
        MPI_Request all;
        MPI_Ibarrier(MPI_COMM_WORLD, &all);
        for (int ended = 0; !ended; usleep(200)) MPI_Test(&all, &ended, MPI_STATUS_IGNORE);
        if (rank / 2 != round % 2) continue;
        const int other = rank ^ 1;
        const double began = MPI_Wtime();
        for (int k = 0; k < each; ++k) {
            if (rank % 2 == 0) MPI_Send(data, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(data, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank % 2 == 1) MPI_Send(data, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
        const double time = (MPI_Wtime() - began) / each;
        if (rank % 2 == 0) printf("%s %.9g\n", rank == 0 ? "bare" : "recorded", time);
    }
    MPI_Finalize();
    return 0;
}
"""


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    wheel = Path(find_launcher()[0]).parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "play.c").write_text(PROGRAM)
        play = str(folder / "play")
        subprocess.run([wheel / "mpicc", "-O2", f"{play}.c", "-o", play], check=True)
        words = [play, str(rounds), str(EACH)]
        variables = {
            "LD_PRELOAD": str(find_c_library().preloaded),
            "CONSET_RECORD": str(folder / "record"),
        }
        given = [word for pair in variables.items() for word in ("-env", *pair)]
        command = [*find_launcher(), "-n", "2", *words, ":", "-n", "2", *given, *words]
        said = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ
        )
    times = {
        who: statistics.median(map(float, re.findall(rf"{who} (\S+)", said.stdout)))
        for who in ("bare", "recorded")
    }
    more = times["recorded"] - times["bare"]
    ratio = times["recorded"] / times["bare"]
    print(f"MPICH {metadata.version('mpich')}, {rounds} rounds of {EACH} round trips of 8 bytes")
    print(f"bare      {times['bare'] * 1e9:9.1f} ns a round trip")
    print(f"recorded  {times['recorded'] * 1e9:9.1f} ns, ratio {ratio:.4f}")
    print(f"a call    {more / 2 * 1e9:9.1f} ns more")
    return int(ratio > MOST and more / 2 > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
