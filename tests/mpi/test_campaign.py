"""Measured campaigns.

Jobs of real ranks, in which contenders run in turns and every byte is checked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conset.base.errors import VerificationError
from conset.report.campaign import campaign_markdown
from conset.studies.campaign.campaign import campaign_of
from conset.studies.campaign.run import read_results, run_campaign
from support.fabrics import Cluster

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")
PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.openmpi
def test_a_measured_campaign(tmp_path: Path) -> None:
    campaign = campaign_of(
        {
            "sizes": ["2KiB"],
            "machines": [{"spec": "mesh:2x2", "name": "host"}],
            "patterns": [{"spec": "alltoall"}, {"spec": "random:degree=2", "name": "random"}],
            "contenders": [
                {"method": ["first-fit", "coloring", "bounded"], "sync": ["barrier"]},
                {
                    "method": "first-fit",
                    "contention": 1,
                    "sync": "barrier",
                },  # the very same as without
            ],
            "repeat": {"least": 3, "most": 3, "drop": 0},
        }
    )
    run = run_campaign(campaign, tmp_path)
    assert run.failures == {}
    complete, random = run.results
    for result in run.results:
        own = result.conditions
        assert (own["repetitions"], own["stopped"], own["local_ranks"]) == (3, "most", 4)
        assert own["one_machine"] is True
        own_times = {each.name for each in result.timed if not each.same_as}
        # three repetitions and the one that is dropped, every byte
        assert own["bytes_checked"] == 4 * len(own_times) * result.bytes
        assert {len(each.times_s) for each in result.timed} == {3}
        assert all(time > 0 for each in result.timed for time in each.times_s)
    assert complete.contest("first-fit c1 barrier").same_as == "first-fit barrier"
    assert complete.contest("alltoall").times_s
    assert "requires a complete exchange" in random.contest("bounded barrier").skipped
    assert "between any two of 4 ranks (12), given 8" in random.contest("alltoall").skipped
    assert read_results(campaign, tmp_path) == run.results
    assert run_campaign(campaign, tmp_path).fresh == 0


@pytest.mark.openmpi
def test_several_ranks_a_node_are_calibrated_and_measured(tmp_path: Path) -> None:
    """Six ranks on three nodes, and five on some hosts of a cluster, in the job's order."""
    cluster, net, routes = Cluster(), tmp_path / "net.txt", tmp_path / "lfts.txt"
    net.write_text(cluster.ibnetdiscover())
    routes.write_text(cluster.dump_fts())
    campaign = campaign_of(
        {
            "sizes": ["2KiB"],
            "machines": [
                {"spec": "crossbar:3", "name": "two", "ranks_per_node": 2, "calibrate": True},
                {
                    "spec": f"{net},routes={routes},hosts=n5,n5,n1,n2,n1",
                    "name": "job",
                    "calibrate": True,
                },
            ],
            "calibration": {"quick": True, "budget_s": 1.0},
            "patterns": [{"spec": "alltoall"}],
            "contenders": [{"method": "first-fit", "sync": "barrier"}],
            "repeat": {"least": 3, "most": 3, "drop": 0},
            "mpi": ["alltoallv"],
        }
    )
    run = run_campaign(campaign, tmp_path / "results")
    assert run.failures == {}
    assert [result.ranks for result in run.results] == [6, 5]
    for result in run.results:
        own_times = {each.name for each in result.timed if not each.same_as}
        assert result.conditions["bytes_checked"] == 4 * len(own_times) * result.bytes
        assert all(time > 0 for each in result.timed for time in each.times_s)
    assert read_results(campaign, tmp_path / "results") == run.results


@pytest.mark.openmpi
def test_the_choice_may_be_measured(tmp_path: Path) -> None:
    """Rounds that choose are executed and checked beside those that are reported."""
    campaign = campaign_of(
        {
            "machines": [{"spec": "crossbar:4", "name": "host"}],
            "patterns": [{"spec": "alltoall"}],
            "choice": {"measure": 2},
            "repeat": {"least": 3, "most": 3, "drop": 0},
        }
    )
    run = run_campaign(campaign, tmp_path)
    assert run.failures == {}
    (result,) = run.results
    assert {len(each.times_s) for each in result.timed} == {3}
    own_times = {each.name for each in result.timed if not each.same_as}
    assert result.conditions["bytes_checked"] == (1 + 2 + 3) * len(own_times) * result.bytes
    assert "measured in 2 rounds before" in result.choice.facts["why"]
    assert result.choice.same_as in ("", *campaign.baselines)
    assert read_results(campaign, tmp_path) == run.results
    assert "in the median of 2 rounds before" in campaign_markdown(campaign, run.results)


def test_wrong_bytes_end_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    from conset.execution import run as paired
    from conset.studies.campaign import run as running

    def tampered(*arguments: object, **named: object) -> object:
        return paired.run_paired(*arguments, **named, entry=(str(PROGRAMS / "tampered_paired.py"),))  # type: ignore[arg-type]

    monkeypatch.setattr(running, "run_paired", tampered)
    campaign = campaign_of(
        {
            "machines": [{"spec": "mesh:1x2"}],
            "patterns": [{"spec": "alltoall"}],
            "contenders": [{"method": "first-fit", "sync": "ready"}],
            "repeat": {"least": 3, "most": 3},
            "mpi": [],
        }
    )
    run = run_campaign(campaign)
    assert run.results == []
    (error,) = run.failures.values()
    assert isinstance(error, VerificationError)
    assert "1 wrong byte: rank 1: byte 0 from rank 0" in str(error)
    assert "(auto, repetition 2)" in str(error)
