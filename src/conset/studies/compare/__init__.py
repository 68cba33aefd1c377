"""Many compiles beside each other.

Rows of methods, the contention curve of a complete exchange, the regions map.
"""

from conset.studies.compare.comparison import (
    Comparison,
    Policies,
    compare,
    compare_pairs,
    merged,
    parse_policies,
)
from conset.studies.compare.curve import Curve, CurvePoint, serial_steps, trace_curve, trace_curves
from conset.studies.compare.regions import Cell, Regions, chart_exchanges, chart_regions
from conset.studies.times import Timing, check_by, time_schedule

__all__ = [
    "Cell",
    "Comparison",
    "Curve",
    "CurvePoint",
    "Policies",
    "Regions",
    "Timing",
    "chart_exchanges",
    "chart_regions",
    "check_by",
    "compare",
    "compare_pairs",
    "merged",
    "parse_policies",
    "serial_steps",
    "time_schedule",
    "trace_curve",
    "trace_curves",
]
