"""Answer to "Precision" in words, as a table, as JSON and as a document."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from isoplan.engine.arrays import finite
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.amplitude.evidence import Anchor
from isoplan.engine.planning.amplitude.needs import Exponent, Need
from isoplan.engine.planning.amplitude.plan import AmplitudePlan, Size
from isoplan.engine.planning.amplitude.precision import Precision, asked, lower_first, number, relative_error
from isoplan.engine.planning.amplitude.reached import SAME
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.format import aligned, decades
from isoplan.engine.planning.answer.quantity import OUT_OF_REACH, Quantity
from isoplan.engine.planning.answer.script import call, script
from isoplan.engine.planning.plan.support import MARKED
from isoplan.engine.planning.questions.answer import Answer, Part, Table
from isoplan.engine.quantities import power10

AMPLITUDE = "isoplan.engine.planning.amplitude"
HOMES = {name: AMPLITUDE for name in ("Anchor", "Precision", "as_text", "plan_amplitude", "plan_fitted")}
HOMES |= {name: "isoplan.data.amplitudes" for name in ("best_laws", "published_law")}
SMALLEST = 1e-3
"""Smallest MSE that the name of an answer shows without a power of ten."""
SCHEMA = 1
UNBOUNDED = "unbounded"
COLUMNS = ("Quantity", "Range", "From")
LABELS = {"D": "Training points D", "N": "Model size N", "C": "Compute C"}


def rows(plan: AmplitudePlan) -> tuple[tuple[str, str, str, str], ...]:
    """Return the target, the exponents and the sizes of a plan as table rows: quantity, range, unit and source."""
    found = [
        *(row for word, target in _targets(plan) for row in _precision_rows(word, target)),
        *([("Measured errors", plan.measured, "", f"trained cells of {plan.process}")] if plan.measured else []),
        ("Dimension d of the phase space", f"{plan.dimension}", "", phase_space(plan)),
        *((label, f"{exponent.value:.3g}", "", exponent.source) for label, exponent in _exponents(plan)),
    ]
    sizes = [(label, getattr(plan, name)) for name, label in LABELS.items()]
    found += [(label, span(size), "" if _unbounded(size) else size.unit, size.note) for label, size in sizes]
    return tuple(found)


def _targets(plan: AmplitudePlan) -> list[tuple[str, Precision]]:
    """Return the precisions of the plan, each with a word that the table writes before the name of the precision.

    If the user gave a target, the only precision is the target. If the user gave a number of points, the result is the
    precision that these points reach: one number, or an optimistic and a conservative number.
    """
    if plan.points is None or plan.best is None:
        return [("Target", plan.target)]
    if plan.best.mse > plan.target.mse * (1 - SAME):
        return [("Reached", plan.target)]
    return [("Optimistic", plan.best), ("Conservative", plan.target)]


def _precision_rows(word: str, target: Precision) -> list[tuple[str, str, str, str]]:
    return [
        (f"{word} {target.measure}", f"{target.mse:.3g}", "", ""),
        (f"{word} {target.name}", relative_error(target), "", _why_relative(target)),
    ]


def _exponents(plan: AmplitudePlan) -> list[tuple[str, Exponent]]:
    """Return label and value of the conservative exponent of the plan, and of the exponents of each axis.

    The conservative exponent of an axis is skipped if it equals that of the plan.
    """
    found = [("Conservative exponent", plan.exponent)]
    for need in plan.needs:
        if need.slow != plan.exponent:
            found.append((f"Conservative exponent of {need.axis}", need.slow))
        if need.fast is not None:
            found.append((f"Optimistic exponent of {need.axis}", need.fast))
    return found


def phase_space(plan: AmplitudePlan) -> str:
    """Return how the dimension d follows from n_f: "sqrt(s) varies: d = 3 n_f - 4 with n_f = 3; the bound 4/d is 0.8".

    If sqrt(s) is fixed, d is one less.
    """
    energy, less = ("is fixed", 5) if plan.fixed_energy else ("varies", 4)
    return f"sqrt(s) {energy}: d = 3 n_f - {less} with n_f = {plan.n_f}; the bound 4/d is {plan.bound:.3g}"


def sentence(plan: AmplitudePlan) -> str:
    """Return the answer in one sentence, or the reason why the runs do not support an answer."""
    if plan.stopped:
        return plan.stopped
    if plan.points is not None:
        return _reached(plan, plan.points)
    known = [_amount(size) for size in (plan.D, plan.N, plan.C) if size.most is not None]
    first, *others = known
    rest, goal = " and ".join(others), f"{asked(plan.target)} for {plan.n_f} final-state particles"
    if plan.reached:
        return f"{goal} is reached by trained cells with {first}, {rest}."
    return f"{goal} needs {first}{f', with {rest}' if rest else ''}{_extrapolated(plan)}."


def _reached(plan: AmplitudePlan, points: float) -> str:
    """Return one sentence that states the precision that ``points`` training points reach."""
    worst, best = lower_first(asked(plan.target)), plan.best
    span = worst
    if best is not None and best.mse < plan.target.mse * (1 - SAME):
        span = f"{lower_first(asked(best))} (optimistic) to {worst} (conservative)"
    given = f"{number(points, plan.D.unit)} {plan.D.unit} of {plan.n_f} final-state particles"
    return f"{given} reach {span}{_extrapolated(plan)}."


def _extrapolated(plan: AmplitudePlan) -> str:
    """Return a clause on how far the conservative end lies beyond the runs; empty for one decade or less."""
    need = max(plan.needs, key=lambda one: one.beyond, default=None)
    if need is None or need.beyond <= MARKED:
        return ""
    return f", extrapolated {decades(need.beyond)} beyond {plan.runs} in {need.axis}"


def as_text(plan: AmplitudePlan) -> str:
    """Return the plan as text for a terminal."""
    notes = [f"\n{w.line}" for w in by_level(plan.warnings)]
    change = [plan.change] if plan.change else []
    return "\n".join([sentence(plan), *change, "", *aligned(rows(plan)), *notes])


def to_json(plan: AmplitudePlan) -> dict[str, Any]:
    """Return the JSON object that ``isoplan amplitude --json`` prints.

    Unknown and unbounded numbers are null.
    """
    return {
        "schema": SCHEMA,
        "question": {
            "n_f": plan.n_f,
            "fixed_energy": plan.fixed_energy,
            "mse": plan.target.mse,
            "raw": plan.target.raw,
            "sigma": plan.target.sigma,
            "error": plan.target.kind,
            **({} if plan.points is None else {"points": plan.points}),
        },
        **({} if plan.best is None else {"optimistic": {"mse": plan.best.mse, "relative_error": plan.best.relative}}),
        "answered": not plan.stopped,
        "relative_error": plan.target.relative,
        "dimension": plan.dimension,
        "bound": plan.bound,
        "exponent": {"value": plan.exponent.value, "halved": plan.exponent.halved, "source": plan.exponent.source},
        "allocation": {name: _size(getattr(plan, name)) for name in LABELS},
        "laws": [_need(need) for need in plan.needs],
        "sentence": sentence(plan),
        **({"change": plan.change} if plan.change else {}),
        **({"measured": plan.measured} if plan.measured else {}),
        "warnings": [w.to_json() for w in plan.warnings],
    }


def span(size: Size, named: bool = False) -> str:
    """Return a range as text: "2.1 M to 340 M", "10 k", "at most 340 M", "at least 2.1 M", "unbounded", or "-".

    With ``named``, the two ends are marked as optimistic and conservative.
    """
    if size.most is None:
        return "-"
    if size.most == math.inf:
        return UNBOUNDED if _unbounded(size) else f"at least {number(size.least or 0.0, size.unit)}"
    if size.least is None:
        return f"at most {number(size.most, size.unit)}"
    ends = [number(x, size.unit) for x in (size.least, size.most)]
    if ends[0] == ends[1]:
        return ends[0]
    return f"{ends[0]} (optimistic) to {ends[1]} (conservative)" if named else f"{ends[0]} to {ends[1]}"


def _unbounded(size: Size) -> bool:
    """Return whether both ends of the range are infinite or unknown."""
    return size.most == math.inf and size.least in (None, math.inf)


def _amount(size: Size) -> str:
    """Return a range of a size with its unit for use within a sentence."""
    if _unbounded(size):
        return f"more {size.unit} than can be counted"
    return f"{span(size, named=True)} {size.unit}"


def _why_relative(target: Precision) -> str:
    if target.relative is None:
        return "only laws of log amplitudes determine it" if target.raw else "sigma(log A) is not given"
    if target.kind != "rms":
        return "of |A_NN / A - 1| on test points; the exponents of this error are half of those of the loss"
    return (
        f"sigma(log A) sqrt(MSE) with sigma(log A) = {target.sigma:.4g}; the exponents of this error are half of those "
        "of the loss"
    )


def _size(size: Size) -> dict[str, Any]:
    return {"least": finite(size.least), "most": finite(size.most), "unit": size.unit, "note": size.note}


def _need(need: Need) -> dict[str, Any]:
    exponents = {"slow": need.slow, "fast": need.fast}
    return {
        "axis": need.axis,
        "start": list(need.start),
        "floor": need.floor,
        "decades": finite(need.decades),
        **{name: e and {"value": e.value, "halved": e.halved, "source": e.source} for name, e in exponents.items()},
        "curve": {"x": need.x.tolist(), "slow": need.slow_loss.tolist(), "fast": need.fast_loss.tolist()},
    }


def as_document(plan: AmplitudePlan) -> Document:
    """Return ``plan`` as a document. A range has one line per end.

    If the plan uses a published law, Isoplan must provide this law, so that the script of the document can load it.
    """
    notes = warned(plan.warnings)
    return Document(sentence(plan), _lines(plan), notes, to_json(plan), _script(plan))


def _lines(plan: AmplitudePlan) -> tuple[Line, ...]:
    note = "given" if plan.points is None else ""
    precisions: list[Line] = []
    for word, target in _targets(plan):
        precisions.append((f"{word} {target.measure}", Quantity(target.mse, note=note)))
        if target.relative is not None:
            precisions.append((f"{word} {target.name}", Quantity(target.relative)))
    return (
        *precisions,
        *([("Measured errors", plan.measured)] if plan.measured else []),
        ("Dimension d of the phase space", f"{plan.dimension} ({phase_space(plan)})"),
        *((label, Quantity(exponent.value, note=exponent.source)) for label, exponent in _exponents(plan)),
        *(line for name, label in LABELS.items() for line in _ends(label, getattr(plan, name))),
        *([("Change due to the fitted law", plan.change)] if plan.change else []),
    )


def _ends(label: str, size: Size) -> list[Line]:
    """Return the table lines of a size: one for a single number, two for a range."""
    if size.least is None or size.least == size.most:
        at_most = f"{label}, at most" if size.least is None and size.most is not None else label
        return [(at_most, _end(size.most, size))]
    return [(f"{label}, optimistic", _end(size.least, size)), (f"{label}, conservative", _end(size.most, size))]


def _end(x: float | None, size: Size) -> Quantity:
    if x is not None and math.isinf(x):
        return Quantity(None, OUT_OF_REACH, OUT_OF_REACH, size.unit, note=size.note)
    return Quantity(x, unit=size.unit, note=size.note)


def _script(plan: AmplitudePlan) -> str:
    if not plan.anchors and plan.law is None:
        return script(sentence(plan), [f"print({sentence(plan)!r})"], HOMES)
    target, anchors = _precision(plan.target), f"[{', '.join(map(_anchor, plan.anchors))}]"
    given = ["best_laws()", f"floor={plan.floor!r}", f"fixed_energy={plan.fixed_energy!r}"]
    if (law := plan.law) is None:
        lines = call("plan", "plan_fitted", [repr(plan.process), repr(plan.n_f), target, anchors, *given])
    else:
        named = ", ".join(map(repr, (law.process, law.axis, law.held, law.network)))
        lines = call("plan", "plan_amplitude", [repr(plan.n_f), target, anchors, f"published_law({named})", *given])
    return script(sentence(plan), [*lines, "print(as_text(plan))"], HOMES)


def _precision(target: Precision) -> str:
    kind = "" if target.kind == "rms" else f", kind={target.kind!r}"
    return f"Precision({target.mse!r}, {target.sigma!r}{kind})"


def _anchor(anchor: Anchor) -> str:
    given = {one.name: getattr(anchor, one.name) for one in fields(anchor)}
    return f"Anchor({', '.join(f'{name}={x!r}' for name, x in given.items() if x is not None)})"


def answer(plan: AmplitudePlan) -> Answer:
    """Return ``plan`` as an answer for the page, the terminal and Python.

    If the plan uses a published law, Isoplan must provide this law, so that the exported script can load it.
    """
    shown = tuple((what, x if x == "-" else f"{x} {unit}".strip(), note) for what, x, unit, note in rows(plan))
    table = Table(COLUMNS, shown, "The plan in numbers.")
    remarks = (plan.change,) if plan.change else ()
    return Answer(
        plan, as_text(plan), as_document(plan), plan.warnings, _name(plan), remarks=remarks, parts=(Part(table),)
    )


def _name(plan: AmplitudePlan) -> str:
    mse = plan.target.mse
    if plan.points is not None:
        return f"{number(plan.points, plan.D.unit)} points, {plan.n_f} particles"
    return f"MSE {f'{mse:.3g}' if SMALLEST <= mse else power10(mse)}, {plan.n_f} particles"
