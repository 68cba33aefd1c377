"""Fuzz of every reader: small sound files, mutated.

What comes out is a result or a `ConsetError`, and soon.

    PYTHONPATH=tests python -m support.fuzz_readers 20000 --seed 7 --only .mtx

Files that are written by hand lie in `corpus/sound`, the others the product itself writes, and
`support.fabrics` those of a fabric. A file is read as its name says (`read`), those of `corpus/odd`
and `corpus/broken` as what stands behind `--`. Files that belong together are read with the sound
others of their kind (`_beside`).

A mutant has `SOON_S` seconds and `ROOM_B` bytes of memory.

The same seed gives the same mutants. A mutant that ends otherwise is kept beside its name; one that
ends the process is the last file in the folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import re
import resource
import signal
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np

from conset import _core
from conset.base.errors import ConsetError, InputError
from conset.base.flat import PLAN_FILE, read_flat
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.programs import compile_program, read_program
from conset.execution.connection_entries import connection_entries
from conset.execution.open_program import read_part
from conset.execution.plan import write_plan_file
from conset.execution.planner import make_plan
from conset.inputs import load_machine
from conset.machine.file import read_machine
from conset.machine.flat_file import write_machine
from conset.machine.hosts import LAUNCHER_FILES
from conset.machine.machine import Machine
from conset.machine.network.graph_files import GRAPH_READERS
from conset.machine.spec import parse_machine
from conset.methods.placements.place import read_placement
from conset.models import Workload
from conset.models.settings import Settings
from conset.models.table import MODELS
from conset.models.timeline import read_record, write_timeline
from conset.models.trace import read_trace
from conset.pattern.layout import read_layout
from conset.pattern.pattern import Pattern
from conset.pattern.readers.demands import read_bandwidths
from conset.pattern.readers.halo import ghost_layout
from conset.pattern.readers.table import READERS
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import document_of, read_compiled, write_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.files.sniff import sniff
from conset.schedule.paths import Paths
from conset.schedule.program import Program
from conset.schedule.schedule import Manifest
from conset.studies.calibrate.measurements import read_measurements
from conset.studies.campaign.campaign import read_campaign
from conset.verification import verify
from support.fabrics import Cluster
from support.mesh_files import SOLID, WITHOUT_LIBRARIES, write_mesh

Found = TypeVar("Found")
MESH = parse_machine("mesh:2x2")
SOON_S = 20
"""A mutant takes milliseconds; what takes that long does not end."""
ROOM_B = 1 << 30
"""Address space of a mutant [B], beyond that of the process; seeds are a few kB."""
EXITS = (2, 3)

CORPUS = Path(__file__).parents[1] / "corpus"
SOUND, ODD, BROKEN = (CORPUS / name for name in ("sound", "odd", "broken"))
"""Small files that mutants are made of; some that are right and look wrong.

