"""The Python interface.

What it shows, what it refuses and in which words, constructors from other libraries.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import conset
from conset.base.errors import ConsetError, InputError, UsageError
from conset.base.notebook import html_of
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern

FUNCTIONS = [name for name in conset.__all__ if inspect.isfunction(getattr(conset, name))]
ROOT = Path(conset.__file__).parent


def in_new_process(code: str) -> str:
    """What a program prints that has imported nothing yet."""
    environment = {"PYTHONPATH": str(ROOT.parent), "PATH": "", "PAGER": "cat"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


# What is shown


def test_the_help_of_the_package_names_everything() -> None:
    lines = [line.split() for line in inspect.getdoc(conset).splitlines()]
    named = [words[0] for words in lines if len(words) > 2]
    for name in set(conset.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(conset, name))
        assert named.count(name) == 1, name
    assert sorted(conset.__all__, key=str) == list(conset.__all__)
    assert set(conset.__all__) <= set(dir(conset))
    with pytest.raises(AttributeError, match="compil"):
        conset.compil  # noqa: B018


def test_packages_export_what_their_stubs_name() -> None:
    """Type checkers read the stubs, and so does the loader: every name of each exists."""
    for stub in sorted(ROOT.rglob("__init__.pyi")):
        package = ".".join(("conset", *stub.parent.relative_to(ROOT).parts))
        module = importlib.import_module(package)
        named = {
            alias.name
            for node in ast.parse(stub.read_text()).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert named == set(module.__all__) - {"__version__"}, package
        assert all(hasattr(module, name) for name in named), package
        modules = {path.stem for path in stub.parent.iterdir()}
        assert not named & modules, package  # a module of the package would hide the name
    assert (ROOT / "py.typed").is_file()


def test_help_and_dir_need_nothing_loaded() -> None:
    shown = in_new_process(
        "import conset, sys; print(*dir(conset)); print('numpy' in sys.modules); help(conset)"
    )
    assert set(conset.__all__) <= set(shown.splitlines()[0].split())
    assert shown.splitlines()[1] == "False"
    for line in (
        "compile       A schedule of a pattern on a machine.",
        "class Exchange(",
        "run(schedule: ",
    ):
        assert line in shown


def test_an_executor_is_there_before_mpi_starts() -> None:
    code = (
        "import conset, sys; conset.Exchange, conset.plan, conset.Plan; print('mpi4py.MPI' in "
        "sys.modules)"
    )
    assert in_new_process(code) == "False\n"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_written_out(name: str) -> None:
    function = getattr(conset, name)
    described = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        assert parameter.annotation not in (parameter.empty, "Any", Any)
        assert (
            len(inspect.signature(function).parameters) < 3
            or f"\n    {parameter.name}: " in described
        )


@pytest.mark.parametrize(
    "module", ["conset", "conset.api", "conset.inputs", "conset.pattern.pattern"]
)
def test_examples_hold(module: str) -> None:
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


# What is refused


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_argument_is_named_with_the_nearest(name: str) -> None:
    function = getattr(conset, name)
    known = list(inspect.signature(function).parameters)[-1]
    with pytest.raises(conset.ArgumentError) as caught:
        function(**{f"{known}s": 1})
    assert str(caught.value) == f"{name}: unknown argument '{known}s', did you mean '{known}'?"
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, UsageError)
    with pytest.raises(TypeError, match=f"^{name}: unknown argument 'zzz', known: "):
        function(zzz=1)


def test_a_misspelt_method() -> None:
    with pytest.raises(
        TypeError, match=r"^compile: unknown argument 'metod', did you mean 'method'\?$"
    ):
        conset.compile("alltoall", "mesh:4x4", metod="x")
    with pytest.raises(
        UsageError, match=r"^unknown method 'first-fi': did you mean 'first-fit'\?$"
    ):
        conset.compile("alltoall", "mesh:4x4", method="first-fi")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'machine'"):
        conset.compile("alltoall")


@pytest.fixture(scope="module")
def schedule() -> conset.Schedule:
    return conset.compile("alltoall", "mesh:4x4", method="first-fit")


CALLS: list[tuple[str, Any]] = [
    ("parts is for .mtx", lambda _: conset.load_pattern("alltoall", "mesh:4x4", parts=3)),
    (
        "rows_to = -1: must be at least 1",
        lambda _: conset.load_pattern("alltoall", "mesh:4x4", rows_to=-1),
    ),
    (
        "ranks_per_node 0: must be at least 1",
        lambda _: conset.load_pattern("alltoall", "mesh:4x4", ranks_per_node=0),
    ),
    (
        "ranks_per_node 0: must be at least 1",
        lambda _: conset.compile("alltoall", "mesh:4x4", ranks_per_node=0),
    ),
    ("in_flight 0: must be", lambda s: conset.simulate(s, in_flight=0)),
    ("receives 'x y': must be", lambda s: conset.simulate(s, receives="x y")),
    (
        "lanes 2: a circuit has its links alone",
        lambda s: conset.simulate(s, model="circuit", lanes=2),
    ),
    ("unknown receive order 'lists'", lambda s: conset.simulate(s, receive_order="lists")),
    (
        "lp: the linear program is about free routes; add routes free",
        lambda s: conset.bound(s.pattern, "mesh:4x4", lp=True),
    ),
    (
        "rank_by flow: goes with methods auto or sync auto",
        lambda _: conset.compare("shift", "ring:4", methods="naive", sync="none", rank_by="flow"),
    ),
    (
        "methods: at least one method required",
        lambda _: conset.compare("shift", "ring:4", methods=[]),
    ),
    (
        "sync naive=none: naive is",
        lambda _: conset.compare("shift", "ring:4", methods="lp", sync="naive=none"),
    ),
    (
        "its costs stand in a machine file or in conset.machine.spec.with_settings",
        lambda _: conset.load_machine("x.toml,link=1GB/s"),
    ),
    ("bound of a pattern: a machine is required", lambda s: conset.bound(s.pattern)),
    ("bound of a schedule: machine is the schedule's own", lambda s: conset.bound(s, "mesh:4x4")),
    (
        "placement[0] = 16: must be from 0 to 15",
        lambda s: conset.bound(s.pattern, "mesh:4x4", placement=[16] * 16),
    ),
    (
        "placement has shape (3,)",
        lambda s: conset.bound(s.pattern, "mesh:4x4", placement=[0, 1, 2]),
    ),
    ("simulate a trace: a machine is required", lambda _: conset.simulate("trace.csv")),
    ("mpiexec: must name a command", lambda s: conset.run(s, mpiexec="")),
]


@pytest.mark.parametrize(("said", "call"), CALLS)
def test_errors_speak_python(schedule: conset.Schedule, said: str, call: Any) -> None:
    with pytest.raises(ConsetError) as caught:
        call(schedule)
    assert said in str(caught.value)
    assert "--" not in str(caught.value)
    assert "\n" not in str(caught.value)


def messages_of(path: Path) -> list[str]:
    """The texts of what a file raises."""
    raised = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
    ]
    parts = (part for node in raised for part in ast.walk(node))
    return [
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def test_no_error_of_the_library_is_spelled_as_on_the_command_line() -> None:
    files = [path for path in ROOT.rglob("*.py") if path.parent.name != "cli"]
    messages = [(path.name, text) for path in files for text in messages_of(path)]
    assert len(messages) > 500
    assert [
        (name, text) for name, text in messages if re.search(r"(?<![\w-])--([a-z]|$)", text)
    ] == []


# From other libraries


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[0, 1, 2]], "matrix has shape (1, 3): one row and one column for each rank required"),
        (np.zeros((0, 0)), "matrix has shape (0, 0): one row"),
        ([1, 2], "matrix has shape (2,): one row"),
        ([[0, 0.5], [0, 0]], "matrix[0, 1] = 0.5: must be whole bytes from 0 to 2^62"),
        ([[0, 0], [-3, 0]], "matrix[1, 0] = -3: must be whole bytes"),
        ([[0, np.nan], [0, 0]], "matrix[0, 1] = nan: must be whole bytes"),
        ([[0, 2.0**63], [0, 0]], "must be whole bytes from 0 to 2^62"),
        ([[0, 2**62], [2**62, 0]], "size: all messages together are 9.22e+18 B, at most 2^62 B"),
        ([["a", "b"], ["c", "d"]], "matrix[0, 0]: whole numbers of bytes required, given <U1"),
        (csr_matrix([[0, -1], [0, 0]]), "matrix[0, 1] = -1: must be whole bytes"),
    ],
)
def test_matrices_that_are_no_pattern(matrix: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        Pattern.from_matrix(matrix)
    assert said in str(caught.value)


def test_messages_say_how_many_ranks_there_are() -> None:
    pattern = Pattern.from_messages([0, 4, 4], [2, 4, 1], [8, 16, 0])
    assert (pattern.ranks, pattern.messages, pattern.local_bytes) == (5, 1, 16)
    with pytest.raises(InputError, match="ranks: required where there are no messages"):
        Pattern.from_messages([], [], [])
    with pytest.raises(InputError, match=r"source\[0\] = -1: must be a rank from 0 to 3"):
        Pattern.from_messages([-1], [3], [8])


class FakeGraph:
    """What is asked of a graph of networkx, which is not installed here."""

    def __init__(
        self,
        nodes: dict[Any, dict[str, Any]],
        edges: list[tuple[Any, Any, dict[str, Any]]],
        directed: bool,
    ) -> None:
        self._nodes, self._edges, self._directed = nodes, edges, directed

    def nodes(self, data: bool) -> list[tuple[Any, dict[str, Any]]]:
        return list(self._nodes.items())

    def edges(self, data: bool) -> list[tuple[Any, Any, dict[str, Any]]]:
        return self._edges

    def is_directed(self) -> bool:
        return self._directed


def two_hosts(**attributes: Any) -> FakeGraph:
    nodes = {"spine": {"switch": True}, "a": {}, "b": {"label": "host b"}}
    return FakeGraph(
        nodes, [("a", "spine", attributes), ("spine", "b", {"rate": "2 GB/s"})], directed=False
    )


def test_a_graph_of_networkx() -> None:
    topology = Topology.from_networkx(two_hosts(width=2, rate=1e9))
    assert (topology.endpoints, topology.nodes, topology.labels) == (2, 3, ("a", "host b", "spine"))
    links = zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
    assert list(links) == [(0, 2), (1, 2), (2, 0), (2, 1)]
    assert topology.widths().tolist() == [2, 1, 2, 1]
    assert topology.link_rate_Bps.tolist() == [1e9, 2e9, 1e9, 2e9]
    assert conset.compile("alltoall", topology, method="first-fit").phases == 1


def test_a_directed_graph_with_numbers_for_names_and_parallel_edges() -> None:
    nodes = {0: {}, 1: {"type": "endpoint"}, np.int64(2): {"type": "router"}}
    edges = [(0, 2, {}), (2, 1, {}), (1, 0, {}), (1, 0, {"width": np.int32(3)})]
    topology = Topology.from_networkx(FakeGraph(nodes, edges, directed=True))
    assert (topology.labels, topology.links, topology.endpoints) == ((), 4, 2)
    assert topology.widths().tolist() == [1, 1, 3, 1]


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (SimpleNamespace(nodes=3), "graph: a graph of networkx required, given SimpleNamespace"),
        (FakeGraph({}, [], False), "graph: has no nodes"),
        (FakeGraph({"s": {"switch": True}}, [], False), "graph: 1 node, all switches"),
        (FakeGraph({1: {}, "1": {}}, [], False), "graph: node '1': node '1' is given twice"),
        (
            FakeGraph({1: {}, 2: {}}, [], False),
            "graph: disconnected: node 0 '1' cannot reach node 1 '2'",
        ),
        (
            FakeGraph({1: {}}, [(1, 1, {})], False),
            "graph: edge (1, 1): edge joins node '1' to itself",
        ),
        (
            two_hosts(width=0),
            "graph: edge ('a', 'spine'): width '0': must be a whole number from 1",
        ),
        (two_hosts(rate=-1), "graph: edge ('a', 'spine'): rate '-1 B/s': must be above 0 B/s"),
        (
            two_hosts(rate=float("nan")),
            "graph: edge ('a', 'spine'): rate 'nan B/s': must be finite",
        ),
        (
            two_hosts(),
            "graph: edge ('a', 'spine'): a link without a rate beside links with one needs the "
            "machine's `link` (`rate_Bps`)",
        ),
    ],
)
def test_graphs_that_are_no_network(graph: Any, said: str) -> None:
    with pytest.raises(ConsetError) as caught:
        Topology.from_networkx(graph)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "topology",
    [
        Topology.mesh(4, 3),
        Topology.torus(4, 4, width=2),
        Topology.ring(5),
        Topology.hypercube(3),
        Topology.crossbar(6),
    ],
)
def test_a_network_alone_is_a_machine_with_the_default_costs(topology: Topology) -> None:
    machine = conset.load_machine(topology)
    assert conset.load_machine(machine.name) == machine
    assert conset.load_machine(machine.to_spec()) == machine


# What is new


def test_comparing_patterns_and_machines() -> None:
    matrix = Pattern.from_matrix(np.ones((16, 16), int))
    found = conset.compare(
        [matrix, "shift"],
        ["mesh:4x4", Topology.mesh(2, 8)],
        methods=["naive", "bounded"],
        by="formula",
    )
    places = [(row["pattern_name"], row["machine"], row["method"]) for row in found.rows]
    assert len(places) == len(set(places)) == 2 * 2 + 2
    assert {(skip["pattern_name"], skip["method"]) for skip in found.skipped} == {
        ("shift", "bounded")
    }
    assert [s.method for s in found.schedules] == [row["method"] for row in found.rows]
    assert len(found.terms) == len(found.rows)
    assert found.by == "formula"
    json.dumps(found.rows)
    one = conset.compare(matrix, "mesh:4x4", methods="naive,bounded", by="formula")
    assert [row["time_s"] for row in one.rows] == [row["time_s"] for row in found.rows[:2]]
    with pytest.raises(InputError, match="bounded"):
        conset.compare("shift", ["mesh:4x4", "ring:4"], methods=["bounded"])


def test_limits_as_a_noun_or_in_words() -> None:
    limits = conset.Limits(send=2, receive=2, link=3, duplex="exchange")
    one = conset.compile("alltoall", "mesh:4x4", method="first-fit", limits=limits)
    assert one == conset.compile(
        "alltoall", "mesh:4x4", method="first-fit", limits="send=2,receive=2,link=3,duplex=exchange"
    )
    assert one.limits == limits


def test_a_plan_of_a_schedule_or_of_its_file(tmp_path: Path, schedule: conset.Schedule) -> None:
    conset.write(schedule, tmp_path / "s.json")
    plan = conset.plan(tmp_path / "s.json", sync="local", in_flight=2)
    assert plan == conset.plan(schedule, sync="local", in_flight=2) != conset.plan(schedule)
    assert (plan.ranks, plan.transfers, str(plan.sync), plan.in_flight) == (16, 240, "local", 2)


# In a notebook


def test_nouns_show_themselves_though_nobody_imported_the_report() -> None:
    code = (
        "import conset, sys\n"
        "pattern = conset.Pattern.from_matrix([[0, 8], [8, 0]])\n"
        "before = 'conset.report.page' in sys.modules\n"
        "print(before, pattern._repr_html_().startswith('<div'), "
        "conset.Topology.ring(4)._repr_html_())\n"
        "from conset.machine.machine import Machine\n"
        "print(conset.load_machine('ring:4')._repr_html_().count('Machine'))"
    )
    assert in_new_process(code) == "False True None\n1\n"
    code = (
        "from conset.pattern.pattern import Pattern; "
        "print(Pattern.from_matrix([[0]])._repr_html_()[:4])"
    )
    assert in_new_process(code) == "<div\n"


def test_what_has_no_form_is_shown_by_its_repr() -> None:
    assert html_of(object()) is None
