"""`conset run --at-run-time`.

What scheduling inside the program costs, measured in a job and predicted beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from conset.studies.run_time.job import RunTimeResult

SCHEMA = "conset/run-time@1"

AtRunTimeOption = Annotated[
    bool,
    typer.Option(
        "--at-run-time",
        help="FILE is a pattern, scheduled by the ranks themselves: what it costs and gains.",
    ),
]
OnOption = Annotated[
    str | None,
    typer.Option(
        "--on", metavar="MACHINE", help="With --at-run-time: what schedules are made for."
    ),
]
MethodsOption = Annotated[
    str | None,
    typer.Option(
        "--methods", metavar="A,B,…", help="With --at-run-time: methods beside posting everything."
    ),
]
RanksOption = Annotated[
    int | None,
    typer.Option(
        "--ranks", metavar="N", help="With --at-run-time: ranks to start; default: the machine's."
    ),
]
PredictOption = Annotated[
    str | None,
    typer.Option(
        "--predict",
        metavar="N,N,…",
        help="With --at-run-time: for so many ranks by model; no job without --ranks.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", help="With --at-run-time: seed of every random choice; default 0."
    ),
]
TableOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE.md", help="With --at-run-time: writes the tables."
    ),
]


def check_kind(*, at_run_time: bool, needs: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Refuses what does not go together.

    Args:
        at_run_time: whether a pattern is scheduled at run time.
        needs: options that go with it alone, by name; None where they were not given.
        others: options that do not go with it.

    Raises:
        UsageError: names the first that is wrong.
    """
    from conset.base.errors import UsageError

    wrong = others if at_run_time else needs
    for name, value in wrong.items():
        if value is not None:
            rule = "does not go" if at_run_time else "goes only"
            raise UsageError(
                f"{name} {value}: {rule} with at_run_time", options=[name, "at_run_time"]
            )
    if at_run_time and needs["on"] is None:
        raise UsageError(
            "at_run_time: a machine is required, as on mesh:4x4", options=["at_run_time", "on"]
        )


def parse_ranks(text: str | None) -> tuple[int, ...]:
    """`1024,4096` → (1024, 4096); nothing where there is no text.

    Raises:
        UsageError: what is no whole number of at least 1.
    """
    from conset.base.errors import UsageError

    found = []
    for part in [] if text is None else text.split(","):
        word = part.strip()
        if not (word.isascii() and word.isdigit() and 0 < int(word) < 10**9):
            raise UsageError(
                f"predict '{text}': '{word}': a number of ranks is required", options=["predict"]
            )
        found.append(int(word))
    return tuple(found)


def run_pattern(
    pattern: str,
    on: str,
    *,
    methods: str | None,
    ranks: int | None,
    predict: str | None,
    repeat: int,
    seed: int,
    mpiexec: str | None,
    reading: Mapping[str, Any],
    output: Path | None,
    as_json: bool,
    speaks: bool,
) -> RunTimeResult:
    """Measures and predicts, prints and writes.

    Args:
        pattern: spec or file.
        on: the machine.
        methods: names with commas; None: the usual ones.
        ranks: of the job; None: the machine's, or no job where there is `predict`.
        predict: numbers of ranks with commas.
        repeat: repetitions that are timed.
        seed: of every random choice.
        mpiexec: another launcher than the wheel's.
        reading: `parts`, `rows_to` and `word` of files.
        output: where tables are written.
        as_json: whether stdout takes one object.
        speaks: whether this process prints; of a running job one rank does.

    Raises:
        UsageError: unknown words. InputError: pattern and machine do not fit. ExecutionError: the
            job did not end.
    """
    from conset.api import run_at_run_time
    from conset.base.files import replacing
    from conset.base.units import parse_size
    from conset.cli.inputs import manifest_of, reading_options
    from conset.cli.output import print_json, print_parts, progress
    from conset.report.run_time import run_time_markdown, run_time_parts

    _check_output(output)
    numbers = parse_ranks(predict)
    with progress("measuring run-time scheduling"):
        result = run_at_run_time(
            pattern,
            on,
            methods=methods,
            ranks=ranks,
            predict=numbers,
            repeat=repeat,
            seed=seed,
            mpiexec=mpiexec,
            parts=reading["parts"],
            rows_to=reading["rows_to"],
            word=parse_size(reading["word"], "word"),
        )
    if not speaks:
        return result
    options = {
        "methods": methods,
        "ranks": ranks,
        "predict": predict,
        "repeat": repeat,
        **reading_options(reading["parts"], reading["rows_to"], reading["word"]),
    }
    if as_json:
        print_json(
            SCHEMA, result.to_object(), manifest_of("run --at-run-time", pattern, on, seed, options)
        )
    print_parts(run_time_parts(result), as_json)
    if output is not None:
        with replacing(output) as temporary:
            temporary.write_text(run_time_markdown(result), encoding="utf-8")
    return result


def _check_output(output: Path | None) -> None:
    from conset.base.errors import UsageError

    if output is not None and output.suffix.lower() != ".md":
        raise UsageError(f"{output}: must end in .md, given '{output.suffix}'", options=["output"])
