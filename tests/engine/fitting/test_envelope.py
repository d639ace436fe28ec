"""Tests of fits of the lower envelope: published exponents, known frontiers, and invariances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.samples.curve_records import on_envelope
from isoplan.engine.schema import Curves, Roles, Runs
from isoplan.engine.store.files.table_files import read_runs
from tests.engine.fitting.training import NOBODY, SURFACE, named, surface_curves

SPEC = FitSpec(law="envelope", bootstrap=0, smoothing=0)
A_TRUE = SURFACE["beta"] / (SURFACE["alpha"] + SURFACE["beta"])


def test_the_published_exponents_of_the_teacher_student_sweep(shared: Path) -> None:
    """With losses averaged over seeds, N* ~ C^0.415 and D* ~ C^0.569 (README of the runs); the true floor is 0.01."""
    file = shared / "runs" / "teacher_student_sweep.csv"
    found = fit(SPEC, read_runs(file, {"loss": "val_loss"}, repeats="mean"))
    assert round(float(found.values["a"]), 3) == 0.415
    assert round(float(found.values["b"]), 3) == 0.569
    assert found.values["E"] == pytest.approx(0.01, rel=0.15)


def cells(unit: float = 1.0, noise: float = 0.0, seed: int = 0) -> Runs:
    """Simulate one run on a known frontier and two worse runs at each compute C.

    On the frontier N = 0.1 C^0.5 and L = 1.5 + (1e17 / C)^0.3. ``unit`` divides N and D.
    """
    rng = np.random.default_rng(seed)
    C = np.repeat(np.geomspace(1e17, 1e22, 24), 3)
    off = np.tile([1.0, 0.3, 3.0], 24)
    N = 0.1 * C**0.5 * off * np.exp(noise * rng.normal(size=len(C)))
    loss = 1.5 + (1e17 / C) ** 0.3 + np.where(off == 1, 0.0, 0.5)
    return Runs(np.arange(len(C)), {"N": N / unit, "D": C / (6 * N) / unit, "C": C, "loss": loss}, Roles(), {})


def test_a_known_frontier_comes_back_to_a_millionth() -> None:
    found = fit(SPEC, cells()).values
    for name, truth in {"k": 0.1, "a": 0.5, "k_D": 1 / 0.6, "b": 0.5, "E": 1.5, "C_L": 1e17, "gamma": 0.3}.items():
        assert found[name] == pytest.approx(truth, rel=1e-6), name


def test_a_noisy_frontier_comes_back_within_four_standard_errors() -> None:
    found = fit(SPEC.model_copy(update={"bootstrap": 200}), cells(noise=0.2))
    for p in found.parameters[:4]:
        truth = {"k": 0.1, "a": 0.5, "k_D": 1 / 0.6, "b": 0.5}[p.name]
        assert p.se is not None
        assert abs(p.value - truth) < 4 * p.se, p


def test_curves_of_a_surface_give_its_frontier() -> None:
    found = fit(SPEC, NOBODY, curves=surface_curves(24, 60))
    assert found.values["a"] == pytest.approx(A_TRUE, abs=0.003)
    assert found.values["b"] == pytest.approx(1 - A_TRUE, abs=0.003)
    assert found.n == 24
    assert any(w.code == "envelope-ends" for w in found.warnings)


def test_noisy_curves_give_the_frontier_within_four_standard_errors() -> None:
    found = fit(SPEC.model_copy(update={"bootstrap": 100}), NOBODY, curves=surface_curves(16, 40, noise=0.002))
    a = found.parameters[1]
    assert a.se is not None
    assert abs(a.value - A_TRUE) < 4 * a.se


def scattered(seed: int, sizes: int = 12) -> Curves:
    """Simulate training curves with noise at each point and one random factor (sd 1 %) for each whole curve."""
    curves = surface_curves(sizes, 40, noise=0.003, seed=seed)
    offset = np.exp(0.01 * np.random.default_rng((7, seed)).normal(size=sizes))[curves.of]
    return named({**curves.values, "loss": curves["loss"] * offset}, curves.of)


def test_luck_is_taken_off_and_the_intervals_hold_the_truth() -> None:
    """The correction for selection bias gives the true exponent; without the correction the exponent is too small."""
    spec = SPEC.model_copy(update={"smoothing": 0.6, "bootstrap": 60})
    held, values, raw = 0, [], []
    for seed in range(12):
        curves = scattered(seed)
        found = fit(spec, NOBODY, curves=curves)
        raw.append(
            float(fit(spec.model_copy(update={"bootstrap": 0, "interval": "bc"}), NOBODY, curves=curves).values["a"])
        )
        a = found.parameters[1]
        assert a.ci95 is not None
        held += a.ci95[0] < A_TRUE < a.ci95[1]
        values.append(a.value)
    assert held >= 10
    assert np.mean(raw) < A_TRUE - 0.02
    assert np.mean(values) == pytest.approx(A_TRUE, abs=0.015)
    (said,) = [w.text for w in found.warnings if w.code == "envelope-luck"]
    assert "noisy curves defines the envelope at each compute" in said
    assert not [w for w in found.warnings if w.code == "envelope-narrow"]


def test_the_best_fit_does_not_depend_on_how_often_it_is_refitted() -> None:
    curves = scattered(3)
    none, some = (fit(SPEC.model_copy(update={"bootstrap": n, "seed": n}), NOBODY, curves=curves) for n in (0, 30))
    # In double precision the minimum of an objective is determined only to about 1e-8.
    assert none.theta == pytest.approx(some.theta, rel=1e-7)


def test_where_luck_is_not_known_the_intervals_are_said_to_be_narrow() -> None:
    for found in (
        fit(SPEC, cells()),
        fit(SPEC, NOBODY, curves=surface_curves(5, 60)),
        fit(SPEC.model_copy(update={"interval": "percentile"}), NOBODY, curves=surface_curves(12, 30)),
    ):
        assert [w.code for w in found.warnings if w.code.startswith("envelope-")][-1] == "envelope-narrow"
    with pytest.raises(PlannerError, match="Law envelope has no interval residual"):
        fit(SPEC.model_copy(update={"interval": "residual"}), cells())


def test_resamples_depend_on_the_seed_alone() -> None:
    for interval in ("auto", "percentile"):
        spec = SPEC.model_copy(update={"bootstrap": 40, "interval": interval})
        one, other = (fit(spec, NOBODY, curves=scattered(0)) for _ in range(2))
        assert np.array_equal(one.resamples, other.resamples)
        assert np.std(one.resamples[:, 1]) > 0.003


@settings(max_examples=8)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_neither_the_order_of_rows_nor_the_unit_matters(seed: int, unit: float) -> None:
    base, scaled = fit(SPEC, cells(noise=0.2)), cells(unit=unit, noise=0.2)
    mixed = fit(SPEC, scaled.take(np.random.default_rng(seed).permutation(len(scaled))))
    for name in ("a", "b", "E", "gamma", "C_L"):
        assert mixed.values[name] == pytest.approx(float(base.values[name]), rel=1e-6)
    assert mixed.values["k"] == pytest.approx(float(base.values["k"]) / unit, rel=1e-6)


def test_the_direction_of_a_metric_does_not_matter() -> None:
    spec = SPEC.model_copy(update={"objective": "ols", "y": "score"})
    curves = surface_curves(12, 30)
    points = {**curves.values, "score": curves["loss"]}
    down = fit(spec, NOBODY, curves=named(points, curves.of, "score", "min"))
    up = fit(spec, NOBODY, curves=named({**points, "score": -curves["loss"]}, curves.of, "score", "max"))
    assert up.values["a"] == pytest.approx(float(down.values["a"]), rel=1e-9)


def test_the_envelope_is_the_record_of_least_loss() -> None:
    y = np.array([3.0, 4.0, 2.0, 2.0, 1.0])
    present = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 1]], bool)
    assert on_envelope(y[None], present).tolist() == [
        [True, False, True, False, True],
        [False, True, False, True, True],
    ]


def test_what_makes_no_envelope_is_said() -> None:
    one_size = surface_curves(1, 30)
    with pytest.raises(
        PlannerError, match=r"are on the envelope, with 1 model size\. The law needs an envelope of at least 3"
    ):
        fit(SPEC, NOBODY, curves=one_size)
    with pytest.raises(PlannerError, match="has two points with compute above zero"):
        fit(SPEC, NOBODY, curves=surface_curves(5, 1))
    with pytest.raises(PlannerError, match="Law chinchilla uses one row for each run and no training curves"):
        fit(FitSpec(bootstrap=0), NOBODY, curves=one_size)
    with pytest.raises(PlannerError, match="The curves have no column for recall: they contain loss"):
        fit(SPEC.model_copy(update={"y": "recall"}), NOBODY, curves=replace(one_size, values=dict(one_size.values)))
