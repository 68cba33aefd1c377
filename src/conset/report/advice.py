"""Advice for people: exchanges in a table, and what would change them, one line each.

Of a record: the exchanges of the program and what to do about each, before the advice on all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conset.base import count_of, format_size, format_time, shortened
from conset.report.sections import Fact, Part, Section, Table

if TYPE_CHECKING:
    from conset.studies import Advice, ExchangeAdvice, RecordAdvice, Rule, WhatIf

MANY = 1e-3
"""Share by which two times differ at least where one is called better."""


def advice_section(advice: Advice, rules: Sequence[Rule] = ()) -> Section:
    """Return the answer, exchanges, and what would change them."""
    pattern, naive, best = advice.pattern, advice.ways[0], advice.ways[-1]
    title = (
        f"{pattern.name} on {advice.machine.name}: {count_of(pattern.ranks, 'rank')}, "
        f"{count_of(pattern.messages, 'message')}"
    )
    facts = [
        *_network_facts(advice),
        *_order_facts(advice),
        *(
            Fact("with", f"{each.name}: at least {format_time(each.least_s)}, {_load(each)}")
            for each in advice.others
        ),
        *(
            Fact(
                "tuning",
                f"from {format_size(rule.size)}: {rule.algorithm}"
                + (f", {rule.in_flight} at once" if rule.in_flight else "")
                + f", {format_time(rule.time_s)}",
            )
            for rule in rules
        ),
        *(Fact("warning", line) for line in advice.machine.warnings),
    ]
    times = format_time(naive.time_s), format_time(best.time_s)
    faster = naive.time_s / best.time_s if best.time_s else 1.0
    answer = (
        f"the best schedule is {faster:.2f} times faster than the {naive.name}: {times[1]}, "
        f"{times[0]} ({best.by})"
        if faster > 1 + MANY
        else f"nothing found is faster than the {naive.name}: {times[0]} ({naive.by})"
    )
    return Section(title, parts=[Part(facts=facts), Part(table=_ways(advice))], answer=answer)


def record_section(advice: RecordAdvice, rules: Sequence[Rule] = ()) -> Section:
    """Return the share that can be reordered, exchanges, and the advice on all that was sent."""
    record, rows = advice.record, advice.exchanges
    able = f"{advice.share:.0%} of the bytes are in exchanges that conset can reorder"
    answer = "nothing to reorder: no exchange and no message was recorded"
    if rows:
        gain = (
            f"predicted gain {advice.gain:.2f} x" if advice.gain > 1 + MANY else "no gain predicted"
        )
        answer = f"{able}; {gain}" if advice.share else able
    groups: dict[tuple[str, ...], list[ExchangeAdvice]] = {}
    for row in rows:
        groups.setdefault(_exchange(row), []).append(row)
    cells = [
        (call, f"{shortened(same[0].members, 30)}{f' … ({len(same)})' if same[1:] else ''}", *rest)
        for (call, *rest), same in groups.items()
    ]
    columns = ("call", "communicator", "ranks", "calls", "bytes", "period", "measured", "own")
    table = Table((*columns, "conset", "bound", "what to do"), cells, left=(0, 1, 10))
    reasons = [
        Fact("why", f"{row.kind} of {count_of(row.ranks, 'rank')}: {row.action}: {row.reason}")
        for row in rows
    ]
    facts = [*(Fact("record", note) for note in record.notes), *dict.fromkeys(reasons)]
    parts = [Part(facts=facts), Part(table=table.without_empty() if rows else None)]
    if advice.advice is not None:
        whole = advice_section(advice.advice, rules)
        parts += [Part(facts=[Fact("whole", f"all as one exchange: {whole.answer}")]), *whole.parts]
    title = f"{record.name} on {advice.machine.name}: {count_of(record.ranks, 'rank')}"
    return Section(title, parts=parts, answer=answer)


def _exchange(row: ExchangeAdvice) -> tuple[str, ...]:
    """Cells of a row, without its communicator: alike rows are one."""
    times = (row.measured_s, row.own_s, row.ordered_s, row.bound_s)
    return (
        row.kind,
        f"{row.ranks:,}",
        f"{row.calls:,}",
        format_size(row.bytes),
        f"{row.period:,}",
        *("" if time_s is None else format_time(time_s) for time_s in times),
        row.action,
    )


def _ways(advice: Advice) -> Table:
    naive = advice.ways[0]
    rows = [
        (
            way.name,
            f"{way.steps:,}",
            f"{way.contention:,.4g}" if way.contention else "",
            format_time(way.time_s),
            f"{naive.time_s / way.time_s:.2f}" if way.time_s else "",
        )
        for way in advice.ways
    ]
    columns = ("exchange", "steps", "contention", "time", "× faster")
    return Table(columns, rows, left=(0,), best=(len(rows) - 1,)).without_empty()


def _network_facts(advice: Advice) -> list[Fact]:
    network, facts = advice.network, []
    if network.cable:
        facts.append(Fact("busiest", _load(network)))
    if advice.repairs:
        first = advice.repairs[0]
        times = format_time(first.least_s), format_time(network.least_s)
        faster = first.least_s * (1 + MANY) < network.least_s
        rule = (
            f"at the rate of its siblings at least {times[0]}, as it is {times[1]}"
            if faster
            else "at the rate of its siblings nothing is faster"
        )
        facts.append(Fact("repair", f"first {first.name}: {rule}"))
    for each in advice.losses[:1]:
        changed = each.least_s > network.least_s * (1 + MANY)
        what = f"at least {format_time(each.least_s)} instead of {format_time(network.least_s)}"
        facts.append(
            Fact("loss", f"worst without {each.name}: {what if changed else 'nothing is slower'}")
        )
    return facts


def _order_facts(advice: Advice) -> list[Fact]:
    own = advice.orders[0]
    if len(advice.orders) == 1:
        return [Fact("rank order", "no other one that was tried is faster")]
    best = advice.orders[1]
    contention = f"contention {own.contention:,.4g} → {best.contention:,.4g}"
    shift = f"shift order {format_time(own.shift_s)} → {format_time(best.shift_s)}, {contention}"
    naive = f"naive {format_time(own.naive_s)} → {format_time(best.naive_s)}"
    return [Fact("rank order", f"{best.name}: {shift}; {naive} (-o x.rankfile writes it)")]


def _load(network: WhatIf) -> str:
    count = count_of(network.messages, "message")
    return f"{network.cable}: {count}, {format_size(network.bytes)}"
