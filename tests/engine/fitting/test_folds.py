"""Tests of the warning about a scale (such as C_L) that is not monotone in its exponent (gamma)."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.fitting.solver.identifiability import folds
from isoplan.engine.laws import get_law

LAW = get_law("isoflop")


def valley(k: float, r: int = 400) -> np.ndarray:
    """Return ``r`` resamples of the law L = E + (C_L / C)^gamma with equal loss and slope at one budget C0.

    With the excess s = L - E at C0, the slope dL / d ln C is -k = -gamma s, and ln C_L = ln C0 + s ln(s) / k.
    """
    s = np.linspace(0.2, 0.7, r)
    out = np.ones((r, len(LAW.names)))
    for name, value in {"E": 2 - s, "gamma": k / s, "C_L": 1e19 * np.exp(s * np.log(s) / k)}.items():
        out[:, LAW.names.index(name)] = value
    return out


def test_a_scale_that_turns_at_one_over_e_is_named() -> None:
    """ln C_L depends on s ln s (s: excess loss), which has its minimum at s = 1/e, so C_L is not monotone in gamma."""
    (found,) = folds(LAW, valley(0.06))
    assert found.code == "fold"
    assert "C_L is not monotone in gamma" in found.text


@pytest.mark.parametrize("part", [slice(0, 130), slice(240, 400)])
def test_one_side_of_the_turn_is_no_fold(part: slice) -> None:
    assert list(folds(LAW, valley(0.06)[part])) == []


def test_chance_and_few_resamples_say_nothing() -> None:
    random = np.random.default_rng(0).normal(size=(4000, len(LAW.names)))
    assert list(folds(LAW, random)) == []
    assert list(folds(LAW, valley(0.06, 30))) == []