Some that are wrong in one way.
"""
BESIDE = "beside.gml"
"""Which `graph.toml` names; no mutant."""
COPIES = {"a.edgelist": "a.edges", "a.txt": "a.edges", "a.mgraph": "a.graph"}
"""One format under several suffixes."""
TEXTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted(SOUND.iterdir())
    if path.name != BESIDE
}
TEXTS |= {name: TEXTS[same] for name, same in COPIES.items()}
OF_CLUSTERSHELL = ("topology.conf", "list.slurm", "cluster.spec")
"""Files with brackets, for which ClusterShell is required."""
OF_METIS = ("a.mgraph", "a.graph", "a.mesh", "parts.mtx")
FLAT_BLOCK = 64
"""Behind the header of a flat file, data begin at a multiple of so many bytes."""
PIECES = (
    b"-1",
    b"0",
    b"0x10",
    b"1_1",
    b"1e400",
    b"1D2",
    b"9" * 30,
    b"9" * 5000,
    b"9007199254740993",
    b"nan",
    b"inf",
    b"\x00",
    b"\xff\xfe",
    "\ufeff".encode(),
    "\u0661".encode(),
    b"[" * 3000,
    b"{",
    b'"',
    b"]",
    b"null",
    b"true",
    b",",
    b";",
    b"\n",
    b" ",
    b"\t",
    b"\r",
    b"%",
    b"#",
    b"<",
    b"&l9;",
    b"4-5",
    b"2.0x",
    b".",
    b"e",
)
"""What mutants get more of."""
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**63),
    10**400,
    1.5,
    1e308,
    "",
    "x",
    "\u0661",
    [],
    [[]],
    {},
    {"a": [1]},
    [-1, 0],
)
"""What values of a JSON object become."""


@dataclass(frozen=True)
class Failure:
    """A mutant that ended otherwise.

    Attributes:
        name: of the file it was made of.
        number: of the mutant; with name and seed it is made again.
        content: the file.
        error: what came out.
    """

    name: str
    number: int
    content: bytes
    error: str


def _fabrics() -> dict[str, str]:
    """Files of two small fabrics; hosts of the second have two rails, and two LIDs for each."""
    plain = Cluster(leaves=2, hosts=2, spines=1, cables=2)
    rails = Cluster(leaves=2, hosts=1, spines=1, cables=2, lmc=1, rails=2)
    order = [f"0x{plain.lid[host, 1]:04x}\t{host}\n" for host in reversed(plain.host_names)]
    return {
        "net.txt": plain.ibnetdiscover(),
        "lfts.txt": plain.dump_fts(),
        "opensm-lfts.dump": plain.opensm_lfts(),
        "opensm.fdbs": plain.fdbs(),
        "ca-order.dump": "".join(order),
        "rails.net": rails.ibnetdiscover(),
        "rails.fdbs": rails.fdbs(),
        "folder.net": plain.ibnetdiscover(),
    }


FABRICS = _fabrics()
"""Files of fabrics by name."""


def seeds(folder: Path) -> dict[str, bytes]:
    """Sound files of every format by name, some written by the product itself."""
    required = {"pymetis": OF_METIS, "ClusterShell": OF_CLUSTERSHELL}
    missing = [
        name
        for module, names in required.items()
        if importlib.util.find_spec(module) is None
        for name in names
    ]
    files = {name: text.encode() for name, text in (TEXTS | FABRICS).items() if name not in missing}
    for name, arrays in {
        "matrix.npz": {"matrix": np.arange(9).reshape(3, 3)},
        "list.npz": {
            "source": [0, 1],
            "target": [1, 2],
            "bytes": [3, 4],
            "before": [[0, 1]],
            "ranks": 4,
        },
    }.items():
        stream = io.BytesIO()
        np.savez(stream, **{key: np.asarray(value) for key, value in arrays.items()})
        files[name] = stream.getvalue()
    pattern = Pattern.from_messages(
        [0, 1, 3, 2], [1, 2, 0, 2], [10, 20, 2**40, 5], 4, before=[[0, 1]]
    )
    schedule = compile_pattern(pattern, MESH, CompileOptions(method="first-fit"))
    (folder / "p.toml").write_text(TEXTS["blocks.toml"])
    program = compile_program(
        read_program(folder / "p.toml", MESH, CompileOptions()), MESH, CompileOptions()
    )
    write_compiled(document_of(program), folder / "program.json")
    write_compiled(document_of(forwarding_program()), folder / "forwards.json")
    settings = Settings(record=True)
    timeline = MODELS["flow"].simulate(Workload.of_schedule(schedule), MESH, settings)
    small = compile_pattern(
        parse_pattern("alltoall:ranks=4,size=8"), MESH, CompileOptions(method="first-fit")
    )
    write_plan_file(make_plan(small), folder / "core.plan")
    write_machine(folder / "torus.machine", parse_machine("torus:2x3"))
    write_machine(
        folder / "graph.machine", parse_machine("leaf-spine:leaves=2,spines=2,hosts=2,routing=ecmp")
    )
    (folder / "net.txt").write_text(FABRICS["net.txt"])
    fabric = _fabric(folder / "net.txt")
    write_machine(folder / "fabric.machine", fabric)
    limits = CompileOptions("first-fit", limits="link=1")
    exchange = compile_pattern(parse_pattern("alltoall:ranks=4,size=8"), fabric, limits)
    write_compiled(exchange, folder / "fabric.json")
    for suffix in (".json", ".npz"):
        write_compiled(schedule, folder / f"schedule{suffix}")
        write_timeline(timeline, folder / f"timeline{suffix}", machine=MESH, settings=settings)
    (folder / "links.toml").write_text(TEXTS["links.toml"])
    graph = read_machine(folder / "links.toml")
    own = compile_pattern(parse_pattern("alltoall:ranks=3"), graph, CompileOptions("connections"))
    write_compiled(
        replace(own, in_flight=2, min_bandwidth_Bps=np.arange(6.0)), folder / "machine.json"
    )
    rows, columns, part = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]), np.array([0, 1, 1, 2])
    ghost_layout(rows, columns, part, 3, 8).write(folder / "layout.npz")
    write_plan_file(make_plan(forwarding_program()), folder / "flat.plan")
    write_plan_file(None, folder / "opened.plan", connections=connection_entries(program))
    for name in (
        "layout.npz",
        "flat.plan",
        "core.plan",
        "opened.plan",
        "torus.machine",
        "graph.machine",
        "fabric.machine",
        "fabric.json",
        "machine.json",
        "program.json",
        "forwards.json",
        "schedule.json",
        "schedule.npz",
        "timeline.json",
        "timeline.npz",
    ):
        files[name] = (folder / name).read_bytes()
    return files | _meshes(folder)


def forwarding_program() -> Program:
    """Messages 0 → 3 and 3 → 0 of a 2 × 2 mesh by way of 1, one of them in parts of which one
    goes straight."""
    pattern = Pattern.from_messages([0, 3], [3, 0], [10, 7], 4)
    positions = np.array([[0, 1, 3], [3, 1, 0], [3, 3, 0]], np.int32)
    first = np.array([0, 0, 4])
    paths = Paths(pattern, positions, np.array([0, 1, 1], np.int32), first, np.array([10, 4, 3]))
    options = CompileOptions("first-fit")
    schedules = [compile_pattern(paths.bundles(j).pattern, MESH, options) for j in range(2)]
    return replace(Program.of_schedules(paths, schedules, "local", Manifest()), staging_limit_B=100)


def _beside(path: Path, name: str) -> Path:
    """The file of that name in the folder of another; the sound one where there is none yet."""
    found = path.with_name(name)
    if not found.exists():
        found.write_text((TEXTS | FABRICS)[name], encoding="utf-8")
    return found


def _fabric(net: Path, options: str = "routes", tables: str = "lfts.txt") -> Machine:
    """The machine of the output of `ibnetdiscover` and of another file of the same fabric."""
    return load_machine(f"{net},{options}={_beside(net, tables)}")


def _of_fabric(path: Path, option: str = "routes") -> Machine:
    """The machine of a sound `net.txt`, or `rails.net`, and the file of another kind."""
    net = "rails.net" if path.name == "rails.fdbs" else "net.txt"
    return load_machine(f"{_beside(path, net)},{option}={path}")


def _of_folder(path: Path) -> Machine:
    """The machine of a folder with a file and sound tables."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).write_bytes(path.read_bytes())
        _beside(Path(folder) / path.name, "opensm.fdbs")
        return load_machine(folder)


