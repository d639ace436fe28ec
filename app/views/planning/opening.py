"""Initial fit of the page Plan, and a button that fits a law if the open table has no fit."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from isoplan.app.bundled import opening
from isoplan.app.views.fits.fitting import make_fit
from isoplan.app.views.planning import metrics
from isoplan.app.views.widgets.cache import runs_of, saved_fit
from isoplan.app.views.widgets.parts import escape_markdown, progress_bar, sentences
from isoplan.app.views.widgets.state import choose_fit, recall, remember
from isoplan.data.catalogue import BUNDLED
from isoplan.engine.fitting.law_suggestions import offered_laws, suggest_law
from isoplan.engine.fitting.single import suggest
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo


def choose_law(db: Database, name: str = "fit", label: str = "Fit", laws: Collection[str] = ()) -> Fit | None:
    """Show the selection of a fit and return the selected fit. The initial selection is the fit of ``best_fit``.

    If the open table has no fit, a button to fit a law is shown, and the result is None.
    """
    fit = choose_fit(db, name, label, laws, None if recall(name) else best_fit(db))
    if fit is None and not recall(name):
        offer_fit(db)
    return fit


def best_fit(db: Database) -> str | None:
    """Return the hash of the initial fit of the page Plan; None if the open table has no law yet.

    If a table is open, the result is its newest law. If no table is open, the result is the newest law of the user's
    tables. If they have no law, it is the newest law of a bundled table. If these tables have no law either, it is the
    law of the demo, which is fitted now if it is missing. Laws with a compute-optimal frontier are preferred to newer
    laws.
    """
    fits, table = metrics.plannable(db), opened_table(db)
    if table is not None:
        fits = [one for one in fits if one.table_id == table.id]
        demo = opening(table)
        if not fits:
            return _demo_fit(db, table) if demo is BUNDLED[0] else None
    bundled = {one.id for one in tables.all(db) if one.read_only}
    ordered = sorted(fits, key=lambda one: one.table_id in bundled)
    best = next((one for one in ordered if saved_fit(db, one.hash).law.frontier is not None), None)
    if best is not None or ordered:
        return (best or ordered[0]).hash
    demo_table = next((one for one in tables.all(db) if opening(one) is BUNDLED[0]), None)
    return "" if demo_table is None else _demo_fit(db, demo_table)


def _demo_fit(db: Database, table: TableInfo) -> str:
    """Return the hash of the law of the demo table ``table``. Fit this law if it is not saved yet."""
    with st.spinner("Fitting the demo"):
        return make_fit(db, table, "", BUNDLED[0].spec)


def opened_table(db: Database) -> TableInfo | None:
    """Return the open table; None if no table is open."""
    return next((one for one in tables.all(db) if one.id == recall("table")), None)


def offer_fit(db: Database) -> None:
    """State that the open table has no law, and show a button that fits the suggested law.

    If no table is open or no law can be fitted to the table, only a link to the page Fit is shown.
    """
    table = opened_table(db)
    if table is None:
        st.page_link("views/fit.py", label="Fit a law", icon=":material/show_chart:")
        return
    where = recall("where")
    spec = None
    with sentences():
        spec = _suggested(db, table, where)
    if spec is not None:
        law = escape_markdown(spec.find_law().title)
        st.info(f"{escape_markdown(table.name)} has no law yet. Suggested: {law}.", icon=":material/info:")
        if st.button("Fit law", type="primary", icon=":material/show_chart:"):
            with progress_bar("Fitting") as progress, sentences():
                remember("fit", make_fit(db, table, where, spec, progress))
                st.rerun()
    st.page_link("views/fit.py", label="Choose another law", query_params={"table": table.id}, icon=":material/tune:")


def usual_quantity(runs: Runs) -> str:
    """Return the quantity for a law: the chosen column, or else the loss, or else the first metric.

    A quantity that ``runs`` do not contain is skipped. Returns "" if no quantity is left.
    """
    measured = [m.column for m in runs.roles.metrics]
    return next((name for name in (recall("y"), "loss", *measured) if name and not runs.lacks(name)), "")


def _suggested(db: Database, table: TableInfo, where: str) -> FitSpec | None:
    """Return the specification of the suggested law for a table; None if the table allows no law for a plan."""
    runs = runs_of(db, table, where)[1]
    y = usual_quantity(runs)
    found = suggest_law(runs, y) if y else None
    laws = [*([found.law] if found else []), *(offered_laws(runs, y)[0] if y else [])]
    law = next((law for law in laws if law.least_compute is not None), None)
    if law is None:
        return None
    return suggest(FitSpec(law=law.name, axis=law.axis, y=y), runs)[0]
