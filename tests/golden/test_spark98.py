"""Spark98 packfiles against the author's published statistics (their `.count` files).

Source: D. O'Hallaron, Spark98, CMU-CS-97-178, section 3 of each `.count` file: "Messages: 32 Volume
(words): 2540" for sf10.8 and so on, ordered pairs of subdomains and shared nodes. The largest and
least message are section 3.3.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conset.pattern.spec import parse_pattern

PUBLISHED = {
    # file: messages, words, least and largest message [words]
    "sf10.8": (32, 2540, 1, 176),
    "tiny.2": (2, 30, 15, 15),
    "tiny.4": (12, 84, None, None),
    "tiny.8": (44, 206, None, None),
    "tiny.16": (128, 458, None, None),
    "tiny.32": (412, 1026, None, None),
    "tiny.64": (1402, 2952, None, None),
    "tiny.128": (4018, 6648, None, None),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_messages_and_words(shared_data: Path, name: str) -> None:
    messages, words, least, largest = PUBLISHED[name]
    pattern = parse_pattern(str(shared_data / "meshes/spark98" / f"{name}.pack"))
    assert pattern.ranks == int(name.split(".")[1])
    assert pattern.messages == messages
    assert pattern.bytes == 8 * words
    if least is not None:
        assert (pattern.size.min(), pattern.size.max()) == (8 * least, 8 * largest)


@pytest.mark.parametrize("name", ["sf10.1", "tiny.1"])
def test_one_subdomain_sends_nothing(shared_data: Path, name: str) -> None:
    pattern = parse_pattern(str(shared_data / "meshes/spark98" / f"{name}.pack"))
    assert (pattern.ranks, pattern.messages, pattern.bytes) == (1, 0, 0)


def test_subdomains_of_sf10(shared_data: Path) -> None:
    """Section 3.1 and 3.2 count both directions.

    4 to 12 messages and 384 to 850 words a subdomain.
    """
    pattern = parse_pattern(str(shared_data / "meshes/spark98/sf10.8.pack"), word=1)
    matrix = pattern.matrix()
    assert np.array_equal(matrix, matrix.T)
    words = matrix.sum(axis=0) + matrix.sum(axis=1)
    messages = (matrix > 0).sum(axis=0) + (matrix > 0).sum(axis=1)
    assert (words.min(), words.max(), words.sum()) == (384, 850, 5080)
    assert (messages.min(), messages.max(), messages.sum()) == (4, 12, 64)
