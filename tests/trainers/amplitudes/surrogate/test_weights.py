"""Weighted points: a point of weight 3 counts as three points, and equal weights change no result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from isoplan.trainers.amplitudes.cell import AmplitudeCell
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files import write_events
from isoplan.trainers.amplitudes.source import make_toy_events
from isoplan.trainers.amplitudes.surrogate import training
from isoplan.trainers.amplitudes.surrogate.accuracy import calibration, errors, write_pulls
from isoplan.trainers.amplitudes.surrogate.preprocessing import Standard, effective, quantiles, relative
from isoplan.trainers.cell import Stopped
from tests.trainers.jets.stream import Silent

RNG = np.random.default_rng(4)
TIMES = RNG.integers(1, 5, 3_000)
TRUTH = RNG.normal(-3, 2, len(TIMES))
OFF = RNG.normal(0, 0.1, len(TIMES))
SIGMA = RNG.uniform(0.05, 0.2, len(TIMES))
QUANTILES = {"relative_median", "relative_99", "bulk_mean", "bulk_width"}
"""Metrics that are quantiles.

If all weights are equal, a quantile is interpolated between two points. Otherwise, it is the value of one point. The
comparison therefore has a larger tolerance for quantiles.
"""
CELL = AmplitudeCell(data="mine.npz", points=400, tests=300, width=16, layers=2, iterations=200, dimension_points=0)


def again(values: np.ndarray) -> np.ndarray:
    """Repeat each value according to its weight in ``TIMES``."""
    return np.repeat(values, TIMES, axis=0)


@pytest.mark.parametrize("kind", ["log", "raw"])
def test_the_errors_are_those_of_points_that_are_there_several_times(kind: str) -> None:
    truth = TRUTH if kind == "log" else np.exp(TRUTH)
    guess = truth + OFF
    found, same = (
        errors(guess, truth, kind, relative(0.1 * TIMES.astype(float))),
        errors(again(guess), again(truth), kind),
    )
    for name, value in found.items():
        assert value == pytest.approx(same[name], rel=0.02 if name in QUANTILES else 1e-10), name
    assert found["loss"] != pytest.approx(errors(guess, truth, kind)["loss"], rel=1e-3)


def test_so_are_pulls_and_the_standardisation(tmp_path: Path) -> None:
    t, weight = OFF / SIGMA, relative(TIMES.astype(float))
    found, same = calibration(t, SIGMA, TRUTH, weight), calibration(again(t), again(SIGMA), again(TRUTH))
    for name, value in found.items():
        assert value == pytest.approx(same[name], rel=0.05 if name in QUANTILES else 1e-10, abs=1e-10), name
    write_pulls(tmp_path / "pulls.csv", t, weight)
    table = np.loadtxt(tmp_path / "pulls.csv", delimiter=",", skiprows=1)
    assert table[:, 2].sum() == pytest.approx(table[:, 3].sum())
    values = np.stack([TRUTH, OFF], axis=1)
    one, other = Standard.of(values, weight), Standard.of(again(values))
    np.testing.assert_allclose([one.mean, one.spread], [other.mean, other.spread], rtol=1e-10)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_quantiles_are_those_of_the_repeated_points(share: float) -> None:
    expected = np.quantile(again(OFF), share, method="inverted_cdf")
    assert quantiles(OFF, share, relative(TIMES.astype(float))) == expected


def test_weights_have_the_mean_one_and_are_none_where_all_are_the_same() -> None:
    found = relative(np.array([1e308, 1e308, 5e307]))
    assert found == pytest.approx([1.2, 1.2, 0.6])
    assert relative(np.full(7, 0.3)) is None
    assert effective(None, 7) == 7
    assert effective(found, 3) == pytest.approx(9 / (1.2**2 * 2 + 0.6**2))


def place(root: Path, weight: np.ndarray) -> Path:
    (root / "amplitudes").mkdir(parents=True)
    events = make_toy_events("ttH", 1000, 5)
    write_events(root / "amplitudes" / "mine.npz", Events(events.momenta, events.amplitude, weight, events.process))
    return root


def train(root: Path, **fields: object) -> dict[str, float]:
    return dict(training.train(root, CELL.model_copy(update=fields), Silent(root)))


def test_weights_that_are_all_the_same_change_no_digit(tmp_path: Path) -> None:
    one, three = (train(place(tmp_path / f"{w:g}", np.full(1000, w))) for w in (1.0, 3.7))
    assert one == three
    assert one["D_effective"] == 400


@pytest.mark.parametrize("batch", [400, 128])
def test_a_cell_learns_the_events_of_a_file_by_their_weights(tmp_path: Path, batch: int) -> None:
    """Half of the events have negligible weights. Training and test results therefore depend only on the other half."""
    heavy = np.argsort(np.argsort(make_toy_events("ttH", 1000, 5).amplitude)) >= 500
    found = train(place(tmp_path, np.where(heavy, 1.0, 1e-9)), batch=batch)
    plain = train(place(tmp_path / "plain", np.ones(1000)), batch=batch)
    assert found["D_effective"] == pytest.approx(200, rel=0.1)
    assert found["spread"] == pytest.approx(np.log(make_toy_events("ttH", 1000, 5).amplitude[heavy]).std(), rel=0.15)
    assert found["loss"] * found["spread"] ** 2 < plain["loss"] * plain["spread"] ** 2
    assert found["loss"] < 0.3


def test_a_cell_with_weights_goes_on_to_the_same_digits(tmp_path: Path) -> None:
    root = place(tmp_path, RNG.uniform(0.5, 2, 1000))
    whole = train(root)
    with pytest.raises(Stopped):
        training.train(root, CELL, Silent(root, end=100, saved=100))
    assert dict(training.train(root, CELL, Silent(root, resume=root / "checkpoint"))) == whole
