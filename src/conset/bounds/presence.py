"""Presence: where there is a message there is a phase.

Statement: a pattern of at least one message needs at least 1 phase. Proof: every message, also one inside a node,
stands in some phase. Class: any. Witness: the number of messages.
"""

from __future__ import annotations

from conset.bounds.question import Found, Question


def bound_presence(question: Question) -> Found:
    """1 phase for any message."""
    messages = question.pattern.messages
    return Found(1, f"{messages} message{'s' if messages > 1 else ''} in at least one phase")
