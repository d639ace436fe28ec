"""Saved fits, plans, actual results, answers and views. Each item is JSON, stored under a hash of its content.

If equal items are saved, only one of them is stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from isoplan.engine import fitting, planning
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit
from isoplan.engine.fitting.single import fitted_runs, takes_runs
from isoplan.engine.planning.actual.outcome import Actual, read_actual
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.questions.declaration import find_questions
from isoplan.engine.store.database.database import Database, first
from isoplan.engine.store.saved import saved_items
from isoplan.engine.store.saved.saved_items import as_text, now, short_hash
from isoplan.engine.store.tables import snapshots

Query = dict[str, list[str]]


@dataclass(frozen=True)
class SavedFit:
    """An entry in the list of saved fits; ``note`` is the text that the user wrote about the fit."""

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
    """An entry in the list of saved plans."""

    hash: str
    name: str
    fit_hash: str
    created: datetime
    deleted: bool = False


def save_fit(db: Database, fit: Fit, *, name: str = "", table_id: str = "") -> str:
    """Save a fit under the hash of its specification and data, and return this hash.

    If the fit is saved already, it is unchanged; if it was deleted, it is restored. ``name`` defaults to the names of
    the law and of the data.
    """
    label = name.strip() or f"{fit.law.name} · {fit.data.source or 'published'}"
    row = [fit.hash, label, table_id, fit.data.snapshot, fit.spec.law, now(), False, as_text(fitting.to_json(fit)), ""]
    return saved_items.save(db, "fits", row)


def fits(db: Database, deleted: bool = False) -> list[SavedFit]:
    """Return the saved fits, newest first. With ``deleted``, return the deleted fits instead."""
    query = "SELECT hash, name, table_id, snapshot_hash, law, created, deleted, note FROM fits WHERE deleted = ?"
    return [SavedFit(*row) for row in saved_items.rows(db, query, [deleted])]


def fit(db: Database, hash: str) -> Fit:
    """Return the fit with this hash, even if it is deleted; raises PlannerError if the store does not contain it.

    Older versions saved fits without their runs. The runs of such a fit are read from its snapshot, if possible.
    """
    saved = fitting.read_fit(saved_items.body(db, "fits", hash))
    if saved.runs is not None or not takes_runs(saved.spec, saved.n) or not saved.data.snapshot:
        return saved
    try:
        runs = snapshots.runs(db, snapshots.get(db, saved.data.snapshot))
        if saved.data.group:
            runs = runs.take(runs.labels["group"] == saved.data.group)
        return replace(saved, runs=fitted_runs(saved.spec, runs))
    except PlannerError:  # The snapshot is not in this workspace: return the fit without runs.
        return saved


def rebuild(db: Database, hash: str) -> str:
    """Repeat a saved fit with the same specification and snapshot; return a sentence that compares the two results.

    Raises PlannerError for a fit that was imported without its runs.
    """
    with db.read() as cursor:
        row = first(cursor, "SELECT snapshot_hash FROM fits WHERE hash = ?", [hash])
    saved = fit(db, hash)
    if row is None or not row[0]:
        raise PlannerError(
            "This fit was imported without its runs: import its table and fit it again to compare the results."
        )
    runs = snapshots.runs(db, snapshots.get(db, row[0]))
    of = saved.data
    if of.group:
        again = fitting.fit_groups(saved.spec, runs, snapshot=of.snapshot, where=of.where).fits[of.group]
    else:
        curves = snapshots.curves(db, snapshots.get(db, of.curves), runs) if of.curves else None
        again = fitting.fit(saved.spec, runs, curves=curves, snapshot=of.snapshot, where=of.where)
    same = saved.resamples.shape == again.resamples.shape and np.array_equal(saved.resamples, again.resamples)
    made = f"Fitted again from its specification and {len(runs):,} runs"
    if same and np.array_equal(saved.theta, again.theta):
        return f"{made}: the same parameters and intervals to the last digit."
    off = np.max(np.abs(again.theta - saved.theta) / np.maximum(np.abs(saved.theta), np.finfo(float).tiny))
    return f"{made}: the parameters differ by at most {off:.1g} of their value."


def note_fit(db: Database, hash: str, note: str) -> None:
    """Set the user's note on a fit; an empty ``note`` removes it."""
    saved_items.update(db, "fits", hash, "note", note.strip())


def save_plan(db: Database, plan: Plan, name: str = "") -> str:
    """Save a plan and return its hash, which is computed from the content of the plan.

    ``name`` defaults to the sentence that states the answer. If the plan is saved already, it gets the new ``name``.
    """
    body = as_text(planning.to_json(plan))
    key = short_hash(body)
    row = [key, name.strip() or plan.sentence, plan.fit, now(), False, body]
    return saved_items.save(db, "plans", row, name)


