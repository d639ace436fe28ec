"""Another fit in the same figure: two laws of one table, or one law of two tables."""

from __future__ import annotations

import streamlit as st

from isoplan.app.figures.fits import slices
from isoplan.app.figures.marks.along import Along, of_axis, of_frontier
from isoplan.app.views.widgets.cache import curves, published, runs_behind
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown
from isoplan.app.views.widgets.state import fit_of
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results


def show(db: Database, fit: Fit) -> None:
    """A select over the other fits, and the two over the axis that both describe."""
    names = {f.hash: f.name for f in results.fits(db)} | {
        key: f"{name} (published)" for key, (name, _) in published().items()
    }
    own = names.pop(fit.hash, fit.law.title)
    names = distinct(names)
    chosen = st.selectbox(
        "Beside it",
        list(names),
        index=None,
        format_func=names.__getitem__,
        key=f"beside_{fit.hash}",
        placeholder="Choose a saved fit or a published law",
    )
    if chosen is None:
        st.caption(
            "Both laws are drawn with their bands and their runs, over compute or over the axis that they share."
        )
        return
    other = fit_of(db, chosen)
    if other.spec.y != fit.spec.y:
        raise PlannerError(f"This fit describes {fit.spec.y} and the other {other.spec.y}: choose one of {fit.spec.y}.")
    first, second = _line(db, fit), _line(db, other)
    if first.axis != second.axis:
        raise PlannerError(
            f"This fit is drawn over {first.axis} and the other over {second.axis}: choose one over {first.axis}."
        )
    named = {own: first, names[chosen] if names[chosen] != own else f"{names[chosen]} ({chosen[:4]})": second}
    draw(lambda theme: slices.draw_overlay(named, theme), key="overlay")
    st.caption(
        f"{escape_markdown(own)} and {escape_markdown(names[chosen])}; tints are the 68 % and 95 % bands, dots "
        "the runs of each."
    )


def _line(db: Database, fit: Fit) -> Along:
    """The law over compute where it knows a frontier, else over its one axis."""
    runs, folder = runs_behind(db, fit), str(db.folder)
    if fit.law.frontier is not None:
        return of_frontier(curves("frontier", fit.hash, folder, fit), runs, fit.spec.y, None)
    if fit.law.axis is not None:
        return of_axis(curves("axis", fit.hash, folder, fit), runs, fit.spec.y)
    raise PlannerError(f"The law {fit.law.name} has no line of its own to draw: choose another fit.")
