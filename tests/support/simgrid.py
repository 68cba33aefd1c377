"""SimGrid's replay of a trace that conset wrote: `smpirun`, of the package libsimgrid-dev."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

SETTINGS = (
    "network/model:CM02",  # bytes over bandwidth plus latency, no factors
    "network/TCP-gamma:0",
    "network/crosstraffic:0",
    "network/optim:Full",
    "smpi/simulate-computation:no",
)
RENDEZVOUS = ("smpi/async-small-thresh:0", "smpi/send-is-detached-thresh:0")
"""What `ready` means: a send waits for its receive, whatever its size."""


def has_simgrid() -> bool:
    """Whether it is installed."""
    return shutil.which("smpirun") is not None


def replay(trace: Path, ranks: int, *settings: str) -> float:
    """Seconds that SimGrid says a trace takes, with the platform beside it."""
    command = ["smpirun", "-np", str(ranks), "-replay", f"{trace.stem}.traces"]
    command += ["-platform", f"{trace.stem}.platform.xml", "-hostfile", f"{trace.stem}.hosts"]
    command += [f"--cfg={each}" for each in (*SETTINGS, *settings)]
    command += ["--log=smpi_config.thres:warning", "--log=xbt_cfg.thres:warning"]
    done = subprocess.run(
        command,
        cwd=trace.parent,
        env=os.environ | {"TMPDIR": str(trace.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.findall(r"Simulation time ([0-9.e+-]+)", done.stdout + done.stderr)
    if done.returncode or not found:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return float(found[-1])
