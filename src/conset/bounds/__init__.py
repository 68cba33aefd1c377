"""Lower bounds: values that no schedule of a class beats, each with its witness.

`bound` takes a pattern, a machine and limits; `bound_schedule` a schedule in its own class. One
file per kind: `ports` (ports, links, channels), `cuts`, `order`, `lp` (linear programs),
`time`; `stages` and `relays` hold for programs that forward, `programs` for programs of blocks.
`problem` is what all of them read, `combine` picks the largest. Nothing here imports a method.
"""

from conset.bounds.bounds import Bounds, Candidate, TimeOfClass
from conset.bounds.combine import bound, bound_any, bound_for_model, bound_schedule
from conset.bounds.stages import StageBounds, bound_stages, bound_volume

__all__ = [
    "Bounds",
    "Candidate",
    "StageBounds",
    "TimeOfClass",
    "bound",
    "bound_any",
    "bound_for_model",
    "bound_schedule",
    "bound_stages",
    "bound_volume",
]
