"""The table of all methods: name, function, limits, domain, guarantee.

Compiler, help, docs and tests read it.

Adding a method is adding its file and its row.
"""

from __future__ import annotations

from conset.base import UsageError, shortened, unknown_name
from conset.machine import Limits
from conset.methods.phases.birkhoff import schedule_birkhoff
from conset.methods.phases.bounded import (
    applies_bounded,
    refuse_no_square,
    schedule_bounded,
    schedule_scott,
)
from conset.methods.phases.circuits import (
    refuse_no_rate,
    schedule_circuits,
    schedule_eclipse,
    schedule_spectra,
)
from conset.methods.phases.coloring import schedule_coloring
from conset.methods.phases.connections import (
    limits_connections,
    schedule_connections,
)
from conset.methods.phases.event_list import schedule_event_list
from conset.methods.phases.first_fit import schedule_decreasing, schedule_first_fit
from conset.methods.phases.given import (
    MethodFunction,
    function_in,
    installed_methods,
    is_in_file,
    method_of,
    name_of,
)
from conset.methods.phases.naive import refuse_posting, schedule_naive
from conset.methods.phases.negotiated import (
    applies_negotiated,
    limits_half_duplex,
    schedule_half_duplex,
    schedule_negotiated,
)
from conset.methods.phases.pairwise_exchange import (
    applies_lp,
    limits_lp,
    refuse_sides,
    schedule_gen,
    schedule_lp,
    schedule_pex,
    schedule_pex_gen_shift,
)
from conset.methods.phases.problem import ANY, PORTS, Method
from conset.methods.phases.random_schedule import (
    schedule_rs_n,
    schedule_rs_nl,
)

WANG_RANKA = "Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860"
THAKUR = "Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh"
SCOTT = "Scott: Efficient all-to-all communication patterns in hypercube and mesh topologies"

LARGE = 1 << 17
"""Messages above which a prediction takes a noticeable part of a second."""

