"""Foundations without knowledge of the domain.

Errors, units, arrays, files, TOML, progress, stopping.
"""
