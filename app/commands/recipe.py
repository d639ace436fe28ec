"""`isoplan recipe`: recommend the settings of a recommender for a compute budget and a serving metric."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.options import (
    AsJson,
    CurveFile,
    CurveMap,
    Form,
    OtherRule,
    Seed,
    TokensPerSample,
    as_texts,
    with_fields,
)
from isoplan.app.commands.shared.output import note, read_fit_file, say_as
from isoplan.app.commands.shared.rules import Behind, read_used
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.recommender import Evidence
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import printed_name
from isoplan.engine.planning.recommender.document import reply
from isoplan.engine.planning.recommender.own_runs import Asked, combine, evidence_of, roles_of
from isoplan.engine.planning.recommender.recipe import OTHERWISE
from isoplan.engine.planning.recommender.spending import read_budget
from isoplan.engine.planning.recommender.typed_settings import SETTINGS, read_settings
from isoplan.engine.planning.scenario.typed_rules import is_measured, refuse_alone
from isoplan.engine.schema import Curves, Runs

FIRST, BETWEEN = 1.0, 2.0
"""Seconds until the first progress line, and between two progress lines."""
Fits = Annotated[
    list[str] | None, typer.Option(metavar="[METRIC=]FIT.json", help="Fit of one metric; may be repeated.")
]

OwnRuns = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="TABLE",
        help="Table of your runs, with one or several sweeps: N and D, embedder share, batch size, or extra negatives. "
        "For --rule measured, it also needs C.",
    ),
]
OwnMap = Annotated[
    list[str] | None,
    typer.Option(
        "--map-runs", metavar="NAME=COLUMN,...", help="Columns of --runs: N=params,K=neg_samples,recall@10=r10."
    ),
]
SweepMap = Annotated[
    list[str] | None, typer.Option(metavar="ROLE=COLUMN,...", help="Columns of the table of this sweep, as in --map.")
]


@with_fields(SETTINGS.values(), before="rule")
def recipe(
    budget: Annotated[
        str, typer.Option(help="FLOPs, device hours or money to spend: 1e18, 3 EFLOP, 200 H200 hours, '500 EUR'.")
    ],
    metric: Annotated[str, typer.Option(help="Metric that the model is used for.")],
    allocation: Fits = None,
    batch: Fits = None,
    share: Annotated[Path | None, typer.Option(help="Table of the share sweep, one row per run.")] = None,
    share_column: Annotated[
        str, typer.Option(help="Column with the embedder share (a fraction) in the table of --share.")
    ] = "s",
    map_share: SweepMap = None,
    negatives: Annotated[Path | None, typer.Option(help="Table of the sweep of extra negatives.")] = None,
    negatives_column: Annotated[
        str, typer.Option(help="Column with the extra negatives in the table of --negatives.")
    ] = "K",
    map_negatives: SweepMap = None,
    rule: OtherRule = "",
    n_p: TokensPerSample = "",
    runs: OwnRuns = None,
    map_runs: OwnMap = None,
    curves: CurveFile = None,
    map_curves: CurveMap = None,
    convert: options.Convert = None,
    derive: options.Derive = None,
    rows: options.RowsOfEachRun = None,
    where: options.Where = "",
    pool: options.Pool = None,
    instead: Annotated[
        str,
        typer.Option(
            metavar="s=0.06,B=2048,K=1e6",
            help="Other values of the share s, batch B and negatives K, to show the cost of using them.",
        ),
    ] = "",
    published: Annotated[
        bool, typer.Option(help="Use values of the paper for settings that your runs do not determine.")
    ] = True,
    bootstrap: Annotated[int, typer.Option(min=0, help="Number of refits of each sweep; 0 for none.")] = 200,
    seed: Seed = 0,
    form: Form = "text",
    as_json: AsJson = False,
    **texts: Any,
) -> None:
    """Recommend the settings of a recommender for a budget."""
    of_tables: dict[str, Any] = {"convert": convert, "derive": derive, "rows": rows, "where": where, "pool": pool}
    _check_alone("share", share, {"share_column": share_column != "s", "map_share": map_share})
    _check_alone("negatives", negatives, {"negatives_column": negatives_column != "K", "map_negatives": map_negatives})
    _check_alone("runs", runs, {"map_runs": map_runs, "curves": curves})
    _check_alone("curves", curves, {"map_curves": map_curves})
    _check_alone("runs", runs or share or negatives, of_tables)
    typed = as_texts(texts)
    settings = read_settings(typed, _others(instead), "terminal")
    asked, how = Asked(metric, bootstrap, seed), _how_to_read(**of_tables)
    parts = [Evidence(batch=_fits(batch, "batch"), allocation=_fits(allocation, "allocation"))]
    swept: tuple[tuple[Setting, str, Path | None, str, list[str] | None], ...] = (
        ("s", "share", share, share_column, map_share),
        ("K", "negatives", negatives, negatives_column, map_negatives),
    )
    for setting, option, table, column, named in swept:
        if table is not None:
            nothing = (
                f"--{option}: no column of {table.name} is named like {setting}. Name it with --{option}-column COLUMN."
            )
            columns = reading.read_map(named or []) | ({str(setting): column} if column != setting else {})
            parts.append(read_evidence(table, columns, asked, how, nothing, only=setting))
    if runs is not None:
        nothing = (
            f"--runs: {runs.name} contains no sweep of N, s, B or K with the other settings fixed. "
            "Name the columns, as in --map-runs N=params,K=negatives."
        )
        columns, nothing = reading.read_map(map_runs or []), "" if is_measured(rule) else nothing
        parts.append(read_evidence(runs, columns, asked, how, nothing, curves=curves, map_curves=map_curves))
    behind = Behind(runs, map_runs if rule and map_runs else (), None, convert or (), derive or (), where)
    used = read_used(rule, n_p, behind)
    printed = None
    if published:
        from isoplan.data.recommender import published_evidence

        printed = published_evidence()
    own = combine(parts, "terminal")
    read = read_budget(budget, typed, metric, own, printed, used, "terminal")
    note(read.notes(budget))
    answer = reply(read.value, metric, own, printed, settings, used, " ".join(read.notes(budget)))
    say_as("json" if as_json else form, answer.text, answer.file, answer.warnings)


def _check_alone(option: str, there: object, needing: Mapping[str, object]) -> None:
    """Raise PlannerError if ``option`` is not given, but another option that requires ``option`` is given.

    ``there`` is the value of ``option``. ``needing`` contains the values of the options that require ``option``, by
    name.
    """
    given = next((name for name, value in needing.items() if value), "")
    if given and not there:
        refuse_alone(given, option, "terminal")


def _how_to_read(*, convert: Any, derive: Any, rows: Any, where: str, pool: Any) -> dict[str, Any]:
    """Return the keyword arguments of ``open_table`` from the options of the terminal."""
    from isoplan.engine.store.columns.derive import read_derived

    return {"where": where, "agreed": tuple(convert or ()), "derived": read_derived(derive or ()), "rows": rows,
            "pooled": reading.read_names(pool or [])}  # fmt: skip


def read_evidence(
    table: Path,
    named: Mapping[str, str],
    asked: Asked,
    how: Mapping[str, Any] | None = None,
    nothing: str = "",
    *,
    only: Setting | None = None,
    curves: Path | None = None,
    map_curves: list[str] | None = None,
) -> Evidence:
    """Return the evidence that ``evidence_of`` finds in a table file, and print progress on standard error.

    ``how`` are keyword arguments of ``open_table``. If ``only`` is a setting, the table is a sweep of this setting.
    """
    from isoplan.engine.store.files.table_files import open_table, read_curves

    def read(runs: Runs, extra: tuple[str, ...]) -> Curves:
        assert curves is not None
        return read_curves(curves, runs, reading.read_map(map_curves or []), extra)

    asked = replace(asked, progress=Progress(table))
    roles = {name: column for name, column in named.items() if name != only} if only else roles_of(named)
    with open_table(table, roles, **(how or {})) as opened:
        reader = None if curves is None else read
        return evidence_of(opened, named, asked, only=only, curves=reader, tell=note, nothing=nothing)


@dataclass
class Progress:
    """Callback that prints the progress of a fit on standard error, if the fit takes longer than a second."""

    table: Path
    next: float = field(default_factory=lambda: time.monotonic() + FIRST)

    def __call__(self, setting: str, part: float) -> None:
        if time.monotonic() >= self.next:
            note([f"Fitting {setting} of {self.table.name}: {100 * part:.0f} %."])
            self.next = time.monotonic() + BETWEEN


def _fits(options: list[str] | None, what: str) -> dict[str, Fit]:
    """Return fits by metric. ``what`` is the name of the option that gives the fits.

    Each text in ``options`` is METRIC=FILE or FILE. For FILE, the metric is the metric of the fit in this file.
    """
    found: dict[str, Fit] = {}
    for option in options or []:
        name, equals, file = option.rpartition("=")
        fitted = read_fit_file(file if equals else option)
        metric = printed_name(name or fitted.spec.y)
        if metric in found:
            raise PlannerError(f"--{what} gives two fits for {metric}: keep one.")
        found[metric] = fitted
    return found


def _others(text: str) -> dict[Setting, list[str]]:
    """Return the values in a text such as ``s=0.06,K=1e6`` by setting; an empty text gives no values."""
    found: dict[Setting, list[str]] = {}
    for entry in filter(str.strip, text.split(",")):
        name, equals, value = (part.strip() for part in entry.partition("="))
        setting = next((k for k in OTHERWISE if k == name), None)
        if not equals or setting is None:
            raise PlannerError(f"--instead cannot read {entry!r}: write s, B or K and a value, as in s=0.06.")
        found.setdefault(setting, []).append(value)
    return found
