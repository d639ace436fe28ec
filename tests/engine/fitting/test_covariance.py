"""Tests of fit cards without resamples: their covariance matrix replaces the resamples."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit, read_fit, to_json
from isoplan.engine.fitting.resampling.covariance import covariance_of
from isoplan.engine.planning.plan.budget import plan_budget
from tests.engine.fitting.tables import make_runs, surface


@pytest.fixture(scope="module")
def made() -> Fit:
    return fit(FitSpec(objective="ols-log", bootstrap=400, fixed={"E": 1.8}), make_runs(surface(120, noise=0.003)))


def card(made: Fit, **how: bool) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(to_json(made, **how)))
    return found


def test_the_matrix_is_numpys_of_logs_of_scales(made: Fit) -> None:
    found = covariance_of(made)
    assert found is not None
    assert found.names == ("A", "B", "alpha", "beta")
    assert found.logs == ("A", "B")
    draws = made.resamples[:, 1:]
    by_hand = np.cov(np.column_stack([np.log(draws[:, :2]), draws[:, 2:]]).T)
    assert found.matrix == pytest.approx(by_hand)


def test_a_small_card_plans_with_nearly_the_same_intervals(made: Fit) -> None:
    small = read_fit(card(made, resamples=False, covariance=True))
    assert small.resamples.shape == (1000, 5)
    assert (small.resamples[:, 0] == 1.8).all()
    assert small.parameters == tuple(replace(p, se=p.error) for p in made.parameters)
    assert len(json.dumps(card(made, resamples=False, covariance=True))) < 0.1 * len(json.dumps(card(made)))
    for name in ("N", "D", "loss"):
        whole, ours = (plan_budget(f, 1e23).allocation[name] for f in (made, small))
        assert ours.value == pytest.approx(whole.value, rel=1e-12)
        assert whole.ci68 is not None
        assert ours.ci68 is not None
        assert np.ptp(np.log(ours.ci68)) == pytest.approx(np.ptp(np.log(whole.ci68)), rel=0.25)


def test_without_either_it_plans_at_its_central_values(made: Fit) -> None:
    bare = read_fit(card(made, resamples=False))
    assert bare.resamples.shape == (0, 5)
    assert plan_budget(bare, 1e23).allocation["N"].ci68 is None


def test_nothing_to_keep_is_no_covariance() -> None:
    alone = fit(FitSpec(objective="ols-log", bootstrap=0), make_runs(surface(40)))
    assert covariance_of(alone) is None
    assert "covariance" not in to_json(alone, covariance=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ["A", "B", "alpha", "gamma"]}, "not a symmetric matrix"),
        ({"matrix": [[1.0, 2.0]]}, "as many numbers as there are names"),
        ({"matrix": (-np.eye(4)).tolist()}, "negative variance"),
        ({"matrix": [[1.0, 1, 1, 1], *np.eye(4).tolist()[1:]]}, "not a symmetric matrix"),
    ],
)
def test_a_matrix_that_is_none_is_one_sentence(made: Fit, change: dict[str, Any], words: str) -> None:
    raw = card(made, resamples=False, covariance=True)
    raw["covariance"] |= change
    with pytest.raises(PlannerError, match=words):
        read_fit(raw)
