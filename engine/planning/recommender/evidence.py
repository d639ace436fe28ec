"""Evidence for a recipe, by metric: sweeps of s, sweeps of K, critical batch sizes, and frontiers of N and D."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.recommender.choice import NOT_LOCATED, Setting
from isoplan.engine.planning.recommender.columns import ENTROPY, metric_name
from isoplan.engine.planning.recommender.sweep import Optimum


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence for the settings of a recommender. Each field may be empty.

    ``share`` and ``negatives`` are the optima of sweeps of s (the embedder share, a fraction) and of K (the number of
    negative candidates). ``batch`` contains fits of critical-batch, ``allocation`` fits with a frontier, each by
    metric. ``sizes`` are the optima of N at single budgets. Their curves give the cost of another N.

    The other fields are by setting. ``missing`` names a table that a paper does not print. ``quoted`` is a statement of
    the paper on the setting. ``remarks`` list the user's runs that were excluded, and the reasons why a sweep of the
    user could not be fitted. ``used`` contains the batch size and the learning rate of the user's runs, if all runs
    have the same values.
    """

    share: tuple[Optimum, ...] = ()
    batch: Mapping[str, Fit] = field(default_factory=dict)
    allocation: Mapping[str, Fit] = field(default_factory=dict)
    negatives: tuple[Optimum, ...] = ()
    missing: Mapping[Setting, str] = field(default_factory=dict)
    quoted: Mapping[Setting, str] = field(default_factory=dict)
    remarks: Mapping[Setting, tuple[str, ...]] = field(default_factory=dict)
    sizes: tuple[Optimum, ...] = ()
    used: Mapping[Setting, float] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics with evidence, except the entropy of the scores, which does not measure quality."""
        swept = [one.metric for one in (*self.share, *self.negatives)]
        found = dict.fromkeys([*self.allocation, *swept, *self.batch])
        return tuple(metric for metric in found if metric != ENTROPY)

    def known(self, metric: str) -> str:
        """Return ``metric`` in the spelling of the evidence. Raises PlannerError if no run measures it."""
        if metric not in self.metrics and (name := metric_name(metric)) in self.metrics:
            return str(name)
        if metric not in self.metrics:
            listed = ", ".join(self.metrics) or "none"
            raise PlannerError(
                f"No run measures the metric {metric!r}: choose one of {listed}, or add runs that measure it."
            )
        return metric


def with_fallback(own: Evidence, other: Evidence) -> Evidence:
    """Return the user's ``own`` evidence, completed by ``other`` for missing metrics and settings.

    If a sweep of the user has no optimum at any budget, ``other`` replaces it, with a remark.
    """

    def swept(mine: tuple[Optimum, ...], theirs: tuple[Optimum, ...]) -> tuple[Optimum, ...]:
        both = {one.metric for one in mine} & {one.metric for one in theirs}
        lost = both - {one.metric for one in mine if one.located}
        kept = [one for one in mine if one.metric not in lost]
        added = (one for one in theirs if one.metric not in {m.metric for m in kept})
        return (*kept, *(replace(one, remark=NOT_LOCATED) if one.metric in lost else one for one in added))

    return Evidence(
        swept(own.share, other.share),
        {**other.batch, **own.batch},
        {**other.allocation, **own.allocation},
        swept(own.negatives, other.negatives),
        {**other.missing, **own.missing},
        {**other.quoted, **own.quoted},
        {**other.remarks, **own.remarks},
        swept(own.sizes, other.sizes),
        {**other.used, **own.used},
    )
