"""Programs that forward: the verifier against a replay byte by byte, by mutation.

Files say the same again.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset.verification.forwarding as forwarding_check
import conset.verification.program as program_check
from conset.machine.spec import parse_machine
from conset.schedule.files.compiled import document_of, to_program, write_compiled
from conset.schedule.files.documents import read_document
from conset.verification import verify
from support.forwarding import forwarding, forwarding_mutants, paths_of, program_of
from support.make_mutants import Mutant
from support.slow_verifier import broken_rule

COUNT = 700
CROSSBAR = parse_machine("crossbar:6")


@pytest.fixture(scope="module")
def made() -> list[tuple[Mutant, str]]:
    """Mutants with the rule that each breaks."""
    return [(m, broken_rule(m.changed, m.machine)) for m in forwarding_mutants(COUNT, 7)]


def test_no_mutant_is_judged_wrongly(made: list[tuple[Mutant, str]]) -> None:
    wrong = [(m.kind, rule) for m, rule in made if verify(m.changed).ok == bool(rule)]
    assert wrong == []
    assert sum(bool(rule) for _, rule in made) > COUNT / 2


def test_every_kind_of_change_is_caught(made: list[tuple[Mutant, str]]) -> None:
    caught = Counter(m.kind.removesuffix(", all else agreed") for m, rule in made if rule)
    for kind in (
        "a bundle's end",
        "part in another bundle",
        "a part's range",
        "part doubled",
        "part dropped",
        "bundle dropped",
        "a part's number",
        "a bundle's bytes",
        "ranks",
        "a message's source",
        "a message's target",
        "a message's size",
        "stages in another order",
        "bundles of stages exchanged",
        "a stage",
        "figures",
        "limit",
        "schedule: transfers",
        "packed",
    ):
        assert caught[kind], kind


def test_an_inner_position_changed_is_another_program(made: list[tuple[Mutant, str]]) -> None:
    """Consistently changed it is right, but for a limit on what ranks hold."""
    inner = [(m.changed, rule) for m, rule in made if m.kind == "an inner position"]
    assert sum(not rule for _, rule in inner) > 40
    assert {rule for _, rule in inner} <= {"", "limit"}


@pytest.mark.parametrize(
    "name",
    [
        "_check_presence",
        "_check_messages",
        "_check_bundles",
        "_check_ranges",
        "_check_twice",
        "_check_sums",
        "_check_path",
        "_check_delivery",
        "_check_staging",
    ],
)
def test_without_one_check_mutants_live(
    made: list[tuple[Mutant, str]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding_check, name, lambda *_: [])
    assert sum(bool(rule) and accepted(m) for m, rule in made) > 0


def test_without_figures_mutants_live(
    made: list[tuple[Mutant, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_check, "_check_figures", lambda *_: [])
    assert sum(bool(rule) and accepted(m) for m, rule in made) > 0


def accepted(mutant: Mutant) -> bool:
    """By a verifier one of whose checks is gone, so that the others may trip over what it looked
    for."""
    try:
        return verify(mutant.changed).ok
    except (IndexError, ValueError):
        return False


def test_ends_of_paths_that_are_no_message_s_are_refused() -> None:
    """Everything else agrees: the stages send, and the figures count, what the other paths say."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        paths = paths_of(6, rng)
        document = document_of(program_of(paths, CROSSBAR))
        m, ranks = int(rng.integers(paths.pattern.messages)), paths.pattern.ranks
        end = "source" if rng.integers(2) else "target"
        ends = np.array(getattr(paths.pattern, end))
        ends[m] = (ends[m] + rng.integers(1, ranks)) % ranks
        assert document.messages is not None
        other = replace(document, messages=replace(document.messages, **{end: ends}))
        rules = {v.rule for v in verify(other).violations}
        assert rules & {"program-path", "program-delivery", "program-message"}


def test_what_is_mutated_is_right_and_its_file_says_the_same_again(tmp_path: Path) -> None:
    made = forwarding(np.random.default_rng(3))
    for k in range(40):
        document, machine = next(made)
        assert verify(document).ok
        assert broken_rule(document, machine) == ""
        one, other = tmp_path / f"{k}.json", tmp_path / "again.json"
        write_compiled(document, one)
        again = read_document(one)
        verdict = verify(again)
        assert verdict.ok
        program = to_program(again)
        assert program.figures() == dict(verdict.figures) == dict(document.figures)
        write_compiled(document_of(program), other)
        assert other.read_bytes() == one.read_bytes()
        turned = dict(reversed(json.loads(one.read_text()).items()))
        other.write_text(json.dumps(turned))
        assert to_program(read_document(other)) == program


def test_a_program_is_what_its_file_says() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        program = program_of(paths_of(6, rng), CROSSBAR)
        again = to_program(document_of(program))
        assert again == program
        assert again.figures() == program.figures()


def test_mutants_are_the_same_for_the_same_seed() -> None:
    one, other, another = ([m.kind for m in forwarding_mutants(60, seed)] for seed in (1, 1, 2))
    assert one == other != another
