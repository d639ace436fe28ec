"""Coverage of the intervals of ``isoplan repeat``, on pairs of simulated tables with a known common floor.

Both tables of a pair are fitted together.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from isoplan.data.files import path
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.repeat.answer import simulate_or_repeat
from isoplan.engine.planning.repeat.costs import SampleCosts
from isoplan.engine.planning.repeat.factor import stated
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.files.table_files import read_runs

FLOORS, TARGET = (0.05, 0.25, 0.45), 0.7
TABLES, REFITS, PROCESSES = 300, 200, 2
NAMES = ("omega", "saving", "U", "D")
LEVELS = (0.68, 0.95)


@dataclass(frozen=True, eq=False)
class Pair:
    """Simulation design: one-pass runs (``once``) and repeated runs (``again``) like those of the bundled jets tables.

    The true losses are those of laws that were refitted to the bundled tables with the fixed floor ``floor``. ``sigma``
    is the noise of log loss in each table.
    """

    floor: float
    once: Runs
    again: Runs
    sigma: tuple[float, float]
    truth: dict[str, float]

    def drawn(self, seed: int) -> tuple[Runs, Runs]:
        """Return both tables with log-normal noise. The same ``seed`` gives the same tables."""
        random = np.random.default_rng([seed, 31])
        return (_noisy(self.once, self.sigma[0], random), _noisy(self.again, self.sigma[1], random))


def _noisy(runs: Runs, sigma: float, random: np.random.Generator) -> Runs:
    loss = runs["loss"] * np.exp(sigma * random.normal(size=len(runs)))
    return Runs(np.arange(len(runs)), {**runs.values, "loss": loss}, Roles(loss="loss"), {})


def pair(floor: float) -> Pair:
    """Return the simulation design for one ``floor``."""
    once = read_runs(Path(str(path("grids/jets_one_pass.csv"))))
    again = read_runs(Path(str(path("grids/jets_repeated.csv"))), where="N > 3000")
    tables, sigma, found = [], [], {}
    for runs, law, axis, name, free in ((once, "chinchilla", None, "E", 4), (again, "repetition", "U", "L_inf", 2)):
        spec = FitSpec(law=law, axis=axis, objective="ols-log", fixed={name: floor}, bootstrap=0)
        made = fit(spec, runs)
        axes = {key: runs[key] for key in made.law.axes}
        loss = made.predict(axes)
        sigma.append(_scatter(runs["loss"], loss, free))
        tables.append(Runs(np.arange(len(loss)), {**axes, "loss": loss}, Roles(loss="loss"), {}))
        found.update({key: float(value) for key, value in made.values.items()})
    return Pair(floor, tables[0], tables[1], (sigma[0], sigma[1]), _truth(found, floor))


def _scatter(loss: Floats, law: Floats, free: int) -> float:
    return float(np.sqrt(np.sum(np.log(loss / law) ** 2) / (len(loss) - free)))


def _truth(law: dict[str, float], floor: float) -> dict[str, float]:
    """Return the true values of ``NAMES`` at the target loss (jets paper, Sec. 3.1).

    U is the number of unique samples in repeated training, and D the number of samples in compute-optimal one-pass
    training. The saving is D / U. omega is D / U for infinitely large models.
    """
    rest = TARGET - floor
    seen, U = (law["B"] / rest) ** (1 / law["beta"]), (law["B_rep"] / rest) ** (1 / law["beta_rep"])
    more = (1 + law["beta"] / law["alpha"]) ** (1 / law["beta"])
    return {"omega": seen / U, "saving": more * seen / U, "U": U, "D": more * seen}


def table(job: tuple[float, int]) -> list[tuple[float, ...]]:
    """Simulate and fit one pair of tables, and return five numbers for each of ``NAMES``.

    The numbers are the value, the low and high ends of the 68 % interval, and the low and high ends of the 95 %
    interval. ``job`` is (floor, seed).
    """
    kernels.load()
    once, again = pair(job[0]).drawn(job[1])
    one = fit(FitSpec(bootstrap=REFITS, seed=job[1]), once)
    other = fit(FitSpec(law="repetition", axis="U", bootstrap=REFITS, seed=job[1]), again)
    answer = simulate_or_repeat(one, other, TARGET, SampleCosts(1.0, 1.0), stated(10))
    found = (answer.omega, answer.saving, answer.repeat.unique, answer.one_pass.unique)
    return [_ends(q) for q in found]


def _ends(q: Quantity) -> tuple[float, ...]:
    value = math.inf if q.value is None else q.value
    return (value, *(x for ci in (q.ci68, q.ci95) for x in (ci or (math.nan, math.nan))))


def run() -> Report:
    """Simulate and fit all pairs of tables, and report the coverage."""
    rows = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for floor in FLOORS:
            truth = pair(floor).truth
            jobs = [(floor, seed) for seed in range(TABLES)]
            found = np.array(list(pool.map(table, jobs, chunksize=5)))
            for i, name in enumerate(NAMES):
                rows.append((f"{floor:g}", name, f"{truth[name]:.3g}", *_counted(found[:, i], truth[name])))
    return Report(
        "One floor in two tables",
        f"{TABLES} pairs of tables are simulated per floor, with N and D of the bundled one-pass jets and U of the "
        "repeated jets. The true laws are fitted to the bundled tables with this floor, and the losses have log-normal "
        f"noise with the scatter of these tables around the laws. Default fits with {REFITS} refits, target loss "
        f"{TARGET:g}. The last columns are the percentage of pairs whose interval contains the truth; their "
        "statistical error is 3 percentage points at 68 %.",
        ("floor", "number", "truth", "median", "68 %", "95 %"),
        tuple(rows),
    )


def _counted(found: Floats, truth: float) -> tuple[str, ...]:
    """Return the median of the values and the coverage of both intervals in percent, as text.

    Pairs without an interval are not counted. If such pairs exist, the text contains the number of counted pairs.
    """
    shares = []
    for i, _ in enumerate(LEVELS):
        low, high = found[:, 1 + 2 * i], found[:, 2 + 2 * i]
        there = ~np.isnan(low)
        inside = (low <= truth) & (truth <= high)
        shares.append(f"{100 * np.mean(inside[there]):.1f}" + ("" if there.all() else f" of {np.sum(there)}"))
    return (f"{np.median(found[:, 0]):.3g}", *shares)
