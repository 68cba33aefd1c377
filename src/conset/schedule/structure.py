"""Structure of a schedule file's small parts: keys, types and words that both written forms share."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from conset.errors import InputError, UsageError
from conset.schedule.document import MAX_NAME, SCHEMA, Document
from conset.schedule.posting import check_in_flight, check_posting
from conset.schedule.sync import parse_sync
from conset.units import MAX_RATE_Bps

LIMITS = ("send", "receive", "link", "channels", "duplex")
OPTIONAL = ("in_flight", "posting", "min_bandwidth_Bps")
"""Keys of the head that are left out where there is nothing to say."""
LOAD = ("send", "receive", "link", "channels", "sum")


def require_keys(
    found: Any, required: Collection[str], where: str, *, optional: Collection[str] = ()
) -> Mapping[str, Any]:
    """`found`, checked to be an object with the `required` keys, and none beside them but `optional` ones.

    Raises:
        InputError: not an object, a key missing, or an unknown one (with the nearest known).
    """
    if not isinstance(found, dict):
        raise InputError(f"{where}: an object is required, given {_name(found)}")
    for key in found:
        if key not in required and key not in optional:
            near = difflib.get_close_matches(key, [*required, *optional], n=1, cutoff=0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join((*required, *optional))}"
            raise InputError(f"{where}: unknown key '{key}': {hint}")
    for key in required:
        if key not in found:
            raise InputError(f"{where}: key '{key}' is missing")
    return found


def require(value: Any, kind: type, where: str) -> Any:
    """`value`, checked to be of `kind`; true and false are no numbers."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        words = {int: "a whole number", str: "text", bool: "true or false", list: "a list"}
        raise InputError(f"{where}: must be {words.get(kind, kind.__name__)}, is {_name(value)}")
    return value


def check_name(value: Any, where: str) -> str:
    """The name of a pattern: one line of at most `MAX_NAME` letters.

    Raises:
        InputError: it is none.
    """
    name: str = require(value, str, where)
    if len(name) > MAX_NAME or not name.isprintable():
        raise InputError(f"{where}: must be one line of at most {MAX_NAME} letters, has {len(name)}")
    return name


def optional_words(document: Document) -> dict[str, Any]:
    """The keys of `OPTIONAL` that have something to say, in the order of the file."""
    words: dict[str, Any] = {"in_flight": document.in_flight, "posting": document.posting}
    words["min_bandwidth_Bps"] = document.min_bandwidth_Bps
    return {key: value for key, value in words.items() if value is not None and value != "schedule"}


def check_head(head: Mapping[str, Any]) -> None:
    """Checks `schema`, `machine`, `method`, `sync`, `limits`, `limits_asked`, `figures`, `manifest` and `OPTIONAL`.

    Raises:
        InputError: a wrong type or word; names the key.
    """
    if head["schema"] != SCHEMA:
        raise InputError(f"schema: must be '{SCHEMA}', is {_name(head['schema'])}")
    if not isinstance(head["machine"], str | dict):
        raise InputError(f"machine: a spec or an object is required, given {_name(head['machine'])}")
    require(head["method"], str, "method")
    try:
        parse_sync(require(head["sync"], str, "sync"))
    except UsageError as error:
        raise InputError(str(error)) from None
    if "in_flight" in head:
        check_in_flight(head["in_flight"])
    if "posting" in head:
        check_posting(head["posting"])
    if "min_bandwidth_Bps" in head:
        _check_bandwidths(head["min_bandwidth_Bps"])
    require(head["limits_asked"], bool, "limits_asked")
    _check_limits(require_keys(head["limits"], LIMITS, "limits"))
    figures = require_keys(head["figures"], ("phases", "load", "phase_bytes"), "figures")
    require(figures["phases"], int, "figures.phases")
    require(figures["phase_bytes"], int, "figures.phase_bytes")
    load = require_keys(figures["load"], LOAD, "figures.load")
    for key in LOAD:
        require(load[key], int, f"figures.load.{key}")
    _check_manifest(head["manifest"])


def _check_bandwidths(found: Any) -> None:
    for k, rate in enumerate(found if isinstance(found, list) else [found]):
        if type(rate) not in (int, float) or not 0 <= rate <= MAX_RATE_Bps:
            where = f"min_bandwidth_Bps[{k}]" if isinstance(found, list) else "min_bandwidth_Bps"
            raise InputError(f"{where}: must be a rate from 0 to {MAX_RATE_Bps:g} B/s, is {_name(rate)}")


def _check_limits(limits: Mapping[str, Any]) -> None:
    for key in LIMITS[:-1]:
        value, least = limits[key], 2 if key == "channels" else 1
        if value is not None and require(value, int, f"limits.{key}") < least:
            raise InputError(f"limits.{key} = {value}: must be at least {least}, or null for none")
    if limits["duplex"] not in ("full", "exchange"):
        raise InputError(f"limits.duplex: must be 'full' or 'exchange', is {_name(limits['duplex'])}")


def _check_manifest(manifest: Any) -> None:
    kinds = {"version": str, "seed": int, "command": str, "input_sha256": str}
    require_keys(manifest, kinds, "manifest")
    for key, kind in kinds.items():
        require(manifest[key], kind, f"manifest.{key}")


def _name(value: Any) -> str:
    """A value in an error message, shortened."""
    try:
        text = "null" if value is None else repr(value)
    except (RecursionError, ValueError):  # nested a thousand deep, a number of thousands of digits
        text = type(value).__name__
    return text if len(text) <= 40 else text[:37] + "…"
