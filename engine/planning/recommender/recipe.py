"""Recipe for a recommender: all settings for a budget and the serving metric, and for all other metrics.

The order of the settings follows behavioural, Sec. 9. First the serving metric is chosen, then a small embedder (share
s*), the batch size from the critical batch size, and N and D from the frontier of the metric. The number of negatives K
of stage 2 comes last. The memory of the devices limits K.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from isoplan.engine.costs import ComputeRule, TwoPart
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.answer.format import decades
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity, measure, withheld
from isoplan.engine.planning.optimum.frontier import frontier, spend
from isoplan.engine.planning.plan.answer import UNSUPPORTED, Plan
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.convention import APART, IN_USE, Recost, recost
from isoplan.engine.planning.recommender.alternatives import cost_of_size
from isoplan.engine.planning.recommender.choice import SETTINGS, Choice, Setting
from isoplan.engine.planning.recommender.columns import LOSS
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.settings import (
    CHUNK,
    Binds,
    LearningRate,
    Stage2,
    advice,
    batch,
    budgets_of,
    missing,
    negatives,
    rate,
    share,
    stated,
)

OUTSIDE, NO_CURVE, NO_MEMORY, BORROWED = "outside-sweep", "no-curve", "memory-not-known", "borrowed"
USED = "own-settings"
DIFFERS = 1.1
"""A note reports the user's batch size (or learning rate) if it differs from the advised value by more than this
factor.
"""
OTHERWISE: Mapping[Setting, tuple[float, ...]] = {"s": (0.06,), "B": (2048.0,), "K": ()}
"""Other values for which a cost is reported by default. The loss increases if the share s is larger than 6 %
(behavioural, Sec. 3.1). The batch size 2048 is that of Table 7.
"""

LENDERS = (LOSS, "loss")
"""Metrics whose law of N and D is used for a metric without its own law, in order of preference."""
SWEPT: tuple[Setting, ...] = ("s", "B", "K")
"""Settings that have sweeps of their own."""
STEP: tuple[Setting, ...] = ("N", "D", "s", "B")
"""Settings that are inputs of the step formula."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """The settings for one metric. ``plan`` is the plan that determines N and D.

    ``binds`` is what limits K; "sweep" means that K is the largest swept value. ``cap`` is the number of negatives that
    fit into the memory of the devices; None if not known. ``chunked`` is the number that would fit if ``CHUNK``
    candidates were scored at a time. It is set only if memory limits K and the recipe scores all candidates at once.
    ``step`` is the cost of N and D by the step formula (behavioural, eq. 1); None if the embedding width is not known.
    """

    metric: str
    choices: Mapping[Setting, Choice]
    binds: Binds
    cap: int | None = None
    plan: Plan | None = None
    step: Recost | None = None
    chunked: int | None = None
    warnings: tuple[FitWarning, ...] = ()

    def given(self, setting: Setting) -> bool:
        """Return whether ``setting`` is determined by something other than this metric.

        This can be memory, the end of the sweep, or the law of another metric.
        """
        return (setting == "K" and self.binds in ("memory", "sweep")) or bool(self.choices[setting].borrowed)


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Answer: the recipe of the metric ``served``, and those of all metrics in ``recipes``.

    ``settings`` are all inputs except the evidence. ``rule`` is the compute rule; None means the rules of the fits.
    """

    budget: float
    served: str
    recipes: Mapping[str, Recipe]
    settings: Settings
    rule: ComputeRule | None = None

    @property
    def recipe(self) -> Recipe:
        """Recipe of the serving metric."""
        return self.recipes[self.served]

    @property
    def changes(self) -> dict[Setting, dict[str, float]]:
        """Value of each setting for every other metric, divided by the value for the serving metric.

        Unknown values are omitted. Values determined by memory, by the end of a sweep or by another metric's law are
        also omitted, because they do not depend on the metric itself.
        """
        own = {setting: self.recipe.choices[setting].value.value for setting in SETTINGS}
        return {
            setting: {
                metric: each.choices[setting].value.value / mine  # type: ignore[operator]
                for metric, each in self.recipes.items()
                if metric != self.served and each.choices[setting].value.value is not None and not each.given(setting)
            }
            for setting, mine in own.items()
            if mine and not self.recipe.given(setting)
        }


