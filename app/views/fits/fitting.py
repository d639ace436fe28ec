"""Functions that fit a law on request of a page and save the fit.

A fit is saved under the hash of its specification and its data.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from isoplan.app.views.planning import map_forms
from isoplan.app.views.widgets.cache import runs_of
from isoplan.data.stories import DEMO
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import fit, fit_groups
from isoplan.engine.fitting.types.result import Fit, data_key
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.planning.plan.map_form import choose_form
from isoplan.engine.schema import Curves, Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.snapshots import Snapshot
from isoplan.engine.store.tables.tables import TableInfo

REQUESTED = "fit_requested"
"""Session key of the id of a table. The page Fit fits a law to this table once, without a click on "Fit law"."""


def make_fit(
    db: Database,
    table: TableInfo,
    where: str,
    spec: FitSpec,
    progress: Callable[[float], None] | None = None,
    curves: Curves | None = None,
) -> str:
    """Fit ``spec`` to the runs of ``table``, or to their training curves, and return the hash of the saved fit.

    A fit that is already saved is not repeated. If the runs are fitted in groups (a law per group, or parameters that
    all groups share), one fit per group is saved, and the hash for the first group is returned.
    """
    snapshot, runs = runs_of(db, table, where)
    return next(iter(_saved(db, table, where, spec, (snapshot, runs), progress, curves).values()))


def refit(db: Database, old: Fit, progress: Callable[[float], None] | None = None, spec: FitSpec | None = None) -> str:
    """Repeat the fit ``old`` on the current rows of its tables, with the same column roles and the same filter.

    If ``spec`` is given, it replaces the specification of ``old``. Returns the hash of the saved fit. If one fit per
    group is saved, the result is the hash for the group of ``old``.
    """
    snapshot = _taken_again(db, old.data.snapshot)
    runs = snapshots.runs(db, snapshot)
    curves = snapshots.curves(db, _taken_again(db, old.data.curves), runs) if old.data.curves else None
    table = tables.get(db, snapshot.table_id)
    saved = _saved(db, table, old.data.where, spec or old.spec, (snapshot.hash, runs), progress, curves)
    return saved.get(old.data.group, next(iter(saved.values())))


def fit_map(db: Database, law: Fit, metric: str, progress: Callable[[float], None] | None = None) -> str:
    """Fit a map from the quantity of ``law`` to ``metric``, and return the hash of the saved fit.

    The map is fitted to the runs of ``law``. The map is an exponential or a power law. The form with the smaller error
    on left-out runs is used. The resamples of the map consist of the same runs as the resamples of ``law``. Raises
    PlannerError if the runs do not determine the map.
    """
    table = tables.get(db, snapshots.get(db, law.data.snapshot).table_id)
    made_from = runs_of(db, table, law.data.where)
    runs = made_from[1]
    wanted = FitSpec(law="metric-map", y=metric, axis=law.spec.y)
    same = runs.take(runs.labels["group"] == law.data.group) if law.data.group else runs
    forms = map_forms.compared(wanted, same, made_from[0], law.data.where, law.data.group)
    own = wanted.model_copy(update={"bootstrap": law.spec.bootstrap, "seed": law.spec.seed})
    spec = choose_form(own, runs, forms)
    saved = _saved(db, table, law.data.where, spec, made_from, progress, None)
    return saved.get(law.data.group, next(iter(saved.values())))


def _taken_again(db: Database, snapshot: str) -> Snapshot:
    before = snapshots.get(db, snapshot)
    return snapshots.take(db, before.table_id, before.roles, before.filter)


def _saved(
    db: Database,
    table: TableInfo,
    where: str,
    spec: FitSpec,
    made_from: tuple[str, Runs],
    progress: Callable[[float], None] | None,
    curves: Curves | None,
) -> dict[str, str]:
    """Fit ``spec`` and save the result, unless it is already saved; return the hashes of the saved fits by group.

    Without groups, the result contains one hash under the name "". ``made_from`` contains the hash of a snapshot of the
    table and the runs of this snapshot.
    """
    snapshot, runs = made_from
    key = spec.hash(data_key(snapshot, curves.snapshot if curves is not None else ""))
    if key in {saved.hash for saved in results.fits(db)}:
        return {"": key}
    name = f"{spec.find_law().title}, {table.name}" + ("" if spec.y == "loss" else f", {spec.y}")
    if curves is not None or not (spec.share or runs.roles.each):
        made = fit(spec, runs, curves=curves, snapshot=snapshot, where=where, progress=progress)
        return {"": results.save_fit(db, made, name=name, table_id=table.id)}
    groups = fit_groups(spec, runs, snapshot=snapshot, where=where, progress=progress).fits
    return {g: results.save_fit(db, one, name=f"{name}, {g}", table_id=table.id) for g, one in groups.items()}


def open_demo(db: Database) -> None:
    """Open the page Plan with the fit, target and prices of the demo on Home. Fits that are missing are made."""
    table = next((t for t in tables.all(db) if t.name == DEMO.demo.name and t.read_only), None)
    if table is None:
        raise PlannerError("The demo table is not in this workspace: start Isoplan again to load it.")
    with st.spinner("Fitting the demo"):
        law = make_fit(db, table, DEMO.where, DEMO.spec)
        map = {} if DEMO.map_spec is None else {"map": make_fit(db, table, DEMO.where, DEMO.map_spec)}
    asked = {"ask": "Target", "target": f"{DEMO.target:g}"}
    st.switch_page("views/plan.py", query_params={"table": table.id, "fit": law, **map, **asked, **DEMO.prices})
