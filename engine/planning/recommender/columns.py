"""Recognition of the settings and metrics of a recommender in the column names of a run table.

A metric can have several spellings. Its printed name is the spelling in the papers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import SINGLE_ROLES, Direction, Metric, Roles

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

Field = Literal["N", "D", "C", "budget", "s", "B", "K", "lr", "depth", "updates", "stage", "untrained", "scored"]
"""Columns of a run table that a recipe uses, in addition to the columns of metrics."""
FIELDS: tuple[Field, ...] = get_args(Field)
SIZES: tuple[Field, ...] = ("N", "D", "C", "budget")
_EMBEDDER = r"emb(?:ed(?:d(?:er|ing))?)?s?"
_PART = r"(?:share|fraction|frac|ratio)"
_COUNT = r"(?:n|nr|num|number_of)"
_NEGATIVES = r"neg(?:ative)?s?"
NAMES: Mapping[Field, tuple[str, ...]] = {
    "C": ("c_step",),
    "s": ("s", rf"{_EMBEDDER}_(?:param(?:eter)?s?_)?{_PART}", rf"{_PART}_(?:of_)?(?:the_)?{_EMBEDDER}", "share"),
    "B": ("b", "batch", "batch_size", r"(?:global|train|training|total)_batch(?:_size)?", "bsz", "bs"),
    "K": ("k", rf"(?:extra_)?{_NEGATIVES}", rf"{_NEGATIVES}_samples?",
          rf"{_COUNT}_(?:extra_)?{_NEGATIVES}(?:_samples?)?", rf"{_NEGATIVES}_(?:count|k)"),
    "lr": ("lr", "learning_rate", r"(?:peak|max|base)_(?:lr|learning_rate)", "rate", "rate_used"),
    "depth": ("depth", "layers", r"(?:n|num)_(?:layers?|blocks)", "layers_used"),
    "updates": (r"(?:updates|steps|iterations)_(?:to|until)_.*", "updates", "steps"),
    "stage": ("stage", "training_stage"),
    "untrained": ("untrained", "not_trained"),
    "scored": ("scored", rf"{_COUNT}_(?:scored|eval(?:uated)?|held_out)(?:_(?:users|events))?",
               r"(?:scored|eval|held_out|test|val(?:idation)?)_(?:users|events)"),
}  # fmt: skip
"""Regular expressions for the ``plain_name`` of a column, in order of preference. ``c_step`` is the compute from which
Isoplan chooses the sizes of the models it trains.
"""
TITLES: Mapping[Field, str] = {
    "s": "Embedder share s",
    "B": "Batch size B",
    "K": "Extra negatives K",
    "lr": "Learning rate",
}
"""Names of the settings of a recommender as pages show them."""
STARTS = {"guess": "all candidates alike", "popularity": "popularity", "last_items": "counts after the last items"}
"""Column prefixes that mark results of a baseline instead of a training run, with the name of the baseline."""
COUNTED = {"loss": LOSS, "recall@10": "recall@10", "NDCG@10": "NDCG@10", "MRR@10": "MRR@10"}
"""Column suffixes in the results of a baseline, with the metric of each."""
PASSES = "passes"
REFERENCES = (*(f"{start}_{metric}" for start in STARTS for metric in COUNTED), PASSES)
"""Columns with results of baselines in run tables of recommenders, such as ``popularity_recall@10``.

The names are defined in trainers/behavior/scores/metrics.py.
"""


def plain_name(column: str) -> str:
    """Return a column name as lower-case words joined by underscores: ``Recall@10`` gives ``recall_10``."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", column.strip())
    return re.sub(r"[^0-9a-z]+", "_", split.lower()).strip("_")


def metric_name(column: str) -> str | None:
    """Return the printed name of the metric in ``column``; None if the column has no known metric.

    ``recall_at_10``, ``recall10``, ``Recall@10`` and ``val/recall@10`` give recall@10. The result is None for metrics
    of the training set, of a subset of users, or of other candidates (``recall@10/ctx_5``, ``full_recall@10``).
    """
    text = plain_name(column)
    if _LOSSES.fullmatch(text):
        return LOSS
    if _ENTROPIES.fullmatch(text):
        return ENTROPY
    ranked = _RANKED.fullmatch(text)
    return None if ranked is None else f"{_PRINTED.get(ranked[1], ranked[1])}@{int(ranked[2])}"


def printed_name(metric: str) -> str:
    """Return the printed name of ``metric`` for any spelling; an unknown name is returned unchanged."""
    return metric_name(metric) or metric


def metric_names(text: str) -> tuple[str, ...]:
    """Return the printed names of the comma-separated metrics in ``text``. The first is the serving metric."""
    names = (printed_name(name.strip()) for name in text.split(",") if name.strip())
    return tuple(dict.fromkeys(names)) or (text,)


def metric_direction(name: str) -> Direction:
    """Return "min" if smaller values of the metric are better, otherwise "max"; ``name`` is the printed name."""
    return "min" if name in (LOSS, ENTROPY) else "max"


def mean_of_events(column: str) -> bool:
    """Return whether the metric in ``column`` is the mean of one value per scored event, each between 0 and 1.

    Recall and NDCG are such means. The loss and the coverage are not.
    """
    name = metric_name(column)
    return name is not None and name not in (LOSS, ENTROPY) and not name.startswith("coverage")


