"""How long it takes, event by event: one workload, one timeline, one model per file."""

from conset.simulation.timeline import Timeline
from conset.simulation.workload import Workload

__all__ = ["Timeline", "Workload"]
