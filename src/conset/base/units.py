"""Text with a unit to a number in SI units: the one parser of sizes, rates and times.

G is 10⁹ and Gi is 2³⁰. `parse_size("4 KiB")` is 4096 [B], `parse_rate("25 GB/s")` is 25e9 [B/s],
`parse_time("2 us")` is 2e-6 [s]. A plain number is a size in bytes; rates and times need a unit,
but for a time of 0. Bits: `Gb/s` and `Gbit/s` are 10⁹/8 B/s. An unknown unit is answered with the
nearest known one.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import resource
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from numbers import Integral
from typing import SupportsFloat

from conset.base.errors import InputError, UsageError

_PREFIX = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
_PER_SECOND = {
    "s": 1.0,
    "ms": 1e3,
    "us": 1e6,
    "µs": 1e6,
    "μs": 1e6,
    "ns": 1e9,
    "ps": 1e12,
    "min": 1 / 60,
}
"""Divided by, so that `3 ns` is 3e-9 exactly."""
_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan))\s*"
_SIZE_UNIT = re.compile(r"(|[kKMGT]i?)(B|byte|bytes)?$")
_RATE_UNIT = re.compile(r"(|[kKMGT]i?)(B|b|bit)/s$")

_SIZE_UNITS = ("B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB")
_RATE_UNITS = (
    "B/s",
    "kB/s",
    "KiB/s",
    "MB/s",
    "MiB/s",
    "GB/s",
    "GiB/s",
    "TB/s",
    "b/s",
    "kb/s",
    "Mb/s",
    "Gb/s",
    "Tb/s",
    "kbit/s",
    "Mbit/s",
    "Gbit/s",
    "Tbit/s",
    "us/B",
    "ns/B",
)
_TIME_UNITS = ("s", "ms", "us", "ns", "ps", "min")
_SPELLED_OUT = {
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "minute": "min",
    "minutes": "min",
} | {
    spelling.format(letter): unit
    for letter, unit in (("m", "ms"), ("u", "us"), ("n", "ns"), ("p", "ps"))
    for spelling in ("{}sec", "{}secs", "{}second", "{}seconds")
}

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Sizes are exact beyond the 2^53 that a float keeps."""
MAX_SIZE_B = 2**62
"""Largest size of one message [B]; sums over messages are checked to stay within int64."""
MAX_TIME_S = 1e6
"""Largest time that a machine may charge for one thing [s]: twelve days."""
MIN_RATE_Bps = 1e-3
"""Least rate of a machine [B/s]."""
MAX_RATE_Bps = 1e18
"""Largest rate of a machine that is a limit at all [B/s]."""


def _split(text: str, what: str) -> tuple[float, str]:
    match = re.match(_NUMBER, text)
    if match is None:
        raise UsageError(f"{what} '{text}': expected a number and a unit")
    value = float(match[1])
    if not math.isfinite(value):
        raise UsageError(f"{what} '{text}': must be finite")
    return value, text[match.end() :].strip()


def _unknown_unit(
    what: str, value: object, unit: str, known: tuple[str, ...], some: str
) -> UsageError:
    near = _nearest_unit(unit, known)
    hint = f": did you mean '{near}'?" if near else f" ({some})"
    return UsageError(f"{what} '{value}': unknown unit '{unit}'{hint}")


def _nearest_unit(unit: str, known: tuple[str, ...]) -> str | None:
    """The known unit that `unit` is most likely meant for.

    `Gbps` is `Gb/s`, `kb` is `kB`, `usec` is `us`.
    """
    spellings = [unit]
    if known is _TIME_UNITS:
        spellings.append(_SPELLED_OUT.get(unit.lower(), unit))
    if known is _RATE_UNITS:
        stem = (
            unit.removesuffix("ps").removesuffix("/sec").removesuffix("/second").removesuffix("/s")
        )
        spellings.append(
            stem.replace("bits", "bit").replace("bytes", "B").replace("byte", "B") + "/s"
        )
    for spelling in spellings:
        # `gb/s` and `Gb/s` alike, `Gb/s` and `GB/s` not: bits stay bits
        for same in (str, lambda unit: unit[:1].lower() + unit[1:], str.lower):
            for each in known:
                if same(each) == same(spelling):
                    return each
    close = difflib.get_close_matches(spellings[-1], known, n=1, cutoff=0.7)
    return close[0] if close else None


def _without_unit(what: str, value: object, example: str) -> UsageError:
    return UsageError(f"{what} '{value}': a unit is required, as {example}")


def _likely(number: float, unit: str, steps: tuple[tuple[float, str], ...], *, is_si: bool) -> str:
    """How a bare number was most likely meant.

    In SI where it only makes sense so, else in `unit`.
    """
    return _format(number, steps).replace(" ", "") if is_si else f"{number:g}{unit}"


