"""Sizing of training runs, compared with the tables of the behavioural paper and with eq. 1 by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isoplan.data import files
from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.model.shape import Fields, Shape, heads_of, parameters
from isoplan.trainers.behavior.sizing import Asked, Sized, size, stage2_steps

TABLE8 = [
    {name: float(x) for name, x in row.items()}
    for row in files.records("papers/behavior/table08_isoflop_accounting.csv")
]
TEXT = Fields(vocabulary=30_000)
BASE = Asked(1e15, TEXT, batch=64, t=24, share=0.02)
TEXT_LAYERS = {1e18: 8}
"""Number of text layers for a budget in FLOPs; 4 for all other budgets.

The paper does not report these numbers. With them, Isoplan's formula for p_e(h) agrees with the row of Table 8.
"""


def asked(**fields: object) -> Asked:
    return Asked(**{**BASE.__dict__, **fields})


def by_hand(found: Sized, K: int = 0) -> float:
    """Return F_step, the FLOPs of a training step, by eq. 1. The variables have the symbols of the equation."""
    p_e, p = parameters(found.shape)
    BL = found.batch * found.shape.length
    return 6 * BL * (found.t * p_e + p + 3 * BL * found.shape.h)


@pytest.mark.parametrize("row", TABLE8, ids=lambda r: f"{r['budget_flops']:.0e}")
def test_the_cells_of_table_8_come_out_of_their_budgets(row: dict[str, float]) -> None:
    C = row["budget_flops"]
    found = size(
        asked(
            budget=C, batch=int(row["batch_size"]), ratio=row["D_per_N"], share=0.06, layers=int(row["L_ctx"]),
            text_layers=TEXT_LAYERS.get(C, 4),
        )
    )  # fmt: skip
    assert found.C == pytest.approx(C, rel=1e-3)
    assert found.parts.s == pytest.approx(0.06, rel=0.02)
    assert found.shape.h == pytest.approx(row["h_emb"], rel=0.05)
    assert found.shape.width == pytest.approx(row["h_ctx"], rel=0.02)
    assert found.N == pytest.approx(row["N"], rel=0.04)
    assert found.D == pytest.approx(row["D"], rel=0.03)
    assert found.steps == pytest.approx(row["steps"], rel=0.03)


@pytest.mark.parametrize("row", TABLE8, ids=lambda r: f"{r['budget_flops']:.0e}")
def test_the_models_of_table_8_cost_their_budgets(row: dict[str, float]) -> None:
    layers = TEXT_LAYERS.get(row["budget_flops"], 4)
    shape = Shape(TEXT, int(row["h_emb"]), int(row["h_ctx"]), int(row["L_ctx"]), layers)
    found = Sized(shape, int(row["batch_size"]), int(row["steps"]), 24)
    assert found.parts.s == pytest.approx(0.06, rel=0.08)
    assert found.C == pytest.approx(row["F_total_flops"], rel=0.05)


@settings(max_examples=40)
@given(st.floats(14.5, 19), st.floats(0.01, 0.4), st.sampled_from([64, 256, 512]), st.floats(10, 40))
@example(log_C=14.5, s=0.375, batch=512, ratio=21.0)  # the number of steps is rounded up by almost 1/2
def test_a_cell_spends_its_budget_at_its_ratio_and_share(log_C: float, s: float, batch: int, ratio: float) -> None:
    found = size(asked(budget=10**log_C, share=s, batch=batch, ratio=ratio))
    assert found.steps * by_hand(found) == pytest.approx(10**log_C, abs=(0.5 + 1e-6) * by_hand(found))
    assert found.C == pytest.approx(found.steps * by_hand(found), rel=1e-9)
    # Sizes are rounded: h to an integer, and the width of the contextualiser to a multiple of four.
    slack = 2.5 / found.shape.h + 4.5 / found.shape.width
    assert found.parts.s == pytest.approx(s, rel=slack) or found.shape.h == 4
    if found.shape.h > 4:
        assert found.D / found.N == pytest.approx(ratio, rel=2 * slack + 0.5 / found.steps)


@pytest.mark.parametrize("s", [0.01, 0.02, 0.06, 0.27, 0.5])
def test_a_share_moves_parameters_and_little_else(s: float) -> None:
    found = size(asked(budget=1e18, share=s, batch=256))
    assert found.parts.s == pytest.approx(s, rel=0.02)
    assert found.D / found.N == pytest.approx(15, rel=0.03)


def test_no_share_is_the_narrowest_embedder() -> None:
    found = size(asked(share=1e-6))
    assert found.shape.h == 4
    assert 1e-6 < found.parts.s < 0.005
    assert found.C == pytest.approx(1e15, rel=1e-3)


def test_a_contextualiser_that_is_given_leaves_the_events() -> None:
    """In the allocation sweep, the embedder share determines the width h of the embedder.

    The budget determines the number of training events D. The field ``ratio`` has no effect.
    """
    small, large = (size(asked(width=w, layers=n, ratio=1)) for w, n in ((128, 4), (256, 6)))
    for found in (small, large):
        assert found.parts.s == pytest.approx(0.02, rel=0.08)
        assert found.C == pytest.approx(1e15, rel=0.5 / found.steps)
    assert (small.shape.layers, large.shape.width) == (4, 256)
    assert small.D > large.D


def test_a_depth_split_keeps_what_is_given() -> None:
    """In the depth sweep, h and p_e are fixed, and the number of layers of the contextualiser changes p.

    The remaining budget determines D.
    """
    cells = [size(asked(share=0.0, h=44, width=128, layers=n, text_layers=12 - n)) for n in (2, 6, 11)]
    assert [c.shape.text_layers for c in cells] == [10, 6, 1]
    assert [c.shape.h for c in cells] == [44] * 3
    assert all(c.C == pytest.approx(1e15, rel=0.5 / c.steps) for c in cells)
    assert cells[0].parts.s > cells[1].parts.s > cells[2].parts.s


def test_short_sequences_are_counted_as_they_are() -> None:
    """Sequences have about nine events on average. A step then has few events and scores, so there are more steps."""
    found = size(asked(budget=1e14, events=9.2))
    assert found.D == found.steps * 64 * 9
    p_e, p = parameters(found.shape)
    assert found.C == pytest.approx(6 * found.D * (24 * p_e + p + 3 * 64 * 9 * found.shape.h))
    assert found.C == pytest.approx(1e14, rel=1e-3)
    assert found.shape.length == 256


def test_a_width_of_the_embedder_is_kept_at_the_ratio() -> None:
    found = size(asked(share=0.0, h=44, layers=8))
    assert (found.shape.h, found.shape.layers) == (44, 8)
    assert found.D / found.N == pytest.approx(15, rel=0.05)


def test_more_negatives_are_fewer_steps() -> None:
    shape = size(BASE).shape
    none, many = (stage2_steps(shape, 1e15, 64, 256, K) for K in (0, 262_144))
    p = parameters(shape)[1]
    step = 64 * 256 * (6 * p + 4 * 64 * 256 * shape.h)
    assert none == round(1e15 / step)
    assert many < none / 2


@given(st.integers(1, 2000))
def test_heads_divide_the_width(width: int) -> None:
    n = heads_of(width)
    assert width % n == 0
    assert n == 1 or width // n >= 64
    assert heads_of(128) == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"h": 44}, "sized by its share or by its width h: give one of them"),
        ({"share": 0.0}, "sized by its share or by its width h: give one of them"),
        ({"share": 2.0}, "share 2 is not a fraction of the parameters: write a number below 1, such as 0.02 for 2 %"),
        ({"budget": 1e8}, "is too small for a contextualiser of this depth: raise the budget, or make the batch"),
        ({"budget": 1e10, "width": 128}, "is less than one step of .* FLOPs: raise the budget"),
        ({"width": 128, "text_layers": 0}, "text_layers is 0: the model needs at least 1"),
    ],
)
def test_what_has_no_size_is_one_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence):
        size(asked(**fields))


def test_a_stage_2_below_one_step_is_one_sentence() -> None:
    with pytest.raises(PlannerError, match="less than one step"):
        stage2_steps(size(BASE).shape, math.e, 64, 256, 10)


def test_items_of_which_nothing_is_known_have_no_embedder() -> None:
    with pytest.raises(PlannerError, match="have no features to embed: give features, or buckets for ids"):
        Fields()
