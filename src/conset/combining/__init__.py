"""Combining: paths along which many small messages travel together, and what they cost."""
