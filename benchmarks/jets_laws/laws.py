"""Laws of the bundled jets grids, fitted as by `isoplan fit`, and how well they predict."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isoplan.data.catalogue import records
from isoplan.engine.costs import ComputeRule
from isoplan.engine.costs.measured import MeasuredRule, fit_powers
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.fitting.validation.extrapolation import BASELINES, Points
from isoplan.engine.planning.actual.outcome import Actual, Outcome, outcome
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.schema import Runs
from isoplan.engine.store.files.table_files import read_runs
from isoplan.trainers.jets.features import KINDS

GRIDS = Path(__file__).parents[2] / "data" / "grids"
SIZES = {"N": "N", "D": "D", "C": "C", "loss": "loss", "run": "run"}
REPEATED = {**SIZES, "D": "", "U": "U", "metric": "overfits"}
TRAINED = "untrained = 0"
LARGEST = 0.8
"""Quantile of the compute C. The cells above this quantile are the 20 % with the largest compute."""
LEVEL = 0.95


def there(grid: str) -> bool:
    """Return whether the grid is trained, which means that its table exists."""
    return (GRIDS / f"jets_{grid}.csv").exists()


def asked(grid: str) -> int:
    """Return the number of cells in the definition of a grid, both trained and untrained."""
    fields = tomllib.loads((GRIDS / f"jets_{grid}.toml").read_text())["cell"].values()
    return math.prod(len(value) for value in fields if isinstance(value, list))


def rows(grid: str) -> list[dict[str, str]]:
    """Return the cells of a grid, one dict of texts per row of its table."""
    return records(f"grids/jets_{grid}.csv")


def read(grid: str, mapping: Mapping[str, str], where: str = "") -> Runs:
    """Return the cells of a grid for which the SQL condition ``where`` is true.

    ``mapping`` assigns roles to columns. Compute is C = 6 n_p N D, with n_p particles per jet.
    """
    return read_runs(GRIDS / f"jets_{grid}.csv", mapping, where, theory())


@cache
def one_pass() -> tuple[Fit, Runs]:
    """Fit the loss surface of the cells that see each jet once (jets paper, eq. 1); return the fit and its runs."""
    runs = read("one_pass", SIZES, TRAINED)
    return fit(FitSpec(), runs), runs


@cache
def threshold() -> tuple[Fit, Runs]:
    """Fit the boundary between repeated training that levels off and repeated training that overfits.

    This is Fig. 3 of the jets paper. Returns the fit and its runs.
    """
    runs = read("repeated", {**SIZES, "D": "U", "U": "", "metric": "overfits"})
    return fit(FitSpec(law="threshold", y="overfits"), runs), runs


@cache
def repeated() -> tuple[Fit, Runs]:
    """Fit the loss of repeated training with early stopping as a function of the unique jets U (jets paper, eq. 4).

    Only models that overfit in most of their cells are fitted. Returns the fit and its runs.
    """
    runs = read("repeated", REPEATED)
    # Omit models that rarely overfit, because they are too small to use all information in the jets.
    share = {size: runs["overfits"][runs["N"] == size].mean() for size in np.unique(runs["N"])}
    large = runs.take(np.array([share[size] > 0.5 for size in runs["N"]]))
    return fit(FitSpec(law="repetition", axis="U"), large), large


@cache
def of_inputs(inputs: str) -> tuple[Fit, Runs]:
    """Fit the law of ``repeated`` to the cells of one input configuration; return the fit and its runs.

    All of these cells have an embedding width at which models overfit.
    """
    runs = read("inputs", REPEATED, f"inputs = '{inputs}'")
    return fit(FitSpec(law="repetition", axis="U"), runs), runs


@cache
def rejection(metric: str) -> tuple[Fit, Runs]:
    """Fit the rejection R of one signal as a function of the loss L (jets paper, Sec. 4); return the fit and its runs.

    The weight of a run depends on the relative error of its R. Runs without a value of R are omitted.
    """
    runs = read("rejection", {**SIZES, "metric": metric, "hyper": f"{metric}_error"}, f'"{metric}" is not null')
    spec = FitSpec(law="metric-map", axis="loss", y=metric, objective="ols-log", relative_error=f"{metric}_error")
    return fit(spec, runs), runs


def metrics() -> tuple[str, ...]:
    """Return the names of the rejection columns, one per signal."""
    return tuple(kind.metric for kind in KINDS if kind.metric)


@cache
def theory() -> ComputeRule:
    """Return the compute rule 6 n_p N D, where n_p is the mean number of particles of the one-pass cells."""
    return ComputeRule(rule="6npND", n_p=float(np.mean([float(row["n_p"]) for row in rows("one_pass")])))


def counted() -> MeasuredRule:
    """Fit powers of N and D to the counted C of the one-pass cells, and return the rule."""
    runs = one_pass()[1]
    return fit_powers(runs["N"], runs["D"], runs["C"])


@dataclass(frozen=True)
class HoldOut:
    """Test of the law on the 20 % of cells with the largest compute.

    ``law`` and ``baselines`` are mean relative errors on these cells. ``outcomes`` compares each cell with its
    prediction. ``decades`` is log10(largest compute / largest fitted compute).
    """

    fitted: int
    law: float
    baselines: Mapping[str, float]
    outcomes: tuple[Outcome, ...]
    decades: float

    @property
    def inside(self) -> int:
        """Number of held-out cells whose loss is in its 95 % prediction interval."""
        return sum(one.inside(LEVEL) is True for one in self.outcomes)

    @property
    def best(self) -> str:
        """Name of the baseline with the smallest error."""
        return min(self.baselines, key=lambda name: self.baselines[name])


@cache
def hold_out() -> HoldOut:
    """Test the one-pass law on the 20 % of cells with the largest compute, after a fit to all other cells."""
    whole, runs = one_pass()
    held = runs["C"] > np.quantile(runs["C"], LARGEST)
    known, new = runs.take(~held), runs.take(held)
    made = fit(whole.spec, known)
    plan = plan_budget(made, float(np.median(new["C"])))
    outcomes = tuple(
        outcome(plan, made, Actual(float(y), N=float(n), D=float(d), C=float(c)))
        for n, d, c, y in zip(new["N"], new["D"], new["C"], new["loss"], strict=True)
    )
    points = [Points(r["C"], np.log(np.column_stack([r["N"], r["D"]])), r["loss"]) for r in (known, new)]
    errors = {name: _error(one(*points), new["loss"]) for name, one in BASELINES.items()}
    decades = float(np.log10(new["C"].max() / known["C"].max()))
    return HoldOut(
        len(known), _error(made.predict({"N": new["N"], "D": new["D"]}), new["loss"]), errors, outcomes, decades
    )


def _error(predicted: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.mean(np.abs(predicted - y) / y))


@dataclass(frozen=True)
class Rates:
    """Losses at one width and one number of jets, for each tested learning rate in increasing order."""

    width: int
    jets: int
    rates: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def best(self) -> float:
        """The learning rate with the lowest loss."""
        return self.rates[int(np.argmin(self.losses))]

    @property
    def ends(self) -> bool:
        """Whether the best learning rate is the largest tested rate. If so, a larger rate may be better."""
        return self.best == self.rates[-1]

    def costs(self, rate: float) -> float:
        """Return (loss at ``rate`` - lowest loss) / lowest loss."""
        return self.loss(rate) / min(self.losses) - 1

    def loss(self, rate: float) -> float:
        """Return the loss at ``rate``, interpolated linearly in ln rate."""
        return float(np.interp(np.log(rate), np.log(self.rates), self.losses))


def study() -> list[Rates]:
    """Return the study of learning rates, one item for each width and number of jets."""
    found: dict[tuple[int, int], dict[float, float]] = {}
    for row in rows("rates"):
        found.setdefault((int(row["width"]), int(row["U"])), {})[float(row["rate_used"])] = float(row["loss"])
    return [Rates(*key, *zip(*sorted(losses.items()), strict=True)) for key, losses in sorted(found.items())]


def interval(made: Fit, name: str) -> tuple[float, Interval | None]:
    """Return the value of a parameter or of a derived number of a fit, and its 68 % interval."""
    found = next(p for p in (*made.parameters, *made.derived) if p.name == name)
    return found.value, found.ci68
