"""`conset testbed`: a contended network of namespaces on this machine, to run schedules on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from conset.cli.examples import examples_text
from conset.cli.options import JsonOption

if TYPE_CHECKING:
    from conset.base.errors import ConsetError
    from conset_testbed import Settings

app = typer.Typer(
    help="A contended network on this machine, to run schedules on: nodes are network namespaces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Function = TypeVar("Function", bound=Callable[..., None])
DEFAULT = "bed"
RAW = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""What follows the first word is the program's."""

NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="Of the testbed.")]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Of the testbed.")]
OnOption = Annotated[
    str, typer.Option("--on", metavar="NETWORK", help="Any machine: mesh:4x4, crossbar:8, a file.")
]
FabricOption = Annotated[
    str,
    typer.Option(
        "--fabric",
        metavar="F",
        help="lossless, shallow, medium, deep (kernel); credit, fq (emulated).",
    ),
]
RateOption = Annotated[
    str, typer.Option("--rate", help="Of a link of width 1, in each direction: 20mbit, 2.5 MB/s.")
]
PortRateOption = Annotated[
    str | None,
    typer.Option(
        "--port-rate", metavar="RATE", help="Puts a link of this rate before every endpoint."
    ),
]
QueueOption = Annotated[
    str | None,
    typer.Option("--queue", metavar="SIZE", help="Queue of every port, instead of the fabric's."),
]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window", metavar="N", help="Packets of a connection under way; 0: as TCP finds it."
    ),
]
CongestionOption = Annotated[
    str, typer.Option("--congestion", metavar="NAME", help="TCP's: cubic, reno, bbr.")
]
BufferOption = Annotated[
    str, typer.Option("--buffer", metavar="SIZE", help="credit: FIFO of every input.")
]
LatencyOption = Annotated[
    str, typer.Option("--latency", metavar="TIME", help="credit, fq: of every hop.")
]
StoreOption = Annotated[
    bool, typer.Option("--store-and-forward", help="credit, fq: no cut-through.")
]
MtuOption = Annotated[int, typer.Option("--mtu", metavar="BYTES", help="Of links.")]
TtlOption = Annotated[
    str, typer.Option("--ttl", metavar="TIME", help="Removed after that time, at most 2 hours.")
]
RanksOption = Annotated[
    int | None, typer.Option("-n", "--ranks", metavar="N", help="Default: one on every node.")
]
ProgramArgument = Annotated[
    list[str], typer.Argument(metavar="PROGRAM…", help="With its arguments.")
]


def _settings(
    name: str,
    on: str,
    fabric: str,
    rate: str,
    port_rate: str | None,
    queue: str | None,
    window: int | None,
    congestion: str,
    buffer: str,
    latency: str,
    store_and_forward: bool,
    mtu: int,
    ttl: str,
) -> Settings:
    from conset.base.units import parse_time
    from conset_testbed.settings import Settings, parse_bits, parse_bytes

    return Settings(
        name=name,
        network=on,
        fabric=fabric,
        rate_bps=parse_bits(rate, "rate"),
        port_bps=None if port_rate is None else parse_bits(port_rate, "port_rate"),
        queue_bytes=None if queue is None else parse_bytes(queue, "queue"),
        window=window,
        congestion=congestion,
        buffer_bytes=parse_bytes(buffer, "buffer"),
        latency_ns=round(parse_time(latency, "latency") * 1e9),
        store_and_forward=store_and_forward,
        mtu=mtu,
        ttl_s=float(ttl) if ttl.isdigit() else parse_time(ttl, "ttl"),
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
    from conset.base.errors import UsageError
    from conset.cli.output import print_json, print_plain
    from conset.schedule.manifest import Manifest
    from conset_testbed.access import check

    found = check()
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
def up(
    name: NameArgument = DEFAULT,
    on: OnOption = "mesh:4x4",
    fabric: FabricOption = "lossless",
    rate: RateOption = "20mbit",
    port_rate: PortRateOption = None,
    queue: QueueOption = None,
    window: WindowOption = None,
    congestion: CongestionOption = "",
    buffer: BufferOption = "12k",
    latency: LatencyOption = "0",
    store_and_forward: StoreOption = False,
    mtu: MtuOption = 1500,
    ttl: TtlOption = "15min",
    json: JsonOption = False,
) -> None:
    """Build a testbed; it lives until `down`, or until its time is over."""
    from conset.cli.output import print_json, print_plain, progress
    from conset.schedule.manifest import Manifest
    from conset_testbed.beds import up
    from conset_testbed.text import bed_object, built_text

    settings = _settings(
        name,
        on,
        fabric,
        rate,
        port_rate,
        queue,
        window,
        congestion,
        buffer,
        latency,
        store_and_forward,
        mtu,
        ttl,
    )
    with progress(f"building testbed {name}"):
        bed = up(settings)
    if json:
        print_json("conset/testbed@1", bed_object(bed), Manifest(command="conset testbed up"))
    else:
        print_plain(built_text(bed))


@_command()
def down(
    name: NameArgument = DEFAULT,
    every: Annotated[bool, typer.Option("--all", help="All testbeds of this user.")] = False,
    json: JsonOption = False,
) -> None:
    """Remove a testbed with all that runs on it."""
    from conset.cli.output import print_json, print_plain
    from conset.schedule.manifest import Manifest
    from conset_testbed.beds import down, of_each
    from conset_testbed.text import failed_objects, removed_text

    done, failed = of_each(down) if every else ([down(name)], {})
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the testbed.")],
    words: ProgramArgument,
) -> None:
    """Run an MPI program on a testbed.

    Options stand between NAME and PROGRAM: -n N (default: a rank on every node), --timeout S,
    --launcher PATH, -env NAME VALUE, --no-nap.
    """
    from conset_testbed.mpiexec import main

    raise typer.Exit(main([name, *words]))


