"""Slices: a law along one axis, with the other axis at its middle value. Runs are drawn with their own residuals."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.drawing.sections import slices
from tests.engine.fitting.tables import make_runs, surface


@pytest.mark.parametrize("objective", ["ols-log", "ols"])
def test_the_others_stand_in_the_middle_and_runs_keep_their_residuals(objective: str) -> None:
    runs = make_runs(surface(60, noise=0.01))
    made = fit(FitSpec.model_validate({"objective": objective, "bootstrap": 40}), runs)
    n, d = slices(made, runs)
    assert (n.axis, d.axis) == ("N", "D")
    assert n.others == pytest.approx({"D": np.sqrt(runs["D"].min() * runs["D"].max())})
    v = {k: float(x) for k, x in made.values.items()}
    by_hand = v["E"] + v["A"] * n.x ** -v["alpha"] + v["B"] * n.others["D"] ** -v["beta"]
    assert n.y == pytest.approx(by_hand)
    there = v["E"] + v["A"] * runs["N"] ** -v["alpha"] + v["B"] * n.others["D"] ** -v["beta"]
    here = made.predict({"N": runs["N"], "D": runs["D"]})
    if objective == "ols":
        assert n.y_runs - there == pytest.approx(runs["loss"] - here)
    else:
        assert n.y_runs / there == pytest.approx(runs["loss"] / here)
    assert np.all(n.band.low95 <= n.band.low68)
    assert np.all(n.band.low68 <= n.band.high68)
    assert n.x[n.inside] == pytest.approx(n.x[(n.x >= runs["N"].min()) & (n.x <= runs["N"].max())])


def test_without_runs_there_are_only_lines() -> None:
    made = fit(FitSpec(law="power", axis="D", bootstrap=0), make_runs(surface(30)))
    (one,) = slices(made)
    assert one.x_runs.size == 0
    assert one.others == {}
    assert np.isnan(one.band.low68).all()
