"""Models of conset's own files: which keys they have, and what may stand in each.

Arrays are held to kind and shape. What pydantic finds wrong becomes one line: place, rule, and what
is there instead. `json_schema` states the models for readers of other languages.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import inf
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from conset.base import (
    MAX_SIZE_B,
    MAX_TIME_S,
    ConsetError,
    InputError,
    MAX_RATE_Bps,
    Table as StrictTable,
    UsageError,
    classes_of,
    keys_at,
    require_texts,
    shown,
    table_at,
    unknown_name,
)
from conset.machine.file import MachineTable
from conset.schedule.document import MAX_NAME
from conset.schedule.files import arrays
from conset.schedule.policy import POSTINGS, check_in_flight, check_posting, parse_sync

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "float_type": "a number",
}
_OBJECTS = ("model_type", "dict_type", "model_attributes_type")
_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
_SHOWN = 16
"""Keys that are named where none is near."""
_FIRST = {"extra_forbidden": 0, "missing": 1}
"""Order of what is wrong in one object: unknown keys, then missing ones, then values."""


class Table(StrictTable):
    """An object of a file: known keys alone.

    Attributes:
        whole: what the outermost object is called in errors.
        entries: whether its keys are called entries, as those of an archive.
    """

    whole: ClassVar[str] = "file"
    entries: ClassVar[bool] = False


class SaidError(ValueError):
    """A rule that is broken, in a line that names its place itself."""


_Table = TypeVar("_Table", bound=Table)


def checked(model: type[_Table], found: Any) -> _Table:
    """`found` as the model says.

    Raises:
        InputError: the first thing that is wrong, from the outside in: place, rule, and what is
            there instead.
    """
    try:
        return model.model_validate(found)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        first = min(errors, key=lambda each: (len(each["loc"]), _FIRST.get(each["type"], 2)))
        raise InputError(_line(model, first)) from None


def by_noun(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A validator of pydantic from a check of a noun, which raises errors of ours."""

    def run(value: Any) -> Any:
        try:
            check(value)
        except ConsetError as error:
            raise SaidError(str(error)) from None
        return value

    return run


def _line(model: type[Table], error: Mapping[str, Any]) -> str:
    """What pydantic found, in our words."""
    path, kind, given = tuple(error["loc"]), error["type"], error["input"]
    if kind in _FIRST:
        return _line_of_key(model, path, kind)
    place = _place(model, path)
    if kind == "value_error":
        text = str(error["ctx"]["error"])
        return text if isinstance(error["ctx"]["error"], SaidError) else f"{place}: {text}"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        field = table_at(model, path).model_fields[str(path[-1])]
        may_be_null = type(None) in classes_of(field.annotation)
        none = ", or null for none" if may_be_null else ""
        return f"{place} = {shown(given)}: must be {words} {error['ctx'][bound]}{none}"
    if kind in _OBJECTS:
        return f"{place}: an object is required, given {shown(given)}"
    if kind == "literal_error":
        return f"{place}: must be {error['ctx']['expected']}, is {shown(given)}"
    rule = _KINDS[kind] if kind in _KINDS else error["msg"].removeprefix("Input should be ")
    return f"{place}: must be {rule}, is {shown(given)}"


def _line_of_key(model: type[Table], path: tuple[Any, ...], kind: str) -> str:
    """Of a key that is missing, or that is not known."""
    *outer, key = path
    word = "entry" if model.entries and not outer else "key"
    before = f"{_dotted(outer) or model.whole}: " if word == "key" else ""
    if kind == "missing":
        return f"{before}{word} '{key}' is missing"
    name, known = shown(str(key))[1:-1], keys_at(model, path)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    some = ", ".join(known[:_SHOWN]) + ("" if len(known) <= _SHOWN else ", …")
    hint = f"did you mean '{near[0]}'?" if near else f"known: {some}"
    return f"{before}unknown {word} '{name}': {hint}"


def _place(model: type[Table], path: tuple[Any, ...]) -> str:
    if model.entries and len(path) == 1:
        return f"entry '{path[0]}'"
    return _dotted(path) or model.whole


