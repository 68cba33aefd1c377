"""The launcher of MPICH or Open MPI over the management network, data over the measured one."""

from __future__ import annotations

import ctypes
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from conset.base import UsageError
from conset.execution import PRELOAD, HeldFile, find_launcher, held_files, mpi_of, remove_files
from conset_testbed import addresses as a, namespaces as ns
from conset_testbed.access import inside_command
from conset_testbed.binaries import find_binary

if TYPE_CHECKING:
    from conset_testbed.state import BedState

TIMED_OUT = 124
"""The status of a job that was ended at its time-out, as of `timeout`."""
NAP = "libconset-nap.so"
_SHELL = "remote-shell"
_MARK = "CONSET_TESTBED_JOB"
"""In the environment of every process of a job."""
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_GRACE_S = 1.0
"""A launcher that was asked to end has so long; who asked us waits three seconds."""
_PR_SET_PDEATHSIG = 1


def write_remote_shell(bed: BedState) -> None:
    """Writes what launchers take for `ssh`.

    REMOTE_SHELL [options] HOST COMMAND…, HOST of the management network.
    """
    name = bed.name
    path = bed.folder / _SHELL
    path.write_text(f"""#!/bin/sh
# stands in for ssh: HOST is an address of the management network of testbed '{name}'
while [ $# -gt 0 ]; do case "$1" in -l|-p|-o|-i) shift 2;; -*) shift;; *) break;; esac; done
host=$1; shift
a=${{host#10.78.}}; i=$(( ${{a%.*}} * 250 + ${{a#*.}} - 1 ))
exec nsenter --net={ns.FOLDER}/{a.PREFIX}{name}.n$i unshare --uts sh -c 'hostname "$0"; eval "$1"' \
"{name}-n$i" "$*"
""")
    path.chmod(0o755)


def ranks_per_node(endpoints: int, ranks: int) -> tuple[int, int]:
    """(nodes that get ranks, ranks of each): one each on the first nodes, or as many on every node.

    Raises:
        UsageError: more ranks than nodes, and no multiple of them.
    """
    if ranks < 1:
        raise UsageError(f"-n {ranks}: must be at least 1")
    if ranks <= endpoints:
        return ranks, 1
    if ranks % endpoints:
        raise UsageError(
            f"-n {ranks}: must be a multiple of the {endpoints} nodes of the testbed, or at "
            f"most {endpoints}"
        )
    return endpoints, ranks // endpoints


def find_mpi(launcher: str | None) -> tuple[str, str]:
    """(path, library) of an `mpiexec`.

    The wheel's, or the one that is named, by what it says of itself.

    Raises:
        UsageError: there is none, or it is of neither MPICH nor Open MPI.
    """
    path = find_launcher()[0] if launcher is None else launcher
    if library := mpi_of(path):
        return path, library
    raise UsageError(
        f"launcher '{path}': a testbed knows those of MPICH and Open MPI, this is neither"
    )


