"""Methods: how a schedule is found.

`phases` cuts a pattern into phases under limits, one algorithm or family per file; `paths`
combines small messages; `placements` maps ranks to nodes. Each has one table of its rows.
Nothing here verifies, bounds or predicts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
