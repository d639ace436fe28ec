"""Fits, plans, actual results and views, stored as JSON under the hash of their inputs, equal ones only once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from isoplan.engine import fitting, planning
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit
from isoplan.engine.fitting.single import fitted_runs, takes_runs
from isoplan.engine.planning import Plan
from isoplan.engine.planning.actual.outcome import Actual, read_actual
from isoplan.engine.store.database.database import Cursor, Database, first
from isoplan.engine.store.saved import saved_items
from isoplan.engine.store.saved.saved_items import as_text, now, short_hash
from isoplan.engine.store.tables import snapshots


@dataclass(frozen=True)
class SavedFit:
    """An entry in the list of fits; ``note`` is the user's note."""

    hash: str
    name: str
    table_id: str
    snapshot_hash: str
    law: str
    created: datetime
    deleted: bool = False
    note: str = ""


@dataclass(frozen=True)
class SavedPlan:
    """An entry in the list of plans."""

    hash: str
    name: str
    fit_hash: str
    created: datetime
    deleted: bool = False


def save_fit(db: Database, fit: Fit, *, name: str = "", table_id: str = "") -> str:
    """Save a fit under the hash of its specification and data, and return the hash.

    An existing fit is unchanged; a deleted one is restored. ``name`` defaults to law and data.
    """
    label = name.strip() or f"{fit.law.name} · {fit.data.source or 'published'}"
    row = [fit.hash, label, table_id, fit.data.snapshot, fit.spec.law, now(), False, as_text(fitting.to_json(fit)), ""]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO fits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        saved_items.take_back(cursor, "fits", fit.hash, "")

    db.write(change)
    return fit.hash


def fits(db: Database, deleted: bool = False) -> list[SavedFit]:
    """Return the saved fits, newest first; with ``deleted`` the deleted ones."""
    query = "SELECT hash, name, table_id, snapshot_hash, law, created, deleted, note FROM fits WHERE deleted = ?"
    return [SavedFit(*row) for row in saved_items.rows(db, query, [deleted])]


def fit(db: Database, hash: str) -> Fit:
    """Return a saved fit, deleted or not; raises PlannerError if the store has none with that hash.

    If an older version saved the fit without its runs, they are read from its snapshot.
    """
    saved = fitting.read_fit(saved_items.body(db, "fits", "Fit", hash))
    if saved.runs is not None or not takes_runs(saved.spec, saved.n) or not saved.data.snapshot or saved.data.group:
        return saved
    try:
        return replace(saved, runs=fitted_runs(saved.spec, snapshots.runs(db, snapshots.get(db, saved.data.snapshot))))
    except PlannerError:  # The snapshot is not in this workspace.
        return saved


def rebuild(db: Database, hash: str) -> str:
    """Repeat a saved fit from its specification and its snapshot, and return a sentence that compares the two.

    Raises PlannerError for a fit that was imported without its runs.
    """
    with db.read() as cursor:
        row = first(cursor, "SELECT snapshot_hash FROM fits WHERE hash = ?", [hash])
    saved = fit(db, hash)
    if row is None or not row[0]:
        raise PlannerError("This fit came without its runs: import its table and fit it there to compare the two.")
    runs = snapshots.runs(db, snapshots.get(db, row[0]))
    of = saved.data
    if of.group:
        again = fitting.fit_groups(saved.spec, runs, snapshot=of.snapshot, where=of.where).fits[of.group]
    else:
        curves = snapshots.curves(db, snapshots.get(db, of.curves), runs) if of.curves else None
        again = fitting.fit(saved.spec, runs, curves=curves, snapshot=of.snapshot, where=of.where)
    same = saved.resamples.shape == again.resamples.shape and np.array_equal(saved.resamples, again.resamples)
    made = f"Made again from its specification and {len(runs):,} runs"
    if same and np.array_equal(saved.theta, again.theta):
        return f"{made}: the same parameters and intervals to the last digit."
    off = np.max(np.abs(again.theta - saved.theta) / np.maximum(np.abs(saved.theta), np.finfo(float).tiny))
    return f"{made}: the parameters differ by at most {off:.1g} of their value."


def rename_fit(db: Database, hash: str, name: str) -> None:
    """Rename a fit."""
    saved_items.rename(db, "fits", "Fit", hash, name)


def note_fit(db: Database, hash: str, note: str) -> None:
    """Set the user's note on a fit; an empty ``note`` removes it."""
    saved_items.update(db, "fits", "Fit", hash, "note = ?", note.strip())


