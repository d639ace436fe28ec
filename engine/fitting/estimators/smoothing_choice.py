"""The choice of smoothing inside the intervals of what is read off training curves.

How far the mean of a curve reaches back is a convention, and the updates to a target move with it, those of noisy
curves a lot. So the law is fitted at several smoothings, and its resamples are drawn from all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.parameters import parameters
from isoplan.engine.fitting.types.result import Fit, FitWarning

CHOICES = (0.0, 0.3, 0.6, 0.8)
"""A mean over none, 4, 10 and 22 % of the updates."""
CODE = "curves"


def over_smoothings(made: Fit, refit: Callable[[float, int], Fit]) -> Fit:
    """``made`` with equal parts of its resamples from each smoothing; ``refit`` fits at one with so many resamples.

    As it is without resamples, where curves were asked for as they are (smoothing 0), and where no other smoothing
    gives a fit.
    """
    r, own = len(made.resamples), made.spec.smoothing
    if not r or not own:
        return made
    others = [found for s in CHOICES if s != own and (found := _or_none(refit, s, r)) is not None]
    if not others:
        return made
    fits = [made, *others]
    parts = [fit.resamples[: max(r // len(fits), 1)] for fit in fits]
    resamples, how = np.vstack(parts), replace(made.resampling, method="percentile", floorless=0)
    return replace(
        made,
        resamples=resamples,
        resampling=how,
        parameters=parameters(made.spec, made.theta, resamples, tuple(made.spec.fixed), how),
        warnings=(*made.warnings, FitWarning(CODE, _said(fits))),
    )


def _or_none(refit: Callable[[float, int], Fit], smoothing: float, r: int) -> Fit | None:
    try:
        found = refit(smoothing, r)
    except PlannerError:
        return None
    return found if len(found.resamples) else None


def _said(fits: Sequence[Fit]) -> str:
    shown = ", ".join(f"{s:g}" for s in sorted(fit.spec.smoothing for fit in fits))
    return f"The intervals hold the choice of smoothing: resamples are drawn at {shown} alike."
