"""Campaign: the matrix of cases that a file states, and who competes in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conset.base.errors import ConsetError, InputError, UsageError, unknown_name
from conset.base.files import require_file
from conset.base.toml import parse_toml
from conset.base.units import parse_size, parse_time
from conset.compilation.options import CompileOptions
from conset.execution.stopping import Stopping
from conset.machine.machine import Machine
from conset.machine.spec import is_spec, parse_machine, with_settings
from conset.models.table import find_model
from conset.pattern.spec import input_path, split_options
from conset.studies.campaign.case import Case
from conset.studies.campaign.contender import Contender, expand_contenders
from conset.studies.campaign.tables import (
    CampaignTable,
    MachineEntry,
    PatternEntry,
    checked_campaign,
)

_SIZE = re.compile(r"\{size(?:([*/])(\d{1,9}))?\}")


@dataclass(frozen=True)
class MachineSource:
    """Where a machine of a campaign comes from.

    Attributes:
        name: in cases.
        fabric: what it is summed up with.
        spec: a spec or the name of a file; "" where a testbed says its network.
        testbed: its options, or None.
        calibrate: whether its costs are measured first.
        mpiexec: how jobs are started, or None.
        ranks: of patterns that do not say, or None.
        ranks_per_node: on each node.
        settings: costs that are changed, or None.
    """

    name: str
    fabric: str
    spec: str
    testbed: Mapping[str, Any] | None = None
    calibrate: bool = False
    mpiexec: str | None = None
    ranks: int | None = None
    ranks_per_node: int = 1
    settings: str | None = None

    def stated(self) -> Machine:
        """What spec and settings say; of a testbed nothing is known before it stands."""
        machine = parse_machine(self.spec)
        return machine if self.settings is None else with_settings(machine, self.settings)

    def to_object(self) -> dict[str, Any]:
        """What decides results beside the machine itself."""
        return {
            "testbed": None if self.testbed is None else dict(self.testbed),
            "mpiexec": self.mpiexec,
            "ranks": self.ranks,
            "ranks_per_node": self.ranks_per_node,
        }


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
    """The campaign that a file's object says; names of files in it are relative to `folder`.

    Raises:
        InputError: an object against the model, names that are used twice, words that are not
            known.
    """
    table = checked_campaign(data, where, text)
    try:
        machines = _machines(table, folder)
        cases = tuple(_cases(table, machines, folder))
        if table.mode == "simulated":
            for name in table.models:
                find_model(name)
        elif table.models:
            raise UsageError("models: are for mode simulated, given measured")
        return Campaign(
            name=table.name or where,
            about=table.about,
            simulated=table.mode == "simulated",
            machines=machines,
            cases=cases,
            contenders=expand_contenders(table.contenders),
            choice=_choice(table),
            baselines=tuple(dict.fromkeys(table.mpi)) if table.mode == "measured" else (),
            stopping=_stopping(table),
            models=tuple(dict.fromkeys(table.models)),
            calibration=dict(table.calibration),
            source=text,
        )
    except UsageError as error:  # in a file it is its contents that are wrong
        raise InputError(f"{where}: {error}") from None


def _stopping(table: CampaignTable) -> Stopping:
    repeat = table.repeat
    return Stopping(
        repeat.least,
        repeat.most,
        repeat.precision,
        repeat.drop,
        parse_time(repeat.time, "repeat.time"),
    )


def _choice(table: CampaignTable) -> Contender:
    own = table.choice
    options = CompileOptions(sync=own.sync, rank_by=own.rank_by, effort=own.effort, seed=own.seed)
    return Contender("auto", options, combine=own.combine)


def _machines(table: CampaignTable, folder: Path) -> dict[str, MachineSource]:
    machines: dict[str, MachineSource] = {}
    for k, entry in enumerate(table.machines):
        where = f"machines[{k}]"
        source = _machine(entry, where, table.mode, folder)
        if source.name in machines:
            raise UsageError(f"{where}: name '{source.name}' is used twice")
        machines[source.name] = source
    return machines


def _machine(entry: MachineEntry, where: str, mode: str, folder: Path) -> MachineSource:
    if entry.spec is None and entry.testbed is None:
        raise UsageError(f"{where}: needs a spec or a testbed, given neither")
    if entry.spec is None and not entry.calibrate:
        raise UsageError(
            f"{where}: a testbed needs calibrate = true, or a spec that says its costs"
        )
    if mode == "simulated":
        for key in ("testbed", "mpiexec"):
            if getattr(entry, key) is not None:
                raise UsageError(f"{where}.{key}: is for mode measured, given simulated")
        if entry.calibrate:
            raise UsageError(f"{where}.calibrate: is for mode measured, given simulated")
    if entry.testbed is not None and entry.mpiexec is not None:
        raise UsageError(f"{where}.mpiexec: a testbed has a launcher of its own")
    spec = "" if entry.spec is None else _with_folder(entry.spec, folder)
    name = entry.name or (entry.spec or f"testbed-{(entry.testbed or {}).get('fabric', 'default')}")
    name = re.sub(r"[^A-Za-z0-9 ._+-]+", "-", name).strip("-")
    source = MachineSource(
        name,
        entry.fabric or name,
        spec,
        entry.testbed,
        entry.calibrate,
        entry.mpiexec,
        entry.ranks,
        entry.ranks_per_node,
        entry.set,
    )
    if spec:
        try:
            source.stated()  # before anything is measured
        except ConsetError as error:
            raise UsageError(f"{where}: {error}") from None
    return source


def _with_folder(spec: str, folder: Path) -> str:
    """A machine file beside the campaign's, else the spec as it is."""
    return spec if is_spec(spec) or not (folder / spec).is_file() else str(folder / spec)


def _cases(
    table: CampaignTable, machines: Mapping[str, MachineSource], folder: Path
) -> Iterator[Case]:
    names = [_pattern_name(entry) for entry in table.patterns]
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


def _pattern_name(entry: PatternEntry) -> str:
    return entry.name or re.sub(r"[^A-Za-z0-9 ._+-]+", "-", Path(entry.spec).name).strip("-")


def _of_pattern(
    table: CampaignTable, entry: PatternEntry, name: str, source: MachineSource, folder: Path
) -> Iterator[Case]:
    spec = entry.spec
    if input_path(spec) is not None and (folder / spec).is_file():
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
    sized = _SIZE.search(spec) is not None
    fixed = not sized and (input_path(spec) is not None or "size" in dict(_options(spec)))
    sizes = [None] if fixed else [parse_size(size) for size in entry.sizes or table.sizes]
    for size in sizes:
        for seed in seeds:
            yield replace(base, spec=_with_size(spec, size), size=size, seed=seed)


def _options(spec: str) -> list[tuple[str, str]]:
    _, _, rest = spec.partition(":") if ":" in spec.split(",", 1)[0] else spec.partition(",")
    words = split_options(rest) if rest else []
    return [(word.partition("=")[0].strip(), word) for word in words]


def _with_size(spec: str, size: int | None) -> str:
    """`random:degree=8,size=1024`; what stands in braces is filled in, at least 1 byte."""
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
