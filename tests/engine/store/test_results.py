"""Saved fits, plans and views: equal items are saved once and read back, and a fit can be repeated."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit, fit_groups
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo
from tests.engine.store.conftest import GRID
from tests.stored import add_rows


def fitted(db: Database, seed: int = 0, bootstrap: int = 20) -> tuple[TableInfo, Fit]:
    table = tables.add(db, GRID.encode(), "runs.csv")
    snapshot = snapshots.take(db, table.id)
    spec = FitSpec(objective="ols-log", bootstrap=bootstrap, seed=seed)
    return table, fit(spec, snapshots.runs(db, snapshot), snapshot=snapshot.hash)


def test_a_fit_comes_back_as_it_was(db: Database) -> None:
    table, made = fitted(db)
    key = results.save_fit(db, made, table_id=table.id)
    assert key == made.hash == made.spec.hash(made.data.snapshot)
    again = results.fit(db, key)
    assert again.spec == made.spec
    assert again.parameters == tuple(replace(p, se=p.error) for p in made.parameters)
    np.testing.assert_array_equal(again.theta, made.theta)
    np.testing.assert_array_equal(again.resamples, made.resamples)
    assert results.save_fit(db, made, name="another name") == key
    (saved,) = results.fits(db)
    assert (saved.hash, saved.table_id, saved.law, saved.snapshot_hash) == (
        key, table.id, "chinchilla", made.data.snapshot,
    )  # fmt: skip
    assert saved.name == "chinchilla · runs.csv"


def test_a_fit_is_made_again_after_rows_were_appended(db: Database) -> None:
    table, made = fitted(db)
    key = results.save_fit(db, made, table_id=table.id)
    add_rows(db, table.id, tables.frame(db, table.id, limit=10).drop(columns="row id"))
    tables.withdraw(db, table.id, [0], "diverged")
    assert tables.get(db, table.id).rows == 26
    assert results.rebuild(db, key) == (
        "Fitted again from its specification and 16 runs: the same parameters and intervals to the last digit."
    )


def test_a_fit_without_its_runs_says_so(db: Database) -> None:
    runs = snapshots.runs(db, snapshots.take(db, tables.add(db, GRID.encode(), "runs.csv").id))
    key = results.save_fit(db, fit(FitSpec(objective="ols-log", bootstrap=0), runs))
    with pytest.raises(PlannerError, match="was imported without its runs"):
        results.rebuild(db, key)


@pytest.mark.parametrize("share", [("alpha", "beta"), ()])
def test_the_fit_of_a_group_comes_back_with_the_runs_of_its_group(db: Database, share: tuple[str, ...]) -> None:
    rows = [f"{kind}-{line},{kind}" for kind in ("even", "odd") for line in GRID.splitlines()[1:]]
    table = tables.add(db, "\n".join(["run,N,D,loss,kind", *rows[:16], *rows[20:]]).encode(), "runs.csv")
    roles = tables.roles(db, table.id).model_copy(update={"group": "kind", "each": not share})
    snapshot = snapshots.take(db, table.id, roles)
    runs = snapshots.runs(db, snapshot)
    made = fit_groups(FitSpec(objective="ols-log", bootstrap=0, share=share), runs, snapshot=snapshot.hash).fits["odd"]
    older = replace(made, runs=None, spec=made.spec.model_copy(update={"seed": 1}))  # older versions saved no runs
    for saved in (made, older):
        again = results.fit(db, results.save_fit(db, saved))
        assert again.runs is not None
        np.testing.assert_array_equal(again.runs.y, runs["loss"][16:])


def test_fits_are_renamed_deleted_and_restored(db: Database) -> None:
    _, made = fitted(db)
    key = results.save_fit(db, made)
    saved_items.rename(db, "fits", key, "mine")
    saved_items.delete(db, "fits", key)
    assert results.fits(db) == []
    assert [f.name for f in results.fits(db, deleted=True)] == ["mine"]
    assert results.fit(db, key).n == 16
    saved_items.restore(db, "fits", key)
    assert [f.name for f in results.fits(db)] == ["mine"]
    saved_items.delete(db, "fits", key)
    results.save_fit(db, made)
    assert [f.name for f in results.fits(db)] == ["mine"]
    with pytest.raises(PlannerError, match="needs a name"):
        saved_items.rename(db, "fits", key, " ")


def test_plans_and_views_come_back(db: Database) -> None:
    _, made = fitted(db)
    answer = plan_budget(made, 1e19)
    key = results.save_plan(db, answer, "for the talk")
    assert results.save_plan(db, answer) == key
    (saved,) = results.plans(db)
    assert (saved.name, saved.fit_hash) == ("for the talk", made.hash)
    assert results.plan(db, key).sentence == answer.sentence
    saved_items.rename(db, "plans", key, "x")
    saved_items.delete(db, "plans", key)
    assert results.plans(db) == []
    saved_items.restore(db, "plans", key)
    assert [p.name for p in results.plans(db)] == ["x"]
    view = {"page": "fit", "where": "N > 1", "list": [1, 2.5, None]}
    assert results.view(db, results.save_view(db, view)) == view
    assert results.save_view(db, dict(reversed(view.items()))) == results.save_view(db, view)


def test_what_is_not_there_is_said(db: Database) -> None:
    for ask, what in (
        (results.fit, "Fit"),
        (results.plan, "Plan"),
        (results.view, "View"),
        (lambda db, hash: saved_items.delete(db, "fits", hash), "Fit"),
    ):
        with pytest.raises(PlannerError, match=f"{what} nowhere is not in this workspace"):
            ask(db, "nowhere")


def test_ten_fits_saved_at_once_are_all_there(tmp_path: Path) -> None:
    start = threading.Barrier(10)
    with open_workspace(tmp_path) as db:
        made = [fitted(db, seed, bootstrap=2)[1] for seed in range(10)]

        def save(one: Fit) -> str:
            start.wait()
            return results.save_fit(db, one)

        with ThreadPoolExecutor(10) as pool:
            keys = set(pool.map(save, made))
    with open_workspace(tmp_path) as db:
        assert {f.hash for f in results.fits(db)} == keys
        assert len(keys) == 10
