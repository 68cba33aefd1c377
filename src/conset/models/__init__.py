"""Models: how long a schedule, program or trace takes.

`formula` predicts in closed form; `flow`, `wormhole`, `packet`, `flit` and `connections`
simulate event by event, one model per file, and are listed in `table`. They read a `Workload`
and return a `Timeline`; `load` measures latency over load.
"""

from conset.models.timeline import Timeline
from conset.models.workload import Workload

__all__ = ["Timeline", "Workload"]
