"""Files that are broken, or made to break a reader: one line and exit 3, or the right numbers."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError, UsageError
from conset.base.files import is_file, read_archive, require_file, whole_number
from conset.base.json_text import parse_text
from conset.base.units import parse_size
from conset.cli.main import run
from conset.compilation.programs import read_program
from conset.machine.file import read_machine
from conset.machine.network.graph_files import GRAPH_READERS, read_graph
from conset.machine.network.routes import next_links
from conset.machine.network.topology import Topology
from conset.machine.spec import FILE_SUFFIXES, parse_machine
from conset.models.timeline import SUFFIXES, read_record
from conset.models.trace import read_trace
from conset.pattern.pattern import Pattern
from conset.pattern.readers.matrix_market import checked_text
from conset.pattern.readers.mesh_text import MESHES
from conset.pattern.readers.table import READERS
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import read_compiled
from conset.schedule.files.documents import read_document
from conset.schedule.files.sniff import Sniffed, sniff
from support.fuzz_readers import BROKEN, COPIES, ODD, SOUND, fuzz, outcome, seeds
from support.reading import messages, read, refused

MTX = "%%MatrixMarket matrix coordinate"
MESH = ["--on", "mesh:2x2"]


def archive(**members: bytes) -> bytes:
    """An archive of raw members under names without `.npy`."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return stream.getvalue()


def member(array: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


# Matrix Market


@pytest.mark.parametrize("end", ["", " ", "\t", " \t ", "\r", "\r\n", " \r\n", "\n \n\n"])
@pytest.mark.parametrize("kind", ["real", "integer", "pattern"])
def test_mtx_however_its_last_line_ends(tmp_path: Path, kind: str, end: str) -> None:
    """SciPy's parser ends the process on some of these."""
    value = "" if kind == "pattern" else " 8"
    text = f"{MTX} {kind} general\n3 3 2\n1 2{value}\n\n3 1{value}{end}"
    assert messages(read(tmp_path, "a.mtx", text)) == [(0, 1, 8), (2, 0, 8)]


def test_mtx_that_ended_the_process(tmp_path: Path, shared_data: Path) -> None:
    lines = {"segv_trailing_space.mtx": 0, "segv_pattern.mtx": 3}
    for name, code in lines.items():
        words = [
            sys.executable,
            "-m",
            "conset",
            "compile",
            str(shared_data / "broken" / name),
            *MESH,
        ]
        words[1:3] = ["-c", "from conset.cli.main import main; main()"]
        assert (
            subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == code
        )


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("real", "1 2 2.0x"),
        ("real", "1 2 0x10"),
        ("real", "1 2 1D2"),
        ("real", "1 2 5 6"),
        ("real", "1 2 4-5"),
        ("real", "1 2"),
        ("real", "1 2 1_0"),
        ("real", "1 2 ."),
        ("real", "1 2 5e"),
        ("real", "1 2 1.2.3"),
        ("real", "1.0 2 5"),
        ("real", "-1 2 5"),
        ("real", "% 1 2 5"),
        ("real", "1 2 \u0665"),
        ("integer", "1 2 4-5"),
        ("integer", "1 2 5 6"),
        ("integer", "1 2 +"),
        ("pattern", "1 2 3"),
        ("pattern", "1"),
        ("unsigned-integer", "1 2 -1"),
        ("complex", "1 2 5"),
    ],
)
def test_mtx_lines_that_are_none(tmp_path: Path, kind: str, line: str) -> None:
    sound = {"pattern": "2 1", "complex": "2 1 3 0"}.get(kind, "2 1 3")
    found = refused(tmp_path, "a.mtx", f"{MTX} {kind} general\n% note\n\n2 2 2\n{sound}\n{line}\n")
    assert found.startswith("a.mtx, line 6: row and column required")
    assert found.endswith(f"given '{line}'")


@pytest.mark.parametrize(
    ("header", "promised"),
    [
        ("coordinate real general\n3 3 4000000000000", 4000000000000),
        ("array real general\n2000000 2000000", 4000000000000),
        ("array real symmetric\n2000000 2000000", 2000001000000),
        ("array real skew-symmetric\n2000000 2000000", 1999999000000),
        ("coordinate real general\n3 3 0", 0),
    ],
)
def test_mtx_headers_that_promise_what_is_not_there(
    tmp_path: Path, header: str, promised: int
) -> None:
    row = "1 2 5" if header.startswith("coordinate") else "5"
    found = refused(tmp_path, "a.mtx", f"%%MatrixMarket matrix {header}\n{row}\n")
    state = "truncated: " if promised else ""
    assert found == f"a.mtx: {state}the header promises {promised} entries, the file has 1"


