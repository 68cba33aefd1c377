"""Which method, at which contention, under which policy: `choose_schedule`, and `best_policy` of a schedule."""

from conset.choice.chooser import choose_schedule
from conset.choice.trial import best_policy

__all__ = ["best_policy", "choose_schedule"]
