"""Schedules and programs: the result of a compile, and what follows from it.

`schedule` (with how it was made) and `program` hold the value types, `paths` what stages forward,
`policy` the synchronization, `loads` and `linkage` what links and connections carry, `document`
the contents of a file before anything in it is believed; `files` reads and writes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
