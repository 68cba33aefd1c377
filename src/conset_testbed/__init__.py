"""conset_testbed: a contended network on one Linux machine, to measure schedules on.

Network namespaces are nodes, rate-limited virtual wires or switches in user space are links, and
MPI jobs run on them:

>>> import conset, conset_testbed
>>> with conset_testbed.bed("mesh:4x4", fabric="credit", rate="20mbit") as bed:  # doctest: +SKIP
...     schedule = conset.compile("alltoall:size=64KiB", bed.network)
...     print(conset.run(schedule, mpiexec=bed.mpiexec).median_s)

    bed               A bed for a block of a program.
    check             What this machine permits.
    FABRICS           What carries packets, by word.
    UnavailableError  This machine does not permit it.
"""

from __future__ import annotations

from conset.base import UnavailableError
from conset_testbed.access import Permission, check
from conset_testbed.beds import Bed, bed
from conset_testbed.settings import FABRICS, Fabric, Settings

__all__ = ["FABRICS", "Bed", "Fabric", "Permission", "Settings", "UnavailableError", "bed", "check"]
