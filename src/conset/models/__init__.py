"""How long it takes, event by event: one workload, one timeline, one model per file."""

from conset.models.timeline import Timeline
from conset.models.workload import Workload

__all__ = ["Timeline", "Workload"]
