"""Fits of scaling laws, with intervals, diagnostics and warnings. One solver serves all laws."""

from isoplan.engine.fitting.cards import groups_to_json, read_fit, to_json
from isoplan.engine.fitting.diagnostics.residuals import Residuals, residuals
from isoplan.engine.fitting.estimators.isoflop import Parabola, parabolas, power_through
from isoplan.engine.fitting.groups import GroupedFit, fit_groups
from isoplan.engine.fitting.single import fit
from isoplan.engine.fitting.types.intervals import band, interval
from isoplan.engine.fitting.types.result import Fit, FitData, FitWarning, Parameter
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.validation.comparison import Comparison, compare
from isoplan.engine.fitting.validation.extrapolation import Validation, validate
from isoplan.engine.fitting.validation.isoflop_minima import ParabolaBias, minima, parabola_bias

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
