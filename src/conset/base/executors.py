"""Executors by name: processes of this machine, ranks of MPI, or what a function of yours makes."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from conset.base.errors import UsageError, import_extra, unknown_name

PROCESSES, MPI = "processes", "mpi"
POLL_S = 0.5
"""Between looks at jobs that are no futures."""


@contextmanager
def executor_of(word: str, workers: int) -> Iterator[Executor | None]:
    """What carries out tasks; None: this process.

    Args:
        word: `processes`, `mpi` (mpi4py.futures), or `MODULE:FACTORY`, a function without
            arguments that returns an executor with `submit`, as `concurrent.futures` has it.
        workers: processes or ranks.

    Raises:
        UsageError: another word, a module or function that is missing, or what it returns.
    """
    if ":" in word:
        with _made_by(word) as made:
            yield made
        return
    if word not in (PROCESSES, MPI):
        known = (PROCESSES, MPI, "MODULE:FACTORY")
        raise unknown_name("executor", word, known, options=["executor"])
    if word == MPI:
        futures = import_extra("mpi4py.futures", "mpi")
        with futures.MPIPoolExecutor(None if workers == 1 else workers) as ranks:
            yield ranks
        return
    if workers == 1:
        yield None
        return
    # the core has threads, which a fork does not copy; Ctrl-C is for who started the workers
    ignored = (signal.SIGINT, signal.SIG_IGN)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=signal.signal, initargs=ignored
    )
    try:
        yield pool
    except BaseException:
        for process in list(getattr(pool, "_processes", {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _made_by(word: str) -> Iterator[Any]:
    module, _, factory = word.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # a module beside the campaign
    try:
        make = getattr(import_module(module), factory)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"executor {word}: {error}", options=["executor"]) from None
    made = make()
    if not hasattr(made, "submit"):
        what = f"returns {type(made).__name__}, an executor with submit is required"
        raise UsageError(f"executor {word}: {what}", options=["executor"])
    try:
        yield made
    finally:
        if hasattr(made, "shutdown"):
            made.shutdown()


def completed(futures: Iterable[Any]) -> Iterator[Any]:
    """Futures in the order in which they end; those of other libraries are asked now and then."""
    left = list(futures)
    if all(isinstance(future, Future) for future in left):
        yield from as_completed(left)
        return
    while left:
        ended = [future for future in left if future.done()]
        left = [future for future in left if future not in ended]
        yield from ended
        if left and not ended:
            time.sleep(POLL_S)
