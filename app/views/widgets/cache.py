"""Cached results of pages, by the hash of their inputs. A cached value is shared, so no page changes it in place."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from isoplan.app.figures.fits import residuals as residual_picture
from isoplan.app.figures.fits import runs as overview
from isoplan.app.figures.style.theme import Drawing
from isoplan.app.views.widgets.parts import progress_bar, sentences
from isoplan.data.catalogue import CARDS, path
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.diagnostics.residuals import Residuals, residuals
from isoplan.engine.fitting.estimators.envelope import Envelope, lower_envelope
from isoplan.engine.fitting.estimators.isoflop import Parabola, parabolas
from isoplan.engine.fitting.samples.curve_tables import shaped
from isoplan.engine.fitting.types.optimum_location import OptimumLocation
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.validation.isoflop_minima import ParabolaBias, minima, parabola_bias
from isoplan.engine.planning.drawing import curves as arrays
from isoplan.engine.planning.drawing.sections import Slice, one_axis_curve, slices
from isoplan.engine.schema import Curves, Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo

CURVES: dict[str, Callable[[Fit], Any]] = {
    "surface": arrays.surface,
    "isoflop": arrays.isoflop_curves,
    "frontier": arrays.frontier_curve,
    "axis": one_axis_curve,
}


HASHED: dict[str | type, Callable[[Any], Any]] = {Database: lambda db: str(db.folder), Fit: lambda fit: fit.hash}
"""Functions that return the cache key of an argument, by the type of the argument."""


def runs_of(db: Database, table: TableInfo, where: str) -> tuple[str, Runs]:
    """Return the hash of the snapshot and the runs of ``table`` with the filter ``where``.

    The runs are read with the current mapping of the table. Withdrawn rows are left out.
    """
    version = (table.id, table.rows, where, tables.roles(db, table.id).model_dump_json())
    return _runs_of(version, _withdrawn(db, table.id), db)


@st.cache_resource(max_entries=32, show_spinner="Reading the runs", hash_funcs=HASHED)
def _runs_of(version: tuple[object, ...], gone: int, db: Database) -> tuple[str, Runs]:
    snapshot = snapshots.take(db, str(version[0]), filter=snapshots.Filter(where=str(version[2])))
    return snapshot.hash, snapshots.runs(db, snapshot)


def _withdrawn(db: Database, table_id: str) -> int:
    """Return a hash of the withdrawn rows of a table."""
    return hash(tuple(row for row, _, _ in tables.withdrawn(db, table_id)))


def newer_rows(db: Database, snapshot: str) -> int:
    """Return the number of rows that the table has gained since the snapshot with the hash ``snapshot``."""
    table = tables.get(db, snapshots.get(db, snapshot).table_id)
    return _newer_rows(snapshot, table.rows, _withdrawn(db, table.id), db)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASHED)
def _newer_rows(snapshot: str, rows: int, gone: int, db: Database) -> int:
    return snapshots.newer(db, snapshots.get(db, snapshot))


def curves_of(db: Database, table: TableInfo, snapshot: str, runs: Runs) -> Curves:
    """Return the training curves of the curve table ``table`` for the ``runs`` of a snapshot."""
    version = (table.id, table.rows, tables.roles(db, table.id).model_dump_json(), snapshot)
    return _curves_of(version, runs, db)


@st.cache_resource(max_entries=8, show_spinner="Reading the curves", hash_funcs=HASHED)
def _curves_of(version: tuple[object, ...], _runs: Runs, db: Database) -> Curves:
    return snapshots.curves(db, snapshots.take(db, str(version[0])), _runs)


def curves_behind(db: Database, fit: Fit) -> Curves | None:
    """Return the training curves that ``fit`` used; None if there are none, or if they are not in this workspace."""
    if not fit.data.curves:
        return None
    try:
        return _curves_behind(fit.data.curves, fit.data.snapshot, db)
    except PlannerError:
        return None


@st.cache_resource(max_entries=8, show_spinner="Reading the curves", hash_funcs=HASHED)
def _curves_behind(curves: str, snapshot: str, db: Database) -> Curves:
    return snapshots.curves(db, snapshots.get(db, curves), snapshot_runs(db, snapshot))


@st.cache_resource(max_entries=16, show_spinner="Reading the curves", hash_funcs=HASHED)
def _read_off(db: Database, fit: Fit, _runs: Runs, _curves: Curves | None) -> Runs:
    return shaped(fit.spec, _runs, _curves)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=HASHED)
def envelope_of(fit: Fit, _runs: Runs) -> Envelope:
    """Return the lower envelope of the points to which ``fit`` was fitted."""
    return lower_envelope(fit.spec, _runs)


@st.cache_resource(max_entries=32, show_spinner="Reading the runs", hash_funcs=HASHED)
def snapshot_runs(db: Database, snapshot: str) -> Runs:
    """Return the runs of an existing snapshot."""
    return snapshots.runs(db, snapshots.get(db, snapshot))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=HASHED)
def saved_fit(db: Database, fit_hash: str) -> Fit:
    """Return the saved fit with the hash ``fit_hash``."""
    return results.fit(db, fit_hash)


@st.cache_resource(show_spinner=False)
def published() -> dict[str, tuple[str, Fit]]:
    """Return the published laws that come with Isoplan: name and fit, by hash."""
    laws = [(card.name, read_fit(json.loads(path(card.file).read_text(encoding="utf-8")))) for card in CARDS]
    return {law.hash: (name, law) for name, law in laws}


def runs_behind(db: Database, fit: Fit) -> Runs | None:
    """Return the runs to which ``fit`` was fitted; None if they are not in this workspace.

    For a fit to training curves, the result contains the points that were computed from the curves.
    """
    if not fit.data.snapshot:
        return None
    try:
        runs = snapshot_runs(db, fit.data.snapshot)
    except PlannerError:
        return None
    if fit.data.curves or fit.law.estimator == "threshold":
        curves = curves_behind(db, fit)
        missing = bool(fit.data.curves) and curves is None
        return None if missing else _read_off(db, fit, runs, curves)
    return runs.take(runs.labels["group"] == fit.data.group) if fit.data.group else runs


@st.cache_resource(max_entries=64, show_spinner="Drawing")
def curves(view: str, fit_name: str, folder: str, _fit: Fit) -> Any:
    """Return the arrays of a view of Explore, such as "surface"; ``CURVES`` lists the views."""
    return CURVES[view](_fit)


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=HASHED)
def parabolas_of(fit: Fit, _runs: Runs) -> tuple[Parabola, ...]:
    """Return the parabolas of a fit of iso-FLOP minima, one per budget."""
    return parabolas(_runs, fit.spec)


@st.cache_resource(max_entries=32, show_spinner=False)
def minima_of(fit_hash: str, folder: str, _fit: Fit, _runs: Runs) -> tuple[OptimumLocation, ...]:
    """Return the location of the minimum for each budget of an iso-FLOP fit: inside or outside the budget's sweep."""
    return minima(_runs, _fit.spec)


