"""Plans from trained cells: convergence, kinds of error, and no answer for a target below the floor of the cells."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.amplitudes_laws.laws import local_slopes
from isoplan.data.amplitudes import published_law, trained_cells
from isoplan.data.files import path
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.amplitude.cell_laws import data_law
from isoplan.engine.planning.amplitude.cells import Point, anchors_of, by_error, most_anchors, spread_of
from isoplan.engine.planning.amplitude.evidence import Anchor
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Precision, check_kind, of_error, of_mse
from isoplan.engine.planning.amplitude.reply import as_document, as_text, sentence, to_json
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted
from isoplan.engine.planning.amplitude.trained import plan_trained
from tests.engine.planning.amplitude.trained import cells, table


def bundled(process: str, kind: str = "rms") -> tuple[Point, ...]:
    return most_anchors(by_error(trained_cells(), kind), process)


def frame() -> pd.DataFrame:
    return pd.read_csv(str(path("grids/amplitudes_data.csv")))


def changes(process: str, column: str = "loss") -> dict[int, float]:
    """Return for each D the relative change of ``column`` when the compute C doubles for the last time.

    The change is a geometric mean over seeds, computed with pandas and NumPy only.
    """
    found = {}
    for D, own in frame().query("process == @process").groupby("D"):
        wide = own.pivot_table(index="seed", columns="C", values=column).sort_index(axis=1)
        both = wide.iloc[:, -2:].dropna()
        found[int(float(str(D)))] = math.exp(float(np.log(both.iloc[:, 1] / both.iloc[:, 0]).mean())) - 1
    return found


@pytest.mark.parametrize("process", ["WZ", "Zg", "Zgg", "ttH", "Zggg"])
def test_a_place_is_converged_where_twice_the_compute_changes_the_loss_by_less_than_a_tenth(process: str) -> None:
    """Zg and Zgg are not converged at D = 30,000: twice the compute increases their losses by 93 % and 53 %."""
    for one in bundled(process):
        change = changes(process)[int(one.cell.D)]
        assert one.fell == pytest.approx(-change, abs=1e-6)
        assert one.limited == (abs(change) < 0.1)
        assert one.state == ("converged" if abs(change) < 0.1 else "rises" if change > 0 else "falls")


def test_which_places_of_the_bundled_scans_are_converged() -> None:
    places = {name: {int(o.cell.D) for o in bundled(name) if o.limited} for name in ("WZ", "Zg", "Zgg", "ttH", "Zggg")}
    assert places["Zg"] == set()
    assert places["WZ"] == {100, 300}
    assert places["Zgg"] == {100, 300, 1000, 3000}
    assert places["ttH"] == {100, 300, 3000}
    assert places["Zggg"] == {100, 300, 1000, 3000, 10_000}
    assert [data_law(bundled(name)) is None for name in ("WZ", "Zg", "Zgg")] == [True, True, False]


def test_exponents_with_and_without_a_floor_and_local_slopes() -> None:
    """alpha is 2.50 for Zg, 1.36 for Zgg and 2.03 for ttH. Without a floor, alpha is 2.10, 1.17 and 1.65."""
    for name, free, held in (("Zg", 2.50, 2.10), ("Zgg", 1.36, 1.17), ("ttH", 2.03, 1.65)):
        laws = [data_law(bundled(name), undecided=True, floor=floor) for floor in (True, False)]
        assert [round(law.value("alpha"), 2) for law in laws if law] == pytest.approx([free, held], abs=0.006)
    assert [round(slope, 1) for _, _, slope in local_slopes(bundled("Zgg"))] == [0.9, 1.7, 1.2, 1.1, 0.6]


def test_no_headline_where_the_law_of_the_cells_levels_off_above_the_target() -> None:
    found = bundled("Zgg")
    plan = plan_trained(3, of_error(0.001, spread_of(found)), found)
    text = sentence(plan)
    assert "needs" not in text
    assert "levels off above this target, at an MSE of 1.92e-05 (RMS relative error 0.66 %)" in text
    assert "Train cells with twice the N at D = 30 k, and cells at D = 10 k, 30 k with a lower learning rate" in text
    assert (plan.D.most, plan.N.most, plan.C.most) == (None, None, None)
    raw = json.loads(json.dumps(to_json(plan), allow_nan=False))
    assert raw["answered"] is False
    assert raw["allocation"]["D"]["most"] is None
    assert "levels off above the target" in raw["allocation"]["D"]["note"]
    assert as_text(plan).startswith(text)
    exec(as_document(plan).script.replace("print(", "("), {})


@pytest.mark.parametrize(("mse", "place"), [(1.9e-5, "above"), (2e-5, "near"), (2.2e-5, "near")])
def test_no_headline_within_the_interval_of_where_the_cells_level_off(mse: float, place: str) -> None:
    """The floor K of Zgg is 1.92e-5 (68 %: 1.6e-5 to 2.3e-5). A target below 2.3e-5 may not be reachable."""
    found = bundled("Zgg")
    plan = plan_trained(3, of_mse(mse), found)
    assert (
        f"Their law levels off {place} this target, at an MSE of 1.92e-05 (68 %: 1.6 × 10⁻⁵ to 2.3 × 10⁻⁵)"
        in sentence(plan)
    )
    assert (plan.D.most, plan.N.most, plan.C.most) == (None, None, None)
    assert plan_trained(3, of_mse(2.4e-5), found).D.most is not None


def test_the_conservative_end_is_never_below_the_bound_from_the_largest_anchor() -> None:
    """The extrapolation with the bound 4/d starts at the largest converged D, from the geometric mean of its losses."""
    for name, n_f, bound in (("Zgg", 3, 0.8), ("Zggg", 4, 0.5)):
        found = bundled(name)
        anchors = anchors_of(found)
        last = max(a.x for a in anchors)
        loss = math.exp(np.mean([math.log(a.loss) for a in anchors if a.x == last]))
        for ratio in (2.0, 3.0, 100.0):
            target = of_mse(loss / ratio)
            plan = plan_fitted(name, n_f, target, anchors)
            if ratio > 10 ** (3 * bound):
                assert plan.stopped
                continue
            assert plan.D.most is not None
            assert plan.D.most >= last * ratio ** (1 / bound) * (1 - 1e-9)


@pytest.mark.parametrize("rises", [0.02, 0.3])
def test_cells_whose_loss_rises_enter_no_law(rises: float) -> None:
    rows = table(points=(1000, 3000, 10_000, 30_000))
    longer = (rows["updates"] == 200_000) & (rows["D"] == 30_000)
    rows.loc[longer, "loss"] *= 1.02 * (1 + rises)
    found = most_anchors(cells(rows), "Zgg")
    assert {a.x for a in anchors_of(found)} == {1000, 3000, 10_000} | ({30_000} if rises < 0.1 else set())
    plan = plan_trained(3, of_mse(1e-6), found)
    said = " ".join(w.text for w in plan.warnings)
    assert ("train with a lower learning rate" in said) == (rises > 0.1)


def test_a_median_target_that_cells_have_reached_is_answered_by_them() -> None:
    """The geometric mean of the median errors of the three cells of Zgg at 10,000 points is 0.099 %."""
    own = frame().query("process == 'Zgg' and D == 10000 and C < 1e13")["relative_median"]
    assert math.exp(np.log(own).mean()) == pytest.approx(0.00099, rel=0.01)
    plan = plan_trained(3, of_error(0.001, None, "median"), bundled("Zgg", "median"))
    assert (plan.D.least, plan.D.most) == (10_000, 10_000)
    assert sentence(plan).startswith(
        "A median relative error of 0.1 % for 3 final-state particles is reached by trained cells with 10 k"
    )
    assert plan.measured == "median 0.061 %, 99 % of the points below 1.3 % at D = 30 k"
    assert to_json(plan)["question"]["error"] == "median"


def test_a_median_target_beyond_the_cells_uses_their_law() -> None:
    """The median error is (10 / D)^0.65 / 20 in this table, so 1e-4 needs D = 10 * 500^(1/0.65)."""
    rows = table(relative_median=0.0)
    rows["relative_median"] = (10 / rows["D"]) ** 0.65 / 20
    rows["relative_99"] = 3 * np.sqrt(rows["loss"])
    found = most_anchors(by_error(cells(rows), "median"), "Zgg")
    plan = plan_trained(3, of_error(1e-4, None, "median"), found)
    truth = 10 * (0.05 / 1e-4) ** (1 / 0.65)
    assert plan.D.least is not None
    assert plan.D.most is not None
    assert plan.D.least < truth < plan.D.most
    names: dict[str, AmplitudePlan] = {}
    exec(as_document(plan).script.replace("print(", "("), names)
    assert names["plan"].D.most == plan.D.most


@pytest.mark.parametrize(
    ("kind", "target", "message"),
    [
        ("rms", of_mse(20.0), "Target MSE: 20 is too large, because a constant prediction of the standardised log"),
        ("rms", of_error(6.522, 2.174), r"Target MSE: 9 \(an RMS relative error of 652.2 %\) is too large, because"),
        (
            "median",
            of_error(1.2, None, "median"),
            "Target median relative error: 120 % is too large, because a prediction of zero has an error of 100 %",
        ),
        ("99", of_error(1.0, None, "99"), "Target relative error of 99 % of the points: 100 % is too large, because a"),
    ],
)
def test_a_target_that_a_constant_reaches_is_refused(kind: str, target: Precision, message: str) -> None:
    with pytest.raises(PlannerError, match=message):
        plan_trained(4, target, bundled("Zggg", kind))


@pytest.mark.parametrize(("kind", "target"), [("rms", of_mse(0.5)), ("median", of_error(0.9, None, "median"))])
def test_a_coarse_target_is_answered_by_the_smallest_cells(kind: str, target: Precision) -> None:
    plan = plan_trained(4, target, bundled("Zggg", kind))
    assert plan.reached
    assert plan.D.least == plan.D.most == 100


def test_kinds_without_a_law_are_refused_with_what_to_do() -> None:
    median = of_error(0.001, None, "median")
    with pytest.raises(PlannerError, match=r"Kind of error: published laws have an MSE but no median relative error"):
        plan_amplitude(4, median, (), published_law("Zggg"))
    with pytest.raises(PlannerError, match="Kind of error: runs that you type have an MSE"):
        plan_fitted("", 3, median, [Anchor("D", 1e4, 1e-3)])
    with pytest.raises(PlannerError, match="relative_median: the trained cells do not have this column"):
        by_error(cells(table()), "median")
    with pytest.raises(PlannerError, match=r"--error: 'typical' is not known\. Use rms, median or 99%"):
        check_kind("typical", "--error")
    assert [check_kind(text, "") for text in ("99 %", "RMS", "median")] == ["99", "rms", "median"]
    with pytest.raises(PlannerError, match=r"D limits none of the 18 cells of Zgg\. The best cell has median"):
        plan_trained(3, of_error(1e-6, None, "median"), bundled("Zgg", "median"))


def test_without_any_cell_of_a_kind_nothing_is_refused_before_the_process_is() -> None:
    assert by_error((), "median") == ()
    rows = table(relative_median="", relative_99=-1.0)
    assert all(math.isnan(cell.median) and math.isnan(cell.most) for cell in cells(rows))
