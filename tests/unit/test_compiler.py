"""The pipeline: limits of a compile, defaults, units, the summary, and the same bytes for the
same seed."""

from __future__ import annotations

import ast
import enum
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import InputError
from conset.cli.main import run
from conset.compilation.options import CompileOptions, effective_limits
from conset.compilation.summary import half_duplex_units, summarize
from conset.machine.costs import Limits
from conset.methods.phases.table import find_method

ROOT = Path(__file__).resolve().parents[2]
FIRST_FIT = find_method("first-fit")


def test_a_method_keeps_its_own_limits_unless_options_change_them() -> None:
    machine = conset.load_machine("mesh:4x4")
    assert effective_limits(FIRST_FIT, machine, CompileOptions()) == (Limits(1, 1, 1), False)
    assert effective_limits(FIRST_FIT, machine, CompileOptions(contention=2)) == (
        Limits(1, 1, 2),
        True,
    )
    assert effective_limits(FIRST_FIT, machine, CompileOptions(limits="send=2,link=none")) == (
        Limits(2, 1, None),
        True,
    )
    asked = CompileOptions(contention=3, channels=5, limits="duplex=exchange")
    assert effective_limits(FIRST_FIT, machine, asked) == (Limits(1, 1, 3, 5, "exchange"), True)


def test_a_machines_hard_limits_tighten_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "narrow.toml"
    path.write_text(
        'name = "narrow"\n[network]\nkind = "mesh"\nsides = [4, 4]\n[limits]\nchannels = 3\n'
    )
    machine = conset.load_machine(str(path))
    assert effective_limits(FIRST_FIT, machine, CompileOptions()) == (Limits(1, 1, 1, 3), False)
    assert effective_limits(FIRST_FIT, machine, CompileOptions(channels=6)) == (
        Limits(1, 1, 1, 6),
        True,
    )
    with pytest.raises(InputError, match="channels"):
        effective_limits(find_method("rs-n"), machine, CompileOptions())
    schedule = conset.compile("alltoall", machine, method="first-fit", channels=6)
    assert conset.verify(schedule).ok, "looser than the machine's, but asked for"


def test_the_twelve_channels_of_iwarp_bind_connections_only() -> None:
    machine = conset.load_machine("iwarp:8x8")
    assert machine.hard_limits("connections").channels == 12
    assert effective_limits(FIRST_FIT, machine, CompileOptions())[0].channels is None


def test_one_phase_needs_no_barrier() -> None:
    assert conset.compile("shift:by=1", "crossbar:8", method="first-fit").sync == "none"
    assert conset.compile("alltoall", "crossbar:8", method="naive").sync == "none"
    assert (
        conset.compile("alltoall", "crossbar:8", method="first-fit", sync="barrier:3").sync
        == "barrier:3"
    )


def test_units_of_a_half_duplex_machine_by_hand() -> None:
    exchange = conset.compile("alltoall", "ipsc860:8", method="lp")
    assert (exchange.phases, half_duplex_units(exchange)) == (7, 7)
    shift = conset.compile("shift:by=1", "ipsc860:8", method="coloring")
    assert (shift.phases, half_duplex_units(shift)) == (1, 2)
    one_way = conset.compile("gather", "ipsc860:8", method="coloring")
    assert half_duplex_units(one_way) == one_way.phases == 7, "nobody sends and receives at once"
    assert summarize(exchange)["units"] == 7
    assert summarize(conset.compile("alltoall", "mesh:2x4", method="lp"))["units"] is None


def test_an_empty_pattern_takes_no_phase_and_no_time() -> None:
    empty = conset.Pattern.from_messages([], [], [], 4)
    for method in ("naive", "lp", "rs-n", "rs-nl", "coloring", "first-fit"):
        summary = summarize(conset.compile(empty, "mesh:2x2", method=method))
        assert (summary["phases"], summary["bound"]["phases"], summary["gap"]["phases"]) == (
            0,
            0,
            1.0,
        )
        assert (summary["predicted_s"], summary["gap"]["time"]) == (0.0, 1.0)
        assert summary["bound"]["phases_witness"] == "no messages"
        assert summary["verified"]


