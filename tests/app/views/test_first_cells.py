"""Cells to train first: shown on Plan and linked on Fit if the runs of the open table are too few for the law."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from isoplan.app.views.planning.asked import as_budget
from isoplan.engine.arrays import Floats
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, told, written
from tests.engine.design.tables import LAW, TRUTH

FEW = {"N": np.array([1e4, 1e5, 3e5]), "D": np.array([1e6, 3e6, 3e7])}
CONSTANT = {"N": np.full(8, 1e5), "D": np.geomspace(1e6, 1e8, 8)}
REASON = "chinchilla has 5 free parameters (E, A, B, alpha, beta) but only 3 runs are selected"


def add(db: Database, at: dict[str, Floats]) -> str:
    """Add a table of runs without noise, and return its id."""
    y = LAW.predict(np.array(TRUTH), at)
    rows = "".join(f"{n},{d},{loss}\n" for n, d, loss in zip(at["N"], at["D"], y, strict=True))
    return tables.add(db, f"N,D,loss\n{rows}".encode(), "few.csv").id


@pytest.mark.parametrize(("runs", "reason"), [(FEW, REASON), (CONSTANT, "N has one value only")])
def test_plan_names_the_cells_to_train_first(
    db: Database, open_page: Open, runs: dict[str, Floats], reason: str
) -> None:
    at = open_page("plan", table=add(db, runs), question="Next cells")
    assert told(at) == ""
    assert at.header[0].value.startswith("First train ")
    assert reason in written(at).replace("\\", "")
    (cells,) = (one.value for one in at.table if "Compute" in one.value.columns)
    assert len(cells) >= (7 if runs is FEW else 2)
    assert runs is FEW or cells["N"].nunique() >= 2
    largest = 6 * max(runs["N"] * runs["D"])
    assert next(one for one in at.text_input if one.label == "Budget").value == as_budget(10 * largest)


def test_fit_links_the_cells_to_train_first(db: Database, open_page: Open) -> None:
    table = add(db, FEW)
    at = open_page("fit", table=table, law="chinchilla")
    next(button for button in at.button if button.label == "Fit law").click().run()
    assert REASON in told(at).replace("\\", "")
    labels = [link.proto.label for link in cast(list[Any], at.get("page_link"))]
    assert "Cells to train first" in labels
