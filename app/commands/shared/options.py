"""Options shared by commands that read a table: names, types and help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from isoplan.engine.fitting.types.spec import IntervalName, ObjectiveName
from isoplan.engine.schema import RowsOfRun

Repeats = Literal["all", "mean", "once"]
Kept = Literal["refits", "covariance", "values"]
Format = Literal["text", "json", "csv", "markdown", "latex", "python"]

Table = Annotated[Path, typer.Argument(help="CSV, TSV, JSON lines, Parquet, Excel or DuckDB file.")]
LawName = Annotated[str, typer.Option(help="A name that `isoplan laws` lists.")]
AxisName = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The axis of a law on one axis: N, D, C or another column.")
]
Realised = Annotated[
    str, typer.Option(metavar="NUMBER", help="Where runs at 0 on that axis are fitted; without it they are left out.")
]
Mapping = Annotated[
    list[str] | None, typer.Option("--map", metavar="ROLE=COLUMN,...", help="Columns for roles, N=params,D=tokens.")
]
MetricName = Annotated[
    str, typer.Option("--metric", "--y", metavar="COLUMN[:min|max]", help="Fit this column instead of the loss.")
]
Where = Annotated[str, typer.Option(help='Only rows for which this SQL condition holds, "budget > 1e19".')]
Objective = Annotated[
    ObjectiveName | None,
    typer.Option(help="What is minimised; without it huber-log, or ols-log for few runs.", show_default=False),
]
Delta = Annotated[str, typer.Option(help="Huber threshold in units of log loss.")]
Fixed = Annotated[
    list[str] | None, typer.Option("--fix", metavar="NAME=VALUE,...", help="Hold a parameter; may be repeated.")
]
TypedFormula = Annotated[
    str, typer.Option("--formula", metavar="TEXT", help='For --law formula, as in "E + A/N^alpha + B/D^beta".')
]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--bound", metavar="NAME=LOW:HIGH,...", help="Keep a parameter of a formula within; E=0: is open."),
]
Skew = Annotated[
    str, typer.Option(help="How much more a run below the law counts than one above it, for the objective asymmetric.")
]
Priors = Annotated[
    list[str] | None,
    typer.Option("--prior", metavar="NAME=MEAN+-SD,...", help="Gaussian prior, alpha=0.34+-0.02; may be repeated."),
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
    str, typer.Option(metavar="NUMBER|COLUMN", help="Error of y over y, 0.1 or a column; runs weigh by it.")
]
Bootstrap = Annotated[int, typer.Option(help="Refits for the intervals; 0 for none.")]
Interval = Annotated[
    IntervalName,
    typer.Option(
        help="bc, percentile: runs are resampled; residual: their noise; profile: likelihood; auto: by their number."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of the resampling.")]
RULES = "6ND|6npND|NAME:FIELD=VALUE,...|FORMULA"
Rule = Annotated[
    str, typer.Option(metavar=RULES, help="C from N and D where no column gives it: zetaND:zeta=240, or 6*N*D + 1e9*D.")
]
OtherRule = Annotated[
    str,
    typer.Option(
        "--rule",
        metavar=RULES,
        help="Compute rule in place of that of the runs: zetaND:zeta=240, per-epoch:epochs=10, powers:zeta=6,a=1,b=1, "
        "step:s=2%,h=188,B=512,L=256,t=24, stage2:s=2%,h=188,B=512,L=256,K=1e5, 6*N*D + 1e9*D, or fitted to the C of "
        "--runs: measured (zeta N D), measured:powers (zeta N^a D^b).",
    ),
]
RunTable = Annotated[
    Path | None, typer.Option("--runs", metavar="TABLE", help="The runs with measured C, for --rule measured.")
]
RunMap = Annotated[
    list[str] | None,
    typer.Option("--map-runs", metavar="ROLE=COLUMN,...", help="As --map, for --runs: C=flops; else as the fit has."),
]
TokensPerSample = Annotated[str, typer.Option("--n-p", help="Tokens per sample, for 6npND and formulas.")]
RepeatsKept = Annotated[
    Repeats, typer.Option(help="Rows that differ only in seed: all, or their mean; once: exact copies count once.")
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
        metavar="ROLE=FORMULA", help='Compute a role from columns, "D = steps * batch_size * seq_len"; repeatable.'
    ),
]
RowsOfEachRun = Annotated[
    RowsOfRun | None,
    typer.Option("--rows", help="Which rows of a run count where it has several: the last, the best, or all of them."),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.")]
Inner = Annotated[str | None, typer.Option(help="Table inside a DuckDB file.")]
CurveFile = Annotated[
    Path | None, typer.Option("--curves", help="Training curves, for the laws envelope, critical-batch and threshold.")
]
CurveMap = Annotated[
    list[str] | None, typer.Option("--map-curves", metavar="ROLE=COLUMN,...", help="As --map, for the curves: step=it.")
]
Smoothing = Annotated[
    str,
    typer.Option(
        help="Smoothing of a curve, 0 (none) to 1: what a point at 5 % fewer training steps weighs for critical-batch, "
        "what the point before weighs for envelope."
    ),
]
Target = Annotated[str, typer.Option(help="Value to which updates are counted; the hardest that every run reaches.")]
PlannedGroup = Annotated[str, typer.Option("--group", help="The group to plan for, where the fit holds several.")]
Form = Annotated[
    Format, typer.Option("--format", help="How to print the answer; python is what makes it again from its files.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, which `isoplan plan` reads.")]
Card = Annotated[
    Kept,
    typer.Option(
        help="What --json keeps of the uncertainty: every refit; their covariance, from which `isoplan plan` draws; "
        "or values and intervals alone, with which it plans at the best fit."
    ),
]
