"""The form of a campaign's file: one strict model.

What is wrong is said with file, line, key and rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    field_validator,
)

from conset.base.errors import ConsetError, InputError, nearest
from conset.base.toml import Keys, located, rule_of
from conset.base.units import parse_size, parse_time

Count = Annotated[StrictInt, Field(ge=1, lt=2**31)]
Seed = Annotated[StrictInt, Field(ge=0, lt=2**63)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]*$", max_length=60)]
Limit = Count | Literal["none"]
Baseline = Literal["alltoallv", "neighbor_alltoallv", "alltoall"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MachineEntry(_Table):
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

    name: Name | None = None
    spec: str | None = None
    testbed: dict[str, Any] | None = None
    fabric: Name | None = None
    calibrate: StrictBool = False
    mpiexec: str | None = None
    ranks: Count | None = None
    ranks_per_node: Count = 1
    set: str | None = None
    sizes: list[str | int] | None = None
    patterns: list[str] | None = None


class PatternEntry(_Table):
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


class ContenderEntry(_Table):
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


class ChoiceTable(_Table):
    """`[choice]`: what `auto` is asked for."""

    sync: str | None = None
    rank_by: str | None = None
    effort: Count = 1
    seed: Seed = 0
    combine: str = "none"


class RepeatTable(_Table):
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


class CampaignTable(_Table):
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
    machines: Annotated[list[MachineEntry], Field(min_length=1)]
    patterns: Annotated[list[PatternEntry], Field(min_length=1)]
    sizes: Annotated[list[str | int], Field(min_length=1)] = ["1KiB"]
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    contenders: list[ContenderEntry] = []
    mpi: list[Baseline] = ["alltoallv", "neighbor_alltoallv", "alltoall"]
    choice: ChoiceTable = ChoiceTable()
    repeat: RepeatTable = RepeatTable()
    models: list[str] = []
    calibration: dict[str, Any] = {}

    @field_validator("sizes")
    @classmethod
    def _sizes(cls, sizes: list[str | int]) -> list[str | int]:
        for size in sizes:
            _parsed(parse_size, size)
        return sizes


def checked_campaign(data: Mapping[str, Any], where: str, text: str = "") -> CampaignTable:
    """The model of a campaign's object; `text`, where there is one, gives the line.

    Raises:
        InputError: the first thing that is wrong: file, line, key, rule and value.
    """
    try:
        return CampaignTable.model_validate(dict(data))
    except ValidationError as error:
        # a key that is misspelt is missing too: what stands there is nearer to the user
        first = min(
            error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden"
        )
        path = tuple(part for part in first["loc"] if not _is_type(part))
        raise InputError(f"{located(where, path, text)}: {_rule(first, path)}") from None


def _parsed(parse: Callable[[Any], float], value: Any) -> float:
    """A value with a unit; an error of a form where pydantic expects one."""
    try:
        return parse(value)
    except ConsetError as error:
        raise ValueError(str(error)) from None


def _is_type(part: Any) -> bool:
    """Whether a part of pydantic's place is a member of a union, and no key."""
    return isinstance(part, str) and (
        "[" in part or part in ("str", "int", "constrained-int", "constrained-str", "literal")
    )


def _rule(error: Any, path: Keys) -> str:
    if error["type"] == "literal_error" and isinstance(error["input"], str):
        known = re.findall(r"'([^']+)'", error["ctx"]["expected"])
        return f"unknown word '{error['input']}': {nearest(error['input'], known)}"
    return rule_of(error, path, _known_at)


def _known_at(path: Keys) -> list[str]:
    """The keys that a table knows, by the path of one of its keys."""
    table: type[BaseModel] = CampaignTable
    for key in path[:-1]:
        if isinstance(key, int):
            continue
        annotation = table.model_fields[str(key)].annotation
        table = next(each for each in _classes(annotation) if issubclass(each, BaseModel))
    return list(table.model_fields)


def _classes(annotation: Any) -> list[type]:
    inner = [each for part in get_args(annotation) for each in _classes(part)]
    return [annotation, *inner] if isinstance(annotation, type) else inner
