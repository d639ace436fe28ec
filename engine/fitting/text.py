"""A fit in words and tables: one list of rows feeds the page, the CSV export and the terminal."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.fitting.derived import derived
from engine.fitting.result import Fit, FitWarning, Interval, Parameter
from engine.fitting.verdict import verdict
from engine.fitting.warning import by_level
from engine.laws.terms import Const

if TYPE_CHECKING:
    from engine.fitting.groups import GroupedFit

Row = dict[str, Any]
LOPSIDED = 1.5
"""Upper over lower error beyond which both are shown."""
LONG_TAIL = 10.0
"""Upper over lower error beyond which neither is shown beside the value: the interval says more."""


def rows(fit: Fit) -> list[Row]:
    """One dict a parameter, then one a derived number; the same keys in each.

    ``value``, ``error`` (half the 68 % interval) and the ends are plain floats (None where unknown, inf where
    unbounded); ``text`` is the value rounded to match its error.
    """
    named = {p.name: (fit.spec.y if p.unit == "loss" else p.unit, p.meaning) for p in fit.law.params}
    if fit.sign < 0:
        named = {p.name: _negated(fit, p.name, p.unit, p.meaning) for p in fit.law.params}
    found = [_row(p, *named[p.name]) for p in fit.parameters]
    for d, p in zip(fit.law.derived, derived(fit), strict=True):
        row = _row(p, "", d.meaning)
        found.append(row if math.isfinite(p.value) else row | {"text": d.absent})
    return found


def _negated(fit: Fit, name: str, unit: str, meaning: str) -> tuple[str, str]:
    """Unit and meaning where larger is better: the law describes -y, so its floor is minus the ceiling of y."""
    y = fit.spec.y
    if any(isinstance(t, Const) and t.amplitude == name for t in fit.law.terms):
        meaning = f"minus the ceiling of {y}: the law describes -{y}"
    return (f"-{y}" if unit == "loss" else unit), meaning


def _row(p: Parameter, unit: str, meaning: str) -> Row:
    low68, high68 = p.ci68 or (None, None)
    low95, high95 = p.ci95 or (None, None)
    return {
        "parameter": p.name,
        "text": "fixed at " + number(p.value) if p.fixed else plus_minus(p.value, p.se, p.ci68),
        "value": p.value,
        "error": p.error,
        "low 68 %": low68,
        "high 68 %": high68,
        "low 95 %": low95,
        "high 95 %": high95,
        "unit": unit,
        "meaning": meaning,
    }


def plus_minus(value: float, error: float | None, ci68: Interval | None = None) -> str:
    """A value with its 68 % interval: ``0.347 ± 0.015``, or ``2140 +880 -240`` where the interval is lopsided.

    ± is half the interval, or ``error``, the standard error, where there is no interval. Errors keep two digits and the
    value ends at the same place; five digits without an error.
    """
    down, up = (value - ci68[0], ci68[1] - value) if ci68 else (error or 0.0, error or 0.0)
    if not math.isfinite(value) or math.isnan(up + down):
        return number(value)
    if ci68 and math.isinf(ci68[0]) and math.isfinite(ci68[1]):
        return f"{number(value, 3)} (68 %: below {number(ci68[1], 3)})"
    if up > 0 and math.isinf(up):
        return f"{number(value, 3)} (68 %: above {number(value - down, 3)})"
    sides = [x for x in (up, down) if x > 0 and math.isfinite(x)]
    if not sides:
        return number(value)
    ratio = up / down if up > 0 and down > 0 else math.inf
    if LOPSIDED > ratio > 1 / LOPSIDED:
        return _scaled([value, (up + down) / 2], (up + down) / 2)
    if math.isfinite(ratio) and not LONG_TAIL > ratio > 1 / LONG_TAIL:
        return _scaled([value], min(sides)) if min(sides) < abs(value) else number(value, 3)
    return _scaled([value, up, -down], min(sides))


def _scaled(numbers: list[float], error: float) -> str:
    """Value and errors with two digits of ``error``, with a power of ten outside 1e-4 to 1e6."""
    place = math.floor(math.log10(error)) - 1
    size = max(abs(x) for x in numbers)
    power = 0 if 1e-4 <= size < 1e6 else math.floor(math.log10(size))
    digits = max(power - place, 0)
    first, *errors = (f"{abs(round(x, -place)) / 10.0**power:.{digits}f}" for x in numbers)
    first = ("-" if numbers[0] < 0 else "") + first
    scale = f"e{power:+03d}" if power else ""
    if not errors:
        return first + scale
    text = f"{first} ± {errors[0]}" if len(errors) == 1 else f"{first} +{errors[0]} -{errors[1]}"
    return f"({text}){scale}" if scale else text


def number(value: float, digits: int = 5) -> str:
    """A number to ``digits`` significant digits."""
    return "not defined" if math.isnan(value) else f"{value:.{digits}g}"


def span(interval: Interval | None, digits: int = 4) -> str:
    """An interval as ``0.331 to 0.363``; one with an infinite end as ``at most 0.363`` or ``at least 0.331``."""
    return "no interval" if interval is None else ends_in_words(interval, lambda x: number(x, digits))


def ends_in_words(interval: Interval, show: Callable[[float], str]) -> str:
    """An interval with its ends as ``show`` prints them; an infinite end is left out."""
    low, high = interval
    if math.isinf(low):
        return "unbounded" if math.isinf(high) else f"at most {show(high)}"
    return f"at least {show(low)}" if math.isinf(high) else f"{show(low)} to {show(high)}"


def heading(fit: Fit) -> str:
    """One line: the law, what was fitted and how, and the objective's value."""
    spec = fit.spec
    if fit.objective is None:
        return f"{fit.law.title}: published, {fit.data.source}"
    tuned = {"huber-log": f" (delta {spec.delta:g})", "asymmetric": f" (skew {spec.skew:g})"}.get(spec.objective, "")
    how = spec.objective + tuned if fit.law.estimator != "threshold" else "penalised logistic regression"
    line = f"{fit.law.title}: {fit.n} runs of {fit.data.source or 'a table'}, {how}, objective {fit.objective:.7g}"
    return line + _chi2(fit)


