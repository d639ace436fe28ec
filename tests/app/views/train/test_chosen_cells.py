"""Plan, "Next cells": the lists from which the cells are chosen, and the button that trains the chosen cells."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.planning.listed_cells import fixed_fields
from isoplan.app.views.widgets.cache import runs_behind
from isoplan.data.catalogue import TRAINED, path
from isoplan.engine.cell_files import TITLES
from isoplan.engine.fitting import FitSpec, fit, fit_groups
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.quantities import as_typed
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import read_sweeps
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import cells, parse_grid
from tests.app.views.conftest import Open, told, written

JETS, GRID = "cells of the trainer Jet tagger", "any N and D"
OWN = b"N,D,loss\n2e4,1e5,\n1e5,3e5,0.9\n1e5,3e6,\n3e5,3e6,\n-1,3e6,\n"
"""One row with a loss, three rows without a loss, and one row that is not a possible cell."""
FAR = {"question": "Next cells", "budget": "3e13", "spend": "20 %", "max_cells": "4"}


@pytest.fixture
def law(db: Database) -> Fit:
    """Fit the smallest runs of the trained jets, so that further cells are worth their cost, and save the fit."""
    demo = TRAINED[0]
    table = tables.add(db, Path(str(path(demo.file))), demo.name, read_only=True)
    tables.set_roles(db, table.id, demo.roles)
    snapshot = snapshots.take(db, table.id, filter=snapshots.Filter(where="width <= 16 AND D <= 50000"))
    made = fit(FitSpec(bootstrap=60), snapshots.runs(db, snapshot), snapshot=snapshot.hash)
    results.save_fit(db, made, name="Small jets", table_id=table.id)
    return made


@pytest.fixture
def group(db: Database) -> Fit:
    """Fit two groups of runs with shared exponents, and save and return the fit of the second group.

    The first group contains the trained jets, and the second group the same runs with other inputs and 5 % higher
    losses.
    """
    demo = TRAINED[0]
    runs = pd.read_csv(str(path(demo.file)))
    other = runs.assign(inputs="3x40", run=[f"{name}x" for name in runs["run"]], loss=1.05 * runs["loss"])
    table = tables.add(db, pd.concat([runs, other]).to_csv(index=False).encode(), demo.name, read_only=True)
    tables.set_roles(db, table.id, demo.roles.model_copy(update={"group": "inputs"}))
    snapshot = snapshots.take(db, table.id, filter=snapshots.Filter(where="width <= 16 AND D <= 50000"))
    spec = FitSpec(bootstrap=60, share=("alpha", "beta"))
    made = fit_groups(spec, snapshots.runs(db, snapshot), snapshot=snapshot.hash).fits["3x40"]
    results.save_fit(db, made, name="Small jets, 3x40", table_id=table.id)
    return made


def choice(at: AppTest) -> list[str]:
    (box,) = (box for box in at.selectbox if box.label == "Choose the cells from")
    return list(box.options)


def test_the_cells_of_the_trainer_are_the_default(db: Database, law: Fit, open_page: Open) -> None:
    at = open_page("plan", fit=law.hash, **FAR)
    assert told(at) == ""
    assert choice(at) == [JETS, GRID]
    columns, runs = tables.columns(db, tables.all(db)[0].id), runs_behind(db, law)
    assert runs is not None
    assert fixed_fields(columns, runs, find_family("jets", Path())) == {"schedule": "cosine"}


def test_cells_of_another_table_are_offered_and_keep_their_rows(db: Database, law: Fit, open_page: Open) -> None:
    table_id = tables.add(db, OWN, "candidates.csv").id
    at = open_page("plan", fit=law.hash, candidates=table_id, **FAR)
    assert told(at) == ""
    assert choice(at) == [JETS, GRID, "cells of candidates.csv"]
    (table,) = (one.value for one in at.table if "Row" in one.value.columns)
    assert set(table["Row"]) <= {"0", "1", "2", "3"}
    assert "Rows of the table that are not used as candidates: 1 with N at or below zero." in written(at)
    assert not [button for button in at.button if button.label.startswith("Train ")]


def test_the_chosen_cells_are_downloaded_as_files_of_other_tools(law: Fit, open_page: Open) -> None:
    titles = [*TITLES.values(), "Isoplan grid"]
    for source, shown in (("trained", titles), ("grid", titles[:-1])):
        at = open_page("plan", fit=law.hash, candidates=source, **FAR)
        assert [one.proto.label for one in at.get("download_button") if "-cells_" in one.proto.id] == shown


def test_a_spend_in_hours_and_listed_costs(db: Database, law: Fit, open_page: Open) -> None:
    at = open_page("plan", fit=law.hash, **FAR | {"spend": "2 h"})
    assert told(at) == ""
    assert " of training (" in at.header[0].value
    table_id = tables.add(db, b"N,D,cost\n1e5,3e6,0.5\n3e5,3e6,3\n", "costs.csv").id
    at = open_page("plan", fit=law.hash, candidates=table_id, **FAR | {"spend": "2 h"})
    assert told(at) == ""
    (table,) = (one.value for one in at.table if "Row" in one.value.columns)
    assert list(table["Cost"]) == ["30 min"]
    assert "The cost of a cell is the column cost of its table, in hours." in written(at)


def test_one_click_trains_the_chosen_cells(root: Path, law: Fit, open_page: Open) -> None:
    at = open_page("plan", fit=law.hash, **FAR)
    assert told(at) == ""
    (table,) = (one.value for one in at.table if "Settings" in one.value.columns)
    (button,) = (button for button in at.button if button.label.startswith("Train "))
    button.click().run()
    (sweep,) = read_sweeps(root)
    family = find_family("jets", root)
    made = cells(parse_grid(sweep.grid, root), family)
    assert button.label == f"Train {len(made)} cells"
    assert 1 <= len(made) <= 4
    sizes = [family.sizes(cell) for cell in made]
    assert min(size.N or 0 for size in sizes) >= law.data.ranges["N"][0]
    assert min(size.D or 0 for size in sizes) >= law.data.ranges["D"][0]
    settings = [cell.model_dump() for cell in made]
    assert list(table["Settings"]) == [f"width {one['width']}, jets {as_typed(one['jets'])}" for one in settings]
    assert {one["schedule"] for one in settings} == {"cosine"}
    assert set(Queue(root).scan()) == set(sweep.cells)
    flops = [size.C for size in sizes]
    assert flops == sorted(flops, key=lambda x: x or 0.0)
    assert sum(x or 0.0 for x in flops) <= 0.2 * 3e13


def test_the_cells_for_a_group_have_the_fields_of_the_group(root: Path, group: Fit, open_page: Open) -> None:
    at = open_page("plan", fit=group.hash, **FAR)
    assert told(at) == ""
    assert "Train the cells in the group 3x40." in written(at)
    (button,) = (button for button in at.button if button.label.startswith("Train "))
    button.click().run()
    (sweep,) = read_sweeps(root)
    made = [cell.model_dump() for cell in cells(parse_grid(sweep.grid, root), find_family("jets", root))]
    assert {(one["inputs"], one["schedule"]) for one in made} == {("3x40", "cosine")}


def test_plan_opens_next_cells_for_its_answer(law: Fit, open_page: Open) -> None:
    at = open_page("plan", fit=law.hash, budget="1e12")
    (button,) = (button for button in at.button if button.label == "Cells that narrow this answer")
    button.click().run()
    assert told(at) == ""
    assert "10¹² FLOPs" in at.header[0].value
    assert choice(at)[0] == JETS


def test_more_options_leave_out_cells_far_from_the_optimum(law: Fit, open_page: Open) -> None:
    at = open_page("plan", fit=law.hash, candidates="grid", near_optimum="2", parallel="2", **FAR)
    assert told(at) == ""
    assert "candidates are left out: their N is too far from" in written(at).replace("\\", "")
    (box,) = (box for box in at.expander if box.label == "More options")
    assert [field.value for field in box.text_input] == ["2", "2"]
