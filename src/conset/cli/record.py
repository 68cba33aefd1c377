"""`conset record`: what an unmodified MPI program sends, as a folder that other commands read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from conset.base import ConsetError, format_size
from conset.cli.config import find_c_library
from conset.cli.options import OF_PROGRAMS, CommandArgument, opt
from conset.cli.output import print_note
from conset.execution import (
    RECORDED,
    preloaded,
    replacing_record,
    run_program,
    why_nothing,
)
from conset.pattern import Record, read_mpi_record
from conset.pattern.readers.records import NOTHING

CONTEXT = OF_PROGRAMS


def command(
    program: CommandArgument,
    output: Annotated[
        Path,
        opt("-o/--output DIR", "Folder for the record: a new one, or one with an older record."),
    ],
) -> None:
    """Record what an unmodified MPI program sends."""
    with replacing_record(output) as folder:
        library = find_c_library().preloaded
        status = run_program(*preloaded(program, library, {"CONSET_RECORD": str(folder)}))
        recorded = any(folder.glob(RECORDED))
        if not recorded:
            reason = why_nothing(program, status)
            (folder / NOTHING).write_text(f"{reason}\n")
            kept = f"; {output} is kept as it was" if any(output.glob(RECORDED)) else ""
            print_note(f"nothing was recorded: {reason}{kept}")
    try:
        for line in summary(read_mpi_record(output), output) if recorded else ():
            print_note(line)
    except ConsetError as error:
        print_note(str(error))
    raise typer.Exit(status)


def summary(record: Record, folder: Path) -> list[str]:
    """Return lines with what was recorded, what is missing, and what to do next."""
    calls: Counter[str] = Counter()
    for each in record.exchanges:
        calls[each.kind] += each.calls
    of_kinds = "".join(f", {number:,} calls of {kind}" for kind, number in calls.most_common())
    size = sum(each.bytes for each in record.exchanges if not each.obstacle[0])
    return [
        f"{record.ranks} ranks{of_kinds}, {format_size(size)} in exchanges that can be reordered: "
        f"conset advise {folder} --on MACHINE",
        *record.notes,
    ]
