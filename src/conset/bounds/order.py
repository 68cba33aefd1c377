"""Order: messages that must follow one another need a phase each.

Statement: phases ≥ messages on the longest chain of `before`. Proof: each ends in an earlier phase than the next one.
Class: no timetables (inside a phase a timetable may keep the order), any routes, whole or split messages. Witness: the
chain. Time and memory O(pairs).
"""

from __future__ import annotations

from graphlib import TopologicalSorter

from conset.bounds.question import Found, Question

SHOWN = 6
"""Messages of a chain that are named."""


def bound_order(question: Question) -> Found | None:
    """The longest chain; None without an order or with timetables."""
    before = question.pattern.before
    if before is None or question.timetabled:
        return None
    graph = TopologicalSorter[int]()
    behind: dict[int, list[int]] = {}
    for i, j in before.tolist():
        graph.add(j, i)
        behind.setdefault(j, []).append(i)
    length: dict[int, int] = {}
    previous: dict[int, int] = {}
    for m in graph.static_order():
        last = max(behind.get(m, ()), key=lambda i: (length[i], -i), default=-1)
        previous[m] = last
        length[m] = 1 + length.get(last, 0)
    end = max(length, key=lambda m: (length[m], -m))
    chain = [end]
    while previous[chain[-1]] >= 0:
        chain.append(previous[chain[-1]])
    names = [str(m) for m in reversed(chain)]
    shown = names if len(names) <= SHOWN else [*names[: SHOWN - 1], "…", names[-1]]
    return Found(length[end], f"messages {' before '.join(shown)}: {length[end]} that must follow one another")
