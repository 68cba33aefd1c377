"""Campaign: the matrix of cases that a file states, and the contenders of each.

The form of the file is one strict model; errors name file, line, key and rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    StrictBool,
    StrictInt,
    field_validator,
)

from conset.base import (
    ConsetError,
    InputError,
    Table,
    UsageError,
    checked_table,
    parse_size,
    parse_time,
    parse_toml,
    require_file,
    unknown_name,
)
from conset.compilation import CompileOptions, method_name
from conset.execution import Stopping
from conset.machine import Machine, is_spec, parse_machine, with_settings
from conset.methods import is_in_file, parse_combine
from conset.models import find_model
from conset.pattern import input_path, split_options
from conset.studies.campaign.result import Case
from conset.studies.contender import CHOICE, NAIVE, Contender

_SIZE = re.compile(r"\{size(?:([*/])(\d{1,9}))?\}")

_NAME = re.compile(r"[^A-Za-z0-9 ._+-]+")
"""Letters that names of machines and patterns do not have."""

Count = Annotated[StrictInt, Field(ge=1, lt=2**31)]
Seed = Annotated[StrictInt, Field(ge=0, lt=2**63)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]*$", max_length=60)]
Limit = Count | Literal["none"]
Baseline = Literal["alltoallv", "neighbor_alltoallv", "alltoall"]


class MachineSource(Table):
    """`[[machines]]`: what cases run on.

    Attributes:
        name: in cases; where absent, the spec.
        spec: a preset, a network or a machine file beside the campaign's; with `calibrate` the
            structure, of which only the network counts.
        testbed: options of `conset testbed`, which is built for its cases; with a `spec` beside it
            that is its machine, else its network is calibrated.
        fabric: the group it is summed up with; its name where absent.
        calibrate: whether its costs are measured first, over MPI.
        mpiexec: how jobs are started on it; the MPI wheel's launcher where absent.
        ranks: of a pattern that does not say; the machine's endpoints times `ranks_per_node` where
            absent.
        ranks_per_node: on each node, one node after the other, as its launcher places them.
        set: costs that are changed, as `--set`.
        sizes: of `sizes`, those it takes part in; all where absent.
        patterns: names of patterns it takes part in; all where absent.
    """

    name: Name = ""
    spec: str = ""
    testbed: dict[str, Any] | None = None
    fabric: Name = ""
    calibrate: StrictBool = False
    mpiexec: str | None = None
    ranks: Count | None = None
    ranks_per_node: Count = 1
    set: str | None = None
    sizes: list[str | int] | None = None
    patterns: list[str] | None = None

    def stated(self) -> Machine:
        """Return the machine of the spec; of a testbed nothing is known before it is built."""
        return self.changed(parse_machine(self.spec))

    def changed(self, machine: Machine) -> Machine:
        """Return the machine with the costs that are changed."""
        return machine if self.set is None else with_settings(machine, self.set)

    def to_object(self) -> dict[str, Any]:
        """Return what decides results beside the machine itself."""
        return self.model_dump(include={"testbed", "mpiexec", "ranks", "ranks_per_node"})


class PatternEntry(Table):
    """`[[patterns]]`: what is sent.

    Attributes:
        spec: a spec or a file; `{size}`, `{size/8}`, `{size*2}` in it stand for the case's size. A
            spec that has no size takes the case's; a file, or a spec that says its size, has one
            case.
        name: in cases; where absent, the spec.
        sizes: in place of the campaign's.
        seeds: in place of the campaign's.
        parts: of a mesh or graph.
        rows_to: ranks of a sparse matrix.
        word: bytes of an entry or node where a file counts words.
    """

    spec: str
    name: Name | None = None
    sizes: list[str | int] | None = None
    seeds: list[Seed] | None = None
    parts: Count | None = None
    rows_to: Count | None = None
    word: str | int = 8


class ContenderEntry(Table):
    """`[[contenders]]`: schedules that are compared with the choice.

    Every combination of what the lists hold.

    Attributes:
        method: names of methods.
        contention: limits of a link; `none`: the method's own.
        sync: policies; the method's default where absent.
        posting: orders of `naive`.
        in_flight: sends that a rank keeps open; `all`.
        combine: ways to forward in stages, as `--combine`.
        limits: other limits, as `--limits`.
        seed: of random choices of the method.
    """

    method: str | list[str] = "auto"
    contention: Limit | list[Limit] = "none"
    sync: str | list[str] | None = None
    posting: str | list[str] = "schedule"
    in_flight: Limit | Literal["all"] | list[Limit | Literal["all"]] = "none"
    combine: str | list[str] = "none"
    limits: str | None = None
    seed: Seed = 0


class ChoiceTable(Table):
    """`[choice]`: what `auto` is asked for.

    Attributes:
        measure: rounds, before those that are reported, in which its schedule and MPI's collectives
            are measured: the choice is the fastest; 0: its schedule.
    """

    sync: str | None = None
    rank_by: str | None = None
    effort: Count = 1
    seed: Seed = 0
    combine: str = "none"
    measure: Annotated[StrictInt, Field(ge=0, lt=2**31)] = 0


class RepeatTable(Table):
    """`[repeat]`: when the repetitions of a measured case end; see `conset.execution.stopping`."""

    least: Annotated[StrictInt, Field(ge=3, lt=2**31)] = 3
    most: Annotated[StrictInt, Field(ge=3, lt=2**31)] = 20
    precision: Annotated[float, Field(gt=0, lt=1)] = 0.03
    drop: Annotated[float, Field(ge=0)] = 1.5
    time: str = "60 s"

    @field_validator("drop")
    @classmethod
    def _at_least_one(cls, value: float) -> float:
        if 0 < value < 1:
            raise ValueError(f"must be at least 1, or 0 for never, is {value:g}")
        return value

    @field_validator("time")
    @classmethod
    def _a_time(cls, value: str) -> str:
        if _parsed(parse_time, value) <= 0:
            raise ValueError(f"must be above 0 s, is {value}")
        return value


class CampaignTable(Table):
    """A campaign's file.

    Attributes:
        name: for people; the file's stem where absent.
        about: a paragraph for people.
        mode: `measured` over MPI, or `simulated` by models.
        machines: what cases run on.
        patterns: what is sent.
        sizes: of messages.
        seeds: of patterns.
        contenders: schedules beside the choice.
        mpi: collectives of MPI beside them.
        choice: what `auto` is asked for.
        repeat: of measured cases.
        models: of simulated cases: what says the times, the first decides who has won; the
            machine's own where absent.
        calibration: options of `conset calibrate` for machines with `calibrate = true`.
    """

    name: str | None = None
    about: str = ""
    mode: Literal["measured", "simulated"] = "measured"
    machines: Annotated[list[MachineSource], Field(min_length=1)]
    patterns: Annotated[list[PatternEntry], Field(min_length=1)]
    sizes: Annotated[list[str | int], Field(min_length=1)] = Field(["1KiB"])
    seeds: Annotated[list[Seed], Field(min_length=1)] = Field([0])
    contenders: list[ContenderEntry] = Field([])
    mpi: list[Baseline] = Field(["alltoallv", "neighbor_alltoallv", "alltoall"])
    choice: ChoiceTable = ChoiceTable()
    repeat: RepeatTable = RepeatTable()
    models: list[str] = Field([])
    calibration: dict[str, Any] = Field({})

    @field_validator("sizes")
    @classmethod
    def _sizes(cls, sizes: list[str | int]) -> list[str | int]:
        for size in sizes:
            _parsed(parse_size, size)
        return sizes


def _parsed(parse: Callable[[Any], float], value: Any) -> float:
    """A value with a unit; an error of a form where pydantic expects one."""
    try:
        return parse(value)
    except ConsetError as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True)
class Campaign:
    """A matrix of cases.

    Attributes:
        name: for people.
        about: a paragraph for people.
        simulated: whether models say the times, and not MPI.
        machines: by name, in the file's order.
        cases: in the file's order: machine, pattern, size, seed.
        contenders: schedules beside the choice.
        choice: what `auto` is asked for.
        baselines: collectives of MPI beside them.
        stopping: when repetitions of a measured case end.
        models: what says the times of simulated cases; (): the machine's.
        calibration: options of calibrations.
        source: the file's text, or "".
    """

    name: str
    about: str
    simulated: bool
    machines: Mapping[str, MachineSource]
    cases: tuple[Case, ...]
    contenders: tuple[Contender, ...]
    choice: Contender
    baselines: tuple[str, ...]
    stopping: Stopping = field(default_factory=Stopping)
    models: tuple[str, ...] = ()
    calibration: Mapping[str, Any] = field(default_factory=dict)
    source: str = field(default="", repr=False)


def read_campaign(path: str | Path) -> Campaign:
    """The campaign in a `.toml` file.

    Raises:
        InputError: missing, no TOML, or contents against the model; names file, line, key, rule and
            value.
    """
    path = require_file(path)
    if path.suffix.lower() != ".toml":
        raise InputError(f"{path}: a campaign's file must end in .toml, is '{path.suffix}'")
    data, text = parse_toml(path.read_bytes(), path.name, "campaign")
    return campaign_of({"name": path.stem, **data}, path.name, folder=path.parent, text=text)


def campaign_of(
    data: Mapping[str, Any], where: str = "campaign", *, folder: Path = Path(), text: str = ""
) -> Campaign:
    """Return the campaign of a file's object; names of files in it are relative to `folder`.

    Raises:
        InputError: an object against the model, names that are used twice, unknown names.
    """
    table = checked_table(CampaignTable, data, where, text)
    repeat, choice = table.repeat, table.choice
    try:
        machines: dict[str, MachineSource] = {}
        for k, entry in enumerate(table.machines):
            source = _machine(entry, f"machines[{k}]", table.mode, folder)
            if source.name in machines:
                raise UsageError(f"machines[{k}]: name '{source.name}' is used twice")
            machines[source.name] = source
        cases = tuple(_cases(table, machines, folder))
        if table.mode == "simulated":
            for name in table.models:
                find_model(name)
        elif table.models:
            raise UsageError("models: are for mode simulated, given measured")
        if choice.measure and not (table.mode == "measured" and table.mpi):
            raise UsageError("choice.measure: needs mode measured, and collectives in mpi")
        options = CompileOptions(
            sync=choice.sync, rank_by=choice.rank_by, effort=choice.effort, seed=choice.seed
        )
        return Campaign(
            name=table.name or where,
            about=table.about,
            simulated=table.mode == "simulated",
            machines=machines,
            cases=cases,
            contenders=expand_contenders(table.contenders, folder),
            choice=Contender(CHOICE, options, combine=_given(choice.combine)),
            baselines=tuple(dict.fromkeys(table.mpi)) if table.mode == "measured" else (),
            stopping=Stopping(
                repeat.least,
                repeat.most,
                repeat.precision,
                repeat.drop,
                parse_time(repeat.time, "repeat.time"),
                choice.measure,
            ),
            models=tuple(dict.fromkeys(table.models)),
            calibration=dict(table.calibration),
            source=text,
        )
    except UsageError as error:  # in a file it is its contents that are wrong
        raise InputError(f"{where}: {error}") from None


def _given(value: Any) -> Any:
    """Return the value of a key, None for `none`."""
    return None if value == "none" else value


def _machine(entry: MachineSource, where: str, mode: str, folder: Path) -> MachineSource:
    if not entry.spec and entry.testbed is None:
        raise UsageError(f"{where}: needs a spec or a testbed, given neither")
    if not entry.spec and not entry.calibrate:
        raise UsageError(
            f"{where}: a testbed needs calibrate = true, or a spec that says its costs"
        )
    for key in ("testbed", "mpiexec", "calibrate"):
        if mode == "simulated" and getattr(entry, key) not in (None, False):
            raise UsageError(f"{where}.{key}: is for mode measured, given simulated")
    if entry.testbed is not None and entry.mpiexec is not None:
        raise UsageError(f"{where}.mpiexec: a testbed has a launcher of its own")
    spec = entry.spec
    name = entry.name or spec or f"testbed-{(entry.testbed or {}).get('fabric', 'default')}"
    name = _NAME.sub("-", name).strip("-")
    # a machine file may be beside the campaign's
    is_file = bool(spec) and not is_spec(spec) and (folder / spec).is_file()
    found = {"name": name, "fabric": entry.fabric or name}
    source = entry.model_copy(update={**found, "spec": str(folder / spec) if is_file else spec})
    if spec:
        try:
            source.stated()  # before anything is measured
        except ConsetError as error:
            raise UsageError(f"{where}: {error}") from None
    return source


def expand_contenders(
    entries: Iterable[ContenderEntry], folder: Path = Path()
) -> tuple[Contender, ...]:
    """Return every combination of what the tables list, each once.

    Without the choice, which is always there. Files of methods are relative to `folder`.

    Raises:
        UsageError: an unknown name, or options that do not go together.
    """
    contenders: dict[str, Contender] = {}
    for entry in entries:
        values: tuple[Any, ...] = (
            entry.method,
            entry.contention,
            entry.sync,
            entry.posting,
            entry.in_flight,
            entry.combine,
        )
        lists = [value if isinstance(value, list) else [value] for value in values]
        for method, contention, sync, posting, in_flight, combine in product(*lists):
            parse_combine(combine)
            link, flight = _given(contention), _given(in_flight)
            name = method_name(str(folder / method) if is_in_file(method) else method)
            options = CompileOptions(
                method=name,
                contention=link,
                sync=sync,
                posting=posting,
                limits=entry.limits,
                seed=entry.seed,
            )
            words = [
                # `naive` is what applications do themselves, not the executor with one phase
                "posted at once" if name == NAIVE else name,
                link and f"c{link}",
                entry.limits,
                posting != "schedule" and posting,
                sync,
                flight and f"{flight} in flight",
                _given(combine),
                entry.seed and f"seed {entry.seed}",
            ]
            title = " ".join(filter(None, words))
            contenders.setdefault(title, Contender(title, options, flight, _given(combine)))
    contenders.pop(CHOICE, None)
    return tuple(contenders.values())


def _cases(
    table: CampaignTable, machines: Mapping[str, MachineSource], folder: Path
) -> Iterator[Case]:
    names = [
        entry.name or _NAME.sub("-", Path(entry.spec).name).strip("-") for entry in table.patterns
    ]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"patterns: name '{name}' is used twice")
    for entry, source in zip(table.machines, machines.values(), strict=True):
        for word in entry.patterns or ():
            if word not in names:
                raise unknown_name("pattern", word, names)
        own = None if entry.sizes is None else {parse_size(size) for size in entry.sizes}
        for pattern, name in zip(table.patterns, names, strict=True):
            if entry.patterns is None or name in entry.patterns:
                for case in _of_pattern(table, pattern, name, source, folder):
                    if own is None or case.size is None or case.size in own:
                        yield case


def _of_pattern(
    table: CampaignTable, entry: PatternEntry, name: str, source: MachineSource, folder: Path
) -> Iterator[Case]:
    spec, is_file = entry.spec, input_path(entry.spec) is not None
    if is_file and (folder / spec).is_file():
        spec = str(folder / spec)
    seeds = entry.seeds or table.seeds
    base = Case(
        source.name,
        source.fabric,
        name,
        spec,
        None,
        shows_seed=len(seeds) > 1,
        parts=entry.parts,
        rows_to=entry.rows_to,
        word=parse_size(entry.word, "word"),
    )
    _, _, rest = spec.partition(":") if ":" in spec.split(",", 1)[0] else spec.partition(",")
    options = {option.partition("=")[0].strip() for option in split_options(rest) if rest}
    fixed = _SIZE.search(spec) is None and (is_file or "size" in options)
    for size in [None] if fixed else [parse_size(size) for size in entry.sizes or table.sizes]:
        for seed in seeds:
            yield replace(base, spec=_with_size(spec, size), size=size, seed=seed)


def _with_size(spec: str, size: int | None) -> str:
    """Return `random:degree=8,size=1024`; what is in braces is filled in, at least 1 byte."""
    if size is None:
        return spec

    def fill(match: re.Match[str]) -> str:
        by = int(match[2] or 1)
        if match[1] == "/":
            if by == 0:
                raise UsageError(f"pattern '{spec}': {match[0]}: must not be divided by 0")
            return str(max(1, size // by))
        return str(size * by)

    if _SIZE.search(spec):
        return _SIZE.sub(fill, spec)
    return f"{spec}{',' if ':' in spec else ':'}size={size}"
