"""Is it right? Judges schedules and schedule files by rules, independently of whoever made them."""

from conset.verification.program import PROGRAM_RULES, verify
from conset.verification.verification import RULES, Verification, Violation

__all__ = ["PROGRAM_RULES", "RULES", "Verification", "Violation", "verify"]
