"""`isoplan agreement`: check whether metrics rank the runs in the same order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.engine.agreement import Across, Agreement, By, across, flips, usual
from isoplan.engine.agreement import agreement as rank_correlations
from isoplan.engine.arrays import finite
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.schema import Runs
from isoplan.engine.store.columns.directions import split_direction, with_direction

WHAT = "Spearman's rank correlation of each pair of metrics. 1 means the same order of runs."
FLIPS = "sign changes"
WIDTH = 100
"""Maximum line width in characters. Most terminals are at least as wide."""


@options.with_reading(before="as_json")
def agreement(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="CSV, TSV, JSON lines, Parquet, Excel or DuckDB file; by default the values of the papers."
        ),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(
            help="Runs that are compared with each other: all runs, runs with the same budget, or runs of the same "
            "group. Default: budget if the table has budgets, otherwise all."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[:min|max]", help="Metric to compare, instead of the suggested ones; may be repeated."
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOCAL=FULL",
            help="Two columns with the same metric, on the batch (LOCAL) and on the full catalogue (FULL); may be "
            "repeated.",
        ),
    ] = None,
    mapping: options.Mapping = None,
    where: options.Where = "",
    as_json: options.AsJson = False,
    **texts: Any,
) -> None:
    """Check whether loss and metrics rank the runs in the same order."""
    if table is None:
        typed = {"by": by, "metric": metric, "pair": pair, "map": mapping, "where": where} | texts
        defaults = {"repeats": "all", "layout": "auto"}
        given = next((name for name, value in typed.items() if value and value != defaults.get(name)), "")
        if given:
            raise PlannerError(f"--{given} requires a table. Name the file.")
        from isoplan.data.recommender import published_agreement

        found: Sequence[Agreement] = published_agreement()
    else:
        runs = _read(table, metric or [], mapping or [], where, **texts)
        note(runs.notes)
        found = rank_correlations(runs, by or usual(runs))
    regimes = across(found, [_pair(text) for text in pair or []])
    if as_json:
        say_json(to_json(found, regimes))
    else:
        say(as_text(found, regimes))


def _read(table: Path, metrics: Sequence[str], mapping: list[str], where: str, **how: Any) -> Runs:
    """Return the runs of the table. ``metrics`` are texts such as "accuracy:max"; if empty, metrics are guessed."""
    turns = dict(map(split_direction, metrics))
    roles = reading.read_map(mapping)
    if turns and "metric" in roles:
        raise PlannerError("--map and --metric both name metrics: keep one.")
    roles |= {"metric": "+".join(turns)} if turns else {}
    runs = reading.read_table(table, roles, ("", ""), where, ComputeRule(), **how)
    for column, direction in (turns or dict.fromkeys(roles.get("metric", "").split("+"), "")).items():
        runs = with_direction(runs, column, direction, "--metric")
    return runs


def _pair(text: str) -> tuple[str, str]:
    local, equals, full = (part.strip() for part in text.partition("="))
    if not (local and equals and full):
        raise PlannerError(f"--pair cannot read {text!r}: write LOCAL=FULL, as in --pair recall_batch=recall_full.")
    return local, full


def as_text(found: Sequence[Agreement], regimes: Sequence[Across]) -> str:
    """Return the correlations as a text table, followed by notes.

    The table has one row per pair of metrics and one column per group of runs.
    """
    metrics, marked = found[0].metrics, flips(found)
    flipped = {(flip.one, flip.other) for flip in marked}
    body = [
        (f"{one}, {other}", [float(a.rho[i, j]) for a in found], (one, other) in flipped)
        for (i, one), (j, other) in combinations(enumerate(metrics), 2)
        if any(math.isfinite(a.rho[i, j]) for a in found)
    ]
    lines = [WHAT, *_tables(found, body)]
    if regimes:
        pairs = [(f"{a.local}, {a.full}", a.rho, a.flips) for a in regimes]
        lines += ["", "Batch-local against full catalogue:", *_tables(found, pairs)]
    said = [flip.sentence for flip in marked]
    if not said and len(found) > 1:
        said = ["No pair of metrics changes the sign of its correlation."]
    notes = [f"{a.name}: {text}" for a in found for text in a.notes]
    return "\n".join([*lines, *([""] if said or notes else []), *said, *notes])


def _tables(found: Sequence[Agreement], body: Sequence[tuple[str, Sequence[float], bool]]) -> list[str]:
    """Return the lines of a text table with one row per pair of metrics and one column per group of runs.

    Groups that do not fit into ``WIDTH`` characters are in a second table below the first one, and so on.
    """
    first = max((len(pair) for pair, _, _ in body), default=0) + len(FLIPS) + 2
    width = max(max(len(a.name) for a in found) + 2, len("-0.00") + 2)
    step = max((WIDTH - first) // width, 1)
    lines: list[str] = []
    for at in range(0, len(found), step):
        here = slice(at, at + step)
        head = [("", *(a.name for a in found[here]), ""), ("runs", *(f"{a.n:,}" for a in found[here]), "")]
        rows = [(pair, *map(_shown, rho[here]), FLIPS if flip else "") for pair, rho, flip in body]
        lines += ["", *aligned([*head, *rows])]
    return lines


def _shown(rho: float) -> str:
    return f"{rho:.2f}" if math.isfinite(rho) else "-"


def to_json(found: Sequence[Agreement], regimes: Sequence[Across]) -> dict[str, Any]:
    """Return the correlations as one JSON object. Undefined correlations are null."""
    return {
        "schema": 1,
        "metrics": list(found[0].metrics),
        "parts": [
            {
                "name": a.name,
                "runs": a.n,
                "rho": finite(a.rho),
                "counts": a.counts.tolist(),
                "notes": list(a.notes),
            }
            for a in found
        ],
        "flips": [
            {"one": f.one, "other": f.other, "agree": list(f.agree), "disagree": list(f.disagree), "clear": f.clear,
             "text": f.sentence}
            for f in flips(found)
        ],
        "pairs": [
            {"local": a.local, "full": a.full, "rho": finite(a.rho), "flips": a.flips} for a in regimes
        ],
    }  # fmt: skip
