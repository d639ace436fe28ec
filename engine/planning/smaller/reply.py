"""Answer to "Smaller for longer" for the page and the terminal: its sentences, tables and charts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.plan.money import in_compute
from isoplan.engine.planning.questions.answer import Answer, Part, Table, tabulate
from isoplan.engine.planning.questions.chart import Area, Axis, Chart, Colour, Curve, Label, Marker, Shade
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.planning.scenario.prices import Inference
from isoplan.engine.planning.smaller.answer import (
    Lifetime,
    LifetimeCurve,
    SameLoss,
    lifetime,
    lifetime_curve,
    same_loss,
)
from isoplan.engine.planning.smaller.text import (
    as_document,
    lifetime_rows,
    lifetime_sentence,
    lifetime_text,
    same_loss_text,
    size_rows,
    smallest_sentence,
    warnings,
)
from isoplan.engine.quantities import count, power10

MOST = 2.0
"""Largest additional compute in the chart, divided by the least compute. A value of 2 means three times the compute."""
SHOWN = {0.5: "half", 2.0: "twice"}
"""Sizes, divided by the best size, at which the chart shows the additional compute; the values are the labels."""
TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3)
INSIDE = 0.005
"""Distance from the runs, in decades, up to which a model counts as inside the range of the runs."""
TALLEST = 2.6
"""Upper end of the cost axis of the lifetime chart, divided by the least cost."""
PARTS: tuple[Colour, ...] = ("training", "simulation", "inference")
UNSERVED = (
    "Enter the number of queries under Machine and prices to find the size that costs least for training and inference."
)


@dataclass(frozen=True, eq=False, repr=False)
class Smaller(Answer):
    """Answer with the models of one loss in ``result``.

    ``lifetime`` is the model of least lifetime cost; None if no queries are given.
    """

    lifetime: Lifetime | None = None


def answer(fit: Fit, given: Given) -> Smaller:
    """Return the models that reach the requested loss. Raises PlannerError under the conditions of ``same_loss``."""
    asked, prices = in_compute(fit, given.loss, given.prices, given.rule)
    given = replace(given, asked=asked, prices=prices)
    curve, served = same_loss(fit, given.loss, given.rule, given.prices), given.queries
    life = None
    if served is not None and curve.plan.answers:
        life = lifetime(fit, given.loss, served, given.rule, given.prices)
    return Smaller(
        curve,
        "\n\n".join([same_loss_text(curve), *([lifetime_text(life)] if life else [])]),
        as_document(curve, life, served, given.file, given.group),
        warnings(curve, life),
        _name(curve),
        tuple(filter(None, [smallest_sentence(curve)])),
        lifetime_sentence(life) if life else "",
        (*_sizes(curve, life), *(_life(fit, given, life, served) if life and served else ())),
        UNSERVED if served is None else "",
        lifetime=life,
    )


def _name(curve: SameLoss) -> str:
    asked = curve.plan.question
    of = f"of {asked.budget(curve.plan.prices)}" if asked.kind == "budget" else f"{asked.value:.4g}"
    return f"{curve.plan.y} {of}"


def _sizes(curve: SameLoss, life: Lifetime | None) -> tuple[Part, ...]:
    """Return the table and the chart of the training costs of all sizes; empty if the runs do not support the plan."""
    if not curve.plan.answers:
        return ()
    head, *rows = size_rows(curve)
    table = Table((*head[:-1], "Note"), tuple(rows), "Sizes and additional compute of models with the same loss.")
    dashed = "" if curve.beyond.max() <= 0.005 else "; the dashed part of the line lies beyond the runs"
    caption = f"The star is the best size for training; the tint is the 68 % interval{dashed}."
    cheapest = life.fraction.value if life is not None and life.answers else None
    return (Part(table, partial(chart_overhead, curve, cheapest), caption=caption),)


def _life(fit: Fit, given: Given, life: Lifetime, served: Inference) -> tuple[Part, ...]:
    """Return the table and the chart of the lifetime costs of models.

    The result is empty if the runs do not support the cheapest size.
    """
    if not life.answers:
        return ()

    def chart() -> Chart:
        return chart_lifetime(lifetime_curve(fit, given.loss, served, given.rule, given.prices), life)

    table = tabulate(lifetime_rows(life), "Numbers of the model with the least lifetime cost.")
    return (Part(table, chart if life.total.value is not None else None, "Over its life"),)


def chart_overhead(curve: SameLoss, life: float | None = None) -> Chart:
    """Return the chart of additional compute against model size.

    ``life`` is the size of least lifetime cost, divided by the best size for training; None if it is not known.
    """
    x, y = curve.fraction, curve.overhead
    low, high = 0.85 * float(x[y <= MOST][0]), float(x[-1])
    markers = [Marker(1.0, 0.0, _hover("Best for training", curve, 1.0))]
    if life is not None and low < life < high:
        at = float(np.interp(np.log(life), np.log(x), y))
        markers.append(Marker(life, at, _hover("Cheapest over its life", curve, life), ring="lifetime"))
    said = {k: float(np.interp(k, x, y)) for k in SHOWN if x[0] < k < x[-1] and np.interp(k, x, y) < 0.9 * MOST}
    line = Curve(
        x,
        y,
        curve.within,
        curve.beyond <= INSIDE,
        hover="%{x:.3~f} of the best size<br>%{text}<br>compute %{y:+.1%}<extra>same loss</extra>",
        texts=tuple(
            f"N  {count(float(N), 3)}<br>D  {count(float(D), 3)}" for N, D in zip(curve.N, curve.D, strict=True)
        ),
        # The user can zoom out only to this range, so the band is clipped to it.
        band=(np.clip(curve.low68, -MOST, 2 * MOST), np.clip(curve.high68, -MOST, 2 * MOST)),
    )
    names = ("fraction", "N", "D", "overhead", "low68", "high68", "within", "beyond")
    return Chart(
        "smaller-for-longer",
        _overhead_alt(curve),
        Axis("Model size <i>N</i> / <i>N</i>* at the same loss", low, high, log=True,
             ticks=tuple(k for k in TICKS if low <= k <= high)),
        Axis("More compute to train", min(-0.08, 1.2 * float(y.min())), MOST, share=True),
        curves=(line,),
        markers=tuple(markers),
        labels=tuple(Label(k, at, f"{SHOWN[k]} the size: {100 * at:+.2g} %", k >= 1, k != next(iter(said)))
                     for k, at in said.items()),
        shades=_forbidden(curve, low),
        columns={name: getattr(curve, name) for name in names},
    )  # fmt: skip


def chart_lifetime(curve: LifetimeCurve, life: Lifetime) -> Chart:
    """Return the chart of stacked training, simulation and inference costs against model size.

    The marker of the least total cost shows the 68 % intervals of ``life``.
    """
    total, least = curve.total, float(np.interp(curve.best, curve.N, curve.total))
    highest = TALLEST * least
    shown = np.flatnonzero(total <= highest * 1.5)
    cut = slice(shown[0], shown[-1] + 1)
    N = curve.N[cut]
    areas, below = list[Area](), np.zeros(len(N))
    for name in PARTS:
        amount: Floats = getattr(curve, name)[cut]
        if amount.any():
            top = np.minimum(below + amount, highest)
            areas.append(Area(name, N, below, top, name))
            below = top
    hover = f"N  %{{x:.3~s}}<br>%{{y:.4~s}} {curve.unit}<extra>over its life</extra>"
    star = f"<b>Cheapest</b><br>N  {count(curve.best, 3)}<br>{least:.4g} {curve.unit}"
    names = ("N", *PARTS, "total", "within", "beyond")
    return Chart(
        "lifetime-cost",
        _lifetime_alt(curve, least),
        Axis("Model size <i>N</i>", float(N[0]), float(N[-1]), "parameters", log=True),
        Axis("Cost over its life", 0.0, highest, curve.unit, short=curve.unit != "FLOPs"),
        curves=(Curve(N, total[cut], curve.within[cut], curve.beyond[cut] <= INSIDE, "text", 2.2, hover),),
        areas=tuple(areas),
        markers=(Marker(curve.best, least, star, life.N.ci68, life.total.ci68),),
        uprights=((curve.first, "best for<br>training alone", ""),),
        columns={name: getattr(curve, name) for name in names},
        top=False,
    )


def _hover(name: str, curve: SameLoss, k: float) -> str:
    N, D = (float(np.interp(k, curve.fraction, sizes)) for sizes in (curve.N, curve.D))
    return f"<b>{name}</b><br>N  {count(N, 3)}<br>D  {count(D, 3)}"


def _forbidden(curve: SameLoss, low: float) -> tuple[Shade, ...]:
    """Return a shaded range of the sizes at which no number of samples reaches the loss.

    The result is empty if this range is not in the chart.
    """
    q = curve.smallest
    if q.value is None or q.value <= low:
        return ()
    sure = f"<br>68 %: {between(q, q.ci68)}" if q.ci68 else ""
    return (Shade(low, q.value, f"below {number(q)} no number<br>of samples is enough{sure}"),)


def _overhead_alt(curve: SameLoss) -> str:
    half = float(np.interp(0.5, curve.fraction, curve.overhead))
    said = f"Half the best size needs {100 * half:.2g} % more compute. " if curve.fraction[0] < 0.5 else ""
    return (
        f"Additional compute of models of other sizes at the same loss {float(abs(curve.best.loss)):.4g}; the best "
        f"model has {count(float(curve.best.N))} parameters. {said}Models below {number(curve.smallest)} "
        "of the best size do not reach this loss with any number of samples."
    )


def _lifetime_alt(curve: LifetimeCurve, least: float) -> str:
    plain = curve.unit != "FLOPs" and 1e-3 <= least < 1e4
    cost = f"{float(f'{least:.3g}'):.12g}" if plain else power10(least)
    return (
        f"Cost of models of the same loss over their lives, against their size: the minimum is {cost} {curve.unit}, at "
        f"{count(curve.best)} parameters; the best model for training alone has {count(curve.first)}."
    )
