"""Tests of formulas that are linear in some of their parameters."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.costs import compute_rule
from isoplan.engine.formula import affine, parse_formula

SAMPLES = frozenset({"D", "U"})


@pytest.mark.parametrize(
    ("text", "straight"),
    [
        ("6*N*D + 1e9*D", True),
        ("D*log(N) - 3*N/D_0", True),
        ("6*N*U*epochs + D", True),
        ("3*D - 2*D*N + exp(N/1e12)*D", True),
        ("N^2", True),
        ("6*N*D^1.1", False),
        ("6*D*(N + 3*U)", False),
        ("6*N*max(D, 1e9)", False),
        ("N/D", False),
        ("6*N*D*(1 + D/1e9)", False),
    ],
)
def test_straight_lines_are_known_by_their_form(text: str, straight: bool) -> None:
    assert affine(parse_formula(text), SAMPLES) is straight


@pytest.mark.parametrize(
    ("text", "d"),
    [
        ("6*N*D + 1e9*D", lambda C, N: C / (6 * N + 1e9)),
        ("6*N*D + 1e12*N", lambda C, N: (C - 1e12 * N) / (6 * N)),
        ("6*N*D/epochs", lambda C, N: C / (6 * N)),
        ("1e3*D^1 + 1e15", lambda C, N: (C - 1e15) / 1e3 + 0 * N),
    ],
)
def test_they_are_solved_in_one_step(text: str, d: object) -> None:
    N = np.geomspace(1e3, 1e12, 40)
    expected = d(1e21, N)  # type: ignore[operator]
    found = compute_rule("formula", formula=text).samples(1e21, N)
    assert found == pytest.approx(np.where(expected >= 1e-9, expected, np.nan), rel=1e-12, nan_ok=True)
