"""Calibration: the words of a machine measured over MPI, with intervals.

Derived in `docs/calibrate.md`.
"""

from __future__ import annotations

from conset.studies.calibrate.calibrate import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
