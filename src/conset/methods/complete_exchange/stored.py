"""Stored schedules: two networks of 25 nodes whose fewest phases no construction and no search of ours finds.

`mesh_5x5.txt` (30 phases, the bisection bound) and `torus_5x5.txt` (24 phases, the port bound) hold the phase of the
message from node s to node t in line s, column t; "-" is no message. They were found by the SAT solver CaDiCaL 1.5.3
(python-sat) in less than a second, from variables "message m is in phase p": each message in exactly one phase, at
most one message for each sender, receiver and link in a phase, and at least one for those that are needed in every
phase; the half turn of the network takes phase p to phase p + K/2 modulo K. Without "at least one" it did not end in
four minutes.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from conset import _core
from conset.methods.complete_exchange.box import Box
from conset.methods.problem import Phases

FILES = {True: "mesh_5x5.txt", False: "torus_5x5.txt"}
"""By whether the network is a mesh."""


def applies_stored(box: Box) -> bool:
    """5 × 5 meshes and tori at contention 1."""
    return box.sides == (5, 5) and (box.is_mesh or box.is_torus) and box.contention == 1


def schedule_stored(box: Box, seed: int) -> Phases:
    """The schedule read from the package."""
    text = resources.files(__package__).joinpath(FILES[box.is_mesh]).read_text(encoding="ascii")
    words = [word for line in text.splitlines() for word in line.split() if word != "-"]
    return Phases(*_core.group_phases(np.array(words, np.int32)))
