"""One solver for all laws: fits with intervals, diagnostics and warnings."""

from engine.fitting.cards import groups_to_json, read_fit, to_json
from engine.fitting.comparison import Comparison, compare
from engine.fitting.groups import GroupedFit, fit_groups
from engine.fitting.intervals import band, interval
from engine.fitting.minima import minima
from engine.fitting.parabola import Parabola, parabolas, power_through
from engine.fitting.parabola_bias import ParabolaBias, parabola_bias
from engine.fitting.residuals import Residuals, residuals
from engine.fitting.result import Fit, FitData, FitWarning, Parameter
from engine.fitting.run import fit
from engine.fitting.spec import FitSpec
from engine.fitting.validation import Validation, validate

__all__ = [
    "Comparison",
    "Fit",
    "FitData",
    "FitSpec",
    "FitWarning",
    "GroupedFit",
    "Parabola",
    "ParabolaBias",
    "Parameter",
    "Residuals",
    "Validation",
    "band",
    "compare",
    "fit",
    "fit_groups",
    "groups_to_json",
    "interval",
    "minima",
    "parabola_bias",
    "parabolas",
    "power_through",
    "read_fit",
    "residuals",
    "to_json",
    "validate",
]
