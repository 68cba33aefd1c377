"""`conset machines`: every number with unit, tag and source, for people and as one object."""

from __future__ import annotations

import json

import pytest

from conset.cli.machines import command
from conset.errors import UsageError


def test_object(capsys: pytest.CaptureFixture[str]) -> None:
    command(None, True)
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "conset/machines@1"
    assert set(body["manifest"]) == {"version", "seed", "command", "input_sha256"}
    assert [machine["name"] for machine in body["machines"]] == [
        "iwarp:8x8",
        "ipsc860:64",
        "delta:16x32",
        "paragon:16x16",
    ]
    for machine in body["machines"]:
        for row in machine["costs"]:
            assert set(row) == {"word", "group", "method", "value", "text", "unit", "tag", "source"}
    paragon = {row["word"]: row for row in body["machines"][3]["costs"]}
    assert paragon["overhead"]["value"] == [{"value_s": pytest.approx(231e-6), "up_to_B": None}]
    assert (paragon["overhead"]["text"], paragon["overhead"]["tag"]) == ("231 us", "printed")
    assert paragon["node"]["value"] is None
    assert [paragon[word]["group"] for word in ("overhead", "inject", "link", "in_flight", "receive", "setup")] == [
        "overheads", "latencies", "rates", "slots", "receiving", "policies",
    ]  # fmt: skip
    assert (paragon["model"]["text"], paragon["receive"]["text"]) == ("wormhole", "before")
    assert paragon["synchronization"]["text"] == "137 us · log2 N - 134 us"
    iwarp = [(row["word"], row["text"]) for row in body["machines"][0]["costs"] if row["method"] == "naive"]
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


def test_unknown_machine() -> None:
    with pytest.raises(UsageError, match="unknown machine 'iwrap': did you mean 'iwarp'"):
        command("iwrap", False)
