"""Which method, contention, policy, sends in flight and posting order: `choose_schedule`.

The policy alone, of a schedule that is made: `choose_policy`. Which placement: `choose_placed`.
"""

from conset.choice.chooser import choose_schedule
from conset.choice.placed import choose_placed
from conset.choice.policy import best_trial, choose_policy

__all__ = ["best_trial", "choose_placed", "choose_policy", "choose_schedule"]
