"""Form of a map from the loss to a metric: an exponential or a power law, chosen by the errors on left-out runs.

Both forms have three parameters. Within the runs they are often equally good. Beyond the runs they differ, so a plan
outside the runs needs the form that extrapolates better.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from isoplan.engine.errors import PlannerError
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
FORM_NOTE = "map-form"
"""Code of the note that names the form of a map and the errors of all forms."""
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


def usual_spec(map: Fit) -> FitSpec:
    """Return the specification for comparing the forms of ``map``. It does not depend on the options of ``map``."""
    return FitSpec(law="metric-map", y=map.spec.y, axis=map.spec.axis)


def with_form(map: Fit, runs: Runs) -> Fit:
    """Return ``map`` with a note that has the text of ``form_text``; ``runs`` are the runs of the fit ``map``.

    A fit of another law is returned unchanged, and so is a map whose forms cannot be compared.
    """
    if map.law.name not in FORMS:
        return map
    try:
        forms = compare_forms(usual_spec(map), runs)
    except PlannerError:
        return map
    if forms.validation is None:
        return map
    return replace(map, warnings=(*map.warnings, FitWarning(FORM_NOTE, form_text(map, forms))))


def form_notes(maps: Iterable[Fit]) -> tuple[FitWarning, ...]:
    """Return the notes on the forms of ``maps`` that ``with_form`` added."""
    return tuple(w for map in maps for w in map.warnings if w.code == FORM_NOTE)


def form_text(map: Fit, forms: Comparison) -> str:
    """Return a text that names the form of ``map`` and the errors of all forms on left-out runs.

    If another form has the smallest error, the text names the law to fit. A form without a finite error is marked
    "fails".
    """
    own = FORMS[map.law.name]
    if forms.validation is None:
        return f"Form: {own}."
    errors = {one.fit.law.name: one.error for one in forms.ranked}
    ordered = sorted(errors.items(), key=lambda item: item[0] != map.law.name)  # the form of the map comes first
    listed = [f"{FORMS[name]} {f'{error:.1%}' if np.isfinite(error) else 'fails'}" for name, error in ordered]
    best = next((name for name, error in errors.items() if np.isfinite(error)), map.law.name)
    advice = "" if best == map.law.name else f" The {FORMS[best]} predicts these runs better: fit the law {best}."
    return f"Form: {own}. Error on the largest runs, which are left out of the fit: {', '.join(listed)}.{advice}"


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
                f"{rounded(value)} by the {FORMS[other.law.name]}. The interval contains only the first value. Train a "
                f"run nearer to this {axis} to decide.",
            )
    return None
