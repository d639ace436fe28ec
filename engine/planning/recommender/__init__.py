"""Planner question "recipe": the settings of a recommender for a budget.

The settings are N, D, s (the embedder share), B (the batch size), K (the number of negatives) and the learning rate.
"""

from isoplan.engine.planning.recommender.choice import Alternative, Choice
from isoplan.engine.planning.recommender.document import read_evidence
from isoplan.engine.planning.recommender.evidence import Evidence, with_fallback
from isoplan.engine.planning.recommender.recipe import Recipe, Recommendation, Settings, recommend
from isoplan.engine.planning.recommender.settings import LearningRate, Stage2
from isoplan.engine.planning.recommender.sweep import Optimum, from_fit, optimum_of, published_optimum
from isoplan.engine.planning.recommender.text import as_text, rows, side_by_side, to_json

__all__ = [
    "Alternative",
    "Choice",
    "Evidence",
    "LearningRate",
    "Optimum",
    "Recipe",
    "Recommendation",
    "Settings",
    "Stage2",
    "as_text",
    "from_fit",
    "optimum_of",
    "published_optimum",
    "read_evidence",
    "recommend",
    "rows",
    "side_by_side",
    "to_json",
    "with_fallback",
]
