"""Several datasets in one run table: a sweep has runs of one dataset, and a recipe names the dataset it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Ints
from isoplan.engine.mixtures import Question, ask, questions
from isoplan.engine.planning.recommender.sorting import Sweep, Swept
from isoplan.engine.schema import Runs

Sort = Callable[[Ints], Mapping[Swept, Sweep]]
"""Function that finds the sweeps among the rows at given positions; its masks are over these rows."""


@dataclass(frozen=True)
class Rivals:
    """Datasets of which several have a sweep of the same setting: the ``question`` about them and the one ``used``."""

    question: Question
    used: str

    @property
    def sentence(self) -> str:
        """Sentence on the mixed datasets of the table and the one in use."""
        return f"{self.question.text} Only {self.used or 'empty'} is used."


def data_sets(runs: Runs) -> tuple[Question, ...]:
    """Return the columns that distinguish datasets and are not pooled; the first is the one to choose from."""
    group = runs.roles.group if runs.roles.each else None
    each = [ask(group, runs.categories[group], "dataset")] if group is not None and group in runs.categories else []
    return (*(q for q in each if len(q.counts) > 1), *(q for q in questions(runs) if q.kind == "dataset"))


def labels_of(runs: Runs, question: Question) -> NDArray[np.str_]:
    """Return the value of the column of ``question``, (n,); empty if a run has none."""
    category = runs.categories[question.column]
    return np.array([*category.values, ""])[category.codes]


def sort_each(
    runs: Runs, question: Question | None, sort: Sort, wanted: str | None = None
) -> tuple[dict[Swept, Sweep], Rivals | None, Bools]:
    """Return the sweeps among ``runs``, each in one dataset, the choice between datasets, and the unused runs.

    Each setting is taken from the first dataset that varies it: the ``wanted`` one, then those with most runs in
    sweeps.
    """
    n = len(runs)
    if question is None:
        return dict(sort(np.arange(n))), None, np.zeros(n, bool)
    labels = labels_of(runs, question)
    found = {
        value: _spread(sort(rows), rows, n) for value in question.counts for rows in [np.flatnonzero(labels == value)]
    }
    order = sorted(found, key=lambda value: (value != wanted, -_size(found[value]), -question.counts[value]))
    sweeps, rivals, used = dict[Swept, Sweep](), None, set[str]()
    for swept in dict.fromkeys(swept for value in order for swept in found[value]):
        having = [value for value in order if swept in found[value]]
        sweep = found[having[0]][swept]
        used.add(having[0])
        if len(having) > 1:
            rivals = rivals or Rivals(question, having[0])
            said = f"Only runs with {question.column} = {having[0] or 'empty'}"
            sweep = replace(sweep, remarks=(said, *sweep.remarks))
        sweeps[swept] = sweep
    return sweeps, rivals, ~np.isin(labels, list(used))


def _spread(sweeps: Mapping[Swept, Sweep], rows: Ints, n: int) -> dict[Swept, Sweep]:
    """Return the sweeps among the runs at ``rows`` with masks over all ``n`` runs."""

    def over_all(mask: Bools) -> Bools:
        whole = np.zeros(n, bool)
        whole[rows] = mask
        return whole

    return {
        swept: replace(sweep, rows=over_all(sweep.rows), counted=over_all(sweep.counted))
        for swept, sweep in sweeps.items()
        if sweep.counted.any()
    }


def _size(sweeps: Mapping[Swept, Sweep]) -> int:
    return int(np.any([sweep.rows for sweep in sweeps.values()], axis=0).sum()) if sweeps else 0
