"""Uncertainty from the choice of smoothing, for quantities measured on training curves.

The window of the running mean is a convention, and it changes the training steps to a target, strongly for noisy
curves. So the law is fitted at several smoothings, and its resamples are drawn equally from all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.parameters import parameters
from isoplan.engine.fitting.types.result import Fit, FitWarning

CHOICES = (0.0, 0.3, 0.6, 0.8)
"""Running means over 0, 4, 10 and 22 % of the training steps."""
CODE = "curves"


def over_smoothings(made: Fit, refit: Callable[[float, int], Fit]) -> Fit:
    """Return ``made`` with equal parts of its resamples from each smoothing.

    ``refit(smoothing, resamples)`` fits at one smoothing. Return ``made`` unchanged if it has no resamples, if its
    smoothing is 0, or if no other smoothing gives a fit.
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
    return f"The intervals include the choice of smoothing: equal numbers of resamples use {shown}."