@_command(context_settings=RAW)
def mpiexec(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the testbed.")],
    words: ProgramArgument,
) -> None:
    """Be an `mpiexec` on a testbed.

    For `conset run FILE --mpiexec "conset testbed mpiexec NAME"`.
    """
    from conset_testbed.mpiexec import main

    raise typer.Exit(main([name, *words]))


@_command("with", context_settings={"allow_interspersed_args": False})
def with_bed(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND…", help="Any; the testbed is its environment's.")
    ],
    name: NameOption = DEFAULT,
    on: OnOption = "mesh:4x4",
    fabric: FabricOption = "lossless",
    rate: RateOption = "20mbit",
    port_rate: PortRateOption = None,
    queue: QueueOption = None,
    window: WindowOption = None,
    congestion: CongestionOption = "",
    buffer: BufferOption = "12k",
    latency: LatencyOption = "0",
    store_and_forward: StoreOption = False,
    mtu: MtuOption = 1500,
    ttl: TtlOption = "15min",
) -> None:
    """Build a testbed, run a command, remove the testbed: also when this is killed."""
    from conset.cli.output import progress
    from conset_testbed.beds import standing
    from conset_testbed.run_with import run_command

    settings = _settings(
        name,
        on,
        fabric,
        rate,
        port_rate,
        queue,
        window,
        congestion,
        buffer,
        latency,
        store_and_forward,
        mtu,
        ttl,
    )
    with standing(settings, waiting=lambda: progress(f"building testbed {name}")) as bed:
        code = run_command(bed, command)
    raise typer.Exit(code)


@_command()
def stats(
    name: NameArgument = DEFAULT,
    most: Annotated[
        int, typer.Option("--links", metavar="N", help="Busiest links shown.", min=0)
    ] = 12,
    json: JsonOption = False,
) -> None:
    """Show bytes, packets and drops of every link since the testbed was built."""
    from conset.cli.output import print_json, print_plain
    from conset.schedule.manifest import Manifest
    from conset_testbed.beds import stats
    from conset_testbed.text import stats_text

    found = stats(name)
    if json:
        body = {"name": name, **found.to_object()}
        print_json("conset/testbed-stats@1", body, Manifest(command=f"conset testbed stats {name}"))
    else:
        print_plain(stats_text(found, most))


@_command("list")
def list_beds(json: JsonOption = False) -> None:
    """List the testbeds that stand."""
    from conset.cli.output import print_json, print_plain
    from conset.schedule.manifest import Manifest
    from conset_testbed.beds import of_each
    from conset_testbed.state import read_bed
    from conset_testbed.text import failed_objects, list_text, state_object

    found, failed = of_each(read_bed)
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
    from conset_testbed.text import failed_objects

    for each in failed_objects(failed):
        print(f"conset: testbed '{each['name']}': {each['message']}", file=sys.stderr)  # noqa: T201
    if failed:
        raise typer.Exit(max(error.exit_code for error in failed.values()))