def test_mtx_lines_are_read_as_by_hand(tmp_path: Path) -> None:
    """Any white space the format allows, against splitting lines by hand."""
    random = np.random.default_rng(3)
    for _ in range(60):
        blanks = lambda least=1: "".join(random.choice([" ", "\t"], random.integers(least, 3)))  # noqa: E731
        spelled = ("{}", "{}.", "{}.0", "+{}", "{}e0", "0{}")
        rows = [
            (*random.integers(1, 6, 2), int(random.integers(0, 99)))
            for _ in range(random.integers(1, 9))
        ]
        lines = [
            f"{blanks(0)}{i}{blanks()}{j}{blanks()}{random.choice(spelled).format(v)}{blanks(0)}"
            for i, j, v in rows
        ]
        end = random.choice(["", "\n", " ", "\r\n"])
        text = (
            f"{MTX} real general\n5 5 {len(rows)}\n"
            + random.choice(["\n", "\r\n", "\n\n"]).join(lines)
            + end
        )
        found = read(tmp_path, "a.mtx", text)
        matrix = np.zeros((5, 5), np.int64)
        np.add.at(
            matrix,
            ([i - 1 for i, _, _ in rows], [j - 1 for _, j, _ in rows]),
            [v for *_, v in rows],
        )
        assert found.local_bytes == matrix.trace()
        np.fill_diagonal(matrix, 0)
        assert (found.matrix() == matrix).all(), text


def test_mtx_a_million_lines_are_checked_whole(tmp_path: Path) -> None:
    """Possessive repeats keep nothing of the lines behind them.

    No recursion, and the last line counts.
    """
    path = tmp_path / "a.mtx"
    path.write_text(f"{MTX} integer general\n9 9 1000000\n" + "1 2 3\n" * 999_999 + "1 2 x\n")
    with pytest.raises(InputError, match=r"line 1000002: .*given '1 2 x'"):
        checked_text(path)


def test_mtx_rows_beyond_any_memory(tmp_path: Path) -> None:
    """Ranks times rows pass 2^63 (`rows_to_overflow.mtx`).

    Row 1297036692682702854 of 2^61 is the ninth rank's.
    """
    text = (
        f"{MTX} pattern general\n2305843009213693952 2305843009213693952 1\n1297036692682702854 1\n"
    )
    assert messages(read(tmp_path, "a.mtx", text, rows_to=16)) == [(0, 9, 8)]
    assert "2305843009213693952 rows: must be at most" in refused(tmp_path, "a.mtx", text, parts=4)
    assert "16777217 ranks: must be at most" in refused(tmp_path, "a.mtx", text, rows_to=2**24 + 1)


# Texts


@pytest.mark.parametrize(
    "text", ["0,9007199254740993\n0,0\n", "source,target,bytes\n0,1,9007199254740993\n"]
)
def test_csv_sizes_are_exact(tmp_path: Path, text: str) -> None:
    assert messages(read(tmp_path, "a.csv", text)) == [(0, 1, 9007199254740993)]
    assert messages(read(tmp_path, "a.csv", text.replace("993", "993 B"))) == [
        (0, 1, 9007199254740993)
    ]
    assert messages(
        read(tmp_path, "a.csv", text.replace("9007199254740993", "4611686018427387903"))
    ) == [(0, 1, 2**62 - 1)]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("9007199254740993", 9007199254740993),
        ("4398046511104.5 KiB", 4503599627371008),
        (f"{2**62}", 2**62),
    ],
)
def test_sizes_are_exact(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["9007199254740992.5", f"{2**62 + 1}", "1e-400000000", f"1.{'0' * 80}1", "9" * 5000]
)
def test_sizes_that_no_message_has(text: str) -> None:
    with pytest.raises(UsageError, match="must be"):
        parse_size(text)


