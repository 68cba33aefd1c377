"""`conset campaign`: a matrix of cases, measured or simulated, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from conset.base import (
    PROCESSES,
    STOPPED,
    Ended,
    UsageError,
    executor_of,
    parse_time,
    replacing,
    require_replaceable,
    require_suffix,
)
from conset.cli.options import ExecutorOption, JsonOption, WorkersOption, opt, refuse
from conset.cli.output import print_json, print_sections, progress
from conset.report import (
    Part,
    Section,
    Table,
    campaign_markdown,
    campaign_section,
    require_matplotlib,
    write_campaign_page,
)
from conset.schedule import Manifest, sha256_of
from conset.studies import (
    Campaign,
    CampaignRun,
    failure_text,
    parse_share,
    read_campaign,
    read_results,
    results_object,
    run_campaign,
    select_cases,
    state_of_cases,
    write_tables,
)

SCHEMA = "conset/campaign@1"


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="What to compare on what; docs/campaign.md.")
    ],
    output: Annotated[
        Path | None,
        opt("-o/--output DIR", "Keeps every case; the same command goes on where it ended."),
    ] = None,
    only: Annotated[
        list[str] | None,
        opt("--only CASE", "Cases by name, '*' for anything: 'credit/*'; may be repeated."),
    ] = None,
    again: Annotated[
        list[str] | None,
        opt("--again CASE", "Cases to do again though they are done; as --only."),
    ] = None,
    list_: Annotated[
        bool, opt("--list", "List the cases and which are done; run nothing.")
    ] = False,
    stop_after: Annotated[
        str | None,
        opt("--stop-after TIME", "Begin no case that is likely to end later, as 25min."),
    ] = None,
    workers: WorkersOption = 1,
    executor: ExecutorOption = PROCESSES,
    share: Annotated[
        str | None,
        opt("--share I/N", "The I-th of N parts of the cases; slurm: of an array of jobs."),
    ] = None,
    markdown: Annotated[
        Path | None,
        opt("--markdown FILE.md", "Where decision.md goes besides DIR."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a matrix of cases, measured or simulated.

    The choice beside everything else, case by case, resumable.
    """
    limit_s = None if stop_after is None else parse_time(stop_after, "stop_after")
    campaign = read_campaign(file)
    if list_:
        given = {"again": bool(again), "stop_after": stop_after, "markdown": markdown}
        refuse(given, "--list runs nothing")
        _list(campaign, file, output, only or (), json)
        return
    _check_outputs(output, markdown)
    stopped = False
    _check_executor(campaign, executor, workers)
    with executor_of(executor, workers) as pool:
        try:
            run = run_campaign(
                campaign,
                output,
                executor=pool,
                only=only or (),
                again=again or (),
                share=parse_share(share),
                stop_after_s=limit_s,
                watch=lambda step: progress(str(step), parts=False),
            )
        except (KeyboardInterrupt, Ended):
            run = _done_so_far(campaign, output, only or (), parse_share(share))
            if not run.results:
                raise
            stopped = True
    _hand_over(campaign, run, file, output, markdown, json)
    code = max((error.exit_code for error in run.failures.values()), default=0)
    if stopped or (run.missing and not code):
        code = STOPPED
    if code:
        raise typer.Exit(code)


def _check_executor(campaign: Campaign, word: str, workers: int) -> None:
    """Raise UsageError where a measured campaign is given another executor than this process."""
    if not campaign.simulated and (word != PROCESSES or workers > 1):
        asked = f"executor {word}" if word != PROCESSES else f"workers {workers}"
        raise UsageError(
            f"{asked}: is for simulated campaigns; measured ones run one job at a time",
            options=["executor", "workers"],
        )


def _check_outputs(folder: Path | None, markdown: Path | None) -> None:
    """Before anything is measured."""
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"-o {folder}: must be a folder, is a file")
        require_matplotlib()
    if markdown is not None:
        require_replaceable(require_suffix(markdown, "a table", ".md"))


def _done_so_far(
    campaign: Campaign,
    folder: Path | None,
    only: list[str] | tuple[str, ...],
    share: tuple[int, int],
) -> CampaignRun:
    run = CampaignRun(campaign)
    if folder is not None:
        run.results = read_results(campaign, folder)
    done = {result.name for result in run.results}
    cases = select_cases(campaign, only, share)
    run.missing = [case.name for case in cases if case.name not in done]
    return run


def _list(
    campaign: Campaign,
    file: Path,
    folder: Path | None,
    only: list[str] | tuple[str, ...],
    as_json: bool,
) -> None:
    chosen = {case.name for case in select_cases(campaign, only)}
    states = {
        name: state for name, state in state_of_cases(campaign, folder).items() if name in chosen
    }
    if as_json:
        body = {"cases": [{"name": name, "state": state} for name, state in states.items()]}
        print_json(SCHEMA, body, _manifest(campaign, file))
    table = Table(("case", "state"), list(states.items()), (0, 1))
    print_sections([Section("", parts=[Part(table=table)])], as_json)


def _manifest(campaign: Campaign, file: Path) -> Any:
    return Manifest(f"conset campaign {file.name}", campaign.choice.options.seed, sha256_of(file))


def _hand_over(
    campaign: Campaign,
    run: CampaignRun,
    file: Path,
    folder: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    """Tables, page and Markdown of what is done, and remarks on it."""
    manifest = _manifest(campaign, file)
    # of a part of the cases the tables have all that are done
    results = run.results if folder is None else read_results(campaign, folder)
    if results:
        # where results are kept stays out of files
        text = campaign_markdown(campaign, results, f"conset campaign {file} -o DIR")
        if folder is not None:
            with progress("drawing"):
                write_tables(results, folder, {"schema": SCHEMA, "manifest": manifest.to_object()})
                write_campaign_page(folder / "index.html", campaign, results, manifest.command)
        for path in (None if folder is None else folder / "decision.md", markdown):
            if path is not None:
                with replacing(path) as temporary:
                    temporary.write_text(text, encoding="utf-8")
    if as_json:
        failures = [
            {"case": name, "message": failure_text(error)} for name, error in run.failures.items()
        ]
        body = {
            "done": len(run.results),
            "missing": run.missing,
            "failures": failures,
            **results_object(run.results),
        }
        print_json(SCHEMA, body, manifest)
    print_sections([campaign_section(run, folder)], as_json)
