"""The result of an estimator: parameters, resamples and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.floor_confidence import FloorConfidence
from isoplan.engine.fitting.types.intervals import Resampling
from isoplan.engine.fitting.types.warnings import FitWarning


@dataclass(frozen=True, eq=False)
class Estimate:
    """Arrays follow the order of ``law.params``; a resample that failed is a row of NaN."""

    theta: Floats  # (p,)
    objective: float
    resamples: Floats  # (r, p)
    warnings: tuple[FitWarning, ...] = ()
    held: tuple[str, ...] = ()  # parameters that the estimator could not determine and held fixed
    resampling: Resampling = field(default_factory=Resampling)
    floorless: Floats | None = None  # (p,) best fit without the floor, if the floor is not resolved
    confidence: FloorConfidence | None = None  # confidence curve of the floor, if known
