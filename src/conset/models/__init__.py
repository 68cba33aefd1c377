"""Models: how long a schedule, program or trace takes.

`formula` predicts in closed form; `flow`, `wormhole`, `packet`, `flit` and `connections`
simulate event by event, one model per file, and are listed in `table`. They read a `Workload`
and return a `Timeline`; `load` measures latency over load.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
