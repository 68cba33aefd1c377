"""`conset compile`: a pattern and a machine in, a schedule or a program out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from conset.base import (
    STOPPED,
    UsageError,
    VerificationError,
    format_time,
    interruptible,
    require_replaceable,
    require_suffix,
)
from conset.cli.inputs import Reading, manifest_of, read_inputs, read_partition
from conset.cli.options import (
    DetailsOption,
    JsonOption,
    MachineOption,
    PatternArgument,
    expanded,
    opt,
)
from conset.cli.output import console, print_json, progress
from conset.compilation import (
    AUTO,
    DEFAULTS,
    DIRECT,
    BlockSpec,
    CompileOptions,
    compile_combined,
    compile_pattern,
    compile_program,
    read_program,
    summarize_combination,
)
from conset.inputs import load_machine
from conset.machine import LAUNCHER_FILES, Machine, write_hosts
from conset.methods import whose_fault
from conset.models import predict_program
from conset.pattern import LAYOUT_SUFFIX, Pattern
from conset.report import (
    Section,
    compile_section,
    program_object,
    program_section,
    section_text,
)
from conset.schedule import (
    AnyDocument,
    Manifest,
    Program,
    Schedule,
    document_of,
    require_writable,
    write_compiled,
)
from conset.studies import time_schedule, with_modelled
from conset.verification import verify


@dataclass(frozen=True)
class _Made:
    """What a compile gives, however it was made.

    Attributes:
        body: what `--json` has.
        section: for people.
        stopped_early: whether the search was stopped.
        verified: whether no rule is broken.
        what: what is written.
        schema: of `--json`.
    """

    body: Mapping[str, Any]
    section: Section
    stopped_early: bool
    verified: bool
    what: Schedule | Program | AnyDocument
    schema: str = "conset/compile@1"


@expanded()
def command(
    pattern: PatternArgument,
    on: MachineOption,
    options: CompileOptions,
    reading: Reading,
    layout: Annotated[
        Path | None,
        opt(
            "--layout FILE.npz",
            "Where to write who owns what of a mesh, graph or matrix, for applications.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        opt(
            "-o/--output FILE",
            "A schedule (.json .npz), or the order of ranks (.rankfile .hostfile .slurm).",
        ),
    ] = None,
    details: DetailsOption = False,
    json: JsonOption = False,
) -> None:
    """Cut a pattern into phases under limits: verified, bounded, predicted."""
    if output is not None and output.suffix == ".npz" and options.combine is None:
        options = replace(options, combine=DIRECT)  # the file holds a schedule
    of_blocks = Path(pattern).suffix == ".toml"
    forwards = options.combine not in (None, DIRECT)
    launches = output is not None and output.suffix in LAUNCHER_FILES
    if launches:
        if of_blocks or forwards:
            raise UsageError(f"-o {output}: an order of ranks is of one pattern, without stages")
        options = replace(options, combine=DIRECT)
        if options.chosen_method == AUTO:  # what a program does that has no schedule
            options = replace(options, method="naive", posting="rotated")
    elif output is not None:
        require_writable(output, program=of_blocks or forwards)
    if layout is not None:
        require_replaceable(require_suffix(layout, "a layout file", LAYOUT_SUFFIX))
    if of_blocks:
        _refuse_of_programs(pattern, options, reading, layout)
    with progress("reading"):
        owned = None
        if of_blocks:
            machine = load_machine(on)
            make = partial(_compile_blocks, read_program(pattern, machine, options), machine)
        elif layout is None:
            count = options.ranks_per_node
            inputs = read_inputs(pattern, on, reading, ranks_per_node=count, seed=options.seed)
            make = partial(_compile, *inputs)
        else:
            partition, machine = read_partition(pattern, on, reading, seed=options.seed)
            make, owned = partial(_compile, partition.pattern, machine), partition.layout
    given = {**options.given(), **reading.given()}
    manifest = manifest_of("compile", pattern, on, options.seed, given)
    made = make(options, manifest)
    if not made.verified:
        found = document_of(made.what) if isinstance(made.what, Program) else made.what
        broken = verify(found).violations[0].text
        name = getattr(made.what, "method", "")
        what = f"method {name} made a schedule that" if name else "the program"
        fault = whose_fault(name) if name else "a bug of conset"
        raise VerificationError(f"{what} does not verify: {fault}: {broken}")
    if launches and isinstance(made.what, Schedule):
        made = _with_gain(made, made.what, options, Path(str(output)))
    elif output is not None:
        with progress("writing"):
            write_compiled(made.what, output)
    if owned is not None and layout is not None:
        with progress("writing the layout"):
            owned.write(layout)
    if json:
        print_json(made.schema, made.body, manifest)
    console(json).print(section_text(made.section, 10, quiet=False, details=details))
    if made.stopped_early:
        raise typer.Exit(STOPPED)


def _with_gain(made: _Made, placed: Schedule, options: CompileOptions, path: Path) -> _Made:
    """Writes the order of ranks for a launcher; what it gains comes first."""
    machine, pattern = placed.machine, placed.pattern
    own = compile_pattern(pattern, machine, replace(options, placement=DEFAULTS.placement))
    before, after = time_schedule(own), time_schedule(placed)
    nodes = (
        np.arange(pattern.ranks, dtype=np.int32) if placed.placement is None else placed.placement
    )
    hosts = machine.host_names(nodes)
    with progress("writing"):
        write_hosts(hosts, path)
    gain = before.time_s / after.time_s if after.time_s else 1.0
    times = f"{format_time(after.time_s)}, as given {format_time(before.time_s)}"
    answer = f"{gain:.2f} times faster in this order of ranks: {placed.method} {times} ({after.by})"
    order = {"hosts": hosts, "as_given_s": before.time_s, "time_s": after.time_s, "gain": gain}
    return replace(
        made,
        body={**made.body, "rank_order": order},
        section=replace(made.section, answer=answer),
    )


def _refuse_of_programs(
    path: str, options: CompileOptions, reading: Reading, layout: Path | None
) -> None:
    """Raise UsageError for an option that a program of blocks would not look at."""
    if options.combine not in (None, DIRECT):
        raise UsageError(
            f"--combine {options.combine}: is for patterns, {path} is a program of blocks"
        )
    if layout is not None:
        raise UsageError(
            f"--layout: is for meshes, graphs and matrices, {path} is a program of blocks"
        )
    for name, value in reading.given().items():
        if value is not None:
            raise UsageError(
                f"--{name.replace('_', '-')}: is for one pattern; in {path} a block says {name} "
                "itself"
            )


def _compile(
    pattern: Pattern, machine: Machine, options: CompileOptions, manifest: Manifest
) -> _Made:
    """A program where messages are combined; a schedule where they go directly."""
    with interruptible(), progress(f"scheduling by {options.method}", search=True):
        found = compile_combined(pattern, machine, options, options.combine, manifest=manifest)
    with progress("verifying, bounding, predicting"):
        if not found.whole.report or not found.whole.report.stopped_early:
            found = replace(found, whole=with_modelled(found.whole, found.program.paths))
        body = summarize_combination(found)
    made = found.whole if found.combine == DIRECT else found.program
    return _Made(body, compile_section(found, body), body["stopped_early"], body["verified"], made)


def _compile_blocks(
    blocks: list[BlockSpec], machine: Machine, options: CompileOptions, manifest: Manifest
) -> _Made:
    """Patterns one by one, whose phases share contexts."""
    with interruptible(), progress(f"scheduling {len(blocks)} blocks", search=True):
        program = compile_program(blocks, machine, options, manifest=manifest)
    with progress("verifying"):
        document = document_of(program)
        verified = verify(document).ok
    prediction = predict_program(program)
    body = program_object(program, prediction)
    section = program_section(program, prediction)
    return _Made(body, section, program.stopped_early, verified, document, "conset/program@1")
