"""Verification: independent checks of schedules, programs and timelines.

`schedule` checks schedules from their document alone, with routes expanded by code of its own;
`program` and `forwarding` check programs and every byte that their stages forward; `timeline`
checks simulated timelines. The checks of schedules and programs import neither the C++ core nor
a method, a bound, a model or a reader.
"""

from conset.verification.program import PROGRAM_RULES, verify
from conset.verification.verification import RULES, Verification, Violation

__all__ = ["PROGRAM_RULES", "RULES", "Verification", "Violation", "verify"]
