"""Many compiles beside each other: the contention curve of a complete exchange, the regions where a method is best."""

from conset.comparison.curve import Curve, CurvePoint, curve_bounds, trace_curve
from conset.comparison.policies import Policies, parse_policies
from conset.comparison.regions import Cell, Regions, chart_regions

__all__ = [
    "Cell",
    "Curve",
    "CurvePoint",
    "Policies",
    "Regions",
    "chart_regions",
    "curve_bounds",
    "parse_policies",
    "trace_curve",
]
