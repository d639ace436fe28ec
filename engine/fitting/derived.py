"""Numbers that follow from a law's parameters, with intervals from the same resamples."""

from __future__ import annotations

import numpy as np

from engine.fitting.parameters import parameter
from engine.fitting.result import Fit, Parameter


def derived(fit: Fit) -> tuple[Parameter, ...]:
    """The derived numbers of the fit's law; without resamples they have no interval (correlations unpublished)."""
    with np.errstate(all="ignore"):
        numbers = [(d.name, d.value(fit.values), np.asarray(d.value(fit.draws), float)) for d in fit.law.derived]
    return tuple(parameter(name, float(value), draws, fit.resampling.interval) for name, value, draws in numbers)
