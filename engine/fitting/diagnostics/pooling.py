"""Warnings of a fit that pools runs of different datasets, splits or groups, or flagged runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.diagnostics.offsets import Offset, offsets
from isoplan.engine.fitting.diagnostics.residuals import compare
from isoplan.engine.fitting.samples.sample import Sample, sample
from isoplan.engine.fitting.types.result import Fit, FitWarning
from isoplan.engine.mixtures import Question, ask, condition, option, pooled, questions, ways
from isoplan.engine.schema import Runs

POOLED, FLAGGED, OFFSETS = "pooled", "flagged", "offsets"
SIZES = ("N", "D", "C", "U", "budget")
SHOWN = 3
"""Largest number of columns that are named."""


def mixed(s: Sample, theta: Floats) -> Iterator[FitWarning]:
    """Yield warnings about what the runs of a fit mix, and about the columns by which their residuals differ."""
    found = {o.column: o for o in residual_offsets(s, theta)} if s.law.is_pointwise else {}
    for question in questions(s.runs):
        yield _unanswered(question, found.pop(question.column, None), s.spec.log_residuals)
    for o in list(found.values())[:SHOWN]:
        yield FitWarning(OFFSETS, _differ(o, s.spec.log_residuals, s.runs))


def residual_offsets(s: Sample, theta: Floats) -> tuple[Offset, ...]:
    """Return the columns by which the residuals of a fit differ, most significant first.

    Columns that the user pooled on purpose are not tested.
    """
    names = [name for name in pooled(s.runs) if name not in s.law.axes]
    if not names:
        return ()
    with np.errstate(all="ignore"):  # A formula can overflow.
        predicted = s.law.predict(theta, s.columns)
    if not np.any(np.isfinite(predicted)):
        return ()
    residual = compare(predicted, s.y, s.spec.log_residuals).residual
    axes = [np.log(x) if np.all(x > 0) else x for x in (s.columns[axis] for axis in s.law.axes)]
    sizes = [s.runs[role] for role in dict.fromkeys((*SIZES, *s.law.axes)) if role in s.runs]
    every = offsets(residual, axes, {name: s.runs.categories[name] for name in names}, sizes)
    return tuple(o for o in every if o.found)


def differing(fit: Fit, runs: Runs) -> tuple[Question, ...]:
    """Return the columns of ``runs`` by which the residuals of ``fit`` differ and that no question covers yet."""
    if not fit.law.is_pointwise or fit.data.curves:
        return ()
    asked, s = {q.column for q in questions(runs)}, sample(fit.spec, runs)
    found = [o.column for o in residual_offsets(s, fit.theta) if o.column not in asked]
    return tuple(ask(name, runs.categories[name], "dataset") for name in found[:SHOWN])


def _unanswered(question: Question, offset: Offset | None, log: bool) -> FitWarning:
    evidence = f" Residuals differ: {_values(offset, log)}." if offset else ""
    if question.kind == "dataset":
        what = f"{question.text} One law is fitted to all of them.{evidence}"
        todo = "Answer the question on the Data page: one law each, only one of them, or all as one"
    elif question.kind == "split":
        what = f"{question.text} All of them are fitted.{evidence}"
        todo = f"Fit on {question.keep[0]} alone on the Data page, or keep all"
    else:
        one = question.left_out == 1
        what = f"{question.text} {'It is' if one else 'They are'} fitted.{evidence}"
        todo = f"Leave {'it' if one else 'them'} out on the Data page, or keep {'it' if one else 'them'}"
    code = POOLED if question.kind == "dataset" else FLAGGED
    return FitWarning(code, f"{what} {todo} ({ways(question)} in the terminal).")


def _differ(o: Offset, log: bool, runs: Runs) -> str:
    kind = runs.categories[o.column].typed
    best = min(o.by_value, key=o.by_value.__getitem__)
    name, only = shlex.quote(o.column), option(condition(o.column, (best,), kind))
    return (
        f"Residuals differ by column {o.column!r}: {_values(o, log)}; with an offset for each value the scatter is "
        f"{o.smaller:.0%} smaller (p = {o.p:.1g}). Fit one law each, or only one of them (--group {name} --each, "
        f"{only} or --pool {name} in the terminal)."
    )


def _values(o: Offset, log: bool) -> str:
    """Format the offset of each value, in percent of the target if residuals are logarithms."""
    shown = sorted(o.by_value.items(), key=lambda item: item[1])
    text = (f"{name or 'empty'} {np.expm1(b):+.1%}" if log else f"{name or 'empty'} {b:+.3g}" for name, b in shown)
    return ", ".join(part.replace("-", "\N{MINUS SIGN}") for part in text)