def _of_spec(path: Path) -> Machine:
    """The machine of the spec in a file; the files that it names lie beside it."""
    text = " ".join(path.read_bytes().decode("utf-8", "replace").splitlines())
    for name in ("net.txt", "lfts.txt"):
        text = text.replace(name, str(_beside(path, name)))
    return load_machine(text)


def _monitored(path: Path) -> Pattern:
    """The pattern of two files of Open MPI's monitoring, of which one may be sound."""
    for rank in range(2):
        _beside(path, f"p.{rank}.prof")
    return parse_pattern(str(path))


def verified(path: Path) -> Program:
    """The program in a file, after the verifier has said what is wrong with it."""
    verify(read_document(path))
    return read_compiled(path)


def of_core(call: Callable[[], Found]) -> Found:
    """What a reader in the core returns; its errors as the package raises them."""
    try:
        return call()
    except RuntimeError as error:
        raise InputError(str(error)) from None


def scheduled(machine: _core.MachineData) -> object:
    """What the core makes of messages between the first ranks of a machine that it has read."""
    ranks = min(machine.endpoints, 4)
    source, target = np.divmod(np.arange(ranks * ranks, dtype=np.int32), np.int32(ranks))
    source, target = source[source != target], target[source != target]
    size = np.full(source.size, 1000)
    return of_core(
        lambda: _core.schedule_messages(
            machine, ranks, source, target, size, method="first-fit", sync="auto", seed=0
        )
    )


