"""Connections as a model.

Times worked out with a pencil, switches, wrong tables, contexts, what waits for what.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.costs import Costs, Synchronization
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.spec import parse_machine
from conset.models.chains import follow_tables
from conset.models.connections import simulate_connections
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.pattern.spec import parse_pattern
from conset.schedule.linkage import GATE, LinkageTable, link_channels, number_channels
from conset.schedule.program import chained
from conset.verification.timeline.check import check_timeline

US, MB = 1e-6, 1e6
ROW = Costs(port_out_Bps=40 * MB, port_in_Bps=40 * MB, link_Bps=40 * MB, hop_s=0.2 * US, flit_B=4)
"""An element takes 0.1 us at each gate and link, and 0.2 us behind a link."""


def row_of(nodes: int = 4, **costs: Any) -> Machine:
    topology = Topology.mesh(nodes)
    return Machine("row", topology, Routing.default(topology), replace(ROW, **costs))


def work_of(messages: list[tuple[int, int, int]], nodes: int = 4, **more: Any) -> Workload:
    """Messages (from, to, words) in one phase unless told otherwise."""
    columns = np.array(messages, np.int64).reshape(-1, 3).T
    more = {"phase_offsets": np.array([0, len(messages)]), **more}
    return Workload(
        columns[0].astype(np.int32), columns[1].astype(np.int32), 4 * columns[2], nodes, **more
    )


def ends(work: Workload, machine: Machine, **settings: Any) -> list[float]:
    """Deliveries [us]."""
    found = simulate_connections(work, machine, Settings("barrier", **settings))
    assert check_timeline(found, work, machine, Settings("barrier", **settings)) == ()
    return [round(end / US, 9) for end in found.end_s.tolist()]


def test_one_connection_alone() -> None:
    # out 0.1, two links of 0.1 + 0.2, in 0.1: the first word is out at 0.8 us, the others follow at
    # 0.1 us
    assert ends(work_of([(0, 2, 1)]), row_of()) == [0.8]
    assert ends(work_of([(0, 2, 5)]), row_of()) == [1.2]
    # a word and a half are two; wide links are faster; a slow port is the pace
    odd = replace(work_of([(0, 1, 1)]), bytes=np.array([6]))
    assert ends(odd, row_of()) == [0.6]
    assert ends(work_of([(0, 2, 5)]), row_of(link_Bps=80 * MB)) == [1.1]
    assert ends(work_of([(0, 2, 5)]), row_of(port_in_Bps=10 * MB)) == [0.7 + 5 * 0.4]


def test_two_connections_share_a_link_in_turn() -> None:
    # A 0 → 2 and B 1 → 2 over link 1 → 2, 3 words each. B's are in node 1 at 0.1, 0.2, 0.3 us, A's
    # at 0.4, 0.5, 0.6: the link takes them then; each is out 0.4 us later
    assert ends(work_of([(0, 2, 3), (1, 2, 3)]), row_of()) == [1.0, 0.7]
    # 6 words each: B at 0.1, 0.2, 0.3, then in turn: A at 0.4, 0.6, 0.8, B at 0.5, 0.7, 0.9, and A
    # at 1.0, 1.1, 1.2
    assert ends(work_of([(0, 2, 6), (1, 2, 6)]), row_of()) == [1.6, 1.3]


def test_room_holds_a_sender_back() -> None:
    # one place per channel: a word leaves the gate when the one before has crossed the link: 0.1 +
    # 0.1 us a word; it crosses when the one before is out of the next channel: 0.1 + 0.2 + 0.1 us a
    # word
    assert ends(work_of([(0, 1, 1)]), row_of(), queue=1) == [0.5]
    assert ends(work_of([(0, 1, 4)]), row_of(), queue=1) == [1.7]
    assert ends(work_of([(0, 1, 4)]), row_of(), queue=4) == [0.8]


def test_a_full_connection_waits_for_its_own_words() -> None:
    # u = 1 at every server, the port into node 1 takes 0.4 us: alone a word needs 0.1 + 0.1 + 0.2 +
    # 0.4 = 0.8 us, from a full gate more; at the guaranteed pace no more
    work, machine = work_of([(0, 1, 100)]), row_of(port_in_Bps=10 * MB)

    def latency(pace_s: float) -> float:
        found = simulate_connections(
            work, machine, Settings("barrier", queue=2), pace_s=np.array([pace_s])
        )
        worst: float = found.figures["connections"]["latency_s"][0]
        return round(worst / US, 6)

    assert latency(0.4 * US) == 0.8
    # two words in each of two channels: at most four are ahead of the one at the gate
    assert 0.8 < latency(0.0) <= 0.8 + 4 * 0.4


def test_one_at_a_time_goes_by_the_list() -> None:
    # (0 → 2, 100), (1 → 3, 100), (0 → 1, 100): docs of execution models; link 1 → 2 is shared
    work = work_of([(0, 2, 100), (1, 3, 100), (0, 1, 100)])
    apart = ends(work, row_of(hop_s=0.0), in_flight=1, receives=1)
    assert apart[2] > apart[0]
    other = ends(
        replace(work, order=np.array([2, 0, 1], np.int32)),
        row_of(hop_s=0.0),
        in_flight=1,
        receives=1,
    )
    assert other[2] == 10.2
    assert max(other) < max(apart)


def test_a_transfer_pays_at_both_ends() -> None:
    # torus neighbours at 32 words, one at a time: set-up 528, then 4 transfers of 104 + 2 · 32
    # clocks at each end, and link, hop and gate of the last word: 2 + 4 + 2
    schedule = conset.compile("neighbor:size=128", "iwarp:8x8", method="connections")
    time_s = conset.simulate(
        schedule, model="connections", sync="barrier", in_flight=1, receives=1
    ).time_s
    assert time_s / 50e-9 == pytest.approx(528 + 4 * (104 + 64) + 8)


def test_switches_are_told_in_parts() -> None:
    costs = {"setup_s": 3 * US, "synchronization": Synchronization(2 * US), "first_barrier": True}
    work = work_of([(0, 2, 5), (1, 0, 5)], phase_offsets=np.array([0, 1, 2]))
    found = simulate_connections(work, row_of(**costs), Settings("barrier"))
    # opening 5, phase 1.2, switch 5, phase 0.1 + 0.3 + 0.1 + 0.4
    assert (found.end_s / US).round(9).tolist() == [6.2, 12.1]
    switch = found.figures["switch"]
    assert found.figures["opening_s"] == pytest.approx(5 * US)
    assert switch["count"] == 1
    assert switch["synchronization_s"] == pytest.approx(2 * US)
    assert switch["setup_s"] == pytest.approx(3 * US)
    assert switch["drain_s"] == pytest.approx(
        0.7 * US
    )  # the last word has left its gate at 0.5 of 1.2 us


def test_the_same_phase_is_simulated_once() -> None:
    work = work_of([(0, 2, 5), (1, 0, 5)] * 3, phase_offsets=np.arange(7))
    found = simulate_connections(work, row_of(setup_s=US), Settings("barrier"))
    assert found.figures["simulated_phases"] == 2
    assert np.diff(found.end_s[::2]) / US == pytest.approx([1.2 + 0.9 + 2, 1.2 + 0.9 + 2])


def test_policies_without_a_switch_of_all_are_refused() -> None:
    work = work_of([(0, 2, 5), (1, 0, 5)], phase_offsets=np.array([0, 1, 2]))
    with pytest.raises(
        UsageError, match="all nodes switch together: sync must be barrier, is none"
    ):
        simulate_connections(work, row_of(), Settings("none"))


def test_messages_inside_a_node_and_empty_ones_use_no_connection() -> None:
    assert ends(work_of([(0, 0, 4), (0, 1, 0), (0, 1, 1)]), row_of(copy_Bps=16 * MB)) == [
        1.0,
        0.0,
        0.5,
    ]


def test_predecessors_in_a_phase_are_delivered_first() -> None:
    work = work_of(
        [(0, 1, 1), (1, 2, 1)], dep_offsets=np.array([0, 0, 1]), deps=np.array([0], np.int32)
    )
    assert ends(work, row_of()) == [0.5, 1.0]


def test_what_waits_in_a_circle_is_named() -> None:
    # 0's list: 0 → 1 after 1 → 0 is delivered, which stands behind a send of 1 that waits for 0 → 1
    work = work_of(
        [(0, 1, 1), (1, 2, 1), (1, 0, 1)],
        dep_offsets=np.array([0, 1, 2, 2]),
        deps=np.array([2, 0], np.int32),
    )
    with pytest.raises(
        NoScheduleError, match=r"deadlock: message 0 \(0 → 1\) waits for the delivery of message 2"
    ):
        simulate_connections(work, row_of(), Settings("barrier"))


def test_transfers_over_the_same_channels_are_one_connection() -> None:
    work = work_of(
        [(0, 1, 2), (0, 1, 2)], link_offsets=np.array([0, 1, 2]), links=np.array([1, 1], np.int32)
    )
    link = int(
        np.flatnonzero((row_of().topology.ends[0] == 0) & (row_of().topology.ends[1] == 1))[0]
    )
    work = replace(work, links=np.array([link, link], np.int32))
    together = replace(work, channels=np.zeros(4, np.int32))
    assert ends(together, row_of()) == [0.6, 0.8]  # one after the other
    apart = replace(work, channels=np.array([0, 0, 1, 1], np.int32))
    assert ends(apart, row_of()) == [0.7, 0.8]  # in turn


def tables() -> tuple[LinkageTable, np.ndarray, np.ndarray]:
    """0 → 1 → 2 and 1 → 2 → 3 on a row."""
    offsets, nodes = np.array([0, 3, 6]), np.array([0, 1, 2, 1, 2, 3], np.int32)
    entered = np.array([-1, 0, 2, -1, 2, 4], np.int32)
    numbers = number_channels(np.array([0, 2]), offsets, nodes)
    table = link_channels(np.zeros(2, np.int32), offsets, nodes, entered, numbers)
    return table, np.array([0, 1], np.int32), np.array([2, 3], np.int32)


def test_chains_are_what_the_tables_say() -> None:
    table, source, target = tables()
    chains = follow_tables(table, source, target, Topology.mesh(4))
    assert chains.connection.tolist() == [0, 1]
    assert chains.node.tolist() == [0, 1, 2, 1, 2, 3]
    assert chains.channel.tolist() == [0, 0, 0, 1, 1, 0]


def changed(table: LinkageTable, row: int, **columns: int) -> LinkageTable:
    new = {name: getattr(table, name).copy() for name in columns}
    for name, value in columns.items():
        new[name][row] = value
    return replace(table, **new)


@pytest.mark.parametrize(
    ("row", "columns", "what"),
    [
        # rows: node 0; node 1, channels 0 and 1; node 2, channels 0 and 1; node 3
        (3, {"channel": 1}, "channel 1 of node 2 is linked twice, by transfers 0 and 1"),
        (1, {"next_channel": 5}, "nothing is linked to channel 5 of node 2"),
        (1, {"next_channel": 1}, "channel 0 of node 2 is fed by 0 channels and gates"),
        (
            4,
            {"next_node": GATE, "next_channel": GATE},
            "channel 0 of node 3 is fed by 0 channels and gates",
        ),
        (3, {"from_node": 3}, "channel 0 of node 2 is fed by another node than it says"),
        (0, {"from_node": 1}, "channel 0 of node 0 is fed by 0 channels and gates"),
    ],
)
def test_wrong_tables_are_refused(row: int, columns: dict[str, int], what: str) -> None:
    table, source, target = tables()
    with pytest.raises(InputError, match=f"linkage tables of phase 0: {what}"):
        follow_tables(changed(table, row, **columns), source, target, Topology.mesh(4))


def test_bytes_that_come_out_at_the_wrong_gate_are_an_error() -> None:
    table, source, target = tables()
    # the rows of node 1 are exchanged: each carries the other's words on
    crossed = changed(changed(table, 1, next_channel=1), 2, next_channel=0)
    with pytest.raises(
        InputError,
        match=r"the bytes of transfer 0 \(node 0 → node 2\) come out of the gate of node 3",
    ):
        follow_tables(crossed, source, target, Topology.mesh(4))
    with pytest.raises(
        InputError, match="transfer 0 goes in at the gate of node 0, must be that of node 1"
    ):
        follow_tables(table, np.array([1, 1], np.int32), target, Topology.mesh(4))


def test_a_file_whose_channels_collide_is_refused(tmp_path: Path) -> None:
    schedule = conset.compile("random:degree=3,size=64", "iwarp:4x4", method="connections")
    assert schedule.channels is not None
    wrong = replace(schedule, channels=np.where(schedule.channels < 0, -1, 0).astype(np.int32))
    with pytest.raises(InputError, match=r"is linked twice|is fed by 2 channels"):
        conset.simulate(wrong, model="connections", sync="barrier")


def test_a_program_is_its_contexts_one_after_the_other() -> None:
    machine = parse_machine("iwarp:4x4")
    options = CompileOptions("connections")
    blocks = [
        BlockSpec(
            "shift", parse_pattern("shift:by=1,size=64", topology=machine.topology), 3, options
        ),
        BlockSpec(
            "exchange", parse_pattern("alltoall:size=64", topology=machine.topology), 4, options
        ),
    ]
    program = compile_program(blocks, machine, options)
    whole = chained(program)
    assert whole.channels is not None
    found = conset.simulate(program, model="connections")
    assert found.figures["switch"]["count"] == program.switches == whole.phases - 1
    assert found.figures["simulated_phases"] < whole.phases
    # what was not simulated again took what it took the first time
    work, at = Workload.of_schedule(whole), whole.phase_offsets
    alone = []
    for p in range(whole.phases):
        kept = slice(int(at[p]), int(at[p + 1]))
        stops = slice(
            int(work.link_offsets[at[p]] + at[p]), int(work.link_offsets[at[p + 1]] + at[p + 1])
        )
        hops = work.link_offsets[at[p] : at[p + 1] + 1]
        one = Workload(
            work.source[kept],
            work.target[kept],
            work.bytes[kept],
            work.nodes,
            phase_offsets=np.array([0, at[p + 1] - at[p]]),
            link_offsets=hops - hops[0],
            links=work.links[hops[0] : hops[-1]],
            channels=work.channels[stops],
            method=work.method,
        )
        settings = Settings("barrier", found.in_flight, found.in_flight)
        alone.append(simulate_connections(one, machine, settings).time_s)
    assert found.time_s == pytest.approx(sum(alone), rel=1e-9)


@pytest.mark.parametrize("rates", ["port=30MB/s", "node=30MB/s", "link=70MB/s,port=0.9GB/s"])
def test_times_of_elements_that_no_tick_divides(rates: str) -> None:
    machine = parse_machine(f"iwarp:2x2,{rates},per_transfer=0,hop=0")
    schedule = conset.compile("shift:by=1,size=40KB", machine, method="connections")
    assert isinstance(schedule, conset.Schedule)
    work, settings = Workload.of_schedule(schedule), Settings("barrier")
    assert (
        check_timeline(simulate_connections(work, machine, settings), work, machine, settings) == ()
    )


def test_the_command_says_parts_and_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = conset.compile("alltoall:size=64", "iwarp:4x4", method="connections")
    path, out = tmp_path / "s.json", tmp_path / "t.json"
    conset.write(schedule, path)
    words = [
        "simulate",
        str(path),
        "--model",
        "connections",
        "--queue",
        "4",
        "--json",
        "--check",
        "-o",
        str(out),
    ]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["queue"]) == ("connections", 4)
    assert found["check"]["ok"]
    assert set(found["switch"]) == {"count", "drain_s", "synchronization_s", "setup_s"}
    assert found["switch"]["count"] == schedule.phases - 1
    assert len(found["connections"]["rate_Bps"]) == schedule.transfers
    assert run(["verify", str(out)]) == 0
