"""How a schedule is found: one algorithm per file, one table of all."""
