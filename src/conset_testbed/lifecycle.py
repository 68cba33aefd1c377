"""How a bed is built and removed, by a process that may: root, or root of a user namespace.

Only what a bed owns is ever removed: the names of its namespaces are written down before they are
made, and refused where one exists; then a word of the bed's own is written into each. A namespace
of that name without it is somebody else's and stays.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from conset.base import UsageError
from conset.machine import parse_machine
from conset_testbed import addresses as a, commands, namespaces as ns
from conset_testbed.emulator import end_emulator, start_emulator
from conset_testbed.guardian import guardian_of, start_guardian
from conset_testbed.launcher import write_remote_shell
from conset_testbed.settings import Settings
from conset_testbed.state import BedState, read_bed
from conset_testbed.wiring import Wiring, wire


def plan(settings: Settings) -> Wiring:
    """The wiring of a bed, before anything is made.

    Raises:
        ConsetError: the network's words; a network that cannot be a bed; one where back-pressure
            could deadlock.
    """
    machine = parse_machine(settings.network)
    wiring = wire(machine.topology, machine.routing, settings.rate_bps, settings.port_bps)
    if settings.kind.emulated == "credit" and (circle := wiring.cycle()):
        first = wiring.links[circle[0]]
        raise UsageError(
            f"fabric credit on {settings.network}: {len(circle)} buffers wait for each other in a "
            "circle, from link "
            f"{first.source} → {first.target} on: it could deadlock; take fabric fq, or a network "
            "without (mesh, tree)"
        )
    return wiring


def build(settings: Settings, pipe: int | None = None) -> BedState:
    """Builds a bed and sets its guardian over it.

    Args:
        settings: of the bed.
        pipe: reading end of a pipe; when nobody has its other end any more, the bed is removed.

    Raises:
        UsageError: a bed or a namespace of that name exists. UnavailableError: the kernel refused;
            nothing is left.
    """
    wiring = plan(settings)
    spaces = a.namespaces(settings.name, wiring, emulated=settings.emulated)
    links = [(link.source, link.target, link.rate_bps) for link in wiring.links]
    bed = BedState(
        settings, wiring.endpoints, wiring.nodes, links, {}, time.time() + settings.ttl_s
    )
    bed.claim()
    taken = next((name for name in spaces if ns.exists(name)), None)
    if taken is not None:
        bed.forget()
        raise UsageError(
            f"network namespace {taken} exists and is no testbed's: `ip netns del "
            f"{taken}` removes it"
        )
    bed.owned = dict.fromkeys(spaces)
    bed.save()
    try:
        start_guardian(bed.name, settings.ttl_s, pipe)
        ns.add(spaces)
        mark = f"conset-{secrets.token_hex(16)}"
        ns.mark(spaces, mark)
        bed.owned = dict.fromkeys(spaces, mark)
        bed.save()
        _configure(bed, wiring)
    except BaseException:
        remove(bed.name)
        raise
    return bed


def _configure(bed: BedState, wiring: Wiring) -> None:
    settings = bed.settings
    for name in bed.owned:
        ns.set_sysctls(name, commands.sysctls(settings))
    ns.batch("ip", commands.creations(settings, wiring))
    ns.batch("ip", commands.control_lines(bed.endpoints), a.control_namespace(bed.name))
    if settings.emulated:
        start_emulator(bed, commands.description(settings, wiring, str(ns.FOLDER)))
        batches = commands.emulated_lines(settings, wiring)
    else:
        batches = commands.kernel_lines(settings, wiring)
    for name, lines in batches.items():
        ns.batch("ip", lines, name)
    if not settings.emulated:
        for name, lines in commands.queue_lines(settings, wiring).items():
            ns.batch("tc", lines, name)
    write_remote_shell(bed)


@dataclass(frozen=True)
class Removal:
    """What became of a bed.

    Attributes:
        removed: its namespaces that are gone.
        foreign: namespaces of its names that it has not made, and which stay.
        left: those that the kernel did not remove.
    """

    removed: tuple[str, ...]
    foreign: tuple[str, ...]
    left: tuple[str, ...]


def remove(name: str) -> Removal:
    """Removes a bed: its processes, its namespaces, its files, its guardian.

    Raises:
        UsageError: there is none of that name.
    """
    bed = read_bed(name)
    owned = {space: mark for space, mark in bed.owned.items() if ns.exists(space)}
    # what was claimed did not exist then: it is ours also where the process that made it did not
    # live to note the mark
    foreign = [
        space for space, mark in owned.items() if mark is not None and mark != ns.mark_of(space)
    ]
    spaces = [space for space in owned if space not in foreign]
    ns.end_processes(lambda: ns.processes_in(spaces))
    end_emulator(bed)
    ns.remove(spaces)
    guardian = guardian_of(name)
    bed.forget()
    if guardian is not None:
        with suppress(ProcessLookupError):
            os.kill(guardian, signal.SIGTERM)
    left = [space for space in spaces if ns.exists(space)]
    return Removal(tuple(set(spaces) - set(left)), tuple(foreign), tuple(left))
