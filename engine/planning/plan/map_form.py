"""Form of a map from the loss to a metric: an exponential or a power law, chosen by the errors on left-out runs.

Both forms have three parameters. Within the runs they are often equally good. Beyond the runs they differ, so a plan
outside the runs needs the form that extrapolates better.
"""

from __future__ import annotations

import numpy as np

from isoplan.engine.fitting.single import suggest
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.validation.comparison import Comparison, compare
from isoplan.engine.laws import get_law
from isoplan.engine.quantities import rounded
from isoplan.engine.schema import Runs

FORMS = {"metric-map": "exponential map", "metric-power": "power-law map"}
"""Names of the forms of a map for use within a sentence, keyed by the name of the law."""
FORM = "form"
"""Code of the caution that the forms of a map predict different metrics."""
RULED_OUT = 10.0
"""The runs rule out a form if its AIC exceeds the best AIC by more than this number (Burnham and Anderson 2002, Sec.
2.6).
"""


def compare_forms(spec: FitSpec, runs: Runs) -> Comparison:
    """Fit each form of the map ``spec`` to ``runs``, without resamples, and compare the forms. The best comes first."""
    specs = [spec.for_law(get_law(name, spec.axis)) for name in FORMS]
    return compare(spec, runs, [suggest(one, runs)[0] for one in specs])


def choose_form(spec: FitSpec, runs: Runs, forms: Comparison) -> FitSpec:
    """Return ``spec`` with the best form of ``forms`` and the objective that suits ``runs``."""
    best = forms.ranked[0].fit.law.name if forms.ranked else spec.law
    return suggest(spec.model_copy(update={"law": best}), runs)[0]


def form_text(map: Fit, forms: Comparison) -> str:
    """Return a sentence that names the form of ``map`` and the errors of all forms on left-out runs."""
    own = FORMS[map.law.name]
    if forms.validation is None:
        return f"Form: {own}."
    errors = {one.fit.law.name: one.error for one in forms.ranked}
    listed = [f"{own} {errors[map.law.name]:.1%}"] if map.law.name in errors else []
    listed += [f"{FORMS[name]} {error:.1%}" for name, error in errors.items() if name != map.law.name]
    return f"Form: {own}. Error on the largest runs, which are left out of the fit: {', '.join(listed)}."


def form_caution(map: Fit, forms: Comparison, loss: float) -> FitWarning | None:
    """Return a caution if another form predicts a metric at ``loss`` outside the 95 % interval of ``map``.

    ``loss`` is the value on the axis of the map. The result is None if the forms agree, if the runs rule the other form
    out, or if the map has no resamples.
    """
    axis, y = map.law.axes[0], map.spec.y
    if not len(map.resamples):
        return None
    band = np.percentile(map.predict_draws({axis: loss}), (2.5, 97.5))
    best = min((one.aic for one in forms.ranked if np.isfinite(one.aic)), default=np.nan)
    for one in forms.ranked:
        other = one.fit
        if one.aic > best + RULED_OUT:
            continue
        value = float(other.predict({axis: loss}))
        if other.law.name != map.law.name and not band[0] <= value <= band[1]:
            own = rounded(float(map.predict({axis: loss})))
            return FitWarning(
                FORM,
                f"{y} at {axis} = {loss:.3g} depends on the form of the map: {own} by the {FORMS[map.law.name]}, "
                f"{rounded(value)} by the {FORMS[other.law.name]}. The interval contains only the first. Train a run "
                f"nearer to this {axis} to decide.",
            )
    return None
