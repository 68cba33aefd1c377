"""The cost parameters: one table that machine files, options of a spec and `--set` all read.

A word says which fields of `Costs` it sets, how its value is read, and how it is written for
people. The order of the table is the order in which machines are listed, group by group.

`DEFAULTS` are the costs of a bare network, tagged `default`. They are those of no machine: round
numbers near a cluster's of today, so that predictions on a bare network compare schedules and
nothing else. Machine files take them too for words they leave out.

    link             25 GB/s per direction and unit of width
    port             25 GB/s out and 25 GB/s in, independent of each other
    model            flow
    overhead         0
    inject, eject    500 ns each per message, as latency; beside `port=none`, which is no interface
                     at all, 0 unless they are stated
    hop              100 ns
    reconfigure      none; beside it inject, eject and hop are 0 unless they are stated
    synchronization  2 us · log2(nodes)
    setup            0
    signal           1 us
    first_barrier    false: entering the first phase is not charged
    tolerance        1, with blocking 0: links share fairly, nothing is lost
    flit             16 B
    in_flight, receives, outstanding_receives   all; lanes 1; per_transfer 0
    processors   two; receive   after; hop_by_size   none: hop holds for all sizes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import copysign, inf, isfinite
from typing import Any

from conset.base import (
    MAX_TIME_S,
    InputError,
    MAX_RATE_Bps,
    MIN_RATE_Bps,
    UsageError,
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_size,
    parse_time,
    unknown_name,
)
from conset.machine.costs import (
    MAX_BLOCKING,
    MAX_WITHIN,
    SYNCS,
    Costs,
    Provenance,
    Steps,
    Synchronization,
)

GIVEN = Provenance("given", "the command line")
"""The tag of what options of a spec or `--set` say."""


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


def read_bytes(value: Any, what: str) -> float:
    """A size [B]."""
    return float(parse_size(read_plain(value, what), what))


def or_named(
    read: Callable[[Any, str], Any], names: Mapping[str, Any]
) -> Callable[[Any, str], Any]:
    """A reader that also knows names: `none` for no limit, `all` for what holds for every size."""

    def read_or_name(value: Any, what: str) -> Any:
        return names[value] if isinstance(value, str) and value in names else read(value, what)

    return read_or_name


read_steps_or_none = or_named(read_steps, {"none": None})
read_time_or_none = or_named(read_time, {"none": None})
read_count_or_all = or_named(read_count, {"all": None, "none": None})
read_size_or_none = or_named(read_bytes, {"none": inf})
read_threshold = or_named(read_bytes, {"none": None, "all": inf})


def read_flit(value: Any, what: str) -> int:
    """A size of at least 1 B."""
    size = parse_size(read_plain(value, what), what)
    if size < 1:
        raise UsageError(f"{what} '{value}': must be at least 1 B, is {size} B")
    return size


def read_flag(value: Any, what: str) -> bool:
    """`true` or `false`, or `yes` or `no`."""
    if isinstance(value, bool):
        return value
    if value not in ("true", "false", "yes", "no"):
        raise UsageError(f"{what} '{value}': must be true or false")
    return value in ("true", "yes")


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


def write_time_or_none(time: float | None) -> str:
    """A time, or `none`."""
    return "none" if time is None else format_time(time)


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


NEVER = object()
"""No value: the word is in every record."""


@dataclass(frozen=True)
class Word:
    """One word for a cost.

    Attributes:
        fields: the fields of `Costs` that it sets, all to the value read.
        read: (value as written, word) → value of the fields; raises UsageError.
        write: the value for people, the inverse of `read` up to rounding.
        unit: of the number in JSON.
        covers: narrower words that this one sets at once.
        absent: the value for which records leave the word out.
    """

    fields: tuple[str, ...]
    read: Callable[[Any, str], Any]
    write: Callable[[Any], str]
    unit: str
    covers: tuple[str, ...] = ()
    absent: Any = NEVER

    @property
    def si(self) -> str:
        """The SI unit of the number: `s`, `B/s` or `B`; "" for a count, a share or a name."""
        first = self.unit.split(" ")[0]
        return first if first in ("s", "B/s", "B") else ""


SWITCHING: Mapping[str, Mapping[str, str]] = {
    "infiniband": {"model": "packet", "packet": "4 KiB", "link_buffers": "64 KiB"},
    "roce": {"model": "packet", "packet": "4 KiB", "link_buffers": "128 KiB"},
    "ethernet": {"model": "flow"},
    "wormhole": {"model": "wormhole"},
    "circuit": {"model": "circuit"},
    "fair": {"model": "flow"},
}
"""What switches do with messages that meet, by names that people know, as parameters.

