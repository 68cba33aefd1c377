"""Names and addresses of a bed: namespaces, devices, hardware and network addresses.

Pure functions.

`10.77.x.y` are endpoints, `10.79.x.y` the other nodes, `10.78.x.y` the launcher's own network; 250
in a block of 256.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conset_testbed.wiring import Wiring

PREFIX = "cb."
CONTROL_ADDRESS = "10.78.255.254"
IDENTITY = "id0"
"""The device that has an endpoint's address."""
_PER_BLOCK = 250


def namespace(bed: str, node: int, endpoints: int) -> str:
    """`cb.BED.n3` of endpoint 3, `cb.BED.s20` of switch 20."""
    return f"{PREFIX}{bed}.{'n' if node < endpoints else 's'}{node}"


def control_namespace(bed: str) -> str:
    """Where launchers and emulated switches run."""
    return f"{PREFIX}{bed}.ctl"


def namespaces(bed: str, wiring: Wiring, *, emulated: bool) -> list[str]:
    """All of a bed; switches that are emulated have none."""
    nodes = wiring.endpoints if emulated else wiring.nodes
    return [
        control_namespace(bed),
        *(namespace(bed, node, wiring.endpoints) for node in range(nodes)),
    ]


def address(node: int, endpoints: int) -> str:
    """Of a node on the measured network."""
    return _in_block(77, node) if node < endpoints else _in_block(79, node - endpoints)


def management_address(endpoint: int) -> str:
    """Of an endpoint on the launcher's network."""
    return _in_block(78, endpoint)


def _in_block(second: int, number: int) -> str:
    return f"10.{second}.{number // _PER_BLOCK}.{number % _PER_BLOCK + 1}"


def hardware_address(node: int, port: int) -> str:
    """Of a device of a node, locally administered."""
    return f"02:63:{node >> 8:02x}:{node & 255:02x}:{port >> 8:02x}:{port & 255:02x}"


def ports(wiring: Wiring) -> list[int]:
    """By link: the number of its device at the node that it leaves.

    A wire's device has the same number both ways.
    """
    count = [0] * wiring.nodes
    found: list[int] = []
    for link in wiring.links:
        found.append(count[link.source])
        count[link.source] += 1
    return found


def device(port: int) -> str:
    """`p0`, `p1`, …: the devices of a node on the measured network."""
    return f"p{port}"


def host_file(endpoints: Sequence[int], per_node: int) -> str:
    """What launchers read: an address and its slots a line."""
    return "".join(f"{management_address(endpoint)}:{per_node}\n" for endpoint in endpoints)
