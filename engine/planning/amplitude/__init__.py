"""Amplitude precision before training: what a surrogate of n_f final-state particles needs, from one cheap anchor."""

from engine.planning.amplitude.anchors import Anchor
from engine.planning.amplitude.answer import AmplitudePlan, plan_amplitude
from engine.planning.amplitude.cells import (
    Point,
    TrainedCell,
    anchors_of,
    most_anchors,
    points,
    read_cells,
    series,
    spread_of,
)
from engine.planning.amplitude.exponents import Exponent, conservative
from engine.planning.amplitude.fitted import plan_fitted, plan_trained
from engine.planning.amplitude.needs import Need
from engine.planning.amplitude.published import PublishedLaw
from engine.planning.amplitude.target import Precision, of_error, of_mse
from engine.planning.amplitude.text import as_text, rows, to_json

__all__ = [
    "AmplitudePlan",
    "Anchor",
    "Exponent",
    "Need",
    "Point",
    "Precision",
    "PublishedLaw",
    "TrainedCell",
    "anchors_of",
    "as_text",
    "conservative",
    "most_anchors",
    "of_error",
    "of_mse",
    "plan_amplitude",
    "plan_fitted",
    "plan_trained",
    "points",
    "read_cells",
    "rows",
    "series",
    "spread_of",
    "to_json",
]
