"""`conset advise`: what an exchange costs, and what makes it faster without changing a program."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from conset.base import InputError, UsageError, interruptible, require_replaceable
from conset.cli.inputs import Reading, manifest_of, read_inputs
from conset.cli.options import (
    MACHINES,
    JsonOption,
    MachineOption,
    completing,
    expanded,
    opt,
    refuse,
)
from conset.cli.output import print_json, print_outcome, progress
from conset.compilation import CompileOptions
from conset.inputs import load_machine
from conset.machine import LAUNCHER_FILES, Machine, write_hosts
from conset.models import retarget
from conset.pattern import Pattern, Record, is_record, read_mpi_record
from conset.report import advice_section, record_section
from conset.schedule import Schedule, read_compiled, sniff, write_compiled
from conset.studies import (
    LIBRARIES,
    Advice,
    RecordAdvice,
    advise,
    advise_record,
    check_tuning,
    merged_rules,
    tune,
    write_tuning,
)

SUFFIXES = (*LAUNCHER_FILES, ".json", ".npz")
OF_COMPILES = ("placement", "ranks_per_node", "seed", "effort", "combine")


@expanded({"options": OF_COMPILES})
def command(
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="A record (a folder), a spec or file of a pattern, Open MPI's monitoring "
            "(prof.0.prof), or a schedule.",
        ),
    ],
    on: MachineOption,
    options: CompileOptions,
    other: Annotated[
        list[str] | None,
        opt(
            "--other MACHINE",
            "The same hosts with the routes of another engine; may be repeated.",
            complete=completing(*MACHINES),
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        opt("--without CABLE", "Without a cable: leafA:14, or A-B; may be repeated."),
    ] = None,
    tuning: Annotated[
        Path | None,
        opt("--tuning FILE", "Where to write rules for an MPI library's own exchange."),
    ] = None,
    library: Annotated[
        str,
        opt("--for LIBRARY", "openmpi (.json: version 6) or mpich."),
    ] = LIBRARIES[0],
    output: Annotated[
        Path | None,
        opt(
            "-o/--output FILE",
            "The best rank order (.rankfile .hostfile .slurm) or schedule (.json .npz).",
        ),
    ] = None,
    plans_only: Annotated[
        bool,
        opt("--plans-only", "Of a record: write plans for interception, without other advice."),
    ] = False,
    *,
    reading: Reading,
    json: JsonOption = False,
) -> None:
    """Say what an exchange costs on a network, and what makes it faster without a change."""
    _check(pattern, output, tuning, library, plans_only=plans_only)
    with progress("reading"):
        traffic, machine, own = _read(pattern, on, options, reading)
        others = [load_machine(each) for each in other or []]
    networks: dict[str, Any] = {"others": others, "without": without or []}
    with interruptible(), progress("advising", search=True):
        study: Advice | RecordAdvice
        if isinstance(own, Record):
            folder = Path(pattern) if Path(pattern).is_dir() else Path(pattern).parent
            study = advise_record(own, machine, folder, options, plans_only=plans_only, **networks)
            whole, section = study.advice, partial(record_section, study)
        else:
            whole = study = advise(traffic, machine, options, **networks, schedule=own)
            section = partial(advice_section, study)
    rules = []
    if tuning is not None:
        with progress("tuning"):
            rules = tune(traffic, machine, options)
        mean = traffic.bytes / max(traffic.messages, 1)
        write_tuning(rules, traffic.ranks, tuning, library, mean)
    if output is not None:
        _write(whole, output, pattern)
    if json:
        given = options.given() | reading.given() | {"other": other, "without": without}
        given |= {"plans_only": plans_only}
        body = study.to_object() | {"tuning": [vars(rule) for rule in rules]}
        print_json("conset/advise@1", body, manifest_of("advise", pattern, on, options.seed, given))
    print_outcome(section(merged_rules(rules)), 10, json)


def _check(
    pattern: str, output: Path | None, tuning: Path | None, library: str, *, plans_only: bool
) -> None:
    """Refuse options that do not fit, before anything is read."""
    if plans_only:
        refuse(
            {"output": output, "tuning": tuning}, "is of the advice that --plans-only leaves out"
        )
        if not is_record(Path(pattern)):
            raise UsageError(f"--plans-only: is for records, {pattern} is none")
    for path in filter(None, (output, tuning)):
        require_replaceable(path)
    check_tuning(tuning, library)
    if output is not None and output.suffix not in SUFFIXES:
        raise UsageError(f"-o {output}: must end in one of {', '.join(SUFFIXES)}")


def _read(
    pattern: str, on: str, options: CompileOptions, reading: Reading
) -> tuple[Pattern, Machine, Schedule | Record | None]:
    """(what is sent, where, the schedule or the record that it is of)."""
    if is_record(Path(pattern)):
        refuse(reading.given(), "is for files that are no record")
        machine, record = load_machine(on), read_mpi_record(Path(pattern))
        return record.pattern(), machine, record
    if sniff(pattern).form in ("schedule", "program"):
        machine = load_machine(on)
        own = retarget(read_compiled(pattern).whole, machine)
        return own.pattern, machine, own
    count, seed = options.ranks_per_node, options.seed
    return *read_inputs(pattern, on, reading, ranks_per_node=count, seed=seed), None


def _write(advice: Advice | None, output: Path, pattern: str) -> None:
    """Write the best rank order or schedule."""
    if advice is None:
        raise InputError(f"{pattern}: nothing was sent, there is nothing to write to {output}")
    if output.suffix in LAUNCHER_FILES:
        write_hosts(advice.host_names, output)
    else:
        write_compiled(advice.best, output)
