"""How far the models are from times of machine sizes that they were not fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.thakur.exchange import EXECUTED
from conset_papers.thakur.fit import fit, fit_six
from conset_papers.thakur.folds import (
    COLUMNS,
    FOLDS,
    Fold,
    column_of,
    fitted_words,
    fold_without,
    held_out,
    inside,
    outside,
)
from conset_papers.thakur.times import (
    Seconds,
    Time,
    by_table,
    describe_worst,
    draw_errors,
    mean_error,
    printed,
    rms_error,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THREE, TEXT, SIX = "three parameters", "three, the text's f(i)", "six parameters"
FORMS = (THREE, TEXT, SIX)
MEAN = 0.12
"""What is allowed for the mean error of a machine size that was not seen."""
ABOUT = (
    "Every model is fitted to three of the five machine sizes of Tables 2 to 6 and judged on "
    "sizes that it has not "
    "seen. The closed forms (item Fit) are fitted here, on all ten choices of three columns. The "
    "words of the "
    "simulation (overhead, port, node, exchange_weight, link, lanes, receive) are found by "
    "benchmarks/fit_delta.py on "
    "the four choices without the largest machines and kept in a file; every schedule is compiled "
    "and simulated with "
    f"them here, {EXECUTED}."
)


def reproduce() -> Item:
    """Fits the closed forms on all folds, simulates each column with the words found without it."""
    ours = held_out()
    forms = {name: held_out_form(name) for name in FORMS}
    return Item(
        "thakur",
        "Cross-validation",
        "times of machine sizes that a model was not fitted to",
        ABOUT,
        claims=_claims(ours, forms),
        tables=(_columns(ours, forms), _folds(), _words()),
        pictures=(Picture(lambda: _draw(ours, forms)),),
        departures=(
            f"simulated, furthest off: {describe_worst(printed(), ours)}",
            f"simulated, by table: {by_table(ours)}",
        ),
        basis="computed",
    )


def closed_form(name: str, fold: Fold) -> Seconds:
    """A closed form's times of all cells, fitted to those of a fold."""
    if name == SIX:
        return fit_six(inside(fold)).seconds
    return fit("floors" if name == TEXT else "counted", 1, inside(fold)).seconds


def held_out_form(name: str) -> Seconds:
    """A closed form's times, every column by the fold that the simulation's are judged by."""
    return {time: closed_form(name, fold_without(column_of(time)))[time] for time in printed()}


def _claims(ours: Seconds, forms: dict[str, Seconds]) -> tuple[Claim, ...]:
    times = printed()
    found = {name: rms_error(times, values) for name, values in forms.items()}
    means = {column: mean_error(_of(column), ours) for column in COLUMNS}
    return (
        Claim(
            "beyond the text: on sizes not fitted to, the simulation is closer than every "
            "closed form (rms)",
            rms_error(times, ours) < min(found.values()),
            f"{rms_error(times, ours):.1%} against "
            + ", ".join(f"{name} {rms:.1%}" for name, rms in found.items()),
        ),
        Claim(
            "beyond the text: on no size that it was not fitted to is the simulation off by more "
            f"than {MEAN:.0%} in "
            "the mean",
            max(map(abs, means.values())) <= MEAN,
            ", ".join(f"column {column} {mean:+.1%}" for column, mean in means.items()),
        ),
    )


def _of(column: int) -> list[Time]:
    return [time for time in printed() if column_of(time) == column]


def _columns(ours: Seconds, forms: dict[str, Seconds]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for column in COLUMNS:
        times = _of(column)
        values = [
            round(100 * of(times, each), 1)
            for each in (ours, *forms.values())
            for of in (rms_error, mean_error)
        ]
        processors = sorted({time.ranks for time in times})
        rows.append((column, ", ".join(map(str, processors)), _name(fold_without(column)), *values))
    columns = (
        "column",
        "processors",
        "fitted on columns",
        *(f"{name}: {what} [%]" for name in ("simulated", *forms) for what in ("rms", "mean")),
    )
    return Table("Columns: errors on machine sizes that were not fitted to", columns, tuple(rows))


def _folds() -> Table:
    rows: list[tuple[Value, ...]] = []
    for fold in FOLDS:
        seconds = [closed_form(name, fold) for name in FORMS]
        errors = [
            round(100 * rms_error(times, each), 1)
            for each in seconds
            for times in (inside(fold), outside(fold))
        ]
        rows.append((_name(fold), *errors))
    columns = (
        "fitted on columns",
        *(f"{name}: rms {what} [%]" for name in FORMS for what in ("fitted", "judged")),
    )
    return Table("Folds: the closed forms on all ten choices of three sizes", columns, tuple(rows))


def _words() -> Table:
    rows = tuple((_name(fold), words) for fold, words in fitted_words().items())
    return Table(
        "Words: what benchmarks/fit_delta.py found for the simulation",
        ("fitted on columns", "words"),
        rows,
    )


def _name(fold: Fold) -> str:
    return ", ".join(map(str, fold))


def _draw(ours: Seconds, forms: dict[str, Seconds]) -> Figure:
    return draw_errors(
        ours,
        {"simulated": ours, **forms},
        title="Errors on machine sizes that the models were not fitted to",
        subtitle=(
            f"each fitted on three other sizes; complete exchange on delta, {EXECUTED}; "
            "dots: simulated"
        ),
    )
