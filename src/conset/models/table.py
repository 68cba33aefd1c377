"""The table of models: name, function, what it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conset.base import unknown_name
from conset.machine import Machine
from conset.models.connections import simulate_connections
from conset.models.flit import simulate_flit
from conset.models.flow import simulate_flow
from conset.models.packet import simulate_packet
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.models.wormhole import simulate_circuit, simulate_wormhole


@dataclass(frozen=True)
class Model:
    """One row.

    Attributes:
        name: as on the command line.
        simulate: the function.
        about: what it shows and what it cannot, in one line.
    """

    name: str
    simulate: Callable[[Workload, Machine, Settings], Timeline]
    about: str


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "flow",
            simulate_flow,
            "fluid, fair sharing of links and ports; fastest, blind to blocking",
        ),
        Model(
            "wormhole",
            simulate_wormhole,
            "headers hold channels while they wait, bytes share max-min; shows blocking",
        ),
        Model(
            "circuit",
            simulate_circuit,
            "wormhole with one lane: a link has one message from claim to delivery",
        ),
        Model(
            "packet",
            simulate_packet,
            "packets queue in buffers of bounded size; a full one holds up the link",
        ),
        Model(
            "flit",
            simulate_flit,
            "flits in routers with virtual channels and credits; exact, slowest",
        ),
        Model(
            "connections",
            simulate_connections,
            "elements through the linkage tables of open connections, hop by hop; phases "
            "switched, queues bounded",
        ),
    )
}
"""Every model, the default first."""


def find_model(name: str) -> Model:
    """The row of a model.

    Raises:
        UsageError: an unknown name; suggests the nearest.
    """
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]
