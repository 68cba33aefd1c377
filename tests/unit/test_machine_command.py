"""`conset machines`: every number with unit, tag and source, for people and as one object."""

from __future__ import annotations

import json

import pytest

from conset.base.errors import UsageError
from conset.cli.machines import command
from conset.machine.file import PRESETS, TODAY


def test_object(capsys: pytest.CaptureFixture[str]) -> None:
    command(None, True)
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "conset/machines@1"
    assert set(body["manifest"]) == {"version", "seed", "command", "input_sha256"}
    names = [machine["name"] for machine in body["machines"]]
    assert names[:4] == ["iwarp:8x8", "ipsc860:64", "delta:16x32", "paragon:16x16"]
    assert [name.partition(":")[0] for name in names[4:]] == list(TODAY)
    assert [row["name"] for row in body["networks"]] == [
        "mesh",
        "torus",
        "hypercube",
        "ring",
        "crossbar",
    ]
    for machine in body["machines"]:
        for row in machine["costs"]:
            assert set(row) == {"word", "group", "method", "value", "text", "unit", "tag", "source"}
    paragon = {row["word"]: row for row in body["machines"][3]["costs"]}
    assert paragon["overhead"]["value"] == [{"value_s": pytest.approx(231e-6), "up_to_B": None}]
    assert (paragon["overhead"]["text"], paragon["overhead"]["tag"]) == ("231 us", "printed")
    assert paragon["node"]["value"] is None
    assert [
        paragon[word]["group"]
        for word in ("overhead", "inject", "link", "in_flight", "receive", "setup")
    ] == [
        "overheads",
        "latencies",
        "rates",
        "slots",
        "receiving",
        "policies",
    ]
    assert (paragon["model"]["text"], paragon["receive"]["text"]) == ("wormhole", "before")
    assert paragon["synchronization"]["text"] == "137 us · log2 N - 134 us"
    iwarp = [
        (row["word"], row["text"])
        for row in body["machines"][0]["costs"]
        if row["method"] == "naive"
    ]
    own = [
        ("model", "wormhole"),
        ("send_overhead", "20 us"),
        ("receive_overhead", "20 us"),
        ("per_transfer", "0 s"),
        ("blocking", "1.08"),
        ("in_flight", "2"),
        ("setup", "0 s"),
        ("synchronization", "0 s"),
    ]
    assert iwarp == [*own, ("overlap", "1")]


def test_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command("ipsc860:16", False)
    text = capsys.readouterr().out
    assert "ipsc860:16: hypercube" in text
    assert "65 us up to 100 B, 147 us above" in text
    assert "commonly reported" in text
    heads = ["model", "overheads", "latencies", "rates", "slots", "receiving", "policies"]
    lines = [line.strip("│| ").split("  ")[0].split(" ")[0] for line in text.splitlines()]
    assert [line for line in lines if line in heads] == heads


def test_list_has_every_preset_and_network(capsys: pytest.CaptureFixture[str]) -> None:
    command(None, False)
    lines = capsys.readouterr().out.splitlines()
    starts = [line.split(":")[0] for line in lines]
    assert set(PRESETS) <= set(starts)
    assert {"mesh", "torus", "hypercube", "ring", "crossbar"} <= set(starts)
    today, texts = lines.index(next(x for x in lines if "of today" in x)), starts.index("iwarp")
    assert all(today < starts.index(name) < texts for name in TODAY)


def test_preset_says_its_network_sizes_and_example(capsys: pytest.CaptureFixture[str]) -> None:
    command("fugaku:4x2x2", False)
    text = " ".join(capsys.readouterr().out.split())
    for said in (
        "fugaku:4x2x2: torus 4x2x2x2x3x2",
        "ABC │ 2x3x2 │ printed",
        "CLUSTER 2018, abstract",
        "38.1 GB/s",
    ):
        assert said in text
    assert "sizes X x Y x Z (x 2x3x2)" in text
    assert "example conset compile" in text
    command("fugaku", True)
    own = json.loads(capsys.readouterr().out)["machines"][0]["preset"]
    assert (own["sizes"], own["fixed"], own["machine_of"]) == (["X", "Y", "Z"], "2x3x2", "today")
    assert all(row["tag"] and row["source"] for row in own["structure"])


def test_sizes_and_routing_of_ones_own_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    command("ethernet:4x2x3,routing=dmodk", False)
    text = " ".join(capsys.readouterr().out.split())
    assert "leaves │ 4 │ assumed │ a small pod" in text
    assert "spines │ 2 │ given │ the command line" in text
    assert "routing │ dmodk │ given" in text


def test_unknown_machine() -> None:
    with pytest.raises(UsageError, match="unknown machine 'iwrap': did you mean 'iwarp'"):
        command("iwrap", False)
