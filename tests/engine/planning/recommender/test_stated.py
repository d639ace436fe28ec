"""Knobs of the recipe at budgets far beyond the sweeps behind them."""

from __future__ import annotations

import math

import pytest

from data.recommender import published_evidence
from engine.planning.export.document import to_csv, to_markdown
from engine.planning.export.latex import to_latex
from engine.planning.recommender import as_text, recommend, to_json
from engine.planning.recommender.document import document
from engine.planning.recommender.text import sentence
from engine.quantities import power10

EVIDENCE = published_evidence()


@pytest.mark.parametrize("budget", [1e6, 1e9, 1e26])
def test_a_knob_more_than_three_decades_beyond_its_sweeps_is_stated_nowhere(budget: float) -> None:
    answer = recommend(EVIDENCE, budget, "val_loss")
    said = "s from 10¹² to 10²¹ FLOPs, N and D from 10¹⁴ to 8 × 10²¹ FLOPs and K from 10¹² to 10²² FLOPs."
    assert sentence(answer).endswith(f"This budget lies too far beyond the runs, which support {said}")
    assert sentence(answer).startswith(f"With {power10(budget)} FLOPs, for val_loss: take batches of 570 sequences at")
    paper = document(answer, EVIDENCE, published=True)
    for made in (as_text(answer), *(to(paper) for to in (to_csv, to_markdown, to_latex))):
        assert "360 k" not in made.replace("125k to 870k", "")
        assert "2.10" not in made
    for metric, recipe in answer.recipes.items():
        assert recipe.binds == "unknown"
        assert recipe.cap is None
        for knob in ("s", "K"):
            raw = to_json(answer)["recipes"][metric]["choices"][knob]
            assert [raw[key] for key in ("value", "ci68", "ci95", "band")] == [None] * 4
            assert raw["otherwise"] == []
    raw = to_json(answer)["recipes"]["val_loss"]["choices"]
    assert raw["s"]["supported"] == pytest.approx([1e12, 1e21])
    assert raw["K"]["supported"] == pytest.approx([1e12, 1e22])
    assert raw["B"]["supported"] is None
    far = {w.text for w in answer.recipe.warnings if w.level == "stop"}
    away = 26 - 18 if budget > 1e20 else 15 - round(math.log10(budget))
    assert f"s: the budget lies {away} decades beyond the budgets of its sweeps, too far." in far


@pytest.mark.parametrize(("budget", "decades"), [(1e12, 3), (1e13, 2)])
def test_the_sentence_says_how_far_a_knob_is_extrapolated(budget: float, decades: int) -> None:
    said = sentence(recommend(EVIDENCE, budget, "val_loss"))
    assert f"put 2.10 % of N into the embedder (extrapolated {decades} decades in C), take batches of" in said
    assert f"score 360 k negatives beside the batch (extrapolated {decades} decades in C). This budget" in said
    assert "which support N and D from 10¹⁴ to 8 × 10²¹ FLOPs." in said
    assert "extrapolated" not in sentence(recommend(EVIDENCE, 1e18, "val_loss"))
    far = sentence(recommend(EVIDENCE, 1e21, "val_loss"))
    assert "train 3.10 B parameters on 53.8 B samples (extrapolated 2 decades in C), put 2.10 % of N into the" in far
