"""Optima of one setting, for each budget and each metric of a run table."""

from __future__ import annotations

from typing import Any

import numpy as np

from isoplan.engine.fitting import FitSpec
from isoplan.engine.planning.recommender import Optimum, optimum_of
from isoplan.engine.schema import Runs


def sweep(runs: Runs, spec: FitSpec, *counting: Any) -> tuple[Optimum, ...]:
    """Return an optimum of the loss and of each metric, per budget. Without budgets all runs are fitted together."""
    budgets = np.unique(runs["budget"]) if "budget" in runs else [np.nan]
    parts = {float(C): runs if np.isnan(C) else runs.take(runs["budget"] == C) for C in budgets}
    names = dict.fromkeys((*(["loss"] if "loss" in runs else []), *(m.column for m in runs.roles.metrics)))
    specs = [spec.model_copy(update={"y": name}) for name in names]
    return tuple(optimum_of(part, one, C, *counting) for C, part in parts.items() for one in specs)
