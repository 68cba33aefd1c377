"""Foundations without knowledge of the domain.

Errors with exit codes, units, arrays and value types, files read with care, TOML, JSON and flat
files, progress, stop requests.
"""

from conset.base.errors import (
    ConsetError,
    ExecutionError,
    InputError,
    MissingExtraError,
    NoScheduleError,
    UnavailableError,
    UsageError,
    VerificationError,
    nearest,
    shortened,
    unknown_argument,
    unknown_name,
)
from conset.base.files import (
    is_file,
    read_archive,
    read_text,
    replacing,
    require_file,
    require_replaceable,
    whole_number,
    write_archive,
    written,
)
from conset.base.options import check_option, option, python_interface, with_fields
from conset.base.progress import Work, counted, duration_text, work
from conset.base.units import (
    MAX_SIZE_B,
    MAX_TIME_S,
    MAX_RATE_Bps,
    MIN_RATE_Bps,
    as_figure,
    count_of,
    format_load,
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_size,
    parse_time,
)

VERSION = "0.1.0"
"""The version, in one place beside pyproject.toml (a test compares them)."""

__all__ = [
    "MAX_SIZE_B",
    "MAX_TIME_S",
    "ConsetError",
    "ExecutionError",
    "InputError",
    "MAX_RATE_Bps",
    "MIN_RATE_Bps",
    "MissingExtraError",
    "NoScheduleError",
    "UnavailableError",
    "UsageError",
    "VerificationError",
    "Work",
    "as_figure",
    "check_option",
    "count_of",
    "counted",
    "duration_text",
    "format_load",
    "format_rate",
    "format_size",
    "format_time",
    "is_file",
    "nearest",
    "option",
    "parse_rate",
    "parse_size",
    "parse_time",
    "python_interface",
    "read_archive",
    "read_text",
    "replacing",
    "require_file",
    "require_replaceable",
    "shortened",
    "unknown_argument",
    "unknown_name",
    "whole_number",
    "with_fields",
    "work",
    "write_archive",
    "written",
]
