"""Programs over real MPI: every byte of every stage arrives, beside the messages sent directly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.execution.job import find_launcher, start_job
from conset.execution.planner import make_plan, plan_baseline
from conset.execution.run import VARIANTS, run_compiled, run_plan
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import document_of, write_compiled
from conset.schedule.program import Program
from support.hand_made_programs import box, forwarding, random_paths, random_pattern

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


def wandering(ranks: int, *, split: bool = False, seed: int = 6) -> Program:
    """Messages of up to 20 kB, above and below eager limits, by any ranks in three stages of
    several phases."""
    rng = np.random.default_rng(seed)
    pattern = random_pattern(ranks, rng, largest=20_000)
    return forwarding(random_paths(pattern, 3, rng, cut=split), rng, split=split)


def blocks() -> Program:
    """A complete exchange three times and a shift twice, on four ranks."""
    machine, options = parse_machine("mesh:2x2"), CompileOptions(method="first-fit")
    specs = []
    for text, count in (("alltoall:size=3000", 3), ("shift:size=9000", 2)):
        specs.append(
            BlockSpec(
                text,
                parse_pattern(text, topology=machine.topology, ranks=4, seed=0),
                count,
                options,
            )
        )
    return compile_program(specs, machine, options)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "barrier:2", "detect"])
def test_every_forwarded_byte_arrives(sync: str, split: bool) -> None:
    program = wandering(4, split=split)
    assert program.paths is not None
    result = run_compiled(program, sync=sync, repeat=3, timeout=60)
    assert (result.wrong, result.mismatches) == ((), 0)
    assert result.bytes_checked == 4 * 4 * program.paths.pattern.bytes
    assert (result.ranks, result.sync, result.stages, result.phases) == (4, sync, 3, program.phases)
    plan = make_plan(program)
    assert plan.work_bytes is not None
    assert 0 < result.work_bytes == plan.work_bytes.max()
    assert sorted(result.times_s) == sorted(VARIANTS)
    assert result.to_object()["stages"] == 3
    assert "directly" in " ".join(result.notes)


def test_sixteen_ranks_forward() -> None:
    source, target = np.divmod(np.arange(256), 16)
    pattern = Pattern.from_messages(source, target, np.full(256, 8), 16)
    for program in (forwarding(box(pattern, (4, 4))), wandering(16)):
        result = run_compiled(program, repeat=2, timeout=120)
        assert (result.ranks, result.mismatches, result.sync) == (16, 0, "none")


@pytest.mark.openmpi
def test_few_sends_in_flight() -> None:
    assert run_compiled(wandering(4), in_flight=1, repeat=2, timeout=60).mismatches == 0


@pytest.mark.parametrize("sync", ["none", "local", "barrier"])
def test_every_byte_of_every_repetition_arrives(sync: str) -> None:
    program = blocks()
    result = run_compiled(program, sync=sync, repeat=2, timeout=60)
    assert (result.wrong, result.mismatches) == ((), 0)
    assert result.bytes_checked == 5 * 3 * (3 * 12 * 3000 + 2 * 4 * 9000)
    assert (result.stages, result.work_bytes) == (5, 0)
    executed = [block.repeat * program.schedules[block.schedule].phases for block in program.stages]
    assert result.phases == sum(executed)


def test_blocks_run_through_connections_and_count_their_switches() -> None:
    program = blocks()
    result = run_compiled(program, repeat=3, timeout=60)
    assert result.mismatches == 0
    assert list(result.variants) == [
        "schedule",
        "connections",
        "naive",
        "alltoallv",
        "neighbor_alltoallv",
    ]
    assert result.switch is not None
    assert result.switch.count == program.switches > 0
    parts = (result.switch.drain_s, result.switch.synchronization_s, result.switch.setup_s)
    assert min(parts) > 0
    assert sum(parts) < 3 * result.median_of("connections")  # each part is of the slowest rank
    found = result.to_object()
    assert found["switch"] == {
        "count": program.switches,
        "drain_s": parts[0],
        "synchronization_s": parts[1],
        "setup_s": parts[2],
    }
    assert found["connections_min_s"] <= found["connections_median_s"]
    assert set(found["ratio_to_naive"]) == set(result.variants) - {"naive"}


def test_a_context_that_blocks_share_stays_open() -> None:
    machine, options = parse_machine("crossbar:4"), CompileOptions(method="first-fit")
    specs = []
    for target, repeat in (
        (1, 3),
        (3, 2),
        (2, 2),
    ):  # 0 to 1 and 2 to 3 may be open together, 0 to 2 may not
        source = 2 if target == 3 else 0
        pattern = Pattern.from_messages(
            np.array([source]), np.array([target]), np.array([20_000]), 4
        )
        specs.append(BlockSpec(f"to {target}", pattern, repeat, options))
    program = compile_program(specs, machine, options)
    assert program.figures()["contexts"] == 2
    result = run_compiled(program, repeat=2, timeout=60)
    assert (result.mismatches, result.bytes_checked) == (0, 5 * 3 * 7 * 20_000)
    assert result.switch is not None
    assert result.switch.count == 1


def test_a_byte_changed_in_a_connection_is_named(programs: Path) -> None:
    program = blocks()
    plan, direct = make_plan(program), plan_baseline(program)
    entry = (str(programs / "wrong_byte.py"), "connections")
    result = run_plan(plan, direct=direct, opened=program, repeat=2, timeout=60, entry=entry)
    assert result.mismatches == 1
    assert "(connections, repetition 1)" in result.wrong[0]


def test_a_byte_changed_on_the_way_is_named(programs: Path) -> None:
    program = wandering(4)
    plan, direct = make_plan(program), plan_baseline(program)
    result = run_plan(
        plan, direct=direct, repeat=3, timeout=60, entry=(str(programs / "wrong_byte.py"),)
    )
    assert result.mismatches == 2
    _, receives = direct.pair_ranges(2)
    assert result.wrong[0].startswith(f"rank 2: byte 5 from rank {receives.peer[0]} is 0x")


@pytest.mark.parametrize("make", [wandering, lambda ranks: blocks()], ids=["forwarding", "blocks"])
def test_the_command_takes_program_files(
    make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # type: ignore[no-untyped-def]
    program = make(4)
    write_compiled(document_of(program), tmp_path / "p.json")
    assert run(["run", str(tmp_path / "p.json"), "--sync", "local", "--repeat", "2", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["schema"], found["ranks"], found["mismatches"], found["sync"]) == (
        "conset/run@1",
        4,
        0,
        "local",
    )
    assert ("switch" in found) == ("  switches       " in captured.err) == (program.paths is None)
    assert found["stages"] == sum(stage.repeat for stage in program.stages)
    assert found["manifest"]["command"] == "conset run p.json --sync local --repeat 2"
    assert "program " in captured.err


def test_a_program_that_does_not_verify_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.json"
    write_compiled(document_of(wandering(4)), file)
    edited = json.loads(file.read_text())
    edited["figures"]["bytes"] += 1
    file.write_text(json.dumps(edited))
    # a launcher that would fail in another way if it were reached
    assert run(["run", str(file), "--mpiexec", "false"]) == 4
    assert "does not verify" in capsys.readouterr().err


def test_the_python_interface_takes_programs(tmp_path: Path) -> None:
    program = wandering(4)
    write_compiled(document_of(program), tmp_path / "p.json")
    assert conset.plan(program) == make_plan(program)
    again = conset.plan(tmp_path / "p.json")
    assert (again.transfers, again.bytes) == (
        make_plan(program).transfers,
        make_plan(program).bytes,
    )
    assert conset.run(tmp_path / "p.json", repeat=1, timeout=60).mismatches == 0


@pytest.mark.parametrize("combine", ["2x2", "radix:2"])
def test_a_compiled_program_runs(combine: str) -> None:
    program = conset.compile("random:degree=2,size=700", "mesh:2x2", combine=combine)
    result = conset.run(program, repeat=1, timeout=60)
    assert (result.stages, result.mismatches) == (2, 0)


def test_inside_a_running_job_every_rank_has_the_result(programs: Path, tmp_path: Path) -> None:
    program = ["-m", "mpi4py", str(programs / "inside_program.py"), str(tmp_path)]
    ended = start_job(find_launcher(), 4, program, folder=tmp_path, timeout_s=60)
    assert (ended.status, ended.err) == (0, "")
    results = [json.loads((tmp_path / f"rank-{r}").read_text()) for r in range(4)]
    for forwarded, blocks in results:
        assert (forwarded["ranks"], forwarded["mismatches"], forwarded["stages"]) == (4, 0, 2)
        assert (blocks["ranks"], blocks["mismatches"], blocks["stages"]) == (4, 0, 1)
        assert blocks["switch"]["count"] == blocks["phases"] - 1 == 2
