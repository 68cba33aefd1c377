"""`conset show` of a timeline, as `conset simulate -o` writes it: text, picture, JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

SCHEMA = "conset/show@1"


def kind_by_schema(path: Path) -> Literal["schedule", "timeline"]:
    """A schedule or a timeline; what names no schema is taken for a schedule, whose reader says what is wrong.

    Raises:
        InputError: another schema.
    """
    from conset.errors import InputError
    from conset.schedule.document import SCHEMA as SCHEDULE
    from conset.simulation.file import SCHEMA as TIMELINE
    from conset.simulation.file import schema_of

    schema = schema_of(path)
    if schema not in ("", SCHEDULE, TIMELINE):
        raise InputError(f"{path}: schema must be {SCHEDULE} or {TIMELINE}, is '{schema}'")
    return "timeline" if schema == TIMELINE else "schedule"


def show_timeline(path: Path, output: Path | None, as_json: bool) -> None:
    """Prints what a timeline file holds, and draws it where asked.

    Raises:
        InputError: no timeline, or one that does not say which messages it is of.
    """
    from conset.cli.output import console, print_json
    from conset.cli.progress import progress
    from conset.errors import InputError
    from conset.report.terminal_timeline import timeline_text
    from conset.report.timeline_view import TimelineView
    from conset.simulation.file import read_record

    with progress("reading"):
        record = read_record(path)
        try:
            view = TimelineView(record.timeline, record.machine, record.settings)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    if output is not None:
        from conset.cli.page import is_page, write_page
        from conset.report.picture_timeline import picture_timeline
        from conset.report.style import save

        with progress("drawing"):
            if is_page(output):
                title = f"{view.timeline.model} on {view.timeline.machine}"
                write_page(output, title, "", timeline_text(view, 120), [lambda: picture_timeline(view)])
            else:
                save(lambda: picture_timeline(view), output)
    if as_json:
        print_json(SCHEMA, {"kind": "timeline", **view.to_object()}, record.manifest)
    out = console(as_json)
    out.print(timeline_text(view, out.width))
