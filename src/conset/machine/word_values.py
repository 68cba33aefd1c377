"""Values of words: how a cost is read as written, and how it is written for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import inf, isfinite
from typing import Any

from conset.base.errors import UsageError, unknown_name
from conset.base.units import (
    MAX_TIME_S,
    MAX_RATE_Bps,
    MIN_RATE_Bps,
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_size,
    parse_time,
)
from conset.machine.costs import SYNCS, Steps, Synchronization


def read_plain(value: Any, what: str) -> Any:
    """A number or a text, nothing else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{what}: a number or a text with a unit required, is {value!r}")
    return value


def read_time(value: Any, what: str, *, signed: bool = False) -> float:
    """Seconds, at most `MAX_TIME_S`."""
    time = parse_time(read_plain(value, what), what, signed=signed)
    if abs(time) > MAX_TIME_S:
        raise UsageError(f"{what} '{value}': must be at most {MAX_TIME_S:g} s, is {time:g} s")
    return time


def read_rate(value: Any, what: str) -> float:
    """Bytes per second, from `MIN_RATE_Bps` to `MAX_RATE_Bps`; `none` is infinite."""
    if value == "none":
        return inf
    rate = parse_rate(read_plain(value, what), what)
    if rate < MIN_RATE_Bps:
        raise UsageError(
            f"{what} '{value}': must be at least {MIN_RATE_Bps:g} B/s, is {rate:g} B/s"
        )
    if rate > MAX_RATE_Bps:
        raise UsageError(
            f"{what} '{value}': must be at most {MAX_RATE_Bps:g} B/s, or none, is {rate:g} B/s"
        )
    return rate


def read_step(row: Any, what: str) -> tuple[float, float]:
    """(largest size, time) of one step of a cost by size."""
    if not isinstance(row, Mapping) or "value" not in row:
        raise UsageError(
            f'{what}: every step is a table {{ up_to = "100 B", value = "65 us" }}, is {row!r}'
        )
    for key in row:
        if key not in ("up_to", "value"):
            raise unknown_name(f"word in a step of {what}", key, ("up_to", "value"))
    limit = (
        float(parse_size(read_plain(row["up_to"], what), f"{what}.up_to"))
        if "up_to" in row
        else inf
    )
    return limit, read_time(row["value"], what)


def read_steps(value: Any, what: str) -> Steps:
    """A time, or a list of steps by size."""
    if not isinstance(value, list | tuple):
        return Steps((read_time(value, what),))
    rows = [read_step(row, what) for row in value]
    limits = tuple(limit for limit, _ in rows)
    if not rows or limits[-1] != inf or any(a >= b for a, b in pairwise(limits)):
        raise UsageError(
            f"{what}: up_to must rise from step to step and be absent from the last one"
        )
    return Steps(tuple(time for _, time in rows), limits)


def read_steps_or_none(value: Any, what: str) -> Steps | None:
    """As `read_steps`; `none` where nothing changes with the size."""
    return None if value == "none" else read_steps(value, what)


def read_half(value: Any, what: str) -> Steps:
    """An overhead for both ends together: half is paid at each (no text has the split)."""
    both = read_steps(value, what)
    return Steps(tuple(time / 2 for time in both.seconds), both.up_to_B)


def read_synchronization(value: Any, what: str) -> Synchronization:
    """A time, or `{ base = "-134 us", per_log2 = "137 us" }`: base + per_log2 · log2(nodes)."""
    if not isinstance(value, Mapping):
        return Synchronization(read_time(value, what))
    for key in value:
        if key not in ("base", "per_log2"):
            raise unknown_name(f"word in {what}", key, ("base", "per_log2"))
    base = read_time(value.get("base", 0), f"{what}.base", signed=True)
    return Synchronization(base, read_time(value.get("per_log2", 0), f"{what}.per_log2"))


def read_number(low: float, high: float) -> Callable[[Any, str], float]:
    """A reader of numbers from `low` to `high`."""

    def read(value: Any, what: str) -> float:
        try:
            number = float(read_plain(value, what))
        except ValueError:
            raise UsageError(f"{what} '{value}': a number required") from None
        if not isfinite(number) or not low <= number <= high:
            rule = f"at least {low:g}" + (f" and at most {high:g}" if high < inf else "")
            raise UsageError(f"{what} '{value}': must be {rule}, is {number:g}")
        return number

    return read


