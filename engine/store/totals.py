"""Rows below a table that sum up the others: found by what their first cell calls them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_WORDS = frozenset({"total", "totals", "grand total", "sum", "mean", "average", "avg", "median", "min", "max", "std"})
_WORDS |= {
    "minimum",
    "maximum",
    "stdev",
    "standard deviation",
    "summe",
    "gesamt",
    "gesamtsumme",
    "mittelwert",
    "mittel",
}
_WORDS |= {"durchschnitt", "somme", "moyenne", "suma", "totale", "somma", "media", "promedio"}


def totals(labels: Mapping[str, NDArray[np.str_]], n: int) -> tuple[NDArray[np.bool_], str]:
    """Which of ``n`` rows sum up the rows above them (n,), and what they are called.

    They are the last rows, each with a name of its own, and no other run has such a name; without names of runs those
    of groups count.
    """
    names = labels.get("run", labels.get("group"))
    found = np.zeros(n, dtype=bool)
    if names is None or n < 3:
        return found, ""
    sums = np.isin(np.char.strip(np.char.lower(names), " :*=()Σ∑"), list(_WORDS))
    count = n - int(np.flatnonzero(~sums)[-1]) - 1 if not sums.all() else n
    called = [str(name) for name in names[n - count :]]
    if not 0 < count < n - 1 or count < sums.sum() or len(set(called)) < count:
        return found, ""
    found[n - count :] = True
    return found, f"called {' or '.join(repr(name) for name in called)} at the end of the table"
