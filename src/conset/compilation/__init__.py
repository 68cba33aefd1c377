"""Compilation: from a pattern, a machine and options to a schedule or program.

`options` defines every option once, `pipeline` places, limits and schedules, `summary`
describes the result. `auto` chooses among `candidates` (`search`, `trial`, `ranking`,
`verdict`). `combining` decides whether small messages travel together, `programs` compiles
programs of blocks.
"""
