"""Options that several commands share, and options that are made from input fields such as prices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from isoplan.engine.fitting.types.spec import IntervalName, ObjectiveName
from isoplan.engine.schema import LayoutOption, RowsOfRun

if TYPE_CHECKING:
    from isoplan.engine.planning.scenario.fields import Field

Repeats = Literal["all", "mean", "once"]
Kept = Literal["refits", "covariance", "values"]
Format = Literal["text", "json", "csv", "markdown", "latex", "python"]

Table = Annotated[Path, typer.Argument(help="CSV, TSV, JSON lines, Parquet, Excel or DuckDB file.")]
LawName = Annotated[str, typer.Option(help="Name of a law, as listed by `isoplan laws`.")]
AxisName = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Axis of a law of one variable: N, D, C or another column.")
]
Realised = Annotated[
    str,
    typer.Option(
        metavar="NUMBER", help="Value to use for runs whose axis value is 0; by default, these runs are left out."
    ),
]
Mapping = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="ROLE=COLUMN,...", help="Columns for roles, as in N=params,D=tokens."),
]
MetricName = Annotated[
    str, typer.Option("--metric", "--y", metavar="COLUMN[:min|max]", help="Fit this column instead of the loss.")
]
Where = Annotated[str, typer.Option(help='Use only rows that meet this SQL condition, as in "budget > 1e19".')]
Objective = Annotated[
    ObjectiveName | None,
    typer.Option(help="Objective to minimise; by default huber-log, or ols-log for few runs.", show_default=False),
]
Delta = Annotated[str, typer.Option(help="Huber threshold in units of log loss.")]
Fixed = Annotated[
    list[str] | None, typer.Option("--fix", metavar="NAME=VALUE,...", help="Fix a parameter; may be repeated.")
]
TypedFormula = Annotated[
    str, typer.Option("--formula", metavar="TEXT", help='For --law formula, as in "E + A/N^alpha + B/D^beta".')
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bound", metavar="NAME=LOW:HIGH,...", help="Bounds of a parameter of a formula. Omit HIGH for no upper bound."
    ),
]
Skew = Annotated[
    str, typer.Option(help="Weight of a run below the law relative to a run above it, for the objective asymmetric.")
]
Priors = Annotated[
    list[str] | None,
    typer.Option(
        "--prior", metavar="NAME=MEAN+-SD,...", help="Gaussian prior, as in alpha=0.34+-0.02; may be repeated."
    ),
]
Shared = Annotated[
    list[str] | None,
    typer.Option("--share", metavar="NAME,...", help="Parameters that are the same in all groups; may be repeated."),
]
Group = Annotated[str, typer.Option(metavar="COLUMN", help="The column that names the group of each run.")]
Each = Annotated[bool, typer.Option("--each", help="Fit one law for each value of --group.")]
Pool = Annotated[
    list[str] | None,
    typer.Option("--pool", metavar="COLUMN", help="Fit all values of this column as one law; may be repeated."),
]
Weight = Annotated[str, typer.Option(metavar="COLUMN", help="Weight of each run; zero leaves it out.")]
RelativeError = Annotated[
    str,
    typer.Option(
        metavar="NUMBER|COLUMN",
        help="Relative error of y: a number (0.1) or the column that contains it. A run with a larger error has a "
        "smaller weight.",
    ),
]
Bootstrap = Annotated[int, typer.Option(help="Number of refits for the intervals; 0 for none.")]
Interval = Annotated[
    IntervalName,
    typer.Option(
        help="Interval method. bc and percentile resample the runs, residual resamples their noise, profile "
        "uses the likelihood; auto chooses by the number of runs."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the resampling.")]
RULES = "6ND|6npND|NAME:FIELD=VALUE,...|FORMULA"
Rule = Annotated[
    str,
    typer.Option(
        metavar=RULES, help="Rule that gives C from N and D if no column does: zetaND:zeta=240, or 6*N*D + 1e9*D."
    ),
]
OtherRule = Annotated[
    str,
    typer.Option(
        "--rule",
        metavar=RULES,
        help="Compute rule, instead of the rule of the runs. One of: zetaND:zeta=240; per-epoch:epochs=10; "
        "powers:zeta=6,a=1,b=1; step:s=2%,h=188,B=512,L=256,t=24; stage2:s=2%,h=188,B=512,L=256,K=1e5; a formula, such "
        "as 6*N*D + 1e9*D; measured, which fits zeta N D to the C of --runs; measured:powers, which fits zeta N^a D^b.",
    ),
]
RunTable = Annotated[
    Path | None, typer.Option("--runs", metavar="TABLE", help="The runs with measured C, for --rule measured.")
]
RunMap = Annotated[
    list[str] | None,
    typer.Option(
        "--map-runs",
        metavar="ROLE=COLUMN,...",
        help="Columns of --runs, as in --map: C=flops; by default the columns of the fit.",
    ),
]
TokensPerSample = Annotated[str, typer.Option("--n-p", help="Tokens per sample, for 6npND and formulas.")]
RepeatsKept = Annotated[
    Repeats,
    typer.Option(help="Rows that differ only in the seed: keep all, use their mean, or keep exact copies once."),
]
Convert = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN[:HOW]",
        help="Convert COLUMN as proposed, or by HOW: millions, billions, 1e6, petaflop, pf-days, H100 or "
        "H100@40% (device hours), comma, point, thousands, log10, log2, ln, perplexity, bits, bits@4.2 (bytes per "
        "token), percent, as-is; repeatable.",
    ),
]
Derive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=FORMULA",
        help='Compute a role from columns, as in "D = steps * batch_size * seq_len"; repeatable.',
    ),
]
RowsOfEachRun = Annotated[
    RowsOfRun | None,
    typer.Option("--rows", help="If a run has several rows: use the last, the best, or all of them."),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.")]
Layout = Annotated[
    LayoutOption,
    typer.Option(help="auto reads a pivot table, for example, as one row per run; plain reads the rows unchanged."),
]
Inner = Annotated[str | None, typer.Option(help="Table inside a DuckDB file.")]
CurveFile = Annotated[
    Path | None, typer.Option("--curves", help="Training curves, for the laws envelope, critical-batch and threshold.")
]
CurveMap = Annotated[
    list[str] | None,
    typer.Option("--map-curves", metavar="ROLE=COLUMN,...", help="Columns of the curves, as in --map: step=it."),
]
Smoothing = Annotated[
    str,
    typer.Option(
        help="Smoothing of a curve: weight of an earlier point relative to the current point, from 0 (none) to 1. The "
        "earlier point is the one at 5 % fewer training steps (critical-batch), or the previous one (envelope)."
    ),
]
Target = Annotated[
    str,
    typer.Option(help="Target value for counting training steps; by default the best value that every run reaches."),
]
PlannedGroup = Annotated[str, typer.Option("--group", help="Group to plan for, if the fit has several.")]
Form = Annotated[
    Format, typer.Option("--format", help="Format of the answer; python prints a script that computes it again.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object. `isoplan plan` reads the object of `isoplan fit`.")
]
Card = Annotated[
    Kept,
    typer.Option(
        help="Uncertainty in the output of --json. refits: all refits. covariance: the covariance of the refits, from "
        "which `isoplan plan` draws parameters. values: only values and intervals; `isoplan plan` then uses the "
        "best fit."
    ),
]


Command = TypeVar("Command", bound=Callable[..., None])


def as_option(field: Field) -> inspect.Parameter:
    """Return the terminal option for an input field."""
    default = inspect.Parameter.empty if field.required else field.kind(field.default)
    return parameter(field.name, Annotated[field.kind, typer.Option(help=field.help)], default)


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter of a command; ``annotation`` is its type with its ``typer.Option`` or ``typer.Argument``."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def with_fields(fields: Iterable[Field], before: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds an option for each of ``fields`` to a command, in front of its option ``before``."""
    return with_parameters(map(as_option, fields), before)