`infiniband`: credits for each link, so a packet that has no room waits in the buffer before (MTU 4
KiB: InfiniBand Architecture Specification, volume 1, section 7.7; buffers: some tens of KiB a
virtual lane, assumed). `roce`: lossless Ethernet, IEEE 802.1Qbb pauses a link whose buffer is full
(headroom assumed). `ethernet`: TCP shares links by congestion control. `wormhole`: a header that
waits keeps its path. `circuit`: a path is held from end to end. `fair`: an ideal network, max-min
fair.
"""

GROUPS: dict[str, dict[str, Word]] = {
    "model": {
        "model": Word(
            ("model",),
            read_choice("wormhole", "circuit", "flow", "packet"),
            str,
            "model of simulation",
        ),
        "switching": Word(
            ("model",),
            read_choice(*SWITCHING),
            str,
            "what switches do with messages that meet; sets model and buffers",
            ("model",),
        ),
    },
    "overheads": {
        "overhead": Word(
            ("send_overhead", "receive_overhead"),
            read_half,
            write_double,
            "s per message",
            ("send_overhead", "receive_overhead"),
        ),
        "send_overhead": Word(("send_overhead",), read_steps, write_steps, "s per message"),
        "receive_overhead": Word(("receive_overhead",), read_steps, write_steps, "s per message"),
        "startup": Word(
            ("startup_s",), read_time, format_time, "s per message at its node's port", absent=0.0
        ),
        "jitter": Word(("jitter_s",), read_time, format_time, "s per receive, mean"),
        "processors": Word(
            ("processors",), read_choice("one", "two", "shared"), str, "per rank; shared: per node"
        ),
        "preempts": Word(("preempts",), read_flag, write_plain, "yes or no"),
    },
    "latencies": {
        "inject": Word(("inject",), read_steps, write_steps, "s per message"),
        "eject": Word(("eject",), read_steps, write_steps, "s per message"),
        "hop": Word(("hop_s",), read_time, format_time, "s per link"),
        "hop_by_size": Word(
            ("hop_by_size",),
            read_steps_or_none,
            write_steps_or_none,
            "s per link",
        ),
        "per_transfer": Word(("per_transfer_s",), read_time, format_time, "s per transfer"),
    },
    "rates": {
        "port": Word(
            ("port_out_Bps", "port_in_Bps"), read_rate, write_rate, "B/s", ("port_out", "port_in")
        ),
        "port_out": Word(("port_out_Bps",), read_rate, write_rate, "B/s"),
        "port_in": Word(("port_in_Bps",), read_rate, write_rate, "B/s"),
        "node": Word(("node_Bps",), read_rate, write_rate, "B/s in and out together"),
        "exchange_weight": Word(
            ("exchange_weight",), read_number(0.5, 1), write_plain, "share of a byte"
        ),
        "exchange_syncs": Word(
            ("exchange_syncs",), read_policies, lambda names: ", ".join(names) or "none", "policies"
        ),
        "link": Word(("link_Bps",), read_rate, write_rate, "B/s per direction and width"),
        "tolerance": Word(("tolerance",), read_count, write_plain, "messages per link"),
        "blocking": Word(("blocking",), read_number(0, MAX_BLOCKING), write_plain, "exponent"),
    },
    "slots": {
        "in_flight": Word(("in_flight",), read_count_or_all, write_count, "messages per rank"),
        "lanes": Word(("lanes",), read_count, write_plain, "per link"),
        "packet": Word(("packet_B",), read_size_or_none, write_size, "B"),
        "link_buffers": Word(("link_buffers_B",), read_size_or_none, write_size, "B per link"),
        "window": Word(("window_B",), read_size_or_none, write_size, "B per message"),
    },
    "receiving": {
        "receive": Word(
            ("receive",), read_choice("before", "after"), str, "when its overhead is paid"
        ),
        "receives": Word(("receives",), read_count_or_all, write_count, "messages per rank"),
        "outstanding_receives": Word(
            ("outstanding_receives",), read_count_or_all, write_count, "per rank"
        ),
        "eager": Word(("eager_B",), read_threshold, write_threshold, "B"),
        "copy": Word(("copy_Bps",), read_rate, write_rate, "B/s"),
        "buffers": Word(("buffers_B",), read_size_or_none, write_size, "B per rank"),
    },
    "policies": {
        "setup": Word(("setup_s",), read_time, format_time, "s per phase"),
        "synchronization": Word(
            ("synchronization",), read_synchronization, write_synchronization, "s per barrier"
        ),
        "signal": Word(("signal_s",), read_time, format_time, "s per signal"),
        "first_barrier": Word(("first_barrier",), read_flag, write_plain, "yes or no"),
    },
    "circuit switches": {
        "reconfigure": Word(
            ("reconfigure_s",),
            read_time_or_none,
            write_time_or_none,
            "s per change of connections",
            absent=None,
        ),
        "partial": Word(("partial",), read_flag, write_plain, "yes or no", absent=False),
    },
    "other": {
        "overlap": Word(("overlap",), read_number(0, 1), write_plain, "share of a transfer"),
        "computation": Word(("computation_s",), read_time, format_time, "s per node"),
        "flit": Word(("flit_B",), read_flit, format_size, "B"),
        "size_range": Word(("size_range_B",), read_size_range, write_range, "B"),
    },
}
"""The cost parameters, by what they are about."""

PARAMETERS: dict[str, Word] = {
    word: entry for group in GROUPS.values() for word, entry in group.items()
}
"""Every word for a cost."""

DEFAULTS: dict[str, Any] = {
    "model": "flow",
    "overhead": 0,
    "inject": "500 ns",
    "eject": "500 ns",
    "port": "25 GB/s",
    "node": "none",
    "link": "25 GB/s",
    "hop": "100 ns",
    "hop_by_size": "none",
    "synchronization": {"base": 0, "per_log2": "2 us"},
    "setup": 0,
    "signal": "1 us",
    "first_barrier": False,
    "tolerance": 1,
    "blocking": 0,
    "per_transfer": 0,
    "in_flight": "all",
    "receives": "all",
    "lanes": 1,
    "processors": "two",
    "receive": "after",
    "outstanding_receives": "all",
    "flit": "16 B",
}
"""The costs of a bare network."""

USUAL_OVERHEAD = "overhead=1us"
"""Of a message on machines of today, for a second answer where no overhead was given."""
UNSOURCED = Provenance("unknown", "no source")
"""Stands for a number without provenance where words are read; no costs hold it."""
NO_INTERFACE = Provenance("default", "port=none: no interface")
"""Where an unstated `inject` or `eject` of 0 comes from."""
LIGHT = Provenance("default", "reconfigure: light passes circuit switches as it is")
"""The same, and of an unstated `hop`."""


_ORIGIN = ("tag", "source", "within")
"""Keys beside a value that say where it comes from."""


def split_tagged(value: Any, word: str) -> tuple[Any, Provenance | None]:
    """A cost as written → (bare value, where it comes from).

    `{ value = …, tag = "printed", source = "…", within = 1.2 }` or plain.

    A tag of null, which schedule files may have, says that nothing is known of where it comes from:
    `UNSOURCED`.

    Raises:
        UsageError: an unknown key or tag, or a factor out of range.
    """
    if not isinstance(value, Mapping) or not {"value", *_ORIGIN} & set(value):
        return value, None
    bare = {key: entry for key, entry in value.items() if key not in _ORIGIN}
    if "value" in bare and len(bare) > 1:
        extra = next(key for key in bare if key != "value")
        raise unknown_name(f"word in {word}", extra, ("value", *_ORIGIN))
    if value.get("tag", "given") is None:
        return bare.get("value", bare), UNSOURCED
    return bare.get("value", bare), Provenance.of(
        value.get("tag", "given"),
        value.get("source", ""),
        read_number(1, MAX_WITHIN)(value.get("within", 1.0), f"{word}: within"),
    )


def changed_costs(
    costs: Costs, changes: Iterable[tuple[str, Any]], provenance: Provenance
) -> Costs:
    """`costs` with words changed one after the other.

    `provenance` where a value carries none of its own.

    Raises:
        UsageError: an unknown word (with the nearest known one), or a value that does not parse or
            is out of range.
    """
    fields: dict[str, Any] = {}
    sources = dict(costs.provenance)
    for word, raw in changes:
        if word not in PARAMETERS:
            raise unknown_name("cost", word, PARAMETERS)
        bare, own = split_tagged(raw, word)
        fields.update(dict.fromkeys(PARAMETERS[word].fields, PARAMETERS[word].read(bare, word)))
        whole = next(
            (
                name
                for name, entry in PARAMETERS.items()
                if word in entry.covers and name in sources
            ),
            None,
        )
        if whole is not None:
            sources.update(dict.fromkeys(PARAMETERS[whole].covers, sources.pop(whole)))
        for name in PARAMETERS[word].covers:
            sources.pop(name, None)
        sources[word] = own or provenance
        if own is UNSOURCED:
            del sources[word]
    try:
        return replace(costs, **fields, provenance=sources)
    except InputError as error:
        raise UsageError(str(error)) from None


def _expanded(changes: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The changes with `switching` replaced by what it means, before all that is stated itself.

    Raises:
        UsageError: an unknown value, or one that contradicts `model`.
    """
    stated = list(changes)
    value = dict(stated).get("switching")
    if value is None:
        return stated
    bare = PARAMETERS["switching"].read(split_tagged(value, "switching")[0], "switching")
    meant = SWITCHING[bare]
    model, _ = split_tagged(dict(stated).get("model", meant["model"]), "model")
    if model != meant["model"]:
        raise UsageError(f"switching={bare}: is model {meant['model']}, given model={model}")
    own = [pair for pair in stated if pair[0] not in ("switching", "model")]
    source = {"tag": "given", "source": f"switching={bare}"}
    return [(word, {"value": each} | source) for word, each in meant.items()] + own


