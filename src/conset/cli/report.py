"""`conset report`: schedules, programs, timelines and records on one page, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conset.cli.options import JsonOption, opt
from conset.cli.output import print_json, print_parts, progress
from conset.report import check_page_path, files_parts, write_files_page
from conset.schedule import Manifest, sha256_of
from conset.studies import examine


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Schedules, programs, timelines (.json or .npz), records (folders).",
        ),
    ],
    output: Annotated[
        Path | None,
        opt("-o/--output FILE.html", "The page; without it nothing is written."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report on files as one page.

    What each is, whether it is right, how good, how long, with pictures.
    """
    if output is not None:
        check_page_path(output)
    with progress("reading, verifying, bounding, predicting"):
        found = examine(files)
    command = " ".join(["conset report", *(path.name for path in files)])
    if output is not None:
        with progress("drawing"):
            write_files_page(output, found, command)
    if json:
        digest = sha256_of("".join(each.facts["sha256"] for each in found))
        print_json(
            "conset/report@1",
            {"files": [dict(each.facts) for each in found]},
            Manifest(command, 0, digest),
        )
    print_parts(files_parts(found), json)
