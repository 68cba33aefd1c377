"""The page that steps through phases, in a browser: what it shows, what keys do, what it costs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conset.cli.main import run

pytest.importorskip("matplotlib", reason="pages need matplotlib: pip install 'conset[draw]'")


def report(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> Path:
    """The page of a schedule."""
    monkeypatch.chdir(folder)
    assert run(["compile", *words, "-o", "s.json"]) == 0
    assert run(["report", "s.json", "-o", "s.html"]) == 0
    return folder / "s.html"


def test_ten_thousand_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("alltoall:size=1KiB", "--on", "mesh:10x10", "--method", "lp")
    page = report(tmp_path, monkeypatch, *words)
    assert page.stat().st_size <= 300_000
    text = page.read_text()
    assert len(re.findall("<figure><svg", text)) == 3, "still pictures without JavaScript"
    links = re.findall(r'(?:src|href)="([^"#]*)"|url\((?!#)([^)]*)\)', text)
    assert all(("".join(found)).startswith("data:") for found in links), "no other file"


@pytest.fixture
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium: apt-get install chromium")
    with api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


def test_keys_and_pointers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: Any) -> None:
    words = ("alltoall:size=4KiB", "--on", "mesh:3x3", "--method", "first-fit", "--sync", "local")
    page_file = report(tmp_path, monkeypatch, *words)
    said: list[str] = []
    for settings in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}):
        page = browser.new_context(**settings).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        page.goto(f"file://{page_file}")
        head, steps = page.locator(".steps .head"), page.locator(".steps")
        head.wait_for()
        count = int(re.findall(r"of (\d+):", head.inner_text())[0])
        assert head.inner_text().startswith(f"Phase 0 of {count}: 9 messages, 36 KiB")
        steps.focus()
        for keys, phase in (
            (["ArrowRight"] * 2, 2),
            (["End"], count - 1),
            (["Home", "ArrowLeft"], 0),
        ):
            for key in keys:
                page.keyboard.press(key)
            assert head.inner_text().startswith(f"Phase {phase} of {count}: ")
            assert page.locator(".steps input").input_value() == str(phase)
        # a row of the list: its links, its ranks
        row = page.locator(".steps .list tr").first
        row.hover()
        source, target = re.findall(r"\d+", row.inner_text())[:2]
        assert head.inner_text().startswith(f"Phase 0: {source} → {target}: 4 KiB, ")
        assert page.locator(".steps .node.on text").all_text_contents() == sorted([source, target])
        assert page.locator(".steps .wire.on").count() == int(
            re.findall(r"(\d+) links?", row.inner_text())[0]
        )
        # a node: the messages of its rank
        page.locator(".steps .node").first.hover()
        assert head.inner_text() == "Phase 0: rank 0 (2 messages)"
        assert page.locator(".steps .list tr.on").count() == 2
        # time: a click on a bar leads to its phase
        page.locator(".steps canvas").hover(position={"x": 3, "y": 3})
        page.keyboard.press("+")
        page.keyboard.press("0")
        page.keyboard.press(" ")
        page.wait_for_timeout(900)
        page.keyboard.press(" ")
        assert not head.inner_text().startswith("Phase 0 ")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert said == [f"file://{page_file}"] * 3, "no error, no other request"
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(f"file://{page_file}")
    assert plain.locator("figure svg").count() == 3
    assert not plain.locator(".steps").is_visible()
