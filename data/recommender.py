"""Published evidence of the behavioural paper for each setting of a recipe, and the published rank correlations.

The paper shows the curves behind Tables 2 and 6 only in figures. The optima of these tables therefore have no curves
and no intervals.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np

from isoplan.data.files import path, records
from isoplan.engine.agreement import Agreement
from isoplan.engine.fitting import FitSpec, fit, read_fit
from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.planning.recommender import Evidence, Optimum, published_optimum
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Metric, Roles, Runs

SHARE_COLUMNS = ("s_star_percent", "grid_winner_percent")
SHARES = (0.01, 0.5)
"""Smallest and largest embedder share of the sweep in Table 2. If the best run has one of these two shares, the true
optimum may lie outside the range.
"""
NEGATIVES = (16e3, 2e6)
"""Smallest and largest number K of extra negatives in the sweep of Table 6. The sweep also contains K = 0."""
QUOTED = {
    "s": "2 % of the parameters is best at every budget; every optimum inside its sweep lies between 1 % and 6 %, and "
    "the loss rises above 6 % (behavioural, Sec. 3.1, Table 7).",
    "B": "about 2048 sequences for throughput, past the critical batch of every ranking metric (behavioural, Table 7).",
    "N": "N* = 3.35e-4 C^0.617, D* = 497 C^0.383 by validation loss (behavioural, eqs. 4, 5).",
    "K": "125k to 870k for ranking metrics, 2.5e5 to 9e5 as guidance, about 1e6 at most at 1e18 FLOPs; at 1e19 every "
    "metric still improves at K = 2M, the limit of memory (behavioural, Sec. 6, Tables 6, 7).",
}
MISSING = {
    "s": "The paper shows the loss against the share in a figure (Fig. 1) and prints no table of it.",
    "B": "The paper prints training steps to a target (Table 3) for five metrics only.",
    "N": "The paper prints the exponent of N* for other metrics (Table 5), but neither the prefactor nor the runs.",
    "K": "The paper shows metrics against K in a figure (Fig. 6) and prints optima (Table 6) for four of them.",
}


@cache
def published_evidence() -> Evidence:
    """Return the published evidence for the settings of a recommender.

    These are the optimal embedder share, the critical batch size, the optimal N and D, and the optimal number of extra
    negatives.

    Source: behavioural, Tables 2, 3, 4 and 6.
    """
    card = read_fit(json.loads(path("cards/behavior_table4.json").read_text("utf-8")))
    return Evidence(
        share=_optima("table02_embedder_share", SHARE_COLUMNS, 0.01, SHARES, "behavioural, Table 2"),
        batch={metric: critical_batch(metric) for metric in _metrics("table03_critical_batch")},
        allocation={"val_loss": card},
        negatives=_optima("table06_negatives", ("K_star", "grid_winner_K"), 1.0, NEGATIVES, "behavioural, Table 6"),
        missing=MISSING,  # type: ignore[arg-type]
        quoted=QUOTED,  # type: ignore[arg-type]
    )


def critical_batch(metric: str) -> Fit:
    """Fit eq. 3 to the training steps in Table 3 (behavioural paper) by linear least squares, as in the paper."""
    return fit(FitSpec(law="critical-batch", axis="batch_size", y="updates", objective="ols"), batch_runs(metric))


def batch_runs(metric: str) -> Runs:
    """Return the rows of Table 3 for ``metric``, one per ``batch_size``.

    The column ``updates`` is the number of training steps until the metric reaches its target.
    """
    rows = [r for r in records("papers/behavior/table03_updates_to_target.csv") if r["metric"] == metric]
    columns = {name: np.array([float(r[name]) for r in rows]) for name in ("batch_size", "updates")}
    roles = Roles(metrics=(Metric(column="updates", direction="min"),), hyper=("batch_size",))
    return Runs(np.arange(len(rows)), columns, roles, {}, "behavioural, Table 3")


def minima() -> tuple[tuple[float, float, float], ...]:
    """Return (C, N*, D*) at the minimum of each iso-FLOP parabola of the validation loss (behavioural, Table 4)."""
    rows = [r for r in records("papers/behavior/table04_allocation.csv") if r["estimate"] == "parabola"]
    return tuple((float(r["budget_flops"]), float(r["N"]), float(r["D"])) for r in rows)


@cache
def published_agreement() -> tuple[Agreement, ...]:
    """Return Tables 16 and 17: the rank correlation of the loss with each metric, one result per stage and budget.

    Metrics are oriented so that larger is better. Stage 1 is evaluated on batch-local candidates, and stage 2 is
    evaluated on the full catalogue. Correlations between two metrics are NaN, because the paper prints only
    correlations with the loss.
    """
    stages = (("batch-local", "table16_spearman_stage1"), ("full catalogue", "table17_spearman_stage2"))
    columns = list(dict.fromkeys(c for _, t in stages for c in records(f"papers/behavior/{t}.csv")[0] if "loss_" in c))
    metrics = ("loss", *(c.removeprefix("loss_") for c in columns))
    return tuple(
        _agreement(f"{stage} {power10(float(row['budget_flops']))}", row, columns, metrics)
        for stage, table in stages
        for row in records(f"papers/behavior/{table}.csv")
    )


def _agreement(name: str, row: dict[str, str], columns: list[str], metrics: tuple[str, ...]) -> Agreement:
    rho, n = np.full((len(metrics), len(metrics)), np.nan), int(row["n"])
    np.fill_diagonal(rho, 1.0)
    for i, column in enumerate(columns, 1):
        if row.get(column):
            rho[0, i] = rho[i, 0] = float(row[column]) * (1.0 if column == "loss_entropy" else -1.0)
    return Agreement(name, n, metrics, rho, np.full(rho.shape, n))


def _optima(table: str, columns: tuple[str, str], scale: float, span: Interval, source: str) -> tuple[Optimum, ...]:
    """Return the optima of a published table; ``scale`` converts its numbers.

    ``columns`` names two columns: the optimum, and the value of the best run. If the optimum lies outside the range
    ``span`` of the sweep, the value of the best run shows on which side.
    """
    column, winner = columns
    return tuple(
        published_optimum(
            float(r["budget_flops"]),
            r["metric"],
            float(r[column]) * scale if r[column] else None,
            _place(r["located"], float(r[winner]) * scale, span),
            *span,
            source,
        )
        for r in records(f"papers/behavior/{table}.csv")
    )


def _place(located: str, winner: float, span: Interval) -> Place:
    if located == "inside":
        return "inside"
    return "outside right" if winner >= span[1] else "outside left" if winner < span[0] else "not located"


def _metrics(table: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(r["metric"] for r in records(f"papers/behavior/{table}.csv")))
