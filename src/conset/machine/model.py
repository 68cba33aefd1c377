"""The form of a machine file: one strict model.

Presets and schedule files' machines have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from conset.base.errors import InputError, UsageError
from conset.base.toml import Keys, located, rule_of
from conset.machine.network.graph import MAX_PLACE
from conset.machine.network.routing import MAX_SEED, Rule, Tie
from conset.machine.words import ALIASES, WORDS, current_word, split_tagged

Count = Annotated[StrictInt, Field(ge=1, lt=2**31)]
NodeId = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Place = Annotated[StrictFloat | StrictInt, Field(gt=-MAX_PLACE, lt=MAX_PLACE)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NetworkTable(_Table):
    """`[network]`: a kind and its size, or a graph.

    In words, from a file, or with its links inline.

    Attributes:
        kind: what kind of regular network; a graph where `graph`, `links` or `family` is given.
        family: the words that build a graph, such as `fat-tree:k=16,taper=2`.
        sides: of a mesh, torus or ring.
        dimensions: of a hypercube.
        nodes: of a hypercube (a power of two), ring, crossbar or inline graph.
        width: of every link of a regular network.
        planes: how many of a mesh, torus, ring or hypercube stand side by side.
        routing: the rule for paths.
        hash: the seed of a rule that draws routes by a hash.
        tie: how ties on a cycle are broken.
        graph: a file of a graph, such as GraphML or htsim's `.topo`, relative to the machine file.
        links: pairs of node ids.
        widths: one per link.
        rates: one per link: a rate, or "machine" for the `link` of the costs.
        both_ways: whether each of `links` is two links, one each way.
        endpoints: how many nodes, the first ones, may hold ranks; all where absent.
        labels: one name per node.
        level: one number per node: how far above the endpoints it stands, these 0.
        group: one number per node: which pod, group or host it belongs to; -1: none.
        place: one pair per node: where a map has it, x to the right and y upwards.
        routes: paths of node ids; a pair that has none takes the shortest path.
    """

    kind: Literal["mesh", "torus", "ring", "hypercube", "crossbar", "graph"] | None = None
    family: str | None = None
    sides: list[Count] | None = None
    dimensions: Annotated[StrictInt, Field(ge=0, le=24)] | None = None
    nodes: Count | None = None
    width: Count = 1
    planes: Count = 1
    routing: Rule | None = None
    hash: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)] | None = None
    tie: Tie | None = None
    graph: str | None = None
    links: list[tuple[NodeId, NodeId]] | None = None
    widths: list[Count] | None = None
    rates: list[Any] | None = None
    both_ways: bool = True
    endpoints: Count | None = None
    labels: list[str] | None = None
    level: list[NodeId] | None = None
    group: list[Annotated[StrictInt, Field(ge=-1, lt=2**31)]] | None = None
    place: list[tuple[Place, Place]] | None = None
    routes: list[list[NodeId]] | None = None


class CostsTable(_Table):
    """`[costs]`: keys of `machine.words.WORDS`.

    Each is plain or `{ value = …, tag = "printed", source = "…" }`.
    """

    model: Any = None
    overhead: Any = None
    send_overhead: Any = None
    receive_overhead: Any = None
    jitter: Any = None
    processors: Any = None
    preempts: Any = None
    inject: Any = None
    eject: Any = None
    hop: Any = None
    hop_by_size: Any = None
    per_transfer: Any = None
    port: Any = None
    port_out: Any = None
    port_in: Any = None
    node: Any = None
    exchange_weight: Any = None
    exchange_syncs: Any = None
    link: Any = None
    tolerance: Any = None
    blocking: Any = None
    in_flight: Any = None
    lanes: Any = None
    packet: Any = None
    link_buffers: Any = None
    window: Any = None
    receive: Any = None
    receives: Any = None
    outstanding_receives: Any = None
    eager: Any = None
    copy_: Any = Field(default=None, alias="copy")  # pydantic's models have a method of that name
    buffers: Any = None
    setup: Any = None
    synchronization: Any = None
    signal: Any = None
    first_barrier: Any = None
    overlap: Any = None
    computation: Any = None
    flit: Any = None
    size_range: Any = None

    @model_validator(mode="before")
    @classmethod
    def _rename_old_keys(cls, table: Any) -> Any:
        if not isinstance(table, Mapping) or not set(ALIASES) & set(table):
            return table
        pairs = []
        try:
            for word, value in table.items():
                pairs.append(current_word(word, value))
        except UsageError as error:
            raise ValueError(str(error)) from None
        for old, (new, _) in ALIASES.items():
            if old in table and new in table:
                raise ValueError(
                    f"{old} and {new} exclude each other: {old} is an old word for {new}"
                )
        return dict(pairs)

    @field_validator("*", mode="before")
    @classmethod
    def _readable(cls, value: Any, info: Any) -> Any:
        try:
            word = info.field_name.rstrip("_")
            WORDS[word].read(split_tagged(value, word)[0], word)
        except (UsageError, InputError) as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _no_word_twice(self) -> CostsTable:
        for wide, word in WORDS.items():
            both = [narrow for narrow in word.covers if narrow in self.model_fields_set]
            if wide in self.model_fields_set and both:
                raise ValueError(
                    f"{wide} and {both[0]} exclude each other: {wide} says both "
                    f"{' and '.join(word.covers)}"
                )
        return self

    def changes(self) -> dict[str, Any]:
        """The words given, in the table's order."""
        given = {field.rstrip("_"): field for field in self.model_fields_set}
        return {word: getattr(self, given[word]) for word in WORDS if word in given}


