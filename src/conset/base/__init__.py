"""Foundations without knowledge of the domain: errors, units, arrays, files, TOML, progress, stopping."""
