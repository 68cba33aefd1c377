"""Which method, at which contention, under which policy: `choose_schedule`, and `best_policy` of a schedule.

Which placement: `choose_placed`.
"""

from conset.choice.chooser import choose_schedule
from conset.choice.placed import choose_placed
from conset.choice.trial import best_policy

__all__ = ["best_policy", "choose_placed", "choose_schedule"]