@pytest.mark.parametrize("word", ["1_1", "\u0661", "9" * 5000, "1 1", "", "+", "0x1", "1.5"])
def test_ranks_are_decimal_digits(tmp_path: Path, word: str) -> None:
    assert whole_number(word) is None
    assert "target = '" in refused(tmp_path, "a.csv", f"source,target,bytes\n0,{word},5\n")
    trace = tmp_path / "t.csv"
    trace.write_text(f"id,time,src,dst,bytes,deps\n0,0,0,{word},5,\n")
    with pytest.raises(InputError, match="line 2: dst = "):
        read_trace(trace, parse_machine("mesh:4x4"))
    if word.strip() and " " not in word:
        trace.write_text(f"id,time,src,dst,bytes,deps\n1,0,0,1,5,\n2,0,0,1,5,{word}\n")
        with pytest.raises(InputError, match="line 3: deps: "):
            read_trace(trace, parse_machine("mesh:4x4"))


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.graph", "2 1\n2\n1_0\n", "line 3"),
        ("a.graph", f"2 1\n{'9' * 5000}\n1\n", "line 2"),
        ("a.mesh", "1\n1 2 \u0663\n", "line 2"),
        ("a.pack", "1_0 2\n", "number 1"),
        ("a.pack", "1 \u0662\n", "number 2"),
    ],
)
def test_numbers_of_meshes_are_decimal_digits(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    assert place in refused(tmp_path, name, text, **({} if name == "a.pack" else {"parts": 2}))


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.edges").write_text("\ufeff0 1\n1 2\n", encoding="utf-8")
    assert read_graph(tmp_path / "a.edges").nodes == 3
    (tmp_path / "a.toml").write_text(
        '\ufeffname = "m"\n[network]\nkind = "mesh"\nsides = [2, 2]\n', encoding="utf-8"
    )
    assert read_machine(tmp_path / "a.toml").name == "m"
    text = "\ufeff2 1\n2\n1\n"
    assert messages(read(tmp_path, "a.graph", text, parts=2)) == [(0, 1, 8), (1, 0, 8)]


# Graphs


def graphml(path: Path, head: str, label: str = "x") -> Path:
    nodes = (
        f'<node id="a"><data key="label">{label}</data></node><node id="b"/><edge source="a" '
        'target="b"/>'
    )
    path.write_text(f"{head}<graphml><graph>{nodes}</graph></graphml>")
    return path


def test_entities_are_refused(tmp_path: Path) -> None:
    """Nine that name each other would be 10^9 letters."""
    bomb = '<!DOCTYPE g [<!ENTITY l0 "lol"><!ENTITY l1 "&l0;&l0;">]>'
    path = graphml(tmp_path / "a.graphml", bomb, "&l1;")
    with pytest.raises(InputError, match=r"a.graphml:1: entity 'l0': entities are not read"):
        read_graph(path)
    assert read_graph(graphml(path, "<!DOCTYPE graphml>", "&lt;&#65;")).labels == ("<A", "b")
    vtu = tmp_path / "a.vtu"
    vtu.write_text(f"<?xml version='1.0'?>{bomb}<VTKFile>&l1;</VTKFile>")
    with pytest.raises(InputError, match="document type"):
        parse_pattern(str(vtu), parts=2)


@pytest.mark.parametrize("encoding", ["UTFswitch", "x" * 300])
def test_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    path = graphml(tmp_path / "a.graphml", f'<?xml version="1.0" encoding="{encoding}"?>')
    with pytest.raises(InputError, match=f"a.graphml:1: unknown encoding '{encoding[:30]}"):
        read_graph(path)
    assert read_graph(graphml(path, '<?xml version="1.0" encoding="ISO-8859-1"?>', "é")).labels == (
        "é",
        "b",
    )


def test_graphml_keeps_the_text_of_wanted_elements_alone(tmp_path: Path) -> None:
    """Kept all, the blanks between 20,000 nodes would be 800 MB by the way."""
    rows = (
        f'<node id="{k}">{" " * 40_000}<data key="label"> n{k} </data></node>' for k in range(200)
    )
    edges = "".join(f'<edge source="{k}" target="{k + 1}"/>' for k in range(199))
    (tmp_path / "a.graphml").write_text(f"<graphml><graph>{''.join(rows)}{edges}</graph></graphml>")
    assert read_graph(tmp_path / "a.graphml").labels[:2] == ("n0", "n1")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.edges", "endpoints {}\n0 1\n"),
        ("a.edges", "0 1 width={}\n"),
        ("a.edges", "0 1 width=1_0\n"),
        ("a.edges", "0 1 width=\u0661\n"),
        ("a.gml", "graph [ node [ id 1 ] edge [ source 1 target {} ] ]"),
    ],
)
def test_numbers_of_graphs_are_decimal_digits(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text.format("9" * 5000), encoding="utf-8")
    with pytest.raises(InputError):
        read_graph(tmp_path / name)


