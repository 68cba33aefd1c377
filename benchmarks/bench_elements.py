"""Connections: time of an element and of a packet beside plain messages of the same bytes.

One job of two ranks.

PYTHONPATH=src python benchmarks/bench_elements.py

Rank 0 sends to rank 1 within a phase, rank 1 answers with one element at the end of each round, so
that a round ends when all has arrived; all of it is a C program over conset.h, compiled by the
library's own mpicc. The ways take turns, in another order every round. `elements`: doubles one by
one over a connection, packets of 4 KiB, 4 credits. `block`: the same in one call. `plain`: one
persistent message (MPI_Start, MPI_Wait) of all bytes. `messages`: persistent messages of a packet's
bytes each, one after the other. A ratio is the median over rounds of the times of two ways in the
same round, with its interval (95 %, bootstrap). Time of an element: of `elements` less that of
`block`, over the elements.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from conset.cli.config import find_c_library
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.execution.connection_entries import connection_entries
from conset.execution.job import find_launcher
from conset.execution.plan import write_plan_file
from conset.execution.planner import make_plan
from conset.machine.spec import parse_machine
from conset.pattern.spec import parse_pattern

ELEMENTS = (1, 8, 64, 512, 1024, 8192)
"""Of 8 bytes: to 64 KiB."""
PACKET_BYTES = 4096
ROUNDS = 400
WAYS = ("elements", "block", "plain", "messages")
GOAL_NS = 10.0
"""At most so long for an element that fits the packet in hand."""
PROGRAM = r"""
#include <mpi.h>
#include <conset.h>
#include <stdio.h>
#include <stdlib.h>
enum { MOST = 8192, WAYS = 4 };
static double data[MOST], here[MOST];
static struct conset_connection *to, *from;
static MPI_Request one, many[64], back;
static int count, each, rank;

