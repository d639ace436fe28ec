"""Section of the Fit page with the saved fits: open, rename, delete or check a fit, or load a fit from a file."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from isoplan.app.views.fits.law_choice import PLUS_MINUS
from isoplan.app.views.fits.spec_form import BEGUN, SUGGESTED, how
from isoplan.app.views.widgets.cache import saved_fit
from isoplan.app.views.widgets.parts import distinct, escape_markdown, sentences
from isoplan.app.views.widgets.saved_items import deleted, manage
from isoplan.app.views.widgets.state import enter_table, recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws import LAWS, Law
from isoplan.engine.quantities import as_typed
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results, saved_items
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo

OPENED = "opened_fit"


def fill_form(db: Database) -> None:
    """Set the table, the filter and the widgets of the page to the settings of a fit that was just opened.

    Streamlit allows this only before the widgets are drawn. If the fit has no table or its table does not exist, the
    widgets keep their values.
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
    law = fit.spec.law if _swept(fit.law) or fit.spec.law == "formula" else fit.law.key
    where = fit.data.where
    for name, value in (("table", saved.table_id), ("fit", opened), ("where", where), ("y", fit.spec.y), ("law", law)):
        remember(name, value)
    for key, value in (_widgets(fit) | _parameters(fit, saved.table_id) | _source(db, fit)).items():
        st.session_state[key] = value


def _widgets(fit: Fit) -> dict[str, Any]:
    """Return the widget values that select the law and the settings of ``fit``, by widget key."""
    spec = fit.spec
    values: dict[str, Any] = {
        **how(spec), "refits": spec.bootstrap, "seed": spec.seed, "delta": spec.delta, "skew": spec.skew,
        "realised": spec.realised, "smoothing": spec.smoothing, "aim": spec.target,
    }  # fmt: skip
    if spec.law == "formula":
        values["formula"] = spec.formula
    elif _swept(fit.law):
        values["axis"] = spec.axis
    return values


def _swept(law: Law) -> bool:
    """Return whether ``law`` has only one axis, which is a column that the user chooses."""
    return law.with_axis is not None and law not in LAWS


def _parameters(fit: Fit, table_id: str) -> dict[str, Any]:
    """Return the texts of the parameter boxes and the list of shared parameters, by widget key.

    A text is a fixed value, a prior (``0.34 ± 0.02``), bounds (``0 to 5``), or empty for a free parameter.
    """
    spec = fit.spec
    texts = dict.fromkeys(fit.law.names, "")
    texts |= {name: as_typed(value) for name, value in spec.fixed.items()}
    texts |= {name: f"{as_typed(mean)} {PLUS_MINUS} {as_typed(sd)}" for name, (mean, sd) in spec.prior.items()}
    texts |= {name: " to ".join("" if x is None else as_typed(x) for x in ends) for name, ends in spec.bounds.items()}
    boxes: dict[str, Any] = {f"known_{table_id}_{fit.law.key}_{name}": text for name, text in texts.items()}
    return boxes | {f"share_{table_id}_{fit.law.key}": list(spec.share)}


def _source(db: Database, fit: Fit) -> dict[str, Any]:
    """Return the widget values that select the data of ``fit``: the runs, or a table of training curves.

    The result is empty if the curve table is not in this workspace.
    """
    if not fit.data.curves:
        return {"read": "runs"}
    try:
        return {"read": "curves", "curves": snapshots.get(db, fit.data.curves).table_id}
    except PlannerError:
        return {}


MOST_SHOWN = 200
MAX_CARD_MB = 20
MOST_NOTES = 10_000


def show(db: Database, table: TableInfo | None) -> None:
    """Show the saved fits, newest first, and an upload field for the file of a fit or a published law."""
    fits = {f.hash: f for f in results.fits(db)}
    st.header("Saved fits", anchor=False)
    if fits:
        only = table is not None and st.toggle("Only fits of this table", key="only_this", bind="query-params")
        shown = [h for h, f in fits.items() if not only or (table and f.table_id == table.id)][:MOST_SHOWN]
        opened = _choose(fits, shown)
        if opened:
            _chosen(db, fits[opened])
        _list(fits, shown)
    else:
        st.caption("Every fit is saved here. Its key is the hash of its specification and runs.")
    deleted(
        "fits",
        {f.hash: f.name for f in results.fits(db, deleted=True)},
        lambda key: saved_items.restore(db, "fits", key),
    )
    with st.expander("Load a fit or a published law (JSON)", icon=":material/upload_file:"):
        _load(db)