ROWS: tuple[Method, ...] = (
    Method(
        name="naive",
        run=schedule_naive,
        refuses=refuse_posting,
        title="everything at once",
        limits=lambda topology: Limits(),
        adjustable_limits=frozenset(),
        ordered=True,
        domain="any pattern; an order that lists by targets or sizes do not break",
        guarantee="one phase",
        complexity="O(messages), O(messages)",
        reference=f"{WANG_RANKA}, Section 3 (AC)",
        sync="none",
    ),
    Method(
        name="lp",
        run=schedule_lp,
        refuses=applies_lp,
        title="linear permutations: exchanges with the XOR partner",
        limits=limits_lp,
        adjustable_limits=frozenset({"duplex"}),
        ordered=False,
        domain=(
            "one rank per node, any number of ranks, no order; links are limited on a "
            "hypercube only"
        ),
        guarantee="fewer than 2^⌈lg ranks⌉ phases, exchanges only",
        complexity="O(messages), O(messages)",
        reference=f"{WANG_RANKA}, Section 4.1",
    ),
    Method(
        name="rs-n",
        run=schedule_rs_n,
        title="randomised permutations without node contention",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=True,
        domain="any",
        guarantee="none; about d + log₂ d phases on average where all send and receive d",
        complexity="O(messages · log degree) expected, O(messages)",
        reference=f"{WANG_RANKA}, Section 4.2, Figure 3",
    ),
    Method(
        name="rs-nl",
        run=schedule_rs_nl,
        title="randomised permutations without node or link contention, exchanges first",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset({"link"}),
        ordered=True,
        domain="any with fixed routes",
        guarantee="none; about d + 3 to d + 7 phases on the 6-cube where all send and receive d",
        complexity="O(messages · phases · hops) at worst, O(messages + links)",
        reference=f"{WANG_RANKA}, Section 5, Figure 4, with PATHS reset in every permutation",
        orders_links=True,
    ),
    Method(
        name="coloring",
        run=schedule_coloring,
        title="bipartite edge colouring by Euler partitions and random walks",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="any pattern without an order",
        guarantee="exactly the largest degree of a port: the fewest phases under port limits",
        complexity="O(messages · log(degree · nodes)) expected, O(messages + degree)",
        reference=(
            "Gabow, doi:10.1007/BF00998632; Goel, Kapralov, Khanna, doi:10.1145/1806689.1806697"
        ),
    ),
    Method(
        name="first-fit",
        run=schedule_first_fit,
        title="longest route first into the first phase with room, under any limits",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset({"send", "receive", "link", "channels", "duplex"}),
        ordered=True,
        domain="any",
        guarantee=(
            "a message that shares resources with k others is in one of the first k + 1 phases"
        ),
        complexity="O(messages · hops · phases / 64), O(messages + resources · phases / 64)",
        reference=(
            "bit-parallel list scheduling; sweeps after Culberson, Luo, DIMACS Series 26 (1996)"
        ),
        chooses_planes=True,
    ),
    Method(
        name="pex",
        run=schedule_pex,
        refuses=refuse_sides,
        by_rank=True,
        title="pairwise exchange with the XOR partner, links left to contend",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset({"duplex"}),
        ordered=False,
        domain="a power of two of ranks, one per node, on sides that are powers of two; no order",
        guarantee=(
            "ranks - 1 phases, exchanges only, at most half the longer side of a mesh on a link"
        ),
        complexity="O(messages), O(messages)",
        reference=f"{THAKUR}, Section 3.1",
    ),
    Method(
        name="pex-gen",
        run=schedule_pex,
        by_rank=True,
        title="pairwise exchange on any number of ranks, absent partners skipped",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset({"duplex"}),
        ordered=False,
        domain="one rank per node, any number of ranks, no order",
        guarantee="fewer than 2^⌈lg ranks⌉ phases, exchanges only",
        complexity="O(messages), O(messages)",
        reference=f"{THAKUR}, Section 3.2",
    ),
    Method(
        name="pex-gen-shift",
        run=schedule_pex_gen_shift,
        by_rank=True,
        title="pairwise exchange with absent partners spread over all phases",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset({"duplex"}),
        ordered=False,
        domain="one rank per node, any number of ranks, no order",
        guarantee="fewer than 2^⌈lg ranks⌉ phases, exchanges only",
        complexity="O(messages), O(messages)",
        reference=f"{THAKUR}, Section 3.3, with its modulus put right",
    ),
    Method(
        name="gen",
        run=schedule_gen,
        by_rank=True,
        title="in step i every rank sends i places up",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="one rank per node, any number of ranks, no order",
        guarantee="at most ranks - 1 phases",
        complexity="O(messages), O(messages)",
        reference=f"{THAKUR}, Section 3.4",
    ),
    Method(
        name="scott",
        run=schedule_scott,
        refuses=refuse_no_square,
        by_rank=True,
        title="complete exchange on a square mesh without contention",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="an n x n mesh, 4 divides n; one rank per node, no order",
        guarantee="n³/4 phases for a complete exchange, the bisection bound",
        complexity="O(messages), O(n⁴)",
        reference=f"{SCOTT}, as Bokhari and Nicol use it, Section 4",
        orders_links=True,
    ),
    Method(
        name="bounded",
        run=schedule_bounded,
        refuses=applies_bounded,
        title="complete exchange with bounded contention of links, by construction",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset({"link"}),
        ordered=False,
        domain="complete exchange on a mesh or torus of any dimension, one rank on each node",
        guarantee=(
            "the bound on n × n meshes, ⌈n³/4c⌉ phases for 4 | n, c ≤ n/4, and on those up to "
            "24 × 24 at c = 1; elsewhere the best found"
        ),
        complexity=(
            "O(messages) by construction, a fixed number of sweeps more by search; O(messages)"
        ),
        reference=(
            "Bokhari, Nicol: Balancing contention and synchronization on the Intel "
            "Paragon, Section 5"
        ),
        orders_links=True,
        chooses_planes=True,
    ),
    Method(
        name="negotiated",
        run=schedule_negotiated,
        refuses=applies_negotiated,
        title="negotiated phases, and routes where they are free: what too many want becomes dear",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset({"send", "receive", "link", "channels", "duplex"}),
        ordered=True,
        domain="any; duplex exchange with send 1, receive 1 and the machine's routes",
        guarantee="no more phases than first-fit",
        complexity=(
            "O(hops · phases) for each message in trouble and sweep, O((nodes + links) · phases)"
        ),
        reference="McMurchie, Ebeling: PathFinder, doi:10.1145/201310.201328",
        free_routes=True,
        orders_links=True,
        searches=True,
        chooses_planes=True,
    ),
    Method(
        name="half-duplex",
        run=schedule_half_duplex,
        title="negotiated exchanges: a message and the one that comes back share a phase",
        limits=limits_half_duplex,
        adjustable_limits=frozenset({"link", "channels"}),
        ordered=True,
        domain="any with fixed routes",
        guarantee="no more phases than first-fit, nor than lp where lp keeps the same limits",
        complexity=(
            "O(hops · phases) for each pair in trouble and sweep, O((nodes + links) · phases)"
        ),
        reference=f"{WANG_RANKA}, Section 2.2 (the machine's rule)",
        searches=True,
    ),
    Method(
        name="decreasing",
        run=schedule_decreasing,
        title="first fit by decreasing length, annealed: barriers and unequal sizes",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset({"send", "receive", "link", "channels", "duplex"}),
        ordered=True,
        domain="any",
        guarantee=(
            "never longer, barriers included, than first fit by length or a sweep of first-fit"
        ),
        complexity=(
            "first-fit, then O(steps · (hops + messages of a phase)), O(phases · resources + "
            "messages · hops)"
        ),
        reference="none for the whole; moves after Johnson et al., doi:10.1287/opre.39.3.378",
        searches=True,
    ),
    Method(
        name="birkhoff",
        run=schedule_birkhoff,
        title="split messages in phases exactly as long as the busiest port",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="any pattern without an order",
        guarantee="the largest parts of all phases add up to the most bytes out of or into a node",
        complexity="O(phases · log(bytes) · messages) in practice, O(messages)",
        reference="Gonzalez, Sahni, doi:10.1145/321978.321985; Birkhoff's theorem",
        searches=True,
    ),
    Method(
        name="event-list",
        run=schedule_event_list,
        title="one phase with a timetable: every transfer starts when all it holds is free",
        limits=lambda topology: Limits(),
        adjustable_limits=frozenset(),
        ordered=True,
        domain="any",
        guarantee="no transfer waits while its ports and links are free",
        complexity="O(restarts · messages · degree · hops), O(messages · hops)",
        reference="list scheduling, Gonzalez, Sahni, doi:10.1145/321978.321985",
        orders_links=True,
        searches=True,
    ),
    Method(
        name="connections",
        run=schedule_connections,
        title="sets of open connections over chosen routes, a channel in every node (ConSet)",
        limits=limits_connections,
        adjustable_limits=frozenset({"send", "receive", "link", "channels"}),
        ordered=True,
        domain="any; the best of all routers that apply",
        guarantee=(
            "never worse than a router alone; ΣL = n³/8 for a complete exchange on a "
            "torus n × n, 4 | n"
        ),
        complexity="that of the routers: sequential, negotiated, orbits, closed-form",
        reference=(
            "Feldmann, Stricker, Warfel: Supporting Sets of Arbitrary Connections on iWarp, "
            "Section 4.4.1"
        ),
        free_routes=True,
        orders_links=True,
        searches=True,
    ),
    Method(
        name="circuits",
        run=schedule_circuits,
        refuses=refuse_no_rate,
        title="circuit switches: few long configurations, cut to fill all planes",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="circuit switches (`reconfigure`), any pattern without an order",
        guarantee="never slower than Spectra's assignment or wrap-around of the same matchings",
        complexity=("O(degree · nodes³) at worst and a linear program, O(nodes² + degree · nodes)"),
        reference="doi:10.1287/mnsc.6.1.1 (wrap-around); Spectra, arXiv:2603.07373 (matchings)",
        searches=True,
        circuits=True,
    ),
    Method(
        name="spectra",
        run=schedule_spectra,
        refuses=refuse_no_rate,
        title="circuit switches: the longest configurations first, planes equalized",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="circuit switches (`reconfigure`), any pattern without an order",
        guarantee="planes differ by the time of a change at most",
        complexity="as circuits",
        reference="Spectra, arXiv:2603.07373",
        searches=True,
        circuits=True,
    ),
    Method(
        name="eclipse",
        run=schedule_eclipse,
        refuses=refuse_no_rate,
        title="circuit switches: the most bytes per time first, greedily",
        limits=lambda topology: PORTS,
        adjustable_limits=frozenset(),
        ordered=False,
        domain="circuit switches (`reconfigure`), any pattern without an order",
        guarantee="none for all bytes; a constant share of what any schedule serves in its time",
        complexity="O(configurations · durations · nodes³) at worst, O(nodes²)",
        reference="Bojja Venkatakrishnan et al., doi:10.1145/2896377.2901479",
        searches=True,
        circuits=True,
    ),
)
"""All methods, in the order of the documentation."""