def _dotted(path: Collection[Any]) -> str:
    """`blocks[2].repeat`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


Schema = dict[str, Any]
_INTEGERS: Schema = {"type": "array", "items": {"type": "integer"}}
_NUMBERS: Schema = {"type": "array", "items": {"type": "number"}}
_ABSENT: Any = None
"""What a key that may be left out, but not be null, is then."""
_RATE: Schema = {"type": "number", "minimum": 0, "maximum": MAX_RATE_Bps}
_TIME: Schema = {"type": "number", "minimum": 0, "maximum": MAX_TIME_S}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _rows(*kinds: str) -> Schema:
    """Lists of so many values of these kinds."""
    items = [{"type": kind} for kind in kinds]
    return {
        "type": "array",
        "items": {"type": "array", "prefixItems": items, "minItems": len(kinds), "items": False},
    }


def _lists(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


# Single values


def _held(holds: Callable[[Any], bool], rule: str) -> AfterValidator:
    """A validator of values that hold to a rule, whose text has `{}` for what was given."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(rule.format(shown(value)))
        return value

    return AfterValidator(check)


def _whole(dtype: type[np.signedinteger[Any]]) -> AfterValidator:
    """A validator of lists of whole numbers."""

    def read(values: Any, info: ValidationInfo) -> Any:
        try:
            return arrays.whole_numbers(values, dtype, str(info.field_name))
        except InputError as error:
            raise SaidError(str(error)) from None

    return AfterValidator(read)


def _sync(value: str) -> str:
    try:
        parse_sync(value)
    except UsageError as error:
        raise SaidError(str(error)) from None
    return value


def _text(value: Any) -> Any:
    try:
        require_texts(value, "")
    except InputError as error:
        raise ValueError(str(error).removeprefix(": ")) from None
    return value


def _name(value: str) -> str:
    if len(value) > MAX_NAME or not value.isprintable():
        raise ValueError(f"must be one line of at most {MAX_NAME} letters, has {len(value)}")
    return value


def _rates(value: Any) -> Any:
    for k, rate in enumerate(value if isinstance(value, list) else [value]):
        if type(rate) not in (int, float) or not 0 <= rate <= MAX_RATE_Bps:
            where = f"min_bandwidth_Bps[{k}]" if isinstance(value, list) else "min_bandwidth_Bps"
            raise SaidError(
                f"{where}: must be a rate from 0 to {MAX_RATE_Bps:g} B/s, is {shown(rate)}"
            )
    return value


def _times(value: Any) -> Any:
    for k, time in enumerate(value if isinstance(value, list) else [value]):
        if time is None and isinstance(value, list):
            continue
        if type(time) not in (int, float) or not 0 <= time <= MAX_TIME_S:
            where = f"max_latency_s[{k}]" if isinstance(value, list) else "max_latency_s"
            raise SaidError(f"{where}: must be a time from 0 to {MAX_TIME_S:g} s, is {shown(time)}")
    return value


MachineRecord = Annotated[
    Any,
    _held(lambda value: isinstance(value, str | dict), "a spec or an object is required, given {}"),
    WithJsonSchema({"type": ["string", "object"]}),
]
SyncWord = Annotated[StrictStr, AfterValidator(_sync)]
InFlight = Annotated[
    Any,
    AfterValidator(by_noun(check_in_flight)),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"const": "all"}]}),
]
Posting = Annotated[
    Any, AfterValidator(by_noun(check_posting)), WithJsonSchema({"enum": list(POSTINGS)})
]
Bandwidths = Annotated[
    Any, AfterValidator(_rates), WithJsonSchema({"anyOf": [_RATE, _lists(_RATE)]})
]
Latencies = Annotated[
    Any, AfterValidator(_times), WithJsonSchema({"anyOf": [_TIME, _lists(_or_null(_TIME))]})
]
Number = Annotated[
    Any,
    _held(
        lambda value: type(value) is float or (type(value) is int and value.bit_length() <= 63),
        "must be a number, is {}",
    ),
    WithJsonSchema({"type": "number"}),
]
Count = Annotated[StrictInt, Field(ge=1)]


