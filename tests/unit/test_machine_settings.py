"""Settings: `--set` changes costs, says so, and names a wrong word."""

from __future__ import annotations

import pytest

from conset.base.errors import UsageError
from conset.machine.spec import parse_machine, with_settings


def test_settings_of_costs_and_of_a_machine() -> None:
    machine = parse_machine("paragon:8x8")
    changed = with_settings(machine, "synchronization=0,overhead=2us")
    assert changed.costs.synchronization.at(64) == 0
    assert changed.costs.overhead.at(10**6) == 2e-6
    assert changed.name == machine.name
    assert changed.costs.provenance["overhead"].tag == "given"
    assert changed.costs.provenance["link"] == machine.costs.provenance["link"]
    assert with_settings(machine.costs, "synchronization=0,overhead=2us") == changed.costs
    assert machine.costs.overhead.at(10**6) == pytest.approx(231e-6)


def test_settings_reach_the_costs_of_single_methods() -> None:
    changed = with_settings(parse_machine("iwarp"), "overhead=8us")
    assert changed.costs_for("naive").overhead.at(1) == 8e-6


def test_later_words_win() -> None:
    assert (
        with_settings(parse_machine("ring:4").costs, "port=1GB/s,port_in=2GB/s").port_in_Bps == 2e9
    )
    assert (
        with_settings(parse_machine("ring:4").costs, "port_in=2GB/s,port=1GB/s").port_in_Bps == 1e9
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("synchronisation=0", "unknown cost 'synchronisation': did you mean 'synchronization'?"),
        ("overhead", "option 'overhead': expected WORD=VALUE"),
        ("overhead=2 uss", "overhead '2 uss': unknown unit 'uss': did you mean 'us'?"),
        ("overhead=2", "overhead '2': a unit is required, as 2us"),
        ("link=16", "link '16': a unit is required, as 16GB/s"),
        ("link=16Gbps", "link '16Gbps': unknown unit 'Gbps': did you mean 'Gb/s'?"),
        ("eager=4kb", "eager '4kb': unknown unit 'kb': did you mean 'kB'?"),
        ("synchronization=1e10s", "synchronization '1e10s': must be at most 1e+06 s, is 1e+10 s"),
        ("link=1e-300B/s", "link '1e-300B/s': must be at least 0.001 B/s, is 1e-300 B/s"),
        ("link=1e300GB/s", "link '1e300GB/s': must be finite, is inf B/s"),
        ("link=1e12GB/s", "link '1e12GB/s': must be at most 1e+18 B/s, or none, is 1e+21 B/s"),
        ("preempts=true", "preempts=true: needs processors=one, is two"),
        ("preempts=maybe", "preempts 'maybe': must be true or false"),
        ("port=0", "port '0': must be above 0 B/s, is 0 B/s"),
    ],
)
def test_wrong_settings(text: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_settings(parse_machine("mesh:4x4"), text)
    assert str(caught.value) == line


def test_empty_settings_change_nothing() -> None:
    machine = parse_machine("mesh:4x4")
    assert with_settings(machine, "").costs == machine.costs
