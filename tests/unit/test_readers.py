"""Readers of matrices and message lists: what they read, and one line for everything broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conset.base.errors import UsageError
from conset.pattern.spec import parse_pattern
from support.reading import messages, read, refused

MTX = "%%MatrixMarket matrix coordinate"


# Matrix Market


def test_mtx_entries_are_bytes(tmp_path: Path) -> None:
    pattern = read(
        tmp_path,
        "a.mtx",
        f"{MTX} real general\n% 1.5\n3 3 5\n1 2 40\n2 1 8e1\n3 3 7\n1 3 0\n1 2 2\n",
    )
    # (1, 2) twice adds up, (3, 3) is local, the stored zero is no message
    assert messages(pattern) == [(0, 1, 42), (1, 0, 80)]
    assert (pattern.ranks, pattern.local_bytes, pattern.name) == (3, 7, "a.mtx")


def test_mtx_symmetric_and_pattern(tmp_path: Path) -> None:
    text = f"{MTX} pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n"
    assert messages(read(tmp_path, "a.mtx", text)) == [(0, 1, 8), (1, 0, 8), (1, 2, 8), (2, 1, 8)]
    assert read(tmp_path, "a.mtx", text, word=4).local_bytes == 4


def test_mtx_dense(tmp_path: Path) -> None:
    # column by column
    pattern = read(
        tmp_path, "a.mtx", "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n"
    )
    assert messages(pattern) == [(0, 1, 3), (1, 0, 2)]
    assert pattern.local_bytes == 5


def test_mtx_by_rows(tmp_path: Path) -> None:
    """Five rows to two ranks: 0, 1, 2 and 3, 4.

    Rank 0 uses columns 3 (twice) and 4 of rank 1, rank 1 column 0.
    """
    text = (
        f"{MTX} real general\n5 5 9\n1 1 -1\n1 4 .5\n2 4 nan\n3 5 1\n4 1 1\n5 1 1\n5 5 0\n"
        "4 4 1\n5 4 1\n"
    )
    assert messages(read(tmp_path, "a.mtx", text, rows_to=2)) == [(0, 1, 8), (1, 0, 16)]
    assert messages(read(tmp_path, "a.mtx", text, rows_to=2, word=4)) == [(0, 1, 4), (1, 0, 8)]
    alone = read(tmp_path, "a.mtx", text, rows_to=1)
    assert (alone.messages, alone.local_bytes) == (0, 0), (
        "what a rank owns it does not send to itself"
    )


def test_mtx_by_rows_against_the_definition(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    dense = random.random((23, 23)) < 0.2
    rows, columns = np.nonzero(dense)
    entries = "".join(f"{r + 1} {c + 1}\n" for r, c in zip(rows, columns, strict=True))
    pattern = read(
        tmp_path, "a.mtx", f"{MTX} pattern general\n23 23 {rows.size}\n{entries}", rows_to=4
    )
    blocks = np.array_split(np.arange(23), 4)
    for q, owned in enumerate(blocks):
        for p, used in enumerate(blocks):
            needed = int(dense[np.ix_(used, owned)].any(axis=0).sum())
            assert pattern.matrix()[q, p] == (0 if p == q else 8 * needed)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            f"{MTX} real general\n2 3 1\n1 1 5\n",
            "a square matrix required (a row and a column per rank), given 2 x 3",
        ),
        (f"{MTX} real general\n0 0 0\n", "the matrix has no rows, at least 1 required"),
        (
            f"{MTX} real general\n2 2 1\n1 2 -5\n",
            "entry (1, 2) = -5.0: must be whole bytes from 0 to 2^62",
        ),
        (
            f"{MTX} real general\n2 2 1\n1 2 5.5\n",
            "entry (1, 2) = 5.5: must be whole bytes from 0 to 2^62",
        ),
        (
            f"{MTX} real general\n2 2 1\n2 1 nan\n",
            "entry (2, 1) = nan: must be whole bytes from 0 to 2^62",
        ),
        (
            f"{MTX} real general\n2 2 1\n2 1 inf\n",
            "entry (2, 1) = inf: must be whole bytes from 0 to 2^62",
        ),
        (
            f"{MTX} real general\n2 2 1\n2 1 1e30\n",
            "entry (2, 1) = 1e+30: must be whole bytes from 0 to 2^62",
        ),
        (
            f"{MTX} integer general\n2 2 1\n1 2 4.5\n",
            "line 3: row and column required, and a whole number, given '1 2 4.5'",
        ),
        (
            f"{MTX} integer general\n2 2 1\n1 2 4e3\n",
            "line 3: row and column required, and a whole number, given '1 2 4e3'",
        ),
        (
            f"{MTX} complex general\n2 2 1\n1 2 4 1\n",
            "entry (1, 2): whole numbers of bytes required, given complex128",
        ),
        (
            f"{MTX} integer general\n2 2 1\n1 2 99999999999999999999\n",
            "no valid Matrix Market file: Line 3: Integer out of range.",
        ),
        (
            f"{MTX} real general\n2 2 2\n1 2 5\n",
            "truncated: the header promises 2 entries, the file has 1",
        ),
        (
            f"{MTX} real general\n2 2 1\n1 5 5\n",
            "no valid Matrix Market file: Line 3: Column index out of bounds",
        ),
        (
            f"{MTX} real general\n5000000000 5000000000 1\n1 2 5\n",
            "5000000000 ranks: must be at most 16777216",
        ),
        (
            f"{MTX} real general\n2 2 2\n1 2 4e18\n2 1 4e18\n",
            "size: all messages together are 8e+18 B, at most 2^62 B",
        ),
    ],
)
def test_mtx_refused(tmp_path: Path, text: str, line: str) -> None:
    found = refused(tmp_path, "a.mtx", text)
    hint = "; entries are sizes here, rows_to N or parts N distributes a matrix over N ranks"
    assert found in (f"a.mtx: {line}", f"a.mtx, {line}", f"a.mtx: {line}{hint}")
    assert found.endswith(hint) == line.startswith("entry (")


@pytest.mark.parametrize(
    "content", ["hello\n", MTX[:20], "%%MatrixMarket matrix array pattern general", b"\xff\x12"]
)
def test_mtx_no_such_format(tmp_path: Path, content: str | bytes) -> None:
    assert refused(tmp_path, "a.mtx", content).startswith(
        "a.mtx: no Matrix Market file: line 1 must be %%MatrixMarket"
    )


def test_mtx_without_sizes(tmp_path: Path) -> None:
    line = refused(tmp_path, "a.mtx", f"{MTX} real general\n\n% none\n2 2")
    assert line == "a.mtx, line 4: rows, columns and entries required, given '2 2'"
    assert (
        refused(tmp_path, "a.mtx", f"{MTX} real general\n%\n")
        == "a.mtx: truncated: no line of sizes after the header"
    )


def test_mtx_more_ranks_than_rows(tmp_path: Path) -> None:
    line = refused(tmp_path, "a.mtx", f"{MTX} pattern general\n2 2 1\n1 2\n", rows_to=3)
    assert line == "a.mtx: rows_to 3: must be at most its 2 rows"


# CSV


def test_csv_matrix(tmp_path: Path) -> None:
    expected = [(0, 1, 4096), (1, 0, 3)]
    for text in ("5,4096\n3,0\n", "# bytes\n5 , 4096\r\n\r\n3,0", "\ufeff5,4KiB\n3.0,0\n"):
        pattern = read(tmp_path, "a.csv", text, ranks=16)
        assert messages(pattern) == expected
        assert (pattern.ranks, pattern.local_bytes) == (2, 5)


TRIPLES = [(0, 1, 4096), (1, 2, 8192), (2, 0, 512), (3, 2, 7)]
HEADERS = [
    ("source", "target", "bytes"),
    ("Source", "Target", "Weight"),
    ("src", "dst", "size"),
    ("from", "to", "volume"),
    ("sender", "receiver", "msg_size"),
    ("rankA", "rankB", "bytes"),
    ("src_rank", "dest", "nbytes"),
    ("Source Rank", "Destination Node", "Message Size (bytes)"),
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([*HEADERS, None]),
    st.sampled_from([",", ";", "\t", " ", ", "]),
    st.permutations([0, 1, 2]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_csv_lists_as_people_write_them(
    tmp_path: Path,
    header: tuple[str, ...] | None,
    separator: str,
    order: list[int],
    quoted: bool,
    ending: str,
) -> None:
    """Any usual header in any order of columns, or none; any separator."""
    order = [0, 1, 2] if header is None else order
    rows: list[tuple[Any, ...]] = [*([] if header is None else [header]), *TRIPLES]
    mark = '"' if quoted and separator != " " else ""
    lines = [separator.join(f"{mark}{row[k]}{mark}" for k in order) for row in rows]
    pattern = read(tmp_path, "a.csv", "\ufeff" + ending.join(lines) + ending)
    assert messages(pattern) == TRIPLES
    assert pattern.name == "a.csv"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["none", "index", "columns", "both", "named", "pivot", "from1"]),
    st.integers(2, 6),
    st.integers(0, 2**32),
)
def test_csv_matrices_as_people_write_them(
    tmp_path: Path, separator: str, labels: str, ranks: int, seed: int
) -> None:
    """With labels of rows, of columns, both (as `pandas.DataFrame.to_csv`) or none."""
    matrix = np.random.default_rng(seed).integers(ranks, 10**6, (ranks, ranks))
    if ranks == 3 and labels in ("none", "columns"):
        ranks, matrix = 2, matrix[:2, :2]
    words = [f"gpu{k}" if labels == "named" else str(k + (labels == "from1")) for k in range(ranks)]
    rows = [[str(value) for value in row] for row in matrix]
    if labels not in ("none", "columns"):
        rows = [[word, *row] for word, row in zip(words, rows, strict=True)]
    if labels not in ("none", "index"):
        rows.insert(
            0, [*({"columns": []}.get(labels, ["src" if labels == "pivot" else ""])), *words]
        )
    text = "".join(separator.join(row) + "\n" for row in rows)
    pattern = read(tmp_path, "a.csv", text)
    np.fill_diagonal(matrix, 0)
    assert pattern.matrix().tolist() == matrix.tolist()


def test_three_lines_with_a_number_that_is_no_rank(tmp_path: Path) -> None:
    """On three ranks, 4096 in the first two columns can only be bytes."""
    text = "0,4096,8\n1,0,2\n2,7,0\n"
    assert read(tmp_path, "a.csv", text, ranks=3).matrix()[0].tolist() == [0, 4096, 8]
    assert "ambiguous" in refused(tmp_path, "a.csv", text)


@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_csv_of_savetxt(tmp_path: Path, separator: str) -> None:
    """NumPy writes every number as a float."""
    matrix = np.array([[0, 4096], [8192, 0]])
    np.savetxt(tmp_path / "m.csv", matrix, delimiter=separator)
    assert parse_pattern(str(tmp_path / "m.csv")).matrix().tolist() == matrix.tolist()
    np.savetxt(tmp_path / "l.csv", TRIPLES, delimiter=separator, header="source target bytes")
    assert messages(parse_pattern(str(tmp_path / "l.csv"))) == TRIPLES


def test_units_of_sizes(tmp_path: Path) -> None:
    """Of the option, of the header, or of each size; what is rounded is noted in the name."""
    exact = [(0, 1, 1024), (1, 0, 1536)]
    for text in (
        "source,target,KiB\n0,1,1\n1,0,1.5\n",
        "src,dst,size [KiB]\n0,1,1\n1,0,1.5\n",
        "src;dst;volume_in_KiB\n0;1;1\n1;0;1536B\n",
        "src\tdst\tsize_kib\n0\t1\t1\n1\t0\t1.5\n",
        "source,target,bytes\n0,1,1KiB\n1,0,1.5 KiB\n",
    ):
        pattern = read(tmp_path, "a.csv", text)
        assert messages(pattern) == exact
        assert pattern.name == "a.csv"
    pattern = read(tmp_path, "a.csv", "0,326.9KiB\n0.3KiB,0\n")
    assert messages(pattern) == [(0, 1, 334746), (1, 0, 307)]
    assert pattern.name == "a.csv (2 sizes rounded to whole bytes)"
    (tmp_path / "f.csv").write_text("0,326.9\n0.5,0\n")
    pattern = parse_pattern(str(tmp_path / "f.csv"), unit="KiB")
    assert messages(pattern) == [(0, 1, 334746), (1, 0, 512)]
    assert pattern.name == "f.csv (1 size rounded to whole bytes)"
    np.savez(tmp_path / "f.npz", matrix=np.array([[0, 326.9], [0.5, 0]]))
    assert messages(parse_pattern(str(tmp_path / "f.npz"), unit="KiB")) == messages(pattern)
    np.savez(tmp_path / "h.npz", matrix=np.array([[0, 2048], [8, 0]], np.float16))
    assert messages(parse_pattern(str(tmp_path / "h.npz"))) == [(0, 1, 2048), (1, 0, 8)]
    (tmp_path / "f.mtx").write_text(f"{MTX} real general\n2 2 1\n1 2 0.5\n")
    assert messages(parse_pattern(str(tmp_path / "f.mtx"), unit="kB")) == [(0, 1, 500)]
    for unit, line in (("furlong", "unknown unit"), ("0", "at least 1 B")):
        with pytest.raises(UsageError, match=line):
            parse_pattern(str(tmp_path / "f.csv"), unit=unit)
    (tmp_path / "k.csv").write_text("source,target,KiB\n0,1,1\n")
    with pytest.raises(UsageError, match="unit 1000000 B, the header has 1024 B: must agree"):
        parse_pattern(str(tmp_path / "k.csv"), unit="MB")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "0,1,4096\n1,2,8192\n2,0,512\n",
            "ambiguous: 3 messages (the first from rank 0 to 1, 4096",
        ),
        ("a,b,c\n0,1,4096\n1,2,8192\n2,0,512\n", "ambiguous: 3 messages"),
        ("0,1,2\n0,1,4096\n1,2,8192\n2,0,512\n", "ambiguous: 3 messages"),
        (
            "a,b,c\n0,1,4096\n1,2,8192\n2,0,512\n3,0,1\n",
            "the header must be source,target[,bytes]",
        ),
        ("source,target,bytes,count\n0,1,5,2\n", "the header must be source,target[,bytes]"),
        ("source,target,bytes,size\n0,1,5,2\n", "the header must be source,target[,bytes]"),
        ("source,target,id\n0,1,7\n2,3,8\n0,1,7\n", "a.csv, line 2 has it too"),
        ("source,target,id\n0,1,7\n2,3,\n", "line 3: id = '': a whole number required"),
        ("source,target,id\n0,1,a\n2,3,a\n", "line 2: id = 'a': a whole number required"),
        (",0,1\n1,5,6\n0,7,8\n", "labels of rows and of columns must agree"),
        (",2,1\n2,5,6\n1,7,8\n", "labels that are numbers must be 0, 1, 2 … in order"),
        ("source,target,bytes\n0,1,0.5\n", "must be whole bytes, is 0.5 B; unit U"),
        (",a,b\na,0,1\nb,,0\n", "line 3, column 2: size ''"),
        ("0,1,5\n1,2,6\n2,3,7\n3,16,8\n", "line 4: target = 16: must be a rank from 0 to 15"),
    ],
)
def test_csv_is_not_guessed(tmp_path: Path, text: str, line: str) -> None:
    assert line in refused(tmp_path, "a.csv", text, ranks=16)


def test_connections_of_one_pair(tmp_path: Path) -> None:
    """An id keeps them apart; what is added up, left out or of unknown amount is in the name."""
    rows = "0,1,400{}\n0,1,800{}\n1,2,0{}\n0,1,{}\n1,1,0{}\n"
    merged = read(tmp_path, "a.csv", "source,target,bytes\n" + rows.format(*[""] * 5))
    assert messages(merged) == [(0, 1, 1201)]
    assert merged.name == (
        "a.csv (1 message without an amount, 1 B each, 1 message of 0 B left out, "
        "2 messages added to others of the same pair)"
    )
    text = "source,target,bytes,id\n" + rows.format(",70", ",7", ",9", ",0", ",1")
    apart = read(tmp_path, "a.csv", text)
    assert messages(apart) == [(0, 1, 400), (0, 1, 800), (0, 1, 1)]
    assert "added" not in apart.name
    named = read(tmp_path, "a.csv", "source,target,id\n2,3,late\n0,1,x\n0,1,7\n")
    assert named.ids is not None
    assert named.ids.tolist() == [1, 2, 0]  # names count rows
    bare = read(tmp_path, "a.csv", "source,target\n0,1\n1,0\n")
    assert messages(bare) == [(0, 1, 1), (1, 0, 1)]
    assert bare.name == "a.csv (2 messages without an amount, 1 B each)"
    lists = {"source": [0, 0], "target": [1, 1], "bytes": [5, 6]}
    np.savez(tmp_path / "a.npz", **lists)  # type: ignore[arg-type]
    assert parse_pattern(str(tmp_path / "a.npz")).name.endswith("added to others of the same pair)")
    np.savez(tmp_path / "a.npz", **lists, id=[8, 9])  # type: ignore[arg-type]
    assert messages(parse_pattern(str(tmp_path / "a.npz"))) == [(0, 1, 5), (0, 1, 6)]


def test_csv_list(tmp_path: Path) -> None:
    text = "Target,source,bytes\n1,0,10\n0,2,1KiB\n1,0,5\n1,1,7\n2,1,0\n"
    pattern = read(tmp_path, "a.csv", text)
    assert messages(pattern) == [(0, 1, 15), (2, 0, 1024)]
    assert (pattern.ranks, pattern.local_bytes) == (3, 7)
    assert read(tmp_path, "a.csv", text, ranks=8).ranks == 8


def test_csv_order(tmp_path: Path) -> None:
    """Rows 0 and 3 join the same ranks but stand apart, as the order mentions them."""
    text = "source,target,bytes,after\n0,1,10,\n1,2,20,0\n0,1,30\n0,1,40,0;1\n"
    pattern = read(tmp_path, "a.csv", text)
    assert sorted(messages(pattern)) == [(0, 1, 10), (0, 1, 30), (0, 1, 40), (1, 2, 20)]
    size = pattern.size
    assert pattern.before is not None
    assert sorted((int(size[a]), int(size[b])) for a, b in pattern.before) == [
        (10, 20),
        (10, 40),
        (20, 40),
    ]


def test_csv_without_messages(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", "source,target,bytes\n", ranks=4).messages == 0
    assert read(tmp_path, "a.csv", "source,target,bytes\n").ranks == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "1,2,3\n4,5,6\n",
            "a.csv: a square matrix required (a row and a column per rank), given 2 x 3",
        ),
        ("1,2\n3\n", "a.csv, line 2: a square matrix required, given 2 lines but 1 column here"),
        ("0,-1\n3,0\n", "a.csv, line 1, column 2 = -1: must be whole bytes from 0 to 2^62"),
        ("0,1\n\nnan,0\n", "a.csv, line 3, column 1: size 'nan': must be finite"),
        (
            "0,1e30\n1,0\n",
            "a.csv, line 1, column 2: size '1e30': must be at most 2^62 B, is 1e+30 B",
        ),
        (
            "0,1\n99999999999999999999,0\n",
            "a.csv, line 2, column 1: size '99999999999999999999': must be at most 2^62 "
            "B, is 1e+20 B",
        ),
        (
            "0,1.5\n1,0\n",
            "a.csv, line 1, column 2: size '1.5': must be whole bytes, is 1.5 B; "
            "unit U (KiB …) if it counts other than bytes",
        ),
        ("0,x\n1,0\n", "a.csv, line 1, column 2: size 'x': expected a number and a unit"),
        ("0,4e18\n4e18,0\n", "a.csv: size: all messages together are 8e+18 B, at most 2^62 B"),
        ("\n# nothing\n", "a.csv: holds no numbers"),
        (b"\xff\xfe\x00", "a.csv: is not UTF-8 text (byte 0)"),
        (
            "from,to,way\n1,2,3\n",
            "a.csv: the header must be source,target[,bytes][,after][,id], given 'from,to,way'",
        ),
        (
            "source,target,bytes\n0,16,10\n",
            "a.csv, line 2: target = 16: must be a rank from 0 to 15",
        ),
        (
            "source,target,bytes\n0,1,1\n-1,1,10\n",
            "a.csv, line 3: source = -1: must be a rank from 0 to 15",
        ),
        (
            "source,target,bytes\n0,1,-10\n",
            "a.csv, line 2: size '-10': must be at least 0 B, is -10 B",
        ),
        ("source,target,bytes\n0,1\n", "a.csv, line 2: 3 columns required, given 2"),
        ("source,target,bytes\n0,b,1\n", "a.csv, line 2: target = 'b': a whole number required"),
        (
            "source,target,bytes,after\n0,1,2,1\n1,0,3,0\n",
            "a.csv: the order is cyclic: entry 0 before 1 before 0",
        ),
        (
            "source,target,bytes,after\n0,1,2,\n2,3,3,0\n",
            "a.csv, line 3: after = 0: entries 0 and 1 must share a rank to be ordered",
        ),
        (
            "source,target,bytes,after\n0,1,2,7\n",
            "a.csv, line 2: after = 7: must be an entry from 0 to 0",
        ),
        (
            "source,target,bytes,after\n0,1,0,\n1,2,3,0\n",
            "a.csv, line 3: after = 0: entry 0 has 0 bytes, no message to order",
        ),
        (
            "source,target,bytes,after\n0,0,5,\n0,2,3,0\n",
            "a.csv, line 3: after = 0: entry 0 stays on rank 0, no message to order",
        ),
    ],
)
def test_csv_refused(tmp_path: Path, text: str | bytes, line: str) -> None:
    assert refused(tmp_path, "a.csv", text, ranks=16) == line


def test_csv_absurd_rank(tmp_path: Path) -> None:
    line = refused(tmp_path, "a.csv", "source,target,bytes\n0,2000000000,1\n")
    assert line == "a.csv: 2000000001 ranks: must be at most 16777216"


# NumPy archives


def archive(folder: Path, **arrays: Any) -> bytes:
    np.savez(folder / "raw.npz", **{name: np.asarray(array) for name, array in arrays.items()})
    return (folder / "raw.npz").read_bytes()


def test_npz_matrix(tmp_path: Path) -> None:
    for dtype in (np.int64, np.float64, np.uint8):
        pattern = read(
            tmp_path, "a.npz", archive(tmp_path, matrix=np.array([[1, 2], [3, 0]], dtype))
        )
        assert messages(pattern) == [(0, 1, 2), (1, 0, 3)]
        assert pattern.local_bytes == 1


def test_npz_list(tmp_path: Path) -> None:
    for key in ("bytes", "size"):
        content = archive(tmp_path, source=[2, 0], target=[0, 1], ranks=5, **{key: [30, 10]})
        pattern = read(tmp_path, "a.npz", content, ranks=16)
        assert messages(pattern) == [(0, 1, 10), (2, 0, 30)]
        assert pattern.ranks == 5


@pytest.mark.parametrize("order", [{"before": [[1, 0]]}, {"after": [1, -1]}])
def test_npz_order(tmp_path: Path, order: dict[str, Any]) -> None:
    # entry 1 (10 bytes, message 0) before entry 0 (30 bytes, message 1)
    pattern = read(
        tmp_path, "a.npz", archive(tmp_path, source=[2, 0], target=[0, 1], bytes=[30, 10], **order)
    )
    assert pattern.before is not None
    assert pattern.before.tolist() == [[0, 1]]


LIST = {"source": [0, 1], "target": [1, 2], "bytes": [3, 4]}


@pytest.mark.parametrize(
    ("arrays", "line"),
    [
        (
            {"matrix": np.ones((2, 3))},
            "a square matrix required (a row and a column per rank), given 2 x 3",
        ),
        ({"matrix": np.zeros((0, 0))}, "the matrix has no rows, at least 1 required"),
        ({"matrix": [[0, -1], [1, 0]]}, "matrix[0, 1] = -1: must be whole bytes from 0 to 2^62"),
        (
            {"matrix": [[0, 1], [np.nan, 0]]},
            "matrix[1, 0] = nan: must be whole bytes from 0 to 2^62",
        ),
        (
            {"matrix": [[0, 1e30], [0, 0]]},
            "matrix[0, 1] = 1e+30: must be whole bytes from 0 to 2^62",
        ),
        (
            {"matrix": np.array([[0, 2**63], [0, 0]], np.uint64)},
            "matrix[0, 1] = 9223372036854775808: must be whole bytes from 0 to 2^62",
        ),
        (
            {"matrix": [["a", "b"], ["c", "d"]]},
            "matrix[0, 0]: whole numbers of bytes required, given <U1",
        ),
        (
            {"matrix": np.array([[None]])},
            "no valid .npz archive: member 'matrix.npy': numbers or a text required, given object",
        ),
        ({"other": [1]}, "arrays matrix, or source, target and bytes required, found: other"),
        ({**LIST, "bytes": [3]}, "source, target and bytes have 2, 2 and 1 entries: must agree"),
        ({**LIST, "bytes": [3, -1]}, "bytes[1] = -1: must be whole bytes from 0 to 2^62"),
        ({**LIST, "bytes": [3, np.inf]}, "bytes[1] = inf: must be whole bytes from 0 to 2^62"),
        ({**LIST, "target": ["a", "b"]}, "target: integers required, given <U1"),
        ({**LIST, "ranks": 2}, "entry 1: target = 2: must be a rank from 0 to 1"),
        ({**LIST, "ranks": 0}, "ranks = [0]: must be one number of at least 1"),
        ({**LIST, "after": [1, 0]}, "the order is cyclic: entry 0 before 1 before 0"),
        ({**LIST, "after": [0]}, "after has 1 entry: must be one for each of the 2 messages"),
        ({**LIST, "before": [[0, 5]]}, "before[0, 1] = 5: must be an entry from 0 to 1"),
        ({**LIST, "before": [0, 1, 1]}, "before has shape (3,): must be (pairs, 2)"),
    ],
)
def test_npz_refused(tmp_path: Path, arrays: dict[str, Any], line: str) -> None:
    assert refused(tmp_path, "a.npz", archive(tmp_path, **arrays)) == f"a.npz: {line}"


def test_npz_truncated_or_damaged(tmp_path: Path) -> None:
    content = archive(tmp_path, matrix=np.arange(10_000).reshape(100, 100))
    for length in (1, 4, 30, 1000, len(content) // 2, len(content) - 30, len(content) - 1):
        assert (
            refused(tmp_path, "a.npz", content[:length]) == "a.npz: no .npz archive, or truncated"
        )
    flipped = content[:300] + bytes([content[300] ^ 1]) + content[301:]
    assert (
        refused(tmp_path, "a.npz", flipped)
        == "a.npz: no valid .npz archive: Bad CRC-32 for file 'matrix.npy'"
    )


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.pack"])
def test_options_of_other_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="parts is for"):
        read(tmp_path, name, "0", parts=2)
    with pytest.raises(UsageError, match=r"rows_to is for \.mtx only"):
        read(tmp_path, name, "0", rows_to=2)
