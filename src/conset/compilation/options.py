"""Options: what a compile is asked for, one object from the command line to the method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast, get_args

from conset.base import InputError, UsageError, check_option, option, unknown_name
from conset.machine import Limits, Machine
from conset.methods import (
    PLACEMENTS,
    ROUTERS,
    TIMETABLES,
    Method,
    MethodFunction,
    Objective,
    Routes,
    SearchOptions,
    all_methods,
    find_method,
    find_router,
    find_timetable,
    load_method,
    parse_combine,
    refuse_unknown_routes,
    require_placement,
    table,
)
from conset.schedule import KINDS, POSTINGS, parse_sync

AUTO = "auto"
"""The word for what the chooser decides.

Method, contention and policy, the policy alone, or the placement.
"""
FORMULA = "formula"
"""The word for choosing by predicted time; the other rankings are models."""
RANKING_MODELS = ("flow", "wormhole", "circuit", "packet")
"""Models that may rank."""
RANKINGS = (*RANKING_MODELS, FORMULA)
DIRECT = "none"
"""The word for sending every message directly, in one stage."""
OF_CONNECTIONS = ("router", "min_bandwidth", "max_latency", "phases")
"""Options of method `connections`, which they make the method."""
MAX_EFFORT = 2**31 - 1
BOUNDED_BY = "first-fit"
"""The method whose limits a bound has that names none: any of ports and links."""
POLICIES = (
    "none: post everything in schedule order; local: a rank ends its own phase first; ready: "
    "local, and a zero-byte signal for each message; barrier[:K]: a barrier after every K phases; "
    "detect: none, with receives posted as messages come"
)
"""What keeps phases apart, policy by policy."""


def method_name(given: str | MethodFunction) -> str:
    """The name of a method that a user named, or `auto`; raises as `load_method`."""
    return AUTO if given == AUTO else load_method(given).name


def method_names(given: Iterable[str | MethodFunction] | None) -> list[str]:
    """The names of methods that a user wants compared, each once; None: of all there are.

    Raises:
        UsageError: none, an unknown one, or two of one name. InputError: as `load_method`.
    """
    if given is None:
        return list(all_methods())
    named: dict[str, str | MethodFunction] = {}
    for each in given:
        name = method_name(each)
        if named.setdefault(name, each) != each:
            raise UsageError(f"methods: two are called '{name}'", options=["methods"])
    if not named:
        raise UsageError("methods: at least one method required", options=["methods"])
    return list(named)


def check_ranking(rank_by: str | None) -> None:
    """Raises `UsageError` unless `rank_by` is None, `formula` or a model that may rank."""
    if rank_by is not None and rank_by not in RANKINGS:
        raise unknown_name("ranking", rank_by, RANKINGS)


@dataclass(frozen=True)
class CompileOptions:
    """What a compile is asked for; every text as on the command line.

    Attributes:
        method: name in the table of methods, or `auto`: the one with the least time, as `rank_by`
            says; or a method of your own: `FILE.py:NAME`, in Python a function too.
        contention: limit of every link, or None for the method's own.
        channels: limit of routes through a node, or None.
        limits: `send=1,receive=1,link=2,channels=none,duplex=exchange`, any of them; or None.
        placement: name of a placement, `auto`, or a file of node ids.
        ranks_per_node: ranks on each node.
        sync: policy, `none`, `local`, `ready`, `barrier` or `barrier:K`; `auto`: the one with the
            least time, as `rank_by` says; None: as `auto`, but `naive` keeps `none`.
        seed: of every random choice.
        effort: sweeps of search, at least 1.
        timetable: name in the table of timetables: put the transfers inside every phase one after
            the other; or None.
        router: name in the table of routers, for `connections` alone (which it makes the method, if
            that is `auto`).
        phases: how many phases `connections` makes (which it makes the method, if that is `auto`);
            None: as the objective says.
        posting: the order in which `naive` posts the messages of each rank (which it makes the
            method, if that is `auto`): `schedule` (by index), `ascending`, `rotated`, `random`,
            `longest-first`, `pairwise`, `dimension`.
        objective: `time`, or `phases`: fewest phases, then least ΣL.
        rank_by: what method and policy are chosen by, where they are: `flow`, `wormhole` or
            `circuit`, which simulate, or `formula`; None: the machine's model.
        min_bandwidth: what every connection must be guaranteed: a rate (`5MB/s`), or a file of
            rates; for `connections` alone.
        max_latency: what an element of every connection may take at most: a time (`5us`), or a file
            of times; for `connections` alone.
        routes: `fixed`: the machine's; `free`: the method chooses them with the phases, where it
            can (with method `auto`: negotiated).
        combine: how small messages are forwarded in stages: `none`, `auto`,
            sides `8x8`, `radix:2`, `node-aware`, `virtual-grid:4x4`, `mixed`; then the result is a
            program, of one stage where messages go directly. None: the command line compares stages
            with direct messages where no other option asks for a direct schedule; Python does not.

    Raises:
        UsageError: an unknown word, a number out of range, or options that do not go together.
    """

    method: str = option(
        AUTO,
        "M",
        "How phases are found: auto, or one that `conset methods` lists.",
        known=lambda: (AUTO, *all_methods()),
        check=lambda name: name == AUTO or find_method(name),
        python="str | MethodFunction",
    )
    contention: int | None = option(None, "C", "Messages a link may carry at once.")
    channels: int | None = option(None, "K", "Routes through a node at once, ends included.")
    limits: str | None = option(
        None,
        "WORDS",
        "As send=1,receive=1,link=2; also channels=none and duplex=exchange.",
        python="Limits | str | None",
    )
    placement: str = option(
        "identity",
        "P",
        "identity, gray, random, switch, bisection, annealed, annealed-bytes, auto, or a file of "
        "node ids or hosts.",
        known=lambda: (*PLACEMENTS, AUTO),
        check=require_placement,
        python="str | Path",
    )
    ranks_per_node: int = option(1, "K", "Ranks on each node.", least=1)
    sync: str | None = option(
        None,
        "S",
        f"{POLICIES}; auto: the fastest by --rank-by. Default: auto, for naive none.",
        known=lambda: (*KINDS, AUTO),
        check=lambda word: word == AUTO or parse_sync(word, AUTO),
    )
    seed: int = option(0, "N", "Seed of every random choice.")
    effort: int = option(1, "N", "How long to search, in sweeps.", least=1, most=MAX_EFFORT)
    timetable: str | None = option(
        None,
        "T",
        "as or event-list: transfers of a phase one after the other.",
        known=lambda: TIMETABLES,
        check=find_timetable,
    )
    router: str | None = option(
        None,
        "R",
        "Of connections: sequential[:K] (APR, K rounds), negotiated, orbits, closed-form.",
        known=lambda: (row.name for row in ROUTERS),
        check=find_router,
    )
    phases: int | None = option(
        None, "P", "Of connections: exactly so many phases.", least=1, most=MAX_EFFORT
    )
    posting: str = option(
        POSTINGS[0],
        "O",
        "Of naive: schedule (by index), ascending, rotated, random, longest-first, pairwise "
        "or dimension.",
        known=lambda: POSTINGS,
    )
    objective: str = option(
        "time",
        "O",
        "time, or phases: fewest phases, then least ΣL.",
        known=lambda: get_args(Objective),
    )
    rank_by: str | None = option(
        None,
        "R",
        "What chooses: flow, wormhole, circuit, packet (simulated) or formula; default: the "
        "machine's model.",
        known=lambda: RANKINGS,
        check=check_ranking,
    )
    min_bandwidth: str | None = option(
        None,
        "RATE|FILE",
        "What every connection is guaranteed, or a .csv of it.",
        python="str | Path | None",
    )
    max_latency: str | None = option(
        None,
        "TIME|FILE",
        "What an element may take at most, or a .csv of it.",
        python="str | Path | None",
    )
    routes: str = option(
        "fixed",
        "R",
        "fixed: the machine's routes; free: chosen with the phases.",
        known=lambda: get_args(Routes),
    )
    combine: str | None = option(
        None,
        "C",
        "Forward small messages in stages: none, auto, sides (8x8), radix:2, node-aware, "
        "virtual-grid:4x4, mixed. Default: auto, unless options ask for a direct schedule.",
        check=parse_combine,
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            if (value := getattr(self, each.name)) != each.default:
                check_option(each, value)
        self.user_limits(Limits())
        self._check_together()

    def changed(self, changes: Mapping[str, Any]) -> CompileOptions:
        """These options with some changed, as Python gives them; raises as the class."""
        texts: dict[str, str] = {}
        for name, value in changes.items():
            if isinstance(value, Limits | Path):
                texts[name] = value.to_text() if isinstance(value, Limits) else str(value)
        if "method" in changes:
            texts["method"] = method_name(changes["method"])
        return replace(self, **{**changes, **texts})

    def _check_together(self) -> None:
        """Options that go with one method, or with a choice, alone."""
        method = self.chosen_method
        for name in OF_CONNECTIONS:
            value = getattr(self, name)
            if value is not None and self.method not in (AUTO, "connections"):
                raise UsageError(
                    f"{name} {value}: is for method connections, given {self.method}",
                    options=[name],
                )
        if self.posting != POSTINGS[0] and method != "naive":
            raise UsageError(
                f"posting {self.posting}: is for method naive, given {method}", options=["posting"]
            )
        if self.routes == "free" and not find_method(method).free_routes:
            able = " and ".join(name for name, row in table().items() if row.free_routes)
            raise UsageError(
                f"routes free: is for methods {able}, given {method}, which keeps the machine's",
                options=["routes"],
            )
        fixed = method != AUTO and self.policy is not None
        if self.rank_by not in (None, FORMULA) and fixed:
            raise UsageError(
                f"rank_by {self.rank_by}: goes with method auto or sync auto, given method "
                f"{method} and sync {self.sync}",
                options=["rank_by", "method", "sync"],
            )

    @property
    def chosen_method(self) -> str:
        """The method, or the one that other options ask for where it is `auto`.

        `auto` where none does.
        """
        if self.method != AUTO:
            return self.method
        if any(getattr(self, name) is not None for name in OF_CONNECTIONS):
            return "connections"
        if self.posting != POSTINGS[0]:
            return "naive"
        return "negotiated" if self.routes == "free" else AUTO

    @property
    def search(self) -> SearchOptions:
        """What a method reads of them."""
        routes, objective = (
            cast("Routes", self.routes),
            cast("Objective", self.objective),
        )  # checked when it was made
        return SearchOptions(
            self.seed, self.effort, routes, self.router, objective, self.phases, self.posting
        )

    def user_limits(self, own: Limits) -> Limits | None:
        """`own` with what the options change, or None where they change nothing."""
        changes = [f"link={self.contention}"] if self.contention is not None else []
        changes += [f"channels={self.channels}"] if self.channels is not None else []
        changes += [self.limits] if self.limits is not None else []
        return own.changed(",".join(changes)) if changes else None

    @property
    def has_user_limits(self) -> bool:
        """Whether the options change limits."""
        return self.user_limits(Limits()) is not None

    @property
    def policy(self) -> str | None:
        """The policy in one spelling.

        None where it is to be chosen, or to be the method's default.
        """
        return None if self.sync in (None, AUTO) else str(parse_sync(str(self.sync)))

    def given(self) -> dict[str, Any]:
        """The method and every other option that is not its default, as a manifest lists them."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value
            for name, (value, default) in values.items()
            if name == "method" or value != default
        }


