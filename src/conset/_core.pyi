"""The C++ core: networks, routes and everything that must be fast."""

import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray

class SquareExchange:
    def __init__(self, side: int) -> None: ...
    @property
    def steps(self) -> int: ...
    def partner(self, node: int, step: int) -> int: ...
    def step(self, source: int, target: int) -> int: ...
    def phases(
        self, contention: int
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]: ...

def product_steps(
    sides: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    strides: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    variants: int,
    permutation: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    group_stride: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    variant: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    base: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    modulus: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    shift: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    cell_columns: int,
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

class SequentialRouter:
    def __init__(
        self,
        nodes: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        channels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        demand: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        send_rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive_rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_rate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        phases: int,
        weight: int,
        seed: int,
    ) -> None: ...
    def route(
        self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> int: ...
    def rip_up(self, rounds: int, share: float) -> int: ...
    def phase(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def paths(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]: ...

def pack_orbits(
    rows: int,
    load: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    capacity: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hot: float,
    cold: float,
    steps: int,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

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
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
    ]: ...
    def peel(
        self, seed: int
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
    ]: ...
    def reorder(
        self,
        phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        chosen: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: int,
        rounds: int,
        seed: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
    ]: ...
    def eject(
        self,
        phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        chosen: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: int,
        moves: int,
        seed: int,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]
    ]: ...

class FlitSync(enum.Enum):
    none = 0

    barrier = 1

    local = 2

    ready = 3

class FlitTimes:
    @property
    def start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def end(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def stuck(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def moves(self) -> int: ...
    @property
    def cycles(self) -> int: ...
    @property
    def stopped(self) -> int: ...

def simulate_flit(
    network: Network,
    ports: int,
    link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_port: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    in_port: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ring: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    lanes: int,
    buffer: int,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    release: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    flits: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    dep_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    deps: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    worm_flits: int,
    phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sync: FlitSync,
    in_flight: int,
    group: int,
    barrier: int,
    first: int,
    setup: int,
    signal: int,
    watch_first: int,
    watch_last: int,
    limit: int,
) -> FlitTimes: ...

class NegotiatedItems:
    def __init__(
        self,
        network: Network,
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        exchange: bool,
    ) -> None: ...
    @staticmethod
    def free(
        nodes: int,
        link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> NegotiatedItems: ...
    @property
    def has_free_routes(self) -> bool: ...
    def least_slots(
        self,
        send: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        channels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> int: ...

class Negotiation:
    def __init__(
        self,
        items: NegotiatedItems,
        slots: int,
        send: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        receive: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        link: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        channels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        start: float,
        growth: float,
        history: float,
        most: float,
        seed: int,
    ) -> None: ...
    def run(self, sweeps: int, work: int) -> int: ...
    @property
    def sweeps(self) -> int: ...
    @property
    def work(self) -> int: ...
    def slot_of_messages(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def paths(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
    ]: ...

class Tie(enum.Enum):
    parity = 0

    plus = 1

    checker = 2

class Network:
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

class Deadlock(Exception):
    pass

class Policy(enum.Enum):
    none = 0

    local = 1

    ready = 2

    barrier = 3

class Execution:
    def __init__(
        self,
        policy: Policy,
        every: int,
        in_flight: int,
        receives: int,
        receive_list: bool,
        barrier: float,
        first_barrier: bool,
        setup: float,
    ) -> None: ...

class FlowResult:
    def take_start(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_end(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_held_by(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def take_link_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def take_link_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_out_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def take_out_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_in_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def take_in_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_rate_time(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_rate_message(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def take_rate(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def events(self) -> int: ...
    @property
    def solves(self) -> int: ...

def simulate_flow(
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
    execution: Execution,
    link: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: float,
    in_: float,
    node: float,
    hop: float,
    per_transfer: float,
    signal: float,
    inject_up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    inject: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    eject_up_to: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    eject: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    serial: bool,
    rtt: bool,
    record: bool,
) -> FlowResult: ...

class Loads:
    @property
    def send(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def receive(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def link(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def channels(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

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

def group_phases(
    phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]
]: ...
def color_ports(
    nodes: int,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def order_longest_first(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def first_fit(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def least_phases(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
) -> int: ...
def schedule_random(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
    exchanges: bool,
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def anneal_placement(
    network: Network,
    out_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_neighbour: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    in_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    in_neighbour: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    in_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    node: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ranks_per_node: int,
    steps: int,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
def bisect_placement(
    network: Network,
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    neighbour: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    low: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    middle: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    high: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ranks_per_node: int,
    seed: int,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class Totals:
    @property
    def messages(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

class Profile:
    @property
    def busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def kind(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def index(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def most(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def where(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

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
def profile_phases(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    batch_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    phase_by_phase: bool,
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
    crowds: bool,
) -> Profile: ...
def ask_stop() -> None: ...
def stop_asked() -> bool: ...
def should_stop(have_schedule: bool) -> bool: ...
def publish(incumbent: float, bound: float) -> None: ...
def reset_search() -> None: ...
def best_so_far() -> tuple[float, float]: ...
def time_event_list(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    serial: bool,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    restarts: int,
    noise: float,
    seed: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]: ...
def time_as(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    serial: bool,
    phase_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    seed: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]: ...
def time_in_order(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    serial: bool,
    order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    batch_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
]: ...
def anneal_lengths(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
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
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
    duration: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    opening: float,
) -> float: ...
def balance_words(
    network: Network,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    route_links: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    limits: Limits,
    serial: bool,
    work: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    link_work: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    phase: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    pinned: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    link_source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    link_target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    steps: int,
    hot: float,
    cold: float,
    seed: int,
) -> tuple[
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    float,
]: ...
def decompose_birkhoff(
    nodes: int,
    source: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    size: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int32], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]: ...

class WormholeResult:
    def take_start(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_end(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_blocked(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_held_by(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def take_link_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def take_link_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_out_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def take_out_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_in_bytes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    def take_in_busy(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_rate_time(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_rate_message(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def take_rate(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def take_stuck(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    def take_stuck_channel(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def stopped(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def solves(self) -> int: ...

def simulate_wormhole(
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
    execution: Execution,
    send: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    receive: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hop: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    link: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    width: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    dateline: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: float,
    in_: float,
    node: float,
    signal: float,
    signal_hop: float,
    exchange_weight: float,
    exchanges: bool,
    one_processor: bool,
    preempts: bool,
    receive_after: bool,
    eager: float,
    copy: float,
    buffers: float,
    lanes: int,
    pools: int,
    injection: int,
    ejection: int,
    record: bool,
) -> WormholeResult: ...
