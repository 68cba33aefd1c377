"""conset, the communication compiler: who sends what to whom, and a machine, in; a verified schedule out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from conset.notebook import load_forms_by
from conset.version import VERSION as __version__  # noqa: N811

if TYPE_CHECKING:
    from conset.api import bound, compile, load_machine, load_pattern, predict, read, run, simulate, verify, write
    from conset.errors import ConsetError, InputError, NoScheduleError, UsageError, VerificationError
    from conset.machine.costs import Costs
    from conset.machine.limits import Limits
    from conset.machine.machine import Machine
    from conset.network.routing import Routing
    from conset.network.topology import Topology
    from conset.pattern.pattern import Pattern
    from conset.schedule.schedule import Schedule

_HOMES = {
    **dict.fromkeys(
        ("bound", "compile", "load_machine", "load_pattern", "predict", "read", "run", "simulate", "verify", "write"),
        "conset.api",
    ),
    **dict.fromkeys(
        ("ConsetError", "InputError", "NoScheduleError", "UsageError", "VerificationError"), "conset.errors"
    ),
    "Costs": "conset.machine.costs",
    "Limits": "conset.machine.limits",
    "Machine": "conset.machine.machine",
    "Pattern": "conset.pattern.pattern",
    "Routing": "conset.network.routing",
    "Schedule": "conset.schedule.schedule",
    "Topology": "conset.network.topology",
}

__all__ = [
    "ConsetError", "Costs", "InputError", "Limits", "Machine", "NoScheduleError", "Pattern", "Routing", "Schedule",
    "Topology", "UsageError", "VerificationError", "__version__", "bound", "compile", "load_machine", "load_pattern",
    "predict", "read", "run", "simulate", "verify", "write",
]  # fmt: skip

load_forms_by(lambda: import_module("conset.report.notebook"))


def __dir__() -> list[str]:
    """The interface, for `dir` and `help`, though most of it is not loaded yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Loads a name from its room when it is first used, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'conset' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
