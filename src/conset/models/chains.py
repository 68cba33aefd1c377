"""Chains: the way of every transfer through the linkage tables of its phase.

Row by row, from the tables alone.

The gate of a source feeds a channel; at every node the table says the next node and channel; the
chain ends at a gate. Transfers whose gate feeds the same channel are one connection, which carries
them one after the other. A table that is wrong is found here: a channel that two connections feed,
one that leads nowhere or in a circle, elements that come out of the gate of another node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conset.base import Bools, Indices, InputError, Ints, Ints32
from conset.machine import Topology
from conset.schedule import GATE, LinkageTable


@dataclass(frozen=True, eq=False)
class Chains:
    """The connections of one phase.

    Attributes:
        connection: shape=(transfers), int32: of each transfer; -1 for one that never leaves its
            node.
        offsets: shape=(connections + 1), int64: where the stops of each begin.
        node: shape=(stops), int32: of each stop, from the source's to the target's.
        channel: shape=(stops), int32.
        link: shape=(stops), int32: the link that leaves each, `GATE` at the last.
    """

    connection: Ints32
    offsets: Ints
    node: Ints32
    channel: Ints32
    link: Ints32


def follow_tables(
    table: LinkageTable,
    source: Ints32,
    target: Ints32,
    topology: Topology,
    phase: int = 0,
) -> Chains:
    """The chains of the transfers of one phase.

    Args:
        table: the rows of the phase; `transfer` numbers its transfers from 0.
        source: shape=(transfers): the node each transfer leaves.
        target: shape=(transfers): the node it is for.
        topology: for the names of nodes.
        phase: for messages.

    Raises:
        InputError: the tables do not bring a transfer to its node; names the phase, the node and
            what is wrong.
    """
    where = f"linkage tables of phase {phase}"
    width = int(max(table.channel.max(initial=0), table.next_channel.max(initial=0))) + 1
    key = table.node.astype(np.int64) * width + table.channel
    rows, at = _distinct(table, key, topology, where)
    next_key = np.where(
        table.next_node == GATE, -1, table.next_node.astype(np.int64) * width + table.next_channel
    )[at]
    next_row = np.searchsorted(rows, next_key).clip(0, max(rows.size - 1, 0))
    ends = next_key < 0
    lost = (
        np.flatnonzero(~ends & (rows[next_row] != next_key)) if rows.size else np.zeros(0, np.int64)
    )
    if lost.size:
        node, channel = divmod(int(next_key[int(lost[0])]), width)
        raise InputError(
            f"{where}: nothing is linked to channel {channel} of {topology.node_name(node)}"
        )
    _check_fed_once(table, at, next_row, ends, topology, where)
    start, connection = _starts(table, key, rows, source, topology, where)
    return _walk(table, at, next_row, ends, start, connection, (source, target), topology, where)


def _distinct(
    table: LinkageTable, key: Ints, topology: Topology, where: str
) -> tuple[Ints, Indices]:
    """(keys of the channels in use, rising; a row of each): rows of one channel say the same."""
    rows, at, same = np.unique(key, return_index=True, return_inverse=True)
    for name in ("from_node", "next_node", "next_channel", "next_link"):
        values = getattr(table, name)
        twice = np.flatnonzero(values != values[at][same])
        if twice.size:
            k = int(twice[0])
            one, other = sorted((int(table.transfer[at[same[k]]]), int(table.transfer[k])))
            raise InputError(
                f"{where}: channel {table.channel[k]} of {topology.node_name(int(table.node[k]))} "
                "is linked twice, by "
                f"transfers {one} and {other}"
            )
    return rows, at


def _check_fed_once(
    table: LinkageTable,
    at: Indices,
    next_row: Indices,
    ends: Bools,
    topology: Topology,
    where: str,
) -> None:
    """Every channel is fed by one channel of the node that its row names, or by its gate."""
    inner = np.flatnonzero(~ends)
    fed = np.bincount(next_row[inner], minlength=at.size) + (table.from_node[at] == GATE)
    wrong = np.flatnonzero(fed != 1)
    stranger = inner[table.from_node[at[next_row[inner]]] != table.node[at[inner]]]
    if wrong.size or stranger.size:
        k = at[int(wrong[0]) if wrong.size else int(next_row[stranger[0]])]
        what = (
            f"is fed by {fed[wrong[0]]} channels and gates"
            if wrong.size
            else "is fed by another node than it says"
        )
        raise InputError(
            f"{where}: channel {table.channel[k]} of "
            f"{topology.node_name(int(table.node[k]))} {what}"
        )


def _starts(
    table: LinkageTable,
    key: Ints,
    rows: Ints,
    source: Ints32,
    topology: Topology,
    where: str,
) -> tuple[Indices, Ints32]:
    """(the first row of each connection, the connection of each transfer)."""
    gates = np.flatnonzero(table.from_node == GATE)
    first = np.full(source.size, -1, np.int64)
    first[table.transfer[gates]] = key[gates]
    there = np.zeros(source.size, bool)
    there[table.transfer] = True
    none = np.flatnonzero(there & (first < 0))
    if none.size:
        raise InputError(f"{where}: no gate feeds transfer {none[0]}")
    wrong = gates[table.node[gates] != source[table.transfer[gates]]]
    if wrong.size:
        k = int(wrong[0])
        t = int(table.transfer[k])
        given, required = topology.node_name(int(table.node[k])), topology.node_name(int(source[t]))
        raise InputError(
            f"{where}: transfer {t} goes in at the gate of {given}, must be that of {required}"
        )
    connection = np.full(source.size, -1, np.int32)
    starts, number = np.unique(first[there], return_inverse=True)
    connection[there] = number
    return np.searchsorted(rows, starts), connection


def _walk(
    table: LinkageTable,
    at: Indices,
    next_row: Indices,
    ends: Bools,
    start: Indices,
    connection: Ints32,
    between: tuple[Ints32, Ints32],
    topology: Topology,
    where: str,
) -> Chains:
    """All chains at once, a stop each step.

    They share no row, so there are as many steps as rows at most.
    """
    here, who = start, np.arange(start.size)
    owners, stops, last = [], [], np.zeros(start.size, np.intp)
    while who.size:
        owners.append(who)
        stops.append(here)
        last[who] = here
        goes = ~ends[here]
        who, here = who[goes], next_row[here[goes]]
        if len(stops) > at.size:
            raise InputError(f"{where}: channels are linked in a circle")
    source, target = between
    used = np.flatnonzero(connection >= 0)
    out = table.node[at[last]][connection[used]]
    wrong = np.flatnonzero(out != target[used])
    if wrong.size:
        t = int(used[wrong[0]])
        ends_text = (
            f"transfer {t} ({topology.node_name(int(source[t]))} → "
            f"{topology.node_name(int(target[t]))})"
        )
        raise InputError(
            f"{where}: the bytes of {ends_text} come out of the gate of "
            f"{topology.node_name(int(out[wrong[0]]))}"
        )
    owner, row = (np.concatenate([np.zeros(0, np.intp), *pieces]) for pieces in (owners, stops))
    order = np.argsort(owner, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=start.size))]).astype(
        np.int64
    )
    row = at[row[order]]
    return Chains(connection, offsets, table.node[row], table.channel[row], table.next_link[row])
