"""Compilation: options in, a schedule out.

Placed, by one method or the best of all, and what is said of it.

Not called `compile`: importing a package of that name would put it in the place of the function
`conset.compile`.

`options` what a compile is asked for · `pipeline` place, limits, method · `auto` which method,
contention and policy · below it `ranking`, `trial`, `candidates`, `search`, `verdict` · `summary`
what `compile --json` says of a schedule. Imports go one way: pipeline → auto → verdict → search →
candidates → trial → ranking → options.
"""
