"""How long a program takes, by formula.

    T = Σ over blocks of repeat · (work of the phases under barriers) + (switches + 1) · set-up +
    switches · S

where S is a synchronization of all ranks: a switch swaps what is open everywhere at once (Principle
2.3 of the ConSet text). Entering the first context is charged a set-up, and S where the machine
charges the first barrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conset.machine.machine import Machine
from conset.machine.times import synchronization_s
from conset.models.formula.evaluate import predict
from conset.schedule.program import Program, chained


@dataclass(frozen=True)
class ProgramPrediction:
    """What the formula says.

    Attributes:
        time_s: the sum of the terms [s].
        terms: `synchronization`, `setup` and `transfer` [s].
        block_s: what the phases of each block take, switches apart [s]; of a stage that forwards,
            what it takes alone.
        switches: communication context switches.
        machine: the machine predicted for.
        sync: the policy.
    """

    time_s: float
    terms: dict[str, float]
    block_s: tuple[float, ...]
    switches: int
    machine: str
    sync: str = "barrier"

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it."""
        return {
            "time_s": self.time_s,
            "sync": self.sync,
            "terms": dict(self.terms),
            "block_s": list(self.block_s),
            "switches": self.switches,
            "machine": self.machine,
        }


def predict_program(program: Program, *, machine: Machine | None = None) -> ProgramPrediction:
    """The time of a program; of one that forwards, of its stages chained under its own policy.

    Raises:
        InputError: a rank lives on a node that another `machine` does not have.
    """
    if program.paths is not None:
        whole = predict(chained(program), sync=program.sync, machine=machine)
        alone = [
            predict(program.schedules[s.schedule], sync=program.sync, machine=machine)
            for s in program.stages
        ]
        return ProgramPrediction(
            whole.time_s,
            dict(whole.terms),
            tuple(each.time_s for each in alone),
            program.switches,
            whole.machine,
            program.sync,
        )
    once = [
        predict(schedule, sync="barrier", machine=machine).terms["transfer"]
        if schedule.phases
        else 0.0
        for schedule in program.schedules
    ]
    block_s = tuple(block.repeat * once[block.schedule] for block in program.stages)
    target, switches = machine or program.machine, program.switches
    costs = target.costs_for(program.schedules[0].method)
    entered = 1 if program.phases else 0
    terms = {
        "synchronization": (switches + entered * costs.first_barrier)
        * synchronization_s(target, costs),
        "setup": (switches + entered) * costs.setup_s,
        "transfer": sum(block_s),
    }
    return ProgramPrediction(sum(terms.values()), terms, block_s, switches, target.name)
