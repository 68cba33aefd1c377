"""Execution: what ranks do, as plans, and the jobs and exchanges over MPI that do it.

- `plan`: what each rank executes, and its files; `planner` makes it, `check` checks it.
- `exchange`: a plan on the buffers of an application, over `buffers` (the core on mpi4py's library)
  and `agreement` (errors that all ranks have alike, waiting).
- `run_time`: exchanges whose schedule the ranks make themselves.
- `open_program`, `connection_entries`: programs that open connections, phase after phase.
- `job`, `rank`, `launcher`: a task on every rank of a job; `run`, `measure`, `baselines`,
  `stopping`: plans and baselines measured beside each other.
- `c_program`: the communication of a program as a C source.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