def _meshes(folder: Path) -> dict[str, bytes]:
    if importlib.util.find_spec("meshio") is None or importlib.util.find_spec("pymetis") is None:
        return {}
    import meshio

    x = np.repeat(np.arange(4.0), 2)
    points = np.column_stack([x, np.tile([0.0, 1.0], 4), np.zeros(8)])
    first = 2 * np.arange(3)
    quads = np.column_stack([first, first + 2, first + 3, first + 1])
    files = {}
    triangles = np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]])
    for name in (
        *(f"a{suffix}" for suffix in WITHOUT_LIBRARIES),
        "a.vol.gz",
        "medit.mesh",
    ):
        solid = Path(name).suffix in (*SOLID, ".su2")
        write_mesh(folder / name, points, *(("tetra", quads) if solid else ("triangle", triangles)))
        files[name] = (folder / name).read_bytes()
    for name, words in {
        "text.msh": {"file_format": "gmsh22", "binary": False},
        "binary.msh": {"file_format": "gmsh"},
        "text.vtk": {"file_format": "vtk", "binary": False},
        "text.vtu": {"file_format": "vtu", "binary": False},
    }.items():
        meshio.Mesh(points, [("quad", quads)]).write(folder / name, **words)
        files[name] = (folder / name).read_bytes()
    return files


def read(path: Path) -> object:
    """What the product reads from a file, by its name."""
    name, pattern = path.name, parse_pattern("alltoall:ranks=4")
    sniff(path)  # of any file, and never an error
    special: dict[str, Callable[[], object]] = {
        "rows.mtx": lambda: parse_pattern(str(path), rows_to=2),
        "parts.mtx": lambda: parse_pattern(str(path), parts=2),
        "rates.csv": lambda: read_bandwidths(str(path), pattern),
        "trace.csv": lambda: read_trace(path, MESH),
        "blocks.toml": lambda: read_program(path, MESH, CompileOptions()),
        "place.json": lambda: read_placement(path, 4, MESH.topology, 1),
        "place.txt": lambda: read_placement(path, 4, MESH.topology, 1),
        "program.json": lambda: read_compiled(path),
        "forwards.json": lambda: verified(path),
        "machine.json": lambda: read_compiled(path),
        "demands.json": lambda: parse_pattern(str(path)),
        "layout.npz": lambda: read_layout(path),
        "flat.plan": lambda: read_flat(path, PLAN_FILE),
        "core.plan": lambda: [
            of_core(lambda r=r: _core.read_plan_file(str(path), r, 4)) for r in range(4)
        ],
        "opened.plan": lambda: [read_part(path, rank, 4) for rank in range(4)],
        "torus.machine": lambda: scheduled(of_core(lambda: _core.MachineData.read(str(path)))),
        "graph.machine": lambda: scheduled(of_core(lambda: _core.MachineData.read(str(path)))),
        "fabric.machine": lambda: scheduled(of_core(lambda: _core.MachineData.read(str(path)))),
        "fabric.json": lambda: verified(path),
        "net.txt": lambda: _fabric(path),
        "rails.net": lambda: _fabric(path, tables="rails.fdbs"),
        "folder.net": lambda: _of_folder(path),
        "ca-order.dump": lambda: _of_fabric(path, "order"),
        "topology.conf": lambda: load_machine(path),
        "cluster.spec": lambda: _of_spec(path),
        "campaign.toml": lambda: read_campaign(path),
        "data.json": lambda: read_measurements(path),
        "schedule.json": lambda: read_compiled(path),
        "schedule.npz": lambda: read_compiled(path),
        "timeline.json": lambda: read_record(path),
        "timeline.npz": lambda: read_record(path),
    }
    if name in special:
        return special[name]()
    if name in FABRICS:
        return _of_fabric(path)
    if path.suffix in LAUNCHER_FILES:
        return _of_fabric(path, "hosts")
    if path.suffix == ".prof":
        return _monitored(path)
    if path.suffix in (".toml", *GRAPH_READERS):
        return read_machine(path)
    parts = 2 if READERS[path.suffix].takes[:1] == ("parts",) else None
    return parse_pattern(str(path), ranks=8 if parts is None else None, parts=parts)