def read_count(value: Any, what: str) -> int:
    """A whole number of at least 1."""
    text = str(read_plain(value, what)).strip()
    try:
        number = int(text)
    except ValueError:
        raise UsageError(f"{what} '{value}': a whole number required") from None
    if not 1 <= number < 2**31:
        raise UsageError(f"{what} '{value}': must be at least 1 and below 2^31, is {number}")
    return number


def read_choice(*choices: str) -> Callable[[Any, str], str]:
    """A reader of one of several names."""

    def read(value: Any, what: str) -> str:
        if value not in choices:
            raise unknown_name(what, str(value), choices)
        return str(value)

    return read


def read_count_or_all(value: Any, what: str) -> int | None:
    """A whole number of at least 1; `all` or `none` for no limit."""
    return None if value in ("all", "none") else read_count(value, what)


def read_size_or(
    nothing: float | None, everything: float | None = None
) -> Callable[[Any, str], float | None]:
    """A reader of sizes.

    `none` is what no limit is, `all` (where there is one) what holds for every size.
    """

    def read(value: Any, what: str) -> float | None:
        if value == "none":
            return nothing
        if value == "all" and everything is not None:
            return everything
        return float(parse_size(read_plain(value, what), what))

    return read


def read_flit(value: Any, what: str) -> int:
    """A size of at least 1 B."""
    size = parse_size(read_plain(value, what), what)
    if size < 1:
        raise UsageError(f"{what} '{value}': must be at least 1 B, is {size} B")
    return size


def read_flag(value: Any, what: str) -> bool:
    """`true` or `false`."""
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise UsageError(f"{what} '{value}': must be true or false")
    return bool(value == "true")


def read_policies(value: Any, what: str) -> tuple[str, ...]:
    """Names of policies: a list, or `local;ready` in one text."""
    names = [name for name in value.split(";") if name] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise UsageError(f"{what}: a list of policies required, is {value!r}")
    for name in names:
        if name not in SYNCS:
            raise unknown_name("policy", str(name), SYNCS)
    return tuple(names)


def read_size_range(value: Any, what: str) -> tuple[float, float]:
    """`["256 B", "16 KiB"]` or `256B;16KiB`; `none` for an open end."""
    ends = value.split(";") if isinstance(value, str) else value
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise UsageError(f"{what}: two sizes required, is {value!r}")
    low = 0.0 if ends[0] == "none" else float(parse_size(read_plain(ends[0], what), what))
    high = inf if ends[1] == "none" else float(parse_size(read_plain(ends[1], what), what))
    if low > high:
        raise UsageError(f"{what}: must rise, is {low:g} B to {high:g} B")
    return low, high


def write_rate(rate: float) -> str:
    """A rate, or `none`."""
    return "none" if rate == inf else format_rate(rate)


def write_steps(steps: Steps) -> str:
    """A time, or one for every step."""
    parts = [format_time(time) for time in steps.seconds]
    limits = [f" up to {limit:g} B" for limit in steps.up_to_B[:-1]] + [
        " above" if len(parts) > 1 else ""
    ]
    return ", ".join(part + limit for part, limit in zip(parts, limits, strict=True))


def write_steps_or_none(steps: Steps | None) -> str:
    """As `write_steps`, or `none`."""
    return "none" if steps is None else write_steps(steps)


def write_double(steps: Steps) -> str:
    """The overhead of both ends."""
    return write_steps(steps + steps)


def write_synchronization(barrier: Synchronization) -> str:
    """A time, or a sum with log2 of the nodes."""
    if barrier.per_log2_s == 0:
        return format_time(barrier.base_s)
    sign = "-" if barrier.base_s < 0 else "+"
    rest = f" {sign} {format_time(abs(barrier.base_s))}" if barrier.base_s else ""
    return f"{format_time(barrier.per_log2_s)} · log2 N{rest}"


def write_count(count: int | None) -> str:
    """A count, or `all`."""
    return "all" if count is None else str(count)


def write_size(size: float | None) -> str:
    """A size, or `none`."""
    return "none" if size is None or size == inf else format_size(size)


def write_threshold(size: float | None) -> str:
    """A size, `none`, or `all` where it is infinite."""
    return "all" if size == inf else write_size(size)


def write_range(ends: tuple[float, float]) -> str:
    """`from 256 B to 16 KiB`."""
    return f"from {format_size(ends[0])}" + (f" to {format_size(ends[1])}" if ends[1] < inf else "")


def write_plain(value: Any) -> str:
    """A number or a word."""
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
