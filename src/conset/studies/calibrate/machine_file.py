"""Machine file: the words that were found, as people and `--on machine.toml` read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conset.base.units import count_of
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.studies.calibrate.measurements import Measurements
from conset.studies.calibrate.words import Found, FoundWord

COLUMNS = 118
"""Of lists of numbers."""


def machine_text(found: Found, data: Measurements, summary: str) -> str:
    """The TOML of a calibrated machine.

    The network as stated, each word with its value, tag and source.

    The same measurements give the same text.

    Args:
        found: the words.
        data: what they were found in.
        summary: of the exchanges held back, a line.
    """
    costs = [f"{word.word} = {_toml(_row(word))}" for word in found.words]
    probes, ranks = count_of(len(data.times_s), "probe"), count_of(data.ranks, "rank")
    lines = [
        "# Calibrated by `conset calibrate`; what each word means is in docs/cost-model.md, "
        "what shows it in",
        "# docs/calibrate.md. Intervals are of 95 %; words that are not here were not measured.",
        f"about = {_toml(f'calibrated over {data.by}: {probes} on {ranks}')}",
        f"notes = {_toml([summary, *found.notes])}",
        "",
        "[network]",
        *(f"{key} = {_toml(value)}" for key, value in network_table(found.machine).items()),
        "",
        "[costs]",
        *costs,
        "",
    ]
    return "\n".join(lines)


def _row(word: FoundWord) -> dict[str, Any]:
    return {"value": word.value, "tag": word.tag, "source": word.source}


def network_table(machine: Machine) -> dict[str, Any]:
    """The `[network]` of a machine: what its record says, without what is not said."""
    record = Machine(machine.name, machine.topology, machine.routing, Costs()).to_spec()
    assert isinstance(record, Mapping)  # costs of nothing are no machine's that a name builds
    return {key: value for key, value in record["network"].items() if value is not None}


def _toml(value: Any) -> str:
    """A value of TOML on one line, long lists on several."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [_toml(each) for each in value]
        text = f"[{', '.join(parts)}]"
        if len(text) <= COLUMNS or "{" in text:
            return text
        if any(isinstance(each, str) for each in value):
            return "[\n" + "".join(f"    {part},\n" for part in parts) + "]"
        rows, row = [], ""
        for part in parts:
            if len(row) + len(part) > COLUMNS - 8:
                rows.append(row)
                row = ""
            row += f"{part}, "
        return "[\n" + "".join(f"    {each.rstrip()}\n" for each in [*rows, row]) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