def delete_fit(db: Database, hash: str) -> None:
    """Mark a fit as deleted; it can be restored."""
    saved_items.set_deleted(db, "fits", "Fit", hash, True)


def restore_fit(db: Database, hash: str) -> None:
    """Restore a deleted fit."""
    saved_items.set_deleted(db, "fits", "Fit", hash, False)


def save_plan(db: Database, plan: Plan, name: str = "") -> str:
    """Save a plan and return its hash, computed from its content. ``name`` defaults to its answer.

    An existing plan gets the new ``name``.
    """
    body = as_text(planning.to_json(plan))
    key = short_hash(body)
    row = [key, name.strip() or plan.sentence, plan.fit, now(), False, body]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO plans VALUES (?, ?, ?, ?, ?, ?)", row)
        saved_items.take_back(cursor, "plans", key, name)

    db.write(change)
    return key


def plans(db: Database, deleted: bool = False) -> list[SavedPlan]:
    """Return the saved plans, newest first; with ``deleted`` the deleted ones."""
    query = "SELECT hash, name, fit_hash, created, deleted FROM plans WHERE deleted = ?"
    return [SavedPlan(*row) for row in saved_items.rows(db, query, [deleted])]


def plan(db: Database, hash: str) -> Plan:
    """Return a saved plan, deleted or not; raises PlannerError if the store has none with that hash."""
    return planning.read_plan(saved_items.body(db, "plans", "Plan", hash))


def rename_plan(db: Database, hash: str, name: str) -> None:
    """Rename a plan."""
    saved_items.rename(db, "plans", "Plan", hash, name)


def delete_plan(db: Database, hash: str) -> None:
    """Mark a plan as deleted; it can be restored."""
    saved_items.set_deleted(db, "plans", "Plan", hash, True)


def restore_plan(db: Database, hash: str) -> None:
    """Restore a deleted plan."""
    saved_items.set_deleted(db, "plans", "Plan", hash, False)


def save_view(db: Database, view: Mapping[str, Any]) -> str:
    """Save the state of a page that is too long for a link and return its hash."""
    body = as_text(view)
    key = short_hash(body)
    row = [key, now(), body]
    db.write(lambda cursor: cursor.execute("INSERT OR IGNORE INTO views VALUES (?, ?, ?)", row).fetchall())
    return key


def view(db: Database, hash: str) -> dict[str, Any]:
    """Return a saved view; raises PlannerError if the store has none with that hash."""
    return saved_items.body(db, "views", "View", hash)


@dataclass(frozen=True)
class SavedActual:
    """An actual result and the plan that it belongs to."""

    id: str
    plan_hash: str
    created: datetime
    actual: Actual


def save_actual(db: Database, plan_hash: str, actual: Actual) -> str:
    """Save ``actual`` with a saved plan and return its id; a deleted one is restored.

    A plan may have several results: runs with other seeds. Raises PlannerError if the store does not have the plan.
    """
    plan(db, plan_hash)
    body = as_text(actual.to_json())
    key = short_hash(f"{plan_hash}|{body}")
    row = [key, plan_hash, now(), False, body]

    def change(cursor: Cursor) -> None:
        cursor.execute("INSERT OR IGNORE INTO actuals VALUES (?, ?, ?, ?, ?)", row)
        cursor.execute("UPDATE actuals SET deleted = false WHERE id = ? AND deleted", [key])

    db.write(change)
    return key


def actuals(db: Database, deleted: bool = False) -> list[SavedActual]:
    """Return the results of every plan that is not deleted, oldest first; with ``deleted`` the deleted results."""
    query = (
        "SELECT a.id, a.plan_hash, a.created, a.body FROM actuals a JOIN plans p ON p.hash = a.plan_hash "
        "WHERE a.deleted = ? AND NOT p.deleted ORDER BY a.created, a.id"
    )
    with db.read() as cursor:
        rows = cursor.execute(query, [deleted]).fetchall()
    return [SavedActual(id, of, created, read_actual(json.loads(body))) for id, of, created, body in rows]


def delete_actual(db: Database, id: str) -> None:
    """Mark a result as deleted; it can be restored."""
    _set_deleted(db, id, True)


def restore_actual(db: Database, id: str) -> None:
    """Restore a deleted result."""
    _set_deleted(db, id, False)


def _set_deleted(db: Database, id: str, deleted: bool) -> None:
    query = "UPDATE actuals SET deleted = ? WHERE id = ? RETURNING id"
    if not db.write(lambda cursor: cursor.execute(query, [deleted, id]).fetchall()):
        raise PlannerError(f"The result {id} is not in this workspace: record it again beside its plan.")
