"""Planner question "recipe": embedder share s, batch size B, N, D, negatives K and learning rate for a budget."""

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
