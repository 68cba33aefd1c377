"""Campaigns: a matrix of cases, measured or simulated.

What the choice is worth beside everything else.
"""

from conset.studies.campaign.campaign import Campaign, read_campaign
from conset.studies.campaign.case import Case
from conset.studies.campaign.result import CaseResult, Contest
from conset.studies.campaign.run import Progress, run_campaign
from conset.studies.campaign.summary import FabricSummary, summarize_campaign

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
