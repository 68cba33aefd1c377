"""The words of `--sync`."""

from __future__ import annotations

import pytest

from conset.base.errors import UsageError
from conset.schedule.policy import Sync, parse_sync


@pytest.mark.parametrize(
    ("text", "sync"),
    [
        ("none", Sync("none")),
        ("local", Sync("local")),
        ("ready", Sync("ready")),
        ("detect", Sync("detect")),
        ("barrier", Sync("barrier", 1)),
        ("barrier:1", Sync("barrier", 1)),
        ("barrier:12", Sync("barrier", 12)),
    ],
)
def test_words(text: str, sync: Sync) -> None:
    assert parse_sync(text) == sync
    assert parse_sync(str(sync)) == sync


@pytest.mark.parametrize(
    "text",
    [
        "barriers",
        "",
        "barrier:0",
        "barrier:-1",
        "barrier:",
        "barrier:x",
        "barrier:1.5",
        "barrier:²",
        "none:2",
        "Barrier",
    ],
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_sync(text)


def test_the_nearest_word_is_suggested() -> None:
    with pytest.raises(UsageError, match="unknown sync 'barier': did you mean 'barrier'"):
        parse_sync("barier")


def test_barriers_stand_between_groups_only() -> None:
    assert [Sync("barrier").barriers(p) for p in (0, 1, 2, 5)] == [0, 0, 1, 4]
    assert [Sync("barrier", 2).barriers(p) for p in (0, 1, 2, 3, 4, 5)] == [0, 0, 0, 1, 1, 2]
    assert [Sync("barrier", 2).groups(p) for p in (0, 1, 2, 3, 5)] == [0, 1, 1, 2, 3]
    assert Sync("ready").barriers(9) == 0