def test_nodes_may_have_names_of_thousands_of_digits(tmp_path: Path) -> None:
    (tmp_path / "a.edges").write_text(f"0 {'9' * 5000}\n")
    assert read_graph(tmp_path / "a.edges").labels == ("0", "9" * 5000)


def slow_next_links(topology: Topology) -> np.ndarray:
    """Distances by relaxing every link until nothing changes; the first link that leads nearer."""
    ends = list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    table = np.full((topology.endpoints, topology.nodes), -1, np.int32)
    for target in range(topology.endpoints):
        far = [float("inf")] * topology.nodes
        far[target] = 0
        while any(far[u] > far[v] + 1 for u, v in ends):
            for u, v in ends:
                far[u] = min(far[u], far[v] + 1)
        for k, (u, v) in enumerate(ends):
            if far[v] + 1 == far[u] and far[u] < float("inf") and table[target, u] < 0:
                table[target, u] = k
    return table


@pytest.mark.parametrize("seed", range(4))
def test_next_links_against_the_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    ring = {(k, (k + 1) % 12) for k in range(12)}
    pairs = sorted(ring | {(int(u), int(v)) for u, v in random.integers(0, 12, (14, 2)) if u != v})
    source, target = np.array(pairs, np.int32).T
    topology = Topology("graph", (), 7 + seed, 12, source, target)
    assert (next_links(topology) == slow_next_links(topology)).all()


def test_next_links_of_thousands_of_nodes(tmp_path: Path) -> None:
    """`mesh:60x60,dead=0` took 75 s: endpoints x links x diameter."""
    topology = parse_machine("mesh:60x60,dead=0").topology
    table = next_links(topology)
    node, hops = 0, 0
    while node != 3598:
        node, hops = int(topology.link_target[table[3598, node]]), hops + 1
    assert (node, hops) == (3598, 117)


def test_next_links_that_no_memory_holds() -> None:
    nodes = np.arange(70_000, dtype=np.int32)
    topology = Topology("graph", (), 70_000, 70_000, nodes[:-1], nodes[1:])
    with pytest.raises(InputError, match="need 4900000000 entries, at most 4294967296"):
        next_links(topology)


def test_an_endpoint_out_of_reach_is_named() -> None:
    topology = Topology("graph", (), 3, 3, np.array([0, 1]), np.array([1, 0]))
    with pytest.raises(InputError, match="no route from node 2 to node 0"):
        next_links(topology)


@pytest.mark.parametrize("spec", ["crossbar:999999999", "mesh:9999x9999", "ring:1048577"])
def test_networks_beyond_any_machine_are_refused_at_once(spec: str) -> None:
    with pytest.raises(UsageError, match="nodes, at most 1048576"):
        parse_machine(spec)


# Archives

HEADER = "{{'descr': '<i8', 'fortran_order': False, 'shape': {}, }}"


def headed(shape: str, content: bytes = b"") -> bytes:
    text = HEADER.format(shape)
    return (
        b"\x93NUMPY\x01\x00"
        + (len(text) + 1).to_bytes(2, "little")
        + text.encode()
        + b"\n"
        + content
    )


SQUARE = member([[0, 1], [1, 0]])

BROKEN_ARCHIVES: dict[str, tuple[bytes, str]] = {
    "29 TiB": (
        archive(matrix=headed("(2000000, 2000000)", b"x" * 100)),
        "promises 32000000000082 bytes, it has 182",
    ),
    "no array": (archive(matrix=b"hello"), "member 'matrix.npy': no header of an array"),
    "no end": (archive(matrix=headed("(2, ")), "no header of an array: "),
    "no tuple": (archive(matrix=headed("7")), "no header of an array: "),
    "deep": (archive(matrix=headed("(" * 400 + ")" * 400)), "no header of an array: "),
    "negative": (archive(matrix=headed("(-1, -1)", b"x" * 8)), "shape (-1, -1)"),
    "too long": (archive(matrix=SQUARE + b"x"), "header promises 160 bytes, it has 161"),
    "too short": (archive(matrix=SQUARE[:-1]), "header promises 160 bytes, it has 159"),
    "structured": (
        archive(matrix=member(np.zeros((1, 1), [("a", "i4")]))),
        "numbers or a text required",
    ),
    "dates": (
        archive(matrix=member(np.zeros((1, 1), "M8[s]"))),
        "numbers or a text required, given datetime64",
    ),
    "letter": (
        archive(source=member(np.array(["abc"])).replace(b"b\0\0\0", b"b\0\0\x7f")),
        "a letter above 1114111",
    ),
    "no zip": (b"PK\x03\x04 half of it", "no .npz archive, or truncated"),
}


