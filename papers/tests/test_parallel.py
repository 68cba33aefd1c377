"""Cells on threads: order, results and errors do not depend on how many work at once."""

from __future__ import annotations

import threading

import pytest

from conset import _core
from conset_papers.parallel import on_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_stand_in_the_order_of_the_items(threads: int) -> None:
    assert on_threads(lambda n: n * n, list(range(40)), cost=float, threads=threads) == [
        n * n for n in range(40)
    ]


def test_the_longest_starts_first() -> None:
    started: list[int] = []
    on_threads(started.append, [3, 1, 2], cost=float, threads=1)
    assert started == [3, 2, 1]


def test_two_threads_work_at_once() -> None:
    both = threading.Barrier(2)
    on_threads(lambda _: both.wait(timeout=5), [0, 1])


def test_an_error_of_an_item_comes_through() -> None:
    def odd(n: int) -> int:
        if n % 2:
            raise ValueError(f"item {n}")
        return n

    with pytest.raises(ValueError, match="item 1"):
        on_threads(odd, [0, 1, 2])


def test_nothing_starts_after_a_wish_to_stop() -> None:
    _core.ask_stop()
    try:
        with pytest.raises(KeyboardInterrupt):
            on_threads(abs, [1, 2])
    finally:
        _core.reset_search()
