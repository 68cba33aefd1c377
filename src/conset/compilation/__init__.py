"""Compilation: from a pattern, a machine and options to a schedule or program.

`options` defines every option once, `pipeline` places, limits and schedules, `summary`
describes the result. `auto` is what the chooser of the core asks for (`trial`, `verdict`).
`combining` decides whether small messages travel together, `programs` compiles programs of blocks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
