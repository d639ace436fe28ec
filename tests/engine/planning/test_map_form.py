"""Form of a map from loss to metric, selected by its error on held-out runs, and the caution if the forms disagree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.plan.map_form import (
    choose_form,
    compare_forms,
    form_caution,
    form_notes,
    form_text,
    with_form,
)
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.questions.typed_plan import answer_question, read_question
from isoplan.engine.schema import Metric, Runs
from tests.engine.fitting.tables import make_runs

SPEC = FitSpec(law="metric-map", y="rejection", axis="loss")


def runs_of(form: str) -> Runs:
    """Return 2 runs at each of 15 (N, D). The rejection is a power or an exponential of the loss, with 5 % noise."""
    rng = np.random.default_rng(3)
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(300, 5e4, 5), [1e4, 5e4, 2.5e5], indexing="ij"))
    N, D = np.repeat(N, 2), np.repeat(D, 2)
    loss = 0.20 + 2.0 * N**-0.45 + 4.5 * D**-0.35
    rejection = 350 * (0.2685 / loss) ** 4.5 if form == "metric-power" else 350 * np.exp(-14 * (loss - 0.2685)) + 9
    noisy = rejection * np.exp(0.05 * rng.standard_normal(len(N)))
    values = {"N": N, "D": D, "C": 6 * N * D, "loss": loss, "rejection": noisy}
    return make_runs(values, metrics=(Metric(column="rejection", direction="max"),))


@pytest.mark.parametrize("form", ["metric-map", "metric-power"])
def test_the_form_with_the_smaller_error_on_runs_left_out_is_chosen(form: str) -> None:
    runs = runs_of(form)
    forms = compare_forms(SPEC, runs)
    chosen = choose_form(SPEC.model_copy(update={"bootstrap": 100, "seed": 5}), runs, forms)
    assert (chosen.law, chosen.bootstrap, chosen.seed) == (form, 100, 5)
    assert forms.ranked[0].error < forms.ranked[1].error


def test_a_power_law_extrapolates_to_the_truth_and_the_other_form_is_named() -> None:
    runs = runs_of("metric-power")
    forms = compare_forms(SPEC, runs)
    made = fit(choose_form(SPEC.model_copy(update={"bootstrap": 100}), runs, forms), runs)
    truth = 350 * (0.2685 / 0.25) ** 4.5
    assert float(made.predict({"loss": 0.25})) == pytest.approx(truth, rel=0.05)
    text = "Form: power-law map. Error on the largest runs, which are left out of the fit: power"
    assert form_text(made, forms).startswith(text)
    caution = form_caution(made, forms, 0.25)
    assert caution is not None
    assert (caution.code, caution.level) == ("form", "caution")
    assert caution.text.startswith("rejection at loss = 0.25 depends on the form of the map: ")
    assert "by the power-law map" in caution.text
    assert "by the exponential map" in caution.text


def test_a_form_without_a_finite_error_fails() -> None:
    runs = runs_of("metric-power")
    forms = compare_forms(SPEC, runs)
    best, worst = forms.ranked
    for error in (np.inf, np.nan):
        failed = replace(forms, ranked=(best, replace(worst, error=error)))
        text = (
            "which are left out of the fit: {}. The power-law map predicts these runs better: fit the law metric-power."
        )
        listed = f"exponential map fails, power-law map {best.error:.1%}"
        assert form_text(worst.fit, failed).endswith(text.format(listed))


def test_forms_that_agree_have_no_caution() -> None:
    runs = runs_of("metric-power")
    forms = compare_forms(SPEC, runs)
    made = fit(SPEC.model_copy(update={"law": "metric-power", "bootstrap": 100, "objective": "ols-log"}), runs)
    alike = [float(loss) for loss in np.linspace(0.3, 0.5, 81) if form_caution(made, forms, float(loss)) is None]
    assert alike
    assert form_caution(fit(SPEC.model_copy(update={"bootstrap": 0}), runs), forms, 0.25) is None


def test_a_fitted_map_names_the_better_form_and_a_plan_repeats_it() -> None:
    runs = runs_of("metric-power")
    spec = SPEC.model_copy(update={"bootstrap": 0})
    own, better = (
        with_form(fit(spec.model_copy(update={"law": law}), runs), runs) for law in ("metric-map", "metric-power")
    )
    (note,) = form_notes([own])
    assert (note.code, note.level) == ("map-form", "note")
    assert note.text == form_text(own, compare_forms(SPEC, runs))
    assert note.text.startswith(
        "Form: exponential map. Error on the largest runs, which are left out of the fit: exponential map "
    )
    assert note.text.endswith(" The power-law map predicts these runs better: fit the law metric-power.")
    assert "predicts these runs better" not in form_notes([better])[0].text
    law = fit(FitSpec(law="chinchilla", bootstrap=0), runs)
    assert with_form(law, runs) is law
    plan = answer_question(law, read_question({"budget": "1e9"}, "python"), maps=(through(law, own),))
    assert note in plan.warnings


def test_forms_that_cannot_be_compared_add_no_note() -> None:
    runs = runs_of("metric-power")
    made = fit(SPEC.model_copy(update={"bootstrap": 0}), runs)
    assert with_form(made, runs.take(np.arange(2))) is made
