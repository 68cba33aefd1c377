"""Transfer modes: named sets of costs, on the command line, in specs and in files.

Computation that they hide.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.simulate import read_workload
from conset.machine.machine import Machine, with_computation, with_mode
from conset.machine.spec import parse_machine, with_settings
from conset.models import predict
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.schedule.schedule import Schedule

US = 1e-6
FILE = """
mode = "copying"
[network]
kind = "mesh"
sides = [1, 4]
[costs]
link = "1 MB/s"
port = "1 MB/s"
overhead = 0
inject = 0
eject = 0
hop = 0
[modes.copying]
port = "0.5 MB/s"
[modes.background]
overhead = "20 us"
overlap = 0.5
[methods.naive]
setup = "3 us"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    path = tmp_path / "cluster.toml"
    path.write_text(FILE)
    return parse_machine(str(path))


def test_a_file_has_modes_and_one_in_use(machine: Machine) -> None:
    assert (machine.mode, tuple(machine.modes)) == ("copying", ("copying", "background"))
    assert machine.costs.port_out_Bps == 0.5e6
    other = with_mode(machine, "background")
    assert (other.mode, other.costs.port_out_Bps, other.costs.send_overhead.at(1)) == (
        "background",
        1e6,
        1e-5,
    )
    # words of a method go before those of the mode, and stay
    assert other.costs_for("naive").setup_s == 3 * US
    assert other.costs_for("naive").overlap == 0.5
    again = parse_machine(other.to_spec())
    assert (again.mode, again.costs) == (other.mode, other.costs)


def test_a_mode_of_a_preset_is_an_option_of_its_spec() -> None:
    spooling = parse_machine("iwarp:8x8,per_transfer=1us,mode=spooling")
    assert spooling.name == "iwarp:8x8,per_transfer=1us,mode=spooling"
    assert (spooling.costs.per_transfer_s, spooling.costs.overlap) == (1 * US, 1)
    assert spooling.costs.send_overhead.at(1) == pytest.approx(
        20 * US
    )  # 000 section 4.3.1: at most 400 clocks
    back = with_mode(spooling, "streaming-plain")
    # the option still holds; normal instructions fill one link, in or out
    assert (back.costs.per_transfer_s, back.costs.overlap, back.costs.node_Bps) == (1 * US, 0, 40e6)
    assert parse_machine("iwarp:8x8").mode == "streaming"


def test_set_knows_the_mode_before_all_other_words() -> None:
    machine = with_settings(parse_machine("iwarp:8x8"), "per_transfer=2us,mode=spooling")
    assert (machine.costs.per_transfer_s, machine.costs.overlap, machine.name) == (
        2 * US,
        1,
        "iwarp:8x8",
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("iwarp:8x8,mode=spool", "unknown mode 'spool': did you mean 'spooling'?"),
        ("torus:8x8,mode=spooling", "mode=spooling: torus has no transfer modes"),
        ("delta:4x4,mode=spooling", "mode=spooling: delta has no transfer modes"),
    ],
)
def test_unknown_modes(spec: str, text: str) -> None:
    with pytest.raises(UsageError, match=text.replace("?", r"\?")):
        parse_machine(spec)


def test_an_unknown_mode_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(FILE.replace('mode = "copying"', 'mode = "quick"'))
    with pytest.raises(InputError) as caught:
        parse_machine(str(path))
    assert (
        str(caught.value)
        == "cluster.toml:2: mode: unknown mode 'quick': known: copying, background"
    )


def test_what_a_mode_hides() -> None:
    costs = replace(parse_machine("mesh:1x4").costs, computation_s=100 * US, overlap=0.5)
    # done at 300 after 120 of flow: 60 of the computation are hidden
    assert with_computation(costs, 300 * US, 120 * US) == pytest.approx(
        {"computation_s": 100 * US, "hidden_s": 60 * US, "with_computation_s": 340 * US}
    )
    # never more than there is to compute
    assert with_computation(costs, 300 * US, 290 * US)["with_computation_s"] == pytest.approx(
        300 * US
    )
    assert with_computation(replace(costs, computation_s=0.0), 300 * US, 120 * US) == {}


def neighbours(machine: Machine) -> Schedule:
    return conset.compile("shift,size=100", machine, method="first-fit")


@pytest.mark.parametrize(
    ("mode", "both_us"), [("copying", 200 + 80), ("background", 120 + 80 - 50)]
)
def test_predicted_and_simulated_alike(machine: Machine, mode: str, both_us: float) -> None:
    # a shift by one on a row: 100 B of every node, 3 → 0 over the other links: copying 2 us a byte,
    # nothing hidden; background 20 us and 1 us a byte, half of the 100 us of flow hides 50 us of 80
    changed = with_settings(machine, f"mode={mode},computation=80us")
    schedule = neighbours(changed)
    assert schedule.phases == 1
    predicted = predict(schedule, machine=changed)
    assert predicted.computation["with_computation_s"] == pytest.approx(both_us * US)
    assert predicted.to_object()["with_computation_s"] == pytest.approx(both_us * US)
    for model in ("flow", "wormhole"):
        timeline = find_model(model).simulate(Workload.of_schedule(schedule), changed, Settings())
        assert timeline.figures["with_computation_s"] == pytest.approx(both_us * US)
    assert predict(schedule, machine=machine).computation == {}


def test_the_command_line_takes_a_mode(tmp_path: Path) -> None:
    trace = tmp_path / "one.csv"
    trace.write_text("id,time,src,dst,bytes,deps\n0,0,0,1,8,\n")
    machine = read_workload(trace, "iwarp:8x8", None, "mode=spooling")[1]
    assert machine.costs.overlap == 1


def test_more_receives_than_a_machine_can_post_are_infeasible_in_every_model() -> None:
    # 003 sections 6 and 7: naive on 16x16 posts 255 at a node and fails; there is room for 192
    schedule = conset.compile("alltoall,size=16384", "paragon:16x16", method="naive")
    text = "would have 255 receives posted under sync none, paragon:16x16 allows 192"
    workload = Workload.of_schedule(schedule)
    for model in ("flow", "wormhole", "circuit", "flit"):
        for receives in (None, 3):
            with pytest.raises(InputError, match=text):
                find_model(model).simulate(workload, schedule.machine, Settings(receives=receives))
    assert any(text in warning for warning in predict(schedule).warnings)


def test_above_the_eager_threshold_formula_and_flow_add_request_and_grant(machine: Machine) -> None:
    # alone, 1 us a byte: 100 us; with two signals of 8 us before it 116 us
    for words, time_us in (("eager=100 B", 100), ("eager=99 B", 116), ("eager=none", 100)):
        changed = with_settings(machine, f"mode=background,overhead=0,signal=8us,{words}")
        schedule = conset.compile("shift,size=100", changed, method="first-fit", sync="none")
        assert predict(schedule, machine=changed).time_s == pytest.approx(time_us * US)
        timeline = find_model("flow").simulate(Workload.of_schedule(schedule), changed, Settings())
        assert timeline.time_s == pytest.approx(time_us * US)
        ready = find_model("flow").simulate(
            Workload.of_schedule(schedule), changed, Settings(sync="ready")
        )
        assert ready.time_s == pytest.approx(108 * US)
