"""Hints: what a command line that does not parse was most likely meant to say."""

from __future__ import annotations

import re
from collections.abc import Sequence


def in_order(arguments: list[str], commands: Sequence[str]) -> list[str]:
    """The arguments as the commands take them: `--json` after the command, `help COMMAND` as `COMMAND --help`."""
    if not arguments or arguments == ["help"]:
        return ["--help"]
    if arguments[0] == "help" and arguments[1] in commands:
        return [arguments[1], "--help"]
    if arguments[0] == "help":
        return arguments[1:]  # which is then said to be unknown
    if arguments[0] == "--json" and len(arguments) > 1:
        return [*arguments[1:], "--json"]
    return arguments


def explain(message: str, arguments: Sequence[str]) -> str:
    """A message of the parser of arguments, in the words of the command line and with what to do about it."""
    invalid = re.match(r"Invalid value for '([^']*)': (.*)", message, re.DOTALL)
    if invalid is not None:
        return _value(invalid[1], invalid[2], arguments)
    if message == "Missing option '--on'.":
        machine = next((word for word in arguments[1:] if _is_machine(word)), None)
        if machine is not None:
            return f"Missing option '--on': put --on before {machine}"
        return "Missing option '--on': a machine is required, as --on mesh:4x4; `conset machines` lists more"
    extra = re.match(r"Got unexpected extra argument\(s\) \((.*)\)", message)
    if extra is not None:
        machine = next((word for word in extra[1].split() if _is_machine(word)), None)
        return message if machine is None else f"{message}: put --on before {machine}"
    return message


def _is_machine(word: str) -> bool:
    from conset.machine.spec import FILE_SUFFIXES, is_spec

    return is_spec(word) or word.lower().endswith(FILE_SUFFIXES)


_RULES = (
    ("should be a valid integer", "a whole number is required"),
    ("should be a valid number", "a number is required"),
    ("should be greater than or equal to ", "must be at least "),
    ("should be less than or equal to ", "must be at most "),
    ("should be greater than ", "must be above "),
    ("should be a valid boolean", "yes or no is required"),
)


def _value(name: str, rule: str, arguments: Sequence[str]) -> str:
    given = _given(name, arguments)
    for theirs, ours in _RULES:
        if theirs in rule:
            number = rule.split(theirs, 1)[1].split()[0] if ours.endswith(" ") else ""
            return f"{name} {given}: {ours}{number}".replace("  ", " ")
    return f"{name} {given}: {rule}".replace(" :", ":")


def _given(name: str, arguments: Sequence[str]) -> str:
    """The value of an option as it was typed, quoted."""
    for option in re.split(r"\s*/\s*", name):
        for k, word in enumerate(arguments):
            if word == option and k + 1 < len(arguments):
                return f"'{arguments[k + 1]}'"
            if word.startswith(f"{option}="):
                return f"'{word.partition('=')[2]}'"
    return ""


def spell_options(message: str, names: Sequence[str]) -> str:
    """A message of the library with `names` written as on the command line: `rank_by flow` as `--rank-by flow`.

    Parts of paths stay as they are.
    """
    for name in names:
        message = re.sub(rf"(?<![\w./-]){re.escape(name)}(?!\.?[\w/-])", f"--{name.replace('_', '-')}", message)
    return message


def explain_missing(message: str, arguments: Sequence[str]) -> str:
    """A message about a file that is not there, where its name is that of a pattern or a machine."""
    if arguments[0] not in ("verify", "predict", "simulate", "run"):
        return message
    name = next(
        (word for word in arguments[1:] if message.startswith((f"{word}: no such file", f"simulate {word}:"))), ""
    )
    if not name or not (_is_pattern(name) or _is_machine(name)):
        return message
    schedule = f"conset compile {name if _is_pattern(name) else 'PATTERN'} --on MACHINE -o s.json"
    return f"{message}; {arguments[0]} takes a file, as `{schedule}` writes it"


def _is_pattern(word: str) -> bool:
    from conset.pattern.generators.table import GENERATORS

    return re.split("[:,]", word, maxsplit=1)[0] in GENERATORS
