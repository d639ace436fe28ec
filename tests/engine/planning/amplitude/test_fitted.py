"""Plans from a law fitted to anchors or trained cells, compared with the known truth of simulated tables."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from isoplan.data.amplitudes import best_laws
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cells import anchors_of, most_anchors, spread_of
from isoplan.engine.planning.amplitude.evidence import Anchor, fit_line
from isoplan.engine.planning.amplitude.precision import of_error, of_mse
from isoplan.engine.planning.amplitude.reply import as_document, as_text, rows, sentence, to_json
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted
from isoplan.engine.planning.amplitude.trained import plan_trained
from isoplan.engine.quantities import count
from tests.engine.planning.amplitude.trained import cells, of, table


def test_the_law_replaces_the_bound_and_says_what_changed() -> None:
    found, target = of(noise=0.05), of_mse(1e-5)
    plan = plan_trained(3, target, found, best_laws())
    anchors = anchors_of(found)
    bound = plan_amplitude(3, target, anchors[:1], None, best_laws())
    truth = 10 * 1e-5 ** (-1 / 1.3)
    assert plan.D.least is not None
    assert plan.D.most is not None
    assert bound.D.most is not None
    assert plan.D.least < truth * 1.2
    assert plan.D.most > truth / 1.2
    last = math.exp(np.mean([math.log(a.loss) for a in anchors if a.x == 30_000]))
    assert plan.D.most == pytest.approx(30_000 * (last / 1e-5) ** (1 / 0.8))
    assert bound.D.most / plan.D.most > 4
    assert plan.exponent.value == 0.8 < fit_line(anchors).alpha < (plan.needs[0].fast or plan.exponent).value
    assert "Extrapolation from the anchors at D = 1.0 k alone, with the bound 4/d = 0.8, gives at most" in plan.change
    assert "The law fitted to 12 cells of Zgg, with the exponent 1.3" in plan.change
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


def test_a_target_that_was_reached_is_inside_what_was_measured() -> None:
    plan = plan_trained(3, of_mse(1e-3), of())
    assert plan.needs[0].inside
    assert plan.D.most == pytest.approx(10 * 1e-3 ** (-1 / 1.3), rel=0.1)


def test_a_plan_gives_no_number_of_points_below_the_smallest_anchor() -> None:
    plan = plan_trained(3, of_mse(1e-2), of())
    assert (plan.D.least, plan.D.most) == (None, 1000)
    assert plan.D.note == "D = 1.0 k reaches the target"
    assert "needs at most 1.0 k phase-space points, with 100 k parameters and at most" in sentence(plan)
    two = [Anchor("D", 1e4, 1e-3), Anchor("D", 4e4, 2.5e-4)]
    assert plan_fitted("", 3, of_mse(2e-3), two).D.most == 1e4
    low, high = fit_line(two).solve(0.98e-3)
    assert low < 1e4 < high
    near = plan_fitted("", 3, of_mse(0.98e-3), two).D
    assert near.least == 1e4
    assert near.most == pytest.approx(high)


@pytest.mark.parametrize("ratio", [3, 10])
def test_a_plan_holds_the_points_that_the_law_says(ratio: float) -> None:
    """At ``D.most`` the true loss 10 / D reaches the target.

    ``D.most`` is the extrapolation from the largest anchor with the bound 4/d = 0.5.
    """
    found = of("Zggg", d=8, alpha=1.0, noise=0.1)
    least = min(one.cell.loss for one in found)
    plan = plan_trained(4, of_mse(least / ratio), found)
    assert plan.D.most is not None
    assert 10 / plan.D.most <= 1.1 * least / ratio
    largest = math.exp(np.mean([math.log(a.loss) for a in anchors_of(found) if a.x == 30_000]))
    assert plan.D.most == pytest.approx(30_000 * (largest * ratio / least) ** (1 / 0.5))
    assert plan.D.least is not None
    assert plan.D.least < 1.2 * 10 / (least / ratio)


def test_typed_anchors_at_two_places_replace_the_bound() -> None:
    """For loss 1e-6, the line through both anchors (alpha = 2) gives D = 3.2e5. The bound 4/d = 0.8 gives D = 1.8e6."""
    two = [Anchor("D", 1e5, 1e-5, N=1e5, epochs=1e3, doubled=0.0), Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3)]
    plan = plan_fitted("", 3, of_mse(1e-6), two, best_laws())
    assert plan.D.least is not None
    assert plan.D.most is not None
    assert plan.D.least < 3.2e5 < plan.D.most
    assert plan.D.most == pytest.approx(1e5 * 10 ** (1 / 0.8))
    assert plan.D.least == pytest.approx(fit_line(two).solve(1e-6)[0])
    assert plan.exponent.value == 0.8
    assert plan.change == (
        "Extrapolation from the anchor at D = 10 k alone, with the bound 4/d = 0.8, gives a D too far beyond the runs. "
        "The law fitted to 2 anchors, with the exponent 2 ± 0.061, continued with the bound 4/d with d = 5, from the "
        f"largest D = 100 k, gives at most {count(plan.D.most)} phase-space points."
    )
    assert plan.D.note == "68 % interval of the law fitted to 2 anchors"
    assert [w.code for w in plan.warnings] == ["unchecked-anchor", "far-extrapolated"]
    names: dict[str, object] = {}
    exec(as_document(plan).script.replace("print(", "("), names)
    assert names["plan"].D.most == plan.D.most  # type: ignore[attr-defined]


def test_anchors_of_other_axes_keep_their_bound_beside_the_law() -> None:
    budget = Anchor("C", 1e14, 1e-3, doubled=0.0)
    two = [Anchor("D", 1e4, 1e-3, N=1e5, epochs=1e3, doubled=0.0), Anchor("D", 1e5, 1e-5, doubled=0.0)]
    plan = plan_fitted("", 3, of_mse(1e-5), [budget, *two])
    assert plan.C.most == pytest.approx(1e14 * 100 ** (1 / 0.8))
    shown = {row[0]: row[1] for row in rows(plan)}
    # An anchor already reaches the target, so the exponent is 2 - 0.061 (law minus error) and not the bound 4/d.
    assert shown["Conservative exponent"] == "1.94"
    assert shown["Conservative exponent of C"] == "0.8"
    assert plan_fitted("", 3, of_mse(1e-5), [budget]).C.most == plan.C.most
    with pytest.raises(PlannerError, match="The scale of the law is not known"):
        plan_fitted("", 3, of_mse(1e-5), [])


def test_a_factor_of_hundreds_is_said_in_full() -> None:
    two = [Anchor("D", 1e4, 1e-3, doubled=0.0), Anchor("D", 1e5, 1e-6, doubled=0.0)]
    assert re.search(r", \d{3} times fewer\.$", plan_fitted("", 3, of_mse(5e-6), two).change)


def test_a_line_too_uncertain_for_an_end_says_so() -> None:
    two = [Anchor("D", 1e4, 1e-3, doubled=0.0), Anchor("D", 1.1e4, 0.99e-3, doubled=0.0)]
    plan = plan_fitted("", 3, of_mse(1e-5), two)
    assert plan.D.most == math.inf
    assert "needs at least " in as_text(plan)
    (text,) = (w.text for w in plan.warnings if w.code == "unbounded")
    assert text.startswith("With an exponent of -1.38, no finite D reaches the target")


def test_one_place_keeps_the_bound() -> None:
    found = of(points=(3000,))
    plan = plan_trained(3, of_mse(1e-6), found, best_laws())
    assert plan.change == ""
    assert plan.exponent.value == pytest.approx(0.8)


def test_cells_that_scatter_and_cells_that_fall_are_said() -> None:
    plan = plan_trained(3, of_mse(1e-6), of(noise=0.5, falling=(1000,)))
    said = {w.code: w.text for w in plan.warnings}
    assert "around the law, more than the assumed error of 10 %" in said["scatter"]
    assert "Cells of Zgg left out: 3." in said["still-falling"]


def test_the_spread_of_the_cells_makes_an_error_a_target() -> None:
    found = of()
    assert spread_of(found) == 1.5
    assert plan_trained(3, of_error(0.001, spread_of(found)), found).target.mse == pytest.approx((0.001 / 1.5) ** 2)


def test_the_script_of_a_plan_gives_it_again() -> None:
    plan = plan_trained(3, of_mse(1e-6), of(noise=0.05), best_laws())
    made = as_document(plan)
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


def test_cells_that_level_off_where_the_target_feels_it_are_said() -> None:
    found = of(K=1e-4, noise=0.02)
    (text,) = (w.text for w in plan_trained(3, of_mse(1.2e-4), found).warnings if w.code == "levels-off")
    said = re.match(r"A fit of these cells with a free floor gives K = ([\d.]+) × 10⁻⁵ \(", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(10, rel=0.1)
    assert "Train a cell with twice the N at the largest D" in text
    for plan in (plan_trained(3, of_mse(1e-2), found), plan_trained(3, of_mse(2e-4), found, floor=1e-4)):
        assert "levels-off" not in {w.code for w in plan.warnings}
    assert "levels-off" not in {w.code for w in plan_trained(3, of_mse(1e-6), of(noise=0.02)).warnings}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_seeds_at_one_place_count_alike(order: tuple[int, ...]) -> None:
    """The geometric mean of the losses at D = 3e3 is 1e-4 * 3^(1/3). The extrapolation with 4/d = 0.8 starts there."""
    seeds = [Anchor("D", 3e3, loss, doubled=0.0) for loss in (1e-4, 1e-4, 3e-4)]
    most = 3e3 * (1e-4 * 3 ** (1 / 3) / 1e-6) ** (1 / 0.8)
    assert plan_fitted("", 3, of_mse(1e-6), [seeds[i] for i in order]).D.most == pytest.approx(most)
    more = plan_fitted("", 3, of_mse(1e-6), [*(seeds[i] for i in order), Anchor("D", 1e4, 2e-5, doubled=0.0)])
    said = f"Extrapolation from the anchors at D = 3.0 k alone, with the bound 4/d = 0.8, gives at most {count(most)}"
    assert more.change.startswith(said)
