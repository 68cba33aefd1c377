"""Is it right? Judges schedules and schedule files by rules, independently of whoever made them."""

from conset.verification.check import verify_document, verify_schedule
from conset.verification.verification import RULES, Verification, Violation

__all__ = ["RULES", "Verification", "Violation", "verify_document", "verify_schedule"]
