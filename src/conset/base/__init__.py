"""Foundations without knowledge of the domain: errors, units, arrays, files, progress, stopping."""

VERSION = "0.1.0"
"""The version, in one place beside pyproject.toml (a test compares them)."""
