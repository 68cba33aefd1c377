"""Workloads written by hand, for tests of simulators."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models import Workload

Triple = tuple[int, int, int]
"""(source, target, bytes)."""


def phased(phases: list[list[Triple]], nodes: int, **fields: object) -> Workload:
    """A workload of phases, messages in the order given."""
    flat = [message for phase in phases for message in phase]
    columns = np.array(flat, np.int64).reshape(-1, 3).T
    offsets = [0, *accumulate(len(phase) for phase in phases)]
    return Workload(
        columns[0].astype(np.int32),
        columns[1].astype(np.int32),
        columns[2].copy(),
        nodes,
        phase_offsets=np.array(offsets, np.int64),
        **fields,
    )


def trace(messages: list[Triple], nodes: int, **fields: object) -> Workload:
    """A workload without phases."""
    columns = np.array(messages, np.int64).reshape(-1, 3).T
    return Workload(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2].copy(), nodes, **fields
    )


def row_of_nodes(nodes: int, words: str = "") -> Machine:
    """A row of nodes in the units of the execution examples.

    1 us is a clock, a byte is a word, 2 clocks a word.
    """
    free = "inject=0,eject=0,hop=0,synchronization=50us,signal=20us,first_barrier=true"
    return parse_machine(
        f"mesh:{nodes},link=0.5MB/s,port=0.5MB/s,{free}" + (f",{words}" if words else "")
    )


def cycles_machine(network: str, nic: int = 1) -> Machine:
    """A network in the units of the oracles: 1 ns is a cycle, 16 B a cycle, 4 cycles a hop.

    Ports of 3 and 2 cycles.
    """
    ports = "port=16GB/s,inject=3ns,eject=2ns" if nic else "port=none"
    tie = "" if network.startswith("mesh") else ",tie=plus"
    return parse_machine(f"{network}{tie},link=16GB/s,hop=4ns,{ports},flit=16")
