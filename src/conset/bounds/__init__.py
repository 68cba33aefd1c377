"""What no schedule can beat.

`bound(pattern, machine, limits)`, and `bound_schedule(schedule)` in its own class.

Of programs that forward messages in stages: `bound_stages(pattern, machine)`.
"""

from conset.bounds.bounds import Bounds, Candidate
from conset.bounds.combine import bound, bound_for_model, bound_schedule
from conset.bounds.stages import StageBounds, bound_stages, bound_volume

__all__ = [
    "Bounds",
    "Candidate",
    "StageBounds",
    "bound",
    "bound_for_model",
    "bound_schedule",
    "bound_stages",
    "bound_volume",
]
