"""Fabrics: networks of switches as InfiniBand's own tools write them.

Cables, ranges of local identifiers (LIDs) and rates are in the output of `ibnetdiscover`; what each
switch does with each LID (its linear forwarding table) is in that of `dump_fts` or `ibroute`, in
OpenSM's `opensm-lfts.dump`, and in `.fdbs` files of OpenSM and ibdiagnet. A table names a port, so
every cable is two links, named by the ports at which they begin (`leafA:14`).

- Hosts are endpoints, in natural order of their names (`host2` before `host10`); switches follow.
  A host is all its channel adapters (`n1 HCA-1`, `n1 mlx5_1`), its ports are rails. Aggregation
  nodes inside switches and routers to other subnets hold no ranks and are left out.
- Routes: with one port and one LID per host what the tables have (routing `forwarding`). With
  several ports, or 2^lmc LIDs a port, there are several routes for each pair: a message from host s
  to host t leaves by rail (s + t) mod rails, for the port of that rail at t, by its LID number
  ⌊(s + t) / rails⌋ mod 2^lmc (routing `table`).
- Rates are what is left of the signalling rate for data: 8 of 10 bits up to QDR, 64 of 66 up to
  EDR, 256 of 257 with forward error correction (514 of 544) from HDR on.

Tables are read as arrays, block by block: 11 million entries take seconds.

Sources: infiniband-diags (`ibnetdiscover.c`, `dump_fts.c`), OpenSM (`osm_ucast_mgr.c`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from conset.base import (
    Array,
    InputError,
    Ints,
    Ints32,
    count_of,
    printable,
    require_file,
    shortened,
)
from conset.machine.network.routing import Routing, is_tree, stray_entry
from conset.machine.network.topology import Topology, most_of, require_connected

LANE_Gbps: Mapping[str, float] = {
    "SDR": 2.5 * 8 / 10,
    "DDR": 5 * 8 / 10,
    "QDR": 10 * 8 / 10,
    "FDR10": 10.3125 * 64 / 66,
    "FDR": 14.0625 * 64 / 66,
    "EDR": 25.78125 * 64 / 66,
    "HDR": 53.125 * 256 / 257 * 514 / 544,
    "NDR": 106.25 * 256 / 257 * 514 / 544,
    "XDR": 212.5 * 256 / 257 * 514 / 544,
}
"""Data of one lane by the name of its generation."""
MAX_TABLE = 2048
"""Most hosts with several routes for each pair."""
MAX_LID = 0xFFFF
NO_WAY = 255
"""The port of a LID that a switch cannot reach."""
MISSING, UNREACHABLE = -1, -2
"""No entry of a table; one that says that there is no way."""
MAX_NOTES = 5
"""Warnings of one kind that are given one by one."""

_NODE = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([SHR]-[0-9a-fA-F]{1,16})"\s*#\s*"(.*?)"')
_PORT = re.compile(
    r'\[(\d{1,9})\](?:\[ext \d+\])?\s*(?:\(([0-9a-f]{1,16})\))?\s*"([^"]+)"\[(\d{1,9})\]'
    r"(?:\[ext \d+\])?\s*(?:\(([0-9a-f]{1,16})\))?\s*#\s*(.*)"
)
_RATE = re.compile(r"\b([1-9]\d{0,2})x([A-Z]+(?:10)?)\b", re.ASCII)
_LID = re.compile(r"\blid (\d{1,9})\b(?: lmc (\d{1,9})\b)?")
_ADAPTER = re.compile(r"(\S+)\s+(?:HCA-\d+|[a-z]+\d*_\d+)")
_TABLE = re.compile(
    r"Unicast lids .*?guid 0x([0-9a-fA-F]{1,16})\b|[\w ]*: Switch 0x([0-9a-fA-F]{1,16})\b"
)
_HEAD = re.compile(rb"^(?:Unicast lids |[\w ]*: Switch 0x)", re.MULTILINE)
_ENTRY = re.compile(rb"0x([0-9a-fA-F]{1,8})\s*:?\s+(\d{1,9}\b|UNREACHABLE)")
_OWNER = re.compile(
    rb"^0x([0-9a-fA-F]{1,8}) .*Channel Adapter portguid 0x([0-9a-fA-F]{1,16})\b", re.MULTILINE
)
_ORDER = re.compile(r"0x[0-9a-fA-F]{1,4}\t\S.*")
_PIECE = 1 << 26
"""Bytes of a file of tables that are read at once."""
_NEWLINE, _ZERO, _X = b"\n0x"
_HEX = np.full(256, -1, np.int64)
_HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_HEX[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


@dataclass(frozen=True)
class Port:
    """One end of a cable.

    Attributes:
        node: the identifier of its switch or channel adapter.
        number: of the port.
        peer: (node, port) of the other end.
        rate: as written, `4xEDR`.
        where: file and line.
        lid: of an adapter's port; -1 of a switch.
        lmc: how many low bits of a LID it answers whatever they are.
        guid: of an adapter's port, hexadecimal.
    """

    node: str
    number: int
    peer: tuple[str, int]
    rate: str
    where: str
    lid: int = -1
    lmc: int = 0
    guid: str = ""

    @property
    def rate_Bps(self) -> float:  # noqa: N802
        """What it carries [B/s].

        Raises:
            InputError: an unknown generation; names file and line.
        """
        found = _RATE.fullmatch(self.rate)
        if found is None or found[2] not in LANE_Gbps:
            known = ", ".join(LANE_Gbps)
            raise InputError(f"{self.where}: rate '{self.rate}': lanes x one of {known} required")
        return int(found[1]) * LANE_Gbps[found[2]] * 1e9 / 8


@dataclass
class Cabling:
    """Nodes and cables of `ibnetdiscover`, as read.

    Attributes:
        where: the file.
        names: of switches and adapters, by their identifiers.
        host: of each adapter, by its identifier, the name of its host.
        switches: identifiers, in natural order of their names.
        hosts: names, in the order of endpoints.
        ports: both ends of every cable between these, by node and number.
        notes: what a reader should know.
    """

    where: str
    names: dict[str, str] = field(default_factory=dict)
    host: dict[str, str] = field(default_factory=dict)
    switches: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    ports: dict[tuple[str, int], Port] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def rails(self) -> dict[str, list[Port]]:
        """The ports of each host, in natural order of its adapters."""
        found: dict[str, list[Port]] = {host: [] for host in self.hosts}
        for port in sorted(
            (port for port in self.ports.values() if port.node in self.host),
            key=lambda port: (natural_key(self.names[port.node]), port.node, port.number),
        ):
            if self.host[port.node] in found:
                found[self.host[port.node]].append(port)
        return found

    def port_name(self, port: Port) -> str:
        """`leafA port 14`."""
        return f"{self.names[port.node]} port {port.number}"


@dataclass(frozen=True)
class Fabric:
    """A network of hosts and switches, with its routes.

    Attributes:
        topology: hosts first.
        routing: of its tables; None: there are none.
        costs: cost parameters that follow from its cables (`link`, `port`), with their values.
        source: where these come from.
        notes: what a reader should know.
        is_tree: whether there is one way between two hosts, so that no table is missed.
    """

    topology: Topology
    routing: Routing | None
    costs: Mapping[str, str]
    source: str
    notes: tuple[str, ...]
    is_tree: bool = False


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sorts `host2` before `host10`."""
    parts = re.split(r"(\d+)", name)
    return [
        (0, len(part.lstrip("0")), part.lstrip("0")) if k % 2 else (1, 0, part)
        for k, part in enumerate(parts)
    ]


