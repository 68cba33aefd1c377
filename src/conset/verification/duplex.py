"""Duplex `exchange`: a node that both sends and receives in a group of transfers does so with one partner."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conset.verification.traffic import Groups, Ints, Traffic
from conset.verification.verification import Violation

_TRANSFERS = 1 << 20
_SHOWN = 8


def check_duplex(traffic: Traffic, groups: Groups, window: int = 1) -> list[Violation]:
    """Rule `duplex`; the transfer named is the first whose partner is not that of the node's first one.

    O(t log t) for t transfers of a chunk; a group is never cut.
    """
    found = []
    for low, high in groups.chunks(groups.count, _TRANSFERS):
        blocks = list(groups.blocks(low, high, max(1, groups.transfers)))
        for ids, group in blocks:
            used = traffic.networked(ids)
            for g, node, users, partners in _conflicts(traffic, ids[used], group[used]):
                found.append(_violation(traffic, g + low, node, users, partners, window))
    return found


def _conflicts(traffic: Traffic, ids: Ints, group: Ints) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """(group, node, its transfers in list order, their other ends) of every node that breaks the rule."""
    if not ids.size:
        return
    nodes = traffic.topology.nodes
    source, target = traffic.source[ids].astype(np.intp), traffic.target[ids].astype(np.intp)
    key = np.concatenate([group * nodes + source, group * nodes + target])
    partner = np.concatenate([target, source])
    sends = np.repeat([True, False], ids.size)
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    partner, sends = partner[order], sends[order]
    several = np.minimum.reduceat(partner, start) != np.maximum.reduceat(partner, start)
    both = np.logical_or.reduceat(sends, start) & np.logical_or.reduceat(~sends, start)
    stop = np.append(start[1:], order.size)
    for n in np.flatnonzero(several & both).tolist():
        of_node = slice(int(start[n]), int(stop[n]))
        users = ids[order[of_node] % ids.size]
        rank = np.argsort(users, kind="stable")
        g, node = divmod(int(key[order[start[n]]]), nodes)
        yield g, node, users[rank].tolist(), partner[of_node][rank].tolist()


def _violation(traffic: Traffic, g: int, node: int, users: list[int], partners: list[int], window: int) -> Violation:
    other = next(k for k, partner in zip(users, partners, strict=True) if partner != partners[0])
    phase, transfer = traffic.place_of(other)
    if window == 1:
        when, rule = f"phase {g}", "duplex"
        shown = [str(traffic.place_of(k)[1]) for k in users[:_SHOWN]]
    else:
        when = f"phases {g} to {g + min(window, traffic.phases) - 1} together"
        rule, shown = "window-duplex", ["{}:{}".format(*traffic.place_of(k)) for k in users[:_SHOWN]]
    if len(users) > _SHOWN:
        shown.append("…")
    name, count = traffic.topology.node_name(node), len(set(partners))
    text = f"{when}: {name} sends and receives with {count} partners (transfers {', '.join(shown)}), "
    text += "duplex exchange allows 1"
    return Violation(phase, transfer, rule, text)
