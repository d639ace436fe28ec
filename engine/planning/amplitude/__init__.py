"""Amplitude precision before training: what a surrogate of n_f final-state particles needs, from one cheap anchor."""

from engine.planning.amplitude.anchors import Anchor
from engine.planning.amplitude.answer import AmplitudePlan, plan_amplitude
from engine.planning.amplitude.exponents import Exponent, conservative
from engine.planning.amplitude.needs import Need
from engine.planning.amplitude.published import PublishedLaw
from engine.planning.amplitude.target import Precision, of_error, of_mse
from engine.planning.amplitude.text import as_text, rows, to_json

__all__ = [
    "AmplitudePlan",
    "Anchor",
    "Exponent",
    "Need",
    "Precision",
    "PublishedLaw",
    "as_text",
    "conservative",
    "of_error",
    "of_mse",
    "plan_amplitude",
    "rows",
    "to_json",
]
