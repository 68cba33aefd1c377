"""`conset testbed`: a contended network of namespaces on this machine, to run schedules on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from conset.base import ConsetError, UsageError, option, parse_time
from conset.cli.examples import examples_text
from conset.cli.options import JsonOption, expanded, opt
from conset.cli.output import print_json, print_plain, progress
from conset.schedule import Manifest
from conset_testbed import access, beds
from conset_testbed.mpiexec import main as run_mpiexec
from conset_testbed.run_with import run_command
from conset_testbed.settings import Settings, parse_bits, parse_bytes
from conset_testbed.state import read_bed
from conset_testbed.text import (
    bed_object,
    built_text,
    failed_objects,
    list_text,
    removed_text,
    state_object,
    stats_text,
)

app = typer.Typer(
    help="A contended network on this machine, to run schedules on: nodes are network namespaces.",
    epilog=examples_text("testbed"),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Function = TypeVar("Function", bound=Callable[..., None])
DEFAULT = "bed"
RAW = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""What follows the first word is the program's."""
NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="Of the testbed.")]
GivenNameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Of the testbed.")]
ProgramArgument = Annotated[
    list[str], typer.Argument(metavar="PROGRAM…", help="With its arguments.")
]


@dataclass(frozen=True)
class Bed:
    """A testbed that is asked for, as typed.

    Attributes:
        on: any machine.
        fabric: what its switches do.
        rate: of links.
        port_rate: of links before endpoints.
        queue: of ports.
        window: packets of a connection.
        congestion: what TCP does.
        buffer: of inputs.
        latency: of hops.
        store_and_forward: whether switches wait for whole packets.
        mtu: of links.
        ttl: how long it lives.
    """

    on: str = option("mesh:4x4", "NETWORK", "Any machine: mesh:4x4, crossbar:8, a file.")
    fabric: str = option(
        "lossless", "F", "lossless, shallow, medium, deep (kernel); credit, fq (emulated)."
    )
    rate: str = option(
        "20mbit", "RATE", "Of a link of width 1, in each direction: 20mbit, 2.5 MB/s."
    )
    port_rate: str | None = option(None, "RATE", "Puts a link of this rate before every endpoint.")
    queue: str | None = option(None, "SIZE", "Queue of every port, instead of the fabric's.")
    window: int | None = option(None, "N", "Packets of a connection under way; 0: as TCP finds it.")
    congestion: str = option("", "NAME", "TCP's: cubic, reno, bbr.")
    buffer: str = option("12k", "SIZE", "credit: FIFO of every input.")
    latency: str = option("0", "TIME", "credit, fq: of every hop.")
    store_and_forward: bool = option(False, None, "credit, fq: no cut-through.")
    mtu: int = option(1500, "BYTES", "Of links.")
    ttl: str = option("15min", "TIME", "Removed after that time, at most 2 hours.")

    def settings(self, name: str) -> Settings:
        """With every value read."""
        return Settings(
            name=name,
            network=self.on,
            fabric=self.fabric,
            rate_bps=parse_bits(self.rate, "rate"),
            port_bps=None if self.port_rate is None else parse_bits(self.port_rate, "port_rate"),
            queue_bytes=None if self.queue is None else parse_bytes(self.queue, "queue"),
            window=self.window,
            congestion=self.congestion,
            buffer_bytes=parse_bytes(self.buffer, "buffer"),
            latency_ns=round(parse_time(self.latency, "latency") * 1e9),
            store_and_forward=self.store_and_forward,
            mtu=self.mtu,
            ttl_s=float(self.ttl) if self.ttl.isdigit() else parse_time(self.ttl, "ttl"),
        )


