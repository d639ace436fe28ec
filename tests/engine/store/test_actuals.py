"""Actual results compared with saved plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.actual.outcome import Actual
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.store.database import migration
from isoplan.engine.store.database.database import Database, open_workspace
from isoplan.engine.store.saved import results, saved_items
from tests.engine.planning.conftest import EPOCH, RANGES, make_fit, scattered


def planned(db: Database, budget: float = 1e21) -> str:
    return results.save_plan(db, plan_budget(make_fit(EPOCH, scattered(EPOCH, 50), ranges=RANGES), budget))


def test_results_are_kept_beside_their_plans(db: Database) -> None:
    small, large = planned(db), planned(db, 1e22)
    first, second = Actual(2.3, N=1e9, D=2e10, note="seed 1"), Actual(2.2, when="2026-11-22")
    key = results.save_actual(db, small, first)
    assert results.save_actual(db, small, first) == key
    results.save_actual(db, large, second)
    assert [(one.plan_hash, one.actual) for one in results.actuals(db)] == [(small, first), (large, second)]


def test_a_result_is_put_away_and_comes_back(db: Database) -> None:
    plan = planned(db)
    key = results.save_actual(db, plan, Actual(2.3))
    saved_items.delete(db, "actuals", key)
    assert results.actuals(db) == []
    assert [one.id for one in results.actuals(db, deleted=True)] == [key]
    saved_items.restore(db, "actuals", key)
    assert [one.id for one in results.actuals(db)] == [key]
    saved_items.delete(db, "actuals", key)
    assert results.save_actual(db, plan, Actual(2.3)) == key
    assert [one.id for one in results.actuals(db)] == [key]
    with pytest.raises(PlannerError, match="The result nothing is not in this workspace"):
        saved_items.delete(db, "actuals", "nothing")


def test_results_go_and_come_with_their_plan(db: Database) -> None:
    plan = planned(db)
    results.save_actual(db, plan, Actual(2.3))
    saved_items.delete(db, "plans", plan)
    assert results.actuals(db) == []
    saved_items.restore(db, "plans", plan)
    assert len(results.actuals(db)) == 1
    with pytest.raises(PlannerError, match="Plan unknown is not in this workspace"):
        results.save_actual(db, "unknown", Actual(2.3))


def test_a_workspace_of_the_layout_before_gets_results(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as db:
        plan = planned(db)

        def age(cursor: object) -> None:
            for later in ("actuals", "answers", "cells", "logged", "imports"):
                cursor.execute(f"DROP TABLE {later}")  # type: ignore[attr-defined]
            cursor.execute("UPDATE meta SET value = '3' WHERE key = 'schema'")  # type: ignore[attr-defined]

        db.write(age)
    with open_workspace(tmp_path) as db:
        results.save_actual(db, plan, Actual(2.3))
        assert [one.actual.value for one in results.actuals(db)] == [2.3]
        with db.read() as cursor:
            assert migration.schema_of(cursor) == migration.SCHEMA