def job_command(
    bed: BedState,
    mpi: tuple[str, str],
    ranks: int,
    program: Sequence[str],
    *,
    nap: bool = True,
    extra: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The words that start a job from the control namespace, and what they need in the environment.

    Args:
        bed: where it runs.
        mpi: path and library of the launcher.
        ranks: of the job.
        program: with its arguments.
        nap: whether idle ranks sleep until a socket has something.
        extra: variables for the ranks.
    """
    path, library = mpi
    nodes, per_node = ranks_per_node(bed.endpoints, ranks)
    preloaded = [os.environ.get(PRELOAD), str(find_binary(NAP)) if nap else None]
    shim = {PRELOAD: ":".join(filter(None, preloaded))} if any(preloaded) else {}
    build = _mpich if library == "mpich" else _openmpi
    command, environment = build(bed, path, nodes, per_node, ranks, {**shim, **(extra or {})})
    return [
        "nsenter",
        f"--net={ns.FOLDER / a.control_namespace(bed.name)}",
        *command,
        *program,
    ], environment


def _mpich(
    bed: BedState, path: str, nodes: int, per_node: int, ranks: int, extra: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    hosts = bed.folder / f"hosts-{nodes}x{per_node}"
    hosts.write_text(a.host_file(range(nodes), per_node))
    variables = {
        "MPIR_CVAR_CH4_NETMOD": "ofi",  # the other one insists on a device that owns the best route
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": a.IDENTITY,
        **extra,
    }
    words = [
        path,
        "-launcher",
        "ssh",
        "-launcher-exec",
        str(bed.folder / _SHELL),
        "-localhost",
        a.CONTROL_ADDRESS,
    ]
    words += ["-f", str(hosts), "-n", str(ranks)]
    for name, value in variables.items():
        words += ["-genv", name, value]
    return words, {}


def _openmpi(
    bed: BedState, path: str, nodes: int, per_node: int, ranks: int, extra: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    variables = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self" if per_node == 1 else "tcp,self,sm",
        "OMPI_MCA_btl_tcp_if_include": a.IDENTITY,
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    own = {
        "PRTE_MCA_plm_ssh_agent": str(bed.folder / _SHELL),
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_plm_ssh_num_concurrent": str(min(512, nodes)),
        "PRTE_MCA_prte_if_include": "10.78.0.0/16",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    hosts = ",".join(f"{a.management_address(k)}:{per_node}" for k in range(nodes))
    words = [
        path,
        "--host",
        hosts,
        "-n",
        str(ranks),
        "--map-by",
        f"ppr:{per_node}:node:oversubscribe",
    ]
    words += ["--bind-to", "none", "--prefix", str(Path(path).resolve().parent.parent)]
    for name in variables:
        words += ["-x", name]
    for name, value in extra.items():
        words += ["-x", f"{name}={value}"]
    return words, {**variables, **own}


def run_job(
    bed: BedState,
    ranks: int,
    program: Sequence[str],
    *,
    launcher: str | None = None,
    timeout_s: float | None = None,
    nap: bool = True,
    extra: Mapping[str, str] | None = None,
) -> int:
    """Runs an MPI job to its end and returns its status; stdin is rank 0's, as of any `mpiexec`.

    Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end the job, and so does the time-out; nothing of it stays
    in the nodes then.

    Returns:
        The launcher's status; `TIMED_OUT` at the time-out; 128 and the signal's number where one
        ended it.
    """
    command, own = job_command(bed, find_mpi(launcher), ranks, program, nap=nap, extra=extra)
    mark = f"{bed.name}-{secrets.token_hex(8)}"
    environment = {**os.environ, **_allow_root(own), "CONSET_TESTBED": bed.name, _MARK: mark}
    previous = {number: signal.signal(number, _raise_ended) for number in _ENDINGS}
    job = None
    try:
        job = subprocess.Popen(
            command,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent(os.getpid()),
        )
        status = job.wait(timeout_s)
        return status if status >= 0 else 128 - status
    except subprocess.TimeoutExpired:
        text = (
            f"conset: testbed '{bed.name}': the job did not end within {timeout_s:g} s "
            "and was ended"
        )
        sys.stderr.write(f"{text}\n")
        return TIMED_OUT
    except OSError as error:
        raise UsageError(f"launcher '{command[0]}': {error.strerror}") from None
    except _Ended as ended:
        return 128 + ended.number
    finally:
        for number in _ENDINGS:  # a second one does not stop the cleaning up
            signal.signal(number, signal.SIG_IGN)
        if job is not None:
            _end_job(bed, job, mark)
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Ended(BaseException):
    def __init__(self, number: int) -> None:
        self.number = number


def _raise_ended(number: int, frame: FrameType | None) -> NoReturn:
    raise _Ended(number)


def die_with_parent(parent: int) -> Callable[[], None]:
    """What a child does before it begins: it asks for SIGTERM when its parent is no more."""
    libc = ctypes.CDLL(None)

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _end_job(bed: BedState, job: subprocess.Popen[bytes], mark: str) -> None:
    """Ends what is left of a job: the launcher, then every process in the nodes that has its mark.

    Files that its library has made on this machine go too: who started us cannot see them, hosts
    have other names here.
    """
    held: set[HeldFile] = set()
    if job.poll() is None:
        held = held_files(_marked(bed, mark))
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGTERM)
        try:
            job.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    end = time.monotonic() + _GRACE_S
    while left := _marked(bed, mark):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            break
        time.sleep(0.02)
    remove_files(held)


def _marked(bed: BedState, mark: str) -> set[int]:
    wanted = f"{_MARK}={mark}".encode()
    found = set()
    for pid in ns.processes_in(bed.owned):
        with suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.add(pid)
    return found


def _allow_root(environment: Mapping[str, str]) -> dict[str, str]:
    """Open MPI runs as root where it is asked to twice."""
    allowed = (
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if os.geteuid() == 0
        else {}
    )
    return {**os.environ, **allowed, **environment}


def mpiexec_words(name: str) -> str:
    """An `mpiexec` on a bed, as a shell would split it.

    The number of ranks and the program follow.
    """
    return shlex.join(inside_command("mpiexec", name))
