"""Studies: compare, campaign, calibrate, and trials of scheduling at run time.

All four measure contenders (ways to send a pattern) on cases (machine, pattern, size, seed)
through one core.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