def test_two_ranks_a_node_talk_inside_it_for_free() -> None:
    schedule = conset.compile("alltoall", "mesh:2x2", method="first-fit", ranks_per_node=2)
    assert schedule.pattern.ranks == 8
    assert conset.verify(schedule).ok
    inside = schedule.source_node == schedule.target_node
    assert inside.sum() == 8
    assert schedule.phases >= 12, "each node sends 2 x 6 messages out, one at a time"


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    words = [
        "compile",
        "random:degree=4,size=uniform(1,999)",
        "--on",
        "hypercube:4",
        "--method",
        "rs-nl",
        "--seed",
        "7",
    ]
    files = [tmp_path / f"{name}{suffix}" for name in ("a", "b")]
    for file in files:
        assert run([*words, "-o", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    other = tmp_path / f"c{suffix}"
    assert run([*words[:-1], "8", "-o", str(other)]) == 0
    assert other.read_bytes() != files[0].read_bytes()


def test_json_is_one_object_with_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "alltoall", "--on", "mesh:4x4", "--method", "first-fit", "--json"]) == 0
    out, err = capsys.readouterr()
    answer = json.loads(out)
    keys = {
        "schema",
        "method",
        "pattern",
        "machine",
        "limits",
        "phases",
        "load",
        "phase_bytes",
        "bound",
        "gap",
        "sync",
    }
    assert keys | {"predicted_s", "compile_s", "verified", "units", "manifest"} <= set(answer)
    assert set(answer["load"]) == {"send", "receive", "link", "channels", "sum"}
    assert set(answer["manifest"]) == {"version", "seed", "command", "input_sha256"}
    assert answer["gap"]["phases"] == answer["phases"] / answer["bound"]["phases"] >= 1
    assert "mesh:4x4" in err, "text for people goes to stderr"


def test_the_verifier_needs_no_core(tmp_path: Path) -> None:
    """The judge shares nothing with what it judges.

    It works with the core and every method out of reach.
    """
    file = tmp_path / "s.json"
    conset.write(conset.compile("alltoall", "torus:4x4", method="first-fit"), file)
    code = (
        "import sys\n"
        "for name in ('conset._core', 'conset.methods', 'conset.bounds', "
        "'conset.machine.network.routes', 'scipy'):\n"
        "    sys.modules[name] = None\n"
        "from conset.schedule.files.documents import read_document\n"
        "from conset.verification import verify\n"
        f"print(verify(read_document({str(file)!r})).ok)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "True"


def test_the_python_interface_speaks_the_words_of_the_command_line(tmp_path: Path) -> None:
    schedule = conset.compile("random:degree=4", "hypercube:4", method="rs-nl", seed=3)
    assert isinstance(schedule, conset.Schedule)
    assert conset.verify(schedule).ok
    assert conset.bound(schedule).phases <= schedule.phases
    assert conset.bound("alltoall", "mesh:4x4").phases == 16, (
        "the middle links carry 4 x 2 x 8 / 4 messages"
    )
    assert conset.predict(schedule).time_s > conset.bound(schedule).time_s * (1 - 1e-9)
    assert conset.predict(schedule, machine="ipsc860:16").time_s > 0
    for name in ("s.json", "s.npz"):
        conset.write(schedule, tmp_path / name)
        assert conset.verify(tmp_path / name).ok
        again = conset.read(tmp_path / name)
        assert np.array_equal(again.message, schedule.message)
    assert "<table" in schedule._repr_html_() or "<svg" in schedule._repr_html_()


def test_the_stubs_name_what_the_core_has() -> None:
    """`make stubs` writes them again; types are mypy's business, names are checked here."""
    from conset import _core

    stub = ast.parse((ROOT / "src/conset/_core.pyi").read_text())
    named = {n.name for n in stub.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    named |= {ast.unparse(n.target) for n in stub.body if isinstance(n, ast.AnnAssign)}
    assert named == {name for name in dir(_core) if not name.startswith("_")}
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and not issubclass(
            getattr(_core, node.name), enum.Enum | BaseException
        ):
            members = {
                m.name
                for m in node.body
                if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")
            }
            assert members == {
                name for name in dir(getattr(_core, node.name)) if not name.startswith("_")
            }, node.name