DEFAULTS = CompileOptions()


def effective_limits(
    method: Method, machine: Machine, options: CompileOptions, contention: int | None = None
) -> tuple[Limits, bool]:
    """(limits of the compile, whether options changed them).

    The method's own row, made as strict as the machine's hard limits; or what options asked for,
    which may be looser.

    Args:
        method: whose row.
        machine: whose hard limits.
        options: what a user asked for.
        contention: a limit of links in place of the method's own that was not asked for; hard
            limits remain.

    Where the machine does not know its routes no limit of links or channels can be kept: a method
    that is for order on links does not apply unless options take the limit off, any other one keeps
    its limits of ports.

    Raises:
        InputError: the method cannot keep what is asked or what the machine demands, or nobody can
            on the machine.
    """
    own = method.limits(machine.topology)
    own = own if contention is None else replace(own, link=contention)
    if not machine.routing.is_known:
        own = _ports_alone(method, machine, options, own)
    user_limits = options.user_limits(own)
    if user_limits is not None:
        return method.limits_for(machine.topology, user_limits), True
    limits = own.tightened(machine.hard_limits(method.name))
    if limits is own and contention is None:
        return own, False
    return method.limits_for(machine.topology, limits), False


def _ports_alone(method: Method, machine: Machine, options: CompileOptions, own: Limits) -> Limits:
    """The limits of a method that can be kept where routes are not known.

    Raises:
        InputError: options limit links, routes are to be chosen or a table of times on links to be
            made, or order on links is what the method is for and no option takes its limit of links
            off.
    """
    if (stated := options.user_limits(Limits())) and (refusal := machine.why_not_kept(stated)):
        raise InputError(refusal)
    asked = options.user_limits(own)
    takes_off = asked is not None and asked.link is None and own.link is not None
    if options.timetable is not None or options.routes == "free":
        what = "timetable" if options.timetable is not None else "routes free"
        raise InputError(
            f"{what}: {machine.name} has routing {machine.routing.rule}: senders choose no routes "
            "there, and nobody "
            "knows what meets on a link; state routes that are known (routing=dmodk, "
            "minimal or a table)",
            options=[what],
        )
    if method.orders_links and not takes_off and machine.topology.link_slots:
        raise InputError(refuse_unknown_routes(machine, method.name), options=["limits link=none"])
    return replace(own, link=None, channels=None)