@dataclass(frozen=True)
class Settings:
    """All inputs except the evidence: rule for the learning rate, devices of stage 2, and other values of settings.

    ``batch`` is a batch size that replaces the critical one. ``otherwise`` contains the values of s (fractions), B and
    K for which costs are shown.
    """

    scaling: LearningRate = field(default_factory=LearningRate)
    stage2: Stage2 | None = None
    batch: float | None = None
    otherwise: Mapping[Setting, Sequence[float]] = field(default_factory=lambda: OTHERWISE)
    t: float = 24.0

    def __post_init__(self) -> None:
        if self.batch is not None and not (math.isfinite(self.batch) and self.batch >= 1):
            raise PlannerError(f"The batch size of {self.batch:g} sequences is too small. Give at least 1.")
        for setting, values in self.otherwise.items():
            wrong = next((x for x in values if not (math.isfinite(x) and x > 0)), None)
            if wrong is not None:
                raise PlannerError(f"{setting} = {wrong:g} is not positive. Give a positive value.")
            if setting == "s" and max(values, default=0.0) >= 1:
                raise PlannerError(
                    f"s = {max(values):g} is not a fraction of the parameters. Write a number below 1, such as 0.06 "
                    f"for 6 %."
                )


def recommend(
    evidence: Evidence, C: float, served: str, settings: Settings | None = None, rule: ComputeRule | None = None
) -> Recommendation:
    """Return the recipe at ``C`` FLOPs for the metric ``served`` and for every other metric of the evidence.

    N and D come from the frontier of each metric, with ``rule`` or by default with the compute rule of its fit. Raises
    PlannerError if the budget is not a positive number, if no run measures the metric, or if the devices have too
    little memory.
    """
    if not (math.isfinite(C) and C > 0):
        raise PlannerError(f"The budget of {C:g} FLOPs is not positive. Give a positive number, such as 1e18.")
    served = evidence.known(served)
    settings = settings or Settings()
    names = (served, *(metric for metric in evidence.metrics if metric != served))
    recipes = {m: _recipe(evidence, C, m, settings, rule) for m in names}
    return Recommendation(float(C), served, recipes, settings, rule)


def _recipe(evidence: Evidence, C: float, metric: str, settings: Settings, rule: ComputeRule | None) -> Recipe:
    also = {**OTHERWISE, **settings.otherwise}
    of = {setting: swept_lender(evidence, setting, metric) for setting in SWEPT}
    s = _borrowed(share(evidence, of["s"], C, also["s"]), of["s"], metric)
    B = _borrowed(batch(evidence, of["B"], also["B"], settings.batch), of["B"], metric)
    if settings.batch is not None:
        B = replace(B, value=Quantity(settings.batch, unit="sequences", note="given"), note="given")
    law = lender(evidence, metric)
    plan = plan_budget(evidence.allocation[law], C, rule) if law else None
    N, D = _allocation(evidence, metric, law, plan)
    stand_in = plan or next((plan_budget(f, C, rule) for f in evidence.allocation.values()), None)
    stage2 = settings.stage2
    cap = _cap(stage2, s, B, stand_in)
    K, binds = negatives(evidence, of["K"], C, cap, also["K"])
    K = _borrowed(K, of["K"], metric)
    s = stated(s, [one for one in evidence.share if one.metric == of["s"]], C)
    K = stated(K, [one for one in evidence.negatives if one.metric == of["K"]], C)
    binds = "unknown" if K.withheld else binds
    whole = stage2 if stage2 is not None and stage2.chunk is None and binds == "memory" else None
    chunked = _cap(replace(whole, chunk=CHUNK), s, B, stand_in) if whole is not None else None
    found: dict[Setting, Choice] = {"s": s, "B": B, "N": N, "D": D, "K": K, "lr": rate(B, settings.scaling)}
    said = evidence.remarks
    choices = {
        setting: replace(
            one,
            remarks=(*said.get(setting, ()), *one.remarks),
            unpriced=_unpriced(evidence, one, also.get(setting, ()), binds),
        )
        for setting, one in found.items()
    }
    notes = [
        *_notes(choices, settings, cap),
        *_uncosted(choices, also),
        *_used(evidence, choices),
        *(w for w in (plan.warnings if plan else ()) if w.code not in (APART, IN_USE)),
    ]
    return Recipe(metric, choices, binds, cap, plan, _step(settings, plan, choices), chunked, tuple(notes))


