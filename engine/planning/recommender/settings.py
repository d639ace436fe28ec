"""Choice of s (embedder share), batch size, learning rate and K (behavioural, Secs. 3.1, 4, 6 and Table 7).

The number of negatives K of stage 2 is the optimum of its sweep, limited by the memory of the devices. If the budget
lies more than one decade beyond the budgets of the sweeps, the sentence of the recipe states the distance. Beyond three
decades, a setting has no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from isoplan.engine.costs.memory import Candidates, training_memory
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.optimum_location import SAID, Place
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.hardware import Device
from isoplan.engine.laws.catalogue.hyperparameter import critical
from isoplan.engine.planning.answer.format import decades
from isoplan.engine.planning.answer.quantity import WITHHELD, Quantity, measure, withheld
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.support import ANSWERED, MARKED, extrapolation
from isoplan.engine.planning.recommender.alternatives import around, cost_of_batch, cost_otherwise
from isoplan.engine.planning.recommender.choice import NOT_LOCATED, SETTINGS, Alternative, Choice, Setting
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.sweep import Optimum, at_budget, name_of, off_budgets
from isoplan.engine.quantities import count, power10

NO_PLATEAU = (
    "no plateau: training steps still decrease at the largest batch of the sweep, so no critical batch is determined"
)
Binds = Literal["FLOPs", "memory", "sweep", "unknown"]
CHUNK = 4096
"""Default number of candidates that are scored at a time."""


@dataclass(frozen=True)
class LearningRate:
    """Learning rate as a function of the batch size B: ``lr = rate * sqrt(B / batch)``.

    Behavioural, Table 7, prints about ``2e-3 * sqrt(B / 512)``.
    """

    rate: float = 2e-3
    batch: float = 512.0

    def __post_init__(self) -> None:
        for value, what in ((self.rate, "learning rate"), (self.batch, "reference batch")):
            if not (math.isfinite(value) and value > 0):
                raise PlannerError(f"The {what} is {value:g}: give a positive number, such as 2e-3 at a batch of 512.")


@dataclass(frozen=True)
class Stage2:
    """Training of stage 2 on ``devices`` devices of one kind.

    A sequence has ``length`` events, and an embedding has ``width`` numbers. Logits are stored in ``precision`` for
    ``chunk`` candidates at a time; None means all candidates at once. Raises PlannerError if a field is not valid.
    """

    device: Device
    width: int
    devices: int = 1
    length: int = 256
    precision: str = "bf16"
    chunk: int | None = CHUNK

    def candidates(self, B: float) -> Candidates:
        """Return the candidates on one device for a batch of ``B`` sequences that is split evenly over the devices."""
        if not self.devices >= 1:
            raise PlannerError(f"The number of devices, {self.devices:g}, is too small. Give at least 1.")
        each = max(math.ceil(B / self.devices), 1)
        return Candidates(each, self.length, self.width, self.precision, max(round(B), each), self.chunk)

    def largest(self, B: float, trained: float) -> int:
        """Return the largest number of extra negatives that fits into memory with a model of ``trained`` parameters.

        The training state (Adam) is split over all devices. Raises PlannerError if the memory of a device is too small
        for the model, for one row of candidates, or for the candidates of the batch.
        """
        room = self.device.memory - float(training_memory(trained, self.devices))
        if room <= 0:
            raise PlannerError(
                f"The training state of {count(trained)} parameters fills the memory of {self.devices} "
                f"{self.device.name}: use more devices."
            )
        return self.candidates(B).largest(room)


def share(evidence: Evidence, metric: str, C: float, others: Sequence[float]) -> Choice:
    """Return the choice of the embedder share s*: the geometric mean of the optima inside their sweeps.

    The mean is over budgets, because s* is equal at all budgets (behavioural, Table 2). The interval of the mean
    follows from the resamples. Without resamples, this interval follows from the scatter over budgets (Student's t).
    ``others`` are other shares (fractions). The cost of these shares comes from the curve at the budget nearest to
    ``C``.
    """
    own = [one for one in evidence.share if one.metric == metric]
    if any(one.high > 1 for one in own):
        raise PlannerError("The embedder share is a fraction of the parameters: divide percentages by 100.")
    inside = [one for one in own if one.inside and one.x.value is not None]
    quoted = evidence.quoted.get("s", "")
    if not inside:
        said = "; ".join(dict.fromkeys(one.why or f"{SAID[one.place]} {name_of(one)}" for one in own))
        lacking = missing(evidence, "s", metric, "a sweep of the embedder share")
        why = f"no optimum inside its sweep ({said})" if own else lacking
        return Choice("s", Quantity(None, note=why), own[0].place if own else None, why, quoted=quoted)
    values = [float(one.x.value) for one in inside if one.x.value is not None]
    lost = [one for one in own if one not in inside]
    adrift = sum(one.place == "not located" for one in lost)
    note = f"mean of {_count(len(inside), 'sweep')}"
    note += f", {_count(len(lost) - adrift, 'sweep')} with the optimum outside" if len(lost) > adrift else ""
    note += f", {_count(adrift, 'sweep')} without an optimum" if adrift else ""
    nearest = at_budget(tuple(own), metric, C)
    far = off_budgets(own, C)
    value = replace(_pooled(inside, values), beyond=far)
    remarks = tuple(dict.fromkeys(one.remark for one in inside if one.remark))
    return Choice("s", value, "inside", note + said_off(far), (min(values), max(values)), quoted,
                  cost_otherwise(nearest, others, value.value), remarks=remarks)  # fmt: skip


def said_off(far: float) -> str:
    """Return a text for the note of a setting if the budget lies ``far`` decades beyond the budgets of its sweeps.

    The text is empty if ``far`` is close to 0.
    """
    return f"; the budget lies {decades(far)} beyond the budgets of the sweeps" if far > 0.005 else ""


def batch(evidence: Evidence, metric: str, others: Sequence[float], used: float | None = None) -> Choice:
    """Return the choice of the critical batch size B_crit in sequences.

    The choice includes the costs of the batch sizes ``others``, relative to the batch size ``used``; None means B_crit.
    """
    quoted = evidence.quoted.get("B", "")
    found = evidence.batch.get(metric)
    if found is None:
        why = missing(evidence, "B", metric, "training steps to a target at several batch sizes")
        return Choice("B", Quantity(None, note=why), None, why, quoted=quoted)
    if not found.law.counts_updates:
        raise PlannerError(f"The batch size requires a fit of critical-batch, but this fit is of {found.law.key}.")
    at, draws = float(critical(found.values)), critical(found.draws)
    if not math.isfinite(at):
        return Choice("B", Quantity(None, unit="sequences", note=NO_PLATEAU), "not located", NO_PLATEAU, quoted=quoted)
    span = found.data.ranges.get(found.law.axis or "")
    more = tuple(Alternative(B, cost_of_batch(found, B, used)) for B in others)
    place: Place = "inside"
    if span is not None and not span[0] <= at <= span[1]:
        place = "outside left" if at < span[0] else "outside right"
    return Choice("B", measure(found, at, draws, "sequences", span), place, "critical batch", None, quoted, more)


def rate(batch_choice: Choice, scaling: LearningRate) -> Choice:
    """Return the learning rate at the chosen batch size.

    The interval follows from that of the batch size. The rule of thumb of the paper has no interval.
    """
    B = batch_choice.value
    if B.value is None:
        return Choice("lr", Quantity(None, note="computed from B, which is not known"), None, "computed from B")

    def of(x: float) -> float:
        return scaling.rate * math.sqrt(x / scaling.batch)

    ends = [None if ci is None else (of(max(ci[0], 0.0)), of(ci[1])) for ci in (B.ci68, B.ci95)]
    note = f"{scaling.rate:g} sqrt(B / {scaling.batch:g})"
    if scaling == LearningRate():
        return Choice("lr", Quantity(of(B.value), note="no interval: a rule of thumb"), None, note)
    return Choice("lr", Quantity(of(B.value), ends[0], ends[1], "", 0.0, B.note), None, note)


def negatives(
    evidence: Evidence, metric: str, C: float, cap: int | None, others: Sequence[float]
) -> tuple[Choice, Binds]:
    """Return the number of negatives K (at most ``cap``) from the sweep at the budget nearest to ``C``.

    The second value states what limits K. FLOPs limit K if the optimum lies inside the sweep and below the cap: more
    negatives would leave too few training steps (eq. 6). Memory limits K in two cases: the optimum lies above the cap,
    or it lies beyond a sweep that ends above the cap. The sweep limits K if the runs still improve at the largest K of
    the sweep and memory allows this K. The result is then this K.

    ``others`` are other K for which a cost is reported; by default a quarter of the result and four times the result.
    If memory limits K, no cost is reported for a larger K, because a larger K does not fit into memory.
    """
    quoted = evidence.quoted.get("K", "")
    own = tuple(one for one in evidence.negatives if one.metric == metric)
    own = tuple(one for one in own if one.located) or own
    at = at_budget(own, metric, C)
    if at is None:
        why = missing(evidence, "K", metric, "a sweep of the extra negatives")
        return Choice("K", Quantity(None, note=why), None, why, quoted=quoted), "unknown"
    inside = [one.x.value for one in own if one.inside]
    known = [x for x in inside if x is not None]
    band = (min(known), max(known)) if known else None
    value, place, note, binds = _capped(at, cap)
    far = off_budgets(own, C)
    if far and value.value is not None:
        value = replace(value, beyond=max(value.beyond, far))
    remarks = (at.remark,) if at.remark and (binds == "FLOPs" or at.remark == NOT_LOCATED) else ()
    fitting = value.value if binds == "memory" else None
    others = others or around(at, fitting or at.x.value)
    costs = cost_otherwise(at, [x for x in others if fitting is None or x <= fitting], fitting)
    return Choice("K", value, place, note + said_off(far), band, quoted, costs, remarks=remarks), binds


def _capped(at: Optimum, cap: int | None) -> tuple[Quantity, Place, str, Binds]:
    """Return the value of K, its position relative to the sweep, a note on its source, and what limits K."""
    where = name_of(at)
    if at.inside and at.x.value is not None:
        star = Quantity(at.x.value, at.x.ci68, at.x.ci95, "negatives", at.x.beyond, at.x.note)
        if cap is None or at.x.value <= cap:
            return star, at.place, f"optimum of {where}", "FLOPs"
        note = f"optimum {count(at.x.value)} of {where}, limited by memory"
        return Quantity(float(cap), unit="negatives", note=note), at.place, note, "memory"
    if at.place == "outside left":
        note = (
            f"outside {where}: a K below {count(at.low)}, the smallest of the sweep, may be better, so sweep smaller K"
        )
        return Quantity(None, unit="negatives", note=note), at.place, note, "unknown"
    if at.place != "outside right":
        note = at.why or f"not located by {where}"
        return Quantity(None, unit="negatives", note=note), at.place, note, "unknown"
    if cap is None:
        note = (
            f"outside {where}: the best K is at least {count(at.high)}, the largest of the sweep, if this K fits into "
            "the device memory"
        )
        return Quantity(None, unit="negatives", note=note), at.place, note, "unknown"
    if cap < at.high:
        note = f"outside {where}, which ends at {count(at.high)}; K is the largest value that fits into memory"
        return Quantity(float(cap), unit="negatives", note=note), at.place, note, "memory"
    note = f"a lower limit: the runs still improve at the largest K of {where}; {count(cap)} fit into memory"
    return Quantity(at.high, unit="negatives", note=note), at.place, note, "sweep"


def missing(evidence: Evidence, setting: str, metric: str, what: str) -> str:
    """Return the reason why a setting has no value, and which runs to add.

    The reason is that a paper does not print a table, or that no curve determines the setting. ``what`` describes the
    runs to add.
    """
    printed = evidence.missing.get(setting, "")  # type: ignore[call-overload]
    return f"{printed or f'No curve determines this setting for {metric}.'} Give {what} that measures {metric}."


def _pooled(inside: Sequence[Optimum], values: Sequence[float]) -> Quantity:
    """Return the geometric mean of optima, with an interval from their resamples.

    If a fit has no resamples, the interval follows from the scatter of the optima over budgets.
    """
    mean = float(np.exp(np.mean(np.log(values))))
    fits = [one.fit for one in inside if one.fit is not None and len(one.fit.resamples)]
    if len(fits) == len(inside):
        r = min(len(f.resamples) for f in fits)
        with np.errstate(divide="ignore"):
            logs = np.array([np.log(f.law.optimum(f.draws)[:r]) for f in fits if f.law.optimum is not None])
        return _possible(measure(fits[0], mean, np.exp(logs.mean(axis=0)), "of N"))
    if len(values) < 2:
        return Quantity(mean, unit="of N", note=inside[0].x.note)
    half = float(np.std(np.log(values), ddof=1)) / math.sqrt(len(values))
    ends = [half * float(stdtrit(len(values) - 1, (1 + level) / 2)) for level in (0.68, 0.95)]
    low, high = ((mean * math.exp(-h), mean * math.exp(h)) for h in ends)
    return _possible(
        Quantity(mean, low, high, "of N", 0.0, f"interval from the spread over {len(values)} budgets"), len(values)
    )


def _possible(share: Quantity, budgets: int = 0) -> Quantity:
    """Return ``share`` without intervals that extend above 1, because they do not constrain a fraction."""
    found = {}
    for name, level in (("ci68", 68), ("ci95", 95)):
        ends = getattr(share, name)
        if ends is not None and ends[1] > 1:
            few = f" of {budgets} budgets" if budgets else ""
            found[name] = f"no {level} % interval: the spread{few} also allows shares above 100 %"
    lost: dict[str, Any] = dict.fromkeys(found)
    return replace(share, note="; ".join(filter(None, (share.note, *found.values()))), **lost)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def stated(choice: Choice, own: Sequence[Optimum], C: float) -> Choice:
    """Return ``choice``, without its value if the budget ``C`` (FLOPs) is too far from its sweeps ``own``.

    Too far means more than three decades beyond the budgets of these sweeps.
    """
    far = off_budgets(own, C)
    if far <= ANSWERED:
        return choice
    swept = [one.budget for one in own]
    span = (min(swept) / 10**ANSWERED, max(swept) * 10**ANSWERED)
    value = replace(withheld(choice.value), beyond=far)
    note = f"{WITHHELD}; its sweeps support budgets from {_range(span)}"
    return Choice(choice.setting, value, None, note, quoted=choice.quoted, remarks=choice.remarks, supported=span)


def budgets_of(plan: Plan) -> Interval | None:
    """Return the range of budgets (FLOPs) that the runs of ``plan`` support; None if not known."""
    at = plan.support
    return (at.low, at.high) if at and at.axis == "C" and at.low is not None and at.high is not None else None


def marked(q: Quantity) -> str:
    """Return a text on the distance of a setting from its runs, such as " (extrapolated 1.5 decades in C)".

    The text is empty for one decade or less.
    """
    return f" (extrapolated {decades(q.beyond)} in C)" if q.beyond > MARKED else ""


def marked_plan(plan: Plan | None, lender: str) -> str:
    """Return a text in brackets with remarks on N and D.

    The remarks name the metric ``lender`` that provides the law of N and D, and state the distance of N and D from the
    runs. The text is empty if ``lender`` is empty and the distance is at most one decade.
    """
    distance = extrapolation(plan.placed, plan.y).removeprefix(", ") if plan is not None else ""
    remark = ", ".join(filter(None, (f"by {lender}" if lender else "", distance)))
    return f" ({remark})" if remark else ""


def unstated(choices: Mapping[Setting, Choice]) -> str:
    """Return a text with the supported budgets of all settings that have no value at the requested budget.

    The text is empty if every setting has a value.
    """
    spans: dict[Interval | None, list[str]] = {}
    for setting in SETTINGS:
        if choices[setting].withheld:
            spans.setdefault(choices[setting].supported, []).append(setting)
    if not spans:
        return ""
    ranges = [f"{_range(span) if span else 'none'} for {' and '.join(names)}" for span, names in spans.items()]
    return f" This budget lies too far beyond the runs. Supported budgets: {', '.join(ranges)}."


def advice(choice: Choice) -> str:
    """Return a sentence with the budgets at which ``choice`` has a value; empty if these budgets are not known."""
    return f" Choose a budget from {_range(choice.supported)}." if choice.supported else ""


def _range(span: Interval) -> str:
    low, high = (power10(x, 1) for x in span)
    return f"{low} to {high} FLOPs"