def _chi2(fit: Fit | GroupedFit) -> str:
    return f", chi2/dof = {fit.chi2[0]:.4g}/{fit.chi2[1]}" if fit.chi2 else ""


WAYS = {
    "bc": "resampled runs, corrected for bias",
    "percentile": "resampled runs, plain percentiles",
    "residual": "the same runs with noise drawn from their residuals",
    "profile": "the likelihood around the best fit",
}


def intervals_of(fit: Fit) -> str:
    """Where the intervals come from, in a few words; empty without resamples."""
    if not len(fit.resamples) or fit.objective is None:
        return ""
    half = ", half of the refits without a floor" if fit.resampling.floorless else ""
    return f"Intervals ({fit.resampling.method}): {WAYS[fit.resampling.method]}{half}."


def as_text(fit: Fit) -> str:
    """The fit for a terminal: heading, table, where the intervals come from, warnings."""
    said = verdict(fit)
    where = [f"The best {fit.law.axis} is {said.text}."] if said else []
    where += filter(None, [intervals_of(fit)])
    return _page(heading(fit), rows(fit), [*where, *_warnings(fit.warnings)])


def groups_as_text(found: GroupedFit) -> str:
    """A fit of several groups for a terminal: what they share once, then what each has."""
    parts = [(g, row) for g, f in found.fits.items() for row in rows(f)]
    once = {row["parameter"]: row for _, row in parts if row["parameter"] in (*found.spec.share, *found.spec.fixed)}
    own = [{**row, "parameter": f"{row['parameter']}[{g}]"} for g, row in parts if row["parameter"] not in once]
    head = "\n".join(
        [
            *(f"{g}: {heading(f)}" for g, f in found.fits.items()),
            f"Together {found.n} runs, objective {found.objective:.7g}{_chi2(found)}",
        ]
    )
    where = filter(None, [intervals_of(next(iter(found.fits.values())))])
    return _page(head, [*once.values(), *own], [*where, *_warnings(found.warnings)])


def _warnings(found: tuple[FitWarning, ...]) -> list[str]:
    return [w.line for w in by_level(found)]


def _page(heading: str, rows: list[Row], notes: list[str]) -> str:
    head = ("parameter", "value", "68 %", "95 %", "meaning")
    body = [(r["parameter"], r["text"], span(_ends(r, 68)), span(_ends(r, 95)), _meaning(r)) for r in rows]
    width = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)).rstrip() for line in (head, *body)]
    return "\n".join([heading, "", *lines, *(f"\n{note}" for note in notes)])


def as_html(fit: Fit) -> str:
    """The fit for a notebook."""
    head = "".join(f"<th>{h}</th>" for h in ("parameter", "value", "68 %", "95 %", "meaning"))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{html.escape(cell)}</td>"
            for cell in (r["parameter"], r["text"], span(_ends(r, 68)), span(_ends(r, 95)), _meaning(r))
        )
        + "</tr>"
        for r in rows(fit)
    )
    notes = "".join(f"<li>{html.escape(w.text)}</li>" for w in fit.warnings)
    return (
        f"<p><b>{html.escape(heading(fit))}</b></p><p>${fit.law.latex}$</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "")
    )


def _ends(row: Row, level: int) -> Interval | None:
    low, high = row[f"low {level} %"], row[f"high {level} %"]
    return None if low is None or high is None else (low, high)


def _meaning(row: Row) -> str:
    return f"{row['meaning']} [{row['unit']}]" if row["unit"] else str(row["meaning"])
