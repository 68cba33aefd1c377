"""The words for costs: one table that machine files, options of a spec and `--set` all read.

A word says which fields of `Costs` it sets, how its value is read, and how it is written for people. The order of the
table is the order in which machines are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isfinite
from typing import Any

from conset.errors import InputError, UsageError, unknown_name
from conset.machine.costs import Costs, Provenance, Steps, Synchronization
from conset.units import format_rate, format_size, format_time, parse_rate, parse_size, parse_time

SYNCS = ("none", "local", "ready", "barrier")
"""Policies that a cost may hold for."""


@dataclass(frozen=True)
class Word:
    """One word for a cost.

    Attributes:
        fields: the fields of `Costs` that it sets, all to the value read.
        read: (value as written, word) → value of the fields; raises UsageError.
        write: the value for people, the inverse of `read` up to rounding.
        unit: of the number in JSON.
        covers: narrower words that this one sets at once.
    """

    fields: tuple[str, ...]
    read: Callable[[Any, str], Any]
    write: Callable[[Any], str]
    unit: str
    covers: tuple[str, ...] = ()


def _plain(value: Any, what: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{what}: a number or a text with a unit required, is {value!r}")
    return value


def _time(value: Any, what: str) -> float:
    return parse_time(_plain(value, what), what)


def _rate(value: Any, what: str) -> float:
    return inf if value == "none" else parse_rate(_plain(value, what), what)


def _step(row: Any, what: str) -> tuple[float, float]:
    if not isinstance(row, Mapping) or "value" not in row:
        raise UsageError(f'{what}: every step is a table {{ up_to = "100 B", value = "65 us" }}, is {row!r}')
    for key in row:
        if key not in ("up_to", "value"):
            raise unknown_name(f"word in a step of {what}", key, ("up_to", "value"))
    limit = float(parse_size(_plain(row["up_to"], what), f"{what}.up_to")) if "up_to" in row else inf
    return limit, _time(row["value"], what)


def _steps(value: Any, what: str) -> Steps:
    """A time, or a list of steps by size."""
    if not isinstance(value, list | tuple):
        return Steps((_time(value, what),))
    rows = [_step(row, what) for row in value]
    limits = tuple(limit for limit, _ in rows)
    if not rows or limits[-1] != inf or any(a >= b for a, b in pairwise(limits)):
        raise UsageError(f"{what}: up_to must rise from step to step and be absent from the last one")
    return Steps(tuple(time for _, time in rows), limits)


def _steps_or_none(value: Any, what: str) -> Steps | None:
    return None if value == "none" else _steps(value, what)


def _half(value: Any, what: str) -> Steps:
    """An overhead for both ends together: half is paid at each (no text has the split)."""
    both = _steps(value, what)
    return Steps(tuple(time / 2 for time in both.seconds), both.up_to_B)


def _synchronization(value: Any, what: str) -> Synchronization:
    """A time, or `{ base = "-134 us", per_log2 = "137 us" }`: base + per_log2 · log2(nodes)."""
    if not isinstance(value, Mapping):
        return Synchronization(_time(value, what))
    for key in value:
        if key not in ("base", "per_log2"):
            raise unknown_name(f"word in {what}", key, ("base", "per_log2"))
    base = parse_time(_plain(value.get("base", 0), what), f"{what}.base", signed=True)
    return Synchronization(base, _time(value.get("per_log2", 0), f"{what}.per_log2"))


def _number(low: float, high: float) -> Callable[[Any, str], float]:
    def read(value: Any, what: str) -> float:
        try:
            number = float(_plain(value, what))
        except ValueError:
            raise UsageError(f"{what} '{value}': a number required") from None
        if not isfinite(number) or not low <= number <= high:
            rule = f"at least {low:g}" + (f" and at most {high:g}" if high < inf else "")
            raise UsageError(f"{what} '{value}': must be {rule}, is {number:g}")
        return number

    return read


def _count(value: Any, what: str) -> int:
    text = str(_plain(value, what)).strip()
    try:
        number = int(text)
    except ValueError:
        raise UsageError(f"{what} '{value}': a whole number required") from None
    if not 1 <= number < 2**31:
        raise UsageError(f"{what} '{value}': must be at least 1 and below 2^31, is {number}")
    return number


def _count_or_all(value: Any, what: str) -> int | None:
    return None if value in ("all", "none") else _count(value, what)


def _size_or(nothing: float | None) -> Callable[[Any, str], float | None]:
    """A size; `none` is what no limit is."""

    def read(value: Any, what: str) -> float | None:
        return nothing if value == "none" else float(parse_size(_plain(value, what), what))

    return read


def _flit(value: Any, what: str) -> int:
    size = parse_size(_plain(value, what), what)
    if size < 1:
        raise UsageError(f"{what} '{value}': must be at least 1 B, is {size} B")
    return size


def _flag(value: Any, what: str) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise UsageError(f"{what} '{value}': must be true or false")
    return bool(value == "true")


def _policies(value: Any, what: str) -> tuple[str, ...]:
    """Names of policies: a list, or `local;ready` in one text."""
    names = [name for name in value.split(";") if name] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise UsageError(f"{what}: a list of policies required, is {value!r}")
    for name in names:
        if name not in SYNCS:
            raise unknown_name("policy", str(name), SYNCS)
    return tuple(names)


def _size_range(value: Any, what: str) -> tuple[float, float]:
    """`["256 B", "16 KiB"]` or `256B;16KiB`; `none` for an open end."""
    ends = value.split(";") if isinstance(value, str) else value
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise UsageError(f"{what}: two sizes required, is {value!r}")
    low = 0.0 if ends[0] == "none" else float(parse_size(_plain(ends[0], what), what))
    high = inf if ends[1] == "none" else float(parse_size(_plain(ends[1], what), what))
    if low > high:
        raise UsageError(f"{what}: must rise, is {low:g} B to {high:g} B")
    return low, high


def _write_rate(rate: float) -> str:
    return "none" if rate == inf else format_rate(rate)


def _write_steps(steps: Steps) -> str:
    parts = [format_time(time) for time in steps.seconds]
    limits = [f" up to {limit:g} B" for limit in steps.up_to_B[:-1]] + [" above" if len(parts) > 1 else ""]
    return ", ".join(part + limit for part, limit in zip(parts, limits, strict=True))


def _write_steps_or_none(steps: Steps | None) -> str:
    return "none" if steps is None else _write_steps(steps)


def _write_double(steps: Steps) -> str:
    return _write_steps(steps + steps)


def _write_synchronization(barrier: Synchronization) -> str:
    if barrier.per_log2_s == 0:
        return format_time(barrier.base_s)
    sign = "-" if barrier.base_s < 0 else "+"
    rest = f" {sign} {format_time(abs(barrier.base_s))}" if barrier.base_s else ""
    return f"{format_time(barrier.per_log2_s)} · log2 N{rest}"


def _write_count(count: int | None) -> str:
    return "all" if count is None else str(count)


def _write_size(size: float | None) -> str:
    return "none" if size is None or size == inf else format_size(size)


def _write_range(ends: tuple[float, float]) -> str:
    return f"from {format_size(ends[0])}" + (f" to {format_size(ends[1])}" if ends[1] < inf else "")


def _write_plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


WORDS: dict[str, Word] = {
    "overhead": Word(("inject", "eject"), _half, _write_double, "s per message", ("inject", "eject")),
    "inject": Word(("inject",), _steps, _write_steps, "s per message"),
    "eject": Word(("eject",), _steps, _write_steps, "s per message"),
    "port": Word(("port_out_Bps", "port_in_Bps"), _rate, _write_rate, "B/s", ("port_out", "port_in")),
    "port_out": Word(("port_out_Bps",), _rate, _write_rate, "B/s"),
    "port_in": Word(("port_in_Bps",), _rate, _write_rate, "B/s"),
    "node": Word(("node_Bps",), _rate, _write_rate, "B/s in and out together"),
    "exchange_weight": Word(("exchange_weight",), _number(0.5, 1), _write_plain, "share of a byte"),
    "exchange_syncs": Word(("exchange_syncs",), _policies, lambda names: ", ".join(names) or "none", "policies"),
    "link": Word(("link_Bps",), _rate, _write_rate, "B/s per direction and width"),
    "hop": Word(("hop_s",), _time, format_time, "s per link"),
    "hop_by_size": Word(("hop_by_size",), _steps_or_none, _write_steps_or_none, "s per link"),
    "synchronization": Word(("synchronization",), _synchronization, _write_synchronization, "s per barrier"),
    "setup": Word(("setup_s",), _time, format_time, "s per phase"),
    "signal": Word(("signal_s",), _time, format_time, "s per signal"),
    "first_barrier": Word(("first_barrier",), _flag, _write_plain, "yes or no"),
    "tolerance": Word(("tolerance",), _count, _write_plain, "messages per link"),
    "blocking": Word(("blocking",), _number(0, 10), _write_plain, "exponent"),
    "per_transfer": Word(("per_transfer_s",), _time, format_time, "s per transfer"),
    "in_flight": Word(("in_flight",), _count_or_all, _write_count, "messages per rank"),
    "receives": Word(("receives",), _count_or_all, _write_count, "messages per rank"),
    "lanes": Word(("lanes",), _count, _write_plain, "per link"),
    "one_processor": Word(("one_processor",), _flag, _write_plain, "yes or no"),
    "preempts": Word(("preempts",), _flag, _write_plain, "yes or no"),
    "receive_after": Word(("receive_after",), _flag, _write_plain, "yes or no"),
    "outstanding_receives": Word(("outstanding_receives",), _count_or_all, _write_count, "per rank"),
    "eager": Word(("eager_B",), _size_or(None), _write_size, "B"),
    "copy": Word(("copy_Bps",), _rate, _write_rate, "B/s"),
    "buffers": Word(("buffers_B",), _size_or(inf), _write_size, "B per rank"),
    "flit": Word(("flit_B",), _flit, format_size, "B"),
    "size_range": Word(("size_range_B",), _size_range, _write_range, "B"),
}
"""Every word for a cost."""


def split_tagged(value: Any, word: str) -> tuple[Any, Provenance | None]:
    """A cost as written → (bare value, where it comes from): `{ value = …, tag = "printed", source = "…" }` or plain.

    Raises:
        UsageError: an unknown key or tag.
    """
    if not isinstance(value, Mapping) or not {"value", "tag", "source"} & set(value):
        return value, None
    bare = {key: entry for key, entry in value.items() if key not in ("tag", "source")}
    if "value" in bare and len(bare) > 1:
        extra = next(key for key in bare if key != "value")
        raise unknown_name(f"word in {word}", extra, ("value", "tag", "source"))
    return bare.get("value", bare), Provenance.of(value.get("tag", "given"), value.get("source", ""))


def changed_costs(costs: Costs, changes: Iterable[tuple[str, Any]], provenance: Provenance) -> Costs:
    """`costs` with words changed one after the other; `provenance` where a value carries none of its own.

    Raises:
        UsageError: an unknown word (with the nearest known one), or a value that does not parse or is out of range.
    """
    fields: dict[str, Any] = {}
    sources = dict(costs.provenance)
    for word, raw in changes:
        if word not in WORDS:
            raise unknown_name("cost", word, WORDS)
        bare, own = split_tagged(raw, word)
        value = WORDS[word].read(bare, word)
        fields.update(dict.fromkeys(WORDS[word].fields, value))
        whole = next((name for name, entry in WORDS.items() if word in entry.covers and name in sources), None)
        if whole is not None:
            sources.update(dict.fromkeys(WORDS[whole].covers, sources.pop(whole)))
        for name in WORDS[word].covers:
            sources.pop(name, None)
        sources[word] = own or provenance
    try:
        return replace(costs, **fields, provenance=sources)
    except InputError as error:
        raise UsageError(str(error)) from None


def listed(costs: Costs) -> list[tuple[str, str, str, Provenance]]:
    """(word, value for people, unit, where it comes from) of every cost that has a source, in the table's order."""
    return [
        (word, entry.write(getattr(costs, entry.fields[0])), entry.unit, costs.provenance[word])
        for word, entry in WORDS.items()
        if word in costs.provenance
    ]


def plain(costs: Costs, word: str) -> Any:
    """The number behind a word for JSON, in SI units: infinite is null, steps and barriers are objects."""
    value = getattr(costs, WORDS[word].fields[0])
    if isinstance(value, Steps):
        both = value + value if word == "overhead" else value
        rows = zip(both.seconds, both.up_to_B, strict=True)
        return [{"value_s": time, "up_to_B": None if limit == inf else limit} for time, limit in rows]
    if isinstance(value, Synchronization):
        return {"base_s": value.base_s, "per_log2_s": value.per_log2_s}
    if isinstance(value, tuple):
        return [None if each == inf else each for each in value]
    return None if value == inf else value
