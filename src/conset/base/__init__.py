"""Foundations without knowledge of the domain.

Errors with exit codes, units, arrays and value types, files read with care, TOML, JSON and flat
files, progress, stop requests.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

VERSION = "0.1.0"

"""The version, in one place beside pyproject.toml (a test compares them)."""