def mutant(name: str, content: bytes, random: Random) -> bytes:
    """The file, a little broken."""
    if name == "fabric.json" and random.random() < 0.6:
        return _changed_entry(content, random)
    if name.endswith(".json") and random.random() < 0.5:
        return _changed_object(content, random)
    if name.endswith(".npz") and random.random() < 0.7:
        return _changed_member(content, random)
    if name.endswith((".plan", ".machine")) and random.random() < 0.8:
        return _changed_number(content, random)
    change = _changed if name.endswith(".npz") or random.random() < 0.3 else _changed_word
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        content = change(content, random)
    return content


def _changed_word(content: bytes, random: Random) -> bytes:
    """A word of a line becomes another one, or stands twice, or not at all.

    What is wrong behind the syntax.
    """
    lines = content.split(b"\n")
    k = random.randrange(len(lines))
    words = re.split(rb"([^A-Za-z0-9_.+-]+)", lines[k])
    other = random.choice(
        (random.choice(PIECES), str(random.randrange(-1, 6)).encode(), random.choice(words))
    )
    words[random.randrange(len(words))] = random.choice((other, other, other, b""))
    lines[k : k + 1] = random.choice(([b"".join(words)],) * 8 + ([lines[k]] * 2, []))
    return b"\n".join(lines)


def _changed(content: bytes, random: Random) -> bytes:
    at = random.randrange(len(content) + 1)
    to = min(len(content), at + random.choice((1, 1, 2, 8, 64)))
    what = random.randrange(6)
    if what == 0:
        return content[:at]
    if what == 1:
        return content[:at] + content[to:]
    if what == 2:
        return content[:to] + content[at:]
    if what == 3:
        return content[:at] + bytes(random.randrange(256) for _ in content[at:to]) + content[to:]
    return content[:at] + random.choice(PIECES) + content[at if what == 4 else to :]


def _changed_object(content: bytes, random: Random) -> bytes:
    found = json.loads(content)
    place, key = found, None
    while isinstance(place, dict | list) and place:
        holder, key = (
            place,
            random.choice(list(place) if isinstance(place, dict) else range(len(place))),
        )
        place = holder[key]
        if random.random() < 0.3:
            break
    if key is not None:
        holder[key] = random.choice(VALUES)
    return json.dumps(found).encode()


def _changed_entry(content: bytes, random: Random) -> bytes:
    """Some next links of the machine in a schedule others, mostly of the same switch."""
    found = json.loads(content)
    network = found["machine"]["network"]
    links, rows = network["links"], network["next_links"]
    for _ in range(random.choice((1, 1, 2, 8))):
        k = random.randrange(len(rows))
        own = [j for j, (source, _) in enumerate(links) if source == network["endpoints"] + k]
        other = random.choice((random.choice(VALUES), random.randrange(len(links))))
        rows[k][random.randrange(len(rows[k]))] = random.choice((*own, other))
    if random.random() < 0.1:
        del rows[-1]
    return json.dumps(found).encode()


