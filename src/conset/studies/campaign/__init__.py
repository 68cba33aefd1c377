"""Campaigns: a matrix of cases, measured or simulated.

In which the choice of conset is judged beside all else.
"""

from conset.studies.campaign.campaign import Campaign, read_campaign
from conset.studies.campaign.result import (
    Case,
    CaseResult,
    Contest,
    FabricSummary,
    summarize_campaign,
)
from conset.studies.campaign.run import Progress, run_campaign

__all__ = [
    "Campaign",
    "Case",
    "CaseResult",
    "Contest",
    "FabricSummary",
    "Progress",
    "read_campaign",
    "run_campaign",
    "summarize_campaign",
]
