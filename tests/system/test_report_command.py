"""`conset report`: what stands on the page and in the object, against the commands that say each
alone."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

from conset.cli.main import run
from conset.report.files import cells_of, summary_table
from conset.schedule.schedule import sha256_of
from conset.studies.compare.files import examine

pytest.importorskip("matplotlib", reason="pages need matplotlib: pip install 'conset[draw]'")

UNEQUAL = "random:degree=4,size=log-uniform(64,4KiB)"
BLOCKS = """
[[block]]
name = "a <b>bold</b> & \\"quoted\\" --> name"
pattern = "alltoall,size=2KiB"
repeat = 2
method = "connections"
[[block]]
name = "halo"
pattern = "neighbor"
repeat = 20
method = "connections"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each kind, and one schedule that breaks a rule."""
    where = tmp_path_factory.mktemp("files")
    (where / "app.toml").write_text(BLOCKS)
    for words in (
        ["compile", str(where / "app.toml"), "--on", "iwarp:4x4", "-o", "blocks.json"],
        [
            "compile",
            "random:degree=4,size=log-uniform(64,4KiB)",
            "--on",
            "torus:4x4",
            "--method",
            "rs-nl",
            "-o",
            "s.npz",
        ],
        [
            "compile",
            "alltoall,size=64",
            "--on",
            "torus:4x4",
            "--combine",
            "4x4",
            "-o",
            "stages.json",
        ],
        ["compile", "alltoall", "--on", "iwarp:4x4", "--method", "connections", "-o", "open.json"],
    ):
        assert run([*words[:-1], str(where / words[-1])]) == 0
    for name, model in (("s.npz", "flow"), ("blocks.json", "wormhole")):
        assert (
            run(
                [
                    "simulate",
                    str(where / name),
                    "--model",
                    model,
                    "-o",
                    str(where / f"t-{name[0]}.json"),
                ]
            )
            == 0
        )
    broken = json.loads((where / "open.json").read_text())
    broken["figures"]["load"]["send"] += 1
    (where / "broken.json").write_text(json.dumps(broken))
    return where


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert run([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


class Page(html.parser.HTMLParser):
    """Tags in balance, ids, links, rows of tables, text."""

    VOID = (
        "meta",
        "br",
        "use",
        "path",
        "rect",
        "stop",
        "image",
        "circle",
        "ellipse",
        "line",
        "polygon",
        "polyline",
    )

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.links += [
            str(given[name]) for name in ("href", "src", "xlink:href") if given.get(name)
        ]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("th", "td"):
            self.tables[-1][-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.open and {"th", "td"} & set(self.open) and self.tables:
            self.tables[-1][-1][-1] += data


FILES = ("blocks.json", "s.npz", "stages.json", "open.json", "t-s.json", "t-b.json", "broken.json")


def test_the_object_says_what_each_command_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(folder / name) for name in FILES]
    body = printed(capsys, "report", *paths)
    assert body["schema"] == "conset/report@1"
    by_name = {facts["file"]: facts for facts in body["files"]}
    assert tuple(by_name) == FILES
    for name, path in zip(FILES, paths, strict=True):
        facts = by_name[name]
        verdict = printed(capsys, "verify", path, code=4 if name == "broken.json" else 0)
        assert facts["verified"] == verdict["ok"]
        assert facts["violations"] == len(verdict["violations"])
        assert facts["sha256"] == sha256_of(Path(path))
        if facts["kind"] != "timeline":
            predicted = printed(capsys, "predict", path)
            assert facts["time_s"] == predicted["time_s"]
            assert facts["terms"] == predicted["terms"]
            assert facts["by"] == predicted["by"]
        if facts["bound"] is not None:
            assert facts["gap"]["time"] >= 1 - 1e-9
    assert by_name["broken.json"]["violation_texts"] == [
        "figures: load.send: file says 5, recount gives 4"
    ]
    for name, timeline in (("s.npz", "t-s.json"), ("blocks.json", "t-b.json")):
        (simulated,) = by_name[name]["simulated"]
        assert simulated["file"] == timeline
        assert simulated["time_s"] == by_name[timeline]["time_s"]
    assert by_name["open.json"]["simulated"] == []
    shown = printed(capsys, "show", str(folder / "blocks.json"))
    blocks = by_name["blocks.json"]
    assert blocks["switch"]["count"] == shown["figures"]["switches"]
    assert blocks["simulated"][0]["switch"]["count"] == blocks["switch"]["count"]


def test_the_page_stands_alone_and_says_every_figure(folder: Path, tmp_path: Path) -> None:
    paths = [folder / name for name in FILES]
    assert run(["report", *map(str, paths), "-o", str(tmp_path / "a.html")]) == 0
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids)), "every id once"
    inside = (link for link in page.links if not link.startswith("data:image/png;base64,"))
    assert all(link.startswith("#") and link[1:] in page.ids for link in inside), (
        "nothing from elsewhere"
    )
    assert text.count("<script") == text.count("<script>\n") + text.count("<script>// ") == 1
    assert not re.search(r'(?:src|href)="(?!#|data:image/png;base64,)', text)
    found = examine(paths)
    summary = page.tables[0]
    assert summary[0] == list(cells_of(found[0])), "of more than six files a row each"
    for each, row in zip(found, summary[1:], strict=True):
        assert list(cells_of(each).values()) == row
    words = "".join(page.words)
    assert 'a <b>bold</b> & "quoted" --> name' in words, "names are text"
    assert "<b>bold" not in text
    assert words.count("verified") >= 6
    assert "figures: load.send: file says 5, recount gives 4" in words
    titles = (
        "Switches, all together",
        "Guarantees of connections: bandwidth",
        "One message's way",
        "Timeline",
    )
    assert all(title in words for title in titles)


def test_a_few_files_stand_side_by_side(folder: Path, tmp_path: Path) -> None:
    paths = [folder / name for name in ("s.npz", "open.json")]
    found = examine(paths)
    table = summary_table(found, 6)
    assert list(table.columns) == ["", "s.npz", "open.json"]
    rows = {row[0]: list(row[1:]) for row in table.rows}
    assert rows["method"] == ["rs-nl", "connections"]
    assert rows["gap"] == [
        f"{each.facts['time_s'] / each.facts['bound']['time_s']:.3f}" for each in found
    ]
    assert "switches" not in rows, "no file has any"
    for name in ("a.html", "b.html"):
        assert run(["report", *map(str, paths), "-o", str(tmp_path / name)]) == 0
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert Page(text).tables[0][0] == ["", "s.npz", "open.json"]
    assert text == (tmp_path / "b.html").read_text(encoding="utf-8"), (
        "the same files give the same bytes"
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["s.npz", "-o", "x.pdf"],
            2,
            "x.pdf: a page ends in .html, given '.pdf'",
        ),
        (["app.toml"], 3, "a schedule, a program, a timeline or a record of conset required"),
        (["absent.json"], 3, "absent.json: no such file"),
        (["s.npz", "-o", "no/such/x.html"], 3, "x.html"),
    ],
)
def test_what_is_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert run(["report", *words]) == code
    assert message in capsys.readouterr().err
    assert not list(folder.glob("x.*"))


def test_ranks_that_send_nothing_are_not_guessed_of_a_timeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "few.csv").write_text("source,target,bytes\n0,1,10\n")
    few, played = str(tmp_path / "few.json"), str(tmp_path / "t.json")
    assert run(["compile", str(tmp_path / "few.csv"), "--on", "crossbar:16", "-o", few]) == 0
    assert run(["simulate", few, "-o", played]) == 0
    files = printed(capsys, "report", few, played)["files"]
    assert [facts["pattern"]["ranks"] for facts in files] == [16, None]
    assert run(["report", few, played, "-o", str(tmp_path / "page.html")]) == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert next(row for row in page.tables[0] if row[0] == "ranks") == ["ranks", "16", ""]


def test_a_program_that_states_wrong_figures_is_shown_with_a_warning(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = json.loads((folder / "blocks.json").read_text())
    edited["figures"]["switches"] += 1
    (tmp_path / "edited.json").write_text(json.dumps(edited))
    assert printed(capsys, "show", str(folder / "blocks.json"))["verified"] is True
    assert printed(capsys, "show", str(tmp_path / "edited.json"))["verified"] is False
    assert run(["show", str(tmp_path / "edited.json")]) == 0
    assert "this program breaks rules: conset verify" in " ".join(capsys.readouterr().out.split())


def test_files_without_messages(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("source,target,bytes\n")
    paths = []
    for name, words in (("one.json", []), ("two.json", ["--method", "connections"])):
        paths.append(str(tmp_path / name))
        on = ["--on", "iwarp:2x2"] if words else ["--on", "crossbar:4"]
        assert run(["compile", str(tmp_path / "none.csv"), *on, *words, "-o", paths[-1]]) == 0
    assert run(["report", *paths, "-o", str(tmp_path / "x.html")]) == 0
    assert "no messages" in (tmp_path / "x.html").read_text(encoding="utf-8")