class LimitsTable(Table):
    """Hard limits of a phase."""

    send: Count | None
    receive: Count | None
    link: Count | None
    channels: Annotated[StrictInt, Field(ge=2)] | None
    duplex: Literal["full", "exchange"]


class LoadTable(Table):
    """The largest loads of a phase, and the sum over phases of the largest at ports and links.

    Where routes are not known, those of links and channels, and so the sum, are expectations: no
    whole numbers.
    """

    send: StrictInt
    receive: StrictInt
    link: Number
    channels: Number
    sum: Number


class ScheduleFigures(Table):
    """What a schedule's file states of itself."""

    phases: StrictInt
    load: LoadTable
    phase_bytes: StrictInt


_SECONDS: Schema = {"type": "number", "minimum": 0}
Seconds = Annotated[
    Any,
    _held(
        lambda value: type(value) in (int, float) and 0 <= value < inf,
        "must be a time of at least 0 s, is {}",
    ),
    WithJsonSchema(_SECONDS),
]
SecondsOrNone = Annotated[
    Any,
    _held(
        lambda value: value is None or (type(value) in (int, float) and 0 <= value < inf),
        "must be a time of at least 0 s or null, is {}",
    ),
    WithJsonSchema(_or_null(_SECONDS)),
]


Ranks = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
Name = Annotated[
    StrictStr, AfterValidator(_name), WithJsonSchema({"type": "string", "maxLength": MAX_NAME})
]
Text = Annotated[StrictStr, AfterValidator(_text)]


class ModelledTable(Table):
    """The time of a schedule by a model beside those of its baselines [s]; null: not known.

    `rotated_s` and `rank_order_s`: everything posted at once, in rotated order (rank + step) and by
    rising target; `pairwise_s`: step by step in rotated order; `bound_s`: of any schedule.
    `others`: by each other model or with another cost, the time of the schedule and that of
    the rotated order.
    """

    model: Text
    schedule_s: Seconds
    rotated_s: SecondsOrNone
    rank_order_s: SecondsOrNone
    pairwise_s: SecondsOrNone
    bound_s: Seconds
    bound_witness: Text
    why: Text | None
    others: dict[StrictStr, Annotated[list[Seconds], Field(min_length=2, max_length=3)]]


class ManifestTable(Table):
    """How a file was made."""

    version: Text
    seed: StrictInt
    command: Text
    input_sha256: Text


# Schedules


class ScheduleHead(Table):
    """What both forms of a schedule contain as text; the keys of `OPTIONAL` may be left out."""

    schema_: Literal["conset/schedule@1"] = Field(alias="schema")
    machine: MachineRecord
    method: Name
    sync: SyncWord
    limits: LimitsTable
    limits_asked: StrictBool
    in_flight: InFlight = None
    posting: Posting = "schedule"
    min_bandwidth_Bps: Bandwidths = None  # noqa: N815
    max_latency_s: Latencies = None
    modelled: ModelledTable | None = None
    figures: ScheduleFigures
    manifest: ManifestTable

    def optional(self) -> dict[str, Any]:
        """The keys that may be left out, as far as they are there."""
        given = {name: getattr(self, name) for name in OPTIONAL if name in self.model_fields_set}
        table = given.get("modelled")
        return given if table is None else {**given, "modelled": dict(table)}


OPTIONAL = ("in_flight", "posting", "min_bandwidth_Bps", "max_latency_s", "modelled")


class PatternTable(Table):
    """A pattern: messages `[source, target, bytes]`; pairs of them, the first before the second.

    Which are packed, and what connections are called by.
    """

    ranks: Ranks
    name: Name = "pattern"
    messages: Annotated[Any, WithJsonSchema(_rows("integer", "integer", "integer"))]
    before: Annotated[Any, WithJsonSchema(_or_null(_rows("integer", "integer")))]
    packed: Annotated[Any, WithJsonSchema(_or_null(_INTEGERS))] = None
    ids: Annotated[Any, WithJsonSchema(_or_null(_INTEGERS))] = None


