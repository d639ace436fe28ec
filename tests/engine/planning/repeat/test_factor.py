"""The factor kappa from training curves, and answers from simulated tables with known truth.

kappa is the compute of repeated training, divided by the compute of the best single pass to the same loss.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from isoplan.data.files import records
from isoplan.engine.costs import compute_rule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.planning.optimum.frontier import least_compute
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.factor import fit_factor, stated
from isoplan.engine.schema import OVERFITS, Curves
from isoplan.engine.store.files.table_files import read_curves, read_runs
from tests.engine.fitting.tables import make_runs
from tests.engine.fitting.training import named
from tests.engine.planning.conftest import JETS, make_fit, scattered

RULE = compute_rule("6npND", 40)
KAPPA = 8.0
SETS = np.array([1e4, 1e5, 1e6])


def curves(noise: float = 0.0, points: int = 400) -> Curves:
    """Return training curves of three models for each data set: the smallest levels off, the other two overfit.

    The loss of the middle model is lowest at the compute KAPPA * C*. A single pass to this loss needs at least C*.
    """
    rows: list[NDArray[np.float64]] = []
    of: list[int] = []
    rng = np.random.default_rng(0)
    law = make_fit(JETS)
    for U in SETS:
        least = 0.32 + 5.79 * U**-0.22
        stop = KAPPA * float(least_compute(CHINCHILLA, law.values, np.asarray(least), RULE).C)
        for place, N in enumerate(0.1 * 200 * U**0.47 * np.array([1.0, 10, 30])):
            C = np.linspace(stop / 100, 3 * stop, points) * (3.0 if place == 2 else 1.0)
            x = C / (stop * (3.0 if place == 2 else 1.0))
            bowl = least * (1 + 0.2 * (x - 1) ** 2 * (x < 1) + (0.1 * (x - 1) ** 2 * (x > 1) if place else 0))
            of += [len(rows)] * points
            rows.append(np.stack([np.full(points, N), np.full(points, U), C, bowl + noise * rng.normal(size=points)]))
    N, U, C, loss = np.concatenate(rows, axis=1)
    return named({"N": N, "U": U, "C": C, "loss": loss}, np.array(of))


def test_kappa_comes_back_from_the_early_stops_of_the_smallest_overfitting_models() -> None:
    one = make_fit(JETS, scattered(JETS, 200, 0.01), rule=RULE)
    found = fit_factor(one, curves(), smoothing=0.0)
    assert found.value == pytest.approx(KAPPA, rel=0.03)
    assert found.n == 3
    assert found.draws.shape == (200,)
    assert 0.05 < np.std(np.log(found.draws)) < 1
    noisy = fit_factor(one, curves(noise=0.003))
    assert noisy.value == pytest.approx(KAPPA, rel=0.25)


def test_a_fitted_kappa_carries_its_resamples_into_the_answer() -> None:
    one = make_fit(JETS, scattered(JETS, 200, 0.01), rule=RULE)
    rep = make_fit((0.32, 5.79, 0.22), scattered((0.32, 5.79, 0.22), 200, 0.01, 1), law="repetition", axis="D")
    found = simulate_or_repeat(one, rep, 0.5, SampleCosts(1e-3, 2e-18), fit_factor(one, curves()))
    assert found.kappa.ci68 is not None
    assert found.kappa.ci68[0] < KAPPA < found.kappa.ci68[1]
    assert found.break_even_passes.ci68 is not None


def test_kappa_needs_curves_that_overfit() -> None:
    one = make_fit(JETS, rule=RULE)
    flat = curves()
    small = flat.take(np.arange(len(flat)) % 3 == 0)
    with pytest.raises(
        PlannerError, match="Models overfit on only 0 of 3 datasets, but kappa needs at least 2: add a column overfits"
    ):
        fit_factor(one, small)
    bare = named({k: v for k, v in flat.values.items() if k != "U"}, flat.of)
    with pytest.raises(PlannerError, match="kappa needs U in the training curves"):
        fit_factor(one, bare)
    with pytest.raises(PlannerError, match=r"cannot reach the loss .* check that both tables contain the same loss"):
        fit_factor(make_fit((2.0, *JETS[1:]), rule=RULE), flat)


def test_kappa_of_our_jets_takes_who_overfits_from_the_run_table() -> None:
    """The run table marks which runs overfit, because the training curves are too short and noisy to show it."""
    folder = Path(__file__).parents[4] / "data" / "grids"
    rows = {r["run"]: r for r in records("grids/jets_repeated.csv")}
    runs = read_runs(folder / "jets_repeated.csv", None, "", RULE, offered=(OVERFITS,))
    seen = read_curves(folder / "jets_curves.csv", runs)
    flags = {str(name): seen[OVERFITS][at] for name, at in zip(seen.names, seen.starts[:-1], strict=True)}
    assert {name: flags[name] for name in rows} == {name: float(r["overfits"]) for name, r in rows.items()}
    once = [r for r in records("grids/jets_one_pass.csv") if r["untrained"] == "0"]
    one = fit(FitSpec(bootstrap=0), make_runs({k: [float(r[k]) for r in once] for k in ("N", "D", "loss")}, n_p=40))
    found = fit_factor(one, seen)
    assert found.n == 5
    over = [r for r in rows.values() if r["overfits"] == "1"]
    ratios = []
    for U in sorted({float(r["U"]) for r in over}):
        least = min((r for r in over if float(r["U"]) == U), key=lambda r: float(r["N"]))
        spent = 6 * 40 * float(least["N"]) * float(least["best_epoch"]) * U
        ratios.append(
            spent / float(least_compute(CHINCHILLA, one.values, np.asarray(float(least["loss"])), one.compute).C)
        )
    raw = fit_factor(one, seen, smoothing=0.0)
    # The tolerance is large, because the bundled curves contain only some of the epochs.
    assert raw.value == pytest.approx(np.exp(np.mean(np.log(ratios))), rel=0.35)
    assert 1 < found.value < 10


def test_compute_along_curves_is_counted_by_the_rule_of_the_one_pass_law() -> None:
    """Compute that was derived as 6 N D is recomputed by the rule of the one-pass law, so kappa does not change."""
    one, full = make_fit(JETS, rule=RULE), curves()
    samples = full["C"] / (6 * 40 * full["N"])
    derived = named({**full.values, "D": samples, "C": 6 * full["N"] * samples}, full.of)
    derived = replace(derived, roles=derived.roles.model_copy(update={"C": None}))
    assert fit_factor(one, derived).value == pytest.approx(fit_factor(one, full).value)


def test_the_simulated_tables_cover_the_ratios_that_they_were_drawn_from() -> None:
    """The 95 % intervals contain the true amplification omega = 2.73, the true D/U = 17.2 and the true break-even."""
    grid, rows = records("demo/jets_grid.csv"), records("demo/jets_repetition.csv")
    one = fit(FitSpec(), make_runs({k: [float(r[k]) for r in grid] for k in ("N", "D", "loss")}, n_p=40))
    own = [r for r in rows if (r["features"], r["particles"]) == ("21", "128")]
    columns = {"D": [float(r["unique_jets"]) for r in own], "loss": [float(r["loss"]) for r in own]}
    rep = fit(FitSpec(law="repetition", axis="D", objective="ols-log"), make_runs(columns))
    found = simulate_or_repeat(one, rep, 0.5, SampleCosts(1e-3, 2e-18), stated(10))
    assert found.shared
    for q, truth in ((found.omega, 2.73), (found.saving, 17.2), (found.break_even_passes, 9.55)):
        assert q.ci95 is not None
        assert q.ci95[0] < truth < q.ci95[1]
        assert q.ci95[1] / q.ci95[0] < 10
