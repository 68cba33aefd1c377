"""Reports: what people see of patterns, machines, schedules and results.

Value types give sections of facts, tables and pictures as data; renderers print them on a
terminal, as Markdown, HTML or JSON. Pictures are drawn by subject, with the colours and axes of
`style`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
