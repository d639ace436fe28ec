"""Answer of the example question: the loss at a budget and at a multiple of this budget."""

from __future__ import annotations

import numpy as np

from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.document import Document, warned
from isoplan.engine.planning.answer.format import as_row, number
from isoplan.engine.planning.answer.script import reading, script
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.questions.answer import Answer, Part, tabulate
from isoplan.engine.planning.questions.chart import Axis, Chart, Curve, Marker
from isoplan.engine.planning.questions.given import Given


def answer(fit: Fit, given: Given) -> Answer:
    """Return the least loss at the given budget and at ``factor`` times this budget."""
    C, factor = given.loss.value, given.values["factor"]
    plans = [plan_budget(fit, x, given.rule, prices=given.prices) for x in (C, factor * C)]
    losses = [plan.allocation["loss"] for plan in plans]
    sentence = f"{factor:g} times the budget reduces the loss from {number(losses[0])} to {number(losses[1])}."
    lines = tuple(zip(("Loss", f"Loss of {factor:g} budgets"), losses, strict=True))
    body = {"schema": 1, "sentence": sentence, "losses": [q.value for q in losses]}
    homes = {"plan_budget": "isoplan.engine.planning"}
    code = [f"fit = {reading(given.file, given.group)}",
            f"print([plan_budget(fit, C).allocation['loss'].value for C in {[C, factor * C]}])"]  # fmt: skip
    warnings = plans[1].warnings
    document = Document(sentence, lines, warned(warnings), body, script(sentence, code, homes))
    table = tabulate([as_row(*line) for line in lines], "Both losses in numbers.")
    part = Part(table, lambda: _chart(fit, C, factor), caption="The star is the larger budget.")
    return Answer(losses, sentence, document, warnings, f"{factor:g} budgets", parts=(part,))


def _chart(fit: Fit, C: float, factor: float) -> Chart:
    """Draw the least loss at budgets from ``C / 2`` to ``2 * factor * C`` (FLOPs)."""
    budgets = np.geomspace(C / 2, 2 * factor * C, 9)
    loss = np.array([plan_budget(fit, x).allocation["loss"].value or np.nan for x in budgets])
    star = float(np.interp(factor * C, budgets, loss))
    everywhere = np.ones(len(budgets), bool)
    return Chart(
        "larger-budget",
        f"The least loss against the budget: {loss[0]:.3g} to {loss[-1]:.3g}.",
        Axis("Budget", float(budgets[0]), float(budgets[-1]), "FLOPs", log=True),
        Axis("Loss", float(loss.min()), float(loss.max())),
        curves=(Curve(budgets, loss, everywhere, everywhere),),
        markers=(Marker(factor * C, star, "The larger budget"),),
        columns={"budget": budgets, "loss": loss},
    )