static void answer(void) {
    MPI_Start(&back);
    MPI_Wait(&back, MPI_STATUS_IGNORE);
}
static void elements(void) {
    int k;
    if (rank == 0) for (k = 0; k < count; ++k) conset_send_elements(to, data + k, 1, MPI_DOUBLE);
    if (rank == 1) for (k = 0; k < count; ++k) conset_receive_elements(from, here + k, 1, MPI_DOUBLE);
}
static void block(void) {
    if (rank == 0) conset_send_elements(to, data, count, MPI_DOUBLE);
    if (rank == 1) conset_receive_elements(from, here, count, MPI_DOUBLE);
}
static void plain(void) {
    MPI_Start(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
}
static void messages(void) {
    int k;
    for (k = 0; k < each; ++k) { MPI_Start(many + k); MPI_Wait(many + k, MPI_STATUS_IGNORE); }
}
static void (*const ways[WAYS])(void) = {elements, block, plain, messages};

int main(int argc, char** argv) {
    conset_program* program;
    const int rounds = atoi(argv[2]), packet = atoi(argv[3]) / 8;
    double signal = 0;
    int k, way, round;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (conset_program_open(argv[1], MPI_COMM_WORLD, &program)) return fprintf(stderr, "%s\n", conset_error_detail());
    conset_program_packets(program, packet * 8, 4);
    if (rank == 0) MPI_Recv_init(&signal, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &back);
    else MPI_Send_init(&signal, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &back);
    for (k = 0; k < MOST; ++k) data[k] = k;
    for (k = 4; k < argc; ++k) {
        int p = 0;
        count = atoi(argv[k]);
        each = (count + packet - 1) / packet;
        if (rank == 0) MPI_Send_init(data, count, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &one);
        else MPI_Recv_init(here, count, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &one);
        for (p = 0; p < each; ++p) {
            const int size = count - p * packet < packet ? count - p * packet : packet;
            if (rank == 0) MPI_Send_init(data + p * packet, size, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, many + p);
            else MPI_Recv_init(here + p * packet, size, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, many + p);
        }
        if (conset_instantiate(program, 0, 0)) return fprintf(stderr, "%s\n", conset_error_detail());
        if (rank == 0) conset_connection(program, 1, CONSET_SEND, &to);
        else conset_connection(program, 0, CONSET_RECEIVE, &from);
        for (round = 0; round < rounds; ++round)
            for (way = 0; way < WAYS; ++way) {
                /* each way follows another one from round to round */
                const int now = (round / 2 + (round % 2 ? way : WAYS - way)) % WAYS;
                double began;
                here[count - 1] = -1;
                MPI_Barrier(MPI_COMM_WORLD);
                began = MPI_Wtime();
                ways[now]();
                if (rank == 0 && now < 2) conset_program_progress(program);
                answer();
                if (rank == 0) printf("%d %d %d %.9f\n", count, round, now, MPI_Wtime() - began);
                if (rank == 1 && here[count - 1] != count - 1) return fprintf(stderr, "wrong\n");
            }
        if (conset_phase_end(program)) return fprintf(stderr, "%s\n", conset_error_detail());
        MPI_Request_free(&one);
        for (p = 0; p < each; ++p) MPI_Request_free(many + p);
    }
    MPI_Request_free(&back);
    conset_program_close(&program);
    MPI_Finalize();
    return 0;
}
"""  # noqa: E501


def times(folder: Path) -> dict[int, np.ndarray]:
    """Seconds by number of elements: a row for each round, a column for each way."""
    library = find_c_library()
    compiler = Path(find_launcher()[0]).with_name("mpicc")
    source, program, plan = folder / "elements.c", folder / "elements", folder / "x.plan"
    source.write_text(PROGRAM)
    flags = shlex.split(f"{library.cflags} {library.libs}")
    subprocess.run([str(compiler), "-O2", str(source), *flags, "-o", str(program)], check=True)
    machine = parse_machine("crossbar:2")
    pattern = parse_pattern("alltoall:size=64KiB", topology=machine.topology)
    schedule = compile_pattern(pattern, machine, CompileOptions(method="lp"))
    write_plan_file(make_plan(schedule), plan, connections=connection_entries(schedule))
    arguments = [str(plan), str(ROUNDS), str(PACKET_BYTES), *map(str, ELEMENTS)]
    command = [*find_launcher(), "-n", "2", str(program), *arguments]
    printed = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=600
    ).stdout
    rows = np.array([line.split() for line in printed.splitlines()], float)
    found = {count: np.zeros((ROUNDS, len(WAYS))) for count in ELEMENTS}
    for count, turn, way, seconds in rows:
        found[int(count)][int(turn), int(way)] = seconds
    return found


def ratio(first: np.ndarray, second: np.ndarray) -> str:
    """Median of the ratios, and its interval."""
    ratios = first / second
    rng = np.random.default_rng(0)
    low, high = np.quantile(
        np.median(rng.choice(ratios, (1000, ratios.size)), axis=1), (0.025, 0.975)
    )
    return f"{np.median(ratios):.2f} ({low:.2f}-{high:.2f})"


def main() -> int:
    """One line for each number of elements; 1 where an element takes longer than the goal."""
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        found = times(Path(folder))
    for count, seconds in found.items():
        ways = dict(zip(WAYS, seconds[ROUNDS // 10 :].T, strict=True))
        medians = {name: float(np.median(column)) * 1e6 for name, column in ways.items()}
        packets = -(-8 * count // PACKET_BYTES)
        # what every way waits for besides is the same: the quickest of the rounds has the least of
        # other work in it
        element_ns = (
            (np.quantile(ways["elements"], 0.1) - np.quantile(ways["block"], 0.1)) * 1e9 / count
        )
        packet_us = (
            (np.quantile(ways["block"], 0.1) - np.quantile(ways["messages"], 0.1)) * 1e6 / packets
        )
        text = ", ".join(f"{name} {value:.2f}" for name, value in medians.items())
        text += f"; elements/plain {ratio(ways['elements'], ways['plain'])}"
        text += f"; block/plain {ratio(ways['block'], ways['plain'])}"
        text += f"; block/messages {ratio(ways['block'], ways['messages'])}"
        if count >= ELEMENTS[3]:
            text += (
                f"; an element {element_ns:.1f} ns, a packet {packet_us:+.2f} us more "
                "than a message"
            )
            if element_ns > GOAL_NS:
                missed = True
                text += f"  GOAL {GOAL_NS} ns MISSED"
        print(f"{count} elements of 8 B in {packets} packets: us: {text}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