@dataclass(frozen=True)
class Columns:
    """Columns of ``settings`` and ``metrics`` by name; ``roles`` is the column mapping of the table.

    ``nominal`` are further columns of the embedder share, such as the planned share if ``settings`` has the trained
    share. ``label`` is a text column with the metric of each row, or empty. ``references`` are the columns with results
    of baselines.
    """

    settings: Mapping[Field, str]
    metrics: Mapping[str, Metric]
    roles: Roles
    nominal: tuple[str, ...] = ()
    label: str = ""
    references: tuple[str, ...] = ()

    @property
    def renamed(self) -> dict[str, str]:
        """Columns of the metrics that have another name in the table than the printed name: printed name -> column."""
        return {name: metric.column for name, metric in self.metrics.items() if metric.column != name}

    def metric(self, name: str) -> Metric | None:
        """Return the metric called ``name``: a printed name, the name of a column, or another spelling.

        The result is None if the table has no such metric.
        """
        by_column = {metric.column: metric for metric in self.metrics.values()}
        return self.metrics.get(name) or by_column.get(name) or self.metrics.get(metric_name(name) or "")


def find_columns(
    numeric: Sequence[str], roles: Roles, chosen: Mapping[str, str] | None = None, text: Sequence[str] = ()
) -> Columns:
    """Recognise the columns of settings and metrics by their names.

    ``numeric`` and ``text`` are the number and text columns of the table, ``roles`` is its column mapping. ``chosen``
    contains columns of settings (N, K, ...) and of metrics (recall@10) that replace the recognised ones. An empty
    column name means that there is no such column. Raises PlannerError if the table lacks a chosen column.
    """
    chosen = {name if name in FIELDS else printed_name(name): column for name, column in (chosen or {}).items()}
    for name, column in chosen.items():
        if column and column not in numeric:
            raise PlannerError(
                f"{name}: the table has no numeric column {column!r}. Choose one of {', '.join(numeric) or 'none'}."
            )
    settings = _settings(numeric, roles)
    settings |= {name: chosen[name] for name in FIELDS if name in chosen}
    settings = {name: column for name, column in settings.items() if column}
    nominal = [c for c in _matching(numeric, "s") if c != settings.get("s")]
    used = {*settings.values(), *nominal, *(c for c in numeric if is_reference(c))}
    metrics = _metrics([c for c in numeric if c not in used], roles)
    for name, column in chosen.items():
        if name not in FIELDS:
            metrics.pop(name, None)
        if name not in FIELDS and column:
            metrics[name] = Metric(column=column, direction=_direction(name, column, roles))
    label = next((c for c in text if plain_name(c) == "metric"), "")
    if metrics and not label and "updates" not in chosen and not _to_target(settings.get("updates", "")):
        settings.pop("updates", None)
    references = tuple(c for c in REFERENCES if c in numeric)
    return Columns(settings, metrics, roles, tuple(nominal), label, references)


def setting_titles(numeric: Sequence[str], roles: Roles) -> dict[str, str]:
    """Return the title of each recognised setting, keyed by its column; {} if the table is not of a recommender.

    The table is of a recommender if it has a ranking metric, an embedder share or extra negatives. Columns with another
    role in the mapping are left out.
    """
    found = find_columns(numeric, roles)
    ranked = any(metric_name(name) == name and name not in (LOSS, ENTROPY) for name in found.metrics)
    if not ranked and not found.settings.keys() & {"s", "K"}:
        return {}
    used = {roles.column(role) for role in SINGLE_ROLES} | {metric.column for metric in roles.metrics}
    named = ((found.settings.get(name, ""), title) for name, title in TITLES.items())
    return {column: title for column, title in named if column and column not in used}


def is_reference(column: str) -> bool:
    """Return whether a column contains results of a baseline (guessing or counting) instead of a training run."""
    return column.startswith(tuple(f"{start}_" for start in STARTS))


def _to_target(column: str) -> bool:
    """Return whether a column contains the number of training steps to a target, not the steps of the whole run."""
    return re.fullmatch(NAMES["updates"][0], plain_name(column)) is not None


def _settings(numeric: Sequence[str], roles: Roles) -> dict[Field, str]:
    found: dict[Field, str] = {}
    for name in FIELDS:
        role = getattr(roles, name) if name in SIZES else None
        matching = [column for column in _matching(numeric, name) if column not in found.values()]
        if matching or role:
            found[name] = matching[0] if matching else str(role)
    return found


def _matching(numeric: Sequence[str], name: Field) -> list[str]:
    """Return the columns that match the patterns of the setting ``name``, in order of preference."""
    return [c for pattern in NAMES.get(name, ()) for c in numeric if re.fullmatch(pattern, plain_name(c))]


def _metrics(free: Sequence[str], roles: Roles) -> dict[str, Metric]:
    """Return the metrics in the columns ``free``, by printed name.

    If several columns contain the same metric, a column with exactly the printed name is used, otherwise the first
    column of the table.
    """
    found: dict[str, Metric] = {}
    for column in sorted(free, key=lambda c: metric_name(c) != c):
        name = metric_name(column)
        if name is not None and name not in found:
            found[name] = Metric(column=column, direction=metric_direction(name))
    taken = {metric.column for metric in found.values()}
    listed = [*roles.metrics, *([Metric(column=roles.loss, direction="min")] if roles.loss else [])]
    return found | {m.column: m for m in listed if m.column in free and m.column not in taken}


def _direction(name: str, column: str, roles: Roles) -> Literal["min", "max"]:
    if metric_name(name) is not None:
        return metric_direction(name)
    return "min" if column == roles.loss else next((m.direction for m in roles.metrics if m.column == column), "max")
