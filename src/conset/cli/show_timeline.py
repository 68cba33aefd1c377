"""`conset show` of a timeline, as `conset simulate -o` writes it: text, picture, JSON."""

from __future__ import annotations

from pathlib import Path

SCHEMA = "conset/show@1"


def show_timeline(path: Path, output: Path | None, as_json: bool) -> None:
    """Prints what a timeline file holds, and draws it where asked.

    Raises:
        InputError: no timeline, or one that does not say which messages it is of.
    """
    from conset.cli.output import console, print_json, progress
    from conset.errors import InputError
    from conset.formats.timeline import read_record
    from conset.report.terminal_timeline import timeline_text
    from conset.report.timeline_view import TimelineView

    with progress("reading"):
        record = read_record(path)
        try:
            view = TimelineView(record.timeline, record.machine, record.settings)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    if output is not None:
        from conset.report.html import is_page, write_page
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
