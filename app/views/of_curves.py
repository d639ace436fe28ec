"""How the points lie about a law that was read off training curves: envelope, cells, updates."""

from __future__ import annotations

from app.figures import batches, cells, training
from app.views.cached import curves_behind, envelope_of
from app.views.parts import draw
from engine.fitting.result import Fit
from engine.schema import Runs
from engine.store.database import Database


def envelope(db: Database, fit: Fit, runs: Runs) -> None:
    """The envelope over the curves, or over the runs where there are none."""
    found, curves = envelope_of(fit, runs), curves_behind(db, fit)
    draw(lambda theme: training.envelope(found, fit, curves, theme), key="envelope")


def threshold(db: Database, fit: Fit, runs: Runs) -> None:
    """The cells on both sides of the threshold."""
    draw(lambda theme: cells.draw(fit, runs, theme), key="cells")


def updates(db: Database, fit: Fit, runs: Runs) -> None:
    """Updates against batch size."""
    draw(lambda theme: batches.draw(fit, runs, theme), key="updates")
