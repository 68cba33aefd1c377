"""The behaviour corpus: commands, their results as recorded, and what they give now.

`commands.txt` lists commands of the command line and expressions of Python in groups. The steps
of a group share a folder, since later ones read what earlier ones wrote. `choices.txt` lists
pairs of a pattern and a machine for which `auto` chooses. `recorded/` holds the results: exit
codes, texts, JSON objects, digests of files, the public names of Python and C.

    python tests/behaviour/corpus.py replay                 compares everything, prints differences
    python tests/behaviour/corpus.py replay -k compare      only what has this in its name
    python tests/behaviour/corpus.py replay --keep DIR      keeps the files that were written
    python tests/behaviour/corpus.py record                 records everything again
    python tests/behaviour/corpus.py record -k compare      only the groups that have such a step

A wanted difference is recorded again in the commit that makes it, and explained there. What
differs from run to run (times of the clock, folders, versions) is replaced by a placeholder. A
large text or object is kept as a digest; `replay --keep` in two checkouts shows what is behind
it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDED = HERE / "recorded"
LONGEST_TEXT = 3000
"""Characters of a text that is kept as it is."""
LONGEST_OBJECT = 4000
"""Characters of a JSON object that is kept as it is."""
CLOCK_KEYS = frozenset(
    {"compile_s", "elapsed_s", "measured_at", "host_system", "rows_s", "schedule_s", "plan_s"}
)
"""Keys of JSON objects whose values the clock or the host gives."""
MACHINE_KEYS = frozenset({"machine", "manifest", "origin"})
"""Keys of files that describe the machine and the file, not the schedule."""
PICTURES = (".svg", ".html")
"""Files whose bytes depend on the version of Matplotlib."""
CALM = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "LANG": "C.UTF-8", "TZ": "UTC"}


@dataclass(frozen=True)
class Step:
    """One line of a group.

    Attributes:
        group: whose folder it uses.
        kind: `run` (a line that begins with `conset`), `process` (in a process of its own), `keys`
            (only exit code and JSON keys are kept), `python` (an expression), `write`, `edit`.
        line: what follows the kind.
    """

    group: str
    kind: str
    line: str

    @property
    def name(self) -> str:
        """Group and line, which is how a step is selected and how its result is found."""
        return f"{self.group}: {self.line}"

    @property
    def compared(self) -> bool:
        """Whether it has a result; others prepare files."""
        return self.kind not in ("write", "edit")


# What is listed


@functools.cache
def groups() -> dict[str, tuple[Step, ...]]:
    """The steps of `commands.txt` by group, and those of `choices.txt` as the group `choices`."""
    found: dict[str, list[Step]] = {}
    group = ""
    for line in lines_of("commands.txt"):
        if line.startswith("["):
            group = line.strip("[]")
            found[group] = []
            continue
        kind, _, rest = line.partition(" ")
        step = Step(group, "run", line) if kind == "conset" else Step(group, kind, rest.strip())
        found[group].append(step)
    found["choices"] = [Step("choices", "choice", line) for line in lines_of("choices.txt")]
    found["surface"] = [Step("surface", "surface", name) for name in ("python", "errors", "c")]
    return {name: tuple(steps) for name, steps in found.items()}


def lines_of(name: str) -> Iterator[str]:
    """Lines of a list, without comments and empty ones."""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def steps() -> list[Step]:
    """Every step that has a result."""
    return [step for each in groups().values() for step in each if step.compared]


# Executing


def command_line() -> Callable[[Sequence[str]], int]:
    """The function behind the `conset` script: words in, exit code out."""
    run: Callable[[Sequence[str]], int] = importlib.import_module("conset.cli.main").run
    return run


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """The same environment everywhere: no colours, one width, nothing of conset's variables."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("CONSET_")]:
        del os.environ[name]
    os.environ.update(CALM)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_words(words: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, output and messages of one command in this process, in the current folder."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        code = command_line()(words)
    return code, out.getvalue(), err.getvalue()


def run_process(words: Sequence[str]) -> tuple[int, str, str]:
    """The same by the installed script."""
    script = Path(sysconfig.get_path("scripts")) / "conset"
    done = subprocess.run(
        [script, *words], capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@functools.cache
def results_of(group: str, keep: str = "") -> dict[str, Any]:
    """Results of all steps of a group by line, executed one after the other in a new folder."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as made, calm():
        folder = Path(made).resolve() / "work"
        folder.mkdir()
        for name in ("sound", "broken", "odd"):
            shutil.copytree(HERE.parent / "corpus" / name, folder / name)
        with contextlib.chdir(folder):
            before = files_in(folder)
            for step in groups()[group]:
                result = ACTIONS[step.kind](step)
                after = files_in(folder)
                if step.compared:
                    changed = {
                        name: folder / name for name in after if after[name] != before.get(name)
                    }
                    if changed:
                        describe = shape_of_file if step.kind == "keys" else describe_file
                        result["files"] = {
                            name: describe(path) for name, path in sorted(changed.items())
                        }
                    found[step.line] = result
                before = after
        if keep:
            shutil.copytree(folder, Path(keep) / group, dirs_exist_ok=True)
    return found


def files_in(folder: Path) -> dict[str, bytes]:
    """What lies in the folder: the digest of every file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def of_command(step: Step) -> dict[str, Any]:
    """The result of a command in this process, or in a new one."""
    words = shlex.split(step.line)[1:]
    code, out, err = (run_process if step.kind == "process" else run_words)(words)
    result: dict[str, Any] = {"exit": code}
    if "--json" in words and out.strip().startswith("{"):
        found = json.loads(out)
        result["json"] = keys_of(found) if step.kind == "keys" else describe_object(found)
        return result if step.kind == "keys" else {**result, **told(err, "messages")}
    if step.kind == "keys":
        return {**result, "lines": bool(out.strip())}
    return {**result, **told(out, "text"), **told(err, "messages")}


def of_python(step: Step) -> dict[str, Any]:
    """What an expression gives: its text, or the error that it raises."""
    conset = importlib.import_module("conset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = eval(step.line, {"conset": conset, "np": np, "Path": Path})
        except conset.ConsetError as error:
            return {
                "error": type(error).__name__,
                "exit": error.exit_code,
                **told(str(error), "text"),
            }
    return told(repr(plain(value)), "text")


def plain(value: Any) -> Any:
    """Values whose text does not depend on how NumPy writes them."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def write_file(step: Step) -> dict[str, Any]:
    """`NAME "text"`: a file that commands read."""
    name, text = shlex.split(step.line)
    Path(name).write_text(text.encode().decode("unicode_escape"), encoding="utf-8")
    return {}


def edit_file(step: Step) -> dict[str, Any]:
    """`NAME NEW "old" "new"`: a copy with one text replaced, which must be there."""
    name, new_name, old, new = shlex.split(step.line)
    text = Path(name).read_text(encoding="utf-8")
    if old not in text:
        raise ValueError(f"{step.name}: {old!r} is not in {name}")
    Path(new_name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return {}


CHOSEN = (
    "method",
    "sync",
    "phases",
    "combine",
    "in_flight",
    "posting",
    "predicted_s",
    "simulated_s",
    "limits",
)
"""Keys of `compile --json` that a choice consists of."""


def of_choice(step: Step) -> dict[str, Any]:
    """What `auto` chooses for `PATTERN on MACHINE OPTIONS`."""
    words = ["compile", *shlex.split(step.line), "--json", "-o", "chosen.json"]
    words[2] = "--on"
    code, out, _ = run_words(words)
    found = rounded(json.loads(out))
    if code:
        return {"exit": code, "message": found["message"]}
    ways = [
        [each["combine"], each["stages"], each["time_s"]] for each in found.get("candidates") or ()
    ]
    stages = [[each["method"], each["sync"], each["phases"]] for each in found.get("stages") or ()]
    chosen: dict[str, Any] = {key: found.get(key) for key in CHOSEN}
    digests = describe_file(Path("chosen.json"))
    Path("chosen.json").unlink()
    return {"exit": 0, **chosen, "ways": ways, "stages": stages, "file": digests["core"]}


def of_surface(step: Step) -> dict[str, Any]:
    """The public names of Python, of errors, or of C."""
    surface = importlib.import_module("behaviour.surface")
    found: dict[str, Any] = getattr(surface, f"{step.line}_surface")(ROOT)
    return found


ACTIONS: Mapping[str, Callable[[Step], dict[str, Any]]] = {
    "run": of_command,
    "process": of_command,
    "keys": of_command,
    "python": of_python,
    "write": write_file,
    "edit": edit_file,
    "choice": of_choice,
    "surface": of_surface,
}


# What is kept of it


def digest(data: bytes | str) -> str:
    """Twelve letters for any data."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:12]


def told(text: str, key: str) -> dict[str, Any]:
    """A text as it is kept: short ones whole, by line, long ones as a digest."""
    text = steady_text(text)
    if not text.strip():
        return {}
    if len(text) <= LONGEST_TEXT:
        return {key: text.splitlines()}
    return {key: {"sha": digest(text), "lines": text.count("\n"), "first": text.splitlines()[:3]}}


BORDERS = "─━│┃┏┓┗┛┡┩┳┻╇╈┼└┘┌┐├┤┬┴"
"""What tables are framed with."""
TIME = r"[\d.]+ (?:ns|us|ms|s|min|h)\b"


def steady_text(text: str) -> str:
    """Texts without folders, times of the clock and widths of columns."""
    text = (
        text.replace(str(Path.cwd()), "FOLDER")
        .replace(str(ROOT), "ROOT")
        .replace(sys.prefix, "PREFIX")
    )
    text = re.sub(rf"(scheduled in|took|compiled in) +{TIME}", r"\1 TIME", text)
    if "compiled in" in text:
        text = re.sub(rf"(?m) {TIME}( \|)?$", r" TIME\1", text)
    text = re.sub(f"[{BORDERS}]+", "─", text)
    text = re.sub(r"-{3,}", "---", text)
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in text.splitlines())


def rounded(value: Any, key: str = "") -> Any:
    """An object with floating-point numbers of 12 digits, and without what the clock says."""
    if key in CLOCK_KEYS:
        return "CLOCK"
    if key == "version":
        return "VERSION"
    if isinstance(value, dict):
        return {name: rounded(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return steady_text(value) if isinstance(value, str) else value


def types_of(value: Any, path: str = "") -> list[str]:
    """The keys of an object with the types of their values, those of lists merged."""
    found: set[str] = set()
    if isinstance(value, dict) and value:
        for key, each in value.items():
            found.update(types_of(each, f"{path}.{key}" if path else key))
    elif isinstance(value, list) and value:
        for each in value:
            found.update(types_of(each, f"{path}[]"))
    else:
        found.add(f"{path}: {'number' if isinstance(value, float) else type(value).__name__}")
    return sorted(found)


def keys_of(value: Any) -> list[str]:
    """The keys of an object, of values that differ from run to run."""
    return sorted({path.split(": ")[0].removesuffix("[]") for path in types_of(value)})


def describe_object(value: Any) -> Any:
    """A JSON object as it is kept: whole, or its digest with keys and the values at its top."""
    steady = rounded(value)
    text = json.dumps(steady, sort_keys=True)
    if len(text) <= LONGEST_OBJECT:
        return steady
    top = {key: each for key, each in steady.items() if not isinstance(each, dict | list)}
    return {"sha": digest(text), "order": list(value), "top": top, "keys": types_of(value)}


def describe_file(path: Path) -> dict[str, Any]:
    """Digests of a file: `sha` of all that it says, `core` without machine and manifest."""
    if path.suffix in (".png", ".parquet"):
        return shape_of_file(path)
    if path.suffix == ".npz":
        return describe_archive(path)
    text = steady_file(path.read_bytes().decode("utf-8", "surrogateescape"))
    if path.suffix == ".md":
        text = steady_text(text)
    found: dict[str, Any] = {
        "size": len(text),
        "sha": digest(text.encode("utf-8", "surrogateescape")),
    }
    if path.suffix in PICTURES:
        found["look"] = look_of(text)
    if path.suffix == ".json":
        value = rounded(json.loads(text))
        found["core"] = digest(json.dumps(without_machine(value), sort_keys=True))
        if isinstance(value, dict) and "schema" in value:
            found["schema"] = value["schema"]
    return found


def steady_file(text: str) -> str:
    """The text of a file without folders."""
    return text.replace(str(Path.cwd()), "FOLDER").replace(str(ROOT), "ROOT")


def look_of(text: str) -> str:
    """What a picture shows with any Matplotlib: its texts and how many of each element."""
    elements = Counter(re.findall(r"<([a-zA-Z][\w:]*)", text))
    texts = [" ".join(each.split()) for each in re.findall(r">([^<>]+)<", text)]
    return digest(json.dumps([sorted(elements.items()), [each for each in texts if each]]))


def describe_archive(path: Path) -> dict[str, Any]:
    """Digests of the arrays of a `.npz` file, whatever its compression."""
    whole, core = hashlib.sha256(), hashlib.sha256()
    with np.load(path, allow_pickle=False) as archive:
        names = sorted(archive)
        for name in names:
            array = archive[name]
            said = f"{name} {array.dtype} {array.shape}".encode() + array.tobytes()
            whole.update(said)
            if array.dtype.kind == "U" and array.shape == () and str(array).startswith("{"):
                said = json.dumps(without_machine(json.loads(str(array))), sort_keys=True).encode()
            core.update(said)
    return {"arrays": names, "sha": whole.hexdigest()[:12], "core": core.hexdigest()[:12]}


def without_machine(value: Any) -> Any:
    """An object without what describes machines and the file itself, at any depth."""
    if isinstance(value, dict):
        return {
            key: without_machine(each) for key, each in value.items() if key not in MACHINE_KEYS
        }
    return [without_machine(each) for each in value] if isinstance(value, list) else value


def shape_of_file(path: Path) -> dict[str, Any]:
    """Only that it is there, and of what kind."""
    return {
        "starts": digest(path.read_bytes()[:4]) if path.suffix in (".png", ".parquet") else "exists"
    }


# Comparing


@functools.cache
def recorded(group: str) -> dict[str, Any]:
    """The results of a group as they were recorded."""
    path = RECORDED / f"{group}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def differences(before: Any, now: Any, path: str = "") -> list[str]:
    """Lines that say where two results differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        found = []
        for key in [*before, *(key for key in now if key not in before)]:
            if key not in now:
                found.append(f"{path}/{key}: gone, was {brief(before[key])}")
            elif key not in before:
                found.append(f"{path}/{key}: new, {brief(now[key])}")
            else:
                found += differences(before[key], now[key], f"{path}/{key}")
        return found
    if isinstance(before, list) and isinstance(now, list) and before != now:
        if len(before) == len(now):
            pairs = zip(before, now, strict=True)
            return [
                line for k, pair in enumerate(pairs) for line in differences(*pair, f"{path}[{k}]")
            ]
        gone = [each for each in before if each not in now]
        new = [each for each in now if each not in before]
        return [
            f"{path}: {len(before)} entries, now {len(now)}; gone {brief(gone)}; new {brief(new)}"
        ]
    return [] if same(before, now) else [f"{path}: was {brief(before)}, is {brief(now)}"]


def same(before: Any, now: Any) -> bool:
    """Equal values of equal type: true is not 1."""
    return bool(before == now) and isinstance(before, bool) == isinstance(now, bool)


def brief(value: Any) -> str:
    """A value in one line that is not too long."""
    text = in_json(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


def check(step: Step, keep: str = "") -> list[str]:
    """Lines that say how a step differs from what is recorded; none where it does not."""
    before = recorded(step.group)
    if step.line not in before:
        return ["not recorded yet"]
    now = json.loads(json.dumps(results_of(step.group, keep)[step.line]))
    return differences(comparable(before[step.line]), comparable(now))


def comparable(result: dict[str, Any]) -> dict[str, Any]:
    """A result without bytes of pictures, where they were recorded with another Matplotlib."""
    if versions() == recorded("versions") or "files" not in result:
        return result
    files = {
        name: {"look": each["look"]} if Path(name).suffix in PICTURES and "look" in each else each
        for name, each in result["files"].items()
    }
    return {**result, "files": files}


@functools.cache
def versions() -> dict[str, str]:
    """The libraries that pictures are drawn with."""
    return {"matplotlib": importlib.metadata.version("matplotlib")}


def record(names: Iterable[str]) -> None:
    """Writes the results of whole groups."""
    RECORDED.mkdir(exist_ok=True)
    write_rows("versions", versions())
    for name in names:
        write_rows(name, results_of(name))


def write_rows(name: str, results: Mapping[str, Any]) -> None:
    """A file with a line for each result."""
    rows = [f"{in_json(line)}: {in_json(result)}" for line, result in results.items()]
    (RECORDED / f"{name}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def in_json(value: Any) -> str:
    """A value in one line."""
    return json.dumps(value, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """`record` or `replay`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("record", "replay", "list"))
    parser.add_argument("-k", dest="named", default="", help="only steps with this in their name")
    parser.add_argument("--keep", default="", help="a folder to keep written files in")
    asked = parser.parse_args(arguments)
    chosen = [step for step in steps() if asked.named in step.name]
    names = list(dict.fromkeys(step.group for step in chosen))
    if asked.what == "list":
        print("\n".join(step.name for step in chosen))
        return 0
    if asked.what == "record":
        record(names)
        return 0
    bad = 0
    began = time.monotonic()
    for step in chosen:
        lines = check(step, asked.keep)
        bad += bool(lines)
        if lines:
            print(step.name, *lines, sep="\n    ")
    print(f"{len(chosen)} steps, {bad} differ, {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    sys.exit(main())
