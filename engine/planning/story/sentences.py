"""Sentences of a story. Each has at most 40 words, and shows the same numbers as its picture."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import MILLION, MONEY, between, distance, number, shown_unit, span
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.cheapest_path import Bought
from isoplan.engine.planning.drawing.cost_curve import Mark
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import LEAST_SAVING
from isoplan.engine.quantities import count
from isoplan.engine.schema import Runs

MOST_WORDS = 40
NAME_WORDS, NAME_LETTERS = 4, 40
DIGITS = 4
"""Largest number of digits of a value and of the ends of its interval."""
SURE = {0.03: "a precise estimate", 0.1: "a good estimate", 0.3: "a rough estimate"}
"""Words for the reliability of a number, by the largest half-width of its 68 % interval relative to the number."""
UNSURE = "an uncertain estimate"
PART_NAMES = {"inference": "use"}
"""Names of bill items that are clearer to an audience than the names in the code."""
TIMES = {2.0: "two times", 3.0: "three times", 4.0: "four times", 5.0: "five times", 10.0: "ten times"}
_THOUSAND = re.compile(r"(?<![\d.,])(\d)(\d{3})(?![\d,])")
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
    """Plan to compare with: ``factor`` times the N (or D) of the plan, and the other size for the same target."""

    factor: float = 2.0
    of: Literal["N", "D"] = "N"
    safe: bool = False
    """Whether the stated plan uses more samples than the target needs; only for a law on one size."""

    def subject(self, words: Words) -> str:
        """Return the start of a sentence: "With a model twice as large", "Ten times more points, to be safe,"."""
        times = TIMES.get(self.factor, f"{self.factor:g} times")
        model = f"a model {'twice' if self.factor == 2 else times} as large"
        size = model if self.of == "N" else f"{times} more {words.samples}"
        return f"{_first(size)}, to be safe," if self.safe else f"With {size}"

    def label(self, words: Words) -> str:
        """Return the name for a legend, such as "twice the model" or "ten times the jets"."""
        times = "twice" if self.factor == 2 else TIMES.get(self.factor, f"{self.factor:g} times")
        return f"{times} the {'model' if self.of == 'N' else words.samples}"


@dataclass(frozen=True)
class Comparison:
    """Costs of a stated plan, ``theirs``, and of the cheapest plan of the same quality, ``ours``.

    ``stated`` is None for a plan that the user typed. ``value`` is the predicted value of the stated plan.
    """

    theirs: float
    ours: float
    value: float
    stated: Stated | None = None


def shorten(name: str) -> str:
    """Return the name of a quantity with at most ``NAME_WORDS`` words and ``NAME_LETTERS`` letters."""
    words = " ".join(name.split()[:NAME_WORDS])[:NAME_LETTERS].rstrip()
    return words if words == " ".join(name.split()) else f"{words}..."


def price(q: Quantity, x: float | None = None) -> str:
    """Return ``q`` (or the number ``x`` in the format of ``q``) with its unit, such as "4,560 EUR" or "10²⁰ FLOPs"."""
    x = q.value if x is None else x
    if q.unit in MONEY and x is not None and x < MILLION:
        return f"{_plain(x)} {q.unit}"
    keep = None if q.unit in MONEY else 2
    return f"{number(Quantity(x, unit=q.unit, note='given'), keep=keep)} {shown_unit(q)}"


def _plain(x: float) -> str:
    """Return a number with three digits and thousands separators, without trailing zeros: 22.9, 12, 4,560."""
    return f"{float(f'{x:.3g}'):,.10g}"


def _amount(q: Quantity, x: float | None = None) -> str:
    """Return the value of ``q``, or ``x`` in the format of ``q``, with at most ``DIGITS`` digits."""
    x, text = q.value if x is None else x, number(q, x)
    if x is not None and 1e-3 <= abs(x) < MILLION and sum(map(str.isdigit, text.lstrip("-0."))) > DIGITS:
        return f"{float(f'{x:.{DIGITS}g}'):,.10g}"
    return _THOUSAND.sub(r"\1,\2", text)


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


def state_law(words: Words, spent: Quantity, one: Bought) -> str:
    """Return a sentence on the prediction of the law at the cost of the plan, with its interval and reliability."""
    value = one.value
    said = f"For {price(spent)} the law predicts {_a(words.quantity)} of {_amount(value)}"
    if value.ci68 is None:
        return f"{said}, without an interval: the law has no resamples.{_far(one.beyond)}"
    return f"{said}, with 68 % confidence {_interval(value)}: {sureness(value, spent)}.{_far(one.beyond)}"


def answer(words: Words, plan: Plan, spent: Quantity, one: Bought) -> str:
    """Return the plan in one sentence: the cost of the target, or what the budget buys."""
    far = _far(max((q.beyond for q in plan.placed.values()), default=0.0))
    if plan.question.kind == "budget":
        return buy(words, spent, one)
    interval = "" if spent.ci68 is None or spent.note == "given" else f" (68 %: {_between(spent)})"
    use = _use(words, {name: plan.allocation[name] for name in ("N", "D")})
    sure = f", {sureness(one.value, spent)}" if interval else ""
    target = f"{_first(_a(words.quantity))} of {plan.question.value:,g}"
    return f"{target} costs {price(spent)}{interval}{sure}{': ' + use if use else ''}.{far}"


def buy(words: Words, spent: Quantity, one: Bought) -> str:
    """Return a sentence on what the cost ``spent`` buys: the value with its interval, and the sizes of the run."""
    value = one.value
    interval = f" (68 %: {_interval(value)}), {sureness(value)}" if value.ci68 is not None else ""
    bought, use = f"{_a(words.quantity)} of {_amount(value)}{interval}", _use(words, one.sizes)
    return f"{price(spent)} buy {bought}{': ' + use if use else ''}.{_far(one.beyond)}"


def save(words: Words, spent: Quantity, compared: Comparison | None, now: Bought, more: Bought) -> str:
    """Return sentences on what the plan saves against a stated plan, and on the effect of more money or compute.

    ``compared`` is None if there is no stated plan. ``now`` is what the plan buys, ``more`` what the larger cost buys.
    """
    saved = "" if compared is None else _saving(words, spent, compared)
    return " ".join(filter(None, (saved, _more(words, spent, now, more, bool(saved)))))


def _saving(words: Words, spent: Quantity, compared: Comparison) -> str:
    theirs, ours = compared.theirs, compared.ours
    saved = theirs - ours
    share = 100 * saved / theirs
    small = share < LEAST_SAVING
    gain = f"{price(spent, saved)} ({share:.2g} %)"
    if compared.stated is None:
        tail = "no plan costs less" if small else f"the same {words.quantity} costs {price(spent, ours)}: {gain} less"
        return f"Our plan costs {price(spent, theirs)}; {tail}."
    start = compared.stated.subject(words)
    start += " would cost" if compared.stated.safe else f", the same {words.quantity} costs"
    tail = "the plan is not cheaper" if small else f"the plan saves {gain}"
    return f"{start} {price(spent, theirs)}; {tail}."


def _more(words: Words, spent: Quantity, now: Bought, more: Bought, repeated: bool) -> str:
    """Return a sentence on the change of the value from ``now`` to ``more``.

    If ``repeated``, the sentence calls the value "it", because the sentence before contains the name.
    """
    money = spent.unit in MONEY
    kind = "compute" if spent.unit == "FLOPs" else spent.unit
    extra = f"next {more.cost - now.cost:,.0f} {spent.unit}" if money else f"ten times more {kind}"
    start, end = now.value.value, more.value.value
    if start is None or end is None:
        return f"The runs do not show what {'the ' if money else ''}{extra} would change."
    extra = f"The {extra}" if money else _first(extra)
    name, verb = "it" if repeated else f"the {words.quantity}", "raise" if end >= start else "lower"
    before, after = _amount(now.value), _amount(more.value)
    if before == after:
        before, after = f"{start:.5g}", f"{end:.5g}"
    verb += "" if money else "s"
    return f"{extra} {verb} {name} from {_plain_end(before)} to {_plain_end(after)}.{_far(more.beyond)}"


def _plain_end(text: str) -> str:
    """Return a decimal number without trailing zeros; return other texts unchanged."""
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"\d+\.\d+", text) else text


def name_parts(amounts: Mapping[str, float], unit: str) -> str:
    """Return the items of a cost, the largest first: "Simulation 3,570 EUR, use 987 EUR, training 0.35 EUR."

    The text is empty if fewer than two items are positive.
    """
    costs = sorted(((x, part) for part, x in amounts.items() if x > 0), reverse=True)
    texts = [f"{PART_NAMES.get(part, part)} {price(Quantity(x, unit=unit))}" for x, part in costs]
    return f"{_first(', '.join(texts))}." if len(texts) > 1 else ""


def sureness(value: Quantity, cost: Quantity | None = None) -> str:
    """Return words for the precision of an answer, from the wider of the 68 % intervals of its value and its ``cost``.

    A cost that the user gave, or that has no interval, is ignored.
    """
    counted = [value] if cost is None or cost.note == "given" or cost.ci68 is None else [value, cost]
    half = max(map(_half_width, counted))
    return next((words for most, words in SURE.items() if half <= most), UNSURE)


def _half_width(q: Quantity) -> float:
    """Return the half-width of the 68 % interval divided by the value; infinite if the interval is not known."""
    if q.value is None or q.ci68 is None or not all(map(math.isfinite, q.ci68)) or not q.value:
        return math.inf
    return (q.ci68[1] - q.ci68[0]) / 2 / abs(q.value)


def _use(words: Words, sizes: Mapping[str, Quantity]) -> str:
    """Return the run as an instruction such as "train 1.5 M parameters on 36 M jets"; empty if no size is known."""
    N, D = (sizes.get(name, Quantity(None)) for name in ("N", "D"))
    if N.value is not None and D.value is not None:
        return f"train {words.counted(N)} on {words.counted(D)}"
    one = D if D.value is not None else N
    return "" if one.value is None else f"use {words.counted(one)}"


def _far(beyond: float) -> str:
    return f" Extrapolated {distance(beyond)}." if beyond > SEEN else ""


def _between(q: Quantity) -> str:
    low, high = q.ci68 or (0.0, math.inf)
    if not (math.isfinite(low) and math.isfinite(high)):
        return between(q, q.ci68)
    return f"{price(q, low).removesuffix(q.unit).rstrip()} to {price(q, high).removesuffix(q.unit).rstrip()}"


def _interval(q: Quantity) -> str:
    return "" if q.ci68 is None else span(q.ci68, partial(_amount, q))


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]
