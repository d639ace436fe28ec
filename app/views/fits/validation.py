"""Validation on held-out runs: one law compared with baselines, and all laws compared with one another."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from isoplan.app.figures.fits import validation as picture
from isoplan.app.views.widgets.cache import compute_on_demand
from isoplan.app.views.widgets.parts import draw, escape_markdown
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.validation.comparison import Comparison, compare
from isoplan.engine.fitting.validation.extrapolation import BASELINES, Targets, Validation, validate_read_off
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database

MOST_DRAWN = 5
"""Maximum number of laws in the figure of a comparison, because more laws cannot be distinguished."""

LEFT_OUT = {
    "": "The largest budgets are left out in turn. The law is fitted to the other runs and predicts the runs that "
    "are left out.",
    "envelope": "The part of every curve with the largest compute is left out in turn. The envelope of the rest "
    "predicts the least loss there. The surface law is tested in the same way.",
    "critical-batch": "The runs with the largest batches are left out in turn. The law is fitted to the other runs "
    "and predicts their training steps. It does not describe other targets, so no target is left out.",
}
"""Text that describes the held-out runs, by the name of the law; "" is for all laws that are not listed."""


def validation(db: Database, fit: Fit, runs: Runs) -> None:
    """Show how well the law of ``fit`` predicts the runs with the largest budgets, which are left out of its fit."""
    st.caption(
        f"{LEFT_OUT.get(fit.law.name, LEFT_OUT[''])} A law that is no better than its baselines does not extrapolate."
    )
    result = compute_on_demand(
        ("validation", fit.hash, str(db.folder)),
        "Validate",
        "Leaving out the largest runs",
        lambda progress: validate_read_off(fit.spec, runs, progress),
        Validation,
    )
    if result is not None:
        st.markdown(escape_markdown(result.sentence))
        _errors(result)
        targets = result.targets(result.laws[:1])
        called = "training steps to the target" if fit.law.name == "critical-batch" else ""
        draw(lambda theme: picture.draw(result, targets, theme, called), key="validation")


def comparison(db: Database, fit: Fit, runs: Runs) -> None:
    """Show a ranking of all laws that can be fitted to the columns of ``runs``."""
    st.caption(
        "All laws that fit these columns, with the options of this fit. Order: error on the largest runs, then AIC."
    )
    ranking = compute_on_demand(
        ("comparison", fit.hash, str(db.folder)),
        "Compare laws",
        "Fitting every law",
        lambda progress: compare(fit.spec, runs, progress=progress),
        Comparison,
    )
    if ranking is None:
        return
    st.table(_ranking(ranking), border="horizontal", hide_index=True)
    st.caption(
        f"{escape_markdown(ranking.sentence)} Smaller AIC and BIC are better. The likelihood assumes the noise for "
        f"which the objective is optimal (Gaussian for least squares, exponential tails beyond δ for Huber)."
    )
    notes = [f"- {one.key}: {escape_markdown(one.note)}" for one in ranking.ranked if one.note]
    notes += [f"- {law}: {escape_markdown(why)}" for law, why in ranking.refused]
    if notes:
        with st.expander(f"Laws that could not be fitted or ranked ({len(notes)})"):
            st.markdown("\n".join(notes))
    if ranking.validation is not None:
        best = tuple(one.key for one in ranking.ranked[:MOST_DRAWN])
        v, targets = replace(ranking.validation, laws=best), ranking.targets
        draw(lambda theme: picture.draw(v, targets, theme), key="comparison")


def _errors(found: Validation) -> None:
    """Show a table with the error of every method on each cut; a cut is one choice of held-out runs."""
    rows = []
    for method in found.methods:
        for targets in _described(found, method):
            row = {"Method": method, "On": "every run" if targets == "runs" else "best of each budget"}
            for cut in found.cuts:
                header = f"{len(cut.held)} runs, {float(cut.beyond.max()):.1f} decades beyond"
                row[header] = _percent(found.cut_error(cut, method, targets))
            rows.append(row | {"Mean": _percent(found.error(method, targets))})
    st.table(rows, border="horizontal", hide_index=True)
    why = [f"{method}: {escape_markdown(reason)}" for method, reason in found.missing.items()]
    if why:
        st.caption("  \n".join(why))


def _described(found: Validation, method: str) -> list[Targets]:
    """Return which targets ("runs", "best" or both) have a finite error of ``method`` on at least one cut."""
    both: tuple[Targets, ...] = ("runs", "best")
    return [t for t in both if any(abs(found.cut_error(c, method, t)) < float("inf") for c in found.cuts)]


def _ranking(found: Comparison) -> list[dict[str, str]]:
    least = min((one.aic for one in found.ranked if abs(one.aic) < float("inf")), default=0.0)
    rows = [
        {
            "Rank": str(rank),
            "Law": f"{one.key}: {escape_markdown(one.fit.law.title)}",
            "Error": _percent(one.error),
            "AIC": _criterion(one.aic),
            "AIC above best": _criterion(one.aic - least),
            "BIC": _criterion(one.bic),
            "Parameters": str(one.parameters),
        }
        for rank, one in enumerate(found.ranked, 1)
    ]
    if found.validation is not None:
        blank = {"AIC": "", "AIC above best": "", "BIC": "", "Parameters": "0"}
        for name in BASELINES:
            rows.append(
                {"Rank": "", "Law": name, "Error": _percent(found.validation.error(name, found.targets))} | blank
            )
    return rows


def _percent(error: float) -> str:
    return f"{error:.2%}" if abs(error) < float("inf") else "none"


def _criterion(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < float("inf") else "none"
