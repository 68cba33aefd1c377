"""The contention curve against the Paragon text's predictions at 15,232 B (003, section 7,
Figures 12 to 15).

Source: Table 1 of the text (274 log2 n - 134 us a barrier, 231 + 0.022 m us a message for m >= 8640
B, n³/4c groups) evaluated by a separate script, in whole microseconds; the OCR holds no axis
values. Columns: side n, link contention c, groups, lower, upper [us]. The text's lower bound counts
n² steps, a node's message to itself included.
"""

from __future__ import annotations

import pytest

from conset.compilation.options import CompileOptions
from conset.machine.spec import parse_machine, with_settings
from conset.machine.times import synchronization_s
from conset.pattern.spec import parse_pattern
from conset.studies import serial_steps, trace_curves

SIZE = 15232
ROWS = [
    (4, 1, 16, 15682, 15682),
    (4, 2, 8, 12370, 12370),
    (4, 4, 4, 10714, 10714),
    (4, 8, 2, 9886, 9886),
    (4, 16, 1, 9472, 9472),
    (8, 1, 128, 160525, 160525),
    (8, 2, 64, 80263, 116493),
    (8, 4, 32, 58247, 94477),
    (8, 8, 16, 47239, 83469),
    (8, 16, 8, 41735, 77965),
    (8, 32, 4, 38983, 75213),
    (8, 64, 2, 37607, 73837),
    (8, 128, 1, 36919, 73149),
    (12, 1, 432, 611014, 611014),
    (12, 2, 216, 305507, 427785),
    (12, 3, 144, 203671, 366709),
    (12, 6, 72, 142595, 305633),
    (12, 12, 36, 112057, 275095),
    (12, 24, 18, 96788, 259826),
    (12, 48, 9, 89153, 252191),
    (12, 144, 3, 84064, 247102),
    (12, 432, 1, 82367, 245405),
    (16, 1, 1024, 1564778, 1564778),
    (16, 2, 512, 782389, 1072234),
    (16, 4, 256, 391195, 825962),
    (16, 8, 128, 268059, 702826),
    (16, 16, 64, 206491, 641258),
    (16, 32, 32, 175707, 610474),
    (16, 64, 16, 160315, 595082),
    (16, 128, 8, 152619, 587386),
    (16, 256, 4, 148771, 583538),
    (16, 512, 2, 146847, 581614),
    (16, 1024, 1, 145885, 580652),
]


@pytest.mark.parametrize(("side", "contention", "groups", "lower_us", "upper_us"), ROWS)
def test_serial_steps_are_the_bounds_of_table_1(
    side: int, contention: int, groups: int, lower_us: int, upper_us: int
) -> None:
    machine = parse_machine(f"paragon:{side}x{side}")
    costs = machine.costs
    message_s = costs.overhead.at(SIZE) + SIZE / costs.port_out_Bps
    assert message_s == pytest.approx(566.104e-6)
    steps = side**3 // 4
    assert groups == -(-steps // contention)
    found = serial_steps(steps, groups, side * side, synchronization_s(machine, costs), message_s)
    assert [round(bound * 1e6) for bound in found] == [lower_us, upper_us]


@pytest.mark.parametrize("side", [4, 8, 12, 16])
def test_the_curve_runs_through_the_texts_pairs_up_to_one_group(side: int) -> None:
    machine = parse_machine(f"paragon:{side}x{side}")
    curve = trace_curves(
        parse_pattern(f"alltoall:size={SIZE}", topology=machine.topology),
        machine,
        CompileOptions(),
        by="formula",
    )[0]
    table = {(n, groups): (lower, upper) for n, _, groups, lower, upper in ROWS}
    met = 0
    for point in curve.serial:
        # the step in which a node would send to itself may fall into the group
        assert min(point.every, side * side) - 1 <= point.node <= point.every
    for point in curve.points:
        if (side, point.groups) not in table:
            continue
        met += 1
        lower, upper = table[side, point.groups]
        own = max(side * side, point.groups) - max(side * side - 1, point.groups)
        assert point.serial_least_s * 1e6 == pytest.approx(lower - own * 566.104, abs=1)
        assert point.serial_most_s * 1e6 == pytest.approx(upper, abs=1)
    assert met >= 5
    assert (curve.points[0].contention, curve.points[0].phases) == (1, side**3 // 4)
    assert (curve.points[-1].groups, curve.points[-1].link) == (1, side**3 // 4)


def test_contention_3_on_12_x_12_which_the_text_could_not_have() -> None:
    """144 steps of 848 us + 566 us: 203.7 ms at (1, 3); 216 at c = 2: 305.5 ms.

    Several phases a barrier are better.
    """
    machine = with_settings(parse_machine("paragon:12x12"), "hop=0,in_flight=1")
    curve = trace_curves(
        parse_pattern(f"alltoall:size={SIZE}", topology=machine.topology),
        machine,
        CompileOptions(),
        by="formula",
    )[0]
    at = {(point.node, point.link): point for point in curve.points}
    assert at[1, 2].predicted_s * 1e3 == pytest.approx(305.5, abs=0.05)
    assert at[1, 3].predicted_s * 1e3 == pytest.approx(203.7, abs=0.05)
    assert curve.best.every > 1
