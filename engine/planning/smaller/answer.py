"""Smaller models of the same loss: their training costs, and the size of least cost over the life of the model.

On the surface ``E + A * N**-alpha + B * D**-beta``, a model of k_N times the best size reaches the same loss with k_D
times the samples. Here ``k_D = (1 - (k_N**-alpha - 1) * beta / alpha)**(-1 / beta)``. Below
``k_N = (1 + alpha / beta)**(-1 / alpha)`` no number of samples is enough (de Vries 2023, "Go smol or go home"). If
inference costs are included, the cheapest size is smaller than the best size for training alone (Sardana et al. 2024,
"Beyond Chinchilla-Optimal", arXiv:2401.00448, eq. 2). This module computes both results for any surface and compute
rule.

If there are limits, only models within the limits are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Bools, Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.possible_values import sample_unit
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.laws import Point
from isoplan.engine.planning.answer.quantity import Quantity, beyond, measure, thin
from isoplan.engine.planning.plan import answer as plans
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.bill import PRICE, machines, small_model, unknown, why_unknown
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.support import ANSWERED, Support, support
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.plan.utilisation import utilisation_note
from isoplan.engine.planning.scenario.limits import Question
from isoplan.engine.planning.scenario.prices import COMPUTE, Inference, Prices
from isoplan.engine.planning.smaller.iso_loss import iso_loss

POINTS = 80
LARGEST = 3.0
"""Largest model size of the curves, divided by the best size."""
SHOWN = (0.3, 0.4, 0.5, 0.6, 0.75, 1.0, 1.5, 2.0)
"""Model sizes in the table, divided by the best size."""
NEAREST = 1.02
"""Smallest model size of the curves, divided by the size below which no number of samples reaches the loss."""


@dataclass(frozen=True, eq=False)
class SameLoss:
    """Models that reach the same loss, as arrays (s,) over their size ``fraction`` = N / N*.

    ``plan`` is the plan of the best size N*, and ``best`` is the point (N*, D*, C*) of this plan. ``overhead`` is C /
    C* - 1. ``low68`` and ``high68`` are the ends of the 68 % interval of ``overhead``. They are NaN without resamples,
    and infinite if a resample never reaches the loss. ``more`` is D / D*. ``within`` states which models the limits
    allow. ``beyond`` is the largest distance of N, D and C from the runs, in decades. ``smallest`` is the fraction
    below which no number of samples reaches the loss.
    """

    plan: Plan
    best: Point
    fraction: Floats
    N: Floats
    D: Floats
    more: Floats
    overhead: Floats
    low68: Floats
    high68: Floats
    within: Bools
    beyond: Floats
    smallest: Quantity

    @property
    def stated(self) -> Bools:
        """Which models (s,) the runs support. All are False if the runs do not support the plan."""
        return (self.beyond <= ANSWERED) & self.plan.answers


@dataclass(frozen=True)
class Lifetime:
    """Model with the least total cost of training and inference.

    ``N``, ``D`` and the training compute ``C`` describe this model, and ``total`` is its total cost. ``training_alone``
    is the total cost of the best model for training alone. ``saved`` is the fraction of this cost that the cheapest
    model saves. ``fraction`` is the N of the cheapest model divided by the N of the best model for training alone.
    Costs are in FLOPs, or in money if compute has a price. Costs in money include simulated samples. The money is
    unknown, with a note, if a model is too small to reach the machine's assumed fraction of the peak speed.

    ``warnings`` state how far the model lies beyond the runs. ``support`` is None if the runs support the model.
    Otherwise it describes the models that the runs support.
    """

    N: Quantity
    D: Quantity
    C: Quantity
    total: Quantity
    training_alone: Quantity
    saved: Quantity
    fraction: Quantity
    warnings: tuple[FitWarning, ...] = ()
    support: Support | None = None

    @property
    def answers(self) -> bool:
        """Whether the runs support the answer."""
        return self.support is None

    @property
    def sizes(self) -> dict[str, Quantity]:
        """Quantities that must lie close enough to the runs for a supported answer, by name."""
        return {"N": self.N, "D": self.D, "C": self.C}


@dataclass(frozen=True, eq=False)
class LifetimeCurve:
    """Lifetime costs of models with the same loss, by the best fit and in ``unit``: arrays (s,) over the size N.

    ``within`` states which models the limits allow. ``beyond`` is the largest distance of N, D and C from the runs, in
    decades. ``best`` is the size of the cheapest model, ``first`` the size of the best model for training alone.
    """

    N: Floats
    training: Floats
    simulation: Floats
    inference: Floats
    within: Bools
    beyond: Floats
    unit: str
    best: float
    first: float

    @property
    def total(self) -> Floats:
        """Total cost of each model (s,)."""
        return self.training + self.simulation + self.inference


def same_loss(
    fit: Fit, question: Question, rule: ComputeRule | None = None, prices: Prices | None = None, *, n: int = POINTS
) -> SameLoss:
    """Compute the models that reach the loss of the answer to ``question``.

    Each resample has its own answer and its own loss. ``prices`` convert limits on hours, memory and money. Raises
    PlannerError for a law that is not a surface over N and D, for limits that cannot be applied, or if the best fit
    has no answer.
    """
    models, few = iso_loss(fit, question, rule, prices), thin(fit)
    best, draws = models.answer(fit.values), models.answer(few.draws)
    own, many = models.around(fit.values, best), models.around(few.draws, draws)
    floors = [models.smallest(v, at.loss) / at.N for v, at in ((own, best), (many, draws))]
    first = NEAREST * float(floors[0])
    fraction = np.unique(np.r_[np.geomspace(first, LARGEST, n), [k for k in SHOWN if k > first]])
    others = models.at(own, fraction * best.N, best.loss)
    overhead = others.C / best.C - 1
    each = {name: x[:, None] if np.ndim(x) else x for name, x in many.items()}
    with np.errstate(invalid="ignore"):
        spread = models.at(each, fraction * draws.N[:, None], draws.loss[:, None]).C / draws.C[:, None] - 1
    low, high = few.resampling.band(overhead, spread, 0.68)
    smallest = measure(few, float(floors[0]), floors[1], "of N*")
    return SameLoss(
        _plan(fit, question, rule, prices),
        best,
        fraction,
        others.N,
        others.D,
        others.D / best.D,
        overhead,
        low,
        high,
        models.allows(others),
        _beyond(fit, others),
        smallest,
    )


def _plan(fit: Fit, question: Question, rule: ComputeRule | None, prices: Prices | None) -> Plan:
    """Return the plan of the best size for training alone: the plan of least compute without inference."""
    prices = replace(prices, inference=None) if prices is not None else None
    if question.kind == "target":
        return plan_target(fit, question.value, rule, limits=question.limits, prices=prices, aim=COMPUTE)
    plan = plan_budget(
        fit, question.value, rule, limits=question.limits, prices=prices, money=question.money
    )  # fmt: skip
    return replace(plan, warnings=(*plan.warnings, *utilisation_note(prices, plan.allocation["N"].value)))


def _beyond(fit: Fit, at: Point) -> Floats:
    """Return the distance in decades of models (s,) from the runs: the largest of the distances along N, D and C."""
    spans = plans.spans(fit)
    sizes = {"N": at.N, "D": at.D, "C": at.C}
    far = [[beyond(float(x), spans.get(name)) for x in np.ravel(values)] for name, values in sizes.items()]
    return np.max(far, axis=0)


def lifetime(
    fit: Fit, question: Question, inference: Inference, rule: ComputeRule | None = None, prices: Prices | None = None
) -> Lifetime:
    """Compute the N and D that reach the loss of ``question`` at the least total cost of training and inference.

    For a budget, the loss is the lowest that the budget reaches. Each resample has its own loss. Costs are in FLOPs, or
    in money if ``prices`` contain a price of a machine hour. If ``inference`` has its own machine, the price of this
    machine applies to the queries. Raises PlannerError under the conditions of ``same_loss``.
    """
    models = iso_loss(fit, question, rule, prices, inference)
    first, firsts = models.answer(fit.values), models.answer(fit.draws)
    best, draws = (
        models.cheapest(models.around(fit.values, first), first),
        models.cheapest(models.around(fit.draws, firsts), firsts),
    )
    totals = [models.total(at) for at in (best, draws, first, firsts)]

    spans = plans.spans(fit)

    def said(one: Floats, many: Floats, unit: str, name: str = "") -> Quantity:
        return measure(fit, float(one), np.broadcast_to(many, len(fit.resamples)), unit, spans.get(name))

    with np.errstate(invalid="ignore"):
        found = Lifetime(
            said(best.N, draws.N, "parameters", "N"),
            said(best.D, draws.D, sample_unit(fit), "D"),
            said(best.C, draws.C, "FLOPs", "C"),
            said(totals[0], totals[1], models.unit),
            said(totals[2], totals[3], models.unit),
            said(1 - totals[0] / totals[2], 1 - totals[1] / totals[3], "of the total"),
            said(best.N / first.N, draws.N / firsts.N, "of N*"),
        )
    if prices is not None and prices.machine.price is not None:
        found = _without_money(found, float(first.N), replace(prices, inference=inference))
    far = support(fit, models.task.rule, found.sizes)
    warnings = (
        plans.extrapolated(found.sizes, "The cheapest model over its life")
        if far is None
        else plans.unsupported(found.sizes)
    )
    return replace(found, warnings=(*found.warnings, *warnings), support=far)


def _without_money(found: Lifetime, first: float, prices: Prices) -> Lifetime:
    """Return ``found`` without the money of models that are too small for the assumed fraction of the peak speed.

    ``first`` is the size of the best model for training alone. ``saved`` remains if all money pays for FLOPs of one
    machine, because the saved fraction of money then equals the saved fraction of FLOPs.
    """
    sizes = {"total": found.N.value, "training_alone": first}
    why = {
        name: note
        for name, N in sizes.items()
        if (note := next(filter(None, (why_unknown(machine, N) for machine in machines(prices).values())), ""))
    }
    if not why:
        return found
    total, alone = (unknown(prices.currency, why[name]) if name in why else getattr(found, name) for name in sizes)
    of_one = prices.inference is None or prices.inference.machine in (None, prices.machine)
    weighed = () if of_one and not prices.rates.sample else small_model(prices.machine, found.N.value, PRICE)
    saved = unknown(found.saved.unit) if weighed else found.saved
    return replace(found, total=total, training_alone=alone, saved=saved, warnings=weighed)


def lifetime_curve(
    fit: Fit,
    question: Question,
    inference: Inference,
    rule: ComputeRule | None = None,
    prices: Prices | None = None,
    *,
    n: int = POINTS,
) -> LifetimeCurve:
    """Compute the total lifetime cost as a function of N. Raises PlannerError under the conditions of ``same_loss``."""
    models = iso_loss(fit, question, rule, prices, inference)
    first = models.answer(fit.values)
    own = models.around(fit.values, first)
    best = float(models.cheapest(own, first).N)
    low, high = NEAREST * float(models.smallest(own, first.loss)), LARGEST * max(float(first.N), best)
    N = np.unique(np.r_[np.geomspace(low, high, n), float(first.N), best])
    others = models.at(own, N, first.loss)
    return LifetimeCurve(
        N, *models.parts(others), models.allows(others), _beyond(fit, others), models.unit, best, float(first.N)
    )
