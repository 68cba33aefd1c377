"""Testbeds that are built: what crosses them, what they touch, how they end.

Skipped where a machine permits none.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

import conset_testbed
from conset.base.errors import ConsetError, UsageError
from conset.cli.main import run
from conset_testbed import beds, namespaces as ns
from conset_testbed.access import state_folder
from conset_testbed.guardian import guardian_of, sweep
from conset_testbed.settings import Settings
from conset_testbed.state import bed_names, read_bed

NAME = f"t{os.getpid()}"
PRINT_RANKS = (
    "from mpi4py import MPI; c = MPI.COMM_WORLD; s = c.allreduce(c.rank); c.rank or "
    "print('sum', c.size, s)"
)


@pytest.fixture(scope="module")
def permission() -> conset_testbed.Permission:
    found = conset_testbed.check()
    if found.kernel:
        pytest.skip(f"no testbed: {found.text}")
    return found


@pytest.fixture
def name(permission: conset_testbed.Permission) -> Iterator[str]:
    yield NAME
    with suppress(ConsetError):
        beds.down(NAME)


@pytest.fixture
def root(permission: conset_testbed.Permission) -> None:
    if permission.access != "root":
        pytest.skip(
            "the namespaces of this user's testbeds are not to be seen from outside; root is needed"
        )


def wait_until(true: Callable[[], bool], longest_s: float = 20.0) -> bool:
    end = time.monotonic() + longest_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def spaces_of(bed: str) -> list[str]:
    return sorted(path.name for path in ns.FOLDER.glob(f"cb.{bed}.*"))


def conset(*words: str, **options: object) -> list[str]:
    return [sys.executable, "-c", "from conset.cli.main import main; main()", *words]


@pytest.mark.parametrize("fabric", ["lossless", "credit"])
def test_a_job_runs_on_a_bed_and_its_bytes_cross_the_links(name: str, fabric: str) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")
    permission = conset_testbed.check()
    if fabric == "credit" and permission.emulated:
        pytest.skip(f"no emulated fabric: {permission.emulated}")
    program = (
        "from mpi4py import MPI; import socket, sys, time; c = MPI.COMM_WORLD\n"
        "other = bytearray(200_000)\n"
        "if c.rank == 0: c.Send(bytes(200_000), 3)\n"
        "if c.rank == 3: c.Recv(other, 0); print(socket.gethostname(), c.size, sum(other), "
        "flush=True)\n"
        # the launcher passes a line on before anybody ends the job
        "if c.rank == 3: time.sleep(1)\n"
        "c.Barrier(); sys.exit(5)"
    )
    with conset_testbed.bed("mesh:2x2", fabric=fabric, rate="50mbit", name=name, ttl_s=120) as bed:
        command = [
            *shlex.split(bed.mpiexec),
            "-n",
            "4",
            sys.executable,
            "-m",
            "mpi4py",
            "-c",
            program,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.stdout, done.returncode) == (f"{name}-n3 4 0\n", 5), done.stderr
        carried = {(link.source, link.target): link.bytes for link in bed.stats().links}
        assert bed.stats().lost == 0
        # node 0 to 3 goes by 1, the last coordinate first; acknowledgements go back by 2
        assert min(carried[0, 1], carried[1, 3]) > 200_000
        assert max(carried[0, 2], carried[2, 3], carried[3, 1], carried[1, 0]) < 100_000
        # what does not end is ended, and nothing of it stays
        began = time.monotonic()
        late = [
            *shlex.split(bed.mpiexec),
            "-n",
            "4",
            "--timeout",
            "2s",
            sys.executable,
            "-c",
            PRINT_RANKS + "; 1",
        ]
        late[-1] = "import time; time.sleep(600)"
        done = subprocess.run(late, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 124
        assert "did not end within 2 s" in done.stderr
        assert time.monotonic() - began < 30
    assert name not in list(bed_names())


def test_a_bed_touches_what_it_has_made_and_nothing_else(name: str, root: None) -> None:
    foreign = f"cb.{name}.n1"
    ns.add([foreign])
    try:
        with pytest.raises(
            UsageError, match=rf"network namespace {foreign} exists and is no testbed's"
        ):
            beds.up(Settings(name=name, network="mesh:1x2", ttl_s=60))
        assert spaces_of(name) == [foreign]
        assert name not in list(bed_names())
    finally:
        ns.remove([foreign])
    before = {path.name for path in ns.FOLDER.glob("*")}
    beds.up(Settings(name=name, network="mesh:1x2", ttl_s=60))
    assert spaces_of(name) == [f"cb.{name}.ctl", f"cb.{name}.n0", f"cb.{name}.n1"]
    with pytest.raises(UsageError, match=f"testbed '{name}' exists"):
        beds.up(Settings(name=name, network="mesh:2x2", ttl_s=60))
    # a namespace that takes the place of one of the bed's stays, though the kernel gives it the
    # same inode where it can
    ns.remove([foreign])
    time.sleep(0.5)
    ns.add([foreign])
    try:
        assert beds.down(name).foreign == (foreign,)
        assert spaces_of(name) == [foreign]
    finally:
        ns.remove([foreign])
    assert {path.name for path in ns.FOLDER.glob("*") if NAME in path.name} <= before
    with pytest.raises(UsageError, match=f"no testbed '{name}'"):
        beds.down(name)


def test_a_bed_goes_with_who_made_it(name: str) -> None:
    command = conset(
        "testbed", "with", "--name", name, "--on", "mesh:1x2", "--ttl", "90s", "--", "sleep", "60"
    )
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: (state_folder() / name / "remote-shell").exists())
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_until(lambda: name not in list(bed_names()))
        assert wait_until(lambda: not spaces_of(name))
    finally:
        process.kill()


def test_a_bed_ends_with_its_time(name: str) -> None:
    beds.up(Settings(name=name, network="mesh:1x2", ttl_s=4))
    assert wait_until(lambda: name not in list(bed_names()) and not spaces_of(name))


def test_a_bed_without_its_guardian_is_swept(name: str, root: None) -> None:
    beds.up(Settings(name=name, network="mesh:1x2", ttl_s=60))
    guardian = guardian_of(name)
    assert guardian is not None
    os.kill(guardian, signal.SIGKILL)
    assert wait_until(lambda: guardian_of(name) is None)
    assert name not in sweep()  # its time is not over
    state = read_bed(name)
    state.expires = time.time() - 60
    state.save()
    assert name in sweep()
    assert not spaces_of(name)


def test_the_commands_say_what_stands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "with",
        "--name",
        name,
        "--on",
        "crossbar:3",
        "--fabric",
        "shallow",
        "--ttl",
        "60s",
        "--",
        "sh",
        "-c",
    ]
    listing = shlex.join(conset("testbed", "list", "--json"))
    command = conset("testbed", *words, f"{listing}; exit 9")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 9, done.stderr
    row = next(row for row in json.loads(done.stdout)["testbeds"] if row["name"] == name)
    assert (row["endpoints"], row["nodes"], row["links"], row["fabric"]) == (3, 4, 6, "shallow")
    for wrong, said in (
        (("stats", "nobody"), "no testbed 'nobody'"),
        (("up", name, "--fabric", "infiniband"), "unknown fabric 'infiniband'"),
        (("up", name, "--on", "mesh:1x1"), "1 endpoints: a testbed has from 2"),
        (("mpiexec", "nobody", "-n", "2", "true"), "no testbed 'nobody'"),
    ):
        assert run(["testbed", *wrong]) in (2, 3)
        printed = capsys.readouterr().err
        assert printed.startswith("conset: ")
        assert said in printed
        assert printed.count("\n") == 1
    assert name not in list(bed_names())
