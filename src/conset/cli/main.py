"""`conset`: reads the command line, runs one command, turns errors into a line and an exit code.

What takes time is imported inside functions; the process begins in `conset.cli.entry`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conset.cli.entry import INTERRUPTED, NOTHING_WRITTEN, listen_early
from conset.cli.signals import Terminated, close_streams, interrupts, listen_late, open_streams

if TYPE_CHECKING:
    import typer

COMMANDS = (
    "compile",
    "verify",
    "bound",
    "predict",
    "simulate",
    "run",
    "calibrate",
    "plan",
    "show",
    "report",
    "compare",
    "campaign",
    "reproduce",
    "methods",
    "patterns",
    "machines",
    "config",
    "testbed",
    "doctor",
)
"""Every command is `cli/<name>.py` with a function `command`, or with an `app` of commands.

The order is that of the help.
"""


def build() -> typer.Typer:
    """The application with all commands."""
    from importlib import import_module

    import typer

    from conset.base import VERSION
    from conset.cli.examples import examples_text

    app = typer.Typer(
        name="conset",
        help=(
            "The communication compiler: who sends what to whom, and a machine, in; a verified "
            "schedule out."
        ),
        epilog="`conset help COMMAND` says all of one, with "
        "examples. `conset --install-completion` "
        "lets your shell "
        "complete commands, options and names.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # its boxes take longer to import than all the rest
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    )

    @app.callback(invoke_without_command=True)
    def root(
        version: bool = typer.Option(False, "--version", help="Print the version and end."),
    ) -> None:
        if version:
            typer.echo(f"conset {VERSION}")
            raise typer.Exit

    for name in COMMANDS:
        module = import_module(f"conset.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(
                module.app, name=name, short_help=module.app.info.help, epilog=examples_text(name)
            )
            continue
        command = module.command
        summary = (command.__doc__ or "").split("\n", 1)[0]  # else it is cut
        app.command(name, short_help=summary, epilog=examples_text(name))(command)
    return app


def _report(message: str, code: int, as_json: bool) -> int:
    import json

    from conset.cli.output import error_object

    line = " ".join(str(message).split())
    if as_json:
        print(json.dumps(error_object(line, code)))  # noqa: T201
    print(f"conset: {line}", file=sys.stderr)  # noqa: T201
    return code


def _interrupted(as_json: bool, before: int) -> int:
    """What is said of an end: a file that stands is not denied."""
    from conset.base.files import written

    names = ", ".join(str(path) for path in written()[before:])
    return _report(
        f"interrupted, {names} is written" if names else NOTHING_WRITTEN, INTERRUPTED, as_json
    )


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code.

    0 fine, 2 usage, 3 bad input, …; see the README.
    """
    import typer

    from conset.base.errors import ConsetError, UsageError, unknown_name
    from conset.base.files import written
    from conset.cli.inputs import explain, explain_missing, in_order, spell_options

    as_json = "--json" in arguments
    before = len(written())
    try:
        arguments = in_order(list(arguments), COMMANDS)
        if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
            raise unknown_name("command", arguments[0], COMMANDS)
        app = build()
        with interrupts():
            result = app(args=arguments, prog_name="conset", standalone_mode=False)
        if result == INTERRUPTED:  # what typer makes of KeyboardInterrupt
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except typer.Exit as end:
        if end.exit_code == INTERRUPTED:
            return _interrupted(as_json, before)
        return end.exit_code
    except typer.TyperException as error:
        return _report(explain(error.format_message(), arguments), UsageError.exit_code, as_json)
    except ConsetError as error:
        message = spell_options(str(error), error.options)
        return _report(explain_missing(message, arguments), error.exit_code, as_json)
    except (KeyboardInterrupt, Terminated, typer.Abort):
        return _interrupted(as_json, before)
    except (Exception, MemoryError) as error:
        if os.environ.get("CONSET_DEBUG"):
            raise
        return _report(
            f"internal error: {type(error).__name__}: {error} (CONSET_DEBUG=1 shows where)",
            1,
            as_json,
        )


def main() -> None:
    """The command that the process was started with, and its end."""
    listen_early()  # where nobody did before
    open_streams()
    code = run(sys.argv[1:])
    listen_late()
    sys.exit(close_streams(code))
