"""Sentences of a story. Each has at most 40 words, and shows the same numbers as its picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import MILLION, MONEY, between, number, shown_unit, span
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.cheapest_path import Bought
from isoplan.engine.planning.drawing.cost_curve import Mark
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import LEAST_SAVING
from isoplan.engine.planning.plan.reliability import GOOD, sureness
from isoplan.engine.quantities import count, power10
from isoplan.engine.schema import Runs

MOST_WORDS = 40
NAME_WORDS, NAME_LETTERS = 4, 40
DIGITS = 3
"""Number of digits of a value. The ends of its interval are rounded to the same decimal."""
SMALL = 5e-5
"""Smallest value that is written with decimals. A smaller value is written with a power of ten."""
CENT = 0.01
TIMES = {2.0: "two times", 3.0: "three times", 4.0: "four times", 5.0: "five times", 10.0: "ten times"}
SEEN = 0.005
"""Smallest distance from the runs, in decades, that a sentence mentions."""


@dataclass(frozen=True)
class Words:
    """Names in the sentences: the predicted ``quantity``, the unit of ``samples``, and the ``question`` of screen 1.

    Empty names are replaced: ``quantity`` and ``samples`` by column names, ``question`` by a generated question.
    """

    quantity: str = ""
    samples: str = ""
    question: str = ""

    def counted(self, q: Quantity) -> str:
        """Return a number of parameters or samples, rounded to two digits, with its unit."""
        unit = self.samples if self.samples and q.unit != "parameters" else q.unit
        return f"{number(q, keep=2)} {unit}"


@dataclass(frozen=True)
class Stated:
    """Plan that a story compares with its own plan.

    N (or D) of the stated plan is ``factor`` times that of the plan of the story. Both plans reach the same target.
    """

    factor: float = 2.0
    of: Literal["N", "D"] = "N"
    safe: bool = False
    """Whether the stated plan uses more samples than the target needs; only for a law on one size."""

    def other(self, words: Words) -> str:
        """Return the size that differs from the plan: "a model twice as large", "ten times more points"."""
        times = TIMES.get(self.factor, f"{self.factor:g} times")
        model = f"a model {'twice' if self.factor == 2 else times} as large"
        return model if self.of == "N" else f"{times} more {words.samples}{' to be safe' if self.safe else ''}"

    def label(self, words: Words) -> str:
        """Return the name for a legend, such as "twice the model" or "ten times the jets"."""
        times = "twice" if self.factor == 2 else TIMES.get(self.factor, f"{self.factor:g} times")
        return f"{times} the {'model' if self.of == 'N' else words.samples}"


@dataclass(frozen=True)
class Comparison:
    """Costs of a stated plan (``theirs``) and of the cheapest plan of the same quality (``ours``).

    ``stated`` describes the stated plan as a multiple of the plan of the story; None if the user typed N and D of the
    stated plan. ``value`` is the predicted value of the stated plan.
    """

    theirs: float
    ours: float
    value: float
    stated: Stated | None = None


def shorten(name: str) -> str:
    """Return the name of a quantity with at most ``NAME_WORDS`` words and ``NAME_LETTERS`` letters."""
    words = " ".join(name.split()[:NAME_WORDS])[:NAME_LETTERS].rstrip()
    return words if words == " ".join(name.split()) else f"{words}..."


def price(q: Quantity, x: float | None = None, keep: int = 2) -> str:
    """Return ``q`` (or the number ``x`` in the format of ``q``) with its unit, such as "4,560 EUR" or "10²⁰ FLOPs".

    Money has three digits, and other costs have ``keep`` digits.
    """
    x = q.value if x is None else x
    if q.unit in MONEY and x is not None and x < MILLION:
        return f"{_plain(x)} {q.unit}"
    digits = None if q.unit in MONEY else keep
    return f"{number(Quantity(x, unit=q.unit, note='given'), keep=digits)} {shown_unit(q)}"


def _plain(x: float) -> str:
    """Return a number with three digits and thousands separators, without trailing zeros: "22.9", "12", "4,560"."""
    return f"{float(f'{x:.3g}'):,.10g}"


def _like(scale: float, x: float) -> str:
    """Return ``x`` as text in the notation of ``scale``, rounded to the decimal at which ``scale`` has three digits.

    For the scale 0.66, 0.6523 is "0.652". For the scale 3 × 10⁻⁶, 1.2345 × 10⁻⁵ is "12.3 × 10⁻⁶".
    """
    power = 0 if scale == 0 or SMALL <= abs(scale) < MILLION else _power(scale)
    x, scale = x / 10.0**power, scale / 10.0**power
    places = DIGITS - 1 - _power(max(abs(scale), abs(x)))
    if round(x, places) == 0 and x:
        places = -_power(x)
    text = f"{round(x, places):,.{max(places, 0)}f}"
    return f"{text} × {power10(10.0**power)}" if power else text


def _power(x: float) -> int:
    """Return the power of ten of ``x`` after rounding to three digits; 0 for 0."""
    return int(f"{x:.{DIGITS - 1}e}".partition("e")[2])


def _amount(q: Quantity) -> str:
    """Return the value of ``q`` with three digits."""
    return "none" if q.value is None else _like(q.value, q.value)


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def ask(words: Words, plan: Plan, spent: Quantity, best: Mark | None) -> str:
    """Return the question of the first screen, and the value and cost of the ``best`` run."""
    asked = plan.question
    if words.question:
        question = words.question
    elif asked.kind == "target":
        question = f"What does it cost to reach {_a(words.quantity)} of {asked.value:,g}?"
    else:
        question = f"How good can the {words.quantity} become for {price(spent)}?"
    return question if best is None else f"{question} Best run so far: {_plain(best.y)} for {price(spent, best.x)}."


def list_runs(words: Words, fit: Fit, runs: Runs | None, y: str) -> str:
    """Return a sentence with the number of runs and the ranges of N, D and ``y``."""
    if runs is None:
        return "The runs behind this law are not in this workspace; the picture shows the law alone."
    ranges = []
    for name, unit in (("N", "parameters"), ("D", words.samples)):
        low, high = fit.data.ranges.get(name, (0.0, 0.0))
        if 0 < low < high:
            ranges.append(f"{count(low)} to {count(high)} {unit}")
    sizes = f" with {' and '.join(ranges)}" if ranges else ""
    reached = f" Their {words.quantity} is {_plain(runs[y].min())} to {_plain(runs[y].max())}." if y in runs else ""
    return f"{len(runs):,} training runs{sizes}.{reached} They are the evidence for everything that follows."


def state_law(words: Words, spent: Quantity, one: Bought, far: str = "") -> str:
    """Return a sentence on the prediction of the law at the cost of the plan, with its interval and reliability.

    In this function and the following ones, ``far`` is the distance from the runs, as text that ``outside`` returns.
    """
    value = one.value
    said = f"For {price(spent)} the law predicts {_a(words.quantity)} of {_amount(value)}"
    if value.ci68 is None:
        return f"{said}, without an interval: the law has no resamples{_and_far(far)}."
    return f"{said}, with 68 % confidence {_interval(value)}: {judge(value, spent, far)}."


def answer(words: Words, plan: Plan, spent: Quantity, one: Bought, far: str = "") -> str:
    """Return the plan in one sentence: the cost of the target, or what the budget buys."""
    if plan.question.kind == "budget":
        return buy(words, spent, one, far)
    interval = "" if spent.ci68 is None or spent.note == "given" else f" (68 %: {_between(spent)})"
    use = _use(words, {name: plan.allocation[name] for name in ("N", "D")})
    sure = f", {judge(spent, None, far)}" if interval else _and_far(far)
    target = f"{_first(_a(words.quantity))} of {plan.question.value:,g}"
    return f"{target} costs {price(spent)}{interval}{sure}{': ' + use if use else ''}."


def buy(words: Words, spent: Quantity, one: Bought, far: str = "") -> str:
    """Return a sentence on what the cost ``spent`` buys: the value with its interval, and the sizes of the run."""
    value = one.value
    known = value.ci68 is not None
    sure = f" (68 %: {_interval(value)}), {judge(value, None, far)}" if known else _and_far(far)
    use = _use(words, one.sizes)
    return f"{price(spent)} buy {_a(words.quantity)} of {_amount(value)}{sure}{': ' + use if use else ''}."


def save(words: Words, spent: Quantity, compared: Comparison | None, now: Bought, more: Bought, far: str = "") -> str:
    """Return sentences on what the plan saves against a stated plan, and on the effect of more money or compute.

    ``compared`` is None if there is no stated plan. ``now`` is what the plan buys, and ``more`` is what the larger cost
    buys.
    """
    saved = "" if compared is None else _saving(words, spent, compared)
    return " ".join(filter(None, (saved, _more(words, spent, now, more, far))))


def _saving(words: Words, spent: Quantity, compared: Comparison) -> str:
    theirs, ours = (price(spent, x, DIGITS) for x in (compared.theirs, compared.ours))
    share = 100 * (1 - compared.ours / compared.theirs)
    small, less = share < LEAST_SAVING, f"{share:.2g} % less"
    if compared.stated is None:
        tail = "no plan costs less" if small else f"the same {words.quantity} costs {ours}, {less}"
        return f"Our plan costs {theirs}; {tail}."
    same = "" if compared.stated.safe else f"the same {words.quantity} "
    than = f"{same}with {compared.stated.other(words)} ({theirs})"
    return f"The plan costs {ours}, {'as much as' if small else f'{less} than'} {than}."


def _more(words: Words, spent: Quantity, now: Bought, more: Bought, far: str) -> str:
    """Return a sentence on the change of the value from ``now`` to ``more``."""
    money = spent.unit in MONEY
    kind = "compute" if spent.unit == "FLOPs" else spent.unit
    extra = f"next {more.cost - now.cost:,.0f} {spent.unit}" if money else f"ten times more {kind}"
    start, end = now.value.value, more.value.value
    if start is None or end is None:
        return f"The runs do not show what {'the ' if money else ''}{extra} would change."
    extra = f"The {extra}" if money else _first(extra)
    verb = f"{'raise' if end >= start else 'lower'}{'' if money else 's'}"
    before, after = (_like(start, x) for x in (start, end))
    change = f"from {before} to {after}" if before != after else f"by {100 * abs(end / start - 1):.2g} %"
    return f"{extra} {verb} the {words.quantity} {change}{' (extrapolated)' if far else ''}."


def name_parts(amounts: Mapping[str, float], unit: str) -> str:
    """Return the items of a cost, the largest first: "Simulation 3,570 EUR, inference 987 EUR, training 0.35 EUR."

    The text is empty if fewer than two items are positive.
    """
    costs = sorted(((x, part) for part, x in amounts.items() if x > 0), reverse=True)
    texts = [f"{part} {_item(x, unit)}" for x, part in costs]
    return f"{_first(', '.join(texts))}." if len(texts) > 1 else ""


def _item(x: float, unit: str) -> str:
    """Return an item of a cost, rounded to a cent if it is below 1."""
    if x < CENT:
        return f"less than {CENT:g} {unit}"
    return f"{x:.2f} {unit}" if x < 1 else price(Quantity(x, unit=unit))


def outside(words: Words, name: str, decades: float, above: bool) -> str:
    """Return a distance from the runs, such as "7.6 times more jets than the largest run".

    ``name`` is N, D, C, or a quantity that the law or the map predicts. ``above`` states on which side of the runs the
    number lies. The text is empty for a distance of at most ``SEEN``.
    """
    if decades <= SEEN:
        return ""
    times = f"{float(f'{10**decades:.{2 if decades > 0.04 else 3}g}'):g} times"
    units = {"N": "parameters", "D": words.samples, "C": "compute"}
    if name in units:
        more = "more" if above else "less" if name == "C" else "fewer"
        return f"{times} {more} {units[name]} than the {'largest' if above else 'smallest'} run"
    return f"{_a(name)} {times} {'higher' if above else 'lower'} than in any run"


def _and_far(far: str) -> str:
    return f", extrapolated to {far}" if far else ""


def judge(value: Quantity, cost: Quantity | None, far: str) -> str:
    """Return words for the precision of an answer, or its distance from the runs ``far``, or both.

    An extrapolated answer is not called precise or good (see ``GOOD``).
    """
    sure = sureness(value, cost)
    return _and_far(far).removeprefix(", ") if far and sure in GOOD else f"{sure}{_and_far(far)}"


def _use(words: Words, sizes: Mapping[str, Quantity]) -> str:
    """Return the run as an instruction such as "train 1.5 M parameters on 36 M jets"; empty if no size is known."""
    N, D = (sizes.get(name, Quantity(None)) for name in ("N", "D"))
    if N.value is not None and D.value is not None:
        return f"train {words.counted(N)} on {words.counted(D)}"
    one = D if D.value is not None else N
    return "" if one.value is None else f"use {words.counted(one)}"


def _between(q: Quantity) -> str:
    low, high = q.ci68 or (0.0, math.inf)
    if not (math.isfinite(low) and math.isfinite(high)):
        return between(q, q.ci68)
    return f"{price(q, low).removesuffix(q.unit).rstrip()} to {price(q, high).removesuffix(q.unit).rstrip()}"


def _interval(q: Quantity) -> str:
    """Return the 68 % interval of ``q``; "within 1 %" if both ends have the same text as the value."""
    if q.ci68 is None or q.value is None:
        return ""
    ends = span(q.ci68, partial(_like, q.value))
    return "within 1 %" if ends == " to ".join(2 * [_amount(q)]) else ends


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]
