"""One solver for all laws: fits with intervals, diagnostics and warnings."""

from engine.fitting.cards import read_fit, to_json
from engine.fitting.result import Fit, FitData, FitWarning, Parameter
from engine.fitting.spec import FitSpec

__all__ = ["Fit", "FitData", "FitSpec", "FitWarning", "Parameter", "read_fit", "to_json"]
