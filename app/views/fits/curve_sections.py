"""How the points lie about a law that was read off training curves: envelope, cells, updates."""

from __future__ import annotations

from isoplan.app.figures.training import curve_points
from isoplan.app.views.widgets.cache import curves_behind, envelope_of
from isoplan.app.views.widgets.parts import draw
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.drawing.curves import envelope_curve
from isoplan.engine.planning.drawing.updates import updates as updates_of
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database


def envelope(db: Database, fit: Fit, runs: Runs) -> None:
    """The envelope over the curves, or over the runs where there are none."""
    found, curves = envelope_of(fit, runs), curves_behind(db, fit)
    path = envelope_curve(fit, found)
    draw(lambda theme: curve_points.draw_envelope(found, path, fit, curves or runs, theme), key="envelope")


def threshold(db: Database, fit: Fit, runs: Runs) -> None:
    """The cells on both sides of the threshold."""
    draw(lambda theme: curve_points.draw_cells(fit, runs, theme), key="cells")


def updates(db: Database, fit: Fit, runs: Runs) -> None:
    """Updates against batch size."""
    found = updates_of(fit)
    draw(lambda theme: curve_points.draw_batches(found, runs, fit.spec.y, theme), key="updates")
