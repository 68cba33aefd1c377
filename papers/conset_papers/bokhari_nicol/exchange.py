"""The complete exchange on the Paragon, and the formulas that the text prints.

The text's experiments.

Complete exchanges on square meshes of the Paragon, bounded and naive, by one model.

The preset's limit on outstanding receives is lifted here: it changes no time, it only forbids;
`refusal` asks it.

Costs and bounds of a synchronization and a message, twice.

As the text prints them, and as the pipeline has them.

Printed: Table 1's formulas, and the bounds drawn with them in Figures 12 to 15; nothing of it comes
from the machine's preset or from a schedule: it is what those are held against. The pipeline's:
predicted from the preset, counted in compiled schedules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log2
from typing import Any

import numpy as np

import conset
from conset.base import InputError, Ints32
from conset.machine import Machine, with_settings
from conset.models import Workload
from conset.pattern import Pattern
from conset.schedule import Schedule
from conset.studies import serial_steps
from conset_papers.item import read_published

PAPER = "bokhari-nicol"
MODEL = "wormhole"
SIDES = (4, 8, 12, 16)
SLICE_B = 15_232
SIZES = (256, 512, 1024, 2048, 4096, 8192, SLICE_B, 32_768, 65_536)
ORDERS = ("ascending", "rotated", "random")
SEEDS = 5
"""Random orders whose times are averaged."""
ABOUT = (
    "Complete exchange on paragon:NxN, compiled by bounded and by naive, every time simulated by "
    f"model {MODEL} for "
    "every size. Bounded: method bounded; steps merge up to link contention n/4, beyond it a "
    "barrier stands after every k phases (sync barrier:k); a pair is (node contention, link "
    "contention). Naive: "
    "everything posted at once (sync none), each node to 0, 1, 2 ... (ascending), to i+1, i+2 ... "
    "(rotated), or in an "
    f"order of its own (random, mean of seeds 0 to {SEEDS - 1}). 3 lanes, 3 in flight and 3 "
    "receives at once, the "
    "preset's."
)
OVERHEAD_DEPARTURE = (
    "below 8640 B the text has other overheads that cannot be read; the one of Table 1 (231 us) "
    "is used there"
)


@dataclass(frozen=True)
class Pair:
    """What may contend between two barriers.

    Attributes:
        side: n of the n × n nodes.
        contention: of a link in a phase.
        every: phases from one barrier to the next.
    """

    side: int
    contention: int
    every: int = 1

    @property
    def node(self) -> int:
        """Messages a node may send."""
        return self.every

    @property
    def link(self) -> int:
        """Messages a link may carry: steps from one barrier to the next."""
        return self.every * self.contention

    @property
    def label(self) -> str:
        """As the text labels its axes."""
        return f"({self.node}, {self.link})"

    @property
    def new(self) -> bool:
        """Whether the text could not have it: its rule asks for divisors of n/4."""
        return (self.side // 4) % self.contention != 0

    @property
    def sync(self) -> str:
        """The policy."""
        return f"barrier:{self.every}"


@dataclass(frozen=True)
class Setting:
    """How the model is set; the preset's where nothing is said.

    Attributes:
        lanes: virtual channels of a link.
        in_flight: sends a node keeps open, and as many receives: a number or `all`.
        costs: words of `--set`.
    """

    lanes: int | None = None
    in_flight: str | None = None
    costs: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """As `conset.simulate` takes them."""
        return {"lanes": self.lanes, "in_flight": self.in_flight, "receives": self.in_flight}


PRESET = Setting()


def pairs(side: int, *, new: bool = True) -> tuple[Pair, ...]:
    """The pairs of a mesh, by growing contention.

    1 to n/4 on links, then doubled (or tripled) up to one group.
    """
    merged = [Pair(side, contention) for contention in range(1, side // 4 + 1)]
    every, grouped = 1, []
    while every < side * side:
        every *= 2 if side * side % (2 * every) == 0 else 3
        grouped.append(Pair(side, side // 4, every))
    return tuple(pair for pair in (*merged, *grouped) if new or not pair.new)


def format_bytes(size: int) -> str:
    """A size for people: KiB where whole, else bytes."""
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size:,} B"


@lru_cache
def machine(side: int, costs: str = "") -> Machine:
    """`paragon:NxN` with its limit on receives lifted, and `--set costs`."""
    label = ",".join(filter(None, ("outstanding_receives=all", costs)))
    return with_settings(conset.load_machine(f"paragon:{side}x{side}"), label)


@lru_cache(maxsize=64)
def bounded(side: int, contention: int, size: int = SLICE_B) -> Schedule:
    """The text's schedule, compiled."""
    return conset.compile(
        f"alltoall:size={size}",
        machine(side),
        method="bounded",
        contention=contention,
        sync="barrier",
    )


