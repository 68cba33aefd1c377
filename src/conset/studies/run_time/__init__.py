"""Trials of scheduling at run time: what it costs, measured and predicted."""