def patched(offset: int, value: int) -> bytes:
    """A sound archive with two bytes of both of its headers of a member set."""
    content = bytearray(archive(matrix=SQUARE))
    at = content.rindex(b"PK\x01\x02")
    content[6 + offset : 8 + offset] = content[at + 8 + offset : at + 10 + offset] = value.to_bytes(
        2, "little"
    )
    return bytes(content)


BROKEN_ARCHIVES["encrypted"] = (patched(0, 1), "member 'matrix.npy' is encrypted")
BROKEN_ARCHIVES["compression"] = (patched(2, 77), "compressed by method 77")
BROKEN_ARCHIVES["lzma"] = (patched(2, 14), "compressed by method 14")


@pytest.mark.parametrize("kind", BROKEN_ARCHIVES)
@pytest.mark.parametrize(
    "reader", [parse_pattern, read_document, read_record], ids=["pattern", "schedule", "timeline"]
)
def test_broken_archives(tmp_path: Path, kind: str, reader: Callable[[str], object]) -> None:
    content, line = BROKEN_ARCHIVES[kind]
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        reader(str(path))
    assert str(caught.value).startswith(f"{path}: no ")
    assert line in str(caught.value)
    assert sniff(path).schema == ""


def test_archives_with_members_that_are_none_or_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for name, shown in (("matrix", "matrix"), ("a\nb", r"a\\nb")):
        with zipfile.ZipFile(path, "w") as made:
            made.writestr(name, SQUARE)
        with pytest.raises(InputError, match=f"member '{shown}' is no array"):
            read_archive(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("matrix.npy", SQUARE)
        with pytest.warns(UserWarning, match="Duplicate name"):
            made.writestr("matrix.npy", SQUARE)
    with pytest.raises(InputError, match="two members have one name"):
        read_archive(path)


def test_sound_archives_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    arrays = {
        "a": np.zeros((0, 3)),
        "b": np.array("text é"),
        "c": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "d": np.array([True]),
        "e": np.arange(5, dtype=">i4"),
        "f": np.zeros(10**6, np.int32),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        found = read_archive(tmp_path / "a.npz")
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)
    assert read_archive(tmp_path / "a.npz", only="b") == {"b": "text é"}
    assert read_archive(tmp_path / "a.npz", only="z") == {}


# Schedules, timelines, programs, machines


def compiled(folder: Path, *words: str) -> Path:
    path = folder / "s.json"
    assert (
        run(["compile", "alltoall", *MESH, "--method", "first-fit", *words, "-o", str(path)]) == 0
    )
    return path


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"a":' * 100_000, "[" * 950 + "]" * 950, "9" * 5000, "[" + "1" * 5000 + "]"],
)
@pytest.mark.parametrize("suffix", [".json", ".npz", ".toml"])
def test_nesting_and_numbers_without_end(tmp_path: Path, suffix: str, content: str) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".npz":
        path.write_bytes(
            archive(header=member(content), **dict.fromkeys(("source", "end_s"), member([0])))
        )
    else:
        path.write_text(f"x = {content}" if suffix == ".toml" else content)
    readers: list[Callable[[Path], object]] = [read_document, read_record]
    if suffix == ".toml":
        machine = parse_machine("mesh:2x2")
        readers = [read_machine, lambda path: read_program(path, machine, _request())]
    for reader in readers:
        with pytest.raises(InputError) as caught:
            reader(path)
        assert len(str(caught.value)) < 400


def _request() -> object:
    from conset.compilation.options import CompileOptions

    return CompileOptions()


