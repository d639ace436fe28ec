"""Validation of laws that are read off training curves: what is left out, and what they say of it.

An envelope is made from the parts of all curves up to some compute and predicts the least loss beyond it, at the points
of the envelope of the whole curves. Updates to a target are predicted for the largest batches. A threshold predicts no
number, so there is nothing to validate.
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.estimators.envelope import lower_envelope
from isoplan.engine.fitting.single import fit
from isoplan.engine.fitting.types.estimate import Progress
from isoplan.engine.fitting.types.sibling import alone, sibling
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.validation.baselines import BASELINES, Points
from isoplan.engine.fitting.validation.extrapolation import SHARES, Cut, Validation, relative_to, validate
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.schema import Runs

MOST = 2000
"""Points of the curves that the surface law is fitted to, which is asked beside the envelope."""
NOT_OF_CELLS = (
    "A threshold says which cells overfit and predicts no loss, so there is nothing to leave out and predict: see "
    "among the cells how many lie on its other side."
)


def validate_read_off(spec: FitSpec, runs: Runs, progress: Progress | None = None) -> Validation:
    """Validate the law of ``spec`` on ``runs``, the points that it was read off; raises PlannerError as ``validate``.

    An envelope of runs that have budgets, and every law of single runs, is validated as any other.
    """
    law = spec.find_law()
    if law.estimator == "threshold":
        raise PlannerError(NOT_OF_CELLS)
    if law.estimator != "envelope" or "budget" in runs:
        return validate(spec, runs, progress)
    found = lower_envelope(spec, runs)
    best, C = found.runs(spec.y), runs["C"]
    best = Runs(best.ids, best.values, runs.roles, {}, runs.source, runs.sha256)
    size = best["C"]
    limits = [float(size[-1] * (size[0] / size[-1]) ** share) for share in SHARES]
    specs = (alone(spec), sibling(spec, CHINCHILLA))
    keys = tuple(one.find_law().key for one in specs)
    missing: dict[str, str] = {}
    cuts = []
    for i, limit in enumerate(limits):
        held, train = np.flatnonzero(size > limit), runs.take(C <= limit)
        known, new = (Points(size[at], np.log(size[at])[:, None], best[spec.y][at]) for at in (size <= limit, held))
        predicted = {name: baseline(known, new) for name, baseline in BASELINES.items()}
        for key, one in zip(keys, specs, strict=True):
            try:
                predicted[key] = _said(one, train, best.take(held))
            except PlannerError as error:
                missing.setdefault(key, str(error))
        cuts.append(Cut(limit, held, np.log10(size[held] / limit), np.zeros(len(held), bool), predicted))
        if progress:
            progress((i + 1) / len(limits))
    cuts = [cut for cut in cuts if keys[0] in cut.predicted]
    if not cuts:
        raise PlannerError(f"Without its largest compute this envelope cannot be predicted: {missing[keys[0]]}")
    return Validation(spec.y, "C", best, keys, tuple(cuts), relative_to(best[spec.y]), missing)


def _said(spec: FitSpec, train: Runs, new: Runs) -> Floats:
    """What a law through ``train`` says of ``new``; the surface law reads at most ``MOST`` of the points."""
    every = spec.find_law().is_pointwise
    part = train.take(np.arange(0, len(train), -(-len(train) // MOST))) if every and len(train) > MOST else train
    made = fit(spec, part)
    return made.predict({axis: new[axis] for axis in made.law.axes})
