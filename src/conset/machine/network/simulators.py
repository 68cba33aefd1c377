"""Networks of simulators: htsim's `.topo` and BookSim's `.anynet`.

htsim describes a fat tree or leaf-spine network: hosts, pods, and three or two tiers of switches.

    Nodes 128                  Tier 0                      Tier 1
    Tiers 2                    Downlink_speed_Gbps 200     Downlink_speed_Gbps 200
    Podsize 128                Radix_Down 16               Radix_Down 8
                               Radix_Up 16                 Downlink_Latency_ns 500
                               Oversubscribed 1
                               Downlink_Latency_ns 500

| word | means |
| --- | --- |
| `Nodes`, `Podsize` | hosts in all; hosts of a pod |
| `Tiers` | 2: ToR and aggregation (spine) switches; 3: core switches above |
| `Tier t` | what follows is of the switches of tier t: 0 ToR, 1 aggregation, 2 core |
| `Downlink_speed_Gbps` | rate of the links from tier t down, each way alike |
| `Radix_Down`, `Radix_Up` | ports of a switch down and up |
| `Oversubscribed` | traffic up into the tier over traffic out of it; tier 0 has its radixes' |
| `Bundle` | parallel links between a switch of tier t and one below |
| `Downlink_Latency_ns`, `Switch_Latency_ns` | latency of a link from tier t, and of its switch |
| `Queue_Up`, `Queue_Down` | queues; read and not used |

Words count without regard to case. The numbers of switches follow from hosts, speeds,
oversubscription and radixes, and what contradicts itself is refused, as htsim does. ToR switches of
a pod are joined to its aggregation switches (with two tiers to all of them); aggregation switch j
of a pod, of a, to the core switches j, j + a, j + 2a …

Source: https://github.com/Broadcom/csg-htsim (sim/datacenter/fat_tree_topology.cpp: `load`,
`set_custom_params`, `init_network`).

BookSim's arbitrary networks (`network_file` of topology `anynet`).

The neighbours of each router, one line per router.

    router 0 node 0 node 1 router 1
    router 1 node 2 router 0 5        a number behind a name is that link's latency [cycles]

Nodes are endpoints, routers switches. A link that two lines name is one link. Latencies are cycles
of a clock that the file does not say, so they are checked and not used.

Source: https://github.com/booksim/booksim2 (src/networks/anynet.cpp, `AnyNet::readFile`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from conset.base import InputError, shortened, unknown_name, whole_number
from conset.machine.network.graph import Edge, Graph, both_ways

_HEAD = ("nodes", "tiers", "podsize")
_TIER = (
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "oversubscribed",
    "bundle",
    "downlink_latency_ns",
    "switch_latency_ns",
    "queue_up",
    "queue_down",
)
_MAY_BE_ZERO = ("switch_latency_ns", "queue_up", "queue_down")
_DEFAULTS = {"oversubscribed": 1, "bundle": 1, "switch_latency_ns": 0}
_NAMES = ("tor", "agg", "core")
MAX_LINKS = 2**24
"""Most links of a file that is read: a few lines may ask for any number."""


@dataclass
class _Words:
    """What a file says, each with its line."""

    head: dict[str, int] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)
    lines: dict[tuple[int, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Sizes:
    """How many there are of what, and what a tier says."""

    hosts: int
    podsize: int
    tiers: tuple[dict[str, int], ...]
    tors: int
    aggs: int
    cores: int

    @property
    def pods(self) -> int:
        return self.hosts // self.podsize


def read_htsim(text: str, name: str = "topo") -> Graph:
    """The graph: hosts, then ToR, aggregation and core switches.

    Levels, pods as groups, rates by tier.

    The file's latencies become the machine's `hop`: the mean over the links of a route across the
    top, its switches' included, so that such a route takes exactly what the file says; `port` is
    the speed of a host's link.

    Raises:
        InputError: a word that is not known, is missing, occurs twice or has no sound value;
            numbers of ports, speeds and hosts that contradict each other; names file and line.
    """
    sizes = _sized(_parsed(text, name), name)
    edges = both_ways(_links(sizes, name))
    counts = (sizes.hosts, sizes.tors, sizes.aggs, sizes.cores)
    labels = [
        f"{kind}{k}"
        for kind, count in zip(("host", *_NAMES), counts, strict=True)
        for k in range(count)
    ]
    levels = [level for level, count in enumerate(counts) for _ in range(count)]
    pods = sizes.pods
    groups = [k // (count // pods) for count in counts[:3] for k in range(count)] + [
        -1
    ] * sizes.cores
    return Graph(
        sum(counts),
        sizes.hosts,
        tuple(edges),
        tuple(labels),
        name,
        tuple(levels),
        tuple(groups) if pods > 1 else (),
        costs=_costs(sizes),
        notes=_notes(sizes),
    )


def _parsed(text: str, name: str) -> _Words:
    words = _Words()
    tier = -1
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split()
        where = f"{name}:{number}"
        if not parts or parts[0].startswith("#"):
            continue
        word = parts[0].lower()
        known = (*_HEAD, "tier") if tier < 0 else ("tier", *_TIER)
        if word not in known:
            raise InputError(f"{where}: {unknown_name('word', shortened(parts[0]), known)}")
        value = whole_number(parts[1]) if len(parts) == 2 else None
        least = 0 if word in (*_MAY_BE_ZERO, "tier") else 1
        if value is None or not least <= value < 2**31:
            given = shortened(" ".join(parts[1:])) or "nothing"
            raise InputError(
                f"{where}: {parts[0]}: a whole number from {least} to 2^31 - 1 required, "
                f"given {given}"
            )
        if word == "tier":
            tier = value
            if tier > 2 or tier in words.tiers:
                raise InputError(
                    f"{where}: Tier {tier}: {'occurs twice' if tier <= 2 else 'must be 0, 1 or 2'}"
                )
            words.tiers[tier] = {}
            continue
        table = words.head if tier < 0 else words.tiers[tier]
        if word in table:
            raise InputError(
                f"{where}: {parts[0]} occurs twice, first in line {words.lines[tier, word]}"
            )
        table[word] = value
        words.lines[tier, word] = number
    return words


def _sized(words: _Words, name: str) -> _Sizes:
    """The numbers of switches, by the rules of htsim's `set_custom_params`."""
    for word in _HEAD:
        if word not in words.head:
            raise InputError(f"{name}: lacks '{word}' before the first tier")
    hosts, _, podsize = (words.head[word] for word in _HEAD)
    tiers = _tiers(words, name)
    count = len(tiers)

    def line(tier: int, word: str) -> str:
        return f"{name}:{words.lines.get((tier, word), words.lines[-1, 'podsize'])}"

    _require(
        hosts % podsize == 0,
        line(-1, "podsize"),
        f"Podsize {podsize} must divide the {hosts} nodes",
    )
    tor, agg = tiers[0], tiers[1]
    _require(
        tor["bundle"] == 1,
        line(0, "bundle"),
        f"Bundle {tor['bundle']} of tier 0: a host has one link",
    )
    down = tor["radix_down"]
    _require(
        podsize % down == 0,
        line(0, "radix_down"),
        f"Radix_Down {down} of tier 0 must divide Podsize {podsize}",
    )
    over = tor["oversubscribed"]
    _require(
        down // tor["radix_up"] == over,
        line(0, "radix_up"),
        f"Radix_Down {down} over Radix_Up {tor['radix_up']} of tier 0 must be "
        f"Oversubscribed {over}",
    )
    uplinks = _quotient(hosts * tor["downlink_speed_gbps"], agg["downlink_speed_gbps"] * over)
    pods = hosts // podsize
    per_pod = _quotient(uplinks, pods * agg["radix_down"])
    _require(
        uplinks > 0 and per_pod > 0 and per_pod * agg["bundle"] == tor["radix_up"],
        line(1, "radix_down"),
        f"{hosts} hosts in {pods} pods at these speeds need {_said(uplinks)} links up, "
        "so Radix_Down "
        f"{agg['radix_down']} of tier 1 gives {_said(per_pod)} switches a pod with Bundle "
        f"{agg['bundle']}; "
        f"Radix_Up of tier 0 is {tor['radix_up']}",
    )
    cores = 0
    if count == 3:
        core = tiers[2]
        up = _quotient(
            uplinks * agg["downlink_speed_gbps"],
            core["downlink_speed_gbps"] * agg["oversubscribed"],
        )
        cores = _quotient(up, core["radix_down"])
        fits = up > 0 and cores > 0 and cores % per_pod == 0
        _require(
            fits and cores * core["bundle"] // per_pod == agg["radix_up"],
            line(2, "radix_down"),
            f"{_said(up)} links up from tier 1 over Radix_Down {core['radix_down']} of tier 2 "
            f"give {_said(cores)} core "
            f"switches for {per_pod} aggregation switches a pod with Bundle {core['bundle']}; "
            f"Radix_Up of tier 1 is {agg['radix_up']}",
        )
    sizes = _Sizes(hosts, podsize, tuple(tiers), hosts // down, per_pod * pods, max(cores, 0))
    links = (
        hosts
        + sizes.tors * (per_pod if count == 3 else sizes.aggs)
        + sizes.aggs * (cores // per_pod)
    )
    _require(
        links <= MAX_LINKS,
        line(-1, "nodes"),
        f"Nodes {hosts}: {links} links, at most {MAX_LINKS} are read",
    )
    return sizes


def _tiers(words: _Words, name: str) -> list[dict[str, int]]:
    """The keys of every tier, with defaults, as many tiers as the head announces."""
    count = words.head["tiers"]
    if count not in (2, 3):
        raise InputError(f"{name}:{words.lines[-1, 'tiers']}: Tiers {count}: must be 2 or 3")
    tiers = []
    for t in range(count):
        if t not in words.tiers:
            raise InputError(f"{name}: lacks 'Tier {t}' of {count} tiers")
        for word in (
            "downlink_speed_gbps",
            "radix_down",
            "downlink_latency_ns",
            *(("radix_up",) * (t < count - 1)),
        ):
            if word not in words.tiers[t]:
                raise InputError(f"{name}: Tier {t} lacks '{word}'")
        tiers.append({**_DEFAULTS, **words.tiers[t]})
    for t in range(count, 3):
        if t in words.tiers:
            raise InputError(f"{name}: Tier {t}: there are {count} tiers, the last is {count - 1}")
    return tiers


def _require(holds: bool, where: str, rule: str) -> None:
    if not holds:
        raise InputError(f"{where}: {rule}")


def _quotient(over: int, under: int) -> int:
    """Of a division without remainder; -1 where there is one."""
    return over // under if over >= 0 and over % under == 0 else -1


def _said(count: int) -> str:
    return str(count) if count >= 0 else "no whole number of"


def _links(sizes: _Sizes, name: str) -> Iterator[Edge]:
    """From the lower end up."""
    tor0, agg0, core0 = sizes.hosts, sizes.hosts + sizes.tors, sizes.hosts + sizes.tors + sizes.aggs
    rates = [tier["downlink_speed_gbps"] * 1e9 / 8 for tier in sizes.tiers]
    for host in range(sizes.hosts):
        yield Edge(host, tor0 + host // sizes.tiers[0]["radix_down"], 1, rates[0], name)
    per_pod, tors = sizes.aggs // sizes.pods, sizes.tors // sizes.pods
    for tor in range(sizes.tors):
        pod = tor // tors
        for agg in (
            range(pod * per_pod, (pod + 1) * per_pod)
            if len(sizes.tiers) == 3
            else range(sizes.aggs)
        ):
            yield Edge(tor0 + tor, agg0 + agg, sizes.tiers[1]["bundle"], rates[1], name)
    for agg in range(sizes.aggs if sizes.cores else 0):
        for core in range(agg % per_pod, sizes.cores, per_pod):
            yield Edge(agg0 + agg, core0 + core, sizes.tiers[2]["bundle"], rates[2], name)


def _costs(sizes: _Sizes) -> dict[str, str]:
    tiers = sizes.tiers
    links = 2 * sum(tier["downlink_latency_ns"] for tier in tiers)
    switches = (
        2 * sum(tier["switch_latency_ns"] for tier in tiers[:-1]) + tiers[-1]["switch_latency_ns"]
    )
    return {
        "hop": f"{(links + switches) / (2 * len(tiers))!r} ns",
        "port": f"{tiers[0]['downlink_speed_gbps']} Gbit/s",
    }


def _notes(sizes: _Sizes) -> tuple[str, ...]:
    same = len({tier["downlink_latency_ns"] for tier in sizes.tiers}) == 1
    if same and not any(tier["switch_latency_ns"] for tier in sizes.tiers):
        return ()
    return (
        "hop: the file's latencies differ; a route across the top takes what they add up to, "
        "others its mean",
    )


_KINDS = ("node", "router")
_End = tuple[str, int]


def read_anynet(text: str, name: str = "anynet") -> Graph:
    """The graph; endpoint k is the k-th node by its number, routers come after, by theirs.

    Raises:
        InputError: a line that is no list of `node N` and `router N`, a link of two nodes, a node
            on two routers, a node that is joined to none; names file and line.
    """
    joined: dict[tuple[_End, _End], str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        ends = _ends(line.split("//", 1)[0].split(), where)
        for other in ends[1:]:
            _join(joined, ends[0], other, where)
    if not joined:
        raise InputError(f"{name}: joins nothing; `router 0 node 0 router 1` is required")
    order = sorted(
        {end for pair in joined for end in pair}, key=lambda end: (_KINDS.index(end[0]), end[1])
    )
    ids = {end: k for k, end in enumerate(order)}
    endpoints = sum(kind == "node" for kind, _ in order)
    if not endpoints:
        raise InputError(f"{name}: all {len(order)} names are routers; at least 1 node required")
    edges = both_ways(Edge(ids[a], ids[b], where=where) for (a, b), where in joined.items())
    labels = tuple(f"{kind} {k}" for kind, k in order)
    levels = tuple(int(kind == "router") for kind, _ in order)
    return Graph(len(order), endpoints, tuple(edges), labels, name, levels)


def _ends(words: list[str], where: str) -> list[_End]:
    """The names of a line, latencies left out."""
    ends: list[_End] = []
    k = 0
    while k < len(words):
        kind = words[k].lower()
        if kind not in _KINDS:
            raise InputError(f"{where}: '{shortened(words[k])}': 'node N' or 'router N' required")
        number = whole_number(words[k + 1]) if k + 1 < len(words) else None
        if number is None or not 0 <= number < 2**31:
            given = shortened(words[k + 1]) if k + 1 < len(words) else "nothing"
            raise InputError(f"{where}: {kind} '{given}': a number from 0 to 2^31 - 1 required")
        ends.append((kind, number))
        k += 2
        if k < len(words) and words[k].lower() not in _KINDS:
            latency = whole_number(words[k])
            if latency is None or latency < 1 or len(ends) == 1:
                raise InputError(
                    f"{where}: '{shortened(words[k])}': 'node N', 'router N' or a link's "
                    "latency required"
                )
            k += 1
    return ends


def _join(joined: dict[tuple[_End, _End], str], a: _End, b: _End, where: str) -> None:
    if a == b:
        raise InputError(f"{where}: joins {a[0]} {a[1]} to itself")
    first, second = sorted((a, b), key=lambda end: (_KINDS.index(end[0]), end[1]))
    if second[0] == "node":
        raise InputError(f"{where}: joins node {a[1]} to node {b[1]}; a node is joined to a router")
    joined.setdefault((first, second), where)