def lender(evidence: Evidence, metric: str) -> str:
    """Return the metric that provides the law of N and D for ``metric``.

    It is ``metric`` itself, or the loss if ``metric`` has no law. The result is empty if the loss has no law either.
    """
    return next((name for name in (metric, *LENDERS) if name in evidence.allocation), "")


def swept_lender(evidence: Evidence, setting: Setting, metric: str) -> str:
    """Return the metric that provides the sweeps of s, B or K for ``metric``.

    It is ``metric`` itself, or the loss if ``metric`` has no sweeps. If the loss has no sweeps either, the result is
    ``metric``.
    """
    optima = {"s": evidence.share, "K": evidence.negatives}.get(setting, ())
    measured = {one.metric for one in optima} if setting != "B" else set(evidence.batch)
    return next((name for name in (metric, *LENDERS) if name in measured), metric)


def _borrowed(choice: Choice, law: str, metric: str) -> Choice:
    """Return ``choice`` with a note that it comes from sweeps of ``law``; unchanged if ``law`` equals ``metric``."""
    if law == metric:
        return choice
    return replace(choice, borrowed=law, note=f"borrowed from {law}: no sweep measures {metric}; {choice.note}")


def _allocation(evidence: Evidence, metric: str, law: str, plan: Plan | None) -> tuple[Choice, Choice]:
    """Return the choices of N and D at the budget of ``plan``, from the frontier of the metric ``law``.

    If N* and D* were fitted separately, D is the number of samples that the budget allows at N*.
    """
    quoted = evidence.quoted.get("N", "")
    if plan is None:
        why = missing(evidence, "N", metric, "an iso-FLOP sweep")
        lost = Quantity(None, note=why)
        return Choice("N", lost, None, why, quoted=quoted), Choice("D", lost, None, why)
    own, borrowed = evidence.allocation[law], law if law != metric else ""
    note, D = f"frontier of {law}, {plan.compute.text}", plan.allocation["D"]
    if borrowed:
        note = f"borrowed from {law}: no law of {metric} is {'published' if 'N' in evidence.missing else 'known'}"
    if not own.law.is_pointwise and D.value is not None:
        budget = np.asarray(plan.question.value)
        best, draws = (spend(frontier(own.law, v, budget, plan.compute), plan.compute) for v in (own.values, own.draws))
        D = measure(own, float(best.D), draws.D, D.unit, own.data.ranges.get("D"))
    span = None
    if not plan.answers:
        D, note, span = withheld(D), WITHHELD, budgets_of(plan)
    size = plan.shown.allocation["N"]
    others = cost_of_size(evidence.sizes, law, float(plan.question.value), size.value) if size.value else ()
    N = Choice("N", size, None, note, None, quoted, others, borrowed, supported=span)
    return N, Choice("D", D, None, note, borrowed=borrowed, supported=span)


def _cap(stage2: Stage2 | None, s: Choice, B: Choice, plan: Plan | None) -> int | None:
    """Return the largest number of negatives with which the devices can train the model of ``plan``.

    The result is None if an input is not known. For a metric without a frontier, ``plan`` is that of another metric.
    This is accurate enough, because the model needs little memory compared with the logits.
    """
    N = None if plan is None else plan.shown.allocation["N"].value
    if stage2 is None or B.value.value is None or N is None:
        return None
    trained = (1 - (s.value.value or 0.0)) * N  # stage 2 does not train the embedder
    return stage2.largest(_whole(B.value.value), trained)


