"""Limits: what may happen at once in a phase."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from conset.base.arrays import ValueObject
from conset.base.errors import UsageError, unknown_name

Duplex = Literal["full", "exchange"]

MAX_LIMIT = 2**31 - 1
"""Largest limit; more messages a pattern does not have."""


@dataclass(frozen=True, eq=False)
class Limits(ValueObject):
    """Upper limits on a phase; None is no limit.

    Attributes:
        send: messages leaving a node at once.
        receive: messages entering a node at once.
        link: messages on a link at once, per unit of its width.
        channels: routes through a node at once, its own ends included (ConSet's logical channels).
        duplex: `exchange`: a node that sends and receives in one phase does so with one partner.
    """

    send: int | None = None
    receive: int | None = None
    link: int | None = None
    channels: int | None = None
    duplex: Duplex = "full"

    def __post_init__(self) -> None:
        for name in ("send", "receive", "link", "channels"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"limit {name}={value}: must be at least 1")
            if value is not None and value > MAX_LIMIT:
                raise UsageError(f"limit {name}={value}: must be at most {MAX_LIMIT}, or none")
        if self.channels == 1:
            raise UsageError(
                "limit channels=1: a route takes a channel in both its ends; must be at least 2 "
                "for any phase"
            )
        if self.duplex not in ("full", "exchange"):
            raise unknown_name("duplex", str(self.duplex), ("full", "exchange"))

    def tightened(self, other: Limits) -> Limits:
        """The stricter of both, limit by limit; the same object where nothing is stricter."""
        both: dict[str, Any] = {}
        for name in ("send", "receive", "link", "channels"):
            one, two = getattr(self, name), getattr(other, name)
            both[name] = two if one is None else one if two is None else min(one, two)
        both["duplex"] = "exchange" if "exchange" in (self.duplex, other.duplex) else "full"
        return self if both == vars(self) else Limits(**both)

    def changed(self, text: str) -> Limits:
        """These limits with the words of `send=1,link=2,channels=none,duplex=exchange` changed.

        Raises:
            UsageError: an unknown word or a value that is neither a number above 0 nor `none`.
        """
        limits = self
        for item in filter(None, text.split(",")):
            name, equals, value = (part.strip() for part in item.partition("="))
            if name not in {f.name for f in fields(Limits)}:
                raise unknown_name("limit", name, (f.name for f in fields(Limits)))
            if not equals:
                raise UsageError(f"limit '{item}': expected {name}=VALUE")
            if name == "duplex":
                limits = replace(limits, duplex=value)  # type: ignore[arg-type]
                continue
            if value != "none" and not (value.isascii() and value.isdigit() and len(value) < 1000):
                raise UsageError(f"limit '{item}': must be a whole number of at least 1, or none")
            limits = replace(limits, **{name: None if value == "none" else int(value)})  # type: ignore[arg-type]
        return limits

    def to_object(self) -> dict[str, int | str | None]:
        """As in a schedule file.

        `{"send": 1, "receive": 1, "link": null, "channels": null, "duplex": "full"}`.
        """
        return {f.name: getattr(self, f.name) for f in fields(Limits)}

    def to_text(self) -> str:
        """The words that `changed` takes: `send=1,receive=1,link=none,…`."""
        values = self.to_object().items()
        return ",".join(f"{name}={'none' if value is None else value}" for name, value in values)

    def __str__(self) -> str:
        parts = [
            f"{name} {value}" for name, value in self.to_object().items() if isinstance(value, int)
        ]
        if self.duplex == "exchange":
            parts.append("duplex exchange")
        return ", ".join(parts) or "none"
