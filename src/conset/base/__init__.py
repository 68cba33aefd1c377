"""Foundations without knowledge of the domain.

Errors with exit codes, units, arrays and value types, files read with care, TOML, JSON and flat
files, progress, stop requests.
"""

VERSION = "0.1.0"
"""The version, in one place beside pyproject.toml (a test compares them)."""
