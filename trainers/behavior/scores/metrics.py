"""Metrics that are computed from the ranks of the true next items (behavioural paper, App. A).

The metrics are recall@K (equal to hit@K), NDCG@K and MRR@K (eq. 7), coverage@K and global_coverage@K (eq. 8), and
cross-entropy, perplexity and entropy (eq. 9). Each metric is also computed for the events with exactly 3, 5, 10, 20, 50
or 100 earlier events of the user (App. H).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.scores.ranks import Ranked

Regime = Literal["local", "full"]
"""Candidates of an evaluation: the unique targets of a batch (``local``), or the whole catalogue (``full``)."""
CUTOFFS = (10, 100)
TOP = max(CUTOFFS)
"""Largest cutoff K of the metrics."""
HISTORIES = (3, 5, 10, 20, 50, 100)
"""Numbers of earlier events of the user for which metrics are also computed separately."""
PLAIN = ("loss", "perplexity", "entropy")
"""Metrics without a cutoff K. Smaller values are better."""
AT = ("recall", "NDCG", "MRR", "coverage")
"""Metrics with a cutoff K. Larger values are better."""


SHORT = ("loss", "recall@10", "NDCG@10", "MRR@10")
"""Metrics that are reported for baselines and for each history length."""
BASELINES = (
    "guess_loss",
    *(f"{name}_{metric}" for name in ("popularity", "last_items") for metric in SHORT),
    *(f"{name}_full_recall@10" for name in ("popularity", "last_items")),
    "scored",
    "passes",
    "untrained",
)
"""Columns of the baselines in the run table.

