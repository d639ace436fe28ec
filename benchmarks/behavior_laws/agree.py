"""Section of docs/behavior_laws.md on the agreement of metrics: rank correlations between cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.behavior_laws import ranked
from benchmarks.behavior_laws.ranked import JUDGED, OTHER, TRAIN, Stage
from benchmarks.report import table
from isoplan.data.files import records
from isoplan.data.recommender import published_agreement
from isoplan.engine.agreement import Agreement, flips
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.scores.metrics import HISTORIES

KINDS: dict[Stage, str] = {1: "batch-local", 2: "full catalogue"}
HISTORIED = ("recall@10", "NDCG@10", "MRR@10")
FIG_22: dict[Stage, str] = {1: "at least 0.93 up to 10¹⁸", 2: "0.26 to 0.73 up to 10¹⁷, then at least 0.87"}
PRINTED = {"loss": "val_loss", "entropy": "val_entropy"}


def agreeing(folder: Path) -> Iterator[str]:
    """Yield the lines of this section. It contains the stages of the paper for which a trained sweep exists."""
    found: dict[Stage, tuple[Agreement, ...]] = {}
    stages: tuple[Stage, ...] = (1, 2)
    for stage in stages:
        try:
            found[stage] = ranked.by_budget(folder, stage)
        except PlannerError:
            continue
    if not found:
        return
    yield """
## Do the metrics agree?

The tables contain Spearman's rank correlations between two metrics over the cells of a budget. The sign of each
metric is chosen such that a larger value is better: 1 means that both metrics rank the cells equally, -1 that they
rank them in opposite order. Cells of stage 1 differ in their architecture, and cells of stage 2 only in K. The
statistical error of a correlation over n cells is about 1/√(n - 1), so few cells give little information.
"""
    for stage, parts in found.items():
        yield from _both_ways(stage, parts)
    for stage, parts in found.items():
        yield from _with_loss(stage, parts)
    yield from _training(folder, found)
    yield from _histories(folder, found)


def _both_ways(stage: Stage, parts: Sequence[Agreement]) -> Iterator[str]:
    """Yield the rank correlations of each batch-local metric with full-catalogue metrics.

    The analysis follows Sec. 7 (d) of the behavioural paper.
    """
    other = OTHER[stage]
    local, full = ("", f"{other}_") if stage == 1 else (f"{other}_", "")
    yield f"\n### Stage {stage}: batch-local against the full catalogue\n"
    yield from table(
        (
            "batch-local metric",
            *(f"{power}, {against}" for power in _heads(parts) for against in ("same", "recall@10")),
        ),
        [
            (name, *(_rho(a, f"{local}{name}", f"{full}{to}") for a in parts for to in (name, "recall@10")))
            for name in JUDGED
        ],
    )
    yield "\n*same*: with the same metric over the full catalogue. *recall@10*: with recall@10 over the full catalogue."


def _with_loss(stage: Stage, parts: Sequence[Agreement]) -> Iterator[str]:
    """Yield the rank correlations of the loss with each metric, next to the ranges in Tables 16 and 17 of the paper."""
    paper = [a for a in published_agreement() if a.name.startswith(KINDS[stage])]
    yield f"\n### Stage {stage}: the loss against each metric, {KINDS[stage]}\n"
    yield from table(
        ("metric", *_heads(parts), f"paper, Table {15 + stage}"),
        [(name, *(_rho(a, "loss", name) for a in parts), _range(paper, name)) for name in JUDGED if name != "loss"],
    )
    own = [flip for flip in flips(parts) if "loss" in (flip.one, flip.other) and {flip.one, flip.other} <= set(JUDGED)]
    if own:
        yield "\n" + " ".join(flip.sentence for flip in own)


def _training(folder: Path, found: dict[Stage, tuple[Agreement, ...]]) -> Iterator[str]:
    """Yield the rank correlations of the training loss with the served metrics, next to Table 15 of the paper.

    For stage 1, the value is the median over the budgets. For stage 2, the value over all cells together is added.
    """
    paper = {row["metric"]: row for row in records("papers/behavior/table15_surrogacy.csv")}
    yield """
### The training loss against each metric

For stage 1, the table contains the median over the budgets. For stage 2, it uses the in-batch part of the loss.
"Pooled" is the correlation over the cells of all budgets together, which depends mainly on compute; the last column
is the median over the budgets.
"""
    pool = ranked.pooled(folder, 2) if 2 in found else None
    lines = []
    for name, way in JUDGED.items():
        row, turn = paper.get(PRINTED.get(name, name)), 1.0 if way == "min" else -1.0
        printed = [f"{turn * float(row[c]):.2f}" if row else "" for c in ("stage1_median_spearman", "stage2_spearman")]
        lines.append((
            name, _median(found.get(1, ()), TRAIN[1], name), printed[0],
            "" if pool is None else _rho(pool, TRAIN[2], name), printed[1], _median(found.get(2, ()), TRAIN[2], name),
        ))  # fmt: skip
    head = ("metric", "stage 1, median", "paper, Table 15", "stage 2, pooled", "paper, Table 15", "stage 2, median")
    yield from table(head, lines)


def _histories(folder: Path, found: dict[Stage, tuple[Agreement, ...]]) -> Iterator[str]:
    """Yield the lines on history lengths (behavioural paper, Sec. 7 (e), Fig. 22).

    The lines show whether a metric ranks the cells in the same order for events with short and with long histories.
    """
    lines = []
    for stage, parts in found.items():
        for metric in HISTORIED:
            if least := ranked.by_history(folder, stage, metric):
                lines.append((str(stage), metric, *(_text(least[a.name]) for a in parts), FIG_22[stage]))
    if lines:
        yield f"""
### Short and long histories

A metric is computed for all events, and for events with exactly {", ".join(map(str, HISTORIES[:-1]))} or
{HISTORIES[-1]} events before them if every cell has such events. The table contains the smallest rank correlation
between any two of these values. Few events have the same history length, so noise alone reduces this correlation.
"""
        heads = _heads(next(iter(found.values())))
        yield from table(("stage", "metric", *heads, "paper, Sec. 7 (e)"), lines)


def _heads(parts: Sequence[Agreement]) -> list[str]:
    return [f"{a.name} ({a.n})" for a in parts]


def _rho(a: Agreement, one: str, other: str) -> str:
    return _text(_value(a, one, other))


def _value(a: Agreement, one: str, other: str) -> float:
    return float(a.rho[a.metrics.index(one), a.metrics.index(other)])


def _median(parts: Sequence[Agreement], one: str, other: str) -> str:
    known = [x for a in parts if np.isfinite(x := _value(a, one, other))]
    return _text(float(np.median(known))) if known else ""


def _range(paper: Sequence[Agreement], name: str) -> str:
    known = [x for a in paper if name in a.metrics and np.isfinite(x := _value(a, "loss", name))]
    return f"{_text(min(known))} to {_text(max(known))}" if known else ""


def _text(x: float) -> str:
    return "not defined" if np.isnan(x) else f"{x:.2f}".replace("-", "−")
