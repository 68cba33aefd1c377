"""Probes: small exchanges whose times show the parameters of a machine, and the ranks they use.

A probe is a schedule: the executor carries it out as `conset run` carries out any, and the models
of simulation give its time on a machine with given parameters. So what is measured is what `run`
pays, and what is fitted is what `simulate` reads. Which probe shows which parameter is derived in
`docs/calibrate.md`.

Ranks are chosen by the routes of the network that the user states. Two routes *share* where they
have a link in common: pairs whose routes have exactly one link in common, pairs that have none, one
rank's targets behind different first links. On a crossbar nothing is shared but ports. Of more than
`MOST` ranks that many are considered, evenly spread. Of the ranks of a node only the first has
part in probes of a few ranks; in those of all ranks each has part.

Exchanges that are held back are fitted to nothing: they test what is predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from conset.base import format_size
from conset.compilation import CompileOptions, compile_combined, compile_pattern
from conset.machine import Limits, Machine, route_links
from conset.methods import ranks_on_nodes
from conset.pattern import Pattern, parse_pattern
from conset.schedule import Program, Schedule

MOST = 64
"""Ranks whose pairs are looked at."""

BLOCKING = 5
"""Flows beside the one that they hold up: fair sharing leaves it a sixth of the link."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Crossing:
    """Pairs through one link.

    Attributes:
        link: its slot.
        pairs: no rank twice as a sender, none twice as a receiver.
        more: others through the same link, whatever else they share.
    """

    link: int
    pairs: tuple[Pair, ...]
    more: tuple[Pair, ...]


@dataclass(frozen=True)
class Hotspot:
    """A flow that shares its source's first links with one that is held up further on.

    Attributes:
        blocked: flows through one link; the first has the source of `victim`.
        victim: leaves the way of the first before that link, and shares nothing with the others.
    """

    blocked: tuple[Pair, ...]
    victim: Pair


