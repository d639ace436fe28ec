"""Tests of the suggested law: the columns that vary determine the law, and the reason names these columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.fitting.law_suggestions import offered_laws, suggest_law
from isoplan.engine.schema import Metric, Runs
from tests.engine.fitting.tables import make_runs

N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e6, 1e9, 4), np.geomspace(1e7, 1e10, 3)))
GRID = {"N": N, "D": D, "loss": 2 + N**-0.1 + D**-0.1}
LINE = np.geomspace(1e6, 1e9, 8)
SHARE = np.linspace(0.1, 0.9, 8)


@pytest.mark.parametrize(
    ("columns", "hyper", "key", "reason"),
    [
        (GRID, (), "chinchilla", "the runs vary N and D independently (4 sizes, 3 amounts of data)"),
        (GRID | {"U": np.minimum(D, np.tile([1e6, 1e7, 1e8], 4))}, (), "data-constrained", "repeat samples up to"),
        ({"D": LINE, "loss": LINE**-0.2}, (), "power-D", "the runs vary data (8 values)"),
        ({"N": LINE, "loss": LINE**-0.2}, (), "power-N", "the runs vary size (8 values)"),
        ({"N": LINE, "D": 20 * LINE, "C": 120 * LINE**2, "loss": LINE**-0.2}, (), "power-C", "N and D grow together"),
        ({"s": SHARE, "loss": (SHARE - 0.5) ** 2 + 1}, ("s",), "starvation-s", "the runs sweep s over 8 values"),
        ({"s": SHARE[:4], "loss": SHARE[:4] + 1}, ("s",), "log-parabola-s", "the runs sweep s over 4 values"),
        ({"N": N[:4], "D": D[[0, 4, 8, 1]], "loss": N[:4]}, (), "power-C", "4 runs are too few for N and D"),
    ],
)
def test_what_the_runs_vary_decides(
    columns: dict[str, np.ndarray], hyper: tuple[str, ...], key: str, reason: str
) -> None:
    runs = make_runs(columns)
    runs = replace(runs, roles=runs.roles.model_copy(update={"hyper": hyper}))
    found = suggest_law(runs, "loss")
    assert found is not None
    assert found.law.key == key
    assert reason in found.reason
    assert found.sentence == f"Suggested: {found.law.title}, because {found.reason}."


def metric_runs() -> Runs:
    return make_runs(GRID | {"auc": 1 / GRID["loss"]}, metrics=(Metric(column="auc", direction="max"),))


def test_a_metric_is_mapped_from_the_loss() -> None:
    found = suggest_law(metric_runs(), "auc")
    assert found is not None
    assert (found.law.key, found.reason) == ("metric-map-loss", "the same runs have auc and the loss")


def test_nothing_is_suggested_for_runs_that_vary_nothing() -> None:
    assert suggest_law(make_runs({"N": np.full(5, 1e6), "loss": np.arange(5) + 1.0}), "loss") is None
    assert suggest_law(make_runs({"N": LINE}), "loss") is None


def test_laws_that_the_columns_do_not_allow_have_a_reason() -> None:
    laws, others = offered_laws(make_runs({"D": LINE, "loss": LINE**-0.2}), "loss")
    assert [law.key for law in laws] == ["power-D"]
    assert ("chinchilla", "N is not mapped") in [(law.key, why) for law, why in others]
