"""Several data sets in one run table: the runs of a sweep are of one, and a recipe names the one that it reads."""

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
"""Finds the sweeps among the rows at some positions; masks are over these rows."""


@dataclass(frozen=True)
class Rivals:
    """Data sets of which several have a sweep of the same setting: the ``question`` about them and the one ``used``."""

    question: Question
    used: str

    @property
    def sentence(self) -> str:
        """What the table mixes and what is read of it."""
        return f"{self.question.text} Only {self.used or 'empty'} is used."


def data_sets(runs: Runs) -> tuple[Question, ...]:
    """The columns that tell data sets apart and that the user did not ask to pool, the first the one to choose from."""
    group = runs.roles.group if runs.roles.each else None
    each = [ask(group, runs.categories[group], "dataset")] if group is not None and group in runs.categories else []
    return (*(q for q in each if len(q.counts) > 1), *(q for q in questions(runs) if q.kind == "dataset"))


def labels_of(runs: Runs, question: Question) -> NDArray[np.str_]:
    """The value of the column that ``question`` is about, (n,); empty where a run has none."""
    category = runs.categories[question.column]
    return np.array([*category.values, ""])[category.codes]


def sort_each(
    runs: Runs, question: Question | None, sort: Sort, wanted: str | None = None
) -> tuple[dict[Swept, Sweep], Rivals | None, Bools]:
    """The sweeps among ``runs``, each within one data set, what was chosen between, and the runs of data sets unused.

    A setting is read of the ``wanted`` data set, else of the one with most runs in sweeps, where that varies it.
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
    """Sweeps among the runs at ``rows`` with masks over all ``n`` runs."""

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
