"""Beds as programs use them.

`bed()`, which lives as long as its block, and what the commands of `conset testbed` do.

Whatever needs a right is done by a process of its own (`conset_testbed.__main__`): root's, or
inside the user namespace of the bed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TypeVar

from conset.base import ConsetError, UnavailableError
from conset_testbed.access import call_inside, enter_held, enter_new
from conset_testbed.counters import Counters
from conset_testbed.guardian import guardian_of
from conset_testbed.launcher import mpiexec_words
from conset_testbed.settings import Settings, parse_bits
from conset_testbed.state import bed_names, read_bed

Found = TypeVar("Found")


@dataclass(frozen=True)
class Bed:
    """A bed that stands.

    Attributes:
        settings: what it is made of.
        endpoints: nodes that hold ranks.
        nodes: all nodes.
        links: links, counted in both directions.
        build_s: how long it took to build [s].
    """

    settings: Settings
    endpoints: int
    nodes: int
    links: int
    build_s: float

    @property
    def name(self) -> str:
        """Of the bed."""
        return self.settings.name

    @property
    def network(self) -> str:
        """Its words, for `--on`: `mesh:4x4`."""
        return self.settings.network

    @property
    def mpiexec(self) -> str:
        """The launcher of jobs on it, for `--mpiexec` and `mpiexec=`."""
        return mpiexec_words(self.name)

    def stats(self) -> Counters:
        """What crossed its links."""
        return stats(self.name)


@contextmanager
def bed(
    network: str | None = None,
    *,
    fabric: str = "lossless",
    rows: int | None = None,
    columns: int | None = None,
    rate: str | float = "20mbit",
    name: str | None = None,
    port_rate: str | float | None = None,
    **settings: object,
) -> Iterator[Bed]:
    """A bed for the block that follows; removed at its end, and when this process dies.

    Args:
        network: its words, as of a machine: `mesh:4x4`, `torus:4x4`, `crossbar:8`, a file.
        fabric: `lossless`, `shallow`, `medium`, `deep`, `credit` or `fq`.
        rows: with `columns` instead of `network`: a mesh.
        columns: of the mesh.
        rate: of a link of width 1: `20mbit`, `2.5 MB/s`.
        name: of the bed; None: one that is free.
        port_rate: of a link between every endpoint and its router; None: an endpoint is its router.
        settings: others of `Settings`.

    Raises:
        UnavailableError: this machine does not permit it, one line says why.
        UsageError: a setting that makes no sense, or a bed of that name exists.
    """
    network = network or f"mesh:{rows or 4}x{columns or 4}"
    made = Settings(
        name=name or f"bed-{os.getpid()}-{time.monotonic_ns() % 10000}"[:16],
        network=network,
        fabric=fabric,
        rate_bps=parse_bits(rate),
        port_bps=None if port_rate is None else parse_bits(port_rate, "port_rate"),
        **settings,  # type: ignore[arg-type]
    )
    with standing(made) as found:
        yield found


@contextmanager
def standing(
    settings: Settings, *, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Bed]:
    """As `bed`, of settings; `waiting` goes on while it is built."""
    read, write = os.pipe()
    try:
        with waiting():
            found = up(settings, pipe=read)
        try:
            yield found
        finally:
            with suppress(ConsetError):
                down(settings.name)
    finally:
        os.close(read)
        os.close(write)


def up(settings: Settings, *, pipe: int | None = None) -> Bed:
    """Builds a bed that lives for `settings.ttl_s`.

    Args:
        settings: of the bed.
        pipe: reading end of a pipe: the bed ends too when nobody has the other end any more.

    Raises:
    UnavailableError: this machine does not permit it.
    UsageError: a bed of that name exists.
    """
    began = time.monotonic()
    words = [json.dumps(settings.to_object()), "-" if pipe is None else str(pipe)]
    call_inside(enter_new(), "up", *words, pass_fds=[] if pipe is None else [pipe])
    state = read_bed(settings.name)
    return Bed(settings, state.endpoints, state.nodes, len(state.links), time.monotonic() - began)


@dataclass(frozen=True)
class Removed:
    """What `down` did.

    Attributes:
        name: of the bed.
        removed: namespaces that are gone.
        foreign: namespaces that the bed had not made, and which stay.
    """

    name: str
    removed: int
    foreign: tuple[str, ...]


def down(name: str) -> Removed:
    """Removes a bed with all that runs on it.

    Raises:
        UsageError: there is none of that name.
    """
    read_bed(name)
    found = call_inside(enter(name), "down", name)
    return Removed(name, len(found["removed"]), tuple(found["foreign"]))


def stats(name: str) -> Counters:
    """What crossed the links of a bed.

    Raises:
        UsageError: there is none of that name. UnavailableError: its switches do not answer.
    """
    read_bed(name)
    return Counters.of(call_inside(enter(name), "stats", name))


def of_each(do: Callable[[str], Found]) -> tuple[list[Found], dict[str, ConsetError]]:
    """(what `do` returns, by name why it cannot) of every written bed.

    In alphabetical order.
    """
    found: list[Found] = []
    failed: dict[str, ConsetError] = {}
    for name in list(bed_names()):
        try:
            found.append(do(name))
        except ConsetError as error:  # the others are there all the same
            if (
                isinstance(error, UnavailableError) or name in bed_names()
            ):  # else somebody else has removed it
                failed[name] = error
    return found, failed


def enter(name: str) -> list[str]:
    """The words before a command that is to run where the bed is."""
    return enter_held(guardian_of(name))
