"""Simulate or repeat: model size, samples, compute and money of two regimes at one target loss.

Source: jets, Sec. 3.2, eqs. 1, 3 to 5. The regimes are:

One pass: ``D = ((1 + beta / alpha) * B / (L - L_inf))**(1 / beta)`` samples. N and C are those of the compute-optimal
frontier.

Repeat to the early stop: ``U = (B_rep / (L - L_inf))**(1 / beta_rep)`` unique samples. The model has the size
``N = c * U**lambda``, the overfitting threshold. The compute is kappa times that of the single pass.

omega compares both laws at infinite N: U repeated samples give the same loss as ``omega * U`` samples that an unlimited
model sees once. A compute-optimal single pass has a finite model and needs even more samples:
``D / U = omega * (1 + beta / alpha)**(1 / beta)``. The ratio D / U is called the saving.

If both tables can be fitted together with one floor (``floors``), both laws come from this joint fit. N, D and C then
differ from those of a plan that uses only the one-pass fit, so the answer contains both sets of numbers. Without a
joint fit, N, D and C are those of the plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit, FitWarning, Parameter
from isoplan.engine.laws import Point
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.planning.answer.quantity import NOT_ALWAYS_REACHED, Quantity, kept, measure, reach
from isoplan.engine.planning.optimum.frontier import least_compute
from isoplan.engine.planning.plan import answer as plans
from isoplan.engine.planning.plan.bill import unknown, why_unknown
from isoplan.engine.planning.plan.budget import check_size, time_of
from isoplan.engine.planning.plan.solve import Task
from isoplan.engine.planning.plan.support import Support, support
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.repeat.costs import Picture, SampleCosts, price_picture
from isoplan.engine.planning.repeat.factor import Factor
from isoplan.engine.planning.repeat.floors import Laws, notes, of_both, together
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.quantities import rounded

ONE_PASS = ("N", "D", "C", "one_sim", "one_train", "one_total")
"""Names of the numbers that depend only on the one-pass law."""
WITHHELD = "withheld: the overfitting threshold N = c U^lambda is not known"


@dataclass(frozen=True)
class Regime:
    """One way to reach the target: model size, unique samples, passes over the samples, compute in FLOPs, and money.

    ``time`` is the training time on the machine of the runs; None if the runs contain no times.
    """

    name: str
    N: Quantity
    unique: Quantity
    epochs: Quantity
    C: Quantity
    simulation: Quantity
    training: Quantity
    total: Quantity
    time: Quantity | None = None


@dataclass(frozen=True, eq=False)
class SimulateOrRepeat:
    """Comparison, for one target, of a single pass over simulated samples with repeated training on fewer samples.

    ``floor`` is the common floor of a joint fit of both tables. ``alone`` contains the N, D and C of a plan that uses
    only the one-pass fit. Both are None without a joint fit; ``alone`` is also None if the one-pass fit has no plan.
    ``shared`` states whether both laws have the same floor. If not, omega is valid only at this target.

    ``omega`` is the number of samples seen once divided by the number of repeated samples, at equal loss and infinite
    N. ``saving`` is D / U, with D of the compute-optimal single pass and U unique samples of repeated training.
    ``break_even`` is the price of a sample above which repeating is cheaper. ``break_even_passes`` is this price
    divided by the cost of training on one sample once.

    ``repeat_cheaper`` is the fraction of resamples in which repeating costs less; None if the money of training is not
    known. ``p_reach`` is the fraction of resamples that reach the target in both regimes; None if the resamples do not
    resolve the floors. Both fractions are None without resamples.

    ``unpriced`` states why the money of training is not known; it is empty if everything has a price. If it is not
    empty, the cheaper regime, the break-even price and the ``picture`` are unknown too. ``support`` is None if the runs
    support the answer. Otherwise it describes the answers that the runs support.
    """

    target: float
    y: str
    compute: ComputeRule
    costs: SampleCosts
    kappa: Quantity
    one_pass: Regime
    repeat: Regime
    omega: Quantity
    saving: Quantity
    break_even: Quantity
    break_even_passes: Quantity
    shared: bool
    repeat_cheaper: float | None
    p_reach: float | None
    picture: Picture | None
    warnings: tuple[FitWarning, ...] = ()
    floor: Parameter | None = None
    alone: Mapping[str, Quantity] | None = None
    unpriced: str = ""
    support: Support | None = None

    @property
    def answers(self) -> bool:
        """Whether the runs support the answer. If not, the numbers of the answer are not shown."""
        return self.support is None

    @property
    def priced(self) -> bool:
        """Whether the costs of both regimes are known, and the runs and both laws support the comparison."""
        return self.answers and not self.unpriced and not self.mismatched

    @property
    def mismatched(self) -> bool:
        """Whether repeating needs more unique samples than one pass. If so, the two laws are not of the same task."""
        saving = self.saving.value
        return saving is not None and saving < 1

    @property
    def placed(self) -> dict[str, Quantity]:
        """Quantities that must lie close enough to the runs for a supported answer, by name."""
        return {"N": self.one_pass.N, "D": self.one_pass.unique, "U": self.repeat.unique}

    @property
    def cheaper(self) -> Regime | None:
        """The regime that costs less by the best fits; None if the costs are not known."""
        if not self.priced:
            return None
        one, other = (x.total.value if x.total.value is not None else math.inf for x in (self.one_pass, self.repeat))
        return self.one_pass if one <= other else self.repeat


def simulate_or_repeat(
    one_pass: Fit,
    repeated: Fit,
    target: float,
    costs: SampleCosts,
    kappa: Factor,
    threshold: Fit | None = None,
    rule: ComputeRule | None = None,
) -> SimulateOrRepeat:
    """Compute both regimes at the loss ``target``, with the compute rule ``rule`` (default: that of ``one_pass``).

    ``one_pass`` is a fit of chinchilla to runs that see every sample once. ``repeated`` is a fit of repetition to runs
    at their early stop. ``threshold`` is a fit of the overfitting threshold; without it, N and the epochs of repeated
    training are unknown. Raises PlannerError for fits of other laws, and for a target that one of the laws cannot
    reach.
    """
    laws = together(one_pass, repeated)
    if threshold is not None and threshold.law.estimator != "threshold":
        raise PlannerError(
            f"The overfitting threshold needs a fit of the law 'threshold', but this fit is of the law "
            f"'{threshold.law.key}'."
        )
    rule = rule or one_pass.compute
    _reachable(laws, target)
    best = _solve(laws.best, np.asarray(kappa.value), _at(threshold, None), target, costs, rule)
    for D in (best["D"], best["U"]):
        check_size(
            one_pass, Task(rule, {}), Point(best["N"], D, best["C"], np.asarray(target)), Question("target", target)
        )
    others = ([kappa.draws] if kappa.n else []) + ([threshold.resamples] if threshold is not None else [])
    laws = laws.thinned(min([laws.resamples, *map(len, others)]))
    r = laws.resamples
    factors = kappa.draws[kept(len(kappa.draws), r)] if kappa.n else np.full(r, kappa.value)
    draws = _solve(laws.draws, factors, _at(threshold, r), target, costs, rule)
    without = repeated if len(one_pass.resamples) else one_pass  # a fit without resamples, if there is one
    objective = one_pass.objective if r else without.objective
    carrier = replace(
        one_pass,
        resamples=one_pass.resamples[:r],
        resampling=laws.how,
        objective=objective,
        warnings=of_both(one_pass, repeated),
    )
    alone = _alone(one_pass, target, rule) if laws.floor is not None else None
    return _answer(laws, carrier, repeated, kappa, threshold, best, draws, target, costs, rule, alone)


Solved = Mapping[str, Floats]


def _alone(one_pass: Fit, target: float, rule: ComputeRule) -> Mapping[str, Quantity] | None:
    """Return the N, D and C of a plan by the one-pass fit alone; None if this fit has no plan for the target."""
    try:
        allocation = plan_target(one_pass, target, rule=rule).shown.allocation
    except PlannerError:
        return None
    return {name: allocation[name] for name in ("N", "D", "C")}


def _at(threshold: Fit | None, r: int | None) -> tuple[Floats, Floats]:
    """Return c and lambda of the threshold ``N = c * U**lambda``: best fit if ``r`` is None, otherwise ``r`` resamples.

    Both are NaN without a threshold.
    """
    if threshold is None:
        return np.asarray(np.nan), np.asarray(np.nan)
    rows = slice(0) if r is None else kept(len(threshold.resamples), r)
    v = threshold.values if r is None else {name: x[rows] for name, x in threshold.draws.items()}
    return v["c"], v["lambda"]


def _solve(
    v: Mapping[str, Floats],
    kappa: Floats,
    line: tuple[Floats, Floats],
    target: float,
    costs: SampleCosts,
    rule: ComputeRule,
) -> Solved:
    """Return all numbers of the answer by name, for the best fit (shape ()) or for resamples (r,).

    A number is infinite if the target cannot be reached. ``v`` contains the parameter values of both laws. ``line``
    contains c and lambda of the overfitting threshold ``N = c * U**lambda``.
    """
    goal = np.asarray(float(target))
    first = least_compute(CHINCHILLA, v, goal, rule)
    N, D, C = (np.where(np.isnan(first.loss), np.nan, x) for x in (first.N, first.D, first.C))
    with np.errstate(all="ignore"):
        U = np.exp((np.log(v["B_rep"]) - np.log(goal - v["L_inf"])) / v["beta_rep"])
        U = np.where(goal <= v["L_inf"], np.inf, U)
        unlimited = np.exp((np.log(v["B"]) - np.log(goal - v["E"])) / v["beta"])
        model = line[0] * U ** line[1]
        C_rep = np.where(np.isinf(U), np.inf, kappa * C)
        break_even = costs.break_even(D, C, U, C_rep)
        both = np.isfinite(D) & np.isfinite(U)
        found = {
            "N": N,
            "D": D,
            "C": C,
            "one_sim": costs.simulation(D),
            "one_train": costs.training(C),
            "N_rep": model,
            "U": U,
            "C_rep": C_rep,
            "epochs": C_rep / rule.flops_anywhere(model, U),
            "rep_sim": costs.simulation(U),
            "rep_train": costs.training(C_rep),
            "omega": np.where(both, unlimited / U, np.nan),
            "saving": np.where(both, D / U, np.nan),
            "break_even": np.where(both, break_even, np.nan),
            "passes": np.where(both, break_even / (costs.flop * C / D), np.nan),
        }
    found["one_total"] = found["one_sim"] + found["one_train"]
    found["rep_total"] = found["rep_sim"] + found["rep_train"]
    return found


def _reachable(laws: Laws, target: float) -> None:
    """Raise PlannerError unless each law reaches the target, by its best fit or in at least one resample."""
    if not math.isfinite(target):
        raise PlannerError(f"The target {target:g} is not a finite number. Give a number such as 0.5.")
    for name, what in (("E", "one-pass law"), ("L_inf", "law of repeated samples")):
        floor = float(laws.best[name])
        if target <= floor and not np.any(laws.draws[name] < target):
            raise PlannerError(
                f"A target loss of {target:g} is below the floor {rounded(floor)} of the {what}: ask for a higher "
                "target."
            )


def _answer(
    laws: Laws,
    carrier: Fit,
    repeated: Fit,
    kappa: Factor,
    threshold: Fit | None,
    best: Solved,
    draws: Solved,
    target: float,
    costs: SampleCosts,
    rule: ComputeRule,
    alone: Mapping[str, Quantity] | None,
) -> SimulateOrRepeat:
    spans, unit, money = plans.spans(carrier), sample_unit(carrier), costs.currency
    span_u = repeated.data.ranges.get(repeated.law.axis or "")
    distant = _too_far(draws, {**spans, "U": span_u})

    def q(name: str, unit: str, span: tuple[float, float] | None = None) -> Quantity:
        """Return the number called ``name`` with intervals.

        omega, the saving and the break-even price have no interval if some resamples do not reach the target.
        """
        read = replace(carrier, resampling=laws.own) if name in ONE_PASS else carrier
        far = distant.get(name[: name.find("_") + 1], np.False_)
        found = measure(read, float(best[name]), np.where(far, np.inf, draws[name]), unit, span)
        if name in ("omega", "saving", "break_even", "passes") and found.ci68 and np.isnan(draws[name]).any():
            return replace(found, ci68=None, ci95=None, note=NOT_ALWAYS_REACHED)
        return found

    def paid(prefix: str, why: str) -> tuple[Quantity, Quantity, Quantity]:
        """Return the money for simulation, for training and in total.

        ``why`` states why the money for training is not known; ``why`` is empty if this money is known.
        """
        simulation = q(f"{prefix}_sim", money)
        if why:
            return simulation, unknown(money, why), unknown(money)
        return simulation, q(f"{prefix}_train", money), q(f"{prefix}_total", money)

    withheld = (Quantity(None, note=WITHHELD, unit="parameters"), Quantity(None, note=WITHHELD, unit="passes"))
    model = withheld if threshold is None else (q("N_rep", "parameters"), q("epochs", "passes"))
    ends = (1.0, 1.0) if len(carrier.resamples) else None
    once = Quantity(1.0, ends, ends, "passes", note="given")
    size = q("N", "parameters", spans.get("N"))
    why = [why_unknown(costs.machine, x.value) for x in (size, size if model[0].value is None else model[0])]
    first = Regime("one pass", size, q("D", unit, spans.get("D")), once,
                   q("C", "FLOPs", spans.get("C")), *paid("one", why[0]), _time(carrier, best, draws))  # fmt: skip
    second = Regime("repeat", model[0], q("U", unit, span_u), model[1], q("C_rep", "FLOPs"), *paid("rep", why[1]))
    some = len(draws["D"]) > 0
    reached = np.isfinite(draws["D"]) & np.isfinite(draws["U"])
    factors = kappa.draws[kept(len(kappa.draws), laws.resamples)] if kappa.n else kappa.draws
    factor = measure(carrier, kappa.value, factors, "times") if kappa.n else None
    small = why[0] or why[1]
    break_even = unknown(money) if small else q("break_even", money)
    placed = {"N": first.N, "D": first.unique, "U": second.unique}
    return SimulateOrRepeat(
        float(target), carrier.spec.y, rule, costs, factor or Quantity(kappa.value, unit="times", note="given"),
        first, second, q("omega", "times"), q("saving", "times"), break_even,
        q("passes", "times"),
        laws.shared,
        float(np.mean(draws["rep_total"] < draws["one_total"])) if some and not small else None,
        float(np.mean(reached)) if some and laws.resolved else None,
        None if small else price_picture(costs, best, draws, laws.how),
        (*notes(laws, best, target, bool(reached.all()), threshold, alone), *plans.warnings(carrier, placed)),
        laws.floor,
        alone,
        small,
        support(carrier, rule, placed),
    )  # fmt: skip


def _too_far(draws: Solved, spans: Mapping[str, tuple[float, float] | None]) -> dict[str, Bools]:
    """Return which resamples (r,) lie too far beyond the runs, keyed by the prefix of the numbers that they affect.

    For example, ``rep_total`` is computed from C and U. If C or U is too far, ``rep_total`` is not shown.
    """
    N, D, C, U = (draws[name] > reach(spans.get(name))[1] for name in ("N", "D", "C", "U"))
    return {"one_": N | D | C, "rep_": C | U, "C_": C | U, "N_": U}


def _time(carrier: Fit, best: Solved, draws: Solved) -> Quantity | None:
    """Return the training time of the single pass on the machine of the runs; None if the times are not known."""
    at = [Point(v["N"], v["D"], v["C"], np.full(np.shape(v["N"]), np.nan)) for v in (best, draws)]
    return time_of(carrier, *at)
