"""conset, the communication compiler: who sends what to whom, and a machine, in.

A verified schedule out.

>>> import conset
>>> schedule = conset.compile("alltoall:size=4KiB", "torus:4x4", method="coloring")
>>> conset.verify(schedule).ok
True

Functions; patterns and machines are nouns, specs or files:

    alltoallv_init           An exchange whose schedule the ranks of a communicator make while they
                             run.
    neighbor_alltoallv_init  The same with the neighbours of a distributed graph.
    bound         What no schedule can beat: a number with its witness.
    compare       Methods beside each other, for several patterns on several machines.
    compile       A schedule of a pattern on a machine.
    guarantees    What connections get at least, of a schedule or of every block of a program.
    load_machine  A machine from a preset, a network with options, or a file.
    load_pattern  A pattern from a spec or a file.
    method        What a method of your own keeps, a function `(Problem) -> Phases`: a decorator.
    partition     A mesh, graph or matrix distributed over ranks: its pattern, and who owns what.
    plan          What each rank executes.
    predict       The time a schedule takes, with its terms.
    program_open  The phases of a program opened one after the other, elements streaming through
                  their connections.
    read          The schedule in a file.
    read_layout   Who owns what, of `compile --layout` or `Layout.write`.
    run           Executes a schedule or a program over MPI beside its baselines, every byte
                  checked.
    run_at_run_time  What scheduling inside a program costs, and after how many uses it has paid.
    simulate      When every message is delivered, event by event.
    verify        All violations of a schedule or of a schedule file.
    write         Writes a schedule.

Nouns, which are values: compared by what they say, read-only, checked where they are made:

    Pattern       Messages between ranks.
    Layout        Who owns what of a mesh, graph or matrix, and what each message carries.
    Partition     A pattern with its layout: of `partition`.
    Topology      Nodes and links of a network.
    Routing       The rule for paths.
    Costs         How long things take.
    Limits        What may happen at once in a phase.
    Machine       A network with its routing, costs and hard limits.
    Problem       What a method is given: a placed pattern on a machine, limits, a seed.
    Phases        What a method gives back: `Phases.of(phase of each message)`.
    Schedule      Ordered phases that partition a pattern: of `compile`, `read`.
    Guarantees    Least bandwidth and longest latency of connections: of `guarantees`.
    Bounds        What no schedule beats, with its witnesses: of `bound`.
    Verification  A verdict with every violation: of `verify`.
    Timing        What a schedule takes: of `predict`.
    Workload      What a simulator plays: of a schedule, or of a trace.
    Timeline      What happened to each message: of `simulate`.
    Comparison    Rows of figures: of `compare`.
    Plan          Sends and receives of every rank in order: of `plan`.
    CommPlan      A plan that the ranks of a communicator execute: of `plan(…, comm)`.
    Exchange      One rank's part of a plan over MPI, again and again.
    OpenProgram   A program whose phases a rank opens: of `program_open`.
    Connection    An open connection of a phase, to send or to receive elements.
    RunResult     Measured times and checked bytes: of `run`.
    RunTimeResult  Costs of scheduling at run time: of `run_at_run_time`.

Errors, each of one line:

    ConsetError        Base of all.
    UsageError         An argument or a word of a spec is wrong.
    ArgumentError      A function has no such argument; a `TypeError` too.
    MissingExtraError  An optional library is not installed.
    InputError         A file's contents are wrong, or things do not fit each other.
    NoScheduleError    No schedule within the limits.
    VerificationError  A schedule breaks a rule, or an execution delivered a wrong byte.
    ExecutionError     A run over MPI did not end.

`help(conset.compile)` and the like say more.
"""

from __future__ import annotations

from conset.base import VERSION as __version__  # noqa: N811
from conset.base.notebook import load_forms_by

# nothing is imported here: the command line begins with this module, before it hears Ctrl-C
TYPE_CHECKING = False
if TYPE_CHECKING:
    from conset.api import (
        bound,
        compare,
        compile,
        guarantees,
        plan,
        predict,
        read,
        run,
        run_at_run_time,
        simulate,
        verify,
        write,
    )
    from conset.base.errors import (
        ArgumentError,
        ConsetError,
        ExecutionError,
        InputError,
        MissingExtraError,
        NoScheduleError,
        UsageError,
        VerificationError,
    )
    from conset.bounds.bounds import Bounds
    from conset.execution.connection_entries import program_open
    from conset.execution.exchange import CommPlan, Exchange
    from conset.execution.open_program import Connection, OpenProgram
    from conset.execution.plan import Plan
    from conset.execution.run import RunResult
    from conset.execution.run_time import alltoallv_init, neighbor_alltoallv_init
    from conset.inputs import load_machine, load_pattern, partition, read_layout
    from conset.machine.costs import Costs, Limits
    from conset.machine.machine import Machine
    from conset.machine.network.routing import Routing
    from conset.machine.network.topology import Topology
    from conset.methods.phases.given import method
    from conset.methods.phases.problem import Phases, Problem
    from conset.models.timeline import Timeline
    from conset.models.workload import Workload
    from conset.pattern.layout import Layout, Partition
    from conset.pattern.pattern import Pattern
    from conset.schedule.linkage import Guarantees
    from conset.schedule.schedule import Schedule
    from conset.studies.compare.comparison import Comparison
    from conset.studies.run_time.job import RunTimeResult
    from conset.studies.times import Timing
    from conset.verification.verification import Verification

