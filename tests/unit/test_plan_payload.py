"""Payload shows swaps and shifts; the interval of a ratio says when nobody has won."""

from __future__ import annotations

import numpy as np
import pytest

from conset.execution.measure import describe_wrong, fill_buffer, fill_payload
from conset.execution.plan import PairRanges
from conset.execution.stopping import Ratio


def test_pairs_and_offsets_differ() -> None:
    here = fill_payload(3, 5, 4096)
    # unrelated bytes agree once in 256: 16 of 4096, with a deviation of 4
    for other in (
        fill_payload(5, 3, 4096),
        fill_payload(3, 6, 4096),
        fill_payload(4, 5, 4096),
        fill_payload(4, 4, 4096),
    ):
        assert (here == other).sum() < 48
    for shift in (1, 7, 8, 64, 256, 1024):
        assert (here[shift:] == here[:-shift]).sum() < 48


def test_a_prefix_is_a_prefix() -> None:
    assert (fill_payload(1, 2, 100)[:37] == fill_payload(1, 2, 37)).all()
    assert fill_payload(1, 2, 0).size == 0


def test_both_ends_agree() -> None:
    to_rank_1 = PairRanges(np.array([1], np.int32), np.array([4]), np.array([9]))
    from_rank_0 = PairRanges(np.array([0], np.int32), np.array([2]), np.array([9]))
    sent = fill_buffer(to_rank_1, 20, 0, sending=True)
    expected = fill_buffer(from_rank_0, 11, 1, sending=False)
    assert (sent[4:13] == expected[2:]).all()


def test_the_first_wrong_byte_is_named() -> None:
    ranges = PairRanges(np.array([4, 7], np.int32), np.array([0, 10]), np.array([10, 6]))
    expected = np.arange(16, dtype=np.uint8)
    received = expected.copy()
    assert describe_wrong(received, expected, ranges) == (0, "")
    received[[12, 15]] = 0xFF
    assert describe_wrong(received, expected, ranges) == (
        2,
        "byte 2 from rank 7 is 0xff, must be 0x0c",
    )


def test_ratio_of_paired_times() -> None:
    naive = np.linspace(1, 3, 21)
    twice = Ratio.of((2 * naive).tolist(), naive.tolist())
    # paired by repetition, the drift of the machine cancels exactly
    assert (twice.median, twice.low, twice.high) == pytest.approx((2, 2, 2))
    assert twice.decided
    noise = np.where(np.arange(21) % 2 == 0, 0.9, 1.1)
    assert not Ratio.of((noise * naive).tolist(), naive.tolist()).decided
