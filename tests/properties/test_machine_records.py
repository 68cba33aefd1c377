"""A machine is what its file says.

Whatever was changed, a file gives back the same machine and opens no other file.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import conset
from conset.base.errors import InputError
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.costs import Costs, Limits, Provenance, Steps, Synchronization
from conset.machine.file import machine_from_object
from conset.machine.machine import Machine, with_mode
from conset.machine.network.topology import Topology
from conset.machine.spec import machine_of_record, parse_machine, with_settings
from conset.machine.words import PARAMETERS
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.timeline import read_record, write_timeline
from conset.models.workload import Workload
from conset.pattern.spec import parse_pattern
from conset.schedule.document import machine_of
from conset.schedule.files.compiled import document_of, read_compiled, write_compiled
from conset.schedule.files.documents import read_document
from conset.verification import verify
from support.hand_made import machine_on, same_machine

GRAPH = {
    "name": "a graph",
    "network": {
        "kind": "graph",
        "nodes": 5,
        "endpoints": 4,
        "labels": ["a", "b", "c", "d", "s"],
        "links": [[0, 4], [1, 4], [2, 4], [3, 4], [0, 1]],
        "widths": [1, 2, 1, 1, 3],
        "rates": ["1 GB/s", "machine", "3 Gb/s", "0.3 us/B", "7 MB/s"],
        "routes": [[0, 4, 1], [2, 4, 1, 0]],
    },
    "costs": {
        "link": "2 GB/s",
        "overhead": {"value": "3 us", "tag": "printed", "source": "a table"},
    },
    "methods": {"naive": {"send_overhead": "5 us", "port": "none"}},
    "modes": {"quick": {"receive_overhead": 0}, "slow": {"port": "1 MB/s", "overlap": 0.5}},
    "mode": "slow",
    "limits": {"send": 2, "methods": ["lp"]},
}
BASES: tuple[Machine, ...] = (
    *map(parse_machine, ("iwarp:4x4", "ipsc860:8", "delta:2x4", "paragon:4x4", "mesh:3x3")),
    *map(parse_machine, ("torus:4x4,tie=plus,width=2", "hypercube:0")),
    *map(parse_machine, ("ring:5,routing=no-wrap", "crossbar:6,port=none", "mesh:3x4,dead=2;7-11")),
    machine_from_object(GRAPH, "graph"),
    machine_on(Topology.hypercube(3), "by hand"),
    machine_on(Topology.mesh(3, 3), "mesh:3x3"),
)

times = st.one_of(st.just(0.0), st.floats(0, 1e6), st.floats(1e-9, 1e-3))
rates = st.one_of(st.just(inf), st.floats(1e-3, 1e18), st.floats(1e6, 1e11))
sizes = st.one_of(st.integers(0, 2**16), st.integers(0, 2**62)).map(float)
counts = st.one_of(st.none(), st.integers(1, 2**31 - 1))
limits = st.lists(st.integers(0, 10**6).map(float), unique=True, max_size=3).map(sorted)


@st.composite
def steps(draw: st.DrawFn) -> Steps:
    ends = (*draw(limits), inf)
    return Steps(tuple(draw(times) for _ in ends), ends)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(("wormhole", "circuit", "flow", "packet")),
    **dict.fromkeys(("send_overhead", "receive_overhead", "inject", "eject"), steps()),
    "hop_by_size": st.none() | steps(),
    **dict.fromkeys(("port_out_Bps", "port_in_Bps", "node_Bps", "link_Bps", "copy_Bps"), rates),
    **dict.fromkeys(
        (
            "hop_s",
            "jitter_s",
            "setup_s",
            "signal_s",
            "per_transfer_s",
            "computation_s",
            "startup_s",
        ),
        times,
    ),
    "exchange_weight": st.floats(0.5, 1),
    "exchange_syncs": st.sampled_from(((), ("ready",), ("local", "ready"), ("none", "barrier"))),
    "synchronization": st.builds(
        Synchronization, times.flatmap(lambda t: st.sampled_from((t, -t))), times
    ),
    "first_barrier": st.booleans(),
    "tolerance": st.integers(1, 2**31 - 1),
    "blocking": st.floats(0, 10),
    **dict.fromkeys(("in_flight", "receives", "outstanding_receives"), counts),
    "lanes": st.integers(1, 2**31 - 1),
    "receive": st.sampled_from(("before", "after")),
    "eager_B": st.none() | sizes | st.just(inf),
    "buffers_B": sizes | st.just(inf),
    "overlap": st.floats(0, 1),
    "flit_B": st.integers(1, 2**62),
    "packet_B": st.integers(1, 4096).map(float),
    **dict.fromkeys(
        ("link_buffers_B", "window_B"), st.just(inf) | st.integers(4096, 2**62).map(float)
    ),
    "size_range_B": st.tuples(
        st.integers(0, 4096).map(float), st.just(inf) | st.integers(4096, 2**40).map(float)
    ),
}
OF_CIRCUITS = ("reconfigure_s", "partial")
"""Of crossbars alone: `tests/unit/test_circuits.py` has them."""
PROCESSORS = st.sampled_from((("one", True), ("one", False), ("two", False), ("shared", False)))
LETTERS = st.characters(exclude_categories=("Cc", "Cf", "Cs"))
"""Files refuse control characters."""
TEXTS = st.text(LETTERS, max_size=5)
ORIGINS = st.builds(
    Provenance,
    st.sampled_from(("printed", "given", "default", "unknown")),
    TEXTS,
    st.sampled_from((1.0, 1.25, 10.0)),
)


def test_every_field_is_drawn() -> None:
    assert {*VALUES, *OF_CIRCUITS, "processors", "preempts", "provenance"} == {
        field.name for field in fields(Costs)
    }


@st.composite
def costs_of_any_kind(draw: st.DrawFn) -> Costs:
    """Costs with all fields drawn, and sources for some of the words."""
    processors, preempts = draw(PROCESSORS)
    own = {name: draw(values) for name, values in VALUES.items()}
    sources = draw(
        st.dictionaries(
            st.sampled_from(
                [
                    word
                    for word, entry in PARAMETERS.items()
                    if not entry.covers and entry.fields[0] not in OF_CIRCUITS
                ]
            ),
            ORIGINS,
        )
    )
    return Costs(**own, processors=processors, preempts=preempts, provenance=sources)


def through_a_file(machine: Machine) -> Machine:
    return machine_of_record(json.loads(json.dumps(machine.to_spec(), allow_nan=False)))


@given(
    st.sampled_from(BASES),
    st.lists(costs_of_any_kind(), min_size=2, max_size=2),
    st.text(LETTERS, min_size=1, max_size=9),
)
def test_costs_made_by_hand(base: Machine, costs: list[Costs], name: str) -> None:
    machine = replace(
        base, name=name, costs=costs[0], method_costs={"naive": costs[1], "lp": costs[0]}
    )
    again = through_a_file(machine)
    assert same_machine(again, machine)
    assert again.to_spec() == machine.to_spec()


def settings_of(word: str) -> st.SearchStrategy[str]:
    """A value of a word as people write it."""
    entry = PARAMETERS[word]
    if word in ("model", "processors", "receive"):
        known = {
            "model": ("wormhole", "circuit"),
            "processors": ("one",),
            "receive": ("before", "after"),
        }
        return st.sampled_from(known[word])
    if word in ("preempts", "first_barrier"):
        return st.sampled_from(("true", "false"))
    if word == "exchange_syncs":
        return st.sampled_from(("local;ready", "ready"))
    if word == "size_range":
        return st.just("256B;16KiB")
    if word in ("packet", "link_buffers", "window"):  # which hold a packet
        low, high = (1, 1448) if word == "packet" else (1448, 2**20)
        return st.integers(low, high).map(lambda size: f"{size}B")
    if entry.si == "B":
        return st.integers(1, 2**20).map(lambda size: f"{size}B")
    if entry.si == "B/s":
        return st.floats(1e-3, 900).map(lambda rate: f"{rate!r} Gb/s") | st.just("none")
    if entry.si == "s":
        return st.floats(0, 999).map(lambda time: f"{time!r}us")
    if entry.unit in ("share of a byte", "share of a transfer"):
        return st.floats(0.5, 1).map(repr)
    return st.integers(1, 10).map(str)


LEFT_OUT = ("switching", "reconfigure", "partial")
"""Of the words: one sets others, two are of circuit switches."""
PAIRS = st.sampled_from([word for word in PARAMETERS if word not in LEFT_OUT]).flatmap(
    lambda word: settings_of(word).map(lambda value: f"{word}={value}")
)


def may_act(machine: Machine, pair: str) -> bool:
    """A crossbar refuses costs of links."""
    return machine.topology.kind != "crossbar" or not pair.startswith(("link=", "hop"))


@given(st.sampled_from(BASES), st.lists(PAIRS, min_size=1, max_size=6), st.booleans(), st.data())
def test_settings_and_modes(
    base: Machine, pairs: list[str], before: bool, data: st.DataObject
) -> None:
    pairs = [pair for pair in pairs if may_act(base, pair)]
    words = ",".join(["processors=one", *pairs])
    machine = base if before else with_settings(base, words)
    if base.modes:
        machine = with_mode(machine, data.draw(st.sampled_from(sorted(base.modes))))
    machine = with_settings(machine, words) if before else machine
    again = through_a_file(machine)
    assert same_machine(again, machine)
    for mode in base.modes:
        assert same_machine(
            with_mode(again, mode),
            replace(with_mode(machine, mode), name=with_mode(again, mode).name),
        )


@given(st.sampled_from(BASES[:9]), st.lists(PAIRS, max_size=4))
def test_a_spec_with_options_builds_the_machine_of_its_record(
    base: Machine, pairs: list[str]
) -> None:
    pairs = [pair for pair in pairs if may_act(base, pair)]
    machine = parse_machine(",".join([base.name, "processors=one", *pairs]))
    assert same_machine(machine_of_record(machine.name), machine)
    assert same_machine(through_a_file(machine), machine)


@pytest.mark.parametrize("base", BASES, ids=lambda machine: machine.name)
def test_network_limits_and_notes(base: Machine) -> None:
    machine = replace(
        base,
        notes=("one", "two"),
        limits=Limits(channels=9, duplex="exchange"),
        limits_methods=("lp",),
    )
    assert same_machine(through_a_file(machine), machine)
    assert same_machine(through_a_file(base), base)


def test_a_machine_that_differs_is_not_the_same() -> None:
    base = parse_machine("mesh:3x4,dead=2")
    assert base.topology.link_width is None
    rated = replace(base.topology, link_rate_Bps=np.full(base.topology.links, 1e9))
    for other in (
        replace(base, name="x"),
        replace(base, notes=("x",)),
        replace(base, limits=Limits(send=1)),
        replace(base, topology=rated),
        replace(base, topology=parse_machine("mesh:3x4,dead=3").topology),
        replace(base, costs=replace(base.costs, lanes=2)),
        replace(base, costs=replace(base.costs, provenance={})),
        replace(base, method_costs={"naive": base.costs}),
    ):
        assert not same_machine(base, other)
        assert not same_machine(other, base)
        assert same_machine(through_a_file(other), other)
    iwarp = parse_machine("iwarp:4x4")
    assert not same_machine(
        iwarp, replace(iwarp, modes={**iwarp.modes, "systolic": iwarp.modes["spooling"]})
    )
    assert not same_machine(
        parse_machine("torus:4x4"), replace(parse_machine("torus:4x4,tie=plus"), name="torus:4x4")
    )


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_schedule_file_keeps_changed_costs(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    named_as_a_preset = replace(parse_machine("crossbar:16,port=1MB/s"), name="paragon:4x4")
    for machine in (
        named_as_a_preset,
        with_settings(parse_machine("paragon:4x4"), "synchronization=0,send_overhead=2us"),
        with_mode(with_settings(parse_machine("iwarp:4x4"), "port=8MB/s"), "spooling"),
        with_settings(machine_from_object(GRAPH, "graph"), "link=1GB/s"),
    ):
        schedule = conset.compile(
            "alltoall,size=64", machine, method="coloring" if machine.limits.send else "first-fit"
        )
        write_compiled(schedule, path)
        again = read_compiled(path)
        assert same_machine(again.machine, machine)
        assert conset.predict(again).to_object() == conset.predict(schedule).to_object()


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_timeline_file_keeps_changed_costs(tmp_path: Path, suffix: str) -> None:
    changed = "setup=3us,port=8MB/s,mode=spooling"
    machine = with_settings(parse_machine("iwarp:4x4"), changed)
    timeline = find_model("flow").simulate(
        Workload.of_schedule(conset.compile("shift", machine)), machine, Settings()
    )
    for words in (changed, None):
        write_timeline(
            timeline, tmp_path / f"t.{suffix}", machine=machine, changed=words, settings=Settings()
        )
        again = read_record(tmp_path / f"t.{suffix}").machine
        assert again is not None
        assert same_machine(again, machine)


def test_a_program_file_keeps_changed_costs(tmp_path: Path) -> None:
    machine = replace(with_settings(parse_machine("iwarp:4x4"), "setup=3us"), notes=("own",))
    request = CompileOptions("connections")
    block = BlockSpec("shift", parse_pattern("shift", topology=machine.topology), 2, request)
    write_compiled(document_of(compile_program([block], machine, request)), tmp_path / "p.json")
    document = read_document(tmp_path / "p.json")
    assert verify(document).ok
    assert same_machine(machine_of_record(document.machine), machine)
    assert same_machine(machine_of(document.schedules[0]), machine)


def test_reading_opens_no_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ext.toml").write_text("[network]\nkind = 'crossbar'\nnodes = 4\n")
    (tmp_path / "net.edges").write_text("0 1\n")
    assert parse_machine("ext.toml").topology.nodes == 4
    for record in (
        "ext.toml",
        "ext.toml ",
        " ext.toml",
        "./ext.toml",
        "net.edges",
        str(tmp_path / "ext.toml"),
        "ext",
    ):
        with pytest.raises(InputError, match=r"carries the whole object|unknown machine"):
            machine_of_record(record)
    with pytest.raises(InputError, match="names a file"):
        machine_of_record({"network": {"graph": "net.edges"}})
