"""Choice of the objective by the number of runs, if the user has not chosen one."""

from __future__ import annotations

import numpy as np

from isoplan.engine.fitting.types.intervals import FEW
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.warnings import FitWarning
from isoplan.engine.schema import Runs

OBJECTIVE = "objective"
"""Code of the note that states which objective was chosen and why."""


def suggest(spec: FitSpec, runs: Runs) -> tuple[FitSpec, tuple[FitWarning, ...]]:
    """Return ``spec`` with the objective that suits ``runs``, and a note if it is not the Huber loss.

    If runs are few, Huber's loss at delta 1e-3 passes through as many of them as the law has free parameters and
    ignores the rest. Below ``FEW`` runs per free parameter least squares of logs is used, which uses all runs. A law
    that does not describe every run and values without logarithms keep the default.
    """
    law = spec.read_from(runs).find_law()
    if not law.is_pointwise or spec.y not in runs or spec.share:
        return spec, ()
    y = runs[spec.y][np.isfinite(runs[spec.y])]
    free = sum(name not in spec.fixed for name in law.names)
    turned = runs.roles.direction(spec.y) == "max" and law.minimised
    if not len(y) < FEW * free or turned or not (y > 0).all():
        return spec, ()
    why = f"{len(y)} runs are few for {free} free parameters"
    text = f"The objective is least squares of logs (ols-log), because {why}."
    return spec.model_copy(update={"objective": "ols-log"}), (FitWarning(OBJECTIVE, text),)
