"""Many compiles beside each other: rows of methods, the contention curve of a complete exchange, the regions map."""

from conset.comparison.curve import Curve, CurvePoint, curve_bounds, trace_curve
from conset.comparison.policies import Policies, parse_policies
from conset.comparison.regions import Cell, Regions, chart_regions
from conset.comparison.rows import Comparison, compare
from conset.comparison.times import Timing, check_by, time_schedule

__all__ = [
    "Cell",
    "Comparison",
    "Curve",
    "CurvePoint",
    "Policies",
    "Regions",
    "Timing",
    "chart_regions",
    "check_by",
    "compare",
    "curve_bounds",
    "parse_policies",
    "time_schedule",
    "trace_curve",
]
