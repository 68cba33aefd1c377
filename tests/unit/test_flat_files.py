"""Flat files: what is written comes back, the same every time.

What is broken is refused in one line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError
from conset.base.flat import MACHINE_FILE, PLAN_FILE, read_flat, write_flat
from conset.schedule.files.sniff import Sniffed, sniff

ENTRIES: dict[str, Any] = {
    "ranks": 3,
    "rate": 0.5,
    "name": "größe",
    "empty": np.zeros(0, np.int64),
    "peer": np.arange(5, dtype=np.int32),
    "bytes": np.array([2**40, -1]),
    "time_s": np.array([1e-300, np.inf]),
    "work": np.array([True, False, True]),
    "none": "",
}


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    for name in ("a.plan", "b.plan"):
        write_flat(tmp_path / name, PLAN_FILE, ENTRIES)
    content = (tmp_path / "a.plan").read_bytes()
    assert content == (tmp_path / "b.plan").read_bytes()
    found = read_flat(tmp_path / "a.plan", PLAN_FILE)
    assert [*found] == [*ENTRIES]
    for name, value in ENTRIES.items():
        assert (
            found[name] == value
            if isinstance(value, str)
            else np.array_equal(found[name], np.atleast_1d(value))
        )
    assert (found["ranks"].dtype, found["peer"].dtype, found["work"].dtype) == (
        np.int64,
        np.int32,
        np.uint8,
    )  # type: ignore[union-attr]
    # as documented: a header that people can read, data from a multiple of 64, entries at multiples
    # of 8
    header = content[: content.index(b"end\n") + 4]
    assert header.startswith(
        b"conset/plan@1\nranks i8 1 0\nrate f8 1 8\nname text 7 16\nempty i8 0 24\npeer i4 5 24\n"
    )
    begin = -(-len(header) // 64) * 64
    assert content[len(header) : begin] == bytes(begin - len(header))
    assert np.frombuffer(content, "<i4", 5, begin + 24).tolist() == [0, 1, 2, 3, 4]
    assert len(content) % 8 == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Big", 1),
        ("a b", 1),
        ("", 1),
        ("a" * 64, 1),
        ("x", np.zeros((2, 2))),
        ("x", np.zeros(2, np.int16)),
        ("x", np.array("a")),
    ],
)
def test_what_has_no_form_is_a_bug(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"required|no type of a flat file"):
        write_flat(tmp_path / "x.plan", PLAN_FILE, {name: value})
    assert not (tmp_path / "x.plan").exists()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            b"conset/plan@1",
            b"conset/plan@2",
            "must begin with 'conset/plan@1', begins with 'conset/plan@2'",
        ),
        (
            b"rate f8 1 8",
            b"rate f2 1 8",
            "header: name, type, entries and place required, given 'rate f2 1 8'",
        ),
        (b"rate f8 1 8", b"rate f8 1", "header: name, type, entries and place required"),
        (b"rate f8", b"ranks f8", "header: two are named 'ranks'"),
        (b"end\n", b"", "header"),
        (
            b"peer i4 5 24",
            b"peer i4 999999999999 24",
            "truncated: 'peer' has 999999999999 entries from byte 24 of",
        ),
        (b"peer i4 5 24", b"peer i4 5 240", "truncated: 'peer' has 5 entries from byte 240 of"),
        (b"gr\xc3\xb6", b"gr\xff\xff", "'name' is not UTF-8 text"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, old: bytes, new: bytes, line: str) -> None:
    path = tmp_path / "x.plan"
    write_flat(path, PLAN_FILE, ENTRIES)
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(InputError) as caught:
        read_flat(path, PLAN_FILE)
    assert str(caught.value).startswith(f"{path}: ")
    assert line in str(caught.value)


def test_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "x.plan"
    write_flat(path, PLAN_FILE, ENTRIES | {"last": np.arange(2)})
    content = path.read_bytes()
    for length in range(0, len(content), 9):
        path.write_bytes(content[:length])
        with pytest.raises(InputError):
            read_flat(path, PLAN_FILE)


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    for kind, form in ((PLAN_FILE, "plan"), (MACHINE_FILE, "machine")):
        write_flat(tmp_path / "x", kind, ENTRIES)
        assert sniff(tmp_path / "x") == Sniffed(form, "flat", kind)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must begin with 'conset/plan@1'"):
        read_flat(tmp_path / "x", PLAN_FILE)