def fabric_kind(path: Path) -> str:
    """What of a fabric a file is: `network`, `routes`, `order`, or "" for another file."""
    with path.open("rb") as file:
        head = file.read(1 << 14).decode("utf-8", "replace").splitlines()
    for line in head:
        if _NODE.match(line):
            return "network"
        if _TABLE.match(line):
            return "routes"
    filled = [line for line in head[:-1] if line.strip()]
    return "order" if filled and all(_ORDER.fullmatch(line) for line in filled) else ""


def table_form(path: Path) -> str:
    """Which tool's form the forwarding tables of a file have."""
    with path.open("rb") as file:
        head = _HEAD.search(file.read(1 << 14))
    text = head.string[head.start() :].partition(b"\n")[0] if head else b""
    if not text.startswith(b"Unicast"):
        return "fdbs"
    return "opensm-lfts.dump" if b"of switch Lid" in text else "dump_fts"


def read_fabric(
    network: Path,
    routes: Path | None = None,
    order: Path | None = None,
    hosts: Sequence[str] = (),
) -> Fabric:
    """The fabric of the files of its tools.

    Args:
        network: the output of `ibnetdiscover`.
        routes: forwarding tables of all its switches; None: unknown.
        order: `opensm-ftree-ca-order.dump`, which has the order of the hosts.
        hosts: the hosts of a job, in their order; () for all.

    Raises:
        InputError: a file that is cut short or contradicts itself, or a table that does not lead
            where it should; names file and line, or switch, LID and port.
    """
    cabling = read_cabling(network)
    if order is not None:
        lines = require_file(order).read_text(encoding="utf-8", errors="replace").splitlines()
        first = select_hosts(cabling.hosts, [line.split("\t")[-1] for line in lines], "")
        if not first:
            raise InputError(f"{order.name}: has no host of {cabling.where}")
        cabling.hosts = [*first, *(host for host in cabling.hosts if host not in set(first))]
    if hosts:
        cabling.hosts = select_hosts(cabling.hosts, hosts, cabling.where)
    tables = None if routes is None else _Tables.read(routes, cabling)
    if tables is not None and not hosts:
        tables.leave_unreachable()
    return _build(cabling, tables)


