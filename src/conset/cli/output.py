"""What commands print: one JSON object or text on stdout, progress on stderr.

Progress on anything over two seconds: stderr, terminals only.

Of a search its best so far, its bound and the gap; of a simulation how many messages are delivered;
and what is left at the pace so far, where it is known how much there is to do
(`conset.base.progress`).
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from conset import schedule
from conset.base import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console, RenderableType

    from conset.report import Section

WIDTH = 120
"""Columns of tables where the output is no terminal."""


def error_object(message: str, code: int) -> dict[str, Any]:
    """`conset/error@1`: the message and the exit code."""
    return {
        "schema": "conset/error@1",
        "message": message,
        "exit": code,
        "manifest": schedule.Manifest().to_object(),
    }


def console(as_json: bool = False) -> Console:
    """Where text for people goes: stdout, or stderr where stdout belongs to a JSON object."""
    from rich.console import Console

    file = sys.stderr if as_json else sys.stdout
    return Console(
        file=file,
        highlight=False,
        width=None if file.isatty() else WIDTH,
        soft_wrap=not file.isatty(),
    )


def print_parts(parts: Iterable[RenderableType], as_json: bool = False) -> None:
    """Texts with rich's markup and tables, one below the other."""
    out = console(as_json)
    for part in parts:
        out.print(part)


def print_outcome(section: Section, width: int, as_json: bool = False) -> None:
    """Title and facts of an outcome, labels `width` letters wide, then its tables."""
    from conset.report import outcome_parts

    print_parts(outcome_parts(section, width), as_json)


def print_sections(
    sections: Sequence[Section], as_json: bool = False, *, markdown: bool = False
) -> None:
    """Sections one below the other, as Markdown where asked."""
    from conset.report import section_markdown, section_parts

    for k, section in enumerate(sections):
        if markdown:
            print_markdown(("\n" if k else "") + section_markdown(section), as_json)
        else:
            print_parts([*([""] if k else []), *section_parts(section)], as_json)


def print_markdown(text: str, as_json: bool = False) -> None:
    """Markdown as it is."""
    console(as_json).print(text, markup=False, end="")


def print_plain(text: str) -> None:
    """Text for other programs: as it is, however long its lines."""
    print(text)  # noqa: T201


def print_note(line: str) -> None:
    """One line on stderr, after `conset:`, beside the output of a program."""
    print(f"conset: {line}", file=sys.stderr)  # noqa: T201


def print_json(schema: str, body: Mapping[str, Any], manifest: schedule.Manifest) -> None:
    """One object on stdout: `schema`, the body, `manifest`."""
    print_plain(object_text(schema, body, manifest))


def object_text(schema: str, body: Mapping[str, Any], manifest: schedule.Manifest) -> str:
    """Return a JSON object with `schema`, the body and `manifest`."""
    return json.dumps({"schema": schema, **body, "manifest": manifest.to_object()}, indent=1)


DELAY_S = 2.0


@contextmanager
def progress(
    what: str,
    *,
    search: bool = False,
    messages: int = 0,
    detail: Callable[[], str] | None = None,
    parts: bool = True,
) -> Iterator[None]:
    """Shows `what`, the seconds gone and what is left, once `DELAY_S` have passed.

    Nothing where stderr is no terminal.

    Inside a work that is done in parts all count from where that began: many short parts show too.

    Args:
        what: is going on.
        search: whether the core publishes a best so far and a bound meanwhile.
        messages: how many a simulation will have delivered when it is done; 0: none is going on.
        detail: says how far it is.
        parts: whether it is shown how much of the works around and inside is done.
    """
    if not sys.stderr.isatty():
        yield
        return
    from conset import _core
    from conset.base import share_of, works

    done = threading.Event()
    under_way = works() if parts else []
    start = time.monotonic()
    waits_s = DELAY_S - (start - under_way[0].began if under_way else 0.0)
    watched = _core.this_search()

    def show() -> None:
        if done.wait(max(waits_s, 0.0)):
            return
        from rich.console import Console
        from rich.status import Status

        with Status(what, console=Console(stderr=True)) as status:
            while not done.wait(0.2):
                so_far, share = "", 0.0
                if search:
                    so_far = describe_search(*watched.best)
                elif messages:
                    so_far = describe_delivered(watched.delivered, messages)
                    share = watched.delivered / messages
                elif detail is not None and (text := detail()):
                    so_far = f", {text}"
                outer = tuple(under_way)
                gone_s = time.monotonic() - min([start, *(each.began for each in outer[:1])])
                left = describe_left(gone_s, share_of(outer) if outer else share)
                status.update(f"{what} … {gone_s:.0f} s{left}{so_far}")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def describe_left(gone_s: float, share: float) -> str:
    """`, 41%, about 40 s left`, at the pace so far; nothing before enough is done to say."""
    from conset.base import duration_text, seconds_left

    left_s = seconds_left(gone_s, share)
    return "" if left_s is None else f", {share:.0%}, about {duration_text(left_s)} left"


def describe_delivered(delivered: int, messages: int) -> str:
    """`, 412,672 of 1,000,000 messages (41%)`; nothing before the first are delivered."""
    return (
        f", {delivered:,} of {messages:,} messages ({delivered / messages:.0%})"
        if delivered
        else ""
    )


def describe_search(incumbent: float, bound: float) -> str:
    """`, best 135, bound 128, gap 1.055, Ctrl-C keeps it`; nothing before there is a schedule."""
    if not incumbent:
        return ""
    against = f", bound {bound:.6g}, gap {incumbent / bound:.3f}" if bound else ""
    return f", best {incumbent:.6g}{against}, Ctrl-C keeps it"


_failures: list[OSError] = []


def open_streams() -> None:
    """Replaces stdout and stderr by streams that never fail; what is closed leads nowhere.

    A command goes on where its output is not read, or cannot be written, so that its exit code is
    what it would have been.
    """
    for descriptor in (0, 1, 2):  # else the next file that is opened takes the place
        try:
            os.fstat(descriptor)
        except OSError:
            _to_nowhere(descriptor)
    sys.stdout = _stream(sys.stdout, _Output(1), is_errors=False)
    sys.stderr = _stream(sys.stderr, _Output(2), is_errors=True)


def close_streams(code: int) -> int:
    """Writes what is left and returns the exit code.

    `code`, or that of an output that could not be written.
    """
    sys.stdout.flush()
    for error in _failures:
        print(f"conset: standard output: cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201
        code = code or InputError.exit_code
    sys.stderr.flush()
    return code


def _stream(old: TextIO | None, raw: io.FileIO, *, is_errors: bool) -> TextIO:
    if old is not None and not isinstance(old, io.TextIOWrapper):
        return old  # somebody else's
    encoding, errors = ("utf-8", None) if old is None else (old.encoding, old.errors)
    lines = is_errors or (old is not None and old.line_buffering)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=lines)


class _Output(io.FileIO):
    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == 1 and not isinstance(error, BrokenPipeError):
                _failures.append(error)
            _to_nowhere(self.fileno())
        return memoryview(data).nbytes


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
