"""Patterns made by a rule: one file for each kind, one table of all."""
