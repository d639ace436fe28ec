"""Plotly figures of fits and plans, in the style of the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoplan.engine.errors import PlannerError
from isoplan.options import single

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from isoplan.engine.fitting import Fit, GroupedFit
    from isoplan.engine.planning.plan.answer import Plan
    from isoplan.engine.schema import Runs

__all__ = ["frontier", "isoflop", "plan", "surface"]


def surface(fit: Fit | GroupedFit, runs: Runs | None = None) -> go.Figure:
    """Draw the loss over N and D: iso-loss and iso-FLOP lines, the compute-optimal trajectory, and the runs.

    Raises PlannerError for a law that is not a surface over N and D.
    """
    from isoplan.app.figures.fits import surface as figure
    from isoplan.app.figures.style.theme import LIGHT
    from isoplan.engine.planning.drawing import curves

    law = single(fit, "fit")
    return figure.draw(curves.surface(law), _runs_of(law, runs), law.spec.y, None, LIGHT).figure


def isoflop(fit: Fit | GroupedFit, runs: Runs | None = None) -> go.Figure:
    """Draw the loss against N at several budgets, with the minima.

    For the law isoflop, ``runs`` are required, because a parabola is fitted to the runs of each budget. Raises
    PlannerError for a law without iso-FLOP curves.
    """
    from isoplan.app.figures.fits import isoflop as figure
    from isoplan.app.figures.style.theme import LIGHT
    from isoplan.engine.fitting import parabolas
    from isoplan.engine.planning.drawing import curves

    law = single(fit, "fit")
    own = _runs_of(law, runs)
    if law.law.estimator != "parabola":
        lines = curves.isoflop_curves(law)
        return figure.draw(lines, own, law.spec.y, curves.frontier_curve(law), theme=LIGHT).figure
    if own is None:
        raise PlannerError(
            f"Option runs: the figure of the law {law.law.name} shows the runs of each budget. Add runs."
        )
    through = parabolas(own, law.spec)
    return figure.draw((), own, law.spec.y, curves.frontier_curve(law), through, LIGHT).figure


def frontier(fit: Fit | GroupedFit, runs: Runs | None = None) -> go.Figure:
    """Draw the minimum loss against compute, with its bands, the floor and the runs.

    Raises PlannerError for a law without a frontier.
    """
    from isoplan.app.figures.fits import frontier as figure
    from isoplan.app.figures.style.theme import LIGHT
    from isoplan.engine.fitting.estimators.envelope import lower_envelope
    from isoplan.engine.planning.drawing import curves
    from isoplan.engine.planning.plan.feasibility import floor_of

    law = single(fit, "fit")
    own = _runs_of(law, runs)
    if own is not None and law.law.estimator == "envelope":
        own = lower_envelope(law.spec, own).runs(law.spec.y)
    return figure.draw(curves.frontier_curve(law), own, law.spec.y, floor_of(law), LIGHT).figure


def plan(plan: Plan, fit: Fit | GroupedFit, runs: Runs | None = None) -> go.Figure:
    """Draw a plan: the optimum on an iso-FLOP curve for a budget, or the point on the frontier for a target.

    ``fit`` is the fit of the plan. Raises PlannerError for another fit, or if the runs do not support the plan.
    """
    from isoplan.app.figures.plans import plan as figure
    from isoplan.app.figures.style.theme import LIGHT
    from isoplan.engine.planning.drawing.picture import plan_curve
    from isoplan.engine.planning.plan.feasibility import floor_of

    law, shown = single(fit, "fit"), plan.shown
    if plan.fit != law.hash:
        raise PlannerError(
            f"Option fit: the plan was made from the fit {plan.fit}, not {law.hash}. Use the fit of the plan."
        )
    return figure.draw(shown, plan_curve(shown, law), _runs_of(law, runs), floor_of(law), LIGHT).figure


def _runs_of(fit: Fit, runs: Runs | None) -> Runs | None:
    """Return the runs to draw: the runs in the group of ``fit``, or all runs if the fit has no group.

    Returns None for a fit of training curves, because the fitted points are not the runs.
    """
    if runs is None or fit.data.curves:
        return None
    if not fit.data.group:
        return runs
    return runs.take(runs.labels["group"] == fit.data.group)
