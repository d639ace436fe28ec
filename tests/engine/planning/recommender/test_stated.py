"""Recommended settings for budgets far beyond the budgets of the sweeps."""

from __future__ import annotations

import math

import pytest

from isoplan.data.recommender import published_evidence
from isoplan.engine.planning.answer.document import to_csv, to_latex, to_markdown
from isoplan.engine.planning.recommender import as_text, recommend, to_json
from isoplan.engine.planning.recommender.document import as_document
from isoplan.engine.planning.recommender.text import sentence
from isoplan.engine.quantities import power10

EVIDENCE = published_evidence()


@pytest.mark.parametrize("budget", [1e6, 1e9, 1e26])
def test_no_output_states_a_setting_more_than_three_decades_beyond_its_sweeps(budget: float) -> None:
    answer = recommend(EVIDENCE, budget, "val_loss")
    ranges = "10¹² to 10²¹ FLOPs for s, 10¹⁴ to 8 × 10²¹ FLOPs for N and D, 10¹² to 10²² FLOPs for K."
    assert sentence(answer).endswith(f"This budget lies too far beyond the runs. Supported budgets: {ranges}")
    assert sentence(answer).startswith(f"With {power10(budget)} FLOPs, for val_loss: use batches of 570 sequences at")
    paper = as_document(answer, EVIDENCE, published=True)
    for output in (as_text(answer), *(to(paper) for to in (to_csv, to_markdown, to_latex))):
        assert "360 k" not in output.replace("125k to 870k", "")
        assert "2.10" not in output
    for metric, recipe in answer.recipes.items():
        assert recipe.binds == "unknown"
        assert recipe.cap is None
        for setting in ("s", "K"):
            raw = to_json(answer)["recipes"][metric]["choices"][setting]
            assert [raw[key] for key in ("value", "ci68", "ci95", "band")] == [None] * 4
            assert raw["otherwise"] == []
    raw = to_json(answer)["recipes"]["val_loss"]["choices"]
    assert raw["s"]["supported"] == pytest.approx([1e12, 1e21])
    assert raw["K"]["supported"] == pytest.approx([1e12, 1e22])
    assert raw["B"]["supported"] is None
    stops = {w.text for w in answer.recipe.warnings if w.level == "stop"}
    distance = 26 - 18 if budget > 1e20 else 15 - round(math.log10(budget))
    what = f"The budget lies {distance} decades beyond the budgets of the sweeps of s."
    assert f"{what} Choose a budget from 10¹² to 10²¹ FLOPs." in stops


@pytest.mark.parametrize(("budget", "decades"), [(1e12, 3), (1e13, 2)])
def test_the_sentence_gives_the_distance_of_an_extrapolated_setting(budget: float, decades: int) -> None:
    text = sentence(recommend(EVIDENCE, budget, "val_loss"))
    assert f"put 2.10 % of N into the embedder (extrapolated {decades} decades in C), use batches of" in text
    assert f"score 360 k negatives in addition to the batch (extrapolated {decades} decades in C). This budget" in text
    assert text.endswith("Supported budgets: 10¹⁴ to 8 × 10²¹ FLOPs for N and D.")
    assert "extrapolated" not in sentence(recommend(EVIDENCE, 1e18, "val_loss"))
    far = sentence(recommend(EVIDENCE, 1e21, "val_loss"))
    assert "train 3.10 B parameters on 53.8 B samples (extrapolated 2 decades in C), put 2.10 % of N into the" in far