def _step(settings: Settings, plan: Plan | None, choices: Mapping[Setting, Choice]) -> Recost | None:
    """Return the cost of N and D by the step formula; None if an input of the formula is not known."""
    N, D, s, B = (choices[setting].value.value for setting in STEP)
    if plan is None or settings.stage2 is None or N is None or D is None or s is None or B is None:
        return None
    parts = TwoPart(s=s, h=settings.stage2.width, B=_whole(B), L=settings.stage2.length, t=settings.t)  # fmt: skip
    return recost(N, D, plan.compute, ComputeRule(rule="step", parts=parts))


def _whole(B: float) -> float:
    """Round a batch size to a whole number of sequences, at least 1."""
    return float(max(round(B), 1))


def _notes(choices: Mapping[Setting, Choice], settings: Settings, cap: int | None) -> list[FitWarning]:
    notes = []
    for setting, choice in choices.items():
        if choice.value.value is not None and choice.value.beyond > 0.005 and setting in ("s", "K"):
            far = f"The budget lies {decades(choice.value.beyond)} beyond the budgets of the sweeps of {setting}."
            notes.append(FitWarning(OUTSIDE, far))
        if choice.borrowed and setting == "N":
            notes.append(FitWarning(BORROWED, f"N and D are {choice.note}."))
        if choice.withheld and setting in ("s", "K"):
            far = f"The budget lies {decades(choice.value.beyond)} beyond the budgets of the sweeps of {setting}."
            notes.append(FitWarning(UNSUPPORTED, far + advice(choice)))
        elif choice.place in ("outside left", "outside right"):
            notes.append(FitWarning(OUTSIDE, f"{setting}: {choice.note or 'outside the sweep'}."))
        elif choice.value.value is None and setting not in ("lr", "D") and not choice.withheld:
            notes.append(FitWarning(NO_CURVE, f"{setting}: {choice.note.rstrip('.')}."))
    if choices["K"].withheld:
        return notes
    if settings.stage2 is None:
        text = "The memory limit of K is not computed. Give a device and the embedding width."
        notes.append(FitWarning(NO_MEMORY, text))
    elif cap is None:
        text = "The memory limit of K is not computed, because the batch size or the model size is not known."
        notes.append(FitWarning(NO_MEMORY, text))
    return notes


def _used(evidence: Evidence, choices: Mapping[Setting, Choice]) -> list[FitWarning]:
    """Return a note on the user's batch size and learning rate if one of them differs from the advised value."""
    advised = {setting: choices[setting].value.value for setting in evidence.used}
    if not any(x and abs(math.log(evidence.used[setting] / x)) > math.log(DIFFERS) for setting, x in advised.items()):
        return []
    named = {"B": "batch size", "lr": "learning rate"}
    form = {"B": "{:,.0f}", "lr": "{:.3g}"}
    said = " and ".join(f"{named[setting]} {form[setting].format(x)}" for setting, x in evidence.used.items())
    return [FitWarning(USED, f"Your runs used {said}.")]


def _unpriced(evidence: Evidence, choice: Choice, others: Sequence[float], binds: Binds) -> str:
    """Return the reason why no cost of another value is known; empty if a cost is known.

    ``others`` are the values whose cost was requested, and ``binds`` is what limits K.
    """
    setting = choice.setting
    if choice.value.value is None:
        return choice.note or choice.value.note
    if choice.otherwise:
        return ""
    if setting == "lr":
        return "no run varies the learning rate"
    if setting == "K" and binds == "memory":
        return "Memory limits K."
    if setting in ("N", "D"):
        return f"no runs near this budget give the effect of another {setting} on the metric"
    if setting != "K" and not others:
        return "no other value is given"
    return f"{evidence.missing.get(setting, 'No curve of this setting is known.')} Give a sweep of {setting}."


def _uncosted(choices: Mapping[Setting, Choice], others: Mapping[Setting, Sequence[float]]) -> list[FitWarning]:
    """Return a warning for s and for K if the cost of other values was requested but no curve determines this cost."""
    settings: tuple[Setting, ...] = ("s", "K")
    return [
        FitWarning(NO_CURVE, f"The cost of another {setting} is not known. {choices[setting].unpriced}")
        for setting in settings
        if others[setting] and choices[setting].value.value and not choices[setting].otherwise
    ]
