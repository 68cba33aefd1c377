"""Modes: named ways to move data between memory and network, each with set-up, rate and overlap of its own.

A machine file lists them as tables of the words for costs (`[modes.spooling]`) and names the one in use (`mode =
"streaming"`). How much of a computation a mode hides is one rule for formulas and simulations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from conset.errors import UsageError, unknown_name
from conset.machine.costs import Costs
from conset.machine.machine import Machine


def with_mode(machine: Machine, mode: str) -> Machine:
    """The same machine in another transfer mode; options of its spec and settings hold on top of the mode.

    Raises:
        UsageError: a mode it does not have.
    """
    require_mode(mode, tuple(machine.modes), machine.name)
    name = f"{machine.name},mode={mode}" if machine.origin == "name" else machine.name
    own = machine.modes[mode]
    return replace(machine, name=name, mode=mode, costs=own.costs, method_costs=own.method_costs)


def require_mode(mode: str, modes: tuple[str, ...], name: str) -> None:
    """Raises UsageError where a machine does not have a transfer mode."""
    if not modes:
        raise UsageError(f"mode={mode}: {name} has no transfer modes")
    if mode not in modes:
        raise unknown_name("mode", mode, modes)


def with_computation(
    costs: Costs, end_s: NDArray[np.float64] | float, flowing_s: NDArray[np.float64] | float
) -> dict[str, float]:
    """What a computation at every node adds to a schedule; nothing where the costs name none.

    A node that is done after `end_s` has had bytes flow for `flowing_s`; of that the share `overlap` went on beside
    its computation, the rest of which comes on top.

    Args:
        costs: whose `computation_s` and `overlap` hold.
        end_s: shape=(nodes), or of the busiest one: when it is done [s].
        flowing_s: the same shape: how long bytes flowed at its busier port [s].

    Returns:
        `computation_s`, `hidden_s` (how much of it costs nothing) and `with_computation_s` (when all nodes are done).
    """
    if not costs.computation_s:
        return {}
    end, flowing = np.atleast_1d(end_s), np.atleast_1d(flowing_s)
    both_s = float((end + np.maximum(0.0, costs.computation_s - costs.overlap * flowing)).max())
    alone_s = float(end.max()) + costs.computation_s
    return {"computation_s": costs.computation_s, "hidden_s": alone_s - both_s, "with_computation_s": both_s}
