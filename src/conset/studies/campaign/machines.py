"""Machines of a campaign: stated, or calibrated once and kept.

And what stands while their cases run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from conset.base import VERSION
from conset.base.errors import ConsetError, InputError, unknown_argument
from conset.base.files import replacing
from conset.base.json_text import parse_json
from conset.machine.machine import Machine
from conset.machine.record import machine_of_record, record_of
from conset.machine.spec import parse_machine, with_settings
from conset.studies.campaign.campaign import MachineSource

FOLDER = "machines"
"""Of calibrated machines, in a campaign's folder."""


TESTBED_TTL_S = 7200.0
"""Longest life of a testbed [s]."""


@dataclass(frozen=True)
class Standing:
    """What jobs on a machine need.

    Attributes:
        network: its structure, as a spec.
        mpiexec: how they are started, or None for the wheel's launcher.
    """

    network: str
    mpiexec: str | None


def known_machine(source: MachineSource, folder: Path | None) -> Machine | None:
    """The machine, or None where it has to be calibrated first."""
    if not source.calibrate:
        return source.stated()
    path = None if folder is None else _record_path(folder, source)
    if path is None or not path.is_file():
        return None
    try:
        kept = parse_json(path, constants=True)
        machine = machine_of_record(kept["machine"]) if kept["of"] == _identity(source) else None
    except (KeyError, TypeError, ValueError, ConsetError) as error:
        raise InputError(
            f"{path}: is no machine that was calibrated, remove it to calibrate again: {error}"
        ) from None
    return (
        machine
        if machine is None or source.settings is None
        else with_settings(machine, source.settings)
    )


def known_start_s(source: MachineSource, folder: Path | None) -> float:
    """How far apart ranks begin after a barrier, where that was calibrated, else 0 [s].

    It is part of every measured time and of no model.
    """
    path = None if folder is None or not source.calibrate else _record_path(folder, source)
    return (
        0.0
        if path is None or not path.is_file()
        else float(parse_json(path, constants=True)["start_s"])
    )


def calibrate_machine(
    source: MachineSource, standing: Standing, options: Mapping[str, Any], folder: Path | None
) -> tuple[Machine, float]:
    """(the machine with the costs that were measured, how far apart its ranks begin [s]).

    Kept beside the results.

    Raises:
        ConsetError: as `conset.studies.calibrate.calibrate`.
    """
    # calibrations start jobs too and are loaded where a file asks for one
    calibrate = import_module("conset.studies.calibrate").calibrate
    network = parse_machine(standing.network)
    known = signature(calibrate).parameters
    for name in options:
        if name not in known:
            raise unknown_argument("calibration", name, known)
    ranks = source.ranks or network.topology.endpoints * source.ranks_per_node
    found = calibrate(network, ranks=ranks, mpiexec=standing.mpiexec, **options)
    if folder is not None:
        _keep(found, source, folder)
    machine: Machine = found.machine
    start_s = float(found.found.start_s)
    return machine if source.settings is None else with_settings(machine, source.settings), start_s


def _keep(found: Any, source: MachineSource, folder: Path) -> None:
    path = _record_path(folder, source)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "of": _identity(source),
        "machine": record_of(found.machine),
        "start_s": float(found.found.start_s),
        "calibration": found.to_object(),
    }
    found.write(path.with_suffix(".toml"))  # for people, and for other commands
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def _identity(source: MachineSource) -> dict[str, Any]:
    """What a calibration is of; its version is that of the words it measures."""
    return {"spec": source.spec, **source.to_object(), "version": VERSION}


def _record_path(folder: Path, source: MachineSource) -> Path:
    return folder / FOLDER / f"{source.name.replace(' ', '-')}.json"


@contextmanager
def standing(source: MachineSource) -> Iterator[Standing]:
    """Within: the machine is there. A testbed is built, and removed at the end whatever happens.

    Raises:
        ConsetError: this host permits no testbed; says why.
    """
    if source.testbed is None:
        yield Standing(source.spec, source.mpiexec)
        return
    # testbeds stand above this package, which only starts one where a file asks for it
    bed, settings = (
        import_module("conset_testbed").bed,
        import_module("conset_testbed.settings").Settings,
    )
    known = {*signature(bed).parameters, *signature(settings).parameters} - {"settings"}
    for name in source.testbed:
        if name not in known:
            raise unknown_argument(f"machine {source.name}: testbed", name, known)
    # it goes when this process does, whatever its time
    with bed(**{"ttl_s": TESTBED_TTL_S, **source.testbed}) as built:
        yield Standing(source.spec or built.network, built.mpiexec)