def test_a_machine_nested_without_end(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    found = json.loads(path.read_text())
    found["machine"] = {"name": "m", "network": "HERE"}
    for depth in (100, 400, 800):
        deep = '{"a":' * depth + "1" + "}" * depth
        path.write_text(json.dumps(found).replace('"HERE"', deep))
        with pytest.raises(InputError):
            read_compiled(path)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("sync", 4611686018427387905, "settings.sync: must be text, is 4611686018427387905"),
        ("sync", None, "settings.sync: must be text, is null"),
        ("sync", "never", "never"),
        ("lanes", "2", "settings.lanes: must be a whole number, is '2'"),
        ("in_flight", True, "settings.in_flight: must be a whole number, is True"),
        ("fairness", 3, "settings.fairness: must be text, is 3"),
        ("unheard", 1, "settings: unknown key 'unheard': known: sync, in_flight"),
        ("lane", 1, "settings: unknown key 'lane': did you mean 'lanes'"),
    ],
)
def test_settings_of_a_timeline_are_of_their_kind(
    tmp_path: Path, key: str, value: object, line: str
) -> None:
    path = _timeline(tmp_path)
    found = json.loads(path.read_text())
    found["settings"][key] = value
    path.write_text(json.dumps(found))
    with pytest.raises(InputError, match=line):
        read_record(path)


def _timeline(folder: Path) -> Path:
    path = folder / "t.json"
    assert run(["simulate", str(compiled(folder)), "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("end_s", [[1.0, 2.0]], "a list of numbers required, given the shape"),
        ("end_s", 1.0, "a list of numbers required"),
        ("source", ["0"] * 12, "integers required"),
        ("source", [0.5] * 12, "must be an integer"),
        ("bytes", [2**64] * 12, "integers required"),
        ("end_s", ["1"] * 12, "numbers required"),
        ("end_s", [None] * 12, "numbers required"),
        ("end_s", [[1], [2, 3]], "a list of numbers required, given lists of several lengths"),
    ],
)
def test_columns_of_a_timeline_are_lists_of_numbers(
    tmp_path: Path, name: str, value: object, line: str
) -> None:
    path = _timeline(tmp_path)
    found = json.loads(path.read_text())
    found[name] = value
    path.write_text(json.dumps(found))
    with pytest.raises(InputError, match=line):
        read_record(path)


