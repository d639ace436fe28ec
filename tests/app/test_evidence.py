"""The terminal, the page and ``isoplan.data.trained`` read the same numbers from the table of a recommender sweep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from isoplan.app.commands.recipe import read_evidence
from isoplan.app.views.recommending import own_table
from isoplan.data import trained
from isoplan.engine.planning.recommender import Evidence
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.own_runs import Asked
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.tables import tables

METRICS = tuple(trained.COLUMNS)


def numbers(evidence: Evidence) -> list[tuple[object, ...]]:
    """Return the numbers that a recipe takes from the evidence, and the names of laws and places of optima."""
    optima = [
        (one.metric, one.budget, one.place, one.x.value, one.x.ci68, one.fit and one.fit.law.name)
        for one in (*evidence.share, *evidence.negatives)
    ]
    fits = [
        (name, fit.law.name, *np.round(fit.theta, 12), fit.compute.text, len(fit.resamples))
        for name, fit in (*evidence.batch.items(), *evidence.allocation.items())
    ]
    return [*optima, *fits]


@pytest.mark.parametrize("folder", list(trained.LOGS.values()), ids=list(trained.LOGS))
@pytest.mark.parametrize("setting", list(trained.SWEEPS))
@pytest.mark.parametrize("metric", METRICS)
def test_terminal_page_and_documents_agree_on_every_bundled_sweep(folder: Path, setting: Setting, metric: str) -> None:
    file, curves = (folder / f"behavior_{name}.csv" for name in (trained.SWEEPS[setting], "curves"))
    documents = trained.evidence(folder, metric)
    parts = {"s": {"share": documents.share}, "K": {"negatives": documents.negatives},
             "B": {"batch": documents.batch}, "N": {"allocation": documents.allocation}}  # fmt: skip
    expected = numbers(Evidence(**parts[setting]))  # type: ignore[arg-type]

    of_batch = curves if setting == "B" else None
    terminal = read_evidence(file, {}, Asked(metric), nothing="No sweep.", curves=of_batch)
    assert numbers(terminal) == expected
    if setting in ("s", "K"):
        own = read_evidence(file, {str(setting): trained.SWEPT[setting]}, Asked(metric), only=setting)
        assert numbers(own) == expected

    st.cache_resource.clear()
    with memory() as db:
        table = tables.add(db, file, file.name)
        if setting == "B":
            tables.add(db, curves, curves.name, curves_of=table.id)
        assert numbers(own_table.built_of(db, table.id, {}, (metric,)).evidence) == expected
        assert numbers(own_table.built_of(db, table.id, {}, (metric,), setting).evidence) == expected
    assert bool(expected) == (setting not in documents.missing)
