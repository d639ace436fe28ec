"""One solver for all laws: fits with intervals, diagnostics and warnings."""

from engine.fitting.cards import read_fit, to_json
from engine.fitting.derived import derived
from engine.fitting.intervals import band, interval
from engine.fitting.parabola import Parabola, parabolas, power_through
from engine.fitting.residuals import Residuals, residuals
from engine.fitting.result import Fit, FitData, FitWarning, Parameter
from engine.fitting.run import fit
from engine.fitting.spec import FitSpec
from engine.fitting.text import as_html, as_text, rows

__all__ = [
    "Fit",
    "FitData",
    "FitSpec",
    "FitWarning",
    "Parabola",
    "Parameter",
    "Residuals",
    "as_html",
    "as_text",
    "band",
    "derived",
    "fit",
    "interval",
    "parabolas",
    "power_through",
    "read_fit",
    "residuals",
    "rows",
    "to_json",
]
