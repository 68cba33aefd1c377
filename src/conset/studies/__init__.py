"""Studies: compare, campaign, calibrate, and trials of scheduling at run time."""