@st.cache_resource(max_entries=32, show_spinner=False)
def bias_of(fit_hash: str, folder: str, _fit: Fit, _runs: Runs) -> ParabolaBias:
    """Return the bias of the optima from parabolas, computed for a surface whose true optima are known."""
    return parabola_bias(_fit, _runs)


@st.cache_resource(max_entries=32, show_spinner="Drawing")
def slices_of(fit_hash: str, folder: str, _fit: Fit, _runs: Runs | None) -> tuple[Slice, ...]:
    """Return slices of the law of a fit, one per axis, with the runs."""
    return slices(_fit, _runs)


@st.cache_resource(max_entries=16, show_spinner="Drawing")
def drawn_runs(snapshot: str, folder: str, _runs: Runs) -> Drawing:
    """Return the overview figure of the runs of a snapshot."""
    return overview.draw(_runs)


@st.cache_resource(max_entries=16, show_spinner="Drawing")
def drawn_residuals(fit_hash: str, folder: str, _fit: Fit, _runs: Runs) -> tuple[Residuals, Drawing]:
    """Return the residuals of the runs of a fit, and the figure of these residuals."""
    values = residuals(_fit, _runs)
    return values, residual_picture.draw(values, _runs, _fit.spec.y, axes=_fit.law.axes)


MOST_ANSWERS = 32
Key = tuple[str, ...]
Made = TypeVar("Made")


@st.cache_resource(show_spinner=False)
def _answers() -> OrderedDict[Key, object]:
    return OrderedDict()


def compute_on_demand(
    key: Key, button: str, doing: str, make: Callable[[Callable[[float], None]], Made], kind: type[Made]
) -> Made | None:
    """Return the cached result of ``key``; if there is none, show a button that computes it, and return None.

    ``doing`` is the text of the progress bar. After the button is pressed, ``make(progress)`` returns the result, which
    must be of the type ``kind``.
    """
    answer = _answers().get(key)
    if isinstance(answer, kind):
        return answer
    place = st.empty()
    if not place.button(button, key="_".join(("ask", *key)), icon=":material/play_arrow:"):
        return None
    place.empty()
    with progress_bar(doing) as progress, sentences():
        made = make(progress)
        _answers()[key] = made
        while len(_answers()) > MOST_ANSWERS:
            _answers().popitem(last=False)
        return made
    return None