def parse_size(
    value: str | int | float, what: str = "size", *, unit_bytes: int = 1, rounds: bool = False
) -> int:
    """Return a size [B]: `"4KiB"` → 4096, `"1 MB"` → 10⁶, `512` → 512.

    Args:
        value: a number, with or without a unit.
        what: name of the size in errors.
        unit_bytes: unit of a number without one [B].
        rounds: whether parts of bytes are rounded; else they are refused.

    Raises:
        UsageError: not a number with a size unit, negative, not finite, not whole, or above 2⁶²
            bytes.
    """
    _, unit = _split(str(value), what)
    match = _SIZE_UNIT.match(unit)
    if match is None or match[1] not in _PREFIX:
        raise _unknown_unit(what, value, unit, _SIZE_UNITS, "B, kB, KiB, MB, MiB, GB, GiB …")
    # as `_split` has found
    exact = Decimal(re.match(_NUMBER, str(value))[1])  # type: ignore[index]
    size = _EXACT.multiply(exact, _PREFIX[match[1]] if unit else unit_bytes)
    if size < 0:
        raise UsageError(f"{what} '{value}': must be at least 0 B, is {float(size):g} B")
    if size > MAX_SIZE_B:
        raise UsageError(f"{what} '{value}': must be at most 2^62 B, is {float(size):.3g} B")
    if size != size.to_integral_value() and not rounds:
        raise UsageError(f"{what} '{value}': must be whole bytes, is {float(size):g} B")
    return int(size.to_integral_value())


def parse_rate(value: str | int | float, what: str = "rate") -> float:
    """A rate [B/s]: `"25 GB/s"` → 25e9, `"100 Gb/s"` → 12.5e9, `"0.022 us/B"` → 45.45e6.

    Raises:
        UsageError: not a number with a rate unit, not above 0, or not finite; names the nearest
            right spelling.
    """
    number, unit = _split(str(value), what)
    if unit == "" and number > 0:
        raise _without_unit(what, value, _likely(number, "GB/s", _RATE_STEPS, is_si=number >= 1e4))
    if unit == "":
        rate = number
    elif unit.endswith("/B") and unit[:-2] in _PER_SECOND and number != 0:
        rate = _PER_SECOND[unit[:-2]] / number  # the texts print times per byte
    else:
        match = _RATE_UNIT.match(unit)
        if match is None:
            raise _unknown_unit(what, value, unit, _RATE_UNITS, "B/s, MB/s, GB/s, GiB/s, Gb/s …")
        rate = number * _PREFIX[match[1]] / (1 if match[2] == "B" else 8)
    if not rate > 0:
        raise UsageError(f"{what} '{value}': must be above 0 B/s, is {rate:g} B/s")
    if rate == math.inf:
        raise UsageError(f"{what} '{value}': must be finite, is {rate:g} B/s")
    return rate


def parse_time(value: str | int | float, what: str = "time", *, signed: bool = False) -> float:
    """A time [s]: `"2 us"` → 2e-6; 0 needs no unit.

    Raises:
        UsageError: not a number with a unit of time, not finite, or negative unless `signed`; names
            the nearest right spelling.
    """
    number, unit = _split(str(value), what)
    if unit and unit not in _PER_SECOND:
        raise _unknown_unit(what, value, unit, _TIME_UNITS, "s, ms, us, ns")
    if not unit and number and (number > 0 or signed):
        raise _without_unit(
            what, value, _likely(number, "us", _TIME_STEPS, is_si=abs(number) < 1e-2)
        )
    time = number / _PER_SECOND[unit or "s"]
    if time < 0 and not signed:
        raise UsageError(f"{what} '{value}': must be at least 0 s, is {time:g} s")
    return time


_RATE_STEPS = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s"))
_TIME_STEPS = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def _format(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in steps:
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value / steps[-1][0]:.4g} {steps[-1][1]}"


def count_of(count: int, noun: str, plural: str = "") -> str:
    """A number with what it counts: `1 phase`, `1,024 phases`.

    `plural` where it is not the noun and an s.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_size(size: float) -> str:
    """A size for people: `4096` → `4 KiB`; powers of 1024."""
    return _format(size, ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")))


def require_memory(size_B: float, what: str) -> None:  # noqa: N803
    """Check, before anything is allocated, that the machine has memory of that size.

    Raises:
        InputError: it has less, or the process may use less; names `what`.
    """
    limit_B = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # noqa: N806
    allowed_B, _ = resource.getrlimit(resource.RLIMIT_AS)  # noqa: N806
    if allowed_B != resource.RLIM_INFINITY:
        limit_B = min(limit_B, allowed_B)  # noqa: N806
    if size_B > limit_B:
        raise InputError(
            f"{what}: requires {format_size(size_B)} of memory, the limit is {format_size(limit_B)}"
        )


def format_rate(rate_Bps: float) -> str:  # noqa: N803
    """A rate for people: `25e9` → `25 GB/s`."""
    return _format(rate_Bps, _RATE_STEPS)


def format_time(time_s: float) -> str:
    """A time for people: `2e-6` → `2 us`."""
    return "0 s" if time_s == 0 else _format(time_s, _TIME_STEPS)


def as_figure(load: SupportsFloat) -> int | float:
    """A load as files and JSON state it.

    A whole number, or twelve digits of one that is expected.
    """
    if isinstance(load, Integral):
        return int(load)
    rounded = float(f"{float(load):.12g}")
    return int(rounded) if rounded.is_integer() else rounded


def format_load(load: SupportsFloat, *, grouped: bool = False) -> str:
    """A whole number (`grouped`: `12,345`), or four digits of one that is expected."""
    figure = as_figure(load)
    if isinstance(figure, float):
        return f"{figure:,.4g}"
    return f"{figure:,}" if grouped else str(figure)
