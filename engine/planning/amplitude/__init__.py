"""Amplitude precision before training: the size of a surrogate of n_f final-state particles, from one cheap anchor."""

from isoplan.engine.planning.amplitude.cells import (
    Point,
    TrainedCell,
    anchors_of,
    by_error,
    most_anchors,
    points,
    read_cells,
    series,
    spread_of,
)
from isoplan.engine.planning.amplitude.evidence import Anchor, PublishedLaw
from isoplan.engine.planning.amplitude.needs import Exponent, Need, conservative
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Kind, Precision, check_kind, of_error, of_mse
from isoplan.engine.planning.amplitude.reply import as_text, rows, to_json
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted
from isoplan.engine.planning.amplitude.trained import plan_trained

__all__ = [
    "AmplitudePlan",
    "Anchor",
    "Exponent",
    "Kind",
    "Need",
    "Point",
    "Precision",
    "PublishedLaw",
    "TrainedCell",
    "anchors_of",
    "as_text",
    "by_error",
    "check_kind",
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
