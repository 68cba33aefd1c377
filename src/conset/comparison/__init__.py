"""Many compiles beside each other: rows of methods, the contention curve of a complete exchange, the regions map."""

from conset.comparison.curve import Curve, CurvePoint, serial_steps, trace_curve, trace_curves
from conset.comparison.policies import Policies, parse_policies
from conset.comparison.regions import Cell, Regions, chart_exchanges, chart_regions
from conset.comparison.rows import Comparison, compare, compare_pairs, merged
from conset.comparison.times import Timing, check_by, time_schedule

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