_HOMES = {
    **dict.fromkeys(
        (
            "bound",
            "compare",
            "compile",
            "guarantees",
            "plan",
            "predict",
            "read",
            "run",
            "run_at_run_time",
            "simulate",
            "verify",
            "write",
        ),
        "conset.api",
    ),
    **dict.fromkeys(("load_machine", "load_pattern", "partition", "read_layout"), "conset.inputs"),
    **dict.fromkeys(("alltoallv_init", "neighbor_alltoallv_init"), "conset.execution.run_time"),
    **dict.fromkeys(
        (
            "ArgumentError",
            "ConsetError",
            "ExecutionError",
            "InputError",
            "MissingExtraError",
            "NoScheduleError",
            "UsageError",
            "VerificationError",
        ),
        "conset.base.errors",
    ),
    "Bounds": "conset.bounds.bounds",
    "CommPlan": "conset.execution.exchange",
    "Comparison": "conset.studies.compare.comparison",
    "Connection": "conset.execution.open_program",
    "Costs": "conset.machine.costs",
    "Exchange": "conset.execution.exchange",
    "Guarantees": "conset.schedule.linkage",
    "Layout": "conset.pattern.layout",
    "Limits": "conset.machine.costs",
    "Machine": "conset.machine.machine",
    "OpenProgram": "conset.execution.open_program",
    "Partition": "conset.pattern.layout",
    "Pattern": "conset.pattern.pattern",
    "Phases": "conset.methods.phases.problem",
    "Plan": "conset.execution.plan",
    "Problem": "conset.methods.phases.problem",
    "Routing": "conset.machine.network.routing",
    "RunResult": "conset.execution.run",
    "RunTimeResult": "conset.studies.run_time.job",
    "Schedule": "conset.schedule.schedule",
    "Timeline": "conset.models.timeline",
    "Timing": "conset.studies.times",
    "Topology": "conset.machine.network.topology",
    "Verification": "conset.verification.verification",
    "Workload": "conset.models.workload",
    "method": "conset.methods.phases.given",
    "program_open": "conset.execution.connection_entries",
}

__all__ = [
    "ArgumentError",
    "Bounds",
    "CommPlan",
    "Comparison",
    "Connection",
    "ConsetError",
    "Costs",
    "Exchange",
    "ExecutionError",
    "Guarantees",
    "InputError",
    "Layout",
    "Limits",
    "Machine",
    "MissingExtraError",
    "NoScheduleError",
    "OpenProgram",
    "Partition",
    "Pattern",
    "Phases",
    "Plan",
    "Problem",
    "Routing",
    "RunResult",
    "RunTimeResult",
    "Schedule",
    "Timeline",
    "Timing",
    "Topology",
    "UsageError",
    "Verification",
    "VerificationError",
    "Workload",
    "__version__",
    "alltoallv_init",
    "bound",
    "compare",
    "compile",
    "guarantees",
    "load_machine",
    "load_pattern",
    "method",
    "neighbor_alltoallv_init",
    "partition",
    "plan",
    "predict",
    "program_open",
    "read",
    "read_layout",
    "run",
    "run_at_run_time",
    "simulate",
    "verify",
    "write",
]


def _module(name: str) -> object:
    from importlib import import_module

    return import_module(name)


load_forms_by(lambda: _module("conset.report.page"))


def __dir__() -> list[str]:
    """The interface, for `dir`, `help` and completion, though most of it is not loaded yet."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


if not TYPE_CHECKING:  # type checkers see the imports above, and no name that is not there

    def __getattr__(name: str) -> object:
        """Loads a name when it is first used, so that the command line starts fast."""
        if name not in _HOMES:
            raise AttributeError(f"module 'conset' has no attribute '{name}'")
        globals()[name] = found = getattr(_module(_HOMES[name]), name)
        return found
