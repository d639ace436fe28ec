"""Numbers that follow from a law's parameters, with intervals from the same resamples."""

from __future__ import annotations

import numpy as np

from engine.fitting.intervals import interval
from engine.fitting.result import Fit, Parameter


def derived(fit: Fit) -> tuple[Parameter, ...]:
    """The derived numbers of the fit's law; without resamples they have no interval (correlations unpublished)."""
    out = []
    with np.errstate(all="ignore"):
        for d in fit.law.derived:
            value, draws = float(d.value(fit.values)), np.asarray(d.value(fit.draws), float)
            sound = draws[np.isfinite(draws)]
            error = float(np.std(sound, ddof=1)) if sound.size > 1 else None
            ends68, ends95 = (interval(value, draws, level, fit.spec.interval) for level in (0.68, 0.95))
            out.append(Parameter(d.name, value, error, ends68, ends95))
    return tuple(out)
