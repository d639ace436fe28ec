"""Estimates of the intrinsic dimension for manifolds of known dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.surrogate import accuracy
from isoplan.trainers.amplitudes.surrogate.accuracy import two_nn

RNG = np.random.default_rng(5)


def flat(d: int) -> np.ndarray:
    """Return points of a ``d``-dimensional cube, mapped into 20 dimensions by smooth one-to-one functions."""
    u = RNG.random((2000, d))
    return np.concatenate([u, np.sin(u @ RNG.normal(0, 0.5, (d, 20 - d)))], axis=1)


def sphere(d: int) -> np.ndarray:
    x = RNG.standard_normal((2000, d + 1))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def wide(d: int) -> np.ndarray:
    """Return points of a ``d``-dimensional Gaussian in 60 dimensions, similar to a hidden layer."""
    return RNG.standard_normal((2000, d)) @ np.linalg.qr(RNG.standard_normal((60, d)))[0].T


@pytest.mark.parametrize(
    ("made", "d"), [(flat, 1), (flat, 2), (flat, 5), (sphere, 2), (sphere, 5), (wide, 2), (wide, 5)]
)
def test_manifolds_of_known_dimension(made: object, d: int) -> None:
    mean, spread = two_nn(made(d), 1000)  # type: ignore[operator]
    assert mean == pytest.approx(d, rel=0.1)
    assert 0 < spread < 0.1 * d


def test_the_estimate_is_that_of_all_ratios_by_maximum_likelihood() -> None:
    """The maximum of the likelihood (amplitude paper, eq. 31) is computed by hand: n / sum(log(mu)).

    mu is the distance from a point to its second neighbour, divided by the distance to its first neighbour. n is the
    number of points.
    """
    points = flat(3)
    distances = np.sort(cdist(points[:1000], points[:1000]), axis=1)
    by_hand = 1000 / np.log(distances[:, 2] / distances[:, 1]).sum()
    assert accuracy._one(points[:1000]) == pytest.approx(by_hand, rel=0.08)


def test_points_that_are_there_twice_are_left_out() -> None:
    points = flat(2)
    assert accuracy._one(np.concatenate([points, points[:500]])) == pytest.approx(accuracy._one(points), rel=0.1)


def test_what_says_nothing_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        PlannerError, match="The intrinsic dimension of 20 points is too uncertain: set dimension_points to 100"
    ):
        two_nn(flat(2), 20)
    with pytest.raises(PlannerError, match=r"and tests is 2,000, .* nearly the same points: set tests to 2,002"):
        two_nn(flat(2), 1001)
    with pytest.raises(PlannerError, match="Only 1 of 500 points remain without duplicates"):
        two_nn(np.ones((1000, 3)), 500)
    monkeypatch.setattr(accuracy, "find_spec", lambda name: None)
    with pytest.raises(
        PlannerError, match=r"needs scikit-dimension: install it with pip install 'isoplan\[amplitudes\]'"
    ):
        two_nn(flat(2), 500)


def test_nothing_is_imported_before_it_is_needed() -> None:
    text = Path(accuracy.__file__).read_text()
    assert "\nfrom skdim" not in text
    assert "\nfrom sklearn" not in text
