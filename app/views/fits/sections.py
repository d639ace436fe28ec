"""What stands below the parameters of a fit, a tab each; only the open one is computed and sent."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from isoplan.app.figures.fits import isoflop, resamples, slices
from isoplan.app.figures.fits import residuals as residual_picture
from isoplan.app.figures.style.theme import Drawing
from isoplan.app.views.fits import curve_sections, overlay, validation
from isoplan.app.views.widgets.cache import (
    bias_of,
    curves,
    drawn_residuals,
    minima_of,
    parabolas_of,
    runs_behind,
    slices_of,
)
from isoplan.app.views.widgets.parts import draw, escape_markdown, plural, powers, sentences
from isoplan.app.views.widgets.state import keep_possible
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.validation.curve_validation import NOT_OF_CELLS
from isoplan.engine.laws import OF_CELLS
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database

Part = Callable[[Database, Fit], None]
PartOfRuns = Callable[[Database, Fit, Runs], None]
NO_RUNS = "The runs of this fit are not in this workspace: load its table and fit it there."


def show(db: Database, fit: Fit) -> None:
    """The tabs of ``fit``."""
    parts = _looks(fit) | {"Correlations": _correlations}
    if fit.law in OF_CELLS:
        parts |= {"Validation": _nothing_to_predict}
    else:
        parts |= {"Validation": _of_runs(validation.validation)}
        if not fit.data.curves:  # what was read off curves is no table of runs for other laws
            parts |= {"Compare laws": _of_runs(validation.comparison)}
        parts |= {"Another fit": overlay.show}
    keep_possible("part", parts)
    for tab, part in zip(st.tabs(list(parts), key="part", bind="query-params"), parts.values(), strict=True):
        if tab.open:
            with tab, sentences():
                part(db, fit)


def _nothing_to_predict(db: Database, fit: Fit) -> None:
    st.caption(NOT_OF_CELLS)


def _of_runs(part: PartOfRuns) -> Part:
    """A part that draws the runs of the fit; says so where they are not in this workspace."""

    def shown(db: Database, fit: Fit) -> None:
        runs = runs_behind(db, fit)
        if runs is None:
            st.caption(NO_RUNS)
        else:
            part(db, fit, runs)

    return shown


def _looks(fit: Fit) -> dict[str, Part]:
    """How the runs lie about the law, the look that says most of it first."""
    if fit.law.name == "critical-batch":
        return {"Updates": _of_runs(curve_sections.updates), "Residuals": _of_runs(_residuals)}
    looks: dict[str, dict[str, Part]] = {
        "parabola": {"Parabolas": _of_runs(_parabolas), "Law": _law},
        "envelope": {"Envelope": _of_runs(curve_sections.envelope)},
        "threshold": {"Cells": _of_runs(curve_sections.threshold)},
    }
    if fit.law.estimator in looks:
        return looks[fit.law.estimator]
    if fit.law.axis:
        return {"Law": _law, "Residuals": _of_runs(_residuals)}
    return {"Residuals": _of_runs(_residuals), "Law": _law}


def _residuals(db: Database, fit: Fit, runs: Runs) -> None:
    left, drawing = drawn_residuals(fit.hash, str(db.folder), fit, runs)
    st.caption(f"Scatter (rms) {left.rms:.3g}{' of log loss' if left.log else ''}; R² {left.r2:.4f}.")
    draw(
        lambda theme: residual_picture.draw(left, runs, fit.spec.y, theme, fit.law.axes),
        key="residuals",
        drawing=drawing,
    )


def _parabolas(db: Database, fit: Fit, runs: Runs) -> None:
    found = parabolas_of(fit, runs)
    draw(lambda theme: isoflop.draw((), runs, fit.spec.y, parabolas=found, theme=theme), key="parabolas")
    st.table(
        [
            {
                "Budget [FLOPs]": power10(p.budget, 3),
                "N*": powers(f"{p.N_star:.4g}"),
                "Verdict": powers(f"N* is {said.text}"),
            }
            for p, said in zip(found, minima_of(fit.hash, str(db.folder), fit, runs), strict=True)
        ],
        border="horizontal",
        hide_index=True,
    )
    with sentences():
        _bias(db, fit, runs)


def _bias(db: Database, fit: Fit, runs: Runs) -> None:
    st.subheader("Bias of the parabolas", anchor=False)
    found = bias_of(fit.hash, str(db.folder), fit, runs)
    st.markdown(escape_markdown(powers(found.sentence)))
    st.table(
        [
            {
                "Compute [FLOPs]": power10(one.C, 3),
                "Decades beyond": f"{one.beyond:g}",
                "N* off by": f"{one.N:+.2%}",
                "D* off by": f"{one.D:+.2%}",
            }
            for one in found.at
        ],
        border="horizontal",
        hide_index=True,
    )
    st.caption(
        "A curve of loss over log N is no parabola. The bias is what parabolas find on the chinchilla surface through "
        "these runs, at the same N and C, over what the surface itself says; noise is not part of it."
    )


def _law(db: Database, fit: Fit) -> None:
    if fit.law.axis:
        curve, runs = curves("axis", fit.hash, str(db.folder), fit), runs_behind(db, fit)
        draw(lambda theme: slices.draw_line(curve, runs, fit.spec.y, theme), key="law_curve")
        return
    found = slices_of(fit.hash, str(db.folder), fit, runs_behind(db, fit))
    bands = "The best fit with 68 % and 95 % bands of its refits."
    moved = "Dots are the runs, moved along the law to the values of the other axes that each panel names."
    st.caption(f"{bands} {moved}" if len(found) > 1 else bands)
    draw(lambda theme: slices.draw_slices(found, fit.spec.y, theme), key="slices")


def _correlations(db: Database, fit: Fit) -> None:
    if resamples.draw_correlations(fit) is None:
        st.caption(f"{plural(len(fit.resamples), 'refit')}: correlations need refits in which two parameters vary.")
        return
    left, right = st.columns([2, 3])
    with left:
        st.caption("Rank correlations over the refits. Near ±1 only a combination of the two is known.")
        draw(lambda theme: _known(resamples.draw_correlations(fit, theme)), key="correlations")
    with right:
        st.caption("Every pair of parameters over the refits, the best fit as a star.")
        draw(lambda theme: _known(resamples.draw_pairs(fit, theme)), key="resamples")


def _known(drawing: Drawing | None) -> Drawing:
    if drawing is None:
        raise PlannerError("There are no refits to draw: fit again with 20 or more.")
    return drawing
