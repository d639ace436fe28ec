"""Simulate or repeat: one loss from a single pass over many samples, or from few repeated to the early stop."""

from isoplan.engine.planning.repeat.answer import Regime, SimulateOrRepeat, simulate_or_repeat
from isoplan.engine.planning.repeat.between import Between, between
from isoplan.engine.planning.repeat.costs import SampleCosts, costs_of
from isoplan.engine.planning.repeat.factor import Factor, fit_factor, stated
from isoplan.engine.planning.repeat.price_picture import Picture
from isoplan.engine.planning.repeat.text import (
    as_text,
    between_json,
    between_text,
    rows,
    sentence,
    to_json,
    unpriced,
    unpriced_rows,
    unpriced_text,
    worth_text,
)
from isoplan.engine.planning.repeat.worth import Worth, worth_of

__all__ = [
    "Between",
    "Factor",
    "Picture",
    "Regime",
    "SampleCosts",
    "SimulateOrRepeat",
    "Worth",
    "as_text",
    "between",
    "between_json",
    "between_text",
    "costs_of",
    "fit_factor",
    "rows",
    "sentence",
    "simulate_or_repeat",
    "stated",
    "to_json",
    "unpriced",
    "unpriced_rows",
    "unpriced_text",
    "worth_of",
    "worth_text",
]
