"""The version, in one place beside pyproject.toml (a test compares them)."""

VERSION = "0.1.0"
