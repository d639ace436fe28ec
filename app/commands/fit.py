"""`isoplan fit`: a law from a table file, with intervals. Works on the file alone and never opens the workspace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import ValidationError

from app.commands.output import note, say, say_json
from engine.costs import ComputeRule, compute_rule
from engine.errors import PlannerError
from engine.fitting.spec import FitSpec, IntervalName, ObjectiveName
from engine.laws import get_law
from engine.quantities import parse_number
from engine.schema import Metric, Runs

if TYPE_CHECKING:
    from engine.fitting import Fit

Axis = Literal["N", "D", "C"]
Repeats = Literal["all", "mean"]


Table = Annotated[Path, typer.Argument(help="CSV, TSV, JSON lines, Parquet, Excel or DuckDB file.")]
LawName = Annotated[str, typer.Option(help="A name that `isoplan laws` lists.")]
AxisName = Annotated[Axis | None, typer.Option(help="The axis of the law power.")]
Mapping = Annotated[
    list[str] | None, typer.Option("--map", metavar="ROLE=COLUMN,...", help="Columns for roles, N=params,D=tokens.")
]
MetricName = Annotated[
    str, typer.Option("--metric", "--y", metavar="COLUMN[:min|max]", help="Fit this column instead of the loss.")
]
Where = Annotated[str, typer.Option(help='Only rows for which this SQL condition holds, "budget > 1e19".')]
Objective = Annotated[ObjectiveName, typer.Option(help="What is minimised.")]
Delta = Annotated[str, typer.Option(help="Huber threshold in units of log loss.")]
Fixed = Annotated[
    list[str] | None, typer.Option("--fix", metavar="NAME=VALUE,...", help="Hold a parameter; may be repeated.")
]
Bootstrap = Annotated[int, typer.Option(help="Refits for the intervals; 0 for none.")]
Interval = Annotated[IntervalName, typer.Option(help="Bias-corrected or plain percentile intervals.")]
Seed = Annotated[int, typer.Option(help="Seed of the resampling.")]
Rule = Annotated[
    str, typer.Option(metavar="6ND|6npND|FORMULA", help="C from N and D where no column gives it, or 6*N*D + 1e9*D.")
]
TokensPerSample = Annotated[str, typer.Option("--n-p", help="Tokens per sample, for 6npND and formulas.")]
RepeatsKept = Annotated[Repeats, typer.Option(help="Rows that differ only in seed: all, or their mean.")]
Convert = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Read this text column as numbers; may be repeated.")
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.")]
Inner = Annotated[str | None, typer.Option(help="Table inside a DuckDB file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, which `isoplan plan` reads.")]


def fit(
    table: Table,
    law: LawName,
    axis: AxisName = None,
    mapping: Mapping = None,
    metric: MetricName = "",
    where: Where = "",
    objective: Objective = "huber-log",
    delta: Delta = "1e-3",
    fix: Fixed = None,
    bootstrap: Bootstrap = 1000,
    interval: Interval = "bc",
    seed: Seed = 0,
    rule: Rule = "",
    n_p: TokensPerSample = "",
    repeats: RepeatsKept = "all",
    convert: Convert = None,
    sheet: Sheet = None,
    inner: Inner = None,
    as_json: AsJson = False,
) -> None:
    """Fit a law to a table of runs."""
    from engine.fitting import fit as fit_runs
    from engine.store.files import read_runs

    if table.is_dir():
        raise PlannerError(f"{table} is a folder: name a table file in it.")
    column, direction = read_metric(metric)
    spec = read_spec(
        law=law, axis=axis, y=column or "loss", objective=objective, delta=parse_number(delta, "option --delta"),
        fixed=read_fixed(fix or []), bootstrap=bootstrap, interval=interval, seed=seed,
    )  # fmt: skip
    runs = read_runs(
        table,
        read_map(mapping or [], column),
        where,
        read_rule(rule, n_p),
        repeats_mean=repeats == "mean",
        agreed=tuple(convert or ()),
        sheet=sheet,
        inner=inner,
    )
    runs = with_direction(runs, column, direction)
    _show(fit_runs(spec, runs, where=where), runs, as_json)


def read_spec(*, law: str, axis: Axis | None, **options: Any) -> FitSpec:
    """The specification that the options name. Raises PlannerError for an unknown law and for the first bad option."""
    get_law(law, axis)
    try:
        return FitSpec(law=law, axis=axis, **options)
    except ValidationError as error:
        raise _bad_option(error) from error


def _show(fitted: Fit, runs: Runs, as_json: bool) -> None:
    """Print the fit, with the notes on how its runs were read and the bias of its parabolas beside it."""
    from engine.fitting import FitWarning, as_text, to_json
    from engine.planning.plan import ABOUT_RUNS

    note(runs.notes)
    biased = list(_bias(fitted, runs))
    if not as_json:
        say("\n\n".join([as_text(fitted), *biased]))
        return
    note(w.text for w in fitted.warnings)
    about = (FitWarning(ABOUT_RUNS, text) for text in runs.notes)
    bias = {"parabola_bias": biased[0]} if biased else {}
    say_json(to_json(replace(fitted, warnings=(*about, *fitted.warnings))) | bias)


def _bias(fitted: Fit, runs: Runs) -> Iterator[str]:
    """How far parabolas are off on a surface through the same runs, or why that cannot be said; only for such a law."""
    from engine.fitting import parabola_bias

    if fitted.law.estimator == "parabola":
        try:
            yield parabola_bias(fitted, runs).sentence
        except PlannerError as error:
            yield f"The bias of the parabolas is not known: {error}"


def read_map(options: list[str], metric: str = "") -> dict[str, str]:
    """Roles -> columns from ``N=params,D=tokens``; a column with a comma stands in double quotes.

    The ``metric`` that is fitted becomes one of the metrics. Raises PlannerError for an entry without "=".
    """
    found: dict[str, str] = {}
    for entry in (e for option in options for e in _split(option)):
        role, equals, column = entry.partition("=")
        if not equals or not role.strip():
            raise PlannerError(f"--map cannot read {entry!r}: write ROLE=COLUMN, as in --map N=params,D=tokens.")
        role = role.strip()
        if role in found:
            raise PlannerError(f"--map names the role {role} twice: keep one of {found[role]!r} and {column!r}.")
        found[role] = column.strip()
    named = found.get("metric", "")
    if metric and metric not in named.split("+"):
        found["metric"] = "+".join(name for name in (named, metric) if name)
    return found


def _split(option: str) -> list[str]:
    """The entries of one --map: cut at commas outside double quotes, quotes taken off."""
    quoted, entries = False, [""]
    for character in option:
        quoted ^= character == '"'
        if character == "," and not quoted:
            entries.append("")
        elif character != '"':
            entries[-1] += character
    if quoted:
        raise PlannerError(f"--map has an open quote in {option!r}: close it.")
    return [entry for entry in entries if entry.strip()]


def read_fixed(options: list[str]) -> dict[str, float]:
    """Parameters held at a value, from ``E=0.32`` or ``alpha=0.3,beta=0.4``; raises PlannerError for anything else."""
    found = {}
    for option in (part for text in options for part in text.split(",")):
        name, equals, value = option.partition("=")
        if not equals or not name.strip():
            raise PlannerError(f"--fix cannot read {option!r}: write NAME=VALUE, as in --fix E=0.32.")
        if name.strip() in found:
            raise PlannerError(f"--fix names {name.strip()} twice: keep one.")
        found[name.strip()] = parse_number(value, f"value of {name.strip()} in --fix")
    return found


def read_metric(option: str) -> tuple[str, str]:
    """Column and direction from ``accuracy:max``; the direction is empty where it is not said."""
    column, colon, direction = option.rpartition(":")
    return (column, direction) if colon and direction in ("min", "max") else (option, "")


def read_rule(rule: str, n_p: str) -> ComputeRule:
    """The compute rule that the options name: 6ND, 6npND (what --n-p alone means), or a formula."""
    tokens = parse_number(n_p, "option --n-p") if n_p else 1.0
    if rule in ("", "6ND", "6npND"):
        if rule == "6ND" and n_p:
            raise PlannerError("--n-p says nothing under --rule 6ND: use --rule 6npND, or leave --n-p out.")
        if rule == "6npND" and not n_p:
            raise PlannerError("--rule 6npND needs the tokens per sample: add --n-p, as in --n-p 40.")
        return compute_rule(rule or ("6npND" if n_p else "6ND"), tokens)
    return compute_rule("formula", tokens, rule)


def with_direction(runs: Runs, column: str, direction: str) -> Runs:
    """The runs with the better direction of the fitted metric as the option says it."""
    if not direction:
        return runs
    metrics = tuple(
        Metric.model_validate({"column": m.column, "direction": direction}) if m.column == column else m
        for m in runs.roles.metrics
    )
    return replace(runs, roles=runs.roles.model_copy(update={"metrics": metrics}))


def _bad_option(error: ValidationError) -> PlannerError:
    first = error.errors()[0]
    option = "--" + str(first["loc"][0])
    return PlannerError(f"{option} {first['input']!r} is not possible: {first['msg'].lower()}.")
