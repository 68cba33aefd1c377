"""Studies: compare, campaign, calibrate, and trials of scheduling at run time.

All four measure contenders (ways to send a pattern) on cases (machine, pattern, size, seed)
through one core.
"""
