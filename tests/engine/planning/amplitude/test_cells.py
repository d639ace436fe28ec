"""Trained cells as anchors of a plan: which cells are limited by D, and which tables are refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from isoplan.data.amplitudes import trained_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cell_laws import data_law
from isoplan.engine.planning.amplitude.cells import anchors_of, most_anchors, points, read_cells, series
from isoplan.engine.planning.amplitude.evidence import Anchor
from isoplan.engine.planning.amplitude.precision import of_mse
from isoplan.engine.planning.amplitude.scaling import plan_fitted
from isoplan.engine.planning.amplitude.trained import plan_trained
from tests.engine.planning.amplitude.trained import POINTS, cells, of, table


def test_cells_that_still_fall_are_marked_and_left_out() -> None:
    found = of(falling=(100, 10_000))
    assert [one.cell.D for one in found[::3]] == list(POINTS)
    assert {one.cell.D for one in found if not one.limited} == {100, 10_000}
    assert found[0].fell == pytest.approx(0.4)
    assert found[3].fell == pytest.approx(1 - 1 / 1.02)
    assert {anchor.x for anchor in anchors_of(found)} == {1000, 3000, 30_000}
    law = data_law(found)
    assert law is not None
    assert law.value("alpha") == pytest.approx(1.3, rel=1e-6)
    assert law.value("X_c") == pytest.approx(10, rel=1e-5)


def test_a_cell_that_nobody_doubled_says_nothing() -> None:
    once = table()
    found = most_anchors(cells(once[once["updates"] == 200_000]), "Zgg")
    assert all(one.fell is None and not one.limited for one in found)
    with pytest.raises(
        PlannerError,
        match=r"The best cell has MSE 3e-05\. Train cells with at least 1000",
    ):
        plan_trained(3, of_mse(1e-6), found)


def test_numbers_of_a_setting_have_one_text_for_all_sources_and_other_columns_keep_theirs() -> None:
    typed: list[dict[str, Any]]
    typed = [
        {"sqrt_s": 500, "l2": 1e-4},
        {"sqrt_s": 500.0, "l2": 0.0001},
        {"sqrt_s": "500.0", "l2": "1e-04"},
    ]
    found = cells(*(table(points=(10_000,), d=4, **fields) for fields in typed))
    used = ("width_used 219", "layers_used 3", "rate_used 0.01")
    assert {cell.setting for cell in found} == {("sqrt_s 500", "l2 0.0001", *used)}
    assert len(series(points(found))) == 1
    default = cells(table(sqrt_s="0.0", l2="0.0", network="mlp"), table(sqrt_s=0, l2=""))
    assert {cell.setting for cell in default} == {used}
    (named,) = {(cell.process, cell.seed) for cell in cells(table(process="12345678", seed=12_345_678))}
    assert named == ("12345678", 12_345_678)


def test_the_longest_pair_of_a_ladder_counts() -> None:
    first = table()
    longer = first[first["updates"] == 200_000].assign(
        updates=400_000, C=lambda t: 2 * t["C"], seen=lambda t: 2 * t["seen"], loss=lambda t: 0.5 * t["loss"]
    )
    assert {round(one.fell or 0, 6) for one in most_anchors(cells(first, longer), "Zgg")} == {0.5}


def test_one_seed_that_went_on_speaks_for_the_others() -> None:
    rows = table()
    short = rows[(rows["updates"] == 100_000) | (rows["seed"] == 0)]
    found = most_anchors(cells(short), "Zgg")
    assert len(found) == 18
    assert {round(one.fell or 0, 6) for one in found} == {round(1 - 1 / 1.02, 6)}
    assert [one.cell.C / found[0].cell.C for one in found[:3]] == pytest.approx([1, 1, 1])
    once = rows[(rows["updates"] == 200_000) | (rows["seed"] == 0)]
    assert [one.cell.C / found[0].cell.C for one in most_anchors(cells(once), "Zgg")[:3]] == pytest.approx([1, 2, 2])
    assert {round(one.fell or 0, 6) for one in most_anchors(cells(once), "Zgg")} == {round(1 - 1 / 1.02, 6)}


def test_the_change_is_the_geometric_mean_over_the_seeds_that_have_both() -> None:
    rows = table(points=(1000,))
    last = rows["updates"] == 200_000
    for seed, factor in ((0, 0.8), (1, 1.3)):
        rows.loc[last & (rows["seed"] == seed), "loss"] *= factor
    rows = rows[~((rows["updates"] == 100_000) & (rows["seed"] == 2))]
    found = most_anchors(cells(rows), "Zgg")
    assert [one.fell for one in found] == pytest.approx([1 - math.sqrt(0.8 * 1.3) / 1.02] * 3)


def test_dimensions_of_two_to_five_particles() -> None:
    for d, known in {1: (2, True), 2: (2, False), 4: (3, True), 5: (3, False), 10: (5, True), 11: (5, False)}.items():
        cell = cells(table(d=d, points=(1000,)))[0]
        assert (cell.n_f, cell.fixed_energy) == known


def test_twice_the_batch_is_not_twice_the_compute_of_the_same_training() -> None:
    rows = table(points=(64, 1000, 3000))
    once = rows[rows["updates"] == 100_000]
    wider = once[once["D"] > 64].assign(C=lambda t: 2 * t["C"], seen=lambda t: 2 * t["seen"], batch_used=256)
    assert [one.fell for one in most_anchors(cells(once, wider), "Zgg")] == [None] * 15
    alone = most_anchors(cells(rows), "Zgg")
    assert {(one.cell.D, one.cell.batch) for one in alone} == {(64, 64), (1000, 128), (3000, 128)}
    assert len(alone) == 9
    assert {round(one.fell or 0, 6) for one in alone} == {round(1 - 1 / 1.02, 6)}


def test_other_objectives_toys_and_rows_without_a_loss_are_left_out() -> None:
    rows = table().to_dict("records")
    rows[0]["loss"], rows[1]["objective"], rows[2]["data"] = "", "heteroscedastic", "toy"
    assert len(read_cells(rows, "t.csv")) == len(rows) - 3
    assert read_cells([{**rows[3], "data": "mine.npz"}], "t.csv")[0].process == "mine.npz"


def test_bad_tables_are_one_sentence() -> None:
    rows = table().to_dict("records")
    with pytest.raises(PlannerError, match=r"t.csv has no column seen: give a table of amplitude cells"):
        read_cells([{k: v for k, v in rows[0].items() if k != "seen"}], "t.csv")
    with pytest.raises(PlannerError, match=r"Row 1 of t.csv is not a valid cell. Give positive numbers in N, D, C"):
        read_cells([rows[0] | {"D": "many"}], "t.csv")
    for name, value in (
        ("loss", 0.0),
        ("C", 0),
        ("D", -1),
        ("N", "inf"),
        ("seen", 0),
        ("d", 0),
        ("d", 3),
        ("d", "inf"),
    ):
        with pytest.raises(
            PlannerError, match=r"Row 2 of t.csv is not a valid cell. Give positive numbers .*, 3 n_f - 5"
        ):
            read_cells([rows[0], rows[1] | {name: value}], "t.csv")
    with pytest.raises(PlannerError, match=r"no trained cells of 'WWZ'\. Processes with cells: Zgg"):
        most_anchors(read_cells(rows, "t.csv"), "WWZ")
    with pytest.raises(PlannerError, match="Zgg has 3 final-state particles and the plan is for 4"):
        plan_trained(4, of_mse(1e-6), of())
    with pytest.raises(PlannerError, match="does not decrease with D, so D does not limit it"):
        plan_fitted("Zgg", 3, of_mse(1e-6), [Anchor("D", 1e3, 1e-3), Anchor("D", 1e4, 1e-3)])


def test_bundled_cells_are_all_of_the_trainers_processes() -> None:
    assert {cell.process for cell in trained_cells()} <= {"Zg", "Zgg", "Zggg", "ttH", "WZ"}


def test_cells_of_another_size_or_dimension_are_no_longer_trainings_of_the_same() -> None:
    """Twice the N also doubles the compute C, but a cell of another N is not a longer training of the first cell."""
    once = table(points=(1000, 3000, 10_000))
    once = once[once["updates"] == 100_000]
    wider = once.assign(N=2 * once["N"], C=2 * once["C"], loss=0.5 * once["loss"])
    assert {one.fell for one in points(cells(once, wider))} == {None}
    found = series(points(cells(once, wider, once.assign(d=4))))
    assert sorted((key[2], key[3], len(some)) for key, some in found.items()) == [
        (4, 99_892.0, 9), (5, 99_892.0, 9), (5, 199_784.0, 9),
    ]  # fmt: skip
