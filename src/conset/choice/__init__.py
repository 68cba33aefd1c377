"""Which method, at which contention, under which policy: `choose_schedule`, and `best_policy` of a schedule.

Ranked by formula or by simulation: `best_trial`. Which placement: `choose_placed`.
"""

from conset.choice.chooser import choose_schedule
from conset.choice.placed import choose_placed
from conset.choice.simulated import best_trial
from conset.choice.trial import best_policy

__all__ = ["best_policy", "best_trial", "choose_placed", "choose_schedule"]
