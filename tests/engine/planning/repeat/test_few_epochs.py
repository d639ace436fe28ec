"""Cost of reaching a target with a few epochs. The law describes repeated samples, but not overfitting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.planning.optimum.frontier import least_compute
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.few_epochs import between
from tests.engine.planning.conftest import EPOCH, JETS, make_fit

SURFACE = make_fit((*EPOCH, 15.0, 5.0), law="data-constrained")


def test_fewer_samples_cost_more_compute_and_their_price_decides() -> None:
    cheap = between(SURFACE, 2.2, SampleCosts(1e-12, 1e-20))
    assert np.all(np.diff(cheap.unique) > 0)
    assert np.all(np.diff(cheap.C) <= 1e-9 * cheap.C[1:])
    once = least_compute(CHINCHILLA, make_fit(EPOCH).values, np.asarray(2.2), SURFACE.compute)
    assert cheap.C[-1] == pytest.approx(float(once.C), rel=1e-4)
    assert cheap.epochs[-1] == pytest.approx(1, rel=1e-3)
    assert cheap.best == len(cheap.unique) - 1
    dear = between(SURFACE, 2.2, SampleCosts(1e-3, 1e-20))
    assert dear.best < cheap.best
    assert dear.epochs[dear.best] > 3
    assert "does not describe overfitting" in dear.note


@given(st.floats(2.0, 3.5), st.floats(1, 40), st.floats(1, 40))
@settings(max_examples=10, deadline=None)
def test_the_closed_form_agrees_with_the_search_of_the_law(target: float, r_d: float, r_n: float) -> None:
    fit = make_fit((*EPOCH, r_d, r_n), law="data-constrained")
    found = between(fit, target, SampleCosts(1e-9, 1e-20))
    for i in (0, len(found.unique) // 2):
        values = {**fit.values, "U": np.asarray(found.unique[i])}
        at = least_compute(fit.law, values, np.asarray(target), fit.compute)
        assert found.C[i] == pytest.approx(float(at.C), rel=1e-6)
        loss = float(fit.law.predict(fit.theta, {"N": found.N[i], "D": found.D[i], "U": found.unique[i]}))
        assert loss == pytest.approx(target, rel=1e-6)


def test_what_no_number_of_passes_reaches_is_left_out() -> None:
    found = between(SURFACE, 2.2, SampleCosts(1e-3, 1e-20))
    assert len(found.unique) < 41
    assert np.isfinite(found.money).all()


def test_other_laws_and_floors_are_refused() -> None:
    with pytest.raises(PlannerError, match=r"Only the law data-constrained .* but this fit is chinchilla"):
        between(make_fit(JETS), 0.5, SampleCosts(1, 1e-18))
    with pytest.raises(PlannerError, match=r"A target loss of 1.8 is not above the floor 1.817"):
        between(SURFACE, 1.8, SampleCosts(1, 1e-18))