def host_numbers(known: Sequence[str], wanted: Iterable[str], where: str) -> list[int]:
    """The place in `known` of each host that is named, whether with or without its domain.

    Raises:
        InputError: one is not known, unless `where` is "": then it is left out.
    """
    by_name = {host.split(".")[0]: k for k, host in reversed([*enumerate(known)])}
    by_name |= {host: k for k, host in enumerate(known)}
    found: list[int] = []
    for name in wanted:
        number = by_name.get(name, by_name.get(name.split(".")[0], -1))
        if number >= 0:
            found.append(number)
        elif where:
            raise InputError(f"hosts: '{shortened(name)}' is no host of {where}")
    return found


def select_hosts(known: Sequence[str], wanted: Iterable[str], where: str) -> list[str]:
    """The hosts that are named, each once, in that order; raises as `host_numbers`."""
    return [known[k] for k in dict.fromkeys(host_numbers(known, wanted, where))]


def read_cabling(path: Path) -> Cabling:
    """The nodes and cables in the output of `ibnetdiscover`.

    Raises:
        InputError: no node, a line that is none of its, a cable that one end does not know.
    """
    text = require_file(path).read_text(encoding="utf-8", errors="replace")
    cabling, kinds, at = Cabling(path.name), dict[str, str](), ""
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path.name}:{number}"
        if line[:1] == "[":
            found = _PORT.match(line)
            if found is None or not at:
                raise InputError(f"{where}: '{shortened(line)}': no port of ibnetdiscover")
            port = _port(at, kinds[at], found, where)
            if (at, port.number) in cabling.ports:
                raise InputError(f"{where}: {cabling.port_name(port)} is given twice")
            cabling.ports[at, port.number] = port
        elif found := _NODE.match(line):
            at = found[3]
            if at in kinds:
                raise InputError(f"{where}: node {at} is given twice")
            kinds[at], cabling.names[at] = found[1], printable(found[4])
        elif line.strip() and line[0] != "#" and not re.match(r"\w+=", line):
            raise InputError(f"{where}: '{shortened(line)}': no line of ibnetdiscover")
    for port in cabling.ports.values():
        back = cabling.ports.get(port.peer)
        if back is None or back.peer != (port.node, port.number):
            other, number = port.peer
            raise InputError(
                f"{port.where}: {cabling.port_name(port)} is joined to "
                f"{cabling.names.get(other, other)} port {number}, which does not say so: the file "
                "is cut short"
            )
    return _with_hosts(cabling, kinds)


