"""Summary rows, such as a total or a mean, at the end of a table: detection by name."""

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
    """Return a mask (n,) of the summary rows among ``n`` rows, and the text of a note with their names.

    Summary rows are the last rows. Each has a different name from ``_WORDS``, and no other row has a name from it. The
    names of groups are used if the runs have no names.
    """
    names = labels.get("run", labels.get("group"))
    mask = np.zeros(n, dtype=bool)
    if names is None or n < 3:
        return mask, ""
    sums = np.isin(np.char.strip(np.char.lower(names), " :*=()Σ∑"), list(_WORDS))
    count = n - int(np.flatnonzero(~sums)[-1]) - 1 if not sums.all() else n
    last = [str(name) for name in names[n - count :]]
    if not 0 < count < n - 1 or count < sums.sum() or len(set(last)) < count:
        return mask, ""
    mask[n - count :] = True
    return mask, f"called {' or '.join(repr(name) for name in last)} at the end of the table"