def _choose(fits: dict[str, results.SavedFit], shown: list[str]) -> str:
    """Show a selection of the saved fits; return the hash of the open fit, or "" if no fit is open."""
    opened = recall("fit") if recall("fit") in shown else None
    st.session_state["history"] = opened
    names = distinct({h: f"{fits[h].name}, {fits[h].created:%d %b %Y %H:%M}" for h in shown})
    st.selectbox(
        "Open a saved fit",
        shown,
        index=None,
        format_func=names.__getitem__,
        key="history",
        placeholder=f"{len(shown)} saved fits" if shown else "No fit of this table",
        help="Opens the fit and its table, and fills the form above with the settings of the fit.",
        on_change=_open,
    )
    return opened or ""


def _open() -> None:
    """Mark the selected fit as opened. If nothing is selected, close the open fit.

    In the next run of the page, ``fill_form`` opens the marked fit before the form is drawn.
    """
    chosen = st.session_state["history"] or ""
    if chosen:
        st.session_state[OPENED] = chosen
    else:
        remember("fit", "")


def _list(fits: dict[str, results.SavedFit], shown: list[str]) -> None:
    """Show a table of the fits ``shown`` (hashes) with their laws, dates and notes, newest first."""
    with st.expander(f"All fits ({len(shown)})", icon=":material/history:"):
        st.dataframe(
            {
                "Name": [fits[h].name for h in shown],
                "Law": [fits[h].law for h in shown],
                "Made": [fits[h].created for h in shown],
                "Notes": [fits[h].note for h in shown],
                "Fit": [h for h in shown],
            },
            hide_index=True,
            column_config={"Made": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm")},
        )


def _chosen(db: Database, one: results.SavedFit) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rebuild = st.button("Rebuild and compare", key=f"rebuild_{one.hash}", icon=":material/verified:")
        manage(
            one.hash,
            one.name,
            lambda name: saved_items.rename(db, "fits", one.hash, name),
            lambda: _delete(db, one.hash),
        )
    _note(db, one)
    if rebuild:
        with sentences(), st.spinner("Fitting again from the specification"):
            st.success(results.rebuild(db, one.hash), icon=":material/verified:")


def _note(db: Database, one: results.SavedFit) -> None:
    """Show the text box with the notes of a fit. The notes are saved when the box loses focus."""
    key = f"note_{one.hash}"

    def keep() -> None:
        results.note_fit(db, one.hash, st.session_state[key] or "")

    st.text_area(
        "Notes", one.note, key=key, max_chars=MOST_NOTES, height=80, on_change=keep,
        placeholder="Purpose of this fit, runs that were left out, reviewers",
    )  # fmt: skip


def _delete(db: Database, fit_hash: str) -> None:
    saved_items.delete(db, "fits", fit_hash)
    if recall("fit") == fit_hash:
        remember("fit", "")


def _load(db: Database) -> None:
    sent = st.file_uploader(f"Output of `isoplan fit --json`, at most {MAX_CARD_MB} MB", type=["json"],
                            max_upload_size=MAX_CARD_MB, key="card")  # fmt: skip
    if sent is None:
        return
    with sentences():
        try:
            raw = json.loads(sent.getvalue())
        except ValueError as error:
            raise PlannerError(
                f"{sent.name} is not JSON ({error}). Choose a file that isoplan fit --json wrote."
            ) from None
        if not isinstance(raw, dict):
            raise PlannerError(f"{sent.name} contains no JSON object. Choose a file that isoplan fit --json wrote.")
        saved = results.save_fit(db, read_fit(raw), name=sent.name.removesuffix(".json"))
        if st.button(f"Open {escape_markdown(sent.name)}", type="primary"):
            remember("fit", saved)
            st.rerun()
