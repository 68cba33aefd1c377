"""Patterns made by a rule: one file each, one table of all."""
