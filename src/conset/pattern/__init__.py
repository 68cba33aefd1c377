"""Patterns: messages between ranks, each with source, target and bytes.

`pattern` contains the value type, `layout` the owners of the items of a partitioned mesh, graph or
matrix, `generators` the named patterns by kind, `readers` the file formats, `spec` the parser of
specs and names of files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
