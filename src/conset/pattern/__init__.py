"""Patterns: who sends how many bytes to whom.

`pattern` holds the value type, `layout` who owns what of a partitioned mesh, graph or matrix,
`generators` the named patterns by kind, `readers` the file formats, `spec` the text that names
either.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
