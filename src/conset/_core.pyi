"""The C++ core: networks, routes and everything that must be fast."""

import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray

class BoundPrices:
    def __init__(
        self,
        *,
        up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        once: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        per_byte: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        port: float,
        node_Bps: float,
        copy_Bps: float,
        setup: float,
        signal: float,
        signal_link: float,
        eager: float,
        before: bool,
        ready: bool,
        split: bool,
        leads_of_links: bool,
    ) -> None: ...

class Leads:
    @property
    def into(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def out(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

class MessageSums:
    @property
    def send(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def receive(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def held(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def sends(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def receives(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def sending(self) -> Leads: ...
    @property
    def receiving(self) -> Leads: ...
    @property
    def holding(self) -> Leads: ...
    @property
    def out(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def into(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def weighed_out(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def weighed_in(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def leaving(self) -> Leads: ...
    @property
    def entering(self) -> Leads: ...
    @property
    def passing(self) -> Leads: ...
    @property
    def links(self) -> Leads: ...
    @property
    def first(self) -> float: ...
    @property
    def last(self) -> float: ...
    @property
    def longest(self) -> float: ...
    @property
    def least(self) -> float: ...
    @property
    def longest_at(self) -> int: ...

def sum_messages(
    transfers: Transfers,
    ranks: Ranks,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    prices: BoundPrices,
) -> MessageSums: ...

class SquareExchange:
    def __init__(self, side: int) -> None: ...
    @property
    def steps(self) -> int: ...
    def partner(self, node: int, step: int) -> int: ...
    def step(self, source: int, target: int) -> int: ...
    def phases(self, contention: int) -> Phases: ...

class ProductAxes:
    def __init__(
        self,
        *,
        sides: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        strides: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        variants: int,
        permutation: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class ProductGroups:
    def __init__(
        self,
        *,
        stride: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        variant: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        base: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        modulus: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        shift: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def product_steps(
    axes: ProductAxes,
    groups: ProductGroups,
    *,
    slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: int,
    merge: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def merge_phases(
    nodes: int,
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    message: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    most: int,
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
def find_transversal(
    nodes: int,
    symbol: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    most: int,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Wiring:
    def __init__(
        self,
        nodes: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Connections:
    def __init__(
        self,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class RouterLimits:
    def __init__(
        self,
        *,
        channels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class RouterDemands:
    def __init__(
        self,
        demand: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send_rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive_rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class RoutePaths:
    @property
    def offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def nodes(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

class SequentialRouter:
    def __init__(
        self,
        wiring: Wiring,
        connections: Connections,
        limits: RouterLimits,
        demands: RouterDemands,
        *,
        phases: int,
        weight: int,
        seed: int,
    ) -> None: ...
    def route(
        self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> int: ...
    def rip_up(self, rounds: int, share: float) -> int: ...
    def phase(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def paths(self) -> RoutePaths: ...

def pack_orbits(
    rows: int,
    load: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    capacity: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hot: float,
    cold: float,
    steps: int,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class ExchangePacking:
    @property
    def phase(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def chosen(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

class ExchangeSearch:
    def __init__(
        self,
        network: Network,
        contention: int,
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        message: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def fill(
        self, start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> ExchangePacking: ...
    def peel(self, seed: int) -> ExchangePacking: ...
    def reorder(
        self,
        phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        chosen: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: int,
        rounds: int,
        seed: int,
    ) -> ExchangePacking: ...
    def eject(
        self,
        phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        chosen: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: int,
        moves: int,
        seed: int,
    ) -> ExchangePacking: ...

class FlitTimes:
    @property
    def start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def slot(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def sent(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def left(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def end(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def cycle(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def cycle_places(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def late(self) -> bool: ...
    @property
    def cut(self) -> bool: ...
    @property
    def moves(self) -> int: ...
    @property
    def cycles(self) -> int: ...
    @property
    def stopped(self) -> int: ...

class FlitRouters:
    def __init__(
        self,
        *,
        ports: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out_port: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        in_port: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ring: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        lanes: int,
        buffer: int,
    ) -> None: ...

class FlitWorkload:
    def __init__(
        self,
        *,
        release: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        flits: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        worm_flits: int,
    ) -> None: ...

class FlitWatch:
    def __init__(self, *, first: int, last: int, limit: int) -> None: ...

def simulate_flit(
    workload: Messages,
    execution: CycleExecution,
    routers: FlitRouters,
    flits: FlitWorkload,
    watch: FlitWatch,
    *,
    until: float,
    work: int,
) -> FlitTimes: ...

class MessageCosts:
    def __init__(
        self,
        *,
        up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        latency: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hop: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: float,
        in_: float,
        node: float,
        copy: float,
        exchange: float,
        link: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        tolerance: float,
        blocking: float,
        setup: float,
        signal: float,
        signal_hop: float,
        eager: float,
        before: bool,
        one_processor: bool,
        in_flight: int,
    ) -> None: ...

class Formula:
    @property
    def busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def kind(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def index(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def setups(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

class Ends:
    @property
    def end(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def rank(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def setups(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

def time_batches(
    transfers: Transfers,
    ranks: Ranks,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    batch_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    phase_by_phase: bool,
    costs: MessageCosts,
) -> Formula: ...
def time_ranks(
    transfers: Transfers,
    ranks: Ranks,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: MessageCosts,
) -> Ends: ...
def least_on_links(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class SlotLimits:
    def __init__(
        self,
        *,
        send: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        channels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Pressure:
    def __init__(self, *, start: float, growth: float, history: float, most: float) -> None: ...

class NegotiatedItems:
    def __init__(
        self,
        network: Network,
        messages: Connections,
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        exchange: bool,
    ) -> None: ...
    @staticmethod
    def free(
        wiring: Wiring,
        messages: Connections,
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> NegotiatedItems: ...
    @property
    def has_free_routes(self) -> bool: ...
    def least_slots(self, limits: SlotLimits) -> int: ...

class Negotiation:
    def __init__(
        self, items: NegotiatedItems, slots: int, limits: SlotLimits, pressure: Pressure, seed: int
    ) -> None: ...
    def run(self, sweeps: int, work: int) -> int: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def work(self) -> int: ...
    def slot_of_messages(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def paths(self) -> RoutePaths: ...

class Tie(enum.Enum):
    parity = 0

    plus = 1

    checker = 2

class Network:
    @staticmethod
    def shortest_links(
        endpoints: int,
        nodes: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @staticmethod
    def box(
        sides: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        wrap: bool,
        tie: Tie,
    ) -> Network: ...
    @staticmethod
    def hypercube(dimensions: int) -> Network: ...
    @staticmethod
    def crossbar(nodes: int) -> Network: ...
    @staticmethod
    def next_links(
        endpoints: int,
        nodes: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        next_link: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Network: ...
    @staticmethod
    def route_table(
        endpoints: int,
        nodes: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Network: ...
    @property
    def nodes(self) -> int: ...
    @property
    def link_slots(self) -> int: ...
    def route_links(
        self,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]: ...
    def route_nodes(
        self,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]: ...
    def hops(
        self,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def links_between(
        self,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Policy(enum.Enum):
    none = 0

    local = 1

    ready = 2

    barrier = 3

class Execution:
    def __init__(
        self,
        *,
        policy: Policy,
        every: int,
        in_flight: int,
        receives: int,
        receive_list: bool,
        receive_before: bool,
        one_processor: bool,
        preempts: bool,
        shared_processor: bool,
        exchanges: bool,
        first_barrier: bool,
        barrier: float,
        setup: float,
        signal_send: float,
        signal_hop: float,
        signal_receive: float,
        eager: float,
        buffers: float,
        send: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        copy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class CycleExecution:
    def __init__(
        self,
        *,
        policy: Policy,
        every: int,
        in_flight: int,
        receives: int,
        receive_list: bool,
        receive_before: bool,
        one_processor: bool,
        preempts: bool,
        shared_processor: bool,
        exchanges: bool,
        first_barrier: bool,
        barrier: int,
        setup: int,
        signal_send: int,
        signal_hop: int,
        signal_receive: int,
        eager: float,
        buffers: float,
        send: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        copy: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Messages:
    def __init__(
        self,
        *,
        network: Network,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bytes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sender: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receiver: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        time: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        dep_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        deps: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class FluidRates:
    def __init__(
        self,
        *,
        link: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: float,
        in_: float,
        node: float,
        exchange_weight: float,
        latency: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        hop: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Simulated:
    @property
    def start(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def end(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def sent(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def flowed(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def left(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def held_by(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def blocked(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def link_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def link_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def out_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def out_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def in_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def in_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def rate_time(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def rate_message(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def rate(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def cycle(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def cycle_places(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def late(self) -> bool: ...
    @property
    def cut(self) -> bool: ...
    @property
    def stopped(self) -> float: ...
    @property
    def buffered(self) -> int: ...
    @property
    def buffered_most(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def solves(self) -> int: ...
    @property
    def work(self) -> int: ...

def simulate_flow(
    workload: Messages,
    execution: Execution,
    rates: FluidRates,
    *,
    rtt: bool,
    rtt_latency: float,
    until: float,
    work: int,
    detailed: bool,
    record: bool,
) -> Simulated: ...

class BundleCosts:
    def __init__(
        self,
        send_up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send_s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive_up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive_s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rates: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def merge_bundles(
    positions: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    stages: int,
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ranks: int,
    costs: BundleCosts,
    turn_s: float,
    max_size: int,
    passes: int,
) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], bool]: ...

class Loads:
    @property
    def send(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def receive(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def link(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def channels(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

def count_loads(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Loads: ...

class Limits:
    def __init__(self, send: int, receive: int, link: int, channels: int, exchange: bool) -> None: ...

class Resources:
    def __init__(
        self,
        network: Network,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        limits: Limits,
        route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def least_phases(self) -> int: ...

class Phases:
    @property
    def offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def message(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

def group_phases(
    phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Phases: ...
def color_ports(
    nodes: int,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def order_longest_first(
    resources: Resources,
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def first_fit(
    resources: Resources,
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def schedule_random(
    resources: Resources,
    exchanges: bool,
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class PatternGraph:
    def __init__(
        self,
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        neighbour: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class NetworkCuts:
    def __init__(
        self,
        order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        low: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        middle: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        high: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def anneal_placement(
    network: Network,
    out: PatternGraph,
    in_: PatternGraph,
    node: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ranks_per_node: int,
    steps: int,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def bisect_placement(
    network: Network, graph: PatternGraph, cuts: NetworkCuts, ranks_per_node: int, seed: int
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Totals:
    @property
    def messages(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

class Profile:
    @property
    def busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def kind(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def index(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def most(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...
    @property
    def where(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

def count_totals(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Totals: ...
def slowest_links(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    per_byte: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
def rank_rounds(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    work: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    send: int,
    receive: int,
    link: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class Work:
    def __init__(
        self,
        *,
        step_up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        step_seconds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: float,
        in_: float,
        node: float,
        exchange: float,
        link: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        tolerance: float,
        blocking: float,
        match_all_exchanges: bool,
    ) -> None: ...

def profile_phases(
    transfers: Transfers,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    batch_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    phase_by_phase: bool,
    work: Work,
) -> Profile: ...

class RankOperations:
    def __init__(
        self,
        *,
        phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        peer: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bytes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        work: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class RankCopies:
    def __init__(
        self,
        *,
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        work: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        source: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bytes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class RankPlan:
    def __init__(
        self,
        *,
        phases: int,
        sync: int,
        every: int,
        in_flight: int,
        sends: RankOperations,
        receives: RankOperations,
        work_bytes: int,
        packs: RankCopies | None,
        unpacks: RankCopies | None,
        need_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        needs: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class MissingPeers:
    @property
    def step(self) -> int: ...
    @property
    def barrier(self) -> bool: ...
    @property
    def data(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def signals(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def taken(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def noticed(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

class ExecutorOfInts:
    def __init__(
        self,
        calls: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        comm: int,
        byte: int,
        status_bytes: int,
        plan: RankPlan,
        send: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    def prepare(self) -> None: ...
    def start(self) -> bool: ...
    def progress(self) -> bool: ...
    def wait(self, seconds: float, nap_s: float) -> bool: ...
    def missing(self) -> MissingPeers: ...
    def release(self) -> None: ...
    @property
    def running(self) -> bool: ...

class ExecutorOfPointers:
    def __init__(
        self,
        calls: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        comm: int,
        byte: int,
        status_bytes: int,
        plan: RankPlan,
        send: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...
    def prepare(self) -> None: ...
    def start(self) -> bool: ...
    def progress(self) -> bool: ...
    def wait(self, seconds: float, nap_s: float) -> bool: ...
    def missing(self) -> MissingPeers: ...
    def release(self) -> None: ...
    @property
    def running(self) -> bool: ...

def mpi_calls() -> list[str]: ...

class Interrupted(KeyboardInterrupt):
    pass

def ask_stop() -> None: ...
def stop_asked() -> bool: ...
def should_stop(have_schedule: bool) -> bool: ...
def publish(incumbent: float, bound: float) -> None: ...
def reset_search() -> None: ...

class Search:
    def __init__(self) -> None: ...
    def ask_stop(self) -> None: ...
    @property
    def stop_asked(self) -> bool: ...
    @property
    def delivered(self) -> int: ...
    @property
    def best(self) -> tuple[float, float]: ...

def this_search() -> Search: ...
def share_search(search: Search) -> Search: ...

class Transfers:
    def __init__(
        self,
        network: Network,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Ranks:
    def __init__(
        self,
        sender: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receiver: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ranks: int,
        packed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class TimeLines:
    def __init__(
        self,
        *,
        network: Network,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        serial: bool,
        duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def time_event_list(
    lines: TimeLines,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    restarts: int,
    noise: float,
    seed: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]: ...
def time_as(
    lines: TimeLines,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    seed: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]: ...
def time_in_order(
    lines: TimeLines,
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    batch_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]: ...
def anneal_lengths(
    resources: Resources,
    duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    opening: float,
    phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    steps: int,
    hot: float,
    cold: float,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def least_length(
    resources: Resources,
    duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    opening: float,
) -> float: ...

class TransferWork:
    def __init__(
        self,
        *,
        serial: bool,
        work: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        size: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_work: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Balanced:
    @property
    def phase(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def links(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def length(self) -> float: ...

def balance_loads(
    resources: Resources,
    work: TransferWork,
    phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    pinned: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    steps: int,
    hot: float,
    cold: float,
    seed: int,
) -> Balanced: ...

class Pieces:
    @property
    def offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...
    @property
    def transfer(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...
    @property
    def part(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

def decompose_birkhoff(
    nodes: int,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Pieces: ...
def simulate_wormhole(
    workload: Messages,
    execution: Execution,
    rates: FluidRates,
    *,
    dateline: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    lanes: int,
    pools: int,
    until: float,
    work: int,
    detailed: bool,
    record: bool,
) -> Simulated: ...
