"""Evidence of a recipe from tables of trained cells: known optima and critical batch sizes are recovered."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoplan.app.commands.recipe import read_evidence
from isoplan.data import trained
from isoplan.data.catalogue import RECOMMENDER, Demo
from isoplan.data.recommender import batch_runs
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.planning.recommender import recommend
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.own_runs import Asked
from isoplan.engine.planning.recommender.sweep import at_budget
from isoplan.trainers.behavior.scores.baselines import untrained
from isoplan.trainers.behavior.scores.metrics import BASELINES, Regime
from isoplan.trainers.bundle import write
from tests.data.sweeps import A_C, B_C, B_CRIT, BUDGETS, EXPONENT, K_STAR, N_AT, S_STAR, ZETA, write_sweeps


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweeps(tmp_path_factory.mktemp("exact"))


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweeps(tmp_path_factory.mktemp("noisy"), noise=2e-3)


@pytest.mark.parametrize("metric", ["val_loss", "recall@10", "MRR@10"])
def test_known_optima_come_back(exact: Path, metric: str) -> None:
    found, (column, _) = trained.evidence(exact, metric), trained.COLUMNS[metric]
    assert [one.budget for one in found.share] == list(BUDGETS)
    assert {one.metric for one in (*found.share, *found.negatives)} == {metric}
    for one in found.share:
        assert one.place == "inside"
        assert one.x.value == pytest.approx(S_STAR[column], rel=1e-6)
    for one in found.negatives:
        if column in K_STAR:
            assert one.place == "inside"
            assert one.x.value == pytest.approx(K_STAR[column], rel=1e-6)
        else:
            assert (one.place, one.x.value) == ("outside right", None)
    assert found.missing == {}


def test_known_optima_lie_within_four_standard_errors(noisy: Path) -> None:
    for metric in ("val_loss", "NDCG@10"):
        found, (column, _) = trained.evidence(noisy, metric), trained.COLUMNS[metric]
        for one in found.share:
            assert one.place == "inside"
            assert one.fit is not None
            assert one.x.value is not None
            error = float(np.std(np.log(one.fit.law.optimum(one.fit.draws))))  # type: ignore[misc]
            assert abs(math.log(one.x.value / S_STAR[column])) < 4 * error


def test_an_optimum_at_the_end_of_a_sweep_lies_outside_of_it(noisy: Path) -> None:
    found = trained.evidence(noisy, "coverage@10")
    assert {one.place for one in (*found.share, *found.negatives)} == {"outside right"}
    choice = recommend(found, 1e12, "coverage@10").recipe.choices["s"]
    assert (choice.value.value, choice.place) == (None, "outside right")


@pytest.mark.parametrize("metric", ["val_loss", "recall@10", "NDCG@10"])
def test_known_critical_batches_come_back(exact: Path, noisy: Path, metric: str) -> None:
    true = B_CRIT[trained.COLUMNS[metric][0]]
    for folder, tolerance in ((exact, 0.05), (noisy, 0.1)):
        made = trained.evidence(folder, metric).batch[metric]
        found = next(p for p in made.derived if p.name == "B_crit")
        assert found.value == pytest.approx(true, rel=tolerance)
        assert found.ci95 is not None
        assert found.ci95[0] / 1.05 < true < found.ci95[1] * 1.05


def test_a_metric_whose_updates_fall_all_the_way_has_no_critical_batch(exact: Path) -> None:
    choice = recommend(trained.evidence(exact, "MRR@10"), 1e12, "MRR@10").recipe.choices["B"]
    assert (choice.value.value, choice.place) == (None, "not located")
    assert "no plateau" in choice.note


@pytest.mark.parametrize(
    ("metric", "printed"), [("val_loss", 574), ("recall@10", 544), ("NDCG@10", 274), ("MRR@10", 201)]
)
def test_updates_that_the_paper_prints_give_its_critical_batches(tmp_path: Path, metric: str, printed: float) -> None:
    """Linear curves that reach a target at the steps in Table 3 (behavioural paper) give the B_crit in this table."""
    column, way = trained.COLUMNS[metric]
    table = batch_runs(metric)
    cells = [
        {"run": f"B{B:g}", "budget": 1e17, "batch": B, "N": 1e6, "D": 1e9, "C_step": 1e17, column: 0.5}
        for B in table["batch_size"]
    ]
    points = [
        {"run": cell["run"], "update": S * k / 40, column: (1 if way == "min" else -1) * (5 - k / 40)}
        for cell, S in zip(cells, table["updates"], strict=True)
        for k in range(41)
    ]
    write(tmp_path / "behavior_batch.csv", tuple(cells[0]), cells)
    write(tmp_path / "behavior_curves.csv", tuple(points[0]), points)
    found = next(p for p in trained.evidence(tmp_path, metric).batch[metric].derived if p.name == "B_crit")
    assert found.value == pytest.approx(printed, abs=0.6)


def test_the_frontier_is_that_of_the_cells_under_what_they_cost(exact: Path) -> None:
    made = trained.evidence(exact, "NDCG@10").allocation["NDCG@10"]
    assert (made.compute.zeta, made.compute.a, made.compute.b) == pytest.approx((ZETA, A_C, B_C), rel=1e-6)
    choices = recommend(trained.evidence(exact, "NDCG@10"), 1e12, "NDCG@10").recipe.choices
    N = N_AT * (1e12 / 3e11) ** EXPONENT
    assert choices["N"].value.value == pytest.approx(N, rel=1e-6)
    assert choices["D"].value.value == pytest.approx(1e12 / ZETA / N**A_C, rel=1e-6)


def test_many_values_of_a_setting_are_fitted_by_two_costs(tmp_path: Path) -> None:
    """With ten or more embedder shares s, the law of eq. 2 (behavioural paper) is fitted.

    Its optimum is s* = (b * beta / (a * alpha))^(1 / (alpha + beta)) = 3 %.
    """
    shares = np.geomspace(0.005, 0.5, 12)
    a, alpha, beta, star = 1.5, 0.8, 1.0, 0.03
    b = a * alpha / beta * star ** (alpha + beta)
    cells = [{"run": f"{s:.4f}", "budget": 1e12, "N": 1e5, "D": 1e6, "C_step": 1e12, "s": s,
              "loss": 2 + a * s**alpha + b * s**-beta} for s in shares]  # fmt: skip
    write(tmp_path / "behavior_share.csv", tuple(cells[0]), cells)
    one = at_budget(trained.evidence(tmp_path, "val_loss").share, "val_loss", 1e12)
    assert one is not None
    assert one.fit is not None
    assert one.fit.law.name == "starvation"
    assert one.x.value == pytest.approx(star, rel=1e-4)


def test_what_is_not_trained_is_said_and_fails_nothing(tmp_path: Path) -> None:
    nothing = trained.evidence(tmp_path, "recall@10")
    assert nothing.metrics == ()
    assert set(nothing.missing) == {"s", "B", "N", "K"}
    assert nothing.missing["K"].startswith("Isoplan's negatives sweep is not trained yet")
    assert trained.budget(tmp_path) is None
    (some := tmp_path / "some").mkdir()
    write_sweeps(some, sweeps=("share",))
    assert set(trained.evidence(some, "recall@10").missing) == {"B", "N", "K"}
    assert trained.budget(some) == 1e12
    assert trained.evidence(some, "AUC").missing["s"].startswith("The cells trained by Isoplan do not measure 'AUC'")


@pytest.mark.parametrize("demo", RECOMMENDER, ids=lambda demo: demo.file)
def test_the_mapping_of_a_bundled_sweep_names_columns_of_its_table(exact: Path, demo: Demo) -> None:
    (first, *_), roles = trained.rows(exact, demo.file.removesuffix(".csv").rpartition("_")[2]), demo.roles
    single = [roles.N, roles.D, roles.C, roles.budget, roles.loss, roles.seed, roles.run]
    named = {*filter(None, single), *roles.hyper, *(m.column for m in roles.metrics)}
    assert named <= set(first)
    assert demo.spec.find_law().axis == demo.spec.axis


def test_cells_that_lack_a_metric_are_left_out(tmp_path: Path) -> None:
    folder = write_sweeps(tmp_path, sweeps=("share",))
    path = folder / "behavior_share.csv"
    head, first, *rest = path.read_text().splitlines()
    cells = first.split(",")
    cells[head.split(",").index("recall@10")] = ""
    path.write_text("\n".join([head, ",".join(cells), *rest]))
    assert len(trained.cells(folder, "s", "recall@10")) == 17
    assert len(trained.cells(folder, "s", "val_loss")) == 18


@pytest.mark.parametrize("folder", trained.LOGS.values(), ids=["synthetic", "games"])
@pytest.mark.parametrize("sweep", ["share", "batch", "allocation", "negatives"])
def test_bundled_cells_are_marked_as_their_own_columns_say(folder: Path, sweep: str) -> None:
    for row in trained.rows(folder, sweep):
        regime: Regime = "full" if row["stage"] == "2" else "local"
        cell = {name: float(row[name]) for name in ("loss", "recall@10", "full_recall@10") if row.get(name)}
        known = {name: float(row[name]) for name in BASELINES}
        assert untrained(cell, known, regime) == bool(known["untrained"])
        assert float(row["passes"]) == pytest.approx(float(row["D"]) / float(row["U"]), rel=1e-5)


def test_bundled_budgets_that_did_not_train_have_no_optimum() -> None:
    found = trained.evidence(trained.LOGS["a log of video games"], "recall@10")
    assert [one.budget for one in found.negatives] == [3e11]
    (one,) = found.negatives
    assert one.x.value == pytest.approx(2918, rel=0.01)
    assert one.x.ci68 is not None
    # Without the noise of the metric, which is measured on 30,901 users, the ratio of the interval ends would be 1.3.
    assert one.x.ci68[1] / one.x.ci68[0] > 4
    assert one.place == "not located"
    assert "val_entropy" not in trained.COLUMNS


def test_the_exponent_of_the_synthetic_cells_is_marked() -> None:
    said = trained.confounded(trained.LOGS["a synthetic log"])
    assert said == (
        "Confounded: the width h has its minimum, 4, up to N = 14.6 k and the number of layers grows from 1 to 3 "
        "with N, so a is not the exponent of N alone."
    )
    assert said in trained.evidence(trained.LOGS["a synthetic log"], "val_loss").remarks["N"]
    assert trained.confounded(trained.LOGS["a log of video games"]) == ""


@pytest.mark.parametrize("setting", list(trained.SWEEPS))
def test_what_counting_reaches_is_a_row_of_every_sweep(setting: Setting) -> None:
    lines = {line[0]: line[1:] for line in trained.counted(trained.LOGS["a log of video games"], setting)}
    full = setting == "K"
    assert lines["popularity"][:3] == (("", "9.316", "0.0194") if full else ("", "6.259", "0.0575"))
    assert lines["all candidates alike"][1] == ("10.074" if full else "5.457")
    assert lines["counts after the last items"][2] == ("0.104" if full else "0.238")
    cells = {
        "s": ("cells at 4.00 × 10¹¹ FLOPs", "3.4 to 4.8", "4.825 to 4.953"),
        "B": ("cell of B = 1,024 (no better than counts)", "66", "11.079"),
        "N": ("cells at 10¹¹ FLOPs (1 of 5 no better than counts)", "0.68 to 4.5", "4.865 to 5.354"),
        "K": ("cells at 10¹¹ FLOPs (7 of 7 no better than counts)", "0.23 to 2.4", "9.387 to 9.561"),
    }
    name, passes, loss = cells[setting]
    assert lines[name][:2] == (passes, loss)
    assert len(lines) == (9 if setting == "B" else 6)


def test_every_sweep_of_every_log_is_counted() -> None:
    for folder in trained.LOGS.values():
        sweeps = {line[0] for line in trained.counting(folder) if line[1] == "popularity"}
        assert sweeps == {
            "share, batch-local", "batch, batch-local", "allocation, batch-local", "negatives, whole catalogue",
        }  # fmt: skip


def test_a_recipe_of_one_metric_fits_each_budget_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the share sweep of the games log, a recipe makes one fit per budget (three budgets) and no other fit."""
    fitted = []

    def counted(spec: FitSpec, *given: Any, **named: Any) -> Fit:
        fitted.append(spec.y)
        return fit(spec, *given, **named)

    # import_module returns the module; the attribute ``sweep`` of the package is a function of the same name.
    for name in ("sweep", "builder"):
        monkeypatch.setattr(import_module(f"isoplan.engine.planning.recommender.{name}"), "fit", counted)
    table = trained.LOGS["a log of video games"] / "behavior_share.csv"
    read_evidence(table, {}, Asked("recall@10", 20))
    assert fitted == ["recall@10"] * 3
