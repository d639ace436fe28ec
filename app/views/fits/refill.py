"""A saved fit that is opened fills the form of the Fit page with its specification, its table and its filter."""

from __future__ import annotations

from typing import Any

import streamlit as st

from isoplan.app.views.fits.parameters import PLUS_MINUS
from isoplan.app.views.fits.spec_form import BEGUN, SUGGESTED, how
from isoplan.app.views.widgets.cache import saved_fit
from isoplan.app.views.widgets.state import enter_table, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import LAWS
from isoplan.engine.quantities import as_typed
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables

OPENED = "opened_fit"


def fill(db: Database) -> None:
    """Bring table, filter and widgets in step with the fit that was just opened; before any of them is drawn.

    A fit of a table that is gone, or of none, leaves them as they are.
    """
    opened = st.session_state.pop(OPENED, "")
    if not opened:
        return
    saved = next((f for f in results.fits(db) if f.hash == opened), None)
    if saved is None or saved.table_id not in {t.id for t in tables.all(db)}:
        remember("fit", opened)
        return
    fit = saved_fit(db, opened)
    enter_table(saved.table_id)
    for name in (BEGUN, SUGGESTED):
        st.session_state.pop(name, None)
    for name, value in (("table", saved.table_id), ("fit", opened), ("where", fit.data.where), ("y", fit.spec.y)):
        remember(name, value)
    for key, value in (_widgets(fit) | _parameters(fit, saved.table_id) | _source(db, fit)).items():
        st.session_state[key] = value


def _widgets(fit: Fit) -> dict[str, Any]:
    """The values of the widgets that say which law and how it is fitted."""
    spec, law = fit.spec, fit.law
    swept = law.with_axis is not None and law not in LAWS
    found: dict[str, Any] = {
        "law": spec.law if swept or spec.law == "formula" else law.key,
        **how(spec), "refits": spec.bootstrap, "seed": spec.seed, "delta": spec.delta, "skew": spec.skew,
        "realised": spec.realised, "smoothing": spec.smoothing, "aim": spec.target,
    }  # fmt: skip
    if spec.law == "formula":
        found["formula"] = spec.formula
    elif swept:
        found["axis"] = spec.axis
    return found


def _parameters(fit: Fit, table_id: str) -> dict[str, Any]:
    """The boxes of the parameters: a value, a prior, bounds, or empty; and what the groups share."""
    spec = fit.spec
    texts = dict.fromkeys(fit.law.names, "")
    texts |= {name: as_typed(value) for name, value in spec.fixed.items()}
    texts |= {name: f"{as_typed(mean)} {PLUS_MINUS} {as_typed(sd)}" for name, (mean, sd) in spec.prior.items()}
    texts |= {name: " to ".join("" if x is None else as_typed(x) for x in ends) for name, ends in spec.bounds.items()}
    boxes: dict[str, Any] = {f"known_{table_id}_{fit.law.key}_{name}": text for name, text in texts.items()}
    return boxes | {f"share_{table_id}_{fit.law.key}": list(spec.share)}


def _source(db: Database, fit: Fit) -> dict[str, Any]:
    """Whether it read the runs or the curves, and which curve table, where this workspace has that."""
    if not fit.data.curves:
        return {"read": "runs"}
    try:
        return {"read": "curves", "curves": snapshots.get(db, fit.data.curves).table_id}
    except PlannerError:
        return {}
