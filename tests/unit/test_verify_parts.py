"""A schedule checked in many parts, on several threads, is checked as in one.

The same violations in the same order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.spec import parse_machine
from conset.pattern.spec import parse_pattern
from conset.schedule.document import Document
from conset.schedule.files.compiled import document_of
from conset.verification import verify
from conset.verification.schedule import loads, messages


def broken() -> Document:
    """Messages that change places, sizes that are wrong, limits that are too strict."""
    machine = parse_machine("torus:4x4")
    schedule = compile_pattern(
        parse_pattern("alltoall", ranks=16), machine, CompileOptions("bounded", 4)
    )
    document = document_of(schedule)
    message, size = document.transfer_message.copy(), document.transfer_size.copy()
    message[[3, 40, 200]] = message[[200, 3, 40]]
    size[::50] += 1
    return replace(
        document,
        transfer_message=message,
        transfer_size=size,
        limits={**document.limits, "link": 0, "channels": 3},
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_parts_find_what_the_whole_finds(monkeypatch: pytest.MonkeyPatch, swapped: bool) -> None:
    document = broken()
    if swapped:  # one message twice, another one never
        document.transfer_message[7] = document.transfer_message[8]
    whole = verify(document)
    assert {"message-ends", "message-bytes", "link", "channels"} <= {
        v.rule for v in whole.violations
    }
    monkeypatch.setattr(loads, "_CELLS", 1)
    monkeypatch.setattr(loads, "_TRANSFERS", 3)
    monkeypatch.setattr(messages, "_BLOCK", 3)
    parts = verify(document)
    assert parts.violations == whole.violations
    assert parts.figures == whole.figures


def test_large_indices_in_int64_are_judged_as_they_are() -> None:
    document = broken()
    wide = {
        name: getattr(document, name).astype(np.int64)
        for name in ("transfer_source", "transfer_target")
    }
    assert verify(replace(document, **wide)).violations == verify(document).violations
    wide["transfer_source"][5] = 2**32  # would be rank 0 if it were cut to 32 bits
    rules = {v.rule for v in verify(replace(document, **wide)).violations}
    assert "message-ends" in rules
