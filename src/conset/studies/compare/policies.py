"""Policies of a comparison: the value of `--sync`.

It may name a policy for all methods and others for single ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from conset.base.errors import UsageError
from conset.compilation.options import AUTO
from conset.methods.phases.table import find_method
from conset.schedule.policy import parse_sync


@dataclass(frozen=True)
class Policies:
    """Which policies each method takes.

    Attributes:
        common: of every method that has none of its own; () for its best or its default.
        own: method → its own.
    """

    common: tuple[str, ...] = ()
    own: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, method: str) -> tuple[str, ...]:
        """The policies of a method."""
        return self.own.get(method, self.common)

    def spread(self, methods: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Method → policies.

        Raises:
            UsageError: a method has its own policy but is none of `methods`.
        """
        spread = {method: self.of(method) for method in methods}
        for method, policies in self.own.items():
            if method not in spread:
                text = f"sync {method}={policies[0]}: {method} is not compared: {', '.join(spread)}"
                raise UsageError(text, options=["sync"])
        return spread


def parse_policies(text: str | None) -> Policies:
    """`ready`, `none,barrier`, `auto,naive=none`.

    Words alone are for all methods without their own; `auto`: the best.

    Raises:
        UsageError: an unknown policy or method.
    """
    common: list[str] = []
    own: dict[str, list[str]] = {}
    for word in [] if text is None else text.split(","):
        name, equals, policy = word.partition("=")
        if not equals:
            common.append(_policy(word))
            continue
        name = name.strip()
        method = AUTO if name == AUTO else find_method(name).name
        own.setdefault(method, []).append(_policy(policy))
    unique = {method: tuple(dict.fromkeys(policies)) for method, policies in own.items()}
    return Policies(tuple(dict.fromkeys(common)), MappingProxyType(unique))


def _policy(word: str) -> str:
    return AUTO if word.strip() == AUTO else str(parse_sync(word))
