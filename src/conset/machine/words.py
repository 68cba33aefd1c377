"""The words for costs: one table that machine files, options of a spec and `--set` all read.

A word says which fields of `Costs` it sets, how its value is read, and how it is written for
people. The order of the table is the order in which machines are listed, group by group. Old words
(`ALIASES`) are read wherever a word is, and never written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from conset.base.errors import InputError, UsageError, unknown_name
from conset.base.units import format_size, format_time
from conset.machine.costs import MAX_BLOCKING, Costs, Provenance, Steps, Synchronization
from conset.machine.word_values import (
    read_choice,
    read_count,
    read_count_or_all,
    read_flag,
    read_flit,
    read_half,
    read_number,
    read_policies,
    read_rate,
    read_size_or,
    read_size_range,
    read_steps,
    read_steps_or_none,
    read_synchronization,
    read_time,
    write_count,
    write_double,
    write_plain,
    write_range,
    write_rate,
    write_size,
    write_steps,
    write_steps_or_none,
    write_synchronization,
    write_threshold,
)

GIVEN = Provenance("given", "the command line")
"""The tag of what options of a spec or `--set` say."""


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

    @property
    def si(self) -> str:
        """The SI unit of the number: `s`, `B/s` or `B`; "" for a count, a share or a name."""
        first = self.unit.split(" ")[0]
        return first if first in ("s", "B/s", "B") else ""


GROUPS: dict[str, dict[str, Word]] = {
    "model": {
        "model": Word(
            ("model",),
            read_choice("wormhole", "circuit", "flow", "packet"),
            str,
            "model of simulation",
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
            ("hop_by_size",), read_steps_or_none, write_steps_or_none, "s per link"
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
        "packet": Word(("packet_B",), read_size_or(inf), write_size, "B"),
        "link_buffers": Word(("link_buffers_B",), read_size_or(inf), write_size, "B per link"),
        "window": Word(("window_B",), read_size_or(inf), write_size, "B per message"),
    },
    "receiving": {
        "receive": Word(
            ("receive",), read_choice("before", "after"), str, "when its overhead is paid"
        ),
        "receives": Word(("receives",), read_count_or_all, write_count, "messages per rank"),
        "outstanding_receives": Word(
            ("outstanding_receives",), read_count_or_all, write_count, "per rank"
        ),
        "eager": Word(("eager_B",), read_size_or(None, inf), write_threshold, "B"),
        "copy": Word(("copy_Bps",), read_rate, write_rate, "B/s"),
        "buffers": Word(("buffers_B",), read_size_or(inf), write_size, "B per rank"),
    },
    "policies": {
        "setup": Word(("setup_s",), read_time, format_time, "s per phase"),
        "synchronization": Word(
            ("synchronization",), read_synchronization, write_synchronization, "s per barrier"
        ),
        "signal": Word(("signal_s",), read_time, format_time, "s per signal"),
        "first_barrier": Word(("first_barrier",), read_flag, write_plain, "yes or no"),
    },
    "other": {
        "overlap": Word(("overlap",), read_number(0, 1), write_plain, "share of a transfer"),
        "computation": Word(("computation_s",), read_time, format_time, "s per node"),
        "flit": Word(("flit_B",), read_flit, format_size, "B"),
        "size_range": Word(("size_range_B",), read_size_range, write_range, "B"),
    },
}
"""The words for costs, by what they are about."""

WORDS: dict[str, Word] = {word: entry for group in GROUPS.values() for word, entry in group.items()}
"""Every word for a cost."""

ALIASES: dict[str, tuple[str, tuple[str, str]]] = {
    "one_processor": ("processors", ("two", "one")),
    "receive_after": ("receive", ("before", "after")),
}
"""Old words for a cost: the word of today, and its values for false and true."""

UNSOURCED = Provenance("unknown", "no source")
"""Stands for a number without provenance where words are read; no costs hold it."""
NO_INTERFACE = Provenance("default", "port=none: no interface")
"""Where an unstated `inject` or `eject` of 0 comes from."""


def current_word(word: str, value: Any) -> tuple[str, Any]:
    """A word and its value as they are written today; a tagged value keeps its tag.

    Raises:
        UsageError: an old word with another value than true or false.
    """
    if word not in ALIASES:
        return word, value
    name, choices = ALIASES[word]
    if isinstance(value, Mapping) and "value" in value:
        return name, {**value, "value": choices[read_flag(value["value"], word)]}
    return name, choices[read_flag(value, word)]


def split_tagged(value: Any, word: str) -> tuple[Any, Provenance | None]:
    """A cost as written → (bare value, where it comes from).

    `{ value = …, tag = "printed", source = "…" }` or plain.

    A tag of null, which schedule files may have, says that nothing is known of where it comes from:
    `UNSOURCED`.

    Raises:
        UsageError: an unknown key or tag.
    """
    if not isinstance(value, Mapping) or not {"value", "tag", "source"} & set(value):
        return value, None
    bare = {key: entry for key, entry in value.items() if key not in ("tag", "source")}
    if "value" in bare and len(bare) > 1:
        extra = next(key for key in bare if key != "value")
        raise unknown_name(f"word in {word}", extra, ("value", "tag", "source"))
    if value.get("tag", "given") is None:
        return bare.get("value", bare), UNSOURCED
    return bare.get("value", bare), Provenance.of(
        value.get("tag", "given"), value.get("source", "")
    )


def split_options(text: str) -> list[tuple[str, str]]:
    """`"synchronization=0,overhead=2us"` → pairs of word and value.

    Raises:
        UsageError: an item that is not WORD=VALUE.
    """
    pairs = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        word, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not word or not value:
            raise UsageError(f"option '{item}': expected WORD=VALUE")
        pairs.append((word, value))
    return pairs


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
    for word, raw in (current_word(*change) for change in changes):
        if word not in WORDS:
            raise unknown_name("cost", word, WORDS)
        bare, own = split_tagged(raw, word)
        value = WORDS[word].read(bare, word)
        fields.update(dict.fromkeys(WORDS[word].fields, value))
        whole = next(
            (name for name, entry in WORDS.items() if word in entry.covers and name in sources),
            None,
        )
        if whole is not None:
            sources.update(dict.fromkeys(WORDS[whole].covers, sources.pop(whole)))
        for name in WORDS[word].covers:
            sources.pop(name, None)
        sources[word] = own or provenance
        if own is UNSOURCED:
            del sources[word]
    try:
        return replace(costs, **fields, provenance=sources)
    except InputError as error:
        raise UsageError(str(error)) from None


def stated_costs(costs: Costs, changes: Iterable[tuple[str, Any]], provenance: Provenance) -> Costs:
    """As `changed_costs`, for what people state.

    Without any port an `inject` or `eject` that nobody stated is 0.

    Nobody stated what is tagged `default`. Only parsers of specs, settings and files call this: a
    model takes costs as they are.
    """
    changed = changed_costs(costs, changes, provenance)
    if changed.port_out_Bps < inf or changed.port_in_Bps < inf:
        return changed
    unstated = [word for word in ("inject", "eject") if _is_default(changed, word)]
    return changed_costs(changed, [(word, 0) for word in unstated], NO_INTERFACE)


def _is_default(costs: Costs, word: str) -> bool:
    origin = costs.provenance.get(word)
    return origin is not None and origin.tag == "default"


def group_of(word: str) -> str:
    """What a word is about: the name of its group."""
    return next(name for name, group in GROUPS.items() if word in group)


def listed(costs: Costs) -> list[tuple[str, str, str, Provenance]]:
    """(parameter, printed value, unit, source) of every cost that has a source.

    In the table's order.
    """
    return [
        (word, entry.write(getattr(costs, entry.fields[0])), entry.unit, costs.provenance[word])
        for word, entry in WORDS.items()
        if word in costs.provenance
    ]


def plain(costs: Costs, word: str) -> Any:
    """The number behind a word for JSON, in SI units.

    Infinite is null, steps and barriers are objects.
    """
    value = getattr(costs, WORDS[word].fields[0])
    if isinstance(value, Steps):
        both = value + value if word == "overhead" else value
        rows = zip(both.seconds, both.up_to_B, strict=True)
        return [
            {"value_s": time, "up_to_B": None if limit == inf else limit} for time, limit in rows
        ]
    if isinstance(value, Synchronization):
        return {"base_s": value.base_s, "per_log2_s": value.per_log2_s}
    if isinstance(value, tuple):
        return [None if each == inf else each for each in value]
    return None if value == inf else value
