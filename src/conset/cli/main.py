"""`conset`: reads the command line, runs one command, turns errors into a line and an exit code.

Every command is `cli/<name>.py` with a function `command`, or with an `app` of commands, which is
imported when the command is named; nothing that takes long is imported here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from itertools import takewhile
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from conset.base import VERSION, ConsetError, InputError, UsageError, unknown_name, written
from conset.cli.examples import examples_text
from conset.cli.output import close_streams, error_object, open_streams

try:
    from conset.base import stopping
except ImportError:  # without its core, which `conset doctor` reports
    stopping = None  # type: ignore[assignment]

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "compile": "Cut a pattern into phases under limits: verified, bounded, predicted.",
        "verify": "Verify a file of `compile` or `simulate` by code that shares nothing with it: "
        "violations, and exit code 4.",
        "bound": "Compute what no schedule can beat under the limits of a method, with the proof.",
        "predict": "Predict the time of a schedule by the machine's model or by formula, with its "
        "terms.",
        "simulate": "Simulate a schedule, a program, or a trace on a machine: when every message "
        "is delivered; or latency by load.",
        "run": "Execute a schedule or a program over MPI beside its baselines, every byte checked.",
        "calibrate": "Measure the parameters of your machine over MPI, with intervals: overheads, "
        "latency, rates, barriers, contention.",
        "plan": "Plan what each rank executes; with -o a file for programs without Python (C, "
        "C++, Fortran), or their source.",
        "convert": "Write a pattern or schedule for another tool (GOAL, SimGrid, MSCCL, htsim), or "
        "read its files.",
        "show": "Draw a machine, a pattern, a schedule, a program or a timeline, in the terminal "
        "or as a picture.",
        "report": "Report on files as one page: what each is, whether it is right, how good, how "
        "long, with pictures.",
        "compare": "Compare methods on patterns and machines: phases, gap, load, time by the "
        "machine's model, or by several.",
        "advise": "Say what an exchange costs on a network, and what makes it faster without a "
        "change to the program.",
        "record": "Record what an unmodified MPI program sends, for `advise` and `intercept`.",
        "intercept": "Run an unmodified MPI program with its all-to-all exchanges in a better "
        "order, where that is faster.",
        "campaign": "Run a matrix of cases, measured or simulated: the choice beside everything "
        "else, case by case, resumable.",
        "reproduce": "Reproduce the four texts: every table and figure from the pipeline, with "
        "the error of each cell.",
        "methods": "List the methods, or one: limits, domain, guarantee, complexity, reference; "
        "with --on whether they apply.",
        "patterns": "List the patterns, or one: what is sent, arguments with their defaults, what "
        "the number of ranks must be.",
        "machines": "List the machines, or one: every number with its unit, its tag and its "
        "source.",
        "config": "Print how to compile and link a C, C++ or Fortran program with conset.",
        "testbed": "A contended network on this machine, to run schedules on: nodes are network "
        "namespaces.",
        "doctor": "List what is installed, what is missing, and the command that installs it; "
        "start two MPI ranks.",
    }
)
"""Command, with the first line of its help; the order is that of the help."""
INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended with nothing to give."""


class _Commands(TyperGroup):
    """All commands; that which is named is imported."""

    def __init__(self, **settings: Any) -> None:
        listed = {name: TyperCommand(name, short_help=line) for name, line in COMMANDS.items()}
        super().__init__(**settings | {"commands": listed})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load_command(str(name)), rest


def load_command(name: str) -> Any:
    """The command called `name`, as the parser takes it, from its module."""
    module = import_module(f"conset.cli.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        settings = getattr(module, "CONTEXT", None)
        register = app.command(
            name, help=COMMANDS[name], epilog=examples_text(name), context_settings=settings
        )
        register(module.command)
    return typer.main.get_command(app)


def build() -> Any:
    """The application, as the parser takes it."""
    app = typer.Typer(
        name="conset",
        help="The communication compiler: a traffic pattern and a machine in, a verified "
        "schedule out.",
        epilog="`conset help COMMAND` says all of one, with examples. `conset "
        "--install-completion` lets your shell complete commands, options and names.",
        cls=_Commands,
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

    return typer.main.get_command(app)


def in_order(arguments: list[str], commands: Collection[str]) -> list[str]:
    """The arguments as the commands take them.

    `--json` after the command, `help COMMAND` as `COMMAND --help`.
    """
    if not arguments or arguments == ["help"]:
        return ["--help"]
    if arguments[0] == "help" and arguments[1] in commands:
        return [*arguments[1:], "--help"]
    if arguments[0] == "help":
        return arguments[1:]  # which is then said to be unknown
    if arguments[0] == "--json" and len(arguments) > 1:
        return [*in_order(arguments[1:], commands), "--json"]
    return arguments


def _report(message: str, code: int, as_json: bool) -> int:
    line = " ".join(str(message).split())
    if as_json:
        print(json.dumps(error_object(line, code)))  # noqa: T201
    print(f"conset: {line}", file=sys.stderr)  # noqa: T201
    return code


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code (`docs/command-line.md` lists them)."""
    as_json = "--json" in takewhile("--".__ne__, arguments)
    before = len(written())
    arguments = in_order(list(arguments), COMMANDS)
    if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        error = unknown_name("command", arguments[0], COMMANDS)
        return _report(str(error), error.exit_code, as_json)
    try:
        with stopping.ended_by_signals() if stopping else nullcontext():
            code = build()(args=arguments, prog_name="conset", standalone_mode=False)
    except typer.Exit as end:
        code = end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (ConsetError, typer.TyperException) as error:
        from conset.cli.inputs import explain

        own = isinstance(error, ConsetError)
        exit_code = error.exit_code if own else UsageError.exit_code
        return _report(explain(error, arguments), exit_code, as_json)
    except (Exception, MemoryError) as error:
        if os.environ.get("CONSET_DEBUG"):
            raise
        if isinstance(error, MemoryError):
            return _report(f"not enough memory: {error}", InputError.exit_code, as_json)
        what = f"{type(error).__name__}: {error}"
        return _report(f"internal error: {what} (CONSET_DEBUG=1 shows where)", 1, as_json)
    if code == INTERRUPTED:
        names = ", ".join(str(path) for path in written()[before:] if path.exists())
        line = f"{names} is written" if names else "nothing written"
        return _report(f"interrupted, {line}", INTERRUPTED, as_json)
    return code if isinstance(code, int) else 0


def main() -> None:
    """Run the command that the process was started with, and end it."""
    open_streams()
    sys.exit(close_streams(run(sys.argv[1:])))
