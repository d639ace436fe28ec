"""Trained cells as anchors, the law through them, and the plan by that law: against tables of a known truth."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from data.amplitudes import best_laws, published_exponents, trained_cells
from engine.errors import PlannerError
from engine.planning.amplitude import (
    Anchor,
    Point,
    TrainedCell,
    anchors_of,
    as_text,
    most_anchors,
    of_error,
    of_mse,
    plan_amplitude,
    plan_fitted,
    plan_trained,
    read_cells,
    rows,
    spread_of,
    to_json,
)
from engine.planning.amplitude.cell_law import data_law, exponents, fit_cells
from engine.planning.amplitude.document import document
from engine.planning.amplitude.fitted import fit_line
from engine.quantities import count
from tests.engine.planning.amplitude.trained import POINTS, table


def cells(*tables: pd.DataFrame) -> tuple[TrainedCell, ...]:
    return read_cells(pd.concat(tables).to_dict("records"), "table.csv")


def of(process: str = "Zgg", **fields: object) -> tuple[Point, ...]:
    return most_anchors(cells(table(process, **fields)), process)  # type: ignore[arg-type]


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
    with pytest.raises(PlannerError, match="D limits none of the 18 cells of Zgg: train some with at least 1000"):
        plan_trained(3, of_mse(1e-6), found)


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


@settings(max_examples=15, deadline=None)
@given(st.floats(0.4, 2.2), st.integers(0, 50))
def test_the_law_of_a_noisy_table_holds_its_truth(alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    D = np.repeat(POINTS, 3).astype(float)
    law = fit_cells("D", D, (10 / D) ** alpha * np.exp(0.1 * rng.standard_normal(len(D))))
    low, high = law.interval("alpha")
    assert low < law.value("alpha") < high
    assert abs(law.value("alpha") - alpha) < 4 * (high - low) / 2
    assert law.scatter == pytest.approx(0.1, rel=0.75)


def test_intervals_are_those_of_an_independent_fit_of_the_logs() -> None:
    """For a small error the profile is a parabola, whose width scipy's covariance gives."""
    rng = np.random.default_rng(2)
    D = np.repeat(POINTS, 3).astype(float)
    loss = (1e-3 + (10 / D) ** 1.3) * np.exp(0.1 * rng.standard_normal(len(D)))
    law = fit_cells("D", D, loss)

    def model(x: np.ndarray, logs: float, alpha: float, K: float) -> np.ndarray:
        return np.log(K + np.exp(alpha * (logs - np.log(x))))

    best, cov = curve_fit(model, D, np.log(loss), (np.log(9), 1.2, 8e-4), np.full(len(D), 0.1), absolute_sigma=True)
    assert law.value("alpha") == pytest.approx(best[1], rel=1e-4)
    for name, at in (("alpha", 1), ("K", 2)):
        low, high = law.interval(name)  # type: ignore[arg-type]
        assert (high - low) / 2 == pytest.approx(np.sqrt(cov[at, at]), rel=0.05)
    low, high = law.interval("X_c")
    assert np.log(high / low) / 2 == pytest.approx(np.sqrt(cov[0, 0]), rel=0.05)


def test_a_floor_of_zero_is_the_lower_end_and_few_places_hold_it() -> None:
    D = np.repeat(POINTS, 3).astype(float)
    assert fit_cells("D", D, (10 / D) ** 1.3).interval("K")[0] == 0
    three = fit_cells("D", D[:9], (10 / D[:9]) ** 1.3)
    assert three.interval("K") == (0, 0)
    assert three.value("alpha") == pytest.approx(1.3)
    with pytest.raises(PlannerError, match="cells at two values of D or more"):
        fit_cells("D", [100, 100], [0.1, 0.2])


def test_exponents_of_all_processes_beside_the_published() -> None:
    both = cells(table("Zg", 2, 2.0), table("Zgg", 5, 1.3), table("ttH", 5, 1.5, points=(1000, 3000)))
    assert [(one.process, one.d) for one in exponents(both)] == [("Zg", 2), ("Zgg", 5)]
    assert exponents(both)[1].alpha == pytest.approx(1.3, rel=1e-5)
    printed = {one.process: one for one in published_exponents()}
    assert [printed[name].alpha for name in ("Zg", "Zgg", "Zggg")] == [2.084, 1.301, 1.008]
    assert printed["Zg"].ends == pytest.approx((2.057, 2.111))
    assert {one.process: one.d for one in published_exponents()}["Zgggg"] == 11