class ScheduleFile(ScheduleHead):
    """The JSON form; phases hold transfers `[source, target, bytes, message]`."""

    whole: ClassVar[str] = "schedule"

    pattern: PatternTable
    placement: Annotated[Any, WithJsonSchema(_or_null(_INTEGERS))]
    phases: Annotated[Any, WithJsonSchema(_lists(_rows(*["integer"] * 4)))]
    routes: Annotated[Any, WithJsonSchema(_or_null(_lists(_lists(_INTEGERS))))]
    route_links: Annotated[Any, WithJsonSchema(_or_null(_lists(_lists(_INTEGERS))))] = None
    channels: Annotated[Any, WithJsonSchema(_or_null(_lists(_lists(_INTEGERS))))] = None
    timetable: Annotated[Any, WithJsonSchema(_or_null(_lists(_rows("number", "number"))))]


class ScheduleHeader(ScheduleHead):
    """The text `header` of the archive."""

    whole: ClassVar[str] = "header"

    ranks: Ranks
    pattern_name: Name = "pattern"


StoredInts = Annotated[Any, AfterValidator(arrays.stored_ints)]
StoredPairs = Annotated[Any, AfterValidator(partial(arrays.stored_ints, columns=2))]
StoredTimes = Annotated[Any, AfterValidator(partial(arrays.stored_floats, columns=2))]


class ScheduleEntries(Table):
    """The entries of the archive; those from `before` on may be left out."""

    whole: ClassVar[str] = "archive"
    entries: ClassVar[bool] = True

    header: Any
    source: StoredInts
    target: StoredInts
    size: StoredInts
    phase_offsets: StoredInts
    transfer_source: StoredInts
    transfer_target: StoredInts
    transfer_size: StoredInts
    transfer_message: StoredInts
    before: StoredPairs = None
    packed: StoredInts = None
    ids: StoredInts = None
    placement: StoredInts = None
    route_offsets: StoredInts = None
    route_nodes: StoredInts = None
    route_links: StoredInts = None
    channels: StoredInts = None
    timetable: StoredTimes = None


# Programs


Null = Annotated[
    Any,
    _held(
        lambda value: value is None,
        "must be null for the messages of a program that forwards, is {}",
    ),
    WithJsonSchema({"type": "null"}),
]


class MessagesTable(PatternTable):
    """What a program that forwards delivers, as the pattern of a schedule.

    Without an order, nothing packed; connections are not opened.
    """

    before: Null
    packed: Null = None
    ids: Null = None


_PART: Schema = {
    "type": "array",
    "prefixItems": [{"type": "integer"}] * 3,
    "minItems": 3,
    "items": False,
}
_BUNDLE: Schema = {
    "type": "array",
    "prefixItems": [*[{"type": "integer"}] * 3, _lists(_PART)],
    "minItems": 4,
    "items": False,
}


class StageTable(Table):
    """A stage: a schedule and how often it runs.

    `schedule` is an object as in a file of its own, or the number of the earlier stage whose
    schedule runs again; `contexts`, one for each phase of the schedule, stand beside the object.

    `bundles` are there where the program forwards: `[from, to, bytes, parts]`, one for each message
    of the schedule and in their order. Their parts are `[message, first_byte, last_byte]`; bytes of
    a message count from 0, and both ends belong to the range, as in ranges of HTTP: the first 64
    bytes are `0, 63`.
    """

    name: Text
    repeat: StrictInt
    turns: StrictBool
    contexts: Annotated[Any, WithJsonSchema(_INTEGERS)] = _ABSENT
    bundles: Annotated[Any, WithJsonSchema(_lists(_BUNDLE))] = _ABSENT
    schedule: Annotated[
        Any,
        _held(
            lambda value: type(value) in (dict, int),
            "a schedule or the number of an earlier stage required, given {}",
        ),
        WithJsonSchema({"type": ["object", "integer"]}),
    ]


class ProgramFigures(Table):
    """What a program's file states of itself; from `stages` on where it forwards."""

    phases: StrictInt
    contexts: StrictInt
    switches: StrictInt
    switches_apart: StrictInt
    messages: StrictInt
    bytes: StrictInt
    stages: StrictInt = _ABSENT
    bundles: StrictInt = _ABSENT
    volume: Number = _ABSENT
    staging_bytes: StrictInt = _ABSENT


