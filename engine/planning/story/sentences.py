"""Sentences of a story: each has at most 40 words, and the same numbers as its picture."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import MILLION, MONEY, between, decades, number, shown_unit, span
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.drawing.cheapest_path import Bought
from isoplan.engine.planning.drawing.cost_curve import Mark
from isoplan.engine.planning.plan.answer import Plan
from isoplan.engine.planning.plan.parts import LEAST_SAVING, Saving
from isoplan.engine.quantities import count
from isoplan.engine.schema import Runs

MOST_WORDS = 40
NAME_WORDS, NAME_LETTERS = 4, 40
DIGITS = 4
"""Largest number of digits of a value and of the ends of its interval."""
SURE = {0.03: "a precise prediction", 0.1: "a good prediction", 0.3: "a rough prediction"}
"""Words for the reliability of a number, by the largest half-width of its 68 % interval relative to the number."""
UNSURE = "an uncertain prediction"
_THOUSAND = re.compile(r"(?<![\d.,])(\d)(\d{3})(?![\d,])")
SEEN = 0.005
"""Smallest distance from the runs, in decades, that a sentence states."""


@dataclass(frozen=True)
class Words:
    """Names in the sentences: the predicted ``quantity``, the unit of ``samples``, and the ``question`` of screen 1.

    Empty names are replaced by the column names of the table.
    """

    quantity: str = ""
    samples: str = ""
    question: str = ""

    def counted(self, q: Quantity) -> str:
        """Return a number of parameters or samples with its unit, to two digits."""
        unit = self.samples if self.samples and q.unit != "parameters" else q.unit
        return f"{number(q, keep=2)} {unit}"


def shorten(name: str) -> str:
    """Return the name of a quantity with at most ``NAME_WORDS`` words and ``NAME_LETTERS`` letters."""
    words = " ".join(name.split()[:NAME_WORDS])[:NAME_LETTERS].rstrip()
    return words if words == " ".join(name.split()) else f"{words}..."


def price(q: Quantity, x: float | None = None) -> str:
    """Return the cost ``q``, or ``x`` in its style, with the unit: "4,560 EUR", "10²⁰ FLOPs"."""
    x = q.value if x is None else x
    if q.unit in MONEY and x is not None and x < MILLION:
        return f"{_plain(x)} {q.unit}"
    keep = None if q.unit in MONEY else 2
    return f"{number(Quantity(x, unit=q.unit, note='given'), keep=keep)} {shown_unit(q)}"


def _plain(x: float) -> str:
    """Return a number to three digits with thousands separators, without zeros at the end: 22.9, 12, 4,560."""
    return f"{float(f'{x:.3g}'):,.10g}"


def _amount(q: Quantity, x: float | None = None) -> str:
    """Return the value of ``q``, or ``x`` in its style, with at most ``DIGITS`` digits and thousands separators."""
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
    """Return the number of runs, and the ranges of their sizes and of ``y``."""
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
    """Return what the law predicts at the cost of the plan, with the interval in numbers and in words."""
    value = one.value
    said = f"For {price(spent)} the law predicts {_a(words.quantity)} of {_amount(value)}"
    if value.ci68 is None:
        return f"{said}, without an interval: the law has no resamples.{_far(one.beyond)}"
    return f"{said}, with 68 % confidence {_interval(value)}: {sureness(value)}.{_far(one.beyond)}"


def answer(words: Words, plan: Plan, spent: Quantity, one: Bought) -> str:
    """Return the plan in one sentence: the cost of the target, or what the budget buys."""
    far = _far(max((q.beyond for q in plan.placed.values()), default=0.0))
    if plan.question.kind == "budget":
        return buy(words, spent, one)
    interval = "" if spent.ci68 is None or spent.note == "given" else f" (68 %: {_between(spent)})"
    use = _use(words, {name: plan.allocation[name] for name in ("N", "D")})
    target = f"{_first(_a(words.quantity))} of {plan.question.value:,g}"
    return f"{target} costs {price(spent)}{interval}{': ' + use if use else ''}.{far}"


def buy(words: Words, spent: Quantity, one: Bought) -> str:
    """Return what a cost buys: the value with its interval, and the sizes of the run."""
    value = one.value
    interval = f" (68 %: {_interval(value)})" if value.ci68 is not None else ""
    bought, use = f"{_a(words.quantity)} of {_amount(value)}{interval}", _use(words, one.sizes)
    return f"{price(spent)} buy {bought}{': ' + use if use else ''}.{_far(one.beyond)}"


def save(words: Words, spent: Quantity, saving: Saving | float | None, stated: str, more: Bought) -> str:
    """Return what the plan saves against the stated plan, and what more money or compute buys.

    ``saving`` is the cost of the stated plan for a law on one size, and None if there is nothing to compare.
    """
    parts = [_saving(spent, saving, stated), _more(words, spent, more)]
    return " ".join(filter(None, parts))


def _saving(spent: Quantity, saving: Saving | float | None, stated: str) -> str:
    if saving is None:
        return ""
    if isinstance(saving, float):
        share = 100 * (1 - (spent.value or 0.0) / saving)
        return f"{stated} would cost {price(spent, saving)}; the plan costs {share:.2g} % less."
    theirs, ours = saving.stated["C"], saving.cheapest["C"]
    if spent.unit in MONEY and saving.stated_money is not None and saving.cheapest_money is not None:
        theirs, ours = saving.stated_money, saving.cheapest_money
    if theirs.value is None or ours.value is None:
        return ""
    share = 100 * (1 - ours.value / theirs.value)
    if share < LEAST_SAVING:
        return f"{stated} would cost {price(theirs)}, and no plan of equal quality costs less."
    return f"{stated} would cost {price(theirs)}; the cheapest plan of equal quality costs {share:.2g} % less."


def _more(words: Words, spent: Quantity, more: Bought) -> str:
    extra = (
        f"The next {more.cost - (spent.value or 0.0):,.0f} {spent.unit}" if spent.unit in MONEY else "Ten times more"
    )
    if more.value.value is None:
        return f"The runs do not show what {extra[0].lower()}{extra[1:]} buys."
    verb = "buy" if spent.unit in MONEY else "buys"
    return f"{extra} {verb} {_a(words.quantity)} of {_amount(more.value)}.{_far(more.beyond)}"


def sureness(q: Quantity) -> str:
    """Return how precise a number is, in words, from its 68 % interval."""
    if q.value is None or q.ci68 is None or not all(map(math.isfinite, q.ci68)) or not q.value:
        return UNSURE
    half = (q.ci68[1] - q.ci68[0]) / 2 / abs(q.value)
    return next((said for most, said in SURE.items() if half <= most), UNSURE)


def _use(words: Words, sizes: Mapping[str, Quantity]) -> str:
    """Return the run as an instruction: "train 1.5 M parameters on 36 M jets", empty if no size is known."""
    N, D = (sizes.get(name, Quantity(None)) for name in ("N", "D"))
    if N.value is not None and D.value is not None:
        return f"train {words.counted(N)} on {words.counted(D)}"
    one = D if D.value is not None else N
    return "" if one.value is None else f"use {words.counted(one)}"


def _far(beyond: float) -> str:
    return f" Extrapolated {decades(beyond)}." if beyond > SEEN else ""


def _between(q: Quantity) -> str:
    low, high = q.ci68 or (0.0, math.inf)
    if not (math.isfinite(low) and math.isfinite(high)):
        return between(q, q.ci68)
    return f"{price(q, low).removesuffix(q.unit).rstrip()} to {price(q, high).removesuffix(q.unit).rstrip()}"


def _interval(q: Quantity) -> str:
    return "" if q.ci68 is None else span(q.ci68, partial(_amount, q))


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]
