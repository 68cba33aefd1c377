"""Applications that know nothing of conset: their results are the same recorded and intercepted.

Python programs run with the wheel's MPI library, as LAMMPS does; Quantum ESPRESSO and HPCC with
Open MPI of Debian. `.ci/applications` installs them; where one is missing, its test is skipped.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conset.execution.job import find_launcher
from conset.pattern import parse_pattern, read_mpi_record
from support.preloaded import even, intercepted, ordered_kinds, preloaded, read_summary, write_plans

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

DOCUMENTS = Path("/usr/share/doc")
ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
}


def python(script: str, module: str, ranks: int) -> list[str]:
    pytest.importorskip(module, reason=f"{module} is not installed: pip install {module}")
    path = Path(__file__).parent / "programs" / f"{script}.py"
    return [*find_launcher(), "-n", str(ranks), sys.executable, str(path)]


def transposes(_: Path) -> list[str]:
    """mpi4py loads the MPI library late, and its symbols are not global."""
    return python("transposes", "mpi4py", 4)


def slab_and_pencil(_: Path) -> list[str]:
    return python("transforms", "mpi4py_fft", 9)


def lammps(folder: Path) -> list[str]:
    """Charged particles: the transforms of a particle mesh, by collective exchanges."""
    launcher = find_launcher()
    binary = Path(launcher[0]).with_name("lmp")
    if not binary.exists() or len(launcher) > 1:
        pytest.skip("LAMMPS is not installed beside the wheel of MPICH: pip install lammps")
    shutil.copy(Path(__file__).parent / "programs" / "lammps.in", folder)
    return [*launcher, "-n", "6", str(binary), "-log", "none", "-in", "lammps.in"]


def of_debian(program: str, package: str, example: str) -> list[str]:
    """Skips where the program, its launcher or a file of the package's documents is missing."""
    if not (
        shutil.which(program)
        and shutil.which("mpiexec.openmpi")
        and (DOCUMENTS / example).is_file()
    ):
        pytest.skip(f"{program} is not installed: apt-get install {package} openmpi-bin")
    return ["mpiexec.openmpi", "--oversubscribe", "-n", "4", program]


def espresso(folder: Path) -> list[str]:
    """Two atoms of silicon."""
    file = "quantum-espresso/examples/atomic/pseudo-LDA-0.5/Si.pz-vbc.UPF.gz"
    command = of_debian("pw.x", "quantum-espresso quantum-espresso-data", file)
    (folder / "Si.UPF").write_bytes(gzip.decompress((DOCUMENTS / file).read_bytes()))
    shutil.copy(Path(__file__).parent / "programs" / "espresso.in", folder)
    return [*command, "-in", "espresso.in"]


def hpcc(folder: Path) -> list[str]:
    file = "hpcc/examples/_hpccinf.txt"
    command = of_debian("hpcc", "hpcc", file)
    text = (DOCUMENTS / file).read_text()
    for line, small in (("1000         Ns", "200 Ns"), ("80           NBs", "40 NBs")):
        assert line in text
        text = text.replace(line, small)
    (folder / "hpccinf.txt").write_text(text)
    (folder / "hpccoutf.txt").unlink(missing_ok=True)  # else it appends
    return command


APPLICATIONS: dict[str, tuple[Callable[[Path], list[str]], str, set[str]]] = {
    "transposes": (transposes, r"[0-9a-f]{64}", {"alltoallw"}),
    "mpi4py-fft": (slab_and_pencil, r"[0-9a-f]{64}", {"alltoallw"}),
    "lammps": (lammps, r" +\d+( +-?\d[\d.e-]+){4} *", {"alltoallv"}),
    "espresso": (
        espresso,
        r"!? +(total energy|estimated scf accuracy|atom|Total force).*|( +-?\d+\.\d+)+",
        {"alltoall", "alltoallv"},
    ),
    # other residuals are of matrices that differ from run to run
    "hpcc": (
        hpcc,
        r"(HPL_\w+(norm|N)\w*|MPIFFT_maxErr|PTRANS_residual|\w+Errors)=.*",
        {"alltoall"},
    ),
}
"""How each is started, what lines of its output are results, kinds that are intercepted."""


def results(command: Sequence[str], pattern: str, folder: Path) -> list[str]:
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=os.environ | ROOT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    out = folder / "hpccoutf.txt"
    text = out.read_text() if out.exists() else ended.stdout
    return [line for line in text.splitlines() if re.fullmatch(pattern, line)]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_results_are_the_same(name: str, tmp_path: Path) -> None:
    start, pattern, kinds = APPLICATIONS[name]
    alone = results(start(tmp_path), pattern, tmp_path)
    assert alone
    with preloaded(RECORD=tmp_path / "record"):
        assert results(start(tmp_path), pattern, tmp_path) == alone
    record = read_mpi_record(tmp_path / "record")
    assert record.missing.size == 0
    assert sum(file.stat().st_size for file in (tmp_path / "record").iterdir()) < 100_000
    if name == "transposes":
        assert record.exchanged().matrix().tolist() == even(20 * 8 * 8 * 8).tolist()
    advice = write_plans(tmp_path / "advice", intercepted(record), ranks=record.ranks)
    variables = {"INTERCEPT": "always", "ADVICE": advice, "SUMMARY": tmp_path / "summary"}
    with preloaded(**variables):
        assert results(start(tmp_path), pattern, tmp_path) == alone
    assert ordered_kinds(read_summary(tmp_path / "summary")) == kinds


@pytest.mark.parametrize("scenario", ["alltoallv", "alltoallw", "many"])
def test_a_record_has_the_bytes_of_open_mpis_monitoring(scenario: str, tmp_path: Path) -> None:
    """But for what a reduction consists of: 8 bytes from each rank, of the digest."""
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("mpicc.openmpi is not installed: apt-get install libopenmpi-dev openmpi-bin")
    source, program = Path(__file__).parent / "c" / "unmodified.c", tmp_path / "unmodified"
    subprocess.run(["mpicc.openmpi", source, "-o", program, "-lpthread"], check=True)
    options = {"enable": "1", "enable_output": "3", "filename": str(tmp_path / "prof")}
    command = ["mpiexec.openmpi", "--oversubscribe", "-n", "4"]
    for name, value in options.items():
        command += ["--mca", f"pml_monitoring_{name}", value]
    with preloaded(RECORD=tmp_path / "record"):
        assert results([*command, str(program), scenario], rf"{scenario} .*", tmp_path)
    record = read_mpi_record(tmp_path / "record").pattern().matrix()
    more = parse_pattern(str(tmp_path / "prof.0.prof")).matrix() - record
    assert more.min() == 0
    assert more.sum() == 8 * 4
