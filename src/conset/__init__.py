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
    advise        What an exchange costs on a network, and what makes it faster without a change.
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

import importlib

import lazy_loader

from conset.base import VERSION
from conset.base.notebook import load_forms_by

# names are imported when they are used: the command line begins with this module and starts fast
__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = VERSION
__all__ = sorted([*__all__, "__version__"])


def __dir__() -> list[str]:
    """Return the public names, though most of them are not loaded yet."""
    return __all__


load_forms_by(lambda: importlib.import_module("conset.report.page"))
