"""Answer to "Next values" for the page, the terminal and Python: sentence, tables, chart and document."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from isoplan.engine.arrays import finite
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.answer.document import Document, warned
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, reading, script
from isoplan.engine.planning.next_cells.text import about_group, about_range, between, little, percent, with_range
from isoplan.engine.planning.next_values.answer import NextValues, next_values
from isoplan.engine.planning.questions.answer import Answer, Part, Table
from isoplan.engine.planning.questions.chart import Axis, Chart, Curve, Marker
from isoplan.engine.planning.questions.given import Given
from isoplan.engine.quantities import number

HOMES = {
    "as_text": "isoplan.engine.planning.next_values.reply",
    "next_values": "isoplan.engine.planning.next_values.answer",
    "TypedValues": "isoplan.engine.planning.next_values.typed",
}
SPACE = 1.15
"""Factor by which the axis of the chart extends beyond the smallest and the largest value."""


def answer(fit: Fit, given: Given) -> Answer:
    """Return the values to train next. Raises PlannerError under the conditions of ``next_values``."""
    v = given.values
    for name in ("max_cells", "rounds"):
        if not (v[name] >= 1 and float(v[name]).is_integer()):
            raise PlannerError(f"Option {name}: {v[name]:g} is not a whole number of at least 1. Correct it.")
    found = next_values(fit, v["values"], cells=int(v["max_cells"]), rounds=int(v["rounds"]))
    folded = not found.advice.pays
    parts = (
        Part(
            chart=partial(chart_gains, found), folded=folded,
            caption="Decrease of the 68 % interval by one cell alone. Rings mark the advised cells.",
        ),
        Part(_table(value_rows(found), "The values in the order of training."), folded=folded),
        Part(_table(round_rows(found), "The expected interval after each round."), title="After each round",
             folded=folded),
    )  # fmt: skip
    return Answer(
        found, as_text(found), as_document(found, given), fit.warnings, f"next values of {found.axis}",
        tuple(remarks(found)), parts=parts,
    )  # fmt: skip


def remarks(found: NextValues) -> list[str]:
    """Return the sentences that follow the advice: the location of the optimum, the range, and the group."""
    return [
        place_sentence(found),
        *about_range(found.fit, found.advice),
        *about_group(found.fit, found.advice),
    ]


def place_sentence(found: NextValues) -> str:
    """Return the present location of the optimum and, if it is not inside the sweep, the aim of the cells."""
    text = f"At present, the best {found.axis} is {found.place.text}."
    if found.place.place == "inside":
        return text
    return (
        f"{text} The slopes of the curve at both ends of the range show whether the optimum is inside. The cells are "
        "chosen to determine these slopes."
    )


def sentence(found: NextValues) -> str:
    """Return the advice in one sentence."""
    advice, axis = found.advice, found.axis
    now, then = percent(advice.now[0]), percent(advice.after[-1][0].expected)
    n = len(advice.cells)
    many = f"{n} cell{'s' if n > 1 else ''}"
    if not advice.pays:
        return (
            f"More cells do not pay. {many} would narrow the 68 % interval of the best {axis}, now {now}, "
            f"{little(advice.narrowing)}."
        )
    values = sorted(found.values)
    listed = ", ".join(number(x) for x in values[:-1])
    listed = f"{listed} and {number(values[-1])}" if listed else number(values[-1])
    rounds = f" in {len(advice.rounds)} rounds" if len(advice.rounds) > 1 else ""
    return (
        f"Train {many} with {axis} = {listed}{rounds}. The 68 % interval of the best {axis}, now {now}, is then "
        f"expected to be {then}."
    )


def value_rows(found: NextValues) -> list[tuple[str, ...]]:
    """Return the table of the cells as texts: first the headings, then one row per cell in the order of training."""
    rows: list[tuple[str, ...]] = [("Cell", "Round", found.axis)]
    at = found.advice.candidates.columns[found.axis]
    for i, cells in enumerate(found.advice.rounds, 1):
        rows += [(str(len(rows) + j), str(i), number(float(at[cell]))) for j, cell in enumerate(cells)]
    return rows


def round_rows(found: NextValues) -> list[tuple[str, ...]]:
    """Return the expected intervals of the optimum after each round as texts."""
    rows = [("After", "Expected 68 % interval", "Range"), ("now", percent(found.advice.now[0]), "")]
    rows += [(f"round {i}", percent(one.expected), between(one)) for i, (one,) in enumerate(found.advice.after, 1)]
    return [(first, *with_range(found.fit, cells)) for first, *cells in rows]


def as_text(found: NextValues) -> str:
    """Return the advice as text for a terminal."""
    tables = ("\n".join(aligned(rows)) for rows in (value_rows(found), round_rows(found)))
    return "\n\n".join([sentence(found), *remarks(found), *tables, *(w.line for w in by_level(found.fit.warnings))])


def as_document(found: NextValues, given: Given) -> Document:
    """Return the advice as a document. Its script reads the file of the fit in ``given``."""
    v, advice = given.values, found.advice
    body: dict[str, Any] = {
        "schema": 1,
        "fit": found.fit.hash,
        "law": found.fit.spec.law,
        "y": found.fit.spec.y,
        "axis": found.axis,
        "next_values": [
            {"round": i, "value": float(advice.candidates.columns[found.axis][cell])}
            for i, cells in enumerate(advice.rounds, 1)
            for cell in cells
        ],
        "place": found.place.to_json(),
        "now": finite(advice.now[0]),
        "after": [{name: finite(x) for name, x in asdict(one).items()} for (one,) in advice.after],
        "pays": advice.pays,
        "sentence": sentence(found),
        "warnings": [w.to_json() for w in found.fit.warnings],
    }
    lines = tuple((f"Cell {i}: {found.axis}", Quantity(x)) for i, x in enumerate(found.values, 1))
    chosen = [repr(v["values"])] if v["values"] else []
    arguments = ["fit", *chosen, f"cells={int(v['max_cells'])}", f"rounds={int(v['rounds'])}"]
    code = [f"fit = {reading(given.file, given.group)}", *call("advice", "next_values", arguments)]
    source = script(sentence(found), [*code, "print(as_text(advice))"], HOMES)
    notes = (*remarks(found), *warned(found.fit.warnings))
    return Document(sentence(found), lines, notes, body, source)


def chart_gains(found: NextValues) -> Chart:
    """Return the chart of the percentage by which each candidate alone narrows the interval, with the advised cells."""
    order = np.argsort(found.advice.candidates.columns[found.axis], kind="stable")
    x, gain = found.advice.candidates.columns[found.axis][order], 100 * found.advice.gains[order]
    everywhere, seen = np.ones(len(x), bool), (x >= found.place.low) & (x <= found.place.high)
    markers = tuple(
        Marker(at, float(np.interp(at, x, gain)), f"<b>Cell {i}</b><br>{found.axis} {number(at)}", ring=f"Cell {i}")
        for i, at in enumerate(found.values, 1)
    )
    best = float(x[np.argmax(gain)])
    return Chart(
        "next-values",
        f"Decrease of the 68 % interval of the best {found.axis} by one cell alone: at most {gain.max():.2g} %, at "
        f"{found.axis} = {number(best)}.",
        Axis(found.axis, float(x.min()) / SPACE, float(x.max()) * SPACE, log=True),
        Axis("Narrower by", 0.0, 1.15 * max(float(gain.max()), 1.0), "%"),
        curves=(Curve(x, gain, everywhere, seen, hover="%{x:.3g}<br>%{y:.2g} %<extra></extra>"),),
        markers=markers,
        columns={found.axis: x, "narrower": gain},
    )


def _table(lines: list[tuple[str, ...]], alt: str) -> Table:
    head, *rows = lines
    return Table(head, tuple(rows), alt)
