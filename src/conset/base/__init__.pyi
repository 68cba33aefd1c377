from .arrays import (
    Array as Array,
    Bools as Bools,
    Bytes as Bytes,
    Floats as Floats,
    Indices as Indices,
    Integers as Integers,
    Ints as Ints,
    Ints32 as Ints32,
    ValueObject as ValueObject,
    check_offsets as check_offsets,
    check_range as check_range,
    distinct_ints as distinct_ints,
    frozen as frozen,
    frozen_floats as frozen_floats,
    frozen_ints as frozen_ints,
    take_rows as take_rows,
)
from .errors import (
    ConsetError as ConsetError,
    ExecutionError as ExecutionError,
    InputError as InputError,
    MissingExtraError as MissingExtraError,
    NoScheduleError as NoScheduleError,
    UnavailableError as UnavailableError,
    UsageError as UsageError,
    VerificationError as VerificationError,
    import_extra as import_extra,
    nearest as nearest,
    printable as printable,
    require_texts as require_texts,
    shortened as shortened,
    unknown_argument as unknown_argument,
    unknown_name as unknown_name,
)
from .executors import PROCESSES as PROCESSES, completed as completed, executor_of as executor_of
from .files import (
    is_file as is_file,
    read_archive as read_archive,
    read_text as read_text,
    replacing as replacing,
    require_file as require_file,
    require_replaceable as require_replaceable,
    require_suffix as require_suffix,
    whole_number as whole_number,
    write_archive as write_archive,
    written as written,
)
from .flat import (
    MACHINE_FILE as MACHINE_FILE,
    PLAN_FILE as PLAN_FILE,
    FlatValue as FlatValue,
    read_flat as read_flat,
    write_flat as write_flat,
)
from .json_text import (
    header_entry as header_entry,
    parse_header as parse_header,
    parse_json as parse_json,
    shown as shown,
)
from .notebook import register_form as register_form
from .options import (
    check_option as check_option,
    option as option,
    python_interface as python_interface,
    with_fields as with_fields,
)
from .progress import (
    Work as Work,
    counted as counted,
    duration_text as duration_text,
    seconds_left as seconds_left,
    share_of as share_of,
    work as work,
    works as works,
)
from .stopping import (
    STOPPED as STOPPED,
    Ended as Ended,
    interruptible as interruptible,
    keyboard_interrupts as keyboard_interrupts,
    workers as workers,
)
from .toml import (
    Keys as Keys,
    Table as Table,
    checked_table as checked_table,
    classes_of as classes_of,
    keys_at as keys_at,
    located as located,
    parse_toml as parse_toml,
    rule_of as rule_of,
    table_at as table_at,
)
from .units import (
    MAX_SIZE_B as MAX_SIZE_B,
    MAX_TIME_S as MAX_TIME_S,
    MAX_RATE_Bps as MAX_RATE_Bps,
    MIN_RATE_Bps as MIN_RATE_Bps,
    as_figure as as_figure,
    count_of as count_of,
    format_load as format_load,
    format_rate as format_rate,
    format_size as format_size,
    format_time as format_time,
    parse_rate as parse_rate,
    parse_size as parse_size,
    parse_time as parse_time,
    require_memory as require_memory,
)

VERSION: str
