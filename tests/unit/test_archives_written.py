"""Archives: large entries are deflated only where that pays, whatever is written is read again
as the same arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from conset.base import files as archives
from conset.base.files import read_archive


@pytest.mark.parametrize("large", [1, 1 << 40])
def test_entries_come_back_and_only_large_noise_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(archives, "_LARGE_B", large)
    noise = np.random.default_rng(3).integers(0, 1 << 31, 100_000, dtype=np.int32)
    given = {
        "noise": noise,
        "runs": np.repeat(np.arange(100, dtype=np.int32), 1000),
        "word": np.array("a text"),
        "same": np.broadcast_to(np.int64(7), 50_000),
        "pairs": noise[:60_000].reshape(-1, 2) / 3,
        "one": noise[:1],
        "none": noise[:0],
    }
    path = tmp_path / "x.npz"
    archives.write_archive(path, given.items())
    with zipfile.ZipFile(path) as archive:
        stored = {i.filename for i in archive.infolist() if i.compress_type == zipfile.ZIP_STORED}
    assert stored == ({"noise.npy", "pairs.npy", "one.npy"} if large == 1 else set())
    found = read_archive(path)
    assert found.keys() == given.keys()
    for name, values in given.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)
    again = tmp_path / "again.npz"
    archives.write_archive(again, given.items())
    assert again.read_bytes() == path.read_bytes()
