"""`conset`: reads the words of the command line, runs one command, turns errors into one line and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from conset.cli.output import error_object
from conset.errors import ConsetError, UsageError, unknown_name
from conset.version import VERSION

COMMANDS = (
    "compile", "verify", "bound", "predict", "simulate", "run", "show", "compare", "reproduce", "methods", "machines",
    "doctor",
)  # fmt: skip
"""Every command is `cli/<name>.py` with a function `command`; the order is that of the help."""

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended with nothing to give."""


def build() -> typer.Typer:
    """The application with all commands."""
    app = typer.Typer(
        name="conset",
        help="The communication compiler: who sends what to whom, and a machine, in; a verified schedule out.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    )

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
        if version:
            typer.echo(f"conset {VERSION}")
            raise typer.Exit

    for name in COMMANDS:
        app.command(name)(import_module(f"conset.cli.{name}").command)
    return app


def _report(message: str, code: int, as_json: bool) -> int:
    line = " ".join(str(message).split())
    if as_json:
        print(json.dumps(error_object(line, code)))  # noqa: T201
    print(f"conset: {line}", file=sys.stderr)  # noqa: T201
    return code


def run(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code (0 fine, 2 usage, 3 bad input, …; see the README)."""
    as_json = "--json" in arguments
    arguments = list(arguments) or ["--help"]
    try:
        if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
            raise unknown_name("command", arguments[0], COMMANDS)
        result = build()(args=arguments, prog_name="conset", standalone_mode=False)
        if result == INTERRUPTED:  # what typer makes of KeyboardInterrupt
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException as error:
        return _report(error.format_message(), UsageError.exit_code, as_json)
    except ConsetError as error:
        return _report(str(error), error.exit_code, as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _report("interrupted, nothing written", INTERRUPTED, as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, MemoryError) as error:
        if os.environ.get("CONSET_DEBUG"):
            raise
        return _report(f"internal error: {type(error).__name__}: {error} (CONSET_DEBUG=1 shows where)", 1, as_json)


def main() -> None:
    """Entry point of the `conset` script."""
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(code)
