"""Tests of the warnings about other optima and about parameters that the runs determine only in combination."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec, fit, fit_groups
from isoplan.engine.fitting.samples.sample import sample
from isoplan.engine.fitting.solver.identifiability import margin, others
from isoplan.engine.fitting.solver.multistart import best_fit
from isoplan.engine.fitting.solver.objectives import SQUARE, scale
from isoplan.engine.fitting.solver.problem import problem
from tests.engine.fitting.tables import TRUTH, make_runs, surface

GOOD = surface(30, noise=0.01)


def loose(values: dict[str, Any], **spec: Any) -> list[str]:
    found = fit(FitSpec(**{"bootstrap": 0, **spec}), make_runs(values))
    return [w.text for w in found.warnings if w.code == "not-held"]


def test_minima_within_the_margin_are_counted_and_the_lowest_is_named() -> None:
    s = sample(FitSpec(), make_runs(GOOD))
    p = problem(s.law, s.spec, s.columns, s.y, s.weight)
    best = best_fit(p)
    far = best.theta * np.array([0.9, 1.1, 1, 1.1, 1])
    twin = replace(best, others=np.array([best.theta, far]), other_values=np.array([best.value, best.value * 1.004]))
    (warning,) = others(s.law, p, twin, 0.01 * best.value)
    assert warning.text.startswith("A second optimum fits the runs about equally well. At ")
    assert "only 4.0e-03 (relative) higher; noise explains a difference of 1.0%" in warning.text
    assert f"E = {0.9 * best.theta[0]:.4g}" in warning.text
    assert others(s.law, p, replace(twin, other_values=best.value * np.array([1, 1.02])), 0.01 * best.value) == ()
    three = np.array([far, best.theta * np.array([0.8, 1.2, 1, 1.2, 1]), far])
    two = replace(best, others=three, other_values=best.value * np.array([1.001, 1.002, 1.003]))
    (warning,) = others(s.law, p, two, 0.01 * best.value)
    assert warning.text.startswith("2 other optima fit the runs about equally well. At ")
    dust = best.theta * np.array([1, 1, 1, 1, 1]) + np.array([1e-9, 0, 0, 0, 0])
    assert others(s.law, p, replace(best, others=dust[None], other_values=np.array([best.value])), best.value) == ()


def test_the_margin_is_one_per_cent_or_what_noise_may_account_for() -> None:
    # For least squares, the 95 % region ends at 1.92 * 2 * RSS / (n - p) above the minimum (n - p: degrees of freedom).
    assert margin(SQUARE, 3.0, 20) == pytest.approx(1.92 * 2 * 3.0 / 20)
    assert margin(SQUARE, 3.0, 10_000) == pytest.approx(0.03)
    assert scale(SQUARE, 0.0) == 0.0


def test_a_narrow_scan_holds_no_parameter_by_itself_and_the_sentence_has_the_standard_error() -> None:
    x = np.geomspace(1e6, 4e6, 12)
    loss = 0.4 + (2e5 / x) ** 0.45 + 0.01 * np.random.default_rng(2).normal(size=12)
    found = fit(FitSpec(law="power", axis="D", objective="ols", bootstrap=0), make_runs({"D": x, "loss": loss}))
    (text,) = [w.text for w in found.warnings if w.code == "not-held"]
    assert "move together" in text
    assert "add runs over a wider range of D" in text
    # Compute the Jacobian by finite differences. It gives the standard error along the direction in parameter space
    # that the runs determine least.
    step = 1e-5 * found.theta
    moved = [found.law.predict(found.theta + step * unit, {"D": x}) for unit in np.eye(3)]
    g = np.stack([(m - found.predict({"D": x})) / 1e-5 for m in moved], axis=1)
    held, along = np.linalg.eigh(g.T @ g / ((found.objective or 0) / 9))
    error, v = held[0] ** -0.5, along[:, 0]
    named = {n: (float(a), float(b)) for n, a, b in re.findall(r"(\w+) from (\S+) to ([^,\s]+)", text)}
    # The warning states the change towards a lower floor K, because a higher floor would soon contradict the losses.
    assert named["K"][1] < named["K"][0]
    sign = -np.sign(v[found.law.names.index("K")])
    for name, (start, end) in named.items():
        i = found.law.names.index(name)
        assert start == pytest.approx(found.theta[i], rel=5e-3)
        far = min(error, 3 / np.max(np.abs(v))) * sign * v[i]
        assert end == pytest.approx(found.theta[i] * np.exp(far), rel=2e-2)


def test_two_axes_that_grow_together_leave_their_terms_loose() -> None:
    random = np.random.default_rng(0)
    values = surface(40)
    values["D"] = 20 * values["N"] ** 1.05 * np.exp(0.02 * random.normal(size=40))
    loss = TRUTH["E"] + TRUTH["A"] * values["N"] ** -0.35 + TRUTH["B"] * values["D"] ** -0.37
    values["loss"] = loss * np.exp(0.01 * random.normal(size=40))
    texts = loose(values, objective="ols-log")
    assert texts
    assert "move together" in texts[0]
    assert {"A", "B"} & set(re.findall(r"(\w+) from", texts[0]))
    helped = loose(values, objective="ols-log", prior={"A": (480.0, 5.0), "B": (2100.0, 50.0)}, fixed={"E": 1.8})
    assert helped == []


def test_a_sound_design_and_a_perfect_fit_hold_every_direction() -> None:
    for objective in ("huber-log", "lad", "ols", "ols-log"):
        assert loose(surface(80, noise=0.01), objective=objective) == []
    assert loose(surface(40)) == []


def test_what_is_at_a_bound_is_no_direction() -> None:
    values = surface(60, noise=0.001, truth={**TRUTH, "A": 0.0})
    values["loss"] *= 1 + 0.003 * np.log10(values["N"] / 1e8)
    found = fit(FitSpec(bootstrap=0), make_runs(values))
    assert not any("A " in w.text for w in found.warnings if w.code == "not-held")


def test_groups_say_which_of_them_is_loose() -> None:
    x = np.geomspace(1e4, 1e8, 9)
    narrow = np.geomspace(1e7, 1.1e7, 9)
    loss = [0.4 + (2e5 / at) ** 0.45 for at in (x, narrow)]
    noisy = np.concatenate(loss) * np.exp(0.01 * np.random.default_rng(0).normal(size=18))
    runs = make_runs({"D": np.r_[x, narrow], "loss": noisy}, groups=["wide"] * 9 + ["narrow"] * 9)
    spec = FitSpec(law="power", axis="D", share=("alpha",), objective="ols-log", bootstrap=0)
    texts = [w.text for w in fit_groups(spec, runs).warnings if w.code == "not-held"]
    assert texts
    assert all(text.startswith("Group narrow: ") for text in texts)
