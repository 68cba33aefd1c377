"""`conset record` and `conset intercept` around programs: environment, exit codes, signals, files.

The preloaded library is any library here; shell scripts stand for launchers and ranks.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conset.cli.config import LIBRARY, PRELOADED
from conset.cli.main import run
from conset.execution.interception import mpi_of, preloaded, why_nothing

SAYS = {
    "mpiexec": "HYDRA build details:",
    "mpiexec.openmpi": "mpiexec.openmpi (OpenRTE) 4.1.4",
    "mpirun": "mpirun (Open MPI) 5.0.8",
    "prterun": "couldn't open the help file: /share/prte/help-prterun.txt",
    "mpiexec.gforker": "unknown option",
}
"""Launcher → what it prints for `--version`."""
OURS = Path("/lib/conset/libconset-preload.so")
RANK = """\
conset/record@1
rank 0 of 4
host here
mpi MPICH
seconds 1.5
comm 0 0-3
row 0 1-3:1024
exchange 0 alltoallw 4 12288 0.5 0.1 1.2
sequence 0 alltoallw 0*4
end finalize
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current directory, with launchers in its PATH, and a library that can be preloaded."""
    bin_, package = tmp_path / "bin", tmp_path / "installed" / "conset"
    bin_.mkdir()
    for name, text in SAYS.items():
        script(bin_ / name, f'[ "$1" = --version ] && echo "{text}" && exit\nexec "$@"')
    for name in ("include/conset.h", f"lib/{LIBRARY}"):
        (package / name).parent.mkdir(parents=True)
        (package / name).touch()
    words = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
    shutil.copy(next(word for word in words if "/libm.so" in word), package / "lib" / PRELOADED)
    monkeypatch.setattr("conset.cli.config.search_folders", lambda: [package])
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def conset(folder: Path, *words: str) -> list[str]:
    """A command line in a process of its own, with the library of the fixture."""
    installed = folder.parent / "installed" / "conset"
    start = (
        "import pathlib, conset.cli.config as c; from conset.cli.main import main; "
        f"c.search_folders = lambda: [pathlib.Path({str(installed)!r})]; main()"
    )
    return [sys.executable, "-c", start, *words]


@pytest.mark.parametrize("launcher", SAYS)
def test_launchers_are_known_by_what_they_print(folder: Path, launcher: str) -> None:
    expected = {"mpiexec": "mpich", "mpiexec.gforker": ""}.get(launcher, "openmpi")
    assert mpi_of(launcher) == expected


@pytest.mark.parametrize(
    "words",
    [
        "mpiexec -n 4 ./a",
        "srun ./a",
        "./a",
        "sh job.sh",
        "conset testbed mpiexec lab -n 4 --launcher mpiexec.openmpi ./a",
        "python -m conset_testbed mpiexec lab ./a",
    ],
)
@pytest.mark.parametrize("before", [None, "/lib/other.so"])
def test_the_environment_is_enough_for_most_launchers(
    folder: Path, words: str, before: str | None
) -> None:
    given = {"HOME": "/h"} | ({"LD_PRELOAD": before} if before else {})
    command, environment = preloaded(words.split(), OURS, {"CONSET_RECORD": "/r"}, given)
    assert command == words.split()
    preload = f"{before}:{OURS}" if before else str(OURS)
    assert environment == {"HOME": "/h", "LD_PRELOAD": preload, "CONSET_RECORD": "/r"}


@pytest.mark.parametrize("launcher", ["mpiexec.openmpi", "mpirun", "prterun", "timeout 9 mpirun"])
def test_open_mpi_gets_a_list_of_names_or_options(folder: Path, launcher: str) -> None:
    """`-x` and the list together abort a job of Open MPI 4, whose `-x` ends at a colon."""

    def built(words: str, **given: str) -> tuple[str, str | None]:
        command, environment = preloaded(words.split(), OURS, {"CONSET_RECORD": "/r"}, given)
        assert environment["LD_PRELOAD"] == str(OURS)
        return " ".join(command), environment.get("OMPI_MCA_mca_base_env_list")

    names, options = "LD_PRELOAD;CONSET_RECORD", "-x LD_PRELOAD -x CONSET_RECORD"
    assert built(f"{launcher} -n 4 ./a") == (f"{launcher} -n 4 ./a", names)
    assert built(f"{launcher} -n 4 ./a", OMPI_MCA_mca_base_env_list="A") == (
        f"{launcher} -n 4 ./a",
        f"A;{names}",
    )
    assert built(f"{launcher} -x A -n 1 ./a : -n 3 ./b") == (
        f"{launcher} {options} -x A -n 1 ./a : {options} -n 3 ./b",
        None,
    )
    assert built(f"{launcher} --mca mca_base_env_list A=1 ./a") == (
        f"{launcher} --mca mca_base_env_list A=1;{names} ./a",
        None,
    )


def test_what_the_command_preloads_is_kept_before_ours(folder: Path) -> None:
    def built(words: str) -> str:
        return " ".join(preloaded(words.split(), OURS, {"CONSET_RECORD": "/r"}, {})[0])

    assert built("mpirun -x LD_PRELOAD=/b.so ./a") == (
        f"mpirun -x CONSET_RECORD -x LD_PRELOAD=/b.so:{OURS} ./a"
    )
    assert built("mpiexec -genv LD_PRELOAD /b.so ./a") == (
        f"mpiexec -genv LD_PRELOAD /b.so:{OURS} ./a"
    )
    assert built("srun env LD_PRELOAD=/b.so ./a") == f"srun env LD_PRELOAD=/b.so:{OURS} ./a"


def test_a_record_takes_the_place_of_an_older_one(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rank = f'echo "$@"; cat > "$CONSET_RECORD/rank-0$1.record" <<END\n{RANK}END\nexit 3'
    program = script(folder / "rank", rank)
    words = ["record", "-o", "calls", "--", "env", program, "1", "--json", "--", "-o"]
    assert run(words) == 3
    captured = capfd.readouterr()
    assert captured.out == "1 --json -- -o\n"
    first, *notes = captured.err.splitlines()
    assert first == (
        "conset: 4 ranks, 4 calls of alltoallw, 12 KiB in exchanges that can be reordered: "
        "conset advise calls --on MACHINE"
    )
    assert any("ranks 1-3" in note for note in notes)
    Path("calls/plans.txt").touch()
    assert run(["record", "-o", "calls", program, "2"]) == 3
    assert [path.name for path in Path("calls").iterdir()] == ["rank-02.record"]
    assert run(["record", "-o", "calls", "false"]) == 1
    assert "; calls is kept as it was" in capfd.readouterr().err
    assert run(["record", "-o", "calls", "nosuch"]) == 127
    assert sorted(path.name for path in folder.iterdir()) == ["calls", "rank"]
    Path("calls/rank-02.record").write_text("")
    assert (
        run(["record", "-o", "new", script(folder / "rank", "touch $CONSET_RECORD/a.record")]) == 0
    )
    assert capfd.readouterr().err.endswith("a.record: is empty\n")


def test_other_files_are_never_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, why in {
        ".": "has 'thesis.tex', which is no part of a record",
        "thesis.tex": "cannot be written: Not a directory",
        "no/such": "cannot be written: No such file",
    }.items():
        Path("thesis.tex").touch()
        assert run(["record", "-o", path, "true"]) in (2, 3)
        assert f"conset: -o {path}: {why}" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("exec nosuch", 127), ("true", 0)]
)
def test_the_exit_code_is_the_program_s(folder: Path, text: str, code: int) -> None:
    program = script(folder / "program", text)
    assert run(["record", "-o", "calls", "--", program]) == code
    assert run(["intercept", program]) == code


def test_what_cannot_be_started_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("text").write_text("no program")
    for program, code, why in (
        ("nosuch", 127, "No such file or directory"),
        ("./text", 126, "Permission denied"),
    ):
        assert run(["record", "-o", "calls", "--", program, "--json"]) == code
        captured = capsys.readouterr()
        assert captured.err == f"conset: '{program}': cannot be started: {why}\n"
        assert captured.out == ""


def wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["TERM", "INT", "USR1", "HUP"])
def test_signals_are_passed_on(folder: Path, name: str) -> None:
    text = f"trap 'echo {name}; exit 5' {name}\ntouch ready\nwhile :; do sleep 0.05; done"
    program = script(folder / "program", text)
    with subprocess.Popen(
        conset(folder, "record", "-o", "calls", "--", program),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_for(folder / "ready")
        time.sleep(0.2)
        process.send_signal(getattr(signal, f"SIG{name}"))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (5, f"{name}\n")
    assert "nothing was recorded" in err


def test_ctrl_c_at_a_terminal_comes_once(folder: Path) -> None:
    """The terminal sends it to the program: a second one would kill an `mpiexec`."""
    text = "trap 'n=$((n+1))' INT\ntouch ready\nfor k in $(seq 20); do sleep 0.05; done\nexit $n"
    program = script(folder / "program", f"n=0\n{text}")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, conset(folder, "record", "-o", "calls", "--", program))
    wait_for(folder / "ready")
    time.sleep(0.2)
    os.write(terminal, b"\x03")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    os.close(terminal)


def elf(*needed: str, strings: bytes = b"") -> bytes:
    """A program of 64 bits with a dynamic section, if it needs libraries, and strings."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    at, entries = 64 + 2 * 56, b""
    for name in needed:
        entries += (1).to_bytes(8, "little") + names.index(name.encode()).to_bytes(8, "little")
    table = at + len(entries) + 16
    entries += (5).to_bytes(8, "little") + table.to_bytes(8, "little")

    def segment(kind: int, offset: int, length: int) -> bytes:
        fields = (offset, offset, offset, length, length, 1)
        return kind.to_bytes(8, "little") + b"".join(f.to_bytes(8, "little") for f in fields)

    head = b"\x7fELF\x02\x01".ljust(32, b"\0") + (64).to_bytes(8, "little")
    head = (
        head.ljust(54, b"\0")
        + (56).to_bytes(2, "little")
        + (2 if needed else 0).to_bytes(2, "little")
    )
    segments = segment(1, 0, table + len(names)) + segment(2, at, len(entries))
    return head.ljust(64, b"\0") + segments + entries + names + strings


