"""Partners in the terminal: who exchanges with whom, one row a rank, one column a phase."""

from __future__ import annotations

from rich.markup import escape

from conset.report.terminal import more
from conset.schedule.schedule import Schedule

Partners = list[list[tuple[list[int], list[int]]]]
"""`partners[rank][phase]`: (targets, sources) of the rank in the phase, rising."""


def partners_of(schedule: Schedule, ranks: int | None = None, phases: int | None = None) -> Partners:
    """Targets and sources of every rank in every phase; of the first `ranks` and `phases` where given."""
    ranks = schedule.pattern.ranks if ranks is None else min(ranks, schedule.pattern.ranks)
    phases = schedule.phases if phases is None else min(phases, schedule.phases)
    table: Partners = [[([], []) for _ in range(phases)] for _ in range(ranks)]
    for p in range(phases):
        message = schedule.message[schedule.phase(p)]
        ends = zip(schedule.pattern.source[message].tolist(), schedule.pattern.target[message].tolist(), strict=True)
        for source, target in sorted(set(ends)):
            if source < ranks:
                table[source][p][0].append(target)
            if target < ranks:
                table[target][p][1].append(source)
    return table


def cell(targets: list[int], sources: list[int]) -> str:
    """`↔p` for an exchange, `→t` and `←s` for what goes one way, `·` for nothing."""
    both = [rank for rank in targets if rank in set(sources)]
    entries = [f"↔{rank}" for rank in both]
    entries += [f"→{rank}" for rank in targets if rank not in both]
    entries += [f"←{rank}" for rank in sources if rank not in both]
    if len(entries) > 4:
        return f"{' '.join(entries[:3])} +{len(entries) - 3}"
    return " ".join(entries) or "·"


def partners_text(schedule: Schedule, *, width: int = 100, rows: int = 64) -> str:
    """The table, as many phases as fit into `width` characters and at most `rows` ranks; the rest is counted."""
    table = partners_of(schedule, ranks=rows, phases=width // 3)
    label = max(len("rank"), len(str(len(table) - 1)))
    columns: list[list[str]] = []
    used = label + 2
    for p in range(len(table[0])):
        cells = [cell(*row[p]) for row in table]
        wide = max(len(str(p)), *(len(text) for text in cells))
        if used + wide + 2 > width and columns:
            break
        columns.append([text.ljust(wide) for text in [str(p), *cells]])
        used += wide + 2
    names = ["rank".rjust(label), *(str(rank).rjust(label) for rank in range(len(table)))]
    lines = ["  ".join([name, *(column[k] for column in columns)]).rstrip() for k, name in enumerate(names)]
    text = [f"[dim]{escape(lines[0])}[/]", *(escape(line) for line in lines[1:])]
    if schedule.pattern.ranks > len(table):
        text.append(more(schedule.pattern.ranks - len(table), "ranks"))
    if schedule.phases > len(columns):
        text.append(more(schedule.phases - len(columns), "phases to the right"))
    return "\n".join(text)