def stated_costs(costs: Costs, changes: Iterable[tuple[str, Any]], provenance: Provenance) -> Costs:
    """As `changed_costs`, for what people state.

    Without any port, and through circuit switches, an `inject` or `eject` that is not specified is
    0; through these a `hop`, too.

    What is not specified is tagged `default`. Only parsers of specs, settings and files call this:
    a model takes costs as they are.
    """
    changed = changed_costs(costs, _expanded(changes), provenance)
    is_light = changed.reconfigure_s is not None
    if not is_light and (changed.port_out_Bps < inf or changed.port_in_Bps < inf):
        return changed
    words, source = ["inject", "eject"], NO_INTERFACE
    if is_light:
        words, source = [*words, "hop"], LIGHT
    sources = changed.provenance
    unstated = [word for word in words if word in sources and sources[word].tag == "default"]
    return changed_costs(changed, [(word, 0) for word in unstated], source)


@cache
def default_costs() -> Costs:
    """The documented costs of a bare network."""
    return changed_costs(Costs(), DEFAULTS.items(), Provenance("default"))


def _scaled(value: Any, factor: float, si: str) -> Any:
    """A time or a rate times a factor, within what costs may be; 0, infinite and none stay."""
    if isinstance(value, Steps):
        return Steps(tuple(_scaled(time, factor, si) for time in value.seconds), value.up_to_B)
    if isinstance(value, Synchronization):
        return Synchronization(*(_scaled(time, factor, si) for time in vars(value).values()))
    low, high = (0.0, MAX_TIME_S) if si == "s" else (MIN_RATE_Bps, MAX_RATE_Bps)
    return (
        copysign(min(max(abs(value) * factor, low), high), value)
        if value and value < inf
        else value
    )