PROGRAMS = {
    "static": (elf(strings=b"MPI_Init MPIR_CVAR"), "linked statically"),
    "partly": (elf("libc.so.6", strings=b"MPI_Init ompi_mpi_init"), "linked statically"),
    "dynamic": (
        elf("libc.so.6", strings=b"MPI_Init libmpi.so.12"),
        "finds the functions of MPI by dlsym",
    ),
    "linked": (elf("libc.so.6", "libmpi.so.40", strings=b"MPI_Init"), "no process called MPI"),
    "broken": (elf("libc.so.6")[:100] + b"MPI_Init", "finds the functions"),
    "plain": (b"#!/bin/sh\n", "no process called MPI"),
    "julia": (elf("libjulia.so"), "by dlsym (Julia's MPI.jl, ctypes)"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_reasons_are_read_from_the_program(folder: Path, name: str) -> None:
    content, reason = PROGRAMS[name]
    Path(name).write_bytes(content)
    Path(name).chmod(0o755)
    assert reason in why_nothing(["mpiexec", "-n", "4", f"./{name}"], 0)


def test_a_real_program_needs_what_its_file_lists() -> None:
    from conset.execution.interception import _needed

    assert "libc.so.6" in _needed(Path(shutil.which("env") or "").read_bytes())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("mpiexec -genvnone -n 4 ./a", "'-genvnone' keeps the environment from the ranks"),
        ("mpiexec -genvlist A,B -n 4 ./a", "'-genvlist A,B' keeps"),
        ("srun --export=NONE ./a", "'--export=NONE' keeps"),
        ("srun --export=ALL,A=1 true", "no process called MPI"),
        ("mpiexec env -i ./a", "'env -i' keeps"),
        ("mpiexec ./set-uid", "set-uid is a set-uid program"),
    ],
)
def test_reasons_are_read_from_the_command(folder: Path, words: str, reason: str) -> None:
    Path(script(folder / "set-uid", "true")).chmod(0o4755)
    assert reason in why_nothing(words.split(), 0)


