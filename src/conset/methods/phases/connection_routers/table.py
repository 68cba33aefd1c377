"""The table of routers: what `--router` names, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conset.base.errors import unknown_name
from conset.methods.phases.connection_routers.closed_form import route_closed_form
from conset.methods.phases.connection_routers.negotiated import route_negotiated
from conset.methods.phases.connection_routers.orbits import route_orbits
from conset.methods.phases.connection_routers.sequential import route_sequential
from conset.methods.phases.connection_routers.task import Routed, Task


@dataclass(frozen=True)
class Router:
    """One row.

    Attributes:
        name: as on the command line.
        route: task in, routes out; raises `InputError` outside of its domain.
        domain: what it requires, in words.
        demands: whether it keeps any minimum bandwidths and maximum latencies by itself.
    """

    name: str
    route: Callable[[Task], Routed]
    domain: str
    demands: bool


ROUTERS: tuple[Router, ...] = (
    Router(
        "closed-form",
        route_closed_form,
        "complete exchange on a mesh, torus or ring, one rank a node",
        False,
    ),
    Router(
        "orbits",
        route_orbits,
        "translation-invariant patterns on a torus, ring or hypercube",
        False,
    ),
    Router(
        "negotiated", route_negotiated, "any, up to five million connections times phases", False
    ),
    Router("sequential", route_sequential, "any", True),
)
"""All routers; `sequential` always answers.

Where others have answered, it is used for small patterns only.
"""
SMALL = 2_000_000
"""Connections times phases that `sequential` routes in a few seconds."""


def find_router(name: str) -> Router:
    """The row called `name`.

    Raises:
        UsageError: unknown, with the nearest known name.
    """
    rows = {row.name: row for row in ROUTERS}
    if name not in rows:
        raise unknown_name("router", name, rows)
    return rows[name]
