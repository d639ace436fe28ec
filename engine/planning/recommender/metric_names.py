"""Names of recommender metrics: the spellings of each metric, and its printed name in the papers."""

from __future__ import annotations

import re

from isoplan.engine.schema import Direction

LOSS, ENTROPY = "val_loss", "val_entropy"
_HELD_OUT = r"(?:(?:val|valid|validation|eval|evaluation|dev|test)_)?"
_LOSSES = re.compile(rf"{_HELD_OUT}loss|loss_(?:val|valid|validation|eval|test)|cross_entropy")
_ENTROPIES = re.compile(rf"{_HELD_OUT}entropy")
_RANKED = re.compile(
    rf"{_HELD_OUT}(recall|ndcg|mrr|map|precision|coverage|hit|hits|hr|hit_rate|hit_ratio)_?(?:at_?)?(\d+)"
)
_PRINTED = {
    "ndcg": "NDCG",
    "mrr": "MRR",
    "map": "MAP",
    "hits": "hit",
    "hr": "hit",
    "hit_rate": "hit",
    "hit_ratio": "hit",
}


def plain_name(column: str) -> str:
    """Return a column name in lower-case words joined by underscores: ``Recall@10`` gives ``recall_10``."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", column.strip())
    return re.sub(r"[^0-9a-z]+", "_", split.lower()).strip("_")


def metric_name(column: str) -> str | None:
    """Return the printed name of the metric in ``column``; None if it is not a known metric.

    ``recall_at_10``, ``recall10``, ``Recall@10`` and ``val/recall@10`` are recall@10. A metric of the training set, of
    part of the users or of other candidates (``recall@10/ctx_5``, ``full_recall@10``) is not renamed.
    """
    text = plain_name(column)
    if _LOSSES.fullmatch(text):
        return LOSS
    if _ENTROPIES.fullmatch(text):
        return ENTROPY
    ranked = _RANKED.fullmatch(text)
    return None if ranked is None else f"{_PRINTED.get(ranked[1], ranked[1])}@{int(ranked[2])}"


def printed_name(metric: str) -> str:
    """Return the printed name of a metric in any of its spellings; an unknown name is returned unchanged."""
    return metric_name(metric) or metric


def metric_direction(name: str) -> Direction:
    """Return the better direction of a metric by its printed name."""
    return "min" if name in (LOSS, ENTROPY) else "max"


def mean_of_events(column: str) -> bool:
    """Return whether a metric is a mean over scored events of values in [0, 1]: recall, NDCG, ... but not coverage."""
    name = metric_name(column)
    return name is not None and name not in (LOSS, ENTROPY) and not name.startswith("coverage")
