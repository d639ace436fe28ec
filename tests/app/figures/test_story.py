"""Figures of a story: names and labels for readers who see the figure from a distance."""

from __future__ import annotations

import numpy as np

from isoplan.app.figures.plans.story import draw
from isoplan.engine.planning.story.screens import RunsPicture
from tests.engine.fitting.tables import make_runs


def test_only_the_largest_budget_has_its_unit_in_the_label() -> None:
    """Labels with a unit would cover the runs of the next budget. Runs without budgets have no labels."""
    C = np.repeat([1e15, 1e16, 1e17], 4)
    N = np.tile(np.geomspace(1e5, 1e7, 4), 3) * np.sqrt(C / 1e15)
    columns = {"N": N, "D": C / (6 * N), "loss": 1 + N**-0.3}
    drawing = draw(RunsPicture(make_runs(columns | {"budget": C}), "loss", "test loss", "events"))
    (labels,) = (trace.text for trace in drawing.figure.data if trace.mode == "text")
    assert [text.endswith("FLOPs") for text in labels] == [False, False, True]
    assert drawing.figure.layout.yaxis.title.text == "Training events <i>D</i>"
    bare = draw(RunsPicture(make_runs(columns), "loss"))
    assert not [trace for trace in bare.figure.data if trace.mode == "text"]
