"""Simulated tables: fit and plan each table, compare with the truth, and store the results in blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.calibration.cases import CASES, METRIC, Case, metric
from benchmarks.coverage.designs import Design
from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import Fit, FitSpec, fit
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.actual.outcome import Actual, outcome
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import Through, through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.limits import Limits

FOLDER = Path(__file__).parents[2] / "build" / "calibration"
BLOCK = 100
"""Number of tables in a block."""
APART = 100_000
"""Difference between the first seeds of two cases. It exceeds the number of tables, so all seeds are different."""
COLUMNS = ("reached", "stated", "far 68", "far 95", "near 68", "near 95", "run 68", "run 95", "law 68", "law 95")
"""Numbers that are stored for each table.

'reached' is 1 if the near target is possible under the true law, and 'stated' is the probability of this event in the
plan. 'far' and 'near' are 1 if the interval of the compute for the far or near target contains the true value. 'run' is
1 if the result of one more run is in its prediction interval. 'law' is 1 if this result is in the interval of the law,
which does not include the noise of a run.
"""


def path(case: str, refits: int, block: int) -> Path:
    """Return the path of the file that stores one block of tables."""
    return FOLDER / f"{case}-{refits}-{block}.npy".replace(" ", "_").replace(",", "")


def work(case: str, refits: int, block: int) -> Path:
    """Simulate one block of tables, store the results, and return the path of their file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    first = APART * list(CASES).index(case) + block * BLOCK
    found = np.array([table(CASES[case], refits, first + i) for i in range(BLOCK)])
    out = path(case, refits, block)
    half = out.with_suffix(".half.npy")
    np.save(half, found)
    half.rename(out)
    return out


def load(case: str, refits: int) -> Floats:
    """Return the results of a case, of shape (tables, 10). Each row contains the ``COLUMNS`` of one simulated table."""
    name = path(case, refits, 0).name.replace("-0.npy", "-[0-9]*.npy")
    blocks = [np.load(b) for b in sorted(FOLDER.glob(name)) if ".half" not in b.name]
    return np.concatenate(blocks) if blocks else np.empty((0, len(COLUMNS)))


def table(case: Case, refits: int, seed: int) -> list[float]:
    """Simulate one table, fit and plan it, and return the numbers that ``COLUMNS`` names."""
    truth = case.truth(case.floor(np.random.default_rng([seed, 3])))
    runs = case.runs(truth, seed)
    made = fit(FitSpec(law=case.design.law, bootstrap=refits, seed=seed), runs)
    map = None
    if case.kind == "metric":
        map = through(made, fit(FitSpec(law="metric-map", axis="loss", y=METRIC, bootstrap=refits, seed=seed), runs))
    near, far = case.near(), case.far(truth)
    plan = _plan(case, made, near, map)
    true = case.least(truth, near)
    return [
        float(np.isfinite(true)),
        _stated(plan),
        *_held(_plan(case, made, far, map), case.least(truth, far)),
        *_held(plan, true),
        *_another(case, truth, made, map, seed),
    ]


def _plan(case: Case, made: Fit, target: float, map: Through | None) -> Plan | None:
    """Return the plan for a target loss, or None if the target is impossible in all resamples."""
    limits = Limits(unique=case.limits.get("unique"))
    goal = target if map is None else float(metric(np.asarray(target)))
    try:
        return plan_target(made, goal, limits=limits, map=map)
    except PlannerError:
        return None


def _stated(plan: Plan | None) -> float:
    return 0.0 if plan is None else float(plan.p_reach or 0.0)


def _held(plan: Plan | None, truth: float) -> tuple[float, float]:
    """Return, as 1 or 0, whether the 68 % and 95 % intervals of C contain ``truth``. Without a plan, C is infinite."""
    if plan is None:
        return (float(np.isinf(truth)),) * 2
    C = plan.allocation["C"]
    return _within(C.ci68, truth), _within(C.ci95, truth)


def _within(ends: Interval | None, x: float) -> float:
    if ends is None:
        return 0.0
    tiny = 1e-9 * abs(x) if np.isfinite(x) else 0.0
    return float(ends[0] <= x + tiny and x - tiny <= ends[1])


def _another(case: Case, truth: Design, made: Fit, map: Through | None, seed: int) -> tuple[float, ...]:
    """Simulate one more run at the planned optimum for ten times the largest compute of the table.

    Return one number per interval: 1 if the interval contains the result of the new run, and otherwise 0. The four
    intervals are: the prediction interval at 68 % and at 95 %, and the interval of the law at 68 % and at 95 %.
    """
    plan = plan_budget(made, 10 * float(truth.size.max()))
    N, D = (float(plan.allocation[name].value or np.nan) for name in ("N", "D"))
    measured = Actual(case.another(truth, N, D, seed), metric=METRIC if map else "")
    found = outcome(plan, made, measured, map)
    ends = (found.predicted.ci68, found.predicted.ci95, found.expected.ci68, found.expected.ci95)
    return tuple(_within(e, measured.value) for e in ends)