class LimitsTable(_Table):
    """`[limits]`: hard limits of the machine, and the methods they hold for (all where absent)."""

    send: Count | None = None
    receive: Count | None = None
    link: Count | None = None
    channels: Annotated[StrictInt, Field(ge=2)] | None = None
    duplex: Literal["full", "exchange"] = "full"
    methods: list[str] = []


class MachineTable(_Table):
    """A machine file.

    Attributes:
        name: for people; the file's stem where absent.
        about: one line for people.
        network: what carries.
        costs: what things take; words left out have the defaults of bare networks.
        limits: hard limits.
        methods: costs that differ for some methods, by their names.
        modes: costs that differ by how data gets to and from the network, by the names of transfer
            modes; words of `methods` go before them.
        mode: the transfer mode in use; none of them where absent.
        notes: remarks for people.
        exact: a machine as programs write it into schedule files: `costs` hold every word and are
            those in use, with nothing of a mode to be added; `methods` and `modes` hold what
            differs from them.
        mode_methods: with `exact`, costs of methods in each mode, as they differ from the mode's.
    """

    name: str | None = None
    about: str = ""
    network: NetworkTable
    costs: CostsTable = CostsTable()
    limits: LimitsTable = LimitsTable()
    methods: dict[str, CostsTable] = {}
    modes: dict[str, CostsTable] = {}
    mode: str | None = None
    notes: list[str] = []
    exact: bool = False
    mode_methods: dict[str, dict[str, CostsTable]] = {}


def checked_table(data: Mapping[str, Any], where: str, text: str = "") -> MachineTable:
    """The model of a machine file's object; `text`, where there is one, gives the line.

    Raises:
        InputError: the first thing that is wrong: file, line, key, rule and value.
    """
    try:
        return MachineTable.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = tuple(first["loc"])
        rule = rule_of(first, path, _known_at, "word")
        raise InputError(f"{located(where, path, text)}: {rule}") from None


def _known_at(path: Keys) -> list[str]:
    """The words that a table knows, by the path of one of its keys."""
    table: type[BaseModel] = MachineTable
    for key in path[:-1]:
        if key not in table.model_fields:  # the name of a method
            return list(WORDS)
        annotation = table.model_fields[str(key)].annotation
        inner = [each for each in (annotation, *get_args(annotation)) if isinstance(each, type)]
        tables = [each for each in inner if issubclass(each, BaseModel)]
        if not tables:
            break
        table = tables[0]
    return [field.rstrip("_") for field in table.model_fields]