def test_the_law_replaces_the_bound_and_says_what_changed() -> None:
    found, target = of(noise=0.05), of_mse(1e-6)
    plan = plan_trained(3, target, found, best_laws())
    anchors = anchors_of(found)
    bound = plan_amplitude(3, target, anchors[:1], None, best_laws())
    truth = 10 * 1e-6 ** (-1 / 1.3)
    assert plan.D.least is not None
    assert plan.D.most is not None
    assert bound.D.most is not None
    assert plan.D.least < truth * 1.2
    assert plan.D.most > truth / 1.2
    assert plan.D.most / plan.D.least < 2
    assert bound.D.most / plan.D.most > 10
    assert plan.exponent.value < fit_line(anchors).alpha < (plan.needs[0].fast or plan.exponent).value
    assert "From the cheapest anchor alone, at D = 1.0 k, the bound 4/d = 0.8 asked for at most" in plan.change
    assert "the law of 12 cells of Zgg, with the exponent 1.3" in plan.change
    assert "times fewer." in plan.change
    assert plan.change in as_text(plan)
    assert to_json(plan)["change"] == plan.change
    assert plan.N.most == 99_892
    assert plan.C.most == pytest.approx(6e5 * plan.D.most * (100_000 * 128 / 30_000))


def test_the_ends_of_a_plan_are_where_the_band_of_the_line_reaches_the_target() -> None:
    anchors = anchors_of(of(noise=0.1))
    line = fit_line(anchors)
    for mse in (1e-7, 1e-4, 1e-2):
        low, high = line.solve(mse)
        upper, lower = line.ends(np.array([low, high]))
        assert lower[0] == pytest.approx(mse)
        assert upper[1] == pytest.approx(mse)
    x = np.log([a.x for a in anchors])
    slope, cov = np.polyfit(x, np.log([a.loss for a in anchors]), 1, cov="unscaled")
    assert line.alpha == pytest.approx(-slope[0])
    assert line.alpha_error == pytest.approx(line.error * math.sqrt(cov[0, 0]))


def test_a_target_that_was_reached_is_inside_what_was_measured() -> None:
    plan = plan_trained(3, of_mse(1e-2), of())
    assert plan.needs[0].inside
    assert plan.D.most == pytest.approx(10 * 1e-2 ** (-1 / 1.3), rel=0.1)


@pytest.mark.parametrize("ratio", [3, 10])
def test_a_plan_holds_the_points_that_the_law_says(ratio: float) -> None:
    """Trained where the plan says, the law of the table reaches the target and overspends little."""
    found = of("Zggg", d=8, alpha=1.0, noise=0.1)
    least = min(one.cell.loss for one in found)
    plan = plan_trained(4, of_mse(least / ratio), found)
    assert plan.D.most is not None
    assert 10 / plan.D.most <= 1.1 * least / ratio
    assert plan.D.most < 3 * 10 / (least / ratio)


def test_typed_anchors_at_two_places_replace_the_bound() -> None:
    """alpha = 2 through (1e4, 1e-3) and (1e5, 1e-5): by hand 1e-7 takes 1e6 points, and the bound 0.8 took 1e9."""
    two = [Anchor("D", 1e5, 1e-5, N=1e5, epochs=1e3, doubled=0.0), Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3)]
    plan = plan_fitted("", 3, of_mse(1e-7), two, best_laws())
    assert plan.D.least is not None
    assert plan.D.most is not None
    assert plan.D.least < 1e6 < plan.D.most
    assert math.sqrt(plan.D.least * plan.D.most) == pytest.approx(1e6, rel=0.02)
    error = 0.1 / (math.log(10) / math.sqrt(2))
    assert plan.exponent.value == pytest.approx(2 - error)
    assert plan.change == (
        "From the cheapest anchor alone, at D = 10 k, the bound 4/d = 0.8 asked for at most 1.0 B phase-space points; "
        f"the law of 2 anchors, with the exponent 2 ± 0.061, asks for at most {count(plan.D.most)}, "
        f"{count(1e9 / plan.D.most)} times fewer."
    )
    assert plan.D.note == "between the ends of the law of 2 anchors"
    assert [w.code for w in plan.warnings] == ["unchecked-anchor"]
    names: dict[str, object] = {}
    exec(document(plan).script.replace("print(", "("), names)
    assert names["plan"].D.most == plan.D.most  # type: ignore[attr-defined]


def test_anchors_of_other_axes_keep_their_bound_beside_the_law() -> None:
    budget = Anchor("C", 1e14, 1e-3, doubled=0.0)
    two = [Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3, doubled=0.0), Anchor("D", 1e5, 1e-5, doubled=0.0)]
    plan = plan_fitted("", 3, of_mse(1e-5), [budget, *two])
    assert plan.C.most == pytest.approx(1e14 * 100 ** (1 / 0.8))
    shown = {row[0]: row[1] for row in rows(plan)}
    assert shown["Conservative exponent"] == "1.94"
    assert shown["Conservative exponent of C"] == "0.8"
    assert plan_fitted("", 3, of_mse(1e-5), [budget]).C.most == plan.C.most
    with pytest.raises(PlannerError, match="The scale of the law is not known"):
        plan_fitted("", 3, of_mse(1e-5), [])


