"""Is a timeline possible? What `conset simulate --check` and `conset verify` of a timeline's file say and print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conset.formats.timeline import Record
    from conset.simulation.check import Violation


def check_record(record: Record) -> tuple[Violation, ...]:
    """All that is impossible in a timeline.

    Raises:
        InputError: a file that does not say what was played, on which machine and how.
    """
    from conset.cli.progress import progress
    from conset.errors import InputError
    from conset.simulation.check import check_timeline

    work = record.timeline.workload
    if work is None or record.machine is None or record.settings is None:
        missing = "messages" if work is None else "machine" if record.machine is None else "settings"
        raise InputError(f"the timeline cannot be checked: it does not say its {missing}")
    with progress("checking"):
        return check_timeline(record.timeline, work, record.machine, record.settings)


def check_object(record: Record, violations: tuple[Violation, ...]) -> dict[str, Any]:
    """`ok`, `violations` with the keys of a schedule's, and whether rates at every time were looked at."""
    return {
        "ok": not violations,
        "violations": [{"phase": None, "transfer": None, "rule": v.rule, "text": v.text} for v in violations],
        "rates": record.timeline.rates is not None,
    }


def describe_check(record: Record) -> str:
    """What was looked at, in words."""
    if record.timeline.model == "flit":
        return "starts, deliveries, policies, bounds and flits of every link hold"
    if record.timeline.rates is None:
        return "starts, deliveries, policies and bounds hold; rates were not kept"
    return "starts, deliveries, policies, bounds and the rates at every time hold"


def print_violations(violations: tuple[Violation, ...], what: str, as_json: bool) -> None:
    """One line for each violation, then exit code 4 if there are any.

    Raises:
        VerificationError: there are, for people.
        Exit: there are, with `--json`: the object says them.
    """
    import typer

    from conset.errors import VerificationError
    from conset.units import count_of

    for violation in violations:
        typer.echo(f"{violation.rule}: {violation.text}", err=as_json)
    count = len(violations)
    if count and as_json:
        raise typer.Exit(VerificationError.exit_code)
    if count:
        raise VerificationError(f"{what}: {count_of(count, 'violation')}")


def verify_timeline(file: Path, schema: str, as_json: bool) -> None:
    """Verifies a timeline's file from the file alone.

    Raises:
        InputError: it cannot be read, or says too little.
        VerificationError: it is impossible.
    """
    import typer

    from conset.cli.output import print_json
    from conset.errors import InputError
    from conset.formats.timeline import read_record

    record = read_record(file)
    try:
        violations = check_record(record)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    if as_json:
        figures = {"time_s": record.timeline.time_s, "messages": record.timeline.messages}
        print_json(schema, {**check_object(record, violations), "figures": figures}, record.manifest)
    print_violations(violations, str(file), as_json)
    if not as_json:
        typer.echo(f"{file}: ok, {describe_check(record)}")
