"""What a shell completes of values: names from the tables that the commands read.

Files are the shell's own.

`conset --install-completion` writes typer's script for the shell, which asks the command itself;
tables are imported when a word is completed, so no command waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def complete_pattern(incomplete: str) -> list[str]:
    """Names of patterns."""
    from conset.pattern.generators.table import GENERATORS

    return _begun(incomplete, GENERATORS)


def complete_machine(incomplete: str) -> list[str]:
    """Names of presets, bare networks and families; `:` and a size follow."""
    from conset.machine.network.families.table import FAMILIES
    from conset.machine.spec import KINDS, PRESETS

    return _begun(incomplete, (*PRESETS, *KINDS, *FAMILIES))


def complete_thing(incomplete: str) -> list[str]:
    """What `show` draws besides files."""
    return [*complete_pattern(incomplete), *complete_machine(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    """Names of methods, and `auto`."""
    from conset.compilation.options import AUTO

    return [*_begun(incomplete, (AUTO,)), *complete_listed_method(incomplete)]


def complete_listed_method(incomplete: str) -> list[str]:
    """Names of methods, as `conset methods` lists them."""
    from conset.methods.phases.table import table

    return _begun(incomplete, table())


def complete_methods(incomplete: str) -> list[str]:
    """The last of several methods with commas."""
    return _last(incomplete, complete_method)


def complete_sync(incomplete: str) -> list[str]:
    """Policies."""
    from conset.schedule.policy import KINDS

    return _begun(incomplete, KINDS)


def complete_chosen_sync(incomplete: str) -> list[str]:
    """Policies, and `auto`."""
    from conset.compilation.options import AUTO

    return [*complete_sync(incomplete), *_begun(incomplete, (AUTO,))]


def complete_syncs(incomplete: str) -> list[str]:
    """The last of several policies with commas."""
    return _last(incomplete, complete_chosen_sync)


def complete_model(incomplete: str) -> list[str]:
    """Models of simulation."""
    from conset.models.table import MODELS

    return _begun(incomplete, MODELS)


def complete_models(incomplete: str) -> list[str]:
    """The last of several models with commas."""
    return _last(incomplete, complete_model)


def complete_ranking(incomplete: str) -> list[str]:
    """What gives the times that decide: a model, or `formula`."""
    from conset.compilation.options import FORMULA, RANKING_MODELS

    return _begun(incomplete, (*RANKING_MODELS, FORMULA))


def complete_placement(incomplete: str) -> list[str]:
    """Ways to place ranks."""
    from conset.methods.placements import AUTO, PLACEMENTS

    return _begun(incomplete, (*PLACEMENTS, AUTO))


def _begun(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _last(incomplete: str, complete: Callable[[str], list[str]]) -> list[str]:
    """Completions of the word after the last comma, with what stands before it."""
    before, comma, word = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete(word)]
