"""Parameters that are not monotone in the exponent that they belong to.

Along the valley of parameters that fit the runs about equally well, the scale of a term, (C_L / C)^gamma say, can have
an extremum near the best fit. All its resamples are then on one side of that extremum, and their percentiles contain
the true value less often than stated (docs/coverage.md, C_L of the iso-FLOP minima). Every loss stays correct.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.intervals import FEWEST
from isoplan.engine.fitting.types.optimum_location import rank_correlation
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.laws import Law

CLEAR = 0.2
"""Smallest rank correlation that is not attributed to chance."""


def folds(law: Law, resamples: Floats) -> Iterator[FitWarning]:
    """Yield a warning for every scale that is not monotone in its exponent within the ``resamples`` (r, p)."""
    found = resamples[~np.isnan(resamples).any(axis=1)]
    if len(found) < 2 * FEWEST:
        return
    for term in law.terms:
        if term.exponent is None:
            continue
        scale, exponent = (found[:, law.names.index(name)] for name in (term.amplitude, term.exponent))
        below = exponent <= np.median(exponent)
        left, right = rank_correlation(exponent[below], scale[below]), rank_correlation(exponent[~below], scale[~below])
        if left * right < 0 and min(abs(left), abs(right)) > CLEAR:
            yield FitWarning(
                "fold",
                f"{term.amplitude} is not monotone in {term.exponent} within its interval, so the interval of "
                f"{term.amplitude} is too narrow. Use predicted losses instead.",
            )