They are metrics over the default candidates of the training run, and recall@10 over the whole catalogue.
"""


@dataclass(frozen=True)
class Evaluation:
    """Result of an evaluation of ``events`` scored events.

    ``metrics`` contains, by name, the metrics of all scored events. ``histories`` contains, for each history length,
    the metrics of the events with this length. A history length without events is omitted. A perplexity that overflows
    is also omitted.
    """

    events: int
    metrics: Mapping[str, float]
    histories: Mapping[int, Mapping[str, float]]

    def row(self) -> dict[str, float]:
        """Return all metrics in one row.

        ``recall@10`` is a metric of all events, and ``recall@10/ctx_3`` is the metric of the events with 3 earlier
        events.
        """
        parts = [(f"/ctx_{length}", found) for length, found in self.histories.items()]
        return {f"{name}{tail}": v for tail, found in [("", self.metrics), *parts] for name, v in found.items()}


def directions(
    cutoffs: tuple[int, ...] = CUTOFFS, histories: tuple[int, ...] = HISTORIES
) -> dict[str, Literal["min", "max"]]:
    """Return the names in ``Evaluation.row``, each with "min" (smaller is better) or "max" (larger is better)."""
    by_name: dict[str, Literal["min", "max"]] = {}
    for tail in ("", *(f"/ctx_{length}" for length in histories)):
        by_name.update({f"{name}{tail}": "min" for name in PLAIN})
        by_name.update({f"{name}@{k}{tail}": "max" for k in cutoffs for name in AT})
        by_name.update({f"global_coverage@{k}": "max" for k in cutoffs if not tail})
    return by_name


def at_cutoff(ranked: Ranked, k: int) -> dict[str, Floats]:
    """Return recall, NDCG and MRR at the cutoff ``k`` for each query, (Q,) each.

    The values are means over all orders of candidates with equal scores (behavioural paper, eq. 7).
    """
    places = np.arange(1, k + 1)
    gains = {"recall": np.ones(k), "NDCG": 1 / np.log2(places + 1), "MRR": 1 / places}
    low, high = np.minimum(ranked.above, k), np.minimum(ranked.above + ranked.tied, k)
    sums = {name: np.concatenate([[0.0], np.cumsum(gain)]) for name, gain in gains.items()}
    return {name: (total[high] - total[low]) / ranked.tied for name, total in sums.items()}


def evaluate(
    batches: Iterable[tuple[Ranked, NDArray[np.integer]]],
    items: int,
    cutoffs: tuple[int, ...] = CUTOFFS,
    histories: tuple[int, ...] = HISTORIES,
) -> Evaluation:
    """Return the metrics of several batches of ranked queries.

    A batch is a pair of the ranks and the history lengths (Q,) of its queries. One batch at a time is in memory.
    ``items`` is the number of items of the catalogue. The results include:

    - ``loss``: the mean cross-entropy in nats.
    - ``coverage@K``: the fraction of the candidates of a batch that are among the K best items of any query of the
      batch, averaged over the batches. For a history length, only batches with queries of this length are averaged.
    - ``global_coverage@K``: the same fraction, computed once for the candidates and queries of all batches.

    Raises PlannerError if there is no query.
    """
    tallies = {length: _Tally(cutoffs) for length in (None, *histories)}
    shown = {k: np.zeros(items, np.bool_) for k in cutoffs}
    offered = np.zeros(items, np.bool_)
    for ranked, history in batches:
        values = {"loss": ranked.cross_entropy, "entropy": ranked.entropy}
        values |= {f"{name}@{k}": v for k in cutoffs for name, v in at_cutoff(ranked, k).items()}
        for length, tally in tallies.items():
            rows = np.arange(len(ranked)) if length is None else np.flatnonzero(history == length)
            if len(rows):
                tally.add(values, ranked, rows)
        for k in cutoffs:
            shown[k][ranked.top[:, :k]] = True
        offered[slice(ranked.pool.start, ranked.pool.stop) if isinstance(ranked.pool, range) else ranked.pool] = True
    whole = tallies.pop(None)
    if not whole.queries:
        raise PlannerError("There are no events to score: keep some for the validation or the test set.")
    metrics = whole.metrics() | {f"global_coverage@{k}": float(shown[k].sum() / offered.sum()) for k in cutoffs}
    by_length = {n: tally.metrics() for n, tally in tallies.items() if n is not None and tally.queries}
    return Evaluation(whole.queries, metrics, by_length)


class _Tally:
    """Sums of metrics over all batches, for queries with one history length or for all queries."""

    def __init__(self, cutoffs: tuple[int, ...]) -> None:
        self.cutoffs, self.queries, self.batches = cutoffs, 0, 0
        self.sums: dict[str, float] = {}
        self.covered = dict.fromkeys(cutoffs, 0.0)

    def add(self, values: Mapping[str, Floats], ranked: Ranked, rows: Ints) -> None:
        self.queries, self.batches = self.queries + len(rows), self.batches + 1
        for name, v in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(v[rows].sum())
        for k in self.cutoffs:
            self.covered[k] += len(np.unique(ranked.top[rows, :k])) / len(ranked.pool)

    def metrics(self) -> dict[str, float]:
        values = {name: total / self.queries for name, total in self.sums.items()}
        with contextlib.suppress(OverflowError):
            values["perplexity"] = math.exp(values["loss"])
        return values | {f"coverage@{k}": covered / self.batches for k, covered in self.covered.items()}


RIVALS_AT = 10
"""Cutoff K of hit@K and NDCG@K with sampled negatives, as in published results."""
HIT, NDCG = f"hit@{RIVALS_AT}/rivals", f"NDCG@{RIVALS_AT}/rivals"
METRICS: dict[str, Literal["min", "max"]] = {
    **{name: way for name, way in directions().items() if name != "loss"},
    **{f"{regime}_{name}": way for regime in ("local", "full") for name, way in directions(histories=()).items()},
    HIT: "max",
    NDCG: "max",
}
"""All metrics except the loss, each with "min" (smaller is better) or "max" (larger is better).

A metric without prefix uses the default candidates of the stage, as in the behavioural paper. These are batch-local
candidates in stage 1 and the full catalogue in stage 2. For the other set of candidates, the prefix is ``full_`` in
stage 1 and ``local_`` in stage 2.
"""
