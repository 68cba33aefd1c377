"""Summary: what `compile --json` says of a program that combines messages.

The whole, and every stage.
"""

from __future__ import annotations

from typing import Any

from conset.bounds.programs import bound_program
from conset.compilation.combining.choose import Combination
from conset.compilation.summary import summarize
from conset.schedule import document_of
from conset.verification import verify


def summarize_combination(combination: Combination) -> dict[str, Any]:
    """The keys of `summarize`, of the program as one schedule of bundles; verifies it.

    `pattern` is the application's. Further keys: combine (the word for the paths), stages (of each,
    the keys of `summarize`), candidates (what was compared, the least time first), figures
    (bundles, volume, bytes held for others); `bound` and `gap` have what no paths beat too
    (`ProgramBounds`). A schedule that sends directly has itself as its only stage.
    """
    program = combination.program
    if program.paths is None:
        whole = summarize(combination.whole)
        found = {**whole, "stages": [whole], "figures": None}
    else:
        verified = verify(document_of(program)).ok
        whole = summarize(combination.whole, verified=verified)
        bounds = bound_program(program, combination.whole)
        time_s = whole["predicted_s"] if whole["simulated_s"] is None else whole["simulated_s"]
        pattern = program.paths.pattern
        found = {
            **whole,
            "pattern": {
                name: getattr(pattern, name)
                for name in ("ranks", "messages", "bytes", "local_bytes")
            },
            "stages": [summarize(schedule, verified=verified) for schedule in program.schedules],
            "figures": program.figures(),
            "bound": bounds.to_object(),
            "gap": bounds.gap(combination.whole.phases, whole["predicted_s"], time_s),
        }
    return {
        **found,
        "combine": combination.combine,
        "why_combined": combination.why or None,
        "candidates": [each.to_object() for each in combination.tried],
    }
