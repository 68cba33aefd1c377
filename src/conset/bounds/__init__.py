"""What no schedule can beat: `bound(pattern, machine, limits)`, and `bound_schedule(schedule)` in its own class."""

from conset.bounds.bounds import Bounds, Candidate
from conset.bounds.combine import bound, bound_for_model, bound_schedule

__all__ = ["Bounds", "Candidate", "bound", "bound_for_model", "bound_schedule"]