def _port(at: str, kind: str, found: re.Match[str], where: str) -> Port:
    rate = _RATE.findall(found[6])
    written = "x".join(rate[-1]) if rate else found[6].rpartition(" ")[2]
    lid, lmc, guid = -1, 0, ""
    if kind != "Switch" and (own := _LID.match(found[6])):
        lid, lmc, guid = int(own[1]), int(own[2] or 0), found[2] or ""
    if lid > MAX_LID or lmc > 7:
        raise InputError(f"{where}: lid {lid} lmc {lmc}: at most {MAX_LID} and 7")
    return Port(at, int(found[1]), (found[3], int(found[4])), written, where, lid, lmc, guid)


def _with_hosts(cabling: Cabling, kinds: Mapping[str, str]) -> Cabling:
    """With adapters gathered to hosts, and what holds no ranks left out."""
    names, often = cabling.names, Counter(cabling.names.values())
    for node, kind in kinds.items():
        adapter = _ADAPTER.fullmatch(names[node])
        if often[names[node]] > 1:
            names[node] = f"{names[node]} {node}"
        if kind == "Ca" and "Aggregation Node" not in names[node]:
            cabling.host[node] = adapter[1] if adapter else names[node]
    cabling.switches = sorted(
        (node for node, kind in kinds.items() if kind == "Switch"),
        key=lambda node: natural_key(names[node]),
    )
    kept = {*cabling.switches, *cabling.host}
    cabling.ports = {
        at: port for at, port in cabling.ports.items() if port.node in kept and port.peer[0] in kept
    }
    direct = {
        at: port
        for at, port in cabling.ports.items()
        if port.node in cabling.host and port.peer[0] in cabling.host
    }
    cabling.notes += few(
        f"{port.where}: the cable {cabling.port_name(port)} – "
        f"{cabling.port_name(cabling.ports[port.peer])} joins two hosts: it is left out"
        for at, port in direct.items()
        if at <= port.peer
    )
    cabling.ports = {at: port for at, port in cabling.ports.items() if at not in direct}
    joined = {cabling.host[node] for node, _ in cabling.ports if node in cabling.host}
    known = sorted({*cabling.host.values()}, key=natural_key)
    cabling.hosts = [host for host in known if host in joined]
    cabling.notes += few(
        f"{cabling.where}: host {host} has no cable: it is left out"
        for host in known
        if host not in joined
    )
    if not cabling.switches or not cabling.hosts:
        raise InputError(f"{cabling.where}: has no switches or no hosts with a cable")
    cabling.notes += _slow_cables(cabling)
    return cabling


def _slow_cables(cabling: Cabling) -> list[str]:
    """Cables that are slower than most of their switch to nodes of the same kind."""
    switch = {node: 2 * k for k, node in enumerate(cabling.switches)}
    ports = [port for port in cabling.ports.values() if port.node in switch]
    kind = np.array([switch[p.node] + (p.peer[0] in switch) for p in ports], np.int32)
    usual = most_of(kind, np.array([port.rate_Bps for port in ports]))
    name = {port.rate_Bps: port.rate for port in ports}
    found: dict[frozenset[tuple[str, int]], str] = {}
    for port, rate in zip(ports, usual.tolist(), strict=True):
        if port.rate_Bps < rate:
            other = cabling.port_name(cabling.ports[port.peer])
            found.setdefault(
                frozenset(((port.node, port.number), port.peer)),
                f"{port.where}: the cable {cabling.port_name(port)} – {other} runs at "
                f"{port.rate}, its siblings at {name[rate]}",
            )
    return few(found.values())