class ProgramFile(Table):
    """A program; `messages` are there where it forwards, `staging_limit` [B] where there is one."""

    whole: ClassVar[str] = "program"

    schema_: Literal["conset/program@1"] = Field(alias="schema")
    machine: MachineRecord
    sync: SyncWord
    staging_limit: Annotated[StrictInt, Field(ge=0, le=MAX_SIZE_B)] = _ABSENT
    messages: MessagesTable = _ABSENT
    stages: list[StageTable]
    figures: ProgramFigures
    manifest: ManifestTable


# Timelines


Ints32 = Annotated[Any, _whole(np.int32), WithJsonSchema(_INTEGERS)]
Ints64 = Annotated[Any, _whole(np.int64), WithJsonSchema(_INTEGERS)]
Floats = Annotated[Any, AfterValidator(arrays.finite_numbers), WithJsonSchema(_NUMBERS)]


class SettingsTable(Table):
    """How a timeline was executed; ranges are those of `conset.models.settings.Settings`."""

    sync: SyncWord = "none"
    in_flight: StrictInt | None = None
    receives: StrictInt | None = None
    receive_order: StrictStr | None = None
    fairness: StrictStr = "equal"
    lanes: StrictInt | None = None
    queue: StrictInt | None = None
    record: StrictBool = False
    until_s: Number = None
    max_work: StrictInt | None = None


class TimelineFile(Table):
    """A timeline in either form: a JSON object with its columns, or a header beside them."""

    whole: ClassVar[str] = "timeline"
    entries: ClassVar[bool] = True

    schema_: Literal["conset/timeline@1"] = Field(alias="schema")
    model: Name
    sync: Name
    in_flight: StrictInt | None
    machine: Text
    mean_latency_s: Number
    events: StrictInt
    figures: Annotated[dict[str, Any], AfterValidator(_text)]
    nodes: StrictInt = _ABSENT
    name: Text = _ABSENT
    method: Text = ""
    machine_spec: MachineRecord = None
    changed: Text | None = None
    settings: SettingsTable = _ABSENT
    manifest: ManifestTable = _ABSENT
    start_s: Floats
    end_s: Floats
    phase_end_s: Floats
    link_bytes: Ints64
    link_busy_s: Floats
    out_bytes: Ints64
    out_busy_s: Floats
    in_bytes: Ints64
    in_busy_s: Floats
    held_by: Ints32
    sent_s: Floats = None
    first_byte_s: Floats = None
    left_s: Floats = None
    source: Ints32 = None
    target: Ints32 = None
    bytes: Ints64 = None
    time_s: Floats = None
    phase_offsets: Ints64 = None
    sender: Ints32 = None
    receiver: Ints32 = None
    order: Ints32 = None
    dep_offsets: Ints64 = None
    deps: Ints32 = None
    link_offsets: Ints64 = None
    links: Ints32 = None
    channels: Ints32 = None
    packed: Ints32 = None
    rate_time_s: Floats = None
    rate_message: Ints32 = None
    rate_Bps: Floats = None  # noqa: N815


_FILES: dict[str, type[BaseModel]] = {
    "schedule": ScheduleFile,
    "program": ProgramFile,
    "timeline": TimelineFile,
    "machine": MachineTable,
}
FORMS = tuple(_FILES)
"""What `json_schema` describes."""


def json_schema(form: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a `schedule`, `program`, `timeline` or machine file.

    A machine file is TOML, whose tables are the objects; what a cost may be says its description.

    Raises:
        UsageError: another word.
    """
    if form not in _FILES:
        raise unknown_name("form", form, _FILES)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_FILES[form].model_json_schema(),
    }
    if form == "program":  # whose schedules are looked at one by one
        schedule = ScheduleFile.model_json_schema()
        schema["$defs"] |= {**schedule.pop("$defs"), "ScheduleFile": schedule}
        schema["$defs"]["StageTable"]["properties"]["schedule"] = {
            "anyOf": [{"$ref": "#/$defs/ScheduleFile"}, {"type": "integer", "minimum": 0}]
        }
    return schema