_BY_NAME = {row.name: row for row in ROWS}
_OF_PAPERS = {"ac": "naive"}
"""Names of the texts that are not those of rows but for their case and `_`."""
_ELSEWHERE = {
    "s1": "the policy ready (--sync ready)",
    "s2": "the policy none (--sync none)",
    "shift": "the shift of pex-gen-shift (--method pex-gen-shift)",
    "apr": "the router sequential of connections (--router sequential)",
    "as": "the timetable as (--timetable as)",
}
"""Names of the texts for what is no method here."""
_others: dict[str, Method] = {}
"""Methods of other people that were asked for in this process."""


def table() -> dict[str, Method]:
    """All rows by name, in the order of the documentation."""
    return _BY_NAME


def all_methods() -> dict[str, Method]:
    """The rows, and behind them the methods of installed packages.

    Raises:
        InputError: a package's method cannot be loaded.
    """
    own = table()
    return own | {name: load() for name, load in installed_methods().items() if name not in own}


def find_method(name: str) -> Method:
    """The method called `name`: a row, one of an installed package, or one loaded before.

    Names of the texts are known too (`RS_NL`, `AC`). Executes no file.

    Raises:
        UsageError: unknown, with the nearest known name. InputError: a package's method cannot be
            loaded.
    """
    if found := _BY_NAME.get(name) or _others.get(name):
        return found
    written = name.lower().replace("_", "-")
    if found := _BY_NAME.get(_OF_PAPERS.get(written, written)):
        return found
    if written in _ELSEWHERE:
        raise UsageError(f"method {name}: is {_ELSEWHERE[written]}", options=["method"])
    if is_in_file(name):
        rule = "a file is executed where the command line or a function of Python names it"
        raise UsageError(f"method {shortened(name)}: not loaded: {rule}", options=["method"])
    installed = installed_methods()
    if name not in installed:
        raise unknown_name("method", name, [*table(), *installed])
    return _others.setdefault(name, installed[name]())


def whose_fault(name: str) -> str:
    """Who answers for a schedule of a method that does not verify."""
    return "a bug of conset" if name in table() else "the method breaks a rule"


def load_method(given: str | MethodFunction) -> Method:
    """The method that a user named, as it is known from now on; executes `FILE.py:NAME`.

    Never for a name that a file of data holds.

    Raises:
        UsageError: unknown, with the nearest known name, or no such function in the file.
        InputError: no such file, or its own error with its line.
    """
    if isinstance(given, str) and (given in _BY_NAME or not is_in_file(given)):
        return find_method(given)
    if not isinstance(given, str):
        if not callable(given):
            raise UsageError(f"method {given!r}: a name or a function required", options=["method"])
        name, function = name_of(given), given
    else:
        name, function = function_in(given)
    _others[name] = method_of(name, function)
    return _others[name]
