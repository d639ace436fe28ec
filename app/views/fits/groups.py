"""The laws of all groups that were fitted apart or with shared parameters, side by side."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from isoplan.app.views.widgets.cache import snapshot_runs
from isoplan.app.views.widgets.parts import escape_markdown, powers
from isoplan.app.views.widgets.state import fit_of, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results


def show(db: Database, fit: Fit) -> None:
    """One row for each group of the fit, and a control that opens another group; nothing for a fit of all runs."""
    if not fit.data.group:
        return
    fits = siblings(db, fit)
    st.session_state["group_choice"] = fit.data.group
    st.segmented_control(
        f"Law of {escape_markdown(fit.data.roles.get('group', 'group'))}",
        list(fits),
        format_func=lambda name: escape_markdown(name) or "without a name",
        key="group_choice",
        required=True,
        on_change=lambda: remember("fit", fits[st.session_state["group_choice"]].hash),
    )
    if len(fits) > 1:
        st.table([_row(name, one) for name, one in fits.items()], border="horizontal", hide_index=True)


def siblings(db: Database, fit: Fit) -> dict[str, Fit]:
    """The saved fits of all groups of the same runs and specification, by group."""
    try:
        runs = snapshot_runs(db, fit.data.snapshot)
    except PlannerError:
        return {fit.data.group: fit}
    named = {name: replace(fit, data=replace(fit.data, group=name)).hash for name in sorted(set(runs.labels["group"]))}
    saved = {one.hash for one in results.fits(db)} | {fit.hash}
    return {str(name): fit_of(db, key) if key != fit.hash else fit for name, key in named.items() if key in saved}


def _row(name: str, fit: Fit) -> dict[str, str]:
    values = {p.name: powers(text.plus_minus(p.value, p.se, p.ci68)) for p in fit.parameters}
    return {"Group": escape_markdown(name) or "without a name", "Runs": f"{fit.n:,}"} | values
