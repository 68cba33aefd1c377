"""What a bed tells `ip` and `tc`, as batches of lines.

Pure functions of its settings and its wiring.
"""

from __future__ import annotations

from conset_testbed import addresses as a
from conset_testbed.settings import Settings
from conset_testbed.wiring import Wiring

Batches = dict[str, list[str]]
"""Lines by namespace."""

_ROUTER_ADDRESS = "169.254.0.1"
"""Of every device that forwards: it needs one, nobody asks for it."""
_SUBNET = "10.77.0.0/16"
_SYSCTLS = {
    "net.ipv6.conf.all.disable_ipv6": 1,
    "net.ipv6.conf.default.disable_ipv6": 1,
    "net.ipv4.ip_forward": 1,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv4.conf.all.send_redirects": 0,
    "net.ipv4.conf.default.send_redirects": 0,
    "net.ipv4.conf.all.accept_redirects": 0,
    "net.ipv4.conf.default.accept_redirects": 0,
    "net.ipv4.tcp_no_metrics_save": 1,
}


def sysctls(settings: Settings) -> dict[str, int]:
    """Of every namespace.

    Under a locked window TCP neither probes for losses nor starts slowly again.
    """
    if settings.kind.window is None:
        return dict(_SYSCTLS)
    return {**_SYSCTLS, "net.ipv4.tcp_slow_start_after_idle": 0, "net.ipv4.tcp_early_retrans": 0}


def route_metrics(settings: Settings) -> str:
    """TCP's behaviour, by route.

    What is allowed by sysctl is machine-wide and not ours to change.
    """
    words = [f"congctl {settings.congestion_control}"]
    window = settings.window_packets
    if window is not None:
        words.append(f"cwnd lock {window} initcwnd {window}")
    if settings.kind.window is not None:
        words.append("rto_min 5000ms")
    return " ".join(words)


def creations(settings: Settings, wiring: Wiring) -> list[str]:
    """The devices that join two namespaces.

    The wires, and one to the control namespace for each endpoint.
    """
    bed, n = settings.name, wiring.endpoints
    lines = []
    if not settings.emulated:
        port = a.ports(wiring)
        for up, down in wiring.wires:
            ends = []
            for link in (up, down):
                node = wiring.links[link].source
                hardware = a.hardware_address(node, port[link])
                space = a.namespace(bed, node, n)
                ends.append(
                    f"name {a.device(port[link])} netns {space} address {hardware} mtu "
                    f"{settings.mtu}"
                )
            lines.append(f"link add {ends[0]} type veth peer {ends[1]}")
    lines += [
        f"link add name mg0 netns {a.namespace(bed, k, n)} type veth peer name m{k} netns "
        f"{a.control_namespace(bed)}"
        for k in range(n)
    ]
    return lines


def control_lines(endpoints: int) -> list[str]:
    """Of the control namespace: a bridge that joins all endpoints, for launchers."""
    lines = ["link set lo up", "link add name br0 type bridge", "link set br0 up"]
    lines.append(f"addr add {a.CONTROL_ADDRESS}/16 dev br0")
    return lines + [f"link set m{k} master br0 up" for k in range(endpoints)]


def kernel_lines(settings: Settings, wiring: Wiring) -> Batches:
    """Of every other namespace where the kernel forwards.

    Devices, permanent neighbours, a route to each endpoint.
    """
    n, port = wiring.endpoints, a.ports(wiring)
    batches: Batches = {}
    leaving = _links_by_source(wiring)
    back = wiring.back
    metrics = route_metrics(settings)
    for node in range(wiring.nodes):
        own = a.address(node, n)
        lines = ["link set lo up"]
        for k in leaving[node]:
            link = wiring.links[k]
            opposite = a.hardware_address(link.target, port[back[k]])
            device = a.device(port[k])
            # one packet a decision of the token bucket
            lines.append(f"link set {device} gso_max_segs 1 up")
            lines.append(f"addr add {own if node < n else _ROUTER_ADDRESS}/32 dev {device}")
            lines.append(
                f"neigh replace {a.address(link.target, n)} lladdr {opposite} dev {device} "
                "nud permanent"
            )
        # only endpoints open connections
        tail = f" src {own} {metrics}" if node < n else ""
        for target, k in enumerate(wiring.next_link[node]):
            if k >= 0:
                via = a.address(wiring.links[k].target, n)
                lines.append(
                    f"route add {a.address(target, n)}/32 via {via} dev {a.device(port[k])} "
                    f"onlink{tail}"
                )
        if node < n:
            # a device that is always there has the address: MPI libraries leave out the loopback
            lines += [f"link add name {a.IDENTITY} type ifb", f"link set {a.IDENTITY} up"]
            lines += [f"addr add {own}/32 dev {a.IDENTITY}", *_management(node)]
        batches[a.namespace(settings.name, node, n)] = lines
    return batches


def queue_lines(settings: Settings, wiring: Wiring) -> Batches:
    """What `tc` is told: a token bucket at the end of every link that leaves."""
    n, port = wiring.endpoints, a.ports(wiring)
    limit = settings.queue_limit(n)
    batches: Batches = {}
    for node, leaving in enumerate(_links_by_source(wiring)):
        batches[a.namespace(settings.name, node, n)] = [
            f"qdisc add dev {a.device(port[k])} root tbf rate {round(wiring.links[k].rate_bps)}bit "
            f"burst {settings.burst_bytes}b limit {limit}b"
            for k in leaving
        ]
    return batches


def emulated_lines(settings: Settings, wiring: Wiring) -> Batches:
    """Of the endpoints where switches in user space carry packets.

    They have made the device, all goes through it.
    """
    metrics = route_metrics(settings)
    return {
        a.namespace(settings.name, k, wiring.endpoints): [
            "link set lo up",
            f"link set {a.IDENTITY} mtu {settings.mtu} txqueuelen 50000 up",
            f"addr add {a.address(k, wiring.endpoints)}/32 dev {a.IDENTITY}",
            f"route add {_SUBNET} dev {a.IDENTITY} src {a.address(k, wiring.endpoints)} {metrics}",
            *_management(k),
        ]
        for k in range(wiring.endpoints)
    }


def description(settings: Settings, wiring: Wiring, folder: str = "/run/netns") -> str:
    """What `conset-switches` reads (`cpp/testbed/description.hpp`)."""
    lines = [
        f"discipline {settings.kind.emulated}",
        f"buffer {settings.buffer_bytes}",
        f"latency {settings.latency_ns}",
        f"store-and-forward {int(settings.store_and_forward)}",
        f"nodes {wiring.endpoints} {wiring.nodes}",
        *(
            f"endpoint {folder}/{a.namespace(settings.name, k, wiring.endpoints)}"
            for k in range(wiring.endpoints)
        ),
        *(f"link {link.source} {link.target} {link.rate_bps:.0f}" for link in wiring.links),
        *(f"next {node} {' '.join(map(str, row))}" for node, row in enumerate(wiring.next_link)),
    ]
    return "\n".join(lines) + "\n"


def _links_by_source(wiring: Wiring) -> list[list[int]]:
    leaving: list[list[int]] = [[] for _ in range(wiring.nodes)]
    for k, link in enumerate(wiring.links):
        leaving[link.source].append(k)
    return leaving


def _management(endpoint: int) -> list[str]:
    return ["link set mg0 up", f"addr add {a.management_address(endpoint)}/16 dev mg0"]
