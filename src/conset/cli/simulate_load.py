"""`conset simulate PATTERN --load A:B`: latency over load, as a table, a picture and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conset.models.load.sweep import LoadCurve

SCHEMA = "conset/simulate@1"
MARKDOWN, JSON = ".md", ".json"


def run_load(
    text: str,
    on: str | None,
    model: str,
    loads: str,
    *,
    lanes: int | None,
    packet: str | None,
    cycles: int | None,
    seed: int,
    settings: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measures latency over load, prints it and writes it where asked.

    Raises:
        UsageError: no machine, another model, loads that do not parse, an unknown suffix.
        InputError: traffic that does not fit the machine, a network the flit model does not know.
    """
    from conset.base.errors import UsageError
    from conset.cli.inputs import manifest_of
    from conset.cli.output import console, print_json, progress
    from conset.models.load.sweep import LoadSweep, Window, sweep_load
    from conset.models.settings import Settings
    from conset.report.latency import latency_lines, latency_table, latency_title

    if on is None:
        raise UsageError(f"simulate {text}: --load needs --on MACHINE")
    if model != "flit":
        raise UsageError(f"--model {model}: --load is for --model flit")
    low, high = parse_loads(loads)
    _check_output(output)
    machine = _machine(on, settings)
    with progress("reading"):
        sweep = LoadSweep(
            _traffic(text, machine, seed),
            machine,
            Settings(lanes=lanes),
            window=Window.of(cycles),
            seed=seed,
            packet_B=parse_packet(packet, model),
        )
    curve = sweep_load(sweep, low, high, progress=progress)
    options = {
        "model": model,
        "load": loads,
        "lanes": lanes,
        "packet": packet,
        "cycles": cycles,
        "set": settings,
    }
    manifest = manifest_of("simulate", text, on, seed, options | {"seed": seed or None})
    if output is not None:
        _write(
            output, curve, {"schema": SCHEMA, **curve.to_object(), "manifest": manifest.to_object()}
        )
    if as_json:
        print_json(SCHEMA, curve.to_object(), manifest)
    out = console(as_json)
    out.print(latency_title(curve), markup=False)
    out.print(latency_table(curve))
    out.print("\n".join(latency_lines(curve)), markup=False)


def parse_loads(text: str) -> tuple[float, float]:
    """`0.05:0.9` → (0.05, 0.9); one number for both.

    Raises:
        UsageError: not one or two numbers, or out of range.
    """
    from conset.base.errors import UsageError
    from conset.models.load.sweep import check_loads

    parts = text.split(":")
    try:
        ends = [float(word) for word in parts]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        raise UsageError(f"--load '{text}': two loads as in 0.05:0.9 required, or one")
    check_loads(ends[0], ends[-1])
    return ends[0], ends[-1]


def _machine(on: str, settings: str | None) -> Any:
    from conset.machine.spec import parse_machine, with_settings

    machine = parse_machine(on)
    return machine if settings is None else with_settings(machine, settings)


def _traffic(text: str, machine: Any, seed: int) -> Any:
    from conset.models.load.traffic import parse_traffic

    return parse_traffic(text, machine, seed=seed)


def parse_packet(packet: str | None, model: str) -> int | None:
    """`128` → 128 [B].

    Raises:
        UsageError: another model than `flit`, or no size.
    """
    from conset.base.errors import UsageError
    from conset.base.units import parse_size

    if packet is not None and model != "flit":
        raise UsageError(f"--packet {packet}: is for --model flit, given {model}")
    return None if packet is None else parse_size(packet, "--packet")


def _check_output(output: Path | None) -> None:
    from conset.base.errors import UsageError
    from conset.report import style

    if output is None or output.suffix.lower() in (MARKDOWN, JSON):
        return
    if output.suffix.lower() not in style.FORMATS:
        known = ", ".join((*style.FORMATS, MARKDOWN, JSON))
        raise UsageError(
            f"{output}: latency over load is written as {known}, given '{output.suffix}'"
        )
    style.require_matplotlib()


def _write(output: Path, curve: LoadCurve, whole: dict[str, Any]) -> None:
    import json

    from conset.base.files import replacing
    from conset.report import style
    from conset.report.latency import (
        latency_lines,
        latency_markdown,
        latency_title,
        picture_latency,
    )

    if output.suffix.lower() in style.FORMATS:
        subtitle = latency_lines(curve)[1]
        style.save(
            lambda: picture_latency(curve, title=latency_title(curve), subtitle=subtitle), output
        )
        return
    if output.suffix.lower() == MARKDOWN:
        text = latency_markdown(curve, title=latency_title(curve))
    else:
        del whole["elapsed_s"]  # the same seed gives the same bytes
        text = json.dumps(whole, indent=1) + "\n"
    with replacing(output) as temporary:
        temporary.write_text(text)