def test_nothing_recorded_is_an_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record", "-o", "calls", "--", "mpiexec", "sh", "-c", "exit 4"]) == 4
    reason = "the command ended with exit code 4 before a process called MPI"
    assert capsys.readouterr().err == f"conset: nothing was recorded: {reason}\n"
    assert Path("calls/nothing.txt").read_text() == f"{reason}\n"
    assert run(["compile", "calls", "--on", "crossbar:4"]) == 3
    assert capsys.readouterr().err == f"conset: calls: nothing was recorded: {reason}\n"


PLAN = {"kind": "alltoallw", "ranks": 16, "calls": 4000, "own_s": 0.2, "ordered_s": 0.1}
PLAN |= {"choice": "ordered", "bytes": 393216000}
UNTRIED = PLAN | {"own_s": None, "ordered_s": None, "choice": "trial"}


def test_the_summary_is_printed_and_written(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = "\n".join(map(json.dumps, [PLAN, UNTRIED, {"note": "One plan is refused."}]))
    program = script(
        folder / "rank",
        f"cat > $CONSET_SUMMARY <<END\n{lines}\nEND\n"
        "echo $CONSET_INTERCEPT $CONSET_ADVICE $LD_PRELOAD\nexit 6",
    )
    Path("calls").mkdir()
    Path("calls/plans.txt").touch()
    words = ["intercept", "--advice", "calls", "--always", "-o", "gain.json", "--", program]
    assert run(words) == 6
    captured = capfd.readouterr()
    assert captured.out.startswith(f"always {folder / 'calls'} {folder.parent}/installed/")
    assert captured.err.splitlines() == [
        "conset: alltoallw on 16 ranks: 4,000 calls, own 200 ms, ordered 100 ms a call: ordered "
        "(2.00 x)",
        "conset: alltoallw on 16 ranks: 4,000 calls: trial",
        "conset: One plan is refused.",
    ]
    body = json.loads(Path("gain.json").read_text())
    assert (body["schema"], body["status"]) == ("conset/intercept@1", 6)
    assert body["plans"] == [PLAN, UNTRIED]
    assert body["notes"] == ["One plan is refused."]


def test_advice_without_a_plan_leaves_the_program_unchanged(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "plans.txt").write_text("conset/plans@1\nranks 4\n")
    assert run(["intercept", "--advice", str(folder), "--", "sh", "-c", "echo x$LD_PRELOAD"]) == 0
    captured = capfd.readouterr()
    assert captured.out == "x\n"
    assert "no exchange has a plan, none is predicted to gain: the program" in captured.err


def test_without_a_plan_the_program_runs_unchanged(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["intercept", "--", "sh", "-c", "echo x$LD_PRELOAD"]) == 0
    captured = capfd.readouterr()
    assert captured.out == "x\n"
    assert captured.err == (
        "conset: neither --advice nor --on is given: the program runs unchanged\n"
    )
    assert run(["intercept", "--on", "mesh:2x2", "--", "true"]) == 0
    assert capfd.readouterr().err.startswith(
        "conset: nothing was intercepted: no process called an exchange that has a plan"
    )


def test_the_command_of_the_first_rank_advises(folder: Path) -> None:
    """It finds the files of the machine, whatever the current folder is, and prints nothing."""
    Path("my net.csv").write_text("0,1\n1,2\n2,0\n")
    program = script(
        folder / "rank",
        f'cd /; sh -c "$CONSET_ADVISE" conset {folder}/first; echo $? > {folder}/code',
    )
    Path("first").mkdir()
    Path("first/rank-0.record").write_text(RANK)
    assert run(["intercept", "--on", "crossbar:4", "--", program]) == 0
    assert Path("code").read_text() == "0\n"
    assert Path("first/plans.txt").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--advice calls", "--advice calls: has no plans.txt, which `conset advise calls --on "),
        ("--on mehs:4x4", "unknown machine 'mehs': did you mean 'mesh'?"),
        ("--on mesh:2x2 --advice calls", "--advice, --on: at most one is allowed"),
        ("--on mesh:2x2 --always --never", "--always, --never: at most one is allowed"),
        ("--on mesh:2x2 -o gain.txt", "gain.txt: a summary ends in .json"),
    ],
)
def test_errors_come_before_the_program(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert run(["intercept", *words.split(), "--", "touch", "started"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"conset: {message}")
    assert captured.err.count("\n") == 1
    assert not Path("started").exists()


def test_a_folder_that_cannot_be_preloaded_is_refused(folder: Path) -> None:
    from conset.base.errors import UsageError

    with pytest.raises(UsageError, match="a path with a blank or a colon cannot be preloaded"):
        preloaded(["true"], Path("/my lib/libconset-preload.so"), {}, {})
