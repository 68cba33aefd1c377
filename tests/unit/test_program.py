"""Programs: blocks, shared contexts, switches counted by executing them, the verifier by
mutation, files, commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from conset.api import simulate
from conset.base.errors import InputError
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.programs import BlockSpec, compile_program, read_program, reorder
from conset.execution.check import check_plan
from conset.execution.connection_entries import connection_entries
from conset.execution.planner import make_plan
from conset.machine.machine import Machine
from conset.machine.spec import parse_machine
from conset.models import predict
from conset.models.formula.evaluate import predict_program
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.report import summarize_connections
from conset.schedule.document import StageDocument
from conset.schedule.files.compiled import (
    document_of,
    read_compiled,
    to_program,
    to_schedule,
    write_compiled,
)
from conset.schedule.files.documents import read_document
from conset.schedule.files.sniff import Sniffed, sniff
from conset.schedule.program import Program, Stage
from conset.verification import PROGRAM_RULES, verify

IWARP = parse_machine("iwarp:4x4")
CONNECTIONS = CompileOptions("connections")


def words(
    machine: Machine, *blocks: tuple[str, int], request: CompileOptions = CONNECTIONS
) -> list[BlockSpec]:
    def pattern(text: str) -> Pattern:
        return parse_pattern(text, topology=machine.topology, ranks=machine.topology.endpoints)

    return [BlockSpec(text, pattern(text), repeat, request) for text, repeat in blocks]


def executed(program: Program) -> list[int]:
    """The context of every phase in the order in which they run, one by one."""
    order: list[int] = []
    for block in program.stages:
        contexts = program.contexts[block.schedule]
        for repetition in range(block.repeat):
            back = block.turns and repetition % 2 == 1
            order.extend(reversed(contexts) if back else contexts)
    return order


def check(program: Program) -> None:
    order = executed(program)
    assert program.phases == len(order)
    assert program.switches == sum(a != b for a, b in pairwise(order))
    assert program.switches <= program.switches_apart
    verdict = verify(document_of(program))
    assert verdict.ok, verdict.violations[:3]
    assert dict(verdict.figures) == program.figures()
    for schedule in program.schedules:
        assert verify(schedule).ok


def test_a_block_of_one_phase_stays_open() -> None:
    program = compile_program(words(IWARP, ("neighbor", 100)), IWARP, CONNECTIONS)
    assert (program.phases, program.switches, program.switches_apart) == (100, 0, 0)
    check(program)


def test_a_repeated_block_turns_round() -> None:
    """An all-to-all on 16 nodes with 12 channels has several phases P.

    7 · (P - 1) switches, not 7 · P - 1.
    """
    program = compile_program(words(IWARP, ("alltoall", 7)), IWARP, CONNECTIONS)
    phases = program.schedules[0].phases
    assert phases > 1
    assert program.stages[0].turns
    assert (program.switches, program.switches_apart) == (7 * (phases - 1), 7 * phases - 1)
    check(program)


def test_what_fits_together_is_open_together() -> None:
    """A shift takes at most 2 + 4 channels of a node beside the 8 of the neighbours.

    12, and both in one context.
    """
    program = compile_program(
        words(IWARP, ("neighbor", 3), ("shift:by=1", 2), ("neighbor", 1)), IWARP, CONNECTIONS
    )
    assert len(program.schedules) == 2, "equal blocks are compiled once"
    assert program.figures()["contexts"] == 1
    assert (program.switches, program.switches_apart) == (0, 2)
    check(program)


def test_equal_connections_are_open_once() -> None:
    """Neighbours twice with other sizes take 8 channels together, and one node sends to each
    neighbour once."""
    machine = parse_machine("mesh:4x4")
    request = CompileOptions("coloring")
    both = words(machine, ("shift:by=1,size=1KiB", 1), ("shift:by=1,size=2KiB", 1), request=request)
    program = compile_program(both, machine, request)
    assert len(program.schedules) == 2
    assert program.switches == 0, "send 1 and receive 1 hold: it is the same permutation"
    other = compile_program(
        words(machine, ("shift:by=1", 1), ("shift:by=2", 1), request=request), machine, request
    )
    assert other.switches == 1, "two permutations are not open together under send 1"
    check(program)
    check(other)


def test_phases_are_reordered_so_that_neighbours_share() -> None:
    """Two blocks of two phases each, of which the lightest fit together: 3 switches become 2."""
    machine = parse_machine("crossbar:4")
    request = CompileOptions("coloring")
    one = Pattern.from_messages([0, 0], [1, 2], [8, 8], 4)  # 0 sends twice: 2 phases of one message
    other = Pattern.from_messages([3, 3], [1, 2], [8, 8], 4)
    blocks = [BlockSpec("one", one, 1, request), BlockSpec("other", other, 1, request)]
    program = compile_program(blocks, machine, request)
    assert [schedule.phases for schedule in program.schedules] == [2, 2]
    # 0 → 1 fits 3 → 2, and 0 → 2 fits 3 → 1
    assert (program.switches, program.switches_apart) == (2, 3)
    check(program)


def test_an_order_forbids_to_turn() -> None:
    """Both messages of a chain may be open together, both sends of a rank may not."""
    machine = parse_machine("crossbar:3")
    request = CompileOptions("first-fit")
    for source, target, switches in (([0, 1], [1, 2], 0), ([0, 0], [1, 2], 7)):
        ordered = Pattern.from_messages(source, target, [8, 8], 3, before=[[0, 1]])
        program = compile_program([BlockSpec("chain", ordered, 4, request)], machine, request)
        assert not program.stages[0].turns
        assert (program.switches, program.switches_apart) == (switches, 7)
        check(program)
    wrong = replace(document_of(program), stages=(StageDocument("chain", 4, 0, True),))
    assert [v.rule for v in verify(wrong).violations] == ["program-stage"]


def test_equal_blocks_run_their_phases_in_different_orders() -> None:
    """A complete exchange of two phases: the second block begins with what the first ends with."""
    machine = parse_machine("iwarp:2x4")
    twice = words(machine, ("alltoall:size=64", 1), ("alltoall:size=64", 1))
    program = compile_program(twice, machine, CONNECTIONS)
    assert program.contexts == ((0, 1), (1, 0))
    assert (program.phases, program.switches, program.switches_apart) == (4, 2, 3)
    assert predict_program(program).time_s == pytest.approx(152.8e-6)
    check(program)
    opened = summarize_connections(connection_entries(program))
    assert (opened["phases"], make_plan(program).phases) == (4, 3)


def test_auto_compares_whole_programs() -> None:
    """The fastest method of a block alone need not share connections with the others."""
    machine, auto = parse_machine("iwarp:2x4"), CompileOptions()
    blocks = [
        ("butterfly:size=256", 3),
        ("butterfly:size=72", 1),
        ("shift:by=3,size=256", 1),
        ("random:degree=5,size=64", 2),
    ]
    chosen = compile_program(words(machine, *blocks, request=auto), machine, auto)
    together = compile_program(words(machine, *blocks), machine, CONNECTIONS)
    assert chosen.figures() == together.figures()
    every = "connections for all blocks 287.4 us by flow"
    assert chosen.reason == f"{every}, the best method of each block 323.6 us by flow"
    assert together.reason == ""
    assert simulate(chosen, model="flow").time_s == pytest.approx(287.4e-6)
    check(chosen)
    one = words(machine, blocks[0], request=CompileOptions("gen"))
    mixed = compile_program([*one, *words(machine, *blocks[1:], request=auto)], machine, auto)
    assert mixed.schedules[0].method == "gen", "a method that was named is kept"
    check(mixed)
    # 200,000 repetitions, which no model simulates, decide alike
    many = [(spec, repeat * 200_000) for spec, repeat in blocks]
    long = compile_program(words(machine, *many, request=auto), machine, auto)
    assert {schedule.method for schedule in long.schedules} == {"connections"}
    assert "for all blocks" in long.reason


def fewest_switches(uses: list[tuple[Sequence[int], int, bool]]) -> int:
    """By trying every order: (contexts of the phases, repetitions, whether the order is fixed)."""
    every = [
        [
            [c for r in range(repeat) for c in (way[::-1] if r % 2 and not fixed else way)]
            for way in ([contexts] if fixed else set(permutations(contexts)))
        ]
        for contexts, repeat, fixed in uses
    ]
    runs = ([*chain.from_iterable(ways)] for ways in product(*every))
    return min(sum(a != b for a, b in pairwise(run)) for run in runs)


def groupings(phases: list[int], together: Callable[[list[int]], bool]) -> Iterator[list[int]]:
    """Every way to put phases into contexts that may be open: the context of each."""
    for contexts in product(range(len(phases)), repeat=len(phases)):
        met = list(dict.fromkeys(contexts))
        members = ([p for p in phases if contexts[p] == c] for c in met)
        if met == [*range(len(met))] and all(map(together, members)):
            yield list(contexts)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_orders_of_phases_and_no_contexts_need_fewer_switches(seed: int) -> None:
    """Small programs on a crossbar where ranks have one send and one receive open."""
    rng, machine = np.random.default_rng(seed), parse_machine("crossbar:4")
    request, pairs = CompileOptions("first-fit"), [*permutations(range(4), 2)]
    patterns = []
    for _ in range(rng.integers(1, 4)):
        ends = np.array(sorted(rng.permutation(pairs)[: rng.integers(1, 4)].tolist()))
        order = [[0, 1]] if len(ends) > 1 and set(ends[0]) & set(ends[1]) else None
        order = order if rng.random() < 0.3 else None
        patterns.append(Pattern.from_messages(*ends.T, np.full(len(ends), 8), 4, before=order))
    blocks = [
        BlockSpec(f"{k}", patterns[rng.integers(len(patterns))], int(rng.integers(1, 4)), request)
        for k in range(rng.integers(1, 4))
    ]
    program = compile_program(blocks, machine, request)
    check(program)
    check_plan(make_plan(program))
    compiled = [compile_pattern(block.pattern, machine, request) for block in blocks]
    fixed = [schedule.pattern.before is not None for schedule in compiled]
    begins = dict.fromkeys(block.pattern for block in blocks)
    sets: list[set[tuple[int, int]]] = []
    for schedule in compiled:  # the phases of every distinct pattern
        if begins[schedule.pattern] is None:
            begins[schedule.pattern] = len(sets)
            ends = np.stack([schedule.source_node, schedule.target_node], axis=1)
            sets += [set(map(tuple, ends[schedule.phase(p)])) for p in range(schedule.phases)]
    assume(len(sets) <= 6)

    def together(phases: list[int]) -> bool:
        held = set().union(*(sets[p] for p in phases))
        return all(len({each[end] for each in held}) == len(held) for end in (0, 1))

    def switches(contexts: list[int]) -> int:
        rows = [contexts[begins[s.pattern] :][: s.phases] for s in compiled]
        return fewest_switches([*zip(rows, (b.repeat for b in blocks), fixed, strict=True)])

    least = min(map(switches, groupings([*range(len(sets))], together)))
    assert program.switches == least


@st.composite
def programs(draw: st.DrawFn) -> Program:
    machine = draw(st.sampled_from([IWARP, parse_machine("mesh:3x3"), parse_machine("crossbar:5")]))
    method = (
        "connections"
        if machine is IWARP
        else draw(st.sampled_from(["first-fit", "coloring", "negotiated"]))
    )
    limits = draw(st.sampled_from([None, "duplex=exchange"])) if method == "first-fit" else None
    request = CompileOptions(
        method, limits=limits, placement=draw(st.sampled_from(["identity", "annealed"]))
    )
    ranks = machine.topology.endpoints
    blocks = []
    for k in range(draw(st.integers(1, 5))):
        end = st.integers(0, ranks - 1)
        rows = draw(st.lists(st.tuples(end, end, st.integers(1, 9)), max_size=12))
        pattern = Pattern.from_messages(*np.array(rows, np.int64).reshape(-1, 3).T, ranks)
        blocks.append(BlockSpec(f"block {k}", pattern, draw(st.integers(1, 4)), request))
    return compile_program([*blocks, *blocks[: draw(st.integers(0, 2))]], machine, request)


@settings(max_examples=80, deadline=None)
@given(programs())
def test_any_program_verifies_and_counts_its_switches(program: Program) -> None:
    check(program)


@settings(max_examples=30, deadline=None)
@given(programs())
def test_a_program_never_takes_longer_than_its_blocks_apart(program: Program) -> None:
    apart = sum(
        block.repeat * predict(program.schedules[block.schedule], sync="barrier").time_s
        for block in program.stages
    )
    costs = program.machine.costs
    barrier = costs.synchronization.at(program.machine.topology.endpoints)
    # apart, no barrier stands between blocks
    assert (
        predict_program(program).time_s
        <= apart + barrier * sum(block.repeat for block in program.stages) + 1e-12
    )


def test_the_formula_by_hand() -> None:
    program = compile_program(words(IWARP, ("neighbor", 3), ("alltoall", 2)), IWARP, CONNECTIONS)
    prediction = predict_program(program)
    work = [predict(schedule, sync="barrier").terms["transfer"] for schedule in program.schedules]
    setup = (program.switches + 1) * IWARP.costs.setup_s
    assert prediction.terms["transfer"] == pytest.approx(3 * work[0] + 2 * work[1])
    assert prediction.terms["setup"] == pytest.approx(setup)
    assert prediction.time_s == pytest.approx(sum(prediction.terms.values()))
    assert prediction.switches == program.switches
    faster = replace(IWARP, costs=replace(IWARP.costs, setup_s=0.0))
    assert predict_program(program, machine=faster).terms["setup"] == 0


def test_reordered_phases_keep_parts_routes_channels_and_times() -> None:
    machine = parse_machine("iwarp:4x4")
    program = compile_program(words(machine, ("alltoall", 1)), machine, CONNECTIONS)
    schedule = program.schedules[0]
    back = list(range(schedule.phases))[::-1]
    turned = reorder(schedule, back)
    assert verify(turned).ok
    assert np.diff(turned.phase_offsets).tolist() == np.diff(schedule.phase_offsets).tolist()[::-1]
    again = reorder(turned, back)
    for name in ("message", "route_offsets", "route_nodes", "channels"):
        assert np.array_equal(getattr(again, name), getattr(schedule, name)), name
    assert reorder(schedule, range(schedule.phases)) is schedule


@pytest.fixture(scope="module")
def shared() -> Program:
    return compile_program(
        words(IWARP, ("neighbor", 3), ("shift:by=1", 2), ("alltoall", 2)), IWARP, CONNECTIONS
    )


def rules(document: Any) -> set[str]:
    verdict = verify(document)
    assert not verdict.ok
    return {v.rule for v in verdict.violations}


def test_the_verifier_finds_what_was_changed(shared: Program) -> None:
    document = document_of(shared)
    assert verify(document).ok
    blocks, contexts = document.stages, document.contexts
    assert rules(replace(document, stages=(replace(blocks[0], schedule=9), *blocks[1:]))) == {
        "program-stage"
    }
    assert rules(replace(document, stages=(replace(blocks[0], repeat=0), *blocks[1:]))) == {
        "program-stage"
    }
    assert rules(replace(document, stages=blocks[:2])) == {"program-stage"}, (
        "a schedule that no stage runs"
    )
    assert rules(replace(document, stages=(*blocks, blocks[0]))) == {"program-figures"}
    assert rules(replace(document, figures={**document.figures, "volume": 1.0})) == {
        "program-figures"
    }
    assert rules(replace(document, staging_limit_B=0)) == {"program-staging"}
    assert rules(replace(document, contexts=contexts[:2])) == {"program-context"}
    assert rules(replace(document, contexts=(*contexts[:2], contexts[2][1:]))) == {
        "program-context"
    }
    assert rules(replace(document, figures={**document.figures, "switches": 0})) == {
        "program-figures"
    }
    assert rules(replace(document, machine="iwarp:8x8")) == {"program-machine"}
    moved = replace(document.schedules[1], placement=np.arange(16)[::-1])
    assert "program-machine" in rules(
        replace(document, schedules=(document.schedules[0], moved, *document.schedules[2:]))
    )
    broken = replace(document.schedules[2], transfer_size=document.schedules[2].transfer_size + 1)
    assert "message-bytes" in rules(replace(document, schedules=(*document.schedules[:2], broken)))
    assert rules(replace(document, schedules=())) == {"program-stage"}
    # everything in one context: the all-to-all alone fills 12 channels in several phases
    crowd = tuple((0,) * len(phases) for phases in contexts)
    found = rules(replace(document, contexts=crowd))
    assert (
        {"program-limit", "program-channel"}
        <= found
        <= {"program-limit", "program-channel", "program-figures"}
    )
    assert found <= set(PROGRAM_RULES)


def test_a_crowded_context_is_told_with_both_numbers() -> None:
    machine = parse_machine("mesh:4x4")
    request = CompileOptions("coloring")
    program = compile_program(
        words(machine, ("shift:by=1", 1), ("shift:by=2", 1), request=request), machine, request
    )
    document = replace(document_of(program), contexts=((0,), (0,)))
    texts = [v.text for v in verify(document).violations]
    assert "context 0: send of node 0 (0, 0): 2 connections, at most 1" in texts
    exchange = CompileOptions(
        "first-fit", limits="duplex=exchange,send=none,receive=none,link=none"
    )
    pair = [
        BlockSpec(f"{a}", Pattern.from_messages([a], [b], [8], 16), 1, exchange)
        for a, b in ((0, 1), (1, 2), (1, 0))
    ]
    program = compile_program(pair, machine, exchange)
    check(program)
    assert program.contexts[0] != program.contexts[1]
    crowded = replace(document_of(program), contexts=((0,), (0,), (0,)))
    assert any("sends and receives with 2 partners" in v.text for v in verify(crowded).violations)


@pytest.mark.parametrize(
    "spec", ["iwarp:8x8", "mesh:4x4,link=40MB/s", "ring:8,link=40MB/s,port=80MB/s"]
)
@pytest.mark.parametrize("method", ["connections", "auto"])
def test_a_context_keeps_the_bandwidths_that_were_asked_for(spec: str, method: str) -> None:
    """Both shifts together put three connections on a link of 40 MB/s."""
    machine = parse_machine(spec)
    request = CompileOptions(method, min_bandwidth="20MB/s")
    shifts = words(machine, ("shift:by=1", 1), ("shift:by=2", 1), request=request)
    program = compile_program(shifts, machine, request)
    assert {schedule.method for schedule in program.schedules} == {"connections"}
    assert program.switches == 1
    check(program)
    document = document_of(program)
    assert [schedule.min_bandwidth_Bps for schedule in document.schedules] == [20e6, 20e6]
    alone = tuple(replace(schedule, channels=None) for schedule in document.schedules)
    crowded = replace(document, contexts=((0,), (0,)), schedules=alone)
    found = verify(crowded).violations
    assert {v.rule for v in found} == {"program-bandwidth", "program-figures"}
    assert found[0].text.endswith("is guaranteed 1.33333e+07 B/s, 2e+07 B/s were asked for")
    less = tuple(replace(schedule, min_bandwidth_Bps=13e6) for schedule in alone)
    assert rules(replace(crowded, schedules=less)) == {"program-figures"}
    slow = CompileOptions(method, min_bandwidth="13MB/s")
    assert (
        compile_program(
            words(machine, ("shift:by=1", 1), ("shift:by=2", 1), request=slow), machine, slow
        ).switches
        == 0
    )


def test_files_carry_the_bandwidths_that_were_asked_for(tmp_path: Path) -> None:
    rates = tmp_path / "r.csv"
    rates.write_text("source,target,rate\n0,1,30MB/s\n")
    pattern = parse_pattern("shift:by=1", topology=IWARP.topology, ranks=16)
    for asked, stated in ((str(rates), [30e6] + [0.0] * 15), ("10MB/s", 10e6)):
        schedule = compile_pattern(
            pattern, IWARP, CompileOptions("connections", min_bandwidth=asked)
        )
        for suffix in (".json", ".npz"):
            path = tmp_path / f"a{suffix}"
            write_compiled(schedule, path)
            document = read_document(path)
            assert document.min_bandwidth_Bps == stated
            assert verify(document).ok
            again = read_compiled(path).min_bandwidth_Bps
            assert again is not None
            np.testing.assert_array_equal(again, np.broadcast_to(stated, 16))
    turned = replace(
        document,
        min_bandwidth_Bps=[*range(16)],
        source=document.source[::-1],
        target=document.target[::-1],
        transfer_message=15 - document.transfer_message,
    )
    asked_of = to_schedule(turned).min_bandwidth_Bps
    assert asked_of is not None
    assert asked_of.tolist() == [*range(16)][::-1]
    for wrong in ("1", -1, None, [1.0, None], True, 1e300):
        found = json.loads(path.with_suffix(".json").read_text()) | {"min_bandwidth_Bps": wrong}
        path.with_suffix(".json").write_text(json.dumps(found))
        with pytest.raises(InputError, match="min_bandwidth_Bps"):
            read_document(path.with_suffix(".json"))


def test_several_messages_that_go_the_same_way_are_several_connections() -> None:
    """Twice 0 → 1 and once 0 → 2 leave node 0 three times."""
    machine = parse_machine("mesh:3")
    request = CompileOptions("first-fit", limits="send=2,receive=none,link=none")
    twice = Pattern(3, np.array([0, 2, 2, 2]), np.array([1, 1]), np.array([8, 8]))
    other = Pattern.from_messages([0], [2], [8], 3)
    same = Pattern.from_messages([0], [1], [9], 3)
    for second, switches in ((other, 1), (same, 0)):
        blocks = [BlockSpec("a", twice, 1, request), BlockSpec("b", second, 1, request)]
        program = compile_program(blocks, machine, request)
        assert [schedule.phases for schedule in program.schedules] == [1, 1]
        assert program.switches == switches
        check(program)
    document = compile_program(
        [BlockSpec("a", twice, 1, request), BlockSpec("b", other, 1, request)], machine, request
    )
    crowded = replace(document_of(document), contexts=((0,), (0,)))
    texts = [v.text for v in verify(crowded).violations]
    assert "context 0: send of node 0: 3 connections, at most 2" in texts


def test_several_connections_of_one_way_have_channels_of_their_own() -> None:
    machine = parse_machine("mesh:3")
    twice = Pattern(3, np.array([0, 2, 2, 2]), np.array([1, 1]), np.array([8, 8]))
    same = Pattern.from_messages([0], [1], [9], 3)
    blocks = [BlockSpec("a", twice, 1, CONNECTIONS), BlockSpec("b", same, 1, CONNECTIONS)]
    program = compile_program(blocks, machine, CONNECTIONS)
    assert program.switches == 0
    check(program)
    document = document_of(program)
    one = document.schedules[1]
    assert one.channels is not None
    moved = replace(
        document, schedules=(document.schedules[0], replace(one, channels=one.channels + 2))
    )
    texts = [(v.rule, v.text) for v in verify(moved).violations]
    words = "context 0: the connection 0 → 1 has channels [0, 0] in one phase, [2, 2] in another"
    assert texts == [("program-channel", words)]


@pytest.mark.parametrize(
    ("repeat", "wrong"), [(2**62 // 8192, False), (2**62 // 8192 + 1, True), (2**80, True)]
)
def test_what_a_program_sends_stays_within_64_bits(repeat: int, wrong: bool) -> None:
    """8 KiB a repetition: 2^62 B in all, and more; a block runs at most 2^31 - 1 times in a row."""
    machine = parse_machine("crossbar:8")
    size = 8192 * 2**20
    pattern = Pattern.from_messages([0], [1], [size], 8)
    times = repeat * 8192 // size + wrong
    block = [BlockSpec("a", pattern, min(times, 2**31), CompileOptions("first-fit"))]
    if not wrong:
        program = compile_program(block, machine, CompileOptions("first-fit"))
        document = document_of(program)
        assert verify(document).ok
        assert program.figures()["bytes"] == times * size
        more = replace(document, stages=(replace(document.stages[0], repeat=times + 1),))
        assert rules(more) == {"program-stage"}
        assert rules(replace(document, stages=(replace(document.stages[0], repeat=2**31),))) == {
            "program-stage"
        }
        with pytest.raises(InputError, match="together send"):
            to_program(more)
    else:
        with pytest.raises(InputError, match=r"together send|at most 2147483647"):
            compile_program(block * 2, machine, CompileOptions("first-fit", placement="annealed"))


def test_channel_numbers_agree_in_a_shared_context(shared: Program) -> None:
    """Neighbours and shift are open together: the verifier replayed their tables.

    Here the numbers differ.
    """
    taken: dict[tuple[int, int], bytes] = {}
    for k in (0, 1):
        schedule = shared.schedules[k]
        offsets, nodes, channels = schedule.route_offsets, schedule.route_nodes, schedule.channels
        assert offsets is not None
        assert nodes is not None
        assert channels is not None
        assert channels.max() < 12
        for low, high in pairwise(offsets):
            for node, channel in zip(
                nodes[low:high].tolist(), channels[low:high].tolist(), strict=True
            ):
                assert (
                    taken.setdefault((node, channel), nodes[low:high].tobytes())
                    == nodes[low:high].tobytes()
                )
    assert shared.contexts[0] == shared.contexts[1]


def test_files_say_the_same_again(shared: Program, tmp_path: Path) -> None:
    path = tmp_path / "program.json"
    write_compiled(document_of(shared), path)
    assert sniff(path) == Sniffed("program", "json", "conset/program@1")
    document = read_document(path)
    assert verify(document).ok
    again = to_program(document)
    assert again.figures() == shared.figures()
    second = tmp_path / "again.json"
    write_compiled(document_of(again), second)
    assert second.read_bytes() == path.read_bytes()
    assert list(json.loads(path.read_text())) == [
        "schema",
        "machine",
        "sync",
        "stages",
        "figures",
        "manifest",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[[block]]\npattern = 'alltoall'\nrepeats = 2\n",
            "block 1: unknown key 'repeats': did you mean 'repeat'?",
        ),
        ("[[block]]\nrepeat = 2\n", "block 1: key 'pattern' is missing"),
        (
            "[[block]]\npattern = 'alltoall'\nrepeat = 0\n",
            "block 1: repeat = 0: must be at least 1",
        ),
        (
            "[[block]]\npattern = 'alltoall'\nrepeat = 1.5\n",
            "block 1: repeat = 1.5: must be a whole number",
        ),
        ("[[block]]\npattern = 7\n", "block 1: pattern = 7: must be text"),
        (
            "[[block]]\npattern = 'alltoal'\n",
            "block 1: unknown pattern 'alltoal': did you mean 'alltoall'?",
        ),
        (
            "[block]\npattern = 'alltoall'\n",
            "one or more [[block]] tables and nothing else required, given block",
        ),
        ("name = 'x'\n", "one or more [[block]] tables and nothing else required, given name"),
        (
            "[[block]]\npattern = 'alltoall:ranks=4'\n[[block]]\npattern = 'alltoall:ranks=5'\n"
            "name = 'b'\n",
            "block 2 'b' has 5 ranks, block 1 'alltoall:ranks=4' has 4",
        ),
    ],
)
def test_wrong_program_files(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_program(path, IWARP, CONNECTIONS)
    assert str(caught.value) == f"{path}: {line}"


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words_file, file = tmp_path / "p.toml", tmp_path / "p.json"
    (tmp_path / "own.csv").write_text("source,target,bytes\n0,1,64\n1,0,64\n")
    words_file.write_text(
        "[[block]]\nname = 'halo'\npattern = 'neighbor:ranks=16'\nrepeat = 10\n"
        "[[block]]\npattern = 'alltoall'\nmethod = 'coloring'\nrepeat = 2\n"
    )
    arguments = [
        "compile",
        str(words_file),
        "--on",
        "mesh:4x4",
        "--method",
        "first-fit",
        "-o",
        str(file),
        "--json",
    ]
    assert run(arguments) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["schema"] == "conset/program@1"
    assert [block["method"] for block in summary["stages"]] == ["first-fit", "coloring"]
    assert summary["figures"]["phases"] == 10 * 4 + 2 * 15
    first = file.read_bytes()
    assert run(arguments) == 0
    assert file.read_bytes() == first, "the same words, other bytes"
    capsys.readouterr()
    assert run(["verify", str(file)]) == 0
    assert "70 phases executed" in capsys.readouterr().out
    assert run(["predict", str(file), "--set", "synchronization=1ms", "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert predicted["terms"]["synchronization"] == pytest.approx(
        1e-3 * summary["figures"]["switches"]
    )
    assert run(["show", str(file)]) == 0
    assert "forth and back" in capsys.readouterr().out
    file.write_text(file.read_text().replace('"switches": ', '"switches": 1'))
    assert run(["verify", str(file)]) == 4
    assert run(["verify", str(file), "--window", "2"]) == 2
    assert run(["compile", str(words_file), "--on", "mesh:4x4", "-o", str(tmp_path / "p.npz")]) == 2
    assert run(["predict", str(file), "--sync", "none"]) == 2
    assert not (tmp_path / "p.npz").exists()


def test_blocks_refuse_what_is_none() -> None:
    with pytest.raises(InputError, match=r"^stage 'x': repeat = 0: must be at least 1$"):
        Stage("x", 0, 0, False)
    with pytest.raises(InputError, match="a program needs a block"):
        compile_program([], IWARP, CONNECTIONS)