class Places:
    """Pairs of ranks on different nodes and the links between them.

    Attributes:
        node: shape=(ranks), int32: of each rank: as the machine's job has it, else node r.
        matched: each rank and its partner, on another node where that is possible, both ways; the
            last of an odd number has none.
        chosen: the first ranks of nodes.
        links: of the route of each pair of these.
    """

    def __init__(self, machine: Machine, ranks: int) -> None:
        """Walks the routes of all pairs that are considered."""
        self.ranks, self.node = ranks, np.array(machine.job or range(ranks), np.int32)[:ranks]
        local, _ = ranks_on_nodes(self.node)
        order = np.lexsort((np.arange(ranks), local)).tolist()
        pairs = zip(order[::2], order[1::2], strict=False)
        self.matched: list[Pair] = [end for pair in pairs for end in (pair, pair[::-1])]
        first = np.flatnonzero(local == 0)
        spread = np.linspace(0, first.size - 1, min(first.size, MOST)).astype(np.int32)
        chosen = first[np.unique(spread)]
        source, target = (grid.ravel() for grid in np.meshgrid(chosen, chosen, indexing="ij"))
        apart = source != target
        source, target = source[apart], target[apart]
        offsets, links = route_links(
            machine.topology, machine.routing, self.node[source], self.node[target]
        )
        self.chosen: list[int] = chosen.tolist()
        self.links: dict[Pair, tuple[int, ...]] = {
            (int(s), int(t)): tuple(links[offsets[k] : offsets[k + 1]].tolist())
            for k, (s, t) in enumerate(zip(source, target, strict=True))
        }

    def hops(self, pair: Pair) -> int:
        """Links of a route."""
        return len(self.links[pair])

    def near(self) -> Pair:
        """The pair with the fewest links, the first of these."""
        return min(self.links, key=lambda pair: (self.hops(pair), pair))

    def by_distance(self) -> list[Pair]:
        """One pair for the least, the middle and the greatest distance, where there are several."""
        first: dict[int, Pair] = {}
        for pair in self.links:
            first.setdefault(self.hops(pair), pair)
        hops = sorted(first)
        return [first[hops[k]] for k in sorted({0, len(hops) // 2, len(hops) - 1})]

    def fan(self, *, out: bool) -> tuple[int, tuple[int, ...]]:
        """The most others that a rank reaches, or is reached by, over ways that share no link.

        (rank, others).
        """
        best: tuple[int, tuple[int, ...]] = (0, ())
        for rank in self.chosen:
            others = sorted(
                (other for other in self.chosen if other != rank),
                key=lambda other: (self.hops((rank, other) if out else (other, rank)), other),
            )
            apart = _apart(
                ((rank, other) if out else (other, rank) for other in others), self.links, 8
            )
            if len(apart) > len(best[1]):
                best = rank, tuple(pair[1] if out else pair[0] for pair in apart)
            if len(best[1]) >= min(8, len(self.chosen) - 1):
                break
        return best

    def disjoint(self, most: int = 8) -> tuple[Pair, ...]:
        """Pairs that share no rank and no link."""
        ordered = sorted(self.links, key=lambda pair: (self.hops(pair), pair))
        return _apart(ordered, self.links, most, ranks=True)

    def _through(self, first: int = 0) -> list[tuple[int, list[Pair]]]:
        """Return the pairs whose routes use a link behind the first ones; most pairs first."""
        through: dict[int, list[Pair]] = {}
        for pair, links in self.links.items():
            for link in links[first:]:
                through.setdefault(link, []).append(pair)
        return sorted(through.items(), key=lambda item: (-len(item[1]), item[0]))

    def crossing(self, most: int = 8) -> Crossing | None:
        """The link that most pairs of different ranks use, which share nothing else.

        None: no two pairs do.
        """
        best: Crossing | None = None
        for link, pairs in self._through():
            chosen: list[Pair] = []
            used: set[int] = set()
            for pair in sorted(pairs, key=lambda pair: (self.hops(pair), pair)):
                if any(pair[0] == s or pair[1] == t or pair == (t, s) for s, t in chosen):
                    continue
                others = set(self.links[pair]) - {link}
                if others & used:
                    continue
                chosen.append(pair)
                used |= others
                if len(chosen) == most:
                    break
            if len(chosen) > 1 and (best is None or len(chosen) > len(best.pairs)):
                more = [pair for pair in _spread(pairs) if pair not in chosen]
                best = Crossing(link, tuple(chosen), tuple(more[: 2 * most]))
            if best is not None and len(best.pairs) == most:
                break
        return best

    def hotspots(self, most: int = 3) -> list[Hotspot]:
        """Places for back-pressure, of different links; the more flows are blocked the better."""
        found: list[Hotspot] = []
        for link, pairs in self._through(1):
            if (spot := self._hotspot(link, pairs)) is not None:
                found.append(spot)
            if len(found) == most:
                break
        return found

    def _hotspot(self, link: int, late: Sequence[Pair]) -> Hotspot | None:
        all_through = [pair for pair, links in self.links.items() if link in links]
        best: Hotspot | None = None
        for blocked in late[:16]:
            before = self.links[blocked][: self.links[blocked].index(link)]
            others = [
                pair
                for pair in _spread(all_through)
                if not set(self.links[pair]) & set(before) and pair[0] != blocked[0]
            ][:BLOCKING]
            if not others or (best is not None and len(others) < len(best.blocked)):
                continue
            taken = {link for pair in (blocked, *others) for link in self.links[pair]} - set(before)
            ends = {rank for pair in (blocked, *others) for rank in pair}
            for target in self.chosen:
                way = self.links.get((blocked[0], target), ())
                if target in ends or not way or way[0] != before[0] or set(way) & taken:
                    continue
                best = Hotspot((blocked, *others), (blocked[0], target))
                break
        return best


def _spread(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The same pairs, those of different senders first."""
    left = list(pairs)
    while left:
        seen: set[int] = set()
        rest = []
        for pair in left:
            if pair[0] in seen:
                rest.append(pair)
            else:
                seen.add(pair[0])
                yield pair
        left = rest


def _apart(
    pairs: Iterable[Pair], links: dict[Pair, tuple[int, ...]], most: int, *, ranks: bool = False
) -> tuple[Pair, ...]:
    """The first pairs that have no link in common, with `ranks` no rank either."""
    chosen: list[Pair] = []
    used: set[int] = set()
    ends: set[int] = set()
    for pair in pairs:
        if set(links[pair]) & used or (ranks and set(pair) & ends):
            continue
        chosen.append(pair)
        used |= set(links[pair])
        ends |= set(pair)
        if len(chosen) == most:
            break
    return tuple(chosen)


SMALLEST_B = 8
"""The smallest message that is sent."""
WINDOWS = (2, 3, 4, 6, 8, 16)
"""Messages of one rank under way at once: slots show as steps."""
QUICK_WINDOWS = (2, 4, 16)
BY_ALL = ("chain", "pair", "both", "out", "in")
"""Series that all ranks carry out at once where they share cores: what words are fitted to."""
LOOK = "look"
"""Series of the first look at a machine."""
PHASES = 9
"""Of probes of policies."""


@dataclass(frozen=True, eq=False)
class Probe:
    """One experiment.

    Attributes:
        name: unlike any other's.
        series: what it belongs to; probes of a series differ in `x` or in size.
        schedule: what is executed; its `sync` holds.
        size: of its messages [B].
        x: what its series varies: messages, hops, ranks, bytes.
        watch: the rank whose own end counts; None: the last end of all.
        late_s: how much later than the others who receives begins [s]; 0: all begin at once.
        held_back: whether no word is fitted to it.
        one_each: whether one rank has one long message to or from each of several others.
        times: how often it is carried out at once, each time with all ranks one further.
        program: what is executed in place of the schedule, which is it as a whole.
        label: what it is, for people.
    """

    name: str
    series: str
    schedule: Schedule
    size: int
    x: float
    watch: int | None = None
    late_s: float = 0.0
    held_back: bool = False
    one_each: bool = False
    times: int = 1
    program: Program | None = None
    label: str = ""

    @property
    def messages(self) -> int:
        """Messages, those of one time."""
        return self.schedule.transfers // self.times

    @property
    def ranks(self) -> int:
        """Ranks that take part, the first ones of the job."""
        return self.schedule.pattern.ranks

    @property
    def sync(self) -> str:
        """The policy."""
        return self.schedule.sync


@dataclass(frozen=True)
class Scale:
    """How large probes may be, from a first look at the machine.

    Attributes:
        alone_s: a small message alone [s].
        rate_Bps: of a long message alone [B/s].
        large: the longest message that is sent [B], a power of two.
        busy: whether ranks share cores: what is fitted then is measured while all ranks do it at
            once, as they do in an exchange. What a rank alone takes is a fraction of that.
    """

    alone_s: float
    rate_Bps: float  # noqa: N815
    large: int
    busy: bool = False

    @staticmethod
    def of(
        alone_s: float,
        rate_Bps: float,  # noqa: N803
        message_s: float,
        sharing: float = 1.0,
    ) -> Scale:
        """The scale on which the longest message takes about `message_s`.

        If 64 KiB to 1 MiB are. `sharing`: ranks to a core, where that is above 1.
        """
        alone_s, rate = alone_s * sharing, rate_Bps / sharing
        power = int(np.clip(np.round(np.log2(max(rate * message_s, 1.0))), 16, 20))
        return Scale(alone_s, rate, 1 << power, sharing > 1)

    def time_s(self, size: int) -> float:
        """About how long a message takes."""
        return self.alone_s + size / self.rate_Bps

    def sizes(self, *, quick: bool = False) -> list[int]:
        """From `SMALLEST_B` to `large`, by factors of four, or sixteen."""
        steps = []
        size = self.large
        while size > SMALLEST_B:
            steps.append(size)
            size >>= 4 if quick else 2
        return [SMALLEST_B, *steps[::-1]]

    def count(self, size: int) -> int:
        """Messages of that size in a window."""
        time = self.time_s(size)
        return 16 if time < 2e-3 else 6 if time < 20e-3 else 4


def make_schedule(
    machine: Machine,
    ranks: int,
    messages: Sequence[tuple[int, int, int]],
    *,
    phase: Sequence[int] | None = None,
    chain: int = 0,
    sync: str = "none",
    name: str = "probe",
) -> Schedule:
    """A schedule of exactly these messages, several from one rank to another stay apart.

    Args:
        machine: where; the ranks of its job are the first ones.
        ranks: of the pattern.
        messages: (source, target, bytes), in posting order.
        phase: of each message, not falling; None: all in one.
        chain: that each message waits for the one so many before; 0: for none.
        sync: the policy.
        name: for people.
    """
    given = np.array(messages, np.int64).reshape(-1, 3)
    order = np.argsort(given[:, 0], kind="stable")
    index = np.empty(order.size, np.int32)
    index[order] = np.arange(order.size)
    offsets = np.searchsorted(given[order, 0], np.arange(ranks + 1)).astype(np.int64)
    before = np.stack([index[:-chain], index[chain:]], axis=1) if 0 < chain < order.size else None
    pattern = Pattern(
        ranks, offsets, given[order, 1].astype(np.int32), given[order, 2], before, name=name
    )
    phases = np.zeros(order.size, np.int64) if phase is None else np.asarray(phase, np.int64)
    cuts = np.searchsorted(phases, np.arange(int(phases.max(initial=0)) + 2)).astype(np.int64)
    node = np.array(machine.job[:ranks], np.int32) if machine.job else None
    return Schedule(pattern, machine, "naive", Limits(), cuts, index, placement=node, sync=sync)


class _Maker:
    """Makes probes of one machine and number of ranks."""

    def __init__(self, machine: Machine, ranks: int, scale: Scale, quick: bool) -> None:
        self.machine, self.ranks, self.scale, self.quick = machine, ranks, scale, quick
        self.places = Places(machine, ranks)
        self.sizes = scale.sizes(quick=quick)
        self.times = ranks if scale.busy else 1
        self.probes: list[Probe] = []

    def add(
        self,
        series: str,
        x: float,
        size: int,
        messages: Sequence[tuple[int, int, int]],
        label: str,
        *,
        key: str = "",
        chain: bool = False,
        watch: int | None = None,
        one_each: bool = False,
    ) -> None:
        name = f"{series} {key or f'{x:g}'} {format_size(size)}"
        times = self.times if series in BY_ALL else 1
        messages = [
            ((source + k) % self.ranks, (target + k) % self.ranks, size)
            for source, target, size in messages
            for k in range(times)
        ]
        schedule = make_schedule(self.machine, self.ranks, messages, chain=chain * times, name=name)
        self.probes.append(
            Probe(
                name, series, schedule, size, x, watch, one_each=one_each, times=times, label=label
            )
        )

    def chain(self, pair: Pair, size: int) -> None:
        """There and back, each message when the one before has come."""
        time = self.scale.time_s(size)
        counts = [2, 16] if size == SMALLEST_B else [8 if time < 2e-3 else 4 if time < 20e-3 else 2]
        for count in counts:
            ends = [(pair if k % 2 == 0 else pair[::-1]) for k in range(count)]
            self.add(
                "chain",
                size,
                size,
                [(*end, size) for end in ends],
                f"{count} messages to and fro over {self.places.hops(pair)} links",
                key=f"{pair[0]}-{pair[1]} {count}x",
                chain=True,
            )

    def windows(self) -> None:
        """Several messages under way.

        Out of a rank, into one, between two, both ways between two.
        """
        near = self.places.near()
        source, targets = self.places.fan(out=True)
        target, sources = self.places.fan(out=False)
        for size in self.sizes:
            most = self.scale.count(size)
            small = size == SMALLEST_B
            for count in (QUICK_WINDOWS if self.quick else WINDOWS) if small else (most,):
                text = f"{count} messages of {format_size(size)}"
                self.add(
                    "pair",
                    count,
                    size,
                    [(*near, size)] * count,
                    f"{text} from rank {near[0]} to {near[1]}",
                )
                both = [(*pair, size) for _ in range(count) for pair in (near, near[::-1])]
                if small or size == self.sizes[-1]:
                    self.add(
                        "both",
                        count,
                        size,
                        both,
                        f"{text} each way between {near[0]} and {near[1]}",
                    )
                if len(targets) > 1:
                    self.add(
                        "out",
                        count,
                        size,
                        [(source, targets[k % len(targets)], size) for k in range(count)],
                        f"{text} from rank {source} to {len(targets)} others",
                    )
                if len(sources) > 1:
                    self.add(
                        "in",
                        count,
                        size,
                        [(sources[k % len(sources)], target, size) for k in range(count)],
                        f"{text} to rank {target} from {len(sources)} others",
                    )
        large = self.sizes[-1]
        for series, rank, others, out in (
            ("out", source, targets, True),
            ("in", target, sources, False),
        ):
            for count in {2, len(others)} if len(others) > 1 else ():
                ends = [(rank, other) if out else (other, rank) for other in others[:count]]
                self.add(
                    series,
                    count,
                    large,
                    [(*end, large) for end in ends],
                    f"{count} long messages, one each",
                    key=f"{count} at once",
                    one_each=True,
                )
        if len(targets) > 1 and len(sources) > 1:
            through = [(source, other) for other in targets] + [
                (other, source) for other in self.places.chosen if other in targets
            ]
            self.add(
                "both",
                len(targets),
                large,
                [(*end, large) for end in through],
                f"{len(targets)} long messages out of rank {source} and as many in",
                key=f"{len(targets)} others",
            )

    def sharing(self) -> None:
        """Pairs that share a link, or nothing."""
        large, places = self.sizes[-1], self.places
        alone = places.disjoint()
        for count in sorted({1, 2, len(alone)}):
            if count <= len(alone):
                self.add(
                    "apart",
                    count,
                    large,
                    [(*pair, large) for pair in alone[:count]],
                    f"{count} pairs that share nothing",
                )
        crossing = places.crossing()
        if crossing is None:
            return
        for count in range(1, len(crossing.pairs) + 1):
            self.add(
                "share",
                count,
                large,
                [(*pair, large) for pair in crossing.pairs[:count]],
                f"{count} pairs that share one link",
            )
        every = (*crossing.pairs, *crossing.more)
        for count in (4, 8, 16):
            if len(crossing.pairs) < count <= len(every):
                self.add(
                    "crowd",
                    count,
                    large,
                    [(*pair, large) for pair in every[:count]],
                    f"{count} messages through one link",
                )

    def pressure(self) -> None:
        """A message whose way begins with that of one that is held up."""
        large = self.sizes[-1]
        for k, spot in enumerate(self.places.hotspots(1 if self.quick else 3)):
            self.add(
                "pressure",
                k,
                large,
                [(*pair, large) for pair in (*spot.blocked, spot.victim)],
                f"{spot.victim[0]} → {spot.victim[1]} behind one of {len(spot.blocked)} that "
                "share a link",
                watch=spot.victim[1],
            )

    def behind(self) -> None:
        """A short message posted after long ones into other directions.

        How much of each its source takes at once.
        """
        source, targets = self.places.fan(out=True)
        others = [rank for rank in self.places.chosen if rank not in (source, *targets[:2])]
        if len(targets) < 2 or not others or self.machine.topology.kind == "crossbar":
            return
        long, last = 4 * self.sizes[-1], targets[2] if len(targets) > 2 else others[0]
        self.add(
            "behind",
            2,
            long,
            [*((source, target, long) for target in targets[:2]), (source, last, SMALLEST_B)],
            f"{source} → {last}, short, behind 2 long messages to others",
            watch=last,
        )

    def storms(self) -> None:
        """Everybody sends to several others at once."""
        random = np.random.default_rng(1)
        size = self.sizes[-1] >> 2
        for degree in (each for each in (2, 4, 8) if each < self.ranks):
            shifts = random.choice(np.arange(1, self.ranks), degree, replace=False).tolist()
            order = random.permutation(self.ranks).tolist()
            messages = [
                (order[k], order[(k + shift) % self.ranks], size)
                for shift in shifts
                for k in range(self.ranks)
            ]
            self.add(
                "storm", degree, size, messages, f"every rank sends to {degree} others at once"
            )

    def loaded(self) -> None:
        """Small messages of all ranks at once beside those of one pair."""
        pairs = self.places.matched
        self.add(
            "loaded",
            len(pairs),
            SMALLEST_B,
            [(*pair, SMALLEST_B) for _ in range(8) for pair in pairs],
            f"8 small messages from each of {len(pairs)} ranks",
        )

    def stages(self) -> None:
        """A complete exchange in two stages, and its bundles without anything to pack."""
        bundle = self.scale.large >> 2
        base = max(isqrt(self.ranks - 1) + 1, 2)
        pattern = parse_pattern(f"alltoall:size={max(bundle // base, 1)}", ranks=self.ranks)
        options = CompileOptions(method="naive", sync="none")
        made = compile_combined(pattern, self.machine, options, f"radix:{base}")
        if made.whole.pattern.packed is None:
            return
        plain = replace(made.whole, pattern=replace(made.whole.pattern, packed=None))
        for name, schedule, program in (
            ("packed", made.whole, made.program),
            ("plain", plain, None),
        ):
            label = f"a complete exchange in two stages, {name}"
            self.probes.append(
                Probe(f"stages {name}", "stages", schedule, bundle, 2, program=program, label=label)
            )

    def policies(self) -> None:
        """Phases of small messages under barriers of all ranks or of parts, and with signals.

        Of all, phases of long ones under barriers too, as those are what barriers are for.
        """
        few = self.quick or self.times > 1  # of parts others would be idle
        counts = [] if few else [2**k for k in range(1, 12) if 2**k < self.ranks]
        for ranks in [*counts, self.ranks]:
            for sync in ("local", "barrier", "ready"):
                if sync != "ready" or ranks == self.ranks:
                    pairs = [(rank, (rank + 1) % ranks) for rank in range(ranks)]
                    self._phases(ranks, sync, pairs, SMALLEST_B)
        self._phases(self.ranks, "barrier", self.places.matched, self.scale.large >> 3)

    def _phases(self, ranks: int, sync: str, pairs: Sequence[Pair], size: int) -> None:
        messages = [(*pair, size) for _ in range(PHASES) for pair in pairs]
        phase = [p for p in range(PHASES) for _ in pairs]
        schedule = make_schedule(
            self.machine, ranks, messages, phase=phase, sync=sync, name=f"{sync} of {ranks}"
        )
        label = f"{PHASES} phases of {ranks} ranks under {sync}"
        key = f"{sync} {ranks}"
        if size != SMALLEST_B:
            key, label = f"{key} {format_size(size)}", f"{label}, {format_size(size)} each"
        self.probes.append(Probe(key, sync, schedule, size, ranks, label=label))

    def late(self) -> None:
        """Sends whose receive is posted late: those that end before are eager."""
        pair = self.places.chosen[:2]
        for size in sorted(
            {2**k for k in range(6, self.scale.large.bit_length(), 2 if self.quick else 1)}
        ):
            wait = 2 * self.scale.time_s(size) + 4e-3
            self.probes.append(
                Probe(
                    f"late {format_size(size)}",
                    "late",
                    make_schedule(self.machine, self.ranks, [(*pair, size)], name="late"),
                    size,
                    size,
                    watch=pair[0],
                    late_s=wait,
                    label=f"{format_size(size)} whose receive is posted {wait * 1e3:.0f} ms late",
                )
            )


def first_look(machine: Machine, ranks: int) -> list[Probe]:
    """What is measured before the scale is known."""
    maker = _Maker(machine, ranks, Scale(1e-4, 1e9, 1 << 16), quick=True)
    near = maker.places.near()
    for size in (SMALLEST_B, 1 << 14, 1 << 16):
        maker.chain(near, size)
    return [replace(probe, series=LOOK) for probe in maker.probes]


def make_probes(machine: Machine, ranks: int, scale: Scale, *, quick: bool = False) -> list[Probe]:
    """All probes to which words are fitted.

    Args:
        machine: whose network the user states; its costs do not matter.
        ranks: of the job, at least 2, on its nodes, else on the first.
        scale: from a first look.
        quick: fewer sizes and counts.
    """
    maker = _Maker(machine, ranks, scale, quick)
    near, *others = maker.places.by_distance()
    for size in maker.sizes:
        maker.chain(near, size)
    for pair in others:
        for size in {SMALLEST_B, maker.sizes[len(maker.sizes) // 2], maker.sizes[-1]}:
            maker.chain(pair, size)
    maker.windows()
    maker.sharing()
    maker.pressure()
    maker.behind()
    maker.storms()
    maker.loaded()
    if machine.topology.kind == "crossbar":  # elsewhere bundles would meet on links
        maker.stages()
    maker.policies()
    maker.late()
    return list({probe.name: probe for probe in maker.probes}.values())


def held_back_probes(
    structure: Machine, ranks: int, scale: Scale, *, quick: bool = False
) -> list[Probe]:
    """Exchanges of other kinds than the probes: posted at once, and in phases under barriers.

    A random exchange, a shift by half the ranks, complete exchanges of two sizes.
    """
    short, long = max(scale.large >> 6, 64), scale.large >> 2
    # a complete exchange of many ranks is long enough with shorter messages
    long = max(long >> (0 if ranks <= 8 else 1 if ranks <= 16 else 2), short)
    degree = max(min(3, ranks - 1), 1)
    specs = [(f"random:degree={degree}", long), ("alltoall", short), ("alltoall", long)]
    if not quick:
        specs += [(f"shift:by={max(ranks // 2, 1)}", 2 * long), (f"random:degree={degree}", short)]
    probes: list[Probe] = []
    for spec, size in specs:
        text = f"{spec.partition(':')[0]} of {format_size(size)}"
        pattern = parse_pattern(
            f"{spec}{',' if ':' in spec else ':'}size={size}", ranks=ranks, seed=77
        )
        for method, sync in (("naive", "none"), ("first-fit", "barrier")):
            schedule = compile_pattern(pattern, structure, CompileOptions(method=method, sync=sync))
            if method != "naive" and schedule.phases < 2:
                continue
            schedule = Schedule(
                schedule.pattern,
                structure,
                "naive",
                schedule.limits,
                schedule.phase_offsets,
                schedule.message,
                parts=schedule.parts,
                placement=schedule.placement,
                sync=sync,
            )
            how = "posted at once" if method == "naive" else f"{schedule.phases} phases, barriers"
            probes.append(
                Probe(
                    f"held back {spec} {format_size(size)} {sync}",
                    "held back",
                    schedule,
                    size,
                    len(probes),
                    held_back=True,
                    label=f"{text}, {how}",
                )
            )
    return [replace(probe, x=k) for k, probe in enumerate(probes)]