def few(notes: Iterable[str]) -> list[str]:
    """The first notes of a kind, and how many more there are."""
    found = [*notes]
    more = len(found) - MAX_NOTES
    return [*found[:MAX_NOTES], f"{more} more as: {found[0]}"] if more > 0 else found


@dataclass
class _Tables:
    """What each switch does with each LID.

    Attributes:
        where: the file.
        cabling: whose switches they are.
        port: shape=(switches, LIDs), int16: the port; or `MISSING`, `UNREACHABLE`.
    """

    where: str
    cabling: Cabling
    port: NDArray[np.int16]

    @staticmethod
    def read(path: Path, cabling: Cabling) -> _Tables:
        """The tables of all switches.

        Raises:
            InputError: a switch without one or that is not in the network, a broken line.
        """
        most = max(port.lid + (1 << port.lmc) for port in cabling.ports.values())
        numbers = {int(node[2:], 16): k for k, node in enumerate(cabling.switches)}
        tables = _Tables(
            path.name, cabling, np.full((len(numbers), max(most, 1)), MISSING, np.int16)
        )
        if len(numbers) < len(cabling.switches):
            raise InputError(f"{cabling.where}: two switches have one guid")
        seen: set[int] = set()
        for guid, line, block in _blocks(require_file(path)):
            if guid not in numbers:
                raise InputError(
                    f"{path.name}:{line}: switch 0x{guid:016x} is not in {cabling.where}: tables "
                    "of another fabric"
                )
            row = numbers[guid]
            if row in seen:
                raise InputError(f"{path.name}:{line}: a second table of 0x{guid:016x}")
            lid, port = _entries(block, f"{path.name}:{line}")
            inside = lid < tables.port.shape[1]
            tables.port[row, lid[inside]] = port[inside]
            if not seen:
                tables.check_adapters(block, line)
            seen.add(row)
        if left := [node for k, node in enumerate(cabling.switches) if k not in seen]:
            raise InputError(
                f"{path.name}: no table of switch {cabling.names[left[0]]}, "
                f"{len(seen)} of {count_of(len(numbers), 'switch', 'switches')} have one"
            )
        return tables

    def check_adapters(self, block: bytes, line: int) -> None:
        """Whether a table gives the LIDs of adapters to the ports that have them.

        Raises:
            InputError: another port has one; names LID and both.
        """
        guid_of = {
            port.lid + k: int(port.guid, 16)
            for port in self.cabling.ports.values()
            if port.guid
            for k in range(1 << port.lmc)
        }
        for found in _OWNER.finditer(block):
            lid, guid = int(found[1], 16), int(found[2], 16)
            if guid_of.get(lid) not in (None, guid):
                raise InputError(
                    f"{self.where}:{line}: LID {lid} is port 0x{guid:x}, in {self.cabling.where} "
                    f"0x{guid_of[lid]:x}: tables of another fabric"
                )

    def leave_unreachable(self) -> None:
        """Leaves out hosts that a switch with hosts says it cannot reach, with a note."""
        cabling, notes = self.cabling, []
        leaf = {port.peer[0] for ports in cabling.rails().values() for port in ports}
        rows = np.array([k for k, node in enumerate(cabling.switches) if node in leaf])
        for host, ports in cabling.rails().items():
            lids = [port.lid for port in ports if port.lid >= 0]
            lost = np.argwhere(self.port[rows[:, None], lids] == UNREACHABLE)
            if lost.size:
                switch, lid = cabling.switches[rows[lost[0][0]]], lids[lost[0][1]]
                notes.append(
                    f"{self.where}: LID {lid} of host {host} is unreachable at "
                    f"{cabling.names[switch]}: it is left out"
                )
                cabling.hosts.remove(host)
        cabling.notes += few(notes)
        if not cabling.hosts:
            raise InputError(f"{self.where}: no host is reachable from all others")