@pytest.mark.parametrize("words", [["mesh:1x1"], ["hypercube:0"], ["crossbar:1"]])
def test_an_empty_pattern_is_written_and_read(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "e.npz"
    assert run(["compile", "alltoall", "--on", *words, "-o", str(path)]) == 0
    assert read_compiled(path).pattern.messages == 0
    assert run(["verify", str(path)]) == 0


@pytest.mark.parametrize("more", [[], ["--ranks-per-node", "2"]])
def test_a_hypercube_of_no_dimension_has_a_timetable(tmp_path: Path, more: list[str]) -> None:
    path = tmp_path / "e.json"
    words = ["compile", "alltoall", "--on", "hypercube:0", *more]
    assert run([*words, "-o", str(path)]) == 0
    assert run([*words, "--timetable", "as", "-o", str(path)]) == 0
    assert run(["verify", str(path)]) == 0


def test_broken_files_made_by_fuzzing(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each ended with exit 1."""
    for path in sorted((shared_data / "broken").glob("fuzz_*")):
        of_pattern = path.name == "fuzz_1001_160_a.npz"
        words = ["compile", str(path), *MESH] if of_pattern else ["verify", str(path)]
        words = ["compile", "alltoall", "--on", str(path)] if path.suffix == ".graphml" else words
        assert run(words) == 3, path.name
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


# Names, pipes and what else a path may be


@pytest.mark.parametrize("name", ["[@click=foo(].csv", "$x_{$.csv", "[b]$.csv", "[red]x.csv"])
def test_names_are_printed_and_drawn_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    pytest.importorskip(
        "matplotlib", reason="matplotlib is not installed: pip install 'conset[draw]'"
    )
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("0,4\n9,0\n")
    for words in (
        ["compile", name, *MESH, "-o", "s.json"],
        ["show", name, "-o", "p.svg"],
        ["bound", name, *MESH],
    ):
        assert run(words) == 0
        assert name in capsys.readouterr().out
    assert run(["show", "s.json", "-o", "s.svg"]) == 0


def test_machines_and_labels_are_printed_and_drawn_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(
        "matplotlib", reason="matplotlib is not installed: pip install 'conset[draw]'"
    )
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(
        'name = "[@click=foo(]$x_{$"\nnotes = ["[/x] $y_{$"]\n[network]\nkind = "graph"\n'
        'links = [[0, 1], [1, 2], [2, 0]]\nlabels = ["$a_{$", "[/b]", "[@click=foo(]"]\n'
        '[costs]\noverhead = {value = "2 us", tag = "assumed", source = "[/z] $q_{$"}\n'
    )
    Path("p.toml").write_text('[[block]]\nname = "[/x]$x_{$"\npattern = "alltoall"\n')
    for words in (
        ["machines", "m.toml"],
        ["show", "m.toml", "-o", "m.svg"],
        ["compile", "alltoall", "--on", "m.toml", "-o", "s.json"],
        ["show", "s.json", "-o", "s.svg"],
        ["show", "s.json", "--phase", "0"],
        ["simulate", "s.json", "-o", "t.json"],
        ["show", "t.json", "-o", "t.svg"],
        ["compile", "p.toml", "--on", "m.toml", "-o", "p.json"],
        ["show", "p.json"],
    ):
        assert run(words) == 0, (words, capsys.readouterr().err)
    assert "[@click=foo(]$x_{$" in capsys.readouterr().out


def test_metis_says_nothing_on_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It cannot bisect where weights are 0, and says so; the parts are made all the same."""
    pytest.importorskip("pymetis", reason="METIS is not installed: pip install 'conset[mesh]'")
    rows = "".join(f"0 {(k - 1) % 40 + 1} {(k + 1) % 40 + 1}\n" for k in range(40))
    os.write(1, b"before\n")
    read(tmp_path, "a.graph", f"40 40 010\n{rows}", parts=30)
    os.write(1, b"after\n")
    assert capfd.readouterr() == ("before\nafter\n", "")


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("a.json", "a.npz", "a.mtx", "a.toml"):
        os.mkfifo(tmp_path / name)
    assert not is_file(tmp_path / "a.json")
    for words in (
        ["verify", "a.json"],
        ["verify", "a.npz"],
        ["show", "a.npz"],
        ["predict", "a.json"],
    ):
        assert run([words[0], str(tmp_path / words[1])]) == 3
    assert run(["compile", str(tmp_path / "a.mtx"), *MESH]) == 3
    assert run(["compile", "alltoall", "--on", str(tmp_path / "a.toml")]) == 3
    assert {sniff(tmp_path / name) for name in ("a.json", "a.npz", "none")} == {
        Sniffed("unknown", "unknown")
    }
    with pytest.raises(InputError, match="is a FIFO, a file is required"):
        require_file(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("x" * 300 + ".json", "cannot be read: File name too long"),
        ("a\0b.json", "cannot be read"),
        ("/dev/null", "device"),
    ],
)
def test_what_is_no_file(path: str, rule: str) -> None:
    assert not is_file(path)
    with pytest.raises(InputError, match=rule):
        require_file(path)


# Corpora


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what sound files name, and the second file of a mesh."""
    folder = tmp_path_factory.mktemp("corpus")
    for path in SOUND.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def placed(path: Path, folder: Path) -> Path:
    """A file of the corpora under the name by which it is read, which stands behind what is odd
    or broken of it."""
    place = folder / path.stem / path.name.partition("--")[2]
    place.parent.mkdir(exist_ok=True)
    (place.parent / "beside.gml").write_bytes((folder / "beside.gml").read_bytes())
    place.write_bytes(path.read_bytes())
    return place


@pytest.mark.parametrize("name", sorted(path.name for path in SOUND.iterdir()))
def test_sound_files_are_read(beside: Path, name: str) -> None:
    assert outcome(beside / name) is None


@pytest.mark.parametrize("name", sorted(path.name for path in ODD.iterdir()))
def test_odd_files_are_read(beside: Path, name: str) -> None:
    assert outcome(placed(ODD / name, beside)) is None


@pytest.mark.parametrize("name", sorted(path.name for path in BROKEN.iterdir()))
def test_broken_files_are_refused_in_one_line(beside: Path, name: str) -> None:
    error = outcome(placed(BROKEN / name, beside))
    assert error is not None
    assert str(error).strip()
    assert len(str(error)) < 600


def test_every_format_has_a_broken_file() -> None:
    broken = {Path(path.name.partition("--")[2]).suffix for path in BROKEN.iterdir()}
    written = {
        Path(name).suffix for name in (*(path.name for path in SOUND.iterdir()), *COPIES.values())
    }
    assert written <= broken


def test_a_document_type_is_found_behind_any_comment(tmp_path: Path) -> None:
    pytest.importorskip("meshio", reason="meshio is not installed: pip install 'conset[mesh]'")
    text = (
        f'<?xml version="1.0"?><!-- {"<VTKFile> " * 20_000}--><!DOCTYPE VTKFile [<!ENTITY a '
        '"x">]><VTKFile/>'
    )
    assert "a document type declaration is not read" in refused(tmp_path, "a.vtu", text, parts=2)


@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF\\ud800", "\ud800"])
def test_half_a_surrogate_pair_is_no_text(half: str) -> None:
    """It can neither be printed nor drawn."""
    text = f'{{"method": "{half}"}}'
    for given in (text, text.encode(errors="surrogatepass")):
        with pytest.raises(InputError, match="surrogates not allowed"):
            parse_text(given)
    assert parse_text('{"method": "\\ud83d\\ude00"}') == {"method": "\U0001f600"}


def test_members_of_an_archive_are_read_by_name(tmp_path: Path) -> None:
    """Unknown ones are not opened: 60,000 of them took 19 s; nor is what cannot be a matrix."""
    array = io.BytesIO()
    np.save(array, np.zeros(1))
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        for k in range(3000):
            archive.writestr(f"x{k}.npy", array.getvalue())
        archive.writestr("matrix.npy", b"\x93NUMPY no array")
    opened: list[str] = []
    original = zipfile.ZipFile.open

    def counting(self: Any, name: Any, *words: Any, **more: Any) -> Any:
        opened.append(getattr(name, "filename", name))
        return original(self, name, *words, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "open", counting)
        with pytest.raises(InputError, match="no header of an array"):
            parse_pattern(str(tmp_path / "many.npz"))
        assert opened == ["matrix.npy"]
        with pytest.raises(InputError, match="unknown entry 'x0'"):
            read_compiled(tmp_path / "many.npz")
        assert opened.count("x1.npy") == 0
        np.savez_compressed(tmp_path / "wide.npz", matrix=np.zeros((1, 1000)))
        opened.clear()
        with pytest.raises(InputError, match="a square matrix required"):
            parse_pattern(str(tmp_path / "wide.npz"))
        assert opened == ["matrix.npy"], "its header, not its data"


def test_an_archive_larger_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", matrix=np.zeros((500, 500)))
    monkeypatch.setattr("conset.base.units.os.sysconf", lambda _: 1000)
    with pytest.raises(InputError, match=r"a.npz: requires 1.907 MiB of memory, the limit is 976"):
        parse_pattern(str(tmp_path / "a.npz"))


# Fuzz


def test_every_reader_is_fuzzed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("meshio", reason="meshio is not installed: pip install 'conset[mesh]'")
    suffixes = {Path(name).suffix for name in seeds(tmp_path)}
    capfd.readouterr()
    of_libraries = {suffix for suffix, found in MESHES.items() if found.library}
    assert {*READERS, *GRAPH_READERS, *FILE_SUFFIXES, *SUFFIXES} - of_libraries <= suffixes


@pytest.mark.parametrize("seed", [1, 2])
def test_mutants_are_read_or_refused(
    tmp_path: Path, seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """A few hundred; `python -m support.fuzz_readers 100000` makes more."""
    tally, failures = fuzz(900, seed, tmp_path)
    capfd.readouterr()  # what meshio remarks of the files it writes
    assert [(failure.name, failure.number, failure.error) for failure in failures] == []
    assert sum(refused_ for _, refused_ in tally.values()) > 100
    assert sum(read_on for read_on, _ in tally.values()) > 30


def test_a_fuzz_finds_a_reader_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path, machine: object) -> Pattern:
        if "deps" not in path.read_text(errors="replace"):
            raise IndexError("of a reader")
        return parse_pattern("alltoall:ranks=4")

    monkeypatch.setattr("support.fuzz_readers.read_trace", broken)
    _, failures = fuzz(60, 0, tmp_path, only="trace")
    assert {failure.error for failure in failures} == {"IndexError: of a reader"}
    again, same = tmp_path / "again", tmp_path / "same"
    again.mkdir()
    assert fuzz(60, 0, again, only="trace")[1] == failures, "the same seed, the same mutants"
    assert not same.exists()