@cache
def bounded_s(pair: Pair, size: int = SLICE_B, setting: Setting = PRESET) -> float:
    """The simulated time of the text's schedule [s]."""
    schedule = bounded(pair.side, pair.contention, size)
    on = machine(pair.side, setting.costs) if setting.costs else None
    return conset.simulate(schedule, on, model=MODEL, sync=pair.sync, **setting.options).time_s


@cache
def naive_s(
    side: int, size: int = SLICE_B, order: str = "ascending", setting: Setting = PRESET
) -> float:
    """The simulated time of the naive exchange [s]; of random orders the mean."""
    seeds = range(SEEDS) if order == "random" else (0,)
    work = Workload.of_schedule(
        conset.compile(f"alltoall:size={size}", machine(side), method="naive")
    )
    on = machine(side, setting.costs)
    times = [
        conset.simulate(
            replace(work, order=naive_order(work, order, seed)), on, model=MODEL, **setting.options
        ).time_s
        for seed in seeds
    ]
    return sum(times) / len(times)


def naive_order(work: Workload, order: str, seed: int = 0) -> Ints32:
    """shape=(messages): the list in which every node posts its messages."""
    if order == "random":
        key = np.random.default_rng(seed).permutation(work.messages).astype(np.int32)
    else:
        key = (
            work.target
            if order == "ascending"
            else (work.target - work.source) % np.int32(work.nodes)
        )
    return np.lexsort((key, work.source)).astype(np.int32)


@cache
def refusal(side: int, pair: Pair | None = None) -> str:
    """Why the machine as it is cannot run a pair, or naive where None is given.

    Empty where it can.
    """
    on = conset.load_machine(f"paragon:{side}x{side}")
    try:
        if pair is None:
            conset.simulate(
                conset.compile("alltoall", on, method="naive"), model=MODEL, sync="none"
            )
        else:
            conset.simulate(bounded(side, pair.contention), on, model=MODEL, sync=pair.sync)
    except InputError as error:
        return str(error)
    return ""


def best_pair(side: int, size: int, setting: Setting = PRESET) -> Pair:
    """The pair of the least time among those the machine can run, and that the text could have."""
    usable = [pair for pair in pairs(side, new=False) if not refusal(side, pair)]
    return min(usable, key=lambda pair: bounded_s(pair, size, setting))


FORMULA = "hop=0,per_transfer=0,in_flight=1"
"""What the text's formula has: no latency, and the steps of a node one after the other."""


@lru_cache
def printed(quantity: str) -> tuple[float, float]:
    """(constant, factor) of `synchronization` or `communication` [us]."""
    (row,) = (
        row for row in read_published("bokhari_nicol", "table_1") if row["quantity"] == quantity
    )
    return float(row["constant_us"]), float(row["factor_us"])


def barrier_us(side: int, *, of_nodes: bool = False) -> float:
    """A synchronization of n × n nodes [us].

    Of_nodes: the other reading, log2 of n² instead of n.
    """
    constant, factor = printed("synchronization")
    return constant + factor * log2(side * side if of_nodes else side)


def message_us(size: int) -> float:
    """A message alone [us]."""
    constant, factor = printed("communication")
    return constant + factor * size


def printed_bounds_us(
    side: int, link: int, size: int, *, of_nodes: bool = False
) -> tuple[float, float]:
    """(lower, upper) [us] of n³/4 steps with a barrier after every `link` of them.

    Lower: never fewer than n² steps.
    """
    steps = side**3 // 4
    groups = -(-steps // link)
    barriers = groups * barrier_us(side, of_nodes=of_nodes)
    message = message_us(size)
    return barriers + max(side * side, groups) * message, barriers + steps * message


@lru_cache
def one_message(side: int, size: int) -> Schedule:
    """One message of `size` bytes from the first node to its neighbour."""
    pattern = Pattern.from_messages([0], [1], [size], side * side, name="one message")
    return conset.compile(pattern, machine(side, FORMULA), method="naive")


def message_s(side: int, size: int) -> float:
    """The predicted time of a message alone [s]."""
    return conset.predict(one_message(side, size), sync="none", by="formula").time_s


def barrier_s(side: int) -> float:
    """The predicted time of one synchronization [s]."""
    return conset.predict(one_message(side, SLICE_B), sync="barrier", by="formula").terms[
        "synchronization"
    ]


def bounds_us(pair: Pair) -> tuple[float, float]:
    """(lower, upper) [us] of the contention curve from the phases of compiled schedules.

    A node's own steps are the phases at contention n/4: n², its message to itself included, as the
    text counts.
    """
    side = pair.side
    groups = -(-bounded(side, pair.contention).phases // pair.every)
    steps, least = bounded(side, 1).phases, bounded(side, side // 4).phases
    lower, upper = serial_steps(steps, groups, least, barrier_s(side), message_s(side, SLICE_B))
    return lower * 1e6, upper * 1e6