def with_parameters(parameters: Iterable[inspect.Parameter], before: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds ``parameters`` to a command, in front of its option ``before``.

    The command receives the values of ``parameters`` in ``**texts``. If ``before`` is empty, the new options are last.
    """
    options = list(parameters)

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        at = next((i for i, one in enumerate(own) if one.name == before), len(own))
        wanted: Any = command  # Any: the type of a function does not declare the two attributes that are set below.
        wanted.__signature__ = signature.replace(parameters=[*own[:at], *options, *own[at:]])
        kept = {name: x for name, x in command.__annotations__.items() if name != "texts"}
        wanted.__annotations__ = {**kept, **{one.name: one.annotation for one in options}}
        return command

    return add


def with_reading(before: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of ``read_table`` to a command, in front of its option ``before``."""
    annotations = {"convert": Convert, "derive": Derive, "rows": RowsOfEachRun, "sheet": Sheet, "inner": Inner}
    others = (parameter(name, annotation, None) for name, annotation in annotations.items())
    layout = parameter("layout", Layout, "auto")
    return with_parameters([parameter("repeats", RepeatsKept, "all"), *others, layout], before)


def as_texts(values: dict[str, Any]) -> dict[str, str]:
    """Return the values of options as text by name. Options that are None are left out."""
    return {name: str(value) for name, value in values.items() if value is not None}
