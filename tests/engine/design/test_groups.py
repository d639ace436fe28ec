"""Advice for one of several groups that share parameters: expected widths, and comparison with a group alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoplan.engine.arrays import Floats
from isoplan.engine.design.advice import Spend, advise
from isoplan.engine.design.candidates import grid_candidates
from isoplan.engine.design.choice import best_sets
from isoplan.engine.design.covariance import covariance
from isoplan.engine.design.estimand import present_widths
from isoplan.engine.design.pretend import can_pretend
from isoplan.engine.fitting import Fit, FitSpec, fit, fit_groups
from isoplan.engine.fitting.diagnostics.single_runs import freedom, scatter
from isoplan.engine.schema import Roles, Runs
from tests.engine.design.tables import BUDGET, LAW, RULE, TRUTH, loss_at

TRUTHS = {"a": TRUTH, "b": (0.9, 12.0, 20.0, 0.35, 0.37)}
CELLS = grid_candidates((1e4, 1e7), (1e6, 1e9), RULE, 0.05 * BUDGET, 4)
SPEC = FitSpec(objective="ols-log", bootstrap=200, share=("alpha", "beta"))


def losses(group: str, N: Floats, D: Floats, random: np.random.Generator) -> Floats:
    """Return losses of the true law of ``group`` with a noise of 1 %."""
    return LAW.predict(np.array(TRUTHS[group]), {"N": N, "D": D}) * np.exp(0.01 * random.standard_normal(len(N)))


def grouped(sizes: dict[str, int], random: np.random.Generator) -> Runs:
    """Return the number of runs in ``sizes`` for each group, with N from 1e4 to 1e6 and D from 1e6 to 1e8."""
    group = np.repeat(list(sizes), list(sizes.values()))
    N, D = 10 ** random.uniform(4, 6, len(group)), 10 ** random.uniform(6, 8, len(group))
    loss = np.concatenate([losses(name, N[group == name], D[group == name], random) for name in sizes])
    return with_cells(None, group, N, D, loss)


def with_cells(runs: Runs | None, group: object, N: Floats, D: Floats, loss: Floats) -> Runs:
    """Return ``runs`` and new runs of the given groups."""
    values = {"N": N, "D": D, "loss": loss, "C": np.asarray(RULE.flops(N, D), float)}
    labels = np.broadcast_to(np.array(group), len(N))
    if runs is not None:
        values = {name: np.r_[runs.values[name], x] for name, x in values.items()}
        labels = np.r_[runs.labels["group"], labels]
    roles = Roles(N="N", D="D", loss="loss", group="kind")
    return Runs(np.arange(len(labels)), values, roles, {"group": labels})


def half_width(made: Fit) -> float:
    """Return half the width of the present interval of the loss at the budget."""
    return present_widths(made, [loss_at()])[0]


@pytest.mark.parametrize("sizes", [{"a": 16, "b": 16}, {"a": 8, "b": 24}])
def test_a_fit_of_all_groups_reaches_the_expected_width_of_a_group(sizes: dict[str, int]) -> None:
    """For each of five tables, the advised cells of group a are simulated twice, and both groups are refitted."""
    ratios = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        runs = grouped(sizes, random)
        made = fit_groups(SPEC, runs).fits["a"]
        assert not can_pretend(made)
        advice = advise(made, [loss_at()], CELLS, Spend(0.05 * BUDGET, 8), whole=BUDGET)
        assert advice.after[-1][0].expected < 0.85 * advice.now[0]
        assert np.isnan(advice.after[-1][0].low)
        N, D = (CELLS.columns[axis][list(advice.cells)] for axis in ("N", "D"))
        again = [with_cells(runs, "a", N, D, losses("a", N, D, random)) for _ in range(2)]
        reached = np.median([half_width(fit_groups(SPEC, more).fits["a"]) for more in again])
        ratios.append(reached / advice.after[-1][0].expected)
    assert 0.75 < np.median(ratios) < 1.25, ratios


def test_without_information_from_other_groups_the_linear_models_are_those_of_the_runs_alone() -> None:
    """The weights of group b are almost zero, so the shared parameters follow from the runs of group a.

    The relative decreases of the width by three and by twelve cells are compared, as medians of five tables.
    """
    spec, ratios = SPEC.model_copy(update={"interval": "bc"}), []
    for seed in range(5):
        runs = grouped({"a": 32, "b": 32}, np.random.default_rng(seed))
        weight = np.where(runs.labels["group"] == "a", 1.0, 1e-6)
        runs = replace(runs, values={**runs.values, "weight": weight})
        shared = fit_groups(spec, runs).fits["a"]
        alone = fit(spec.model_copy(update={"share": ()}), runs.take(runs.labels["group"] == "a"))
        assert shared.theta == pytest.approx(alone.theta, rel=1e-3)
        one, other = (covariance(made, CELLS, [loss_at()], hedge=False) for made in (shared, alone))
        sets = [best_sets(other, CELLS.cost, 0.05 * BUDGET, most)[0] for most in (3, 12)]
        left = np.array([[model.after(cells).sd[0] / model.sd[0] for cells in sets] for model in (one, other)])
        ratios.append(left[0] / left[1])
    assert np.median(ratios, axis=0) == pytest.approx(1, abs=0.2), ratios


def test_a_shared_parameter_counts_by_the_runs_of_the_group() -> None:
    """Group a has 8 of 32 runs. Its 3 own parameters count fully, and the shared alpha and beta count 8/32 each."""
    runs = grouped({"a": 8, "b": 24}, np.random.default_rng(0))
    found = fit_groups(SPEC, runs)
    assert freedom(found.fits["a"]) == pytest.approx(8 - 3.5)
    assert sum(map(freedom, found.fits.values())) == pytest.approx(32 - len(found.parameters))
    made = found.fits["a"]
    assert scatter(made) == pytest.approx(np.sqrt((made.objective or 0.0) / 4.5))
    assert freedom(fit(SPEC.model_copy(update={"share": ()}), runs)) == 32 - 5
