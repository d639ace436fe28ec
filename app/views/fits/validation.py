"""Tabs that validate laws on held-out runs: one law compared with baselines, and a ranking of all laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from isoplan.app.figures.fits import validation as picture
from isoplan.app.views.fits.fitting import refit
from isoplan.app.views.fits.history import OPENED
from isoplan.app.views.widgets.cache import compute_on_demand
from isoplan.app.views.widgets.parts import DASH, Hint, draw, escape_markdown, progress_bar, sentences, show_hints
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.validation.comparison import Comparison, compare
from isoplan.engine.fitting.validation.extrapolation import (
    BASELINES_IN_WORDS,
    Targets,
    Validation,
    validate_read_off,
)
from isoplan.engine.laws import CATALOGUE
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database

MOST_DRAWN = 5
"""Maximum number of laws in the figure of a comparison. More laws could not be distinguished."""

LEFT_OUT = {
    "": "The largest budgets are left out in turn. The law is fitted to the other runs and predicts the runs that "
    "are left out.",
    "envelope": "For several limits of compute, all points above the limit are left out of the curves. The envelope of "
    "the other points predicts the lowest loss above the limit. The surface law is tested in the same way.",
    "critical-batch": "The runs with the largest batches are left out in turn. The law is fitted to the other runs "
    "and predicts the training steps of the runs that are left out. Targets are not left out, because all runs "
    "have the same target.",
}
"""Texts that describe which runs are held out, by the name of the law. The key "" is for all other laws."""


def validation(db: Database, fit: Fit, runs: Runs) -> None:
    """Fit the law of ``fit`` without the runs of the largest budgets, and show how well it predicts these runs."""
    st.caption(
        f"{LEFT_OUT.get(fit.law.name, LEFT_OUT[''])} If a law is no better than its baselines, do not extrapolate it."
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
        titles = titles_of(result.laws)
        draw(lambda theme: picture.draw(result, targets, theme, called, titles), key="validation")


def titles_of(keys: Sequence[str]) -> dict[str, str]:
    """Return the title of each law by key. A law that is not in the catalogue gets its key as the title."""
    known = {law.key: law.title for law in CATALOGUE}
    return {key: known.get(key, key) for key in keys}


def comparison(db: Database, fit: Fit, runs: Runs) -> None:
    """Show a ranking of all laws that can be fitted to ``runs``, and a button that fits and opens the best law."""
    ranking = compute_on_demand(
        ("comparison", fit.hash, str(db.folder)),
        "Compare laws",
        "Fitting every law",
        lambda progress: compare(fit.spec, runs, progress=progress),
        Comparison,
    )
    if ranking is None:
        st.caption("Fits all laws that these columns allow, and predicts the largest runs with each law.")
        return
    st.markdown(escape_markdown(ranking.verdict))
    _adopt(db, fit, ranking)
    show_hints(_ranking(ranking), "Laws and baselines, the best first, with their errors and information criteria.")
    st.caption(f"{escape_markdown(ranking.sentence)} Smaller AIC and BIC are better.")
    if ranking.refused:
        with st.expander(f"Laws that cannot be fitted to this table ({len(ranking.refused)})"):
            titles = titles_of([law for law, _ in ranking.refused])
            st.markdown("\n".join(f"- {titles[law]}: {escape_markdown(why)}" for law, why in ranking.refused))
    if ranking.validation is not None:
        best = ranking.ranked[:MOST_DRAWN]
        v, targets = replace(ranking.validation, laws=tuple(one.key for one in best)), ranking.targets
        titles = {one.key: one.title for one in best}
        draw(lambda theme: picture.draw(v, targets, theme, titles=titles), key="comparison")


def _adopt(db: Database, fit: Fit, ranking: Comparison) -> None:
    """Show a button that fits the best law and opens the new fit.

    The new fit has as many resamples as ``fit``.
    """
    best = ranking.best
    if best is None or best.key == fit.law.key or not fit.data.snapshot:
        return
    if st.button("Use this law", icon=":material/check:", key=f"adopt_{fit.hash}"):
        spec = best.fit.spec.model_copy(update={"bootstrap": fit.spec.bootstrap})
        with sentences(), progress_bar("Fitting") as progress:
            st.session_state[OPENED] = refit(db, fit, progress, spec)
            st.rerun()


def _errors(found: Validation) -> None:
    """Show a table with the error of every method for each cut (one choice of held-out runs)."""
    titles = titles_of(found.laws) | {name: f"Baseline: {words}" for name, words in BASELINES_IN_WORDS.items()}
    rows = []
    for method in found.methods:
        for targets in _described(found, method):
            row = {
                "Method": titles.get(method, method),
                "On": "every run" if targets == "runs" else "best of each budget",
            }
            for cut in found.cuts:
                header = f"{len(cut.held)} runs, {float(cut.beyond.max()):.1f} decades beyond"
                row[header] = _percent(found.cut_error(cut, method, targets)) or DASH
            rows.append(row | {"Mean": _percent(found.error(method, targets)) or DASH})
    st.table(rows, border="horizontal", hide_index=True)
    why = [f"{method}: {escape_markdown(reason)}" for method, reason in found.missing.items()]
    if why:
        st.caption("  \n".join(why))


def _described(found: Validation, method: str) -> list[Targets]:
    """Return the targets ("runs", "best") for which ``method`` has a finite error on at least one cut."""
    both: tuple[Targets, ...] = ("runs", "best")
    return [t for t in both if any(abs(found.cut_error(c, method, t)) < float("inf") for c in found.cuts)]


def _ranking(found: Comparison) -> list[dict[str, Hint]]:
    """Return the table rows of laws, then of baselines. A table cell without a value shows the reason on hover."""
    least = min((one.aic for one in found.ranked if abs(one.aic) < float("inf")), default=0.0)
    rows = [
        {
            "Rank": Hint(str(rank or ""), one.note or found.note),
            "Law": Hint(one.title),
            "Held-out error": Hint(_percent(one.error), one.note or found.note),
            "AIC above best": Hint(_criterion(one.aic - least), one.note),
            "BIC": Hint(_criterion(one.bic), one.note),
            "Parameters": Hint(str(one.parameters)),
        }
        for rank, one in zip(found.ranks, found.ranked, strict=True)
    ]
    if found.validation is not None:
        none = Hint("", "A baseline has no likelihood.")
        for name, words in BASELINES_IN_WORDS.items():
            error = Hint(_percent(found.validation.error(name, found.targets)), found.note)
            rows.append(
                {
                    "Rank": Hint("", "Baselines have no rank."),
                    "Law": Hint(f"Baseline: {words}"),
                    "Held-out error": error,
                    "AIC above best": none,
                    "BIC": none,
                    "Parameters": Hint("0"),
                }
            )
    return rows


def _percent(error: float) -> str:
    return f"{error:.2%}" if abs(error) < float("inf") else ""


def _criterion(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < float("inf") else ""
