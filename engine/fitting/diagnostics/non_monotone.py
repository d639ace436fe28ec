"""Scales that turn back: a parameter that is not monotone in the exponent it belongs to.

Along the valley of parameters that fit the runs about equally well, the scale of a term, (C_L / C)^gamma say, can be
least (or most) near the best fit. Its resamples then lie to one side of that end and their percentiles hold the true
value less often than they say (docs/coverage.md, C_L of the iso-FLOP minima), while every loss stays right.
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
"""Rank correlations smaller than this may be chance."""


def folds(law: Law, resamples: Floats) -> Iterator[FitWarning]:
    """A sentence for every scale that turns back within the ``resamples`` (r, p) of its exponent."""
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
                f"{term.amplitude} turns back as {term.exponent} varies within its interval, so the interval of "
                f"{term.amplitude} holds the truth less often than it says: read losses off the law instead.",
            )
