"""Calibration: the parameters of a machine measured over MPI, with intervals.

Derived in `docs/calibrate.md`.
"""
