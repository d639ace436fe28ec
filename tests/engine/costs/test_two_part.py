"""Tests of the FLOPs per training step of two-part models, compared with Table 8 of the behavioural paper."""

from __future__ import annotations

import numpy as np
import pytest

from isoplan.data import files
from isoplan.engine.costs import ComputeRule, TwoPart
from isoplan.engine.errors import PlannerError

TABLE8 = [
    {name: float(x) for name, x in row.items()}
    for row in files.records("papers/behavior/table08_isoflop_accounting.csv")
]
SHARE = 0.06
PARTS = TwoPart(s=0.02, h=188, B=256)


def step_flops(parts: TwoPart, N: float) -> float:
    """Return the FLOPs of one training step (F_step in eq. 1 of the behavioural paper)."""
    return float(parts.stage1.flops(np.asarray(N), np.asarray(parts.events)))


def spent(row: dict[str, float], h: float) -> float:
    """Return the FLOPs of a training run of Table 8, divided by its nominal budget. The model has width ``h``."""
    parts = TwoPart(s=SHARE, h=h, B=row["batch_size"])
    return float(row["steps"] * step_flops(parts, row["N"]) / row["budget_flops"])


@pytest.mark.parametrize("row", TABLE8, ids=lambda r: f"{r['budget_flops']:.0e}")
def test_table_8_costs_its_budget_with_the_joint_embedding_width(row: dict[str, float]) -> None:
    assert spent(row, row["h_emb"]) == pytest.approx(1, abs=0.05)
    # Control: with the width of the contextualizer as h, the FLOPs do not agree with the budget.
    assert abs(spent(row, row["h_ctx"]) - 1) > 0.25


def test_table_8_costs_1_to_4_per_cent_over_because_n_is_rounded() -> None:
    assert [round(spent(row, row["h_emb"]), 3) for row in TABLE8] == [1.042, 1.043, 1.031, 1.013]


@pytest.mark.parametrize("row", TABLE8, ids=lambda r: f"{r['budget_flops']:.0e}")
def test_the_events_of_a_budget_are_those_of_its_steps(row: dict[str, float]) -> None:
    rule = ComputeRule(rule="step", parts=TwoPart(s=SHARE, h=row["h_emb"], B=row["batch_size"]))
    assert rule.samples(row["budget_flops"], row["N"]) == pytest.approx(row["D"], rel=0.05)


def test_effective_parameters_count_the_embedder_t_times() -> None:
    N = 1e6
    assert PARTS.effective(N) == pytest.approx(0.98e6 + 24 * 0.02e6)
    assert step_flops(PARTS, N) == pytest.approx(6 * 256 * 256 * (PARTS.effective(N) + 3 * 256 * 256 * 188))


def test_stage_2_drops_the_embedder_and_scores_more_candidates() -> None:
    parts = PARTS.model_copy(update={"K": 1e5})
    rule = ComputeRule(rule="stage2", parts=parts)
    assert rule.flops(1e6, 1e9) == pytest.approx(1e9 * (6 * 0.98e6 + 4 * (256 * 256 + 1e5) * 188))


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("s", 6.0, "embedder share s = 6 is not a fraction .* a number below 1, such as 0.02 for 2 %"),
        ("s", float("nan"), "embedder share s = nan"),
        ("h", 0.0, "joint embedding width h = 0"),
        ("B", 0.5, "batch size B = 0.5 is not possible: give a whole number of sequences, such as 256"),
        ("L", float("inf"), "sequence length L = inf is not possible: give a whole number of events"),
        ("t", 0.0, "context of the embedder t = 0"),
        ("K", -1.0, "K = -1 is not a number of extra negatives"),
    ],
)
def test_a_field_with_a_wrong_unit_is_named(field: str, value: float, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        TwoPart(**{**PARTS.model_dump(), field: value})