def _changed_member(content: bytes, random: Random) -> bytes:
    """One member changed, in an archive that is sound: its checks of sums hold."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        chosen = random.choice(old.namelist())
        for name in old.namelist():
            member = old.read(name)
            if name == chosen:
                kinds = (np.int8, np.uint64, np.float64, np.complex128, "U3", "S2", bool)
                shape = random.choice(((), (0,), (1,), (3,), (2, 2), (1, 0, 2)))
                array = io.BytesIO()
                np.save(
                    array, np.full(shape, random.choice((0, 1, 100))).astype(random.choice(kinds))
                )
                value = _changed_value(member, random)
                member = random.choice(
                    (value, value, value, array.getvalue(), _changed(member, random))
                )
                name = random.choice((name,) * 10 + (name.removesuffix(".npy"), "x.npy"))
            new.writestr(name, member)
    return stream.getvalue()


def _changed_value(member: bytes, random: Random) -> bytes:
    """The array with one of its numbers, or its text, another."""
    array = np.load(io.BytesIO(member))
    if array.dtype.kind == "U":
        text = str(array)
        array = np.array(
            _changed_object(text.encode(), random).decode() if text.startswith("{") else text[:-1]
        )
    elif array.size:
        array.flat[random.randrange(array.size)] = random.choice((-1, 0, 1, 2, 7, 2**31 - 1))
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _changed_number(content: bytes, random: Random) -> bytes:
    """One number of a flat file another, in its header or behind it."""
    head, end, _ = content.partition(b"\nend\n")
    entries = [line.split() for line in head.split(b"\n")[1:]]
    name, code, count, at = random.choice([entry for entry in entries if int(entry[2])])
    if random.random() < 0.2:
        old = b" ".join((name, code, count, at))
        other = random.choice(
            (b"0", b"1", str(int(count) + random.randrange(-1, 9)).encode(), b"9" * 18)
        )
        return content.replace(
            old, b" ".join(random.choice(((name, code, other, at), (name, code, count, other)))), 1
        )
    form = {b"i4": "<i", b"i8": "<q", b"f8": "<d"}.get(code, "B")
    values: tuple[float, ...] = (0, 1, 2, 7, 255)
    if form == "<d":
        values = (0.0, -1.0, 1e-308, 1e308, math.inf, math.nan)
    elif form != "B":
        values = (-1, 0, 1, 2, 3, 7, 2**31 - 1, -(2**31)) + (
            (2**62, -(2**63)) if form == "<q" else ()
        )
    width = struct.calcsize(form)
    first = (
        -(-(len(head) + len(end)) // FLAT_BLOCK) * FLAT_BLOCK
        + int(at)
        + width * random.randrange(int(count))
    )
    return content[:first] + struct.pack(form, random.choice(values)) + content[first + width :]


@contextmanager
def soon() -> Iterator[None]:
    """Ends what is inside after `SOON_S` seconds, and where it takes `ROOM_B` bytes more."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not ended after {SOON_S} s")

    before, room = signal.signal(signal.SIGALRM, late), resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM_B, room[1]))
    signal.alarm(SOON_S)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, room)
        signal.signal(signal.SIGALRM, before)


def outcome(path: Path) -> ConsetError | None:
    """Reads a file: nothing, or the error of one line and exit code 2 or 3.

    Any other ends the process or a test.
    """
    try:
        with soon(), warnings.catch_warnings():
            warnings.simplefilter("error")
            read(path)
    except ConsetError as error:
        if error.exit_code not in EXITS or "\n" in str(error).strip():
            raise AssertionError(f"exit {error.exit_code}: {error}") from error
        return error
    return None


def fuzz(
    count: int, seed: int, folder: Path, only: str = ""
) -> tuple[dict[str, tuple[int, int]], list[Failure]]:
    """({name: (mutants read, mutants refused)}, failures) of `count` mutants, the same number of
    each file."""
    (folder / "seeds").mkdir()
    files = {name: content for name, content in seeds(folder / "seeds").items() if only in name}
    (folder / BESIDE).write_text((SOUND / BESIDE).read_text())
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name in files:
        read(folder / name)  # sound as it is
    tally, failures = {}, []
    for name, content in files.items():
        refused = read_on = 0
        for number in range(max(1, count // len(files))):
            path, broken = folder / name, mutant(name, content, Random(f"{seed} {name} {number}"))
            path.write_bytes(broken)
            try:
                if outcome(path) is None:
                    read_on += 1
                else:
                    refused += 1
            except (Exception, SystemExit) as error:
                failures.append(Failure(name, number, broken, f"{type(error).__name__}: {error}"))
        (folder / name).write_bytes(content)  # others may be read with it
        tally[name] = (read_on, refused)
    return tally, failures


def main() -> int:
    """Fuzzes and says what happened; 1 where a mutant ended otherwise."""
    parser = argparse.ArgumentParser(description="Fuzz of every reader")
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="mutants in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a file's name")
    words = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-readers-"))
    print(f"mutants lie in {folder}", flush=True)  # noqa: T201
    tally, failures = fuzz(words.count, words.seed, folder, words.only)
    for name, (read_on, refused) in tally.items():
        print(f"  {name:14} {read_on:6} read {refused:6} refused")  # noqa: T201
    for failure in failures:
        kept = folder / f"failure-{failure.number}-{failure.name}"
        kept.write_bytes(failure.content)
        print(f"{failure.name} {failure.number}: {failure.error[:200]} ({kept})")  # noqa: T201
    print(f"{len(failures)} failures")  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