def unsure(costs: Costs) -> dict[str, Provenance]:
    """Times and rates that may be wrong by a factor: word → where it comes from."""
    return {
        word: origin
        for word, origin in costs.provenance.items()
        if origin.spread > 1
        and (si := PARAMETERS[word].si) in ("s", "B/s")
        and (value := getattr(costs, PARAMETERS[word].fields[0])) != _scaled(value, 2.0, si)
    }


def redrawn(costs: Costs, exponents: Sequence[float]) -> tuple[Costs, float]:
    """The costs with what is not sure of them times its factor to the power of an exponent.

    Args:
        costs: whose words.
        exponents: of each of `PARAMETERS`, from -1 to 1.

    Returns:
        (costs, what every time is at least multiplied by, at most 1).
    """
    origins = unsure(costs)
    changed, least = {}, 1.0
    for (word, entry), exponent in zip(PARAMETERS.items(), exponents, strict=True):
        if word not in origins:
            continue
        factor = origins[word].spread ** exponent
        least = min(least, 1 / factor if entry.si == "B/s" else factor)
        for field in entry.fields:
            changed[field] = _scaled(getattr(costs, field), factor, entry.si)
    return replace(costs, **changed), least


def group_of(word: str) -> str:
    """What a word is about: the name of its group."""
    return next(name for name, group in GROUPS.items() if word in group)


def listed(costs: Costs) -> list[tuple[str, str, str, Provenance]]:
    """(parameter, printed value, unit, source) of every cost that has a source.

    In the table's order.
    """
    return [
        (word, entry.write(getattr(costs, entry.fields[0])), entry.unit, costs.provenance[word])
        for word, entry in PARAMETERS.items()
        if word in costs.provenance
    ]


def plain(costs: Costs, word: str) -> Any:
    """The number behind a word for JSON, in SI units.

    Infinite is null, steps and barriers are objects.
    """
    value = getattr(costs, PARAMETERS[word].fields[0])
    if isinstance(value, Steps):
        both = value + value if word == "overhead" else value
        return [
            {"value_s": time, "up_to_B": None if limit == inf else limit}
            for time, limit in zip(both.seconds, both.up_to_B, strict=True)
        ]
    if isinstance(value, Synchronization):
        return {"base_s": value.base_s, "per_log2_s": value.per_log2_s}
    if isinstance(value, tuple):
        return [None if each == inf else each for each in value]
    return None if value == inf else value
