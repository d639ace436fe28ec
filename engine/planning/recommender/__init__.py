"""The recommender recipe: s, B, N, D, K and the learning rate for a budget and the metric that is served."""

from engine.planning.recommender.choice import Choice, Otherwise
from engine.planning.recommender.evidence import Evidence, with_fallback
from engine.planning.recommender.knobs import LearningRate
from engine.planning.recommender.negatives import Stage2
from engine.planning.recommender.recipe import Recipe, Recommendation, Settings, recommend
from engine.planning.recommender.sweep import Optimum, from_fit, published_optimum, sweep
from engine.planning.recommender.text import as_text, rows, side_by_side, to_json

__all__ = [
    "Choice",
    "Evidence",
    "LearningRate",
    "Optimum",
    "Otherwise",
    "Recipe",
    "Recommendation",
    "Settings",
    "Stage2",
    "as_text",
    "from_fit",
    "published_optimum",
    "recommend",
    "rows",
    "side_by_side",
    "sweep",
    "to_json",
    "with_fallback",
]