def test_a_factor_of_hundreds_is_said_in_full() -> None:
    two = [Anchor("D", 1e4, 1e-3, doubled=0.0), Anchor("D", 1e5, 1e-5, doubled=0.0)]
    assert re.search(r", \d{3} times fewer\.$", plan_fitted("", 3, of_mse(1e-7), two).change)


def test_a_line_too_uncertain_for_an_end_says_so() -> None:
    two = [Anchor("D", 1e4, 1e-3, doubled=0.0), Anchor("D", 1.1e4, 0.99e-3, doubled=0.0)]
    plan = plan_fitted("", 3, of_mse(1e-5), two)
    assert plan.D.most == math.inf
    assert "needs at least " in as_text(plan)
    (text,) = (w.text for w in plan.warnings)
    assert text.startswith("By the lower 68 % end of the law of 2 anchors (0.105 ± 1.5) no finite D reaches the target")


def test_one_place_keeps_the_bound() -> None:
    found = of(points=(3000,))
    plan = plan_trained(3, of_mse(1e-6), found, best_laws())
    assert plan.change == ""
    assert plan.exponent.value == pytest.approx(0.8)


def test_cells_that_scatter_and_cells_that_fall_are_said() -> None:
    plan = plan_trained(3, of_mse(1e-6), of(noise=0.5, falling=(1000,)))
    said = {w.code: w.text for w in plan.warnings}
    assert "around the law, more than the 10 %" in said["scatter"]
    assert "3 of the cells of Zgg are left out" in said["still-falling"]


def test_the_spread_of_the_cells_makes_an_error_a_target() -> None:
    found = of()
    assert spread_of(found) == 1.5
    assert plan_trained(3, of_error(0.001, spread_of(found)), found).target.mse == pytest.approx((0.001 / 1.5) ** 2)


def test_the_script_of_a_plan_gives_it_again() -> None:
    plan = plan_trained(3, of_mse(1e-6), of(noise=0.05), best_laws())
    made = document(plan)
    names: dict[str, object] = {}
    exec(made.script.replace("print(", "("), names)
    again = names["plan"]
    assert again.D.most == plan.D.most  # type: ignore[attr-defined]
    assert plan.change in str(made.lines)


def test_a_fixed_energy_has_one_dimension_less() -> None:
    found = of(d=4, sqrt_s=1000)
    assert found[0].cell.n_f == 3
    assert plan_trained(3, of_mse(1e-6), found).dimension == 4


@pytest.mark.parametrize(("sqrt_s", "d", "fixed", "bound"), [(0, 4, True, 1.0), (1000, 5, False, 0.8)])
def test_the_dimension_of_a_file_says_whether_its_energy_is_fixed(
    sqrt_s: float, d: int, fixed: bool, bound: float
) -> None:
    found = most_anchors(cells(table(d=d, data="mine.npz", sqrt_s=sqrt_s, points=(3000,))), "mine.npz")
    assert (found[0].cell.n_f, found[0].cell.fixed_energy) == (3, fixed)
    plan = plan_trained(3, of_mse(1e-6), found)
    assert (plan.dimension, plan.exponent.value, plan.fixed_energy) == (d, bound, fixed)
    with pytest.raises(PlannerError, match=r"mine.npz has 3 final-state particles and the plan is for 2"):
        plan_trained(2, of_mse(1e-6), found)


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
    with pytest.raises(PlannerError, match=r"Row 1 of t.csv is no cell: give positive numbers in N, D, C"):
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
        with pytest.raises(PlannerError, match=r"Row 2 of t.csv is no cell: give positive numbers .*, 3 n_f - 5, and"):
            read_cells([rows[0], rows[1] | {name: value}], "t.csv")
    with pytest.raises(PlannerError, match="no trained cells of 'WWZ': choose one of Zgg, or train some"):
        most_anchors(read_cells(rows, "t.csv"), "WWZ")
    with pytest.raises(PlannerError, match="Zgg has 3 final-state particles and the plan is for 4"):
        plan_trained(4, of_mse(1e-6), of())
    with pytest.raises(PlannerError, match="The loss does not fall with D, so that D does not limit it"):
        plan_fitted("Zgg", 3, of_mse(1e-6), [Anchor("D", 1e3, 1e-3), Anchor("D", 1e4, 1e-3)])
    with pytest.raises(PlannerError, match=r"at or below the floor 0\.01"):
        fit_line(anchors_of(of()), 0.01)


def test_bundled_cells_are_all_of_the_trainers_processes() -> None:
    assert {cell.process for cell in trained_cells()} <= {"Zg", "Zgg", "Zggg", "ttH", "WZ"}