def _command(name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
    """A command of `app`, whose summary is not cut, with its examples."""

    def register(function: Function) -> Function:
        summary = (function.__doc__ or "").split("\n", 1)[0]
        epilog = examples_text(f"testbed {name or function.__name__}")
        app.command(name, short_help=summary, epilog=epilog, **settings)(function)
        return function

    return register


@_command()
def check(json: JsonOption = False) -> None:
    """Say in one line what this machine permits; exit code 2 where that is nothing."""
    found = access.check()
    if json:
        body = {
            "ok": not found.kernel,
            "emulated_ok": not found.emulated,
            "text": found.text,
            **vars(found),
        }
        print_json("conset/testbed-check@1", body, Manifest(command="conset testbed check"))
    else:
        print_plain(f"testbed: {found.text}")
    if found.kernel:
        raise typer.Exit(UsageError.exit_code)


@_command()
@expanded()
def up(
    name: NameArgument = DEFAULT,
    *,
    bed: Bed,
    json: JsonOption = False,
) -> None:
    """Build a testbed; it lives until `down`, or until its time is over."""
    with progress(f"building testbed {name}"):
        built = beds.up(bed.settings(name))
    if json:
        print_json("conset/testbed@1", bed_object(built), Manifest(command="conset testbed up"))
    else:
        print_plain(built_text(built))


@_command()
def down(
    name: NameArgument = DEFAULT,
    every: Annotated[bool, opt("--all", "All testbeds of this user.")] = False,
    json: JsonOption = False,
) -> None:
    """Remove a testbed with all that runs on it."""
    done, failed = beds.of_each(beds.down) if every else ([beds.down(name)], {})
    if json:
        rows = [
            {"name": each.name, "namespaces": each.removed, "foreign": list(each.foreign)}
            for each in done
        ]
        body = {"testbeds": rows, "failed": failed_objects(failed)}
        print_json("conset/testbed-down@1", body, Manifest(command="conset testbed down"))
    else:
        for each in done:
            print_plain(removed_text(each))
    _end_with(failed)


@_command(context_settings=RAW)
def run(
    name: GivenNameArgument,
    words: ProgramArgument,
) -> None:
    """Run an MPI program on a testbed.

    Options stand between NAME and PROGRAM: -n N (default: a rank on every node), --timeout S,
    --launcher PATH, -env NAME VALUE, --no-nap.
    """
    raise typer.Exit(run_mpiexec([name, *words]))


@_command(context_settings=RAW)
def mpiexec(
    name: GivenNameArgument,
    words: ProgramArgument,
) -> None:
    """Be an `mpiexec` on a testbed, as `conset run FILE --mpiexec` takes it."""
    raise typer.Exit(run_mpiexec([name, *words]))


@_command("with", context_settings={"allow_interspersed_args": False})
@expanded()
def with_bed(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND…", help="Any; the testbed is its environment's.")
    ],
    name: Annotated[str, opt("--name NAME", "Of the testbed.")] = DEFAULT,
    *,
    bed: Bed,
) -> None:
    """Build a testbed, run a command, remove the testbed: also when this is killed."""
    waiting = partial(progress, f"building testbed {name}")
    with beds.standing(bed.settings(name), waiting=waiting) as built:
        code = run_command(built, command)
    raise typer.Exit(code)


@_command()
def stats(
    name: NameArgument = DEFAULT,
    most: Annotated[int, opt("--links N", "Busiest links shown.", least=0)] = 12,
    json: JsonOption = False,
) -> None:
    """Show bytes, packets and drops of every link since the testbed was built."""
    found = beds.stats(name)
    if json:
        body = {"name": name, **found.to_object()}
        print_json("conset/testbed-stats@1", body, Manifest(command=f"conset testbed stats {name}"))
    else:
        print_plain(stats_text(found, most))


@_command("list")
def list_beds(json: JsonOption = False) -> None:
    """List the testbeds that stand."""
    found, failed = beds.of_each(read_bed)
    if json:
        body = {
            "testbeds": [state_object(each) for each in found],
            "failed": failed_objects(failed),
        }
        print_json("conset/testbed-list@1", body, Manifest(command="conset testbed list"))
    else:
        if found or not failed:
            print_plain(list_text(found))
    _end_with(failed)


def _end_with(failed: dict[str, ConsetError]) -> None:
    """Says which testbeds could not be read or removed, after all others.

    The worst of their exit codes.
    """
    for each in failed_objects(failed):
        print(f"conset: testbed '{each['name']}': {each['message']}", file=sys.stderr)  # noqa: T201
    if failed:
        raise typer.Exit(max(error.exit_code for error in failed.values()))
