"""Compilation: options in, a schedule out: placed, by one method or the best of all, and what is said of it.

`options` what a compile is asked for · `pipeline` place, limits, method · `auto` which method, contention and policy ·
below it `ranking`, `trial`, `candidates`, `search`, `verdict` · `summary` what `compile --json` says of a schedule.
Imports go one way: pipeline → auto → verdict → search → candidates → trial → ranking → options.
"""
