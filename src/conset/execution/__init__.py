"""Execution: what ranks do, as plans, and the jobs and exchanges over MPI that do it.

- `plan`, `plan_file`: what each rank executes; `planner`, `forwarding` make it, `check`,
  `delivery` check it.
- `exchange`: a plan on the buffers of an application, over `buffers`, `binding` (the core on
  mpi4py's library), `agreement` (errors that all ranks have alike) and `wait`.
- `run_time`, `sides`: exchanges whose schedule the ranks make themselves.
- `open_program`, `connection_entries`: programs that open connections, phase after phase.
- `job`, `rank`, `launcher`: a task on every rank of a job; `run`, `measure`, `baselines`,
  `stopping`: plans and baselines measured beside each other.
- `c_program`: the communication of a program as a C source.
"""