def _blocks(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """(identifier of the switch, line of its head, its entries) of each table of a file."""
    data, line, known = b"", 1, False
    with path.open("rb") as file:
        while True:
            piece = file.read(_PIECE)
            data += piece
            heads = [found.start() for found in _HEAD.finditer(data)]
            known = known or bool(heads)
            stops = [*heads[1:], *([] if piece else [len(data)])]  # the last may go on
            at = 0
            for head, stop in zip(heads, stops, strict=False):
                line, at = line + data.count(b"\n", at, head), head
                text, _, block = data[head:stop].partition(b"\n")
                found = _TABLE.match(text.decode("utf-8", "replace").strip())
                if found is None:
                    raise InputError(f"{path.name}:{line}: a table without its switch's guid")
                yield int(found[1] or found[2], 16), line, block
            if not piece:
                break
            if heads:
                line += data.count(b"\n", at, heads[-1])
                data = data[heads[-1] :]
    if not known:
        raise InputError(f"{path.name}: has no forwarding tables")


def _entries(block: bytes, where: str) -> tuple[Ints, Ints]:
    """(LIDs, ports) of the lines of a table; `UNREACHABLE` for those that say so.

    Columns are where the first line has them; lines that are otherwise are read one by one.
    """
    text = np.frombuffer(block + b" " * 16, np.uint8)
    starts = np.flatnonzero(text[:-16] == _NEWLINE) + 1
    starts = np.concatenate([[0], starts])
    starts = starts[(text[starts] == _ZERO) & (text[starts + 1] == _X)]
    if not starts.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    columns = text[starts[:, None] + np.arange(16)]
    first = re.match(rb"0x[0-9a-fA-F]{4}( +:? *)\d{3}(?!\d)", columns[0].tobytes())
    at = 6 + (len(first[1]) if first else 1)
    digit, place = _HEX[columns[:, 2:6]], _HEX[columns[:, at : at + 3]]
    gap = columns[:, 6:at]
    plain = (digit >= 0).all(axis=1) & ((place >= 0) & (place < 10)).all(axis=1)
    plain &= ((gap == ord(" ")) | (gap == ord(":"))).all(axis=1)
    plain &= _HEX[columns[:, at + 3]] < 0
    lid = digit @ np.array([4096, 256, 16, 1])
    port = place @ np.array([100, 10, 1])
    for k in np.flatnonzero(~plain).tolist():
        line = block[starts[k] : starts[k] + 200].split(b"\n", 1)[0]
        found = _ENTRY.match(line)
        if found is None:
            raise InputError(f"{where}: '{shortened(line.decode('utf-8', 'replace'))}': no entry")
        lid[k] = int(found[1], 16)
        port[k] = UNREACHABLE if found[2] == b"UNREACHABLE" else int(found[2])
    if (wrong := np.flatnonzero((lid > MAX_LID) | (port > NO_WAY))).size:
        k = int(wrong[0])
        raise InputError(f"{where}: LID {lid[k]} by port {port[k]}: at most {MAX_LID} and {NO_WAY}")
    return lid, np.where(port == NO_WAY, UNREACHABLE, port)


def _build(cabling: Cabling, tables: _Tables | None) -> Fabric:
    """Topology, costs and routes."""
    nodes = {host: k for k, host in enumerate(cabling.hosts)}
    nodes |= {node: len(nodes) + k for k, node in enumerate(cabling.switches)}
    number = {node: nodes[host] for node, host in cabling.host.items() if host in nodes}
    number |= {node: nodes[node] for node in cabling.switches}
    ports = [p for p in cabling.ports.values() if p.node in number and p.peer[0] in number]
    # of parallel links number k one way and number k back are one cable
    ports.sort(
        key=lambda p: (
            number[p.node],
            number[p.peer[0]],
            p.number if number[p.node] < number[p.peer[0]] else p.peer[1],
        )
    )
    source = np.array([number[port.node] for port in ports], np.int64)
    target = np.array([number[port.peer[0]] for port in ports], np.int64)
    rates = np.array([port.rate_Bps for port in ports])
    rate, _ = Counter(port.rate for port in ports).most_common(1)[0]
    usual = next(port for port in ports if port.rate == rate).rate_Bps
    topology = Topology.of_links(
        len(cabling.hosts),
        len(nodes),
        source,
        target,
        rate_Bps=rates if np.ptp(rates) else None,
        labels=(*cabling.hosts, *(cabling.names[node] for node in cabling.switches)),
        link_labels=[f"{cabling.names[port.node]}:{port.number}" for port in ports],
    )
    leaf = {number[port.peer[0]] for port in cabling.ports.values() if port.node in cabling.host}
    topology = with_levels(topology, leaf)
    of_host = np.bincount(source, rates)[: topology.endpoints].max()
    costs = {
        "link": f"{usual!r} B/s",
        "port": f"{float(of_host)!r} B/s",
        "switching": "infiniband",
    }
    notes = tuple(cabling.notes)
    lanes, name = rate.split("x")
    where = f"{cabling.where}: {rate}, {lanes} lanes of {LANE_Gbps[name]:.4g} Gbit/s of data"
    if tables is None:
        require_connected(topology, cabling.where)
        return Fabric(topology, None, costs, where, notes)
    link_of = {(port.node, port.number): k for k, port in enumerate(ports)}
    links = np.full((len(cabling.switches), NO_WAY + 1), -1, np.int32)
    for (node, p), link in link_of.items():
        if node not in cabling.host and p < NO_WAY:
            links[number[node] - topology.endpoints, p] = link
    walker = _Walker(tables, topology, links, cabling.rails(), link_of)
    return Fabric(topology, walker.routing(), costs, where, notes)


def with_levels(topology: Topology, leaves: Iterable[int]) -> Topology:
    """With the height of every node, where links join neighbours only, as in a tree of switches.

    Leaves have 1, even those whose hosts are left out; of others it is the distance to the nearest
    leaf, and one more.
    """
    level = np.full(topology.nodes, -1, np.int32)
    level[: topology.endpoints] = 0
    level[list(leaves)] = 1
    for height in range(2, topology.nodes):
        near = topology.link_target[level[topology.link_source] == height - 1]
        near = near[level[near] < 0]
        if not near.size:
            break
        level[near] = height
    levelled = replace(topology, level=level)
    return levelled if (level >= 0).all() and is_tree(levelled) else topology


@dataclass
class _Walker:
    """Routes by tables of ports.

    Attributes:
        tables: the port for each LID, by switch.
        topology: the network.
        links: shape=(switches, ports): the link that begins there, -1: no cable.
        rails: ports of each host.
        link_of: the link that begins at a port.
    """

    tables: _Tables
    topology: Topology
    links: Ints32
    rails: Mapping[str, list[Port]]
    link_of: Mapping[tuple[str, int], int]

    def routing(self) -> Routing:
        """Next links where every host has one LID, else the routes of all pairs.

        Raises:
            InputError: an entry that does not lead to its host; names switch, LID and port.
        """
        ports = [*self.rails.values()]
        self._check_cables([port for each in ports for port in each])
        if all(len(each) == 1 and each[0].lmc == 0 for each in ports):
            lids = np.array([each[0].lid for each in ports])
            next_link = self._next(np.arange(len(self.links))[:, None], lids).astype(np.int32)
            if (stray := stray_entry(self.topology, next_link.ravel())) is not None:
                self._refuse(stray.switch, int(lids[stray.target]), stray.target, stray.reason)
            return Routing("forwarding", next_link=next_link.ravel())
        if self.topology.endpoints > MAX_TABLE:
            raise InputError(
                f"{self.tables.where}: {self.topology.endpoints} hosts with several routes for "
                f"each pair, at most {MAX_TABLE}; hosts= selects those of a job"
            )
        return self._routes_of_pairs(ports)

    def _next(self, row: Array, lid: Array) -> Array:
        """The link by which switches send on what is for LIDs; -1: none."""
        port = self.tables.port[row, lid]
        return np.where(port > 0, self.links[row, np.maximum(port, 0)], -1)

    def _check_cables(self, ports: Sequence[Port]) -> None:
        """Raises `InputError` for the LID of a host whose entry is the switch, or has no cable."""
        for port in ports:
            if port.lid < 0:
                raise InputError(f"{port.where}: {self.tables.cabling.port_name(port)} has no LID")
        lids = np.array([port.lid + k for port in ports for k in range(1 << port.lmc)])
        entry = self.tables.port[:, lids]
        row = np.arange(len(self.links))[:, None]
        wrong = (entry == 0) | ((entry > 0) & (self.links[row, np.maximum(entry, 0)] < 0))
        hosts = self._left_out_cables()
        for k, j in np.argwhere(wrong).tolist():
            if (k, int(entry[k, j])) not in hosts:
                rule = "is the switch itself" if entry[k, j] == 0 else "has no cable"
                name = self.topology.labels[self.topology.endpoints + k]
                raise InputError(
                    f"{self.tables.where}: switch {name} sends LID {lids[j]} to port "
                    f"{entry[k, j]}, which {rule}"
                )

    def _left_out_cables(self) -> set[tuple[int, int]]:
        """(switch, port) of cables to hosts that are not endpoints here."""
        row = {node: k for k, node in enumerate(self.tables.cabling.switches)}
        return {
            (row[node], number)
            for node, number in self.tables.cabling.ports
            if node in row and (node, number) not in self.link_of
        }

    def _routes_of_pairs(self, ports: list[list[Port]]) -> Routing:
        """The routes of all pairs, over rails and LIDs in turn."""
        n = self.topology.endpoints
        source, target = (part.ravel() for part in np.divmod(np.arange(n * n), n))
        count = np.array([len(each) for each in ports])
        most = int(count.max())
        place = np.full((n, most), -1, np.int64)
        lid, ways = place.copy(), np.ones((n, most), np.int64)
        for k, each in enumerate(ports):
            for j, port in enumerate(each):
                place[k, j] = self.link_of[port.node, port.number]
                lid[k, j], ways[k, j] = port.lid, 1 << port.lmc
        turn = source + target
        rail = turn % most
        first = place[source, rail % count[source]]
        own = target, rail % count[target]
        wanted = lid[own] + turn // most % ways[own]
        pair = np.flatnonzero(source != target)
        link, steps = first[pair], []
        for _ in range(self.topology.nodes):
            steps.append((pair, link))
            node = self.topology.link_target[link]
            on = node != target[pair]
            pair, node = pair[on], node[on]
            if not pair.size:
                break
            if (host := np.flatnonzero(node < n)).size:
                k = int(host[0])
                before = int(self.topology.link_source[link[on][k]])
                reason = f"leads to {self.topology.node_name(int(node[k]))}"
                self._refuse(before, int(wanted[pair[k]]), int(target[pair[k]]), reason)
            link = self._next(node - n, wanted[pair])
            if (lost := np.flatnonzero(link < 0)).size:
                k = int(lost[0])
                self._refuse(int(node[k]), int(wanted[pair[k]]), int(target[pair[k]]), "no way")
        else:
            self._refuse(int(node[0]), int(wanted[pair[0]]), int(target[pair[0]]), "loop")
        pairs, links = (np.concatenate(part) for part in zip(*steps, strict=True))
        order = np.argsort(pairs, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(pairs, minlength=n * n))])
        return Routing("table", "parity", offsets, links[order].astype(np.int32))

    def _refuse(self, switch: int, lid: int, target: int, reason: str) -> NoReturn:
        """Raises `InputError` for an entry."""
        port = int(self.tables.port[switch - self.topology.endpoints, lid])
        name, host = (self.topology.labels[node] for node in (switch, target))
        entry = {MISSING: "has no entry for", UNREACHABLE: "cannot reach"}.get(port, "sends")
        rule = "" if port < 0 else f" to port {port}: {reason}"
        raise InputError(f"{self.tables.where}: switch {name} {entry} LID {lid} of {host}{rule}")
