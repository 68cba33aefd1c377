"""Patterns read from files: one file per format, one table of suffixes."""
