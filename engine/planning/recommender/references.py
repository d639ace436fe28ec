"""Table rows that compare the training runs of a sweep with baselines that guess or count items.

The results of baselines are in the columns ``isoplan.engine.planning.recommender.columns.REFERENCES``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.planning.recommender.columns import COUNTED, PASSES, STARTS, is_reference
from isoplan.engine.planning.recommender.run_table import Table
from isoplan.engine.planning.recommender.sorting import Swept
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

Rows = tuple[tuple[str, ...], ...]
HEAD = ("cells", "passes over the log", *COUNTED)
MOST = 12
"""If all runs have the same budget and the setting has at most this number of values, the table has one row per value.
"""


def reference_rows(table: Table, swept: Swept) -> Rows:
    """Return the rows on the sweep of the setting ``swept``, with the headings ``HEAD``.

    The first rows are the baselines. The next rows are ranges of results of training runs: one row per budget, or one
    row per value of the setting if there is only one budget. The result is empty if the table has no baselines.
    """
    runs = table.runs.take(table.rows[swept])
    if not any(is_reference(name) for name in runs.values):
        return ()
    lines = [(what, "", *_ranges(runs, [f"{start}_{metric}" for metric in COUNTED])) for start, what in STARTS.items()]
    return (*lines, *_cells(runs, table, swept))


def _cells(runs: Runs, table: Table, swept: Swept) -> Iterator[tuple[str, ...]]:
    metrics = table.columns.metrics
    columns = [metrics[name].column if name in metrics else "" for name in COUNTED.values()]
    mark = table.columns.settings.get("untrained", "")
    for name, there in _groups(runs, table, swept):
        part = runs.take(there)
        lost = int(np.nansum(part[mark] > 0)) if mark in part else 0
        one, many = len(part) == 1, f"{lost} of {len(part)} "
        marked = f" ({'' if one else many}no better than counts)" if lost else ""
        yield f"{'cell' if one else 'cells'} {name}{marked}", *_ranges(part, [PASSES], 2), *_ranges(part, columns)


def _groups(runs: Runs, table: Table, swept: Swept) -> Iterator[tuple[str, Bools]]:
    """Yield the name and the mask of each group of runs.

    A group contains the runs at one budget. If there is only one budget, a group contains the runs at one value of the
    setting. If this setting has more than ``MOST`` values, all runs are one group.
    """
    budgets = runs["budget"] if "budget" in runs else np.full(len(runs), np.nan)
    known = np.unique(budgets[np.isfinite(budgets)])
    x = runs["N"] if swept == "N" else runs[table.columns.settings[swept]]
    values = np.unique(x[np.isfinite(x)])
    if len(known) > 1:
        yield from ((f"at {power10(float(C))} FLOPs", budgets == C) for C in known)
    elif len(values) <= MOST:
        yield from ((f"of {swept} = {_value(swept, float(value))}", x == value) for value in values)
    else:
        yield "of this sweep", np.ones(len(runs), bool)


def _value(swept: Swept, x: float) -> str:
    return f"{100 * x:.2g} %" if swept == "s" else count(x, 3) if swept == "N" else f"{x:,.6g}"


def _ranges(runs: Runs, columns: Sequence[str], digits: int = 3) -> list[str]:
    """Return the range of each column as text; empty for a column that the runs do not have."""
    return [_range(runs[name], digits) if name in runs else "" for name in columns]


def _range(x: Floats, digits: int) -> str:
    known = x[np.isfinite(x)]
    if not known.size:
        return ""
    ends = (f"{end:.{digits}g}" if end < 1 or digits < 3 else f"{end:.3f}" for end in (known.min(), known.max()))
    return " to ".join(dict.fromkeys(ends))
