"""Quantities of a training run before training: sizes, steps, memory, and errors for invalid fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.cell import UNREAD, BehaviorCell, calibration_cell, facts_of, name_of, sizes
from isoplan.trainers.behavior.checks import check
from isoplan.trainers.behavior.logs.log import Facts, keep_facts, read_facts
from isoplan.trainers.behavior.memory import catalogue_bytes, check_catalogue, memory, needs
from isoplan.trainers.behavior.model.shape import parameters
from isoplan.trainers.cell import CellError

HERE = Path()


def cell(**fields: object) -> BehaviorCell:
    return BehaviorCell.model_validate({"h": 16, **fields})


def facts(**fields: object) -> Facts:
    return UNREAD.model_copy(update=fields)


def test_steps_and_widths_are_taken_as_they_are() -> None:
    found = cell(width=48, layers=3, steps=77).sized(UNREAD)
    assert (found.shape.h, found.shape.width, found.shape.layers, found.steps) == (16, 48, 3, 77)
    assert found.D == 77 * 64 * 10


def test_a_share_fixes_h_beside_a_width() -> None:
    for share in (0.02, 0.1, 0.3):
        found = cell(h=0, share=share, width=256, layers=4, text_layers=2).sized(UNREAD)
        assert found.parts.s == pytest.approx(share, rel=0.06)


def test_a_budget_makes_the_model_and_the_steps() -> None:
    found = cell(h=0, budget=1e14, width=0, layers=0, ratio=15).sized(UNREAD)
    assert found.C == pytest.approx(1e14, rel=1e-3)
    assert found.D / found.N == pytest.approx(15, rel=0.05)
    assert found.parts.s == pytest.approx(0.02, rel=0.08)


def test_a_budget_of_stage_2_buys_fewer_steps_the_more_negatives() -> None:
    counts = [cell(budget=1e13, stage=2, negatives=K).more_steps(UNREAD) for K in (0, 1000, 100_000)]
    assert counts[0] > counts[1] > counts[2]
    p = parameters(cell().sized(UNREAD).shape)[1]
    assert counts[2] == round(1e13 / (640 * (6 * p + 4 * (640 + 100_000) * 16)))
    assert cell(steps=55, stage=2).more_steps(UNREAD) == 55


def test_sizes_of_a_synthetic_log_are_known_before_it_is_made() -> None:
    found = sizes(HERE, cell(users=1000, user_events=20, steps=200))
    p_e, p = parameters(cell().sized(facts(vocabulary=1000, categories=(11,), numbers=1)).shape)
    assert (found.N, found.U) == (p_e + p, 17_000)
    assert found.D == (D := 200 * 64 * 17)
    assert found.C == pytest.approx(6 * D * (p_e + p) * 1.1, rel=0.6)


def test_sizes_of_a_folder_are_known_once_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "behavior" / "shop").mkdir(parents=True)
    (tmp_path / "behavior" / "shop" / "events.txt").write_text("u i\n")
    mine = cell(data="shop")
    assert facts_of(tmp_path, mine) is None
    assert sizes(tmp_path, mine).N is None
    assert sizes(tmp_path, cell(data="shop", budget=1e12)).C == 1e12
    keep_facts(tmp_path, "shop", "last", 64, 0, UNREAD)
    assert facts_of(tmp_path, mine) == UNREAD
    assert sizes(tmp_path, mine).D == 300 * 64 * 10
    assert read_facts(tmp_path, "shop", "time", 64, 0) is None
    (tmp_path / "behavior" / "shop" / "events.txt").write_text("u i\nu j\n")
    assert facts_of(tmp_path, mine) is None


def test_rates_go_with_the_root_of_the_batch() -> None:
    assert cell(batch=512).peak_rate == 2e-3
    assert cell(batch=128).peak_rate == 1e-3
    assert cell(batch=65_536).peak_rate == 0.01
    assert cell(rate=0.3).peak_rate == 0.3


def test_cells_of_a_sweep_of_negatives_share_what_they_freeze() -> None:
    one, other = (cell(stage=2, negatives=K, softmax=s, looks=3) for K, s in ((0, "mean"), (500, "joint")))
    assert name_of(one.backbone, 7) == name_of(other.backbone, 7)
    assert name_of(one.backbone, 7) != name_of(cell(stage=2, seed=1).backbone, 7)
    assert name_of(one.backbone, 7) != name_of(one.backbone, 8)


def test_memory_grows_with_what_takes_it() -> None:
    one = memory(cell(), UNREAD)
    assert memory(cell(batch=1024), UNREAD) > 2 * one
    big = facts(items=10**8)
    assert memory(cell(), big) == pytest.approx(one + catalogue_bytes(10**8 - 10**5, 16), rel=0.01)
    assert catalogue_bytes(10**8, 188) == 4 * 188e8
    more = memory(cell(stage=2, negatives=10**6), big) - memory(cell(stage=2), big)
    assert more == 10**6 * (4 * 16 + 8)
    pooled = memory(cell(pool=65_536), UNREAD) - memory(cell(), UNREAD)
    assert pooled == pytest.approx(65_536 * (4 * 16 + 24 * 100) - 30e6, rel=0.02)
    assert memory(cell(pool=65_536, split="time"), UNREAD) > 5 * pooled
    assert needs(HERE, cell(threads=2)).cores == 2
    assert needs(HERE, cell(device="cpu")).gpu_memory == 0 < needs(HERE, cell()).gpu_memory


def test_a_catalogue_that_does_not_fit_is_one_sentence() -> None:
    check_catalogue(cell(), UNREAD, 1e9)
    with pytest.raises(CellError, match=r"of 1,000,000,000 items at h = 16 take 64 GB .* there are only 8 GB"):
        check_catalogue(cell(), facts(items=10**9), 8e9)


def test_the_short_cell_is_the_same_model_on_a_small_log() -> None:
    whole = cell(h=0, width=0, budget=1e15, stage=2, negatives=10**6, items=10**6, rivals=100)
    found = calibration_cell(HERE, whole)
    shapes = [one.sized(facts_of(HERE, one) or UNREAD).shape for one in (whole, found)]
    assert shapes[0] == shapes[1]
    assert (found.users, found.items, found.negatives, found.rivals, found.budget) == (200, 5000, 5000, 0, 0)
    assert sizes(HERE, found).C < sizes(HERE, whole).C / 100  # type: ignore[operator]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"width": 0}, "Width d is 0, so it is computed from the budget, but there is no budget: give a"),
        (
            {"negatives": 5, "budget": 1e12},
            "With K = 5 extra negatives, the budget of stage 1 cannot be converted to steps: give",
        ),
        ({"stage": 2, "negatives": 3000}, "K = 3,000 extra negatives are more than the 2,000 items of the catalogue"),
        ({"split": "last-one"}, "The split last-one has no validation set: judge on test, or use the split last or"),
        ({"data": "mine"}, "There is no log 'mine': put its events into behavior/mine of the workspace"),
        ({"budget": 1e6, "width": 0}, "is too small for a contextualiser of this depth"),
        ({"budget": 1e6}, "is less than one step"),
    ],
)
def test_fields_that_do_not_go_together_are_one_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(PlannerError) as caught:
        check(HERE, cell(**fields))
    assert sentence in str(caught.value)


def test_a_cell_as_it_comes_can_be_trained() -> None:
    check(HERE, BehaviorCell())
    assert sizes(HERE, BehaviorCell()).N is not None
