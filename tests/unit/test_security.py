"""What SECURITY.md says is not there.

Nothing executes input, programs are started in few places, and not from here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import conset
import conset_testbed
from conset.execution.job import start_job
from conset_testbed.access import inside_command

ROOT = Path(__file__).parents[2]
PACKAGES = ("src/conset", "src/conset_testbed", "papers/conset_papers")
LAUNCHERS = {
    "conset/execution/interception.py",
    "conset/execution/job.py",
    *(
        f"conset_testbed/{name}.py"
        for name in ("access", "emulator", "guardian", "launcher", "mpiexec", "namespaces")
    ),
    "conset_testbed/run_with.py",
    # the solver of the examples, with arguments of its own
    "conset_papers/conset_iwarp/mesh_tables.py",
}
"""Modules that start processes."""
EXECUTING = {"eval", "exec", "compile", "__import__"}
UNPICKLING = {"pickle", "cPickle", "dill", "marshal", "shelve", "yaml", "joblib"}
STARTING = {"subprocess", "pty", "popen2"}
STARTING_OF_OS = ("exec", "spawn", "popen", "system", "posix_spawn", "startfile")


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        folder = ROOT / package
        for path in sorted(folder.rglob("*.py")):
            yield (
                path.relative_to(folder.parent).as_posix(),
                ast.parse(path.read_text(encoding="utf-8")),
            )


def imported(tree: ast.Module) -> set[str]:
    names = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """(what is called, as it is written; the call)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def is_said(call: ast.Call, name: str, value: object) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value is value
        for word in call.keywords
    )


@pytest.fixture(scope="module")
def sources() -> dict[str, ast.Module]:
    found = dict(modules())
    assert len(found) > 300
    return found


def test_nothing_executes_or_unpickles(sources: dict[str, ast.Module]) -> None:
    for name, tree in sources.items():
        assert not imported(tree) & UNPICKLING, name
        for function, call in calls(tree):
            assert function not in EXECUTING, f"{name}:{call.lineno}"
            if function.endswith(("np.load", "read_array", "write_array")):
                assert is_said(call, "allow_pickle", False), f"{name}:{call.lineno}"
            assert not is_said(call, "shell", True), f"{name}:{call.lineno}"


def test_only_a_method_that_the_user_names_is_executed(sources: dict[str, ast.Module]) -> None:
    """A file by `exec_module`, a package's by `load` of its entry point; nobody else calls either.

    `find_method`, which is asked for names of any origin, does not lead there.
    """
    given = "conset/methods/phases/given.py"
    for name, tree in sources.items():
        found = {call for call, _ in calls(tree) if call.endswith(("exec_module", "runpy"))}
        assert not found or name == given, name
        if "function_in" in {call for call, _ in calls(tree)}:
            assert name == "conset/methods/phases/table.py"
    called = {name: [call for call, _ in calls(tree)] for name, tree in sources.items()}
    callers = {name for name, words in called.items() if "load_method" in words}
    assert callers == {
        "conset/cli/bound.py",
        "conset/cli/methods.py",
        "conset/compilation/options.py",
        "conset/testing/test_method.py",
    }


def test_programs_are_started_by_launchers_alone(sources: dict[str, ast.Module]) -> None:
    for name, tree in sources.items():
        of_os = [
            f
            for f, _ in calls(tree)
            if f.startswith(tuple(f"os.{start}" for start in STARTING_OF_OS))
        ]
        assert name in LAUNCHERS or not (imported(tree) & STARTING or of_os), name


def test_the_search_finds_what_it_looks_for() -> None:
    tree = ast.parse(
        "import pickle\nfrom subprocess import run\nnp.load(f)\nnp.load(f, "
        "allow_pickle=False)\neval('1')"
    )
    assert imported(tree) == {"pickle", "subprocess"}
    assert [function for function, _ in calls(tree)] == ["np.load", "np.load", "eval"]
    assert [is_said(call, "allow_pickle", False) for _, call in calls(tree)] == [False, True, False]


def test_ranks_import_nothing_of_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, job = tmp_path / "here", tmp_path / "job"
    here.mkdir()
    job.mkdir()
    for name in ("statistics", "conset_testbed", "mpi4py"):
        (here / f"{name}.py").write_text(
            "raise SystemExit('imported from the current directory')\n"
        )
    monkeypatch.chdir(here)
    alone = ["sh", "-c", 'shift; exec "$@"']  # a launcher of one rank
    ended = start_job(
        alone,
        1,
        ["-c", "import statistics, conset_testbed; print(statistics.__file__)"],
        folder=job,
    )
    assert (ended.status, ended.err) == (0, "")
    assert str(here) not in ended.out
    assert inside_command("probe")[1:4] == ["-P", "-m", "conset_testbed"]
    assert Path(conset_testbed.__file__).parents[1] == Path(conset.__file__).parents[1]
