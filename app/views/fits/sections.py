"""Tabs with the figures of a fit. Only the open tab is computed and sent to the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from isoplan.app.figures.fits import isoflop, resamples, slices
from isoplan.app.figures.fits import residuals as residual_picture
from isoplan.app.figures.marks.along import Along, of_axis, of_frontier
from isoplan.app.figures.style.theme import Drawing
from isoplan.app.figures.training import curve_points
from isoplan.app.views.fits import validation
from isoplan.app.views.widgets.cache import (
    bias_of,
    curves,
    curves_behind,
    drawn_residuals,
    envelope_of,
    minima_of,
    parabolas_of,
    published,
    runs_behind,
    slices_of,
)
from isoplan.app.views.widgets.parts import distinct, draw, escape_markdown, plural, powers, sentences
from isoplan.app.views.widgets.state import fit_of, keep_possible, rename_choice
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.validation.extrapolation import NOT_OF_CELLS
from isoplan.engine.laws import OF_CELLS
from isoplan.engine.planning.drawing.curves import envelope_curve
from isoplan.engine.planning.drawing.sections import updates as updates_of
from isoplan.engine.quantities import power10
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results


def show_overlay(db: Database, fit: Fit) -> None:
    """Show a selection of a second fit, and draw both laws over their common axis."""
    names = {f.hash: f.name for f in results.fits(db)} | {
        key: f"{name} (published)" for key, (name, _) in published().items()
    }
    own = names.pop(fit.hash, fit.law.title)
    names = distinct(names)
    chosen = st.selectbox(
        "Second law",
        list(names),
        index=None,
        format_func=names.__getitem__,
        key=f"beside_{fit.hash}",
        placeholder="Choose a saved fit or a published law",
    )
    if chosen is None:
        st.caption("Draws both laws, with bands and runs, over compute or their common axis.")
        return
    other = fit_of(db, chosen)
    if other.spec.y != fit.spec.y:
        raise PlannerError(
            f"This fit describes {fit.spec.y} and the second fit {other.spec.y}. Choose a fit of {fit.spec.y}."
        )
    first, second = _line(db, fit), _line(db, other)
    if first.axis != second.axis:
        raise PlannerError(
            f"This fit is drawn over {first.axis} and the second fit over {second.axis}. Choose a fit over "
            f"{first.axis}."
        )
    named = {own: first, names[chosen] if names[chosen] != own else f"{names[chosen]} ({chosen[:4]})": second}
    draw(lambda theme: slices.draw_overlay(named, theme), key="overlay")
    st.caption(
        f"{escape_markdown(own)} and {escape_markdown(names[chosen])}. Tints are the 68 % and 95 % bands, dots "
        "are the runs of each fit."
    )


def _line(db: Database, fit: Fit) -> Along:
    """Return the curve of the law of ``fit``: over compute if the law has a frontier, otherwise over its single axis.

    Raises PlannerError if the law has no frontier and no single axis.
    """
    runs, folder = runs_behind(db, fit), str(db.folder)
    if fit.law.frontier is not None:
        return of_frontier(curves("frontier", fit.hash, folder, fit), runs, fit.spec.y, None)
    if fit.law.axis is not None:
        return of_axis(curves("axis", fit.hash, folder, fit), runs, fit.spec.y)
    raise PlannerError(f"The law {fit.law.name} cannot be drawn as one line. Choose another fit.")


def show_envelope(db: Database, fit: Fit, runs: Runs) -> None:
    """Draw the training curves and their lower envelope.

    If the curves are not available, the runs are drawn instead of the curves.
    """
    envelope, curves = envelope_of(fit, runs), curves_behind(db, fit)
    path = envelope_curve(fit, envelope)
    draw(lambda theme: curve_points.draw_envelope(envelope, path, fit, curves or runs, theme), key="envelope")


def show_threshold(db: Database, fit: Fit, runs: Runs) -> None:
    """Draw the overfitting threshold, and the cells (training runs) on both sides of the threshold."""
    draw(lambda theme: curve_points.draw_cells(fit, runs, theme), key="cells")


def show_steps(db: Database, fit: Fit, runs: Runs) -> None:
    """Draw the number of training steps that the target needs (y axis) over the batch size (x axis)."""
    steps = updates_of(fit)
    draw(lambda theme: curve_points.draw_batches(steps, runs, fit.spec.y, theme), key="updates")


Part = Callable[[Database, Fit], None]
PartOfRuns = Callable[[Database, Fit, Runs], None]
RUNS = "Runs and law"
"""Title of the tab that shows the runs together with the law."""
FORMER = {"Updates": "Training steps", "Law": RUNS}
"""Current names of renamed tabs, by former name. Old links can contain the former names."""
NO_RUNS = "The runs of this fit are not in this workspace. Upload their table and fit the law again."


def show(db: Database, fit: Fit, groups: Mapping[str, Fit] | None = None) -> None:
    """Show the tabs of ``fit``; only the open tab is computed. ``groups`` are the fits of all groups, by name."""
    parts = _all_groups(fit, groups or {}) | _looks(fit) | {"Correlations": _correlations}
    if fit.law in OF_CELLS:
        parts |= {"Validation": _nothing_to_predict}
    else:
        parts |= {"Validation": _of_runs(validation.validation)}
        if not fit.data.curves:  # the compared laws need runs, not points of curves
            parts |= {"Compare laws": _of_runs(validation.comparison)}
        parts |= {"Another fit": show_overlay}
    rename_choice("part", FORMER)
    keep_possible("part", parts)
    for tab, part in zip(st.tabs(list(parts), key="part", bind="query-params"), parts.values(), strict=True):
        if tab.open:
            with tab, sentences():
                part(db, fit)


def _all_groups(fit: Fit, groups: Mapping[str, Fit]) -> dict[str, Part]:
    """Return the tab that shows the runs and the laws of all groups in one figure, by the title of the tab.

    The result is empty if there are fewer than two groups, or if the law cannot be drawn as one line.
    """
    if len(groups) < 2 or (fit.law.frontier is None and fit.law.axis is None):
        return {}

    def shown(db: Database, fit: Fit) -> None:
        named = {name or "without a name": _line(db, one) for name, one in groups.items()}
        draw(lambda theme: slices.draw_overlay(named, theme), key="all_groups")
        st.caption("Dots are runs. Lines are the laws of the groups, with 68 % and 95 % bands.")

    return {"All groups": shown}


def _nothing_to_predict(db: Database, fit: Fit) -> None:
    st.caption(NOT_OF_CELLS)


def _of_runs(part: PartOfRuns) -> Part:
    """Return a tab that calls ``part`` with the runs of the fit, or shows a message if the runs are not available."""

    def shown(db: Database, fit: Fit) -> None:
        runs = runs_behind(db, fit)
        if runs is None:
            st.caption(NO_RUNS)
        else:
            part(db, fit, runs)

    return shown


def _looks(fit: Fit) -> dict[str, Part]:
    """Return the tabs that show the runs and the law, by title. The most informative tab comes first."""
    if fit.law.name == "critical-batch":
        return {"Training steps": _of_runs(show_steps), "Residuals": _of_runs(_residuals)}
    looks: dict[str, dict[str, Part]] = {
        "parabola": {"Parabolas": _of_runs(_parabolas), RUNS: _law},
        "envelope": {"Envelope": _of_runs(show_envelope)},
        "threshold": {"Cells": _of_runs(show_threshold)},
    }
    if fit.law.estimator in looks:
        return looks[fit.law.estimator]
    return {RUNS: _law, "Residuals": _of_runs(_residuals)}


def _residuals(db: Database, fit: Fit, runs: Runs) -> None:
    left, drawing = drawn_residuals(fit.hash, str(db.folder), fit, runs)
    st.caption(f"Scatter (rms) {left.rms:.3g}{' of log loss' if left.log else ''}; R² {left.r2:.4f}.")
    draw(
        lambda theme: residual_picture.draw(left, runs, fit.spec.y, theme, fit.law.axes),
        key="residuals",
        drawing=drawing,
    )


def _parabolas(db: Database, fit: Fit, runs: Runs) -> None:
    fitted = parabolas_of(fit, runs)
    draw(lambda theme: isoflop.draw((), runs, fit.spec.y, parabolas=fitted, theme=theme), key="parabolas")
    st.table(
        [
            {
                "Budget [FLOPs]": power10(p.budget, 3),
                "N*": powers(f"{p.N_star:.4g}"),
                "Verdict": powers(f"N* is {said.text}"),
            }
            for p, said in zip(fitted, minima_of(fit.hash, str(db.folder), fit, runs), strict=True)
        ],
        border="horizontal",
        hide_index=True,
    )
    with sentences():
        _bias(db, fit, runs)


def _bias(db: Database, fit: Fit, runs: Runs) -> None:
    st.subheader("Bias of the parabolas", anchor=False)
    bias = bias_of(fit.hash, str(db.folder), fit, runs)
    st.markdown(escape_markdown(powers(bias.sentence)))
    st.table(
        [
            {
                "Compute [FLOPs]": power10(one.C, 3),
                "Decades beyond": f"{one.beyond:g}",
                "N* off by": f"{one.N:+.2%}",
                "D* off by": f"{one.D:+.2%}",
            }
            for one in bias.at
        ],
        border="horizontal",
        hide_index=True,
    )
    st.caption(
        "The loss is not exactly a parabola in log N, so the optima of parabolas can be biased. To estimate the "
        "bias, a chinchilla surface is fitted to these runs. Parabolas are then fitted to the losses of this surface "
        "at the N and C of the runs, and their optima are compared with the optima of the surface. Noise is not "
        "included."
    )


def _law(db: Database, fit: Fit) -> None:
    if fit.law.axis:
        show_curve(db, fit, "law_curve")
        return
    panels = slices_of(fit.hash, str(db.folder), fit, runs_behind(db, fit))
    if len(panels) > 1:
        st.caption("Dots are runs, moved along the law to the values in each panel title.")
    draw(lambda theme: slices.draw_slices(panels, fit.spec.y, theme), key="slices")


def show_curve(db: Database, fit: Fit, key: str) -> None:
    """Show a law over one axis as a line with its band, and the runs as dots. ``key`` is the key of the figure."""
    curve, runs = curves("axis", fit.hash, str(db.folder), fit), runs_behind(db, fit)
    draw(lambda theme: slices.draw_line(curve, runs, fit.spec.y, theme), key=key)


def _correlations(db: Database, fit: Fit) -> None:
    if resamples.draw_correlations(fit) is None:
        st.caption(
            f"{plural(len(fit.resamples), 'refit')}: correlations need refits in which at least two parameters vary."
        )
        return
    left, right = st.columns([2, 3])
    with left:
        st.caption("Rank correlations over the refits. Near ±1, only a combination of both parameters is determined.")
        draw(lambda theme: _known(resamples.draw_correlations(fit, theme)), key="correlations")
    with right:
        st.caption("Pairs of parameters over the refits. The star is the best fit.")
        draw(lambda theme: _known(resamples.draw_pairs(fit, theme)), key="resamples")


def _known(drawing: Drawing | None) -> Drawing:
    if drawing is None:
        raise PlannerError("There are no refits to draw: fit again with at least 20 refits.")
    return drawing