def plans(db: Database, deleted: bool = False) -> list[SavedPlan]:
    """Return the saved plans, newest first. With ``deleted``, return the deleted plans instead."""
    query = "SELECT hash, name, fit_hash, created, deleted FROM plans WHERE deleted = ?"
    return [SavedPlan(*row) for row in saved_items.rows(db, query, [deleted])]


def plan(db: Database, hash: str) -> Plan:
    """Return the plan with this hash, even if it is deleted; raises PlannerError if the store does not contain it."""
    return planning.read_plan(saved_items.body(db, "plans", hash))


def save_view(db: Database, view: Mapping[str, Any]) -> str:
    """Save the state of a page that is too long for a link, and return the hash of the state."""
    body = as_text(view)
    key = short_hash(body)
    row = [key, now(), body]
    db.write(lambda cursor: cursor.execute("INSERT OR IGNORE INTO views VALUES (?, ?, ?)", row).fetchall())
    return key


def view(db: Database, hash: str) -> dict[str, Any]:
    """Return the saved state of a page; raises PlannerError if the store has no state with this hash."""
    return saved_items.body(db, "views", hash)


@dataclass(frozen=True)
class SavedActual:
    """The actual result of a planned run, and the plan to which it belongs."""

    id: str
    plan_hash: str
    created: datetime
    actual: Actual


def save_actual(db: Database, plan_hash: str, actual: Actual) -> str:
    """Save ``actual`` as a result of a saved plan and return its id. If an equal result was deleted, restore it.

    A plan may have several results, such as runs with different seeds. Raises PlannerError if the store does not
    contain the plan.
    """
    plan(db, plan_hash)
    body = as_text(actual.to_json())
    key = short_hash(f"{plan_hash}|{body}")
    return saved_items.save(db, "actuals", [key, plan_hash, now(), False, body])


def actuals(db: Database, deleted: bool = False) -> list[SavedActual]:
    """Return the actual results of all plans that are not deleted, oldest first.

    With ``deleted``, return the deleted results of these plans instead.
    """
    query = (
        "SELECT a.id, a.plan_hash, a.created, a.body FROM actuals a JOIN plans p ON p.hash = a.plan_hash "
        "WHERE a.deleted = ? AND NOT p.deleted ORDER BY a.created, a.id"
    )
    with db.read() as cursor:
        rows = cursor.execute(query, [deleted]).fetchall()
    return [SavedActual(id, of, created, read_actual(json.loads(body))) for id, of, created, body in rows]


def list_kinds() -> tuple[str, ...]:
    """Return the kinds of answers: the names of all questions of the planner, then "recipe" and "amplitude"."""
    return (*find_questions(), "recipe", "amplitude")


@dataclass(frozen=True)
class SavedAnswer:
    """An entry in the list of saved answers.

    ``query`` contains the fields of the query string of the page that computed the answer.
    """

    hash: str
    name: str
    kind: str
    sentence: str
    query: Query
    created: datetime


def save_answer(db: Database, kind: str, body: Mapping[str, Any], sentence: str, query: Query, name: str = "") -> str:
    """Save an answer with the query string that computes it again, and return its hash.

    The hash is computed from the answer and the query string. ``name`` defaults to the sentence. If the answer is saved
    already, it gets the new ``name``; if it was deleted, it is restored.
    """
    text, link = as_text(body), as_text(query)
    key = short_hash(f"{kind}|{link}|{text}")
    row = [key, name.strip() or sentence, kind, sentence, link, now(), False, text]
    return saved_items.save(db, "answers", row, name)


def answers(db: Database, of: Sequence[str] = (), deleted: bool = False) -> list[SavedAnswer]:
    """Return the saved answers of the kinds ``of`` (all kinds if ``of`` is empty), newest first.

    With ``deleted``, return the deleted answers instead.
    """
    query = (
        "SELECT hash, name, kind, sentence, query, created FROM answers WHERE deleted = ? AND list_contains(?, kind)"
    )
    found = saved_items.rows(db, query, [deleted, list(of or list_kinds())])
    return [
        SavedAnswer(hash, name, kind, sentence, json.loads(link), created)
        for hash, name, kind, sentence, link, created in found
    ]


def answer(db: Database, hash: str) -> dict[str, Any]:
    """Return the JSON of the answer with this hash, even if it is deleted.

    Raises PlannerError if the store does not contain it.
    """
    return saved_items.body(db, "answers", hash)
