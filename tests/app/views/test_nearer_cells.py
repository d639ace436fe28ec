"""The page Plan links to the page Train if the runs do not support a plan. Tests of this link."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.planning.nearer_cells import nearer_cells
from isoplan.data.catalogue import DEMOS, TRAINED, Demo
from isoplan.engine.fitting import fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.trainers.families import find_family, read_cell
from tests.app.views.conftest import Open, told

LABEL = "Train cells nearer to this plan"
SPANS = {"N": (1e3, 2e5), "D": (1e4, 5e4)}


def fitted(db: Database, demo: Demo) -> str:
    """Fit a bundled table without resamples, save the fit and return its hash."""
    table = tables.by_name(db, demo.name)
    snapshot = snapshots.take(db, table.id, demo.roles)
    made = fit(demo.spec.model_copy(update={"bootstrap": 0}), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
    return results.save_fit(db, made, name=demo.name, table_id=table.id)


def link(at: AppTest) -> dict[str, list[str]] | None:
    found = [one.proto for one in at.get("page_link") if one.proto.label == LABEL]
    return parse_qs(found[0].query_string) if found else None


def test_cells_grow_from_the_runs_toward_the_plan(demo: Database) -> None:
    key = fitted(demo, TRAINED[0])
    query = nearer_cells(demo, key, SPANS, {"N": 1.5e5, "D": 1.1e7})
    assert query == {"family": "jets", "cell_width": "55", "cell_jets": "300000, 1800000, 11000000"}
    family = find_family("jets", Path())
    assert family.sizes(read_cell(family, {"width": 55})).N == pytest.approx(1.5e5, rel=0.05)
    larger = nearer_cells(demo, key, {**SPANS, "N": (1e3, 2e4)}, {"N": 1.5e5, "D": 1e12})
    # The form accepts at most 10^8 training jets.
    assert larger == {"family": "jets", "cell_width": "28, 39, 55", "cell_jets": "14000000, 100000000"}


def test_no_cells_are_offered_if_no_value_of_a_field_is_nearer(demo: Database) -> None:
    assert nearer_cells(demo, fitted(demo, TRAINED[0]), {**SPANS, "D": (1e4, 1e8)}, {"N": 1e5, "D": 1e12}) == {}


def test_no_family_trains_runs_like_simulated_ones(demo: Database) -> None:
    assert nearer_cells(demo, fitted(demo, DEMOS[0]), SPANS, {"N": 1.5e5, "D": 1.1e7}) == {}


def test_the_link_of_a_plan_opens_train_with_these_cells(demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=fitted(demo, TRAINED[0]), budget="1e17")
    query = link(at)
    assert "Train cells near 33 k parameters on 12 M samples" in at.header[0].value.replace("\N{NO-BREAK SPACE}", " ")
    assert query == {"family": ["jets"], "cell_width": ["25"], "cell_jets": ["1000000, 3500000, 12000000"]}


def test_without_a_family_the_plan_only_names_n_and_d(demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=fitted(demo, DEMOS[0]), budget="1e22")
    assert "Train cells near " in at.header[0].value, told(at)
    assert link(at) is None
