"""Cells that did not train, which enter no law: no better than counting how often items occur.

A column ``untrained`` marks them; Isoplan's own cells measure it against the unigram cross-entropy of their log and
the recall of its most popular items (trainers/behavior/scores/baselines.py).
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.recommender.columns import Columns
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs

MOST = 0.5
"""The share of the runs of a budget that did not train from which on none of that budget is fitted: what is left of
such a sweep was chosen by its outcome."""


def trained(runs: Runs, columns: Columns) -> tuple[Runs, tuple[str, ...]]:
    """The runs that trained, and sentences on those that are left out; all of them without such a column.

    Raises PlannerError where none is left.
    """
    column = columns.settings.get("untrained")
    if column is None or column not in runs:
        return runs, ()
    lost = np.nan_to_num(runs[column]) > 0
    budgets = runs["budget"] if "budget" in runs else np.full(len(runs), np.nan)
    kept, said = ~lost, []
    for C in np.unique(budgets[lost]):
        here = np.isnan(budgets) if np.isnan(C) else budgets == C
        n, all_of_it = int(np.sum(lost & here)), int(np.sum(here))
        if n == all_of_it:
            what = f"{'its' if n == 1 else 'all'} {n} {'run' if n == 1 else 'runs'}"
            said.append(f"{_budget(C)} left out: {what} did no better than item counts (column {column}).")
        elif n > MOST * all_of_it:
            kept &= ~here
            said.append(f"{_budget(C)} left out: {n} of {all_of_it} runs did no better than item counts ({column}).")
        else:
            said.append(f"{n} of {all_of_it} runs{_at(C)} left out: no better than item counts ({column}).")
    if not kept.any():
        raise PlannerError(f"{column}: no run of this sweep did better than item counts. Train longer or larger cells.")
    return runs.take(kept), tuple(said)


def _budget(C: float) -> str:
    return "The sweep is" if np.isnan(C) else f"Budget {power10(C)}"


def _at(C: float) -> str:
    return "" if np.isnan(C) else f" at {power10(C)} FLOPs"
