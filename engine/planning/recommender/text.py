"""Recipe as text, table rows and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import Row, aligned, as_row, number, table
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.recommender import ranking
from isoplan.engine.planning.recommender.choice import LABELS, SETTINGS, Choice
from isoplan.engine.planning.recommender.ranking import cost_table, rank_costs
from isoplan.engine.planning.recommender.settings import CHUNK, marked, marked_plan, unstated
from isoplan.engine.quantities import count, power10

if TYPE_CHECKING:
    from isoplan.engine.planning.recommender.recipe import Recipe, Recommendation

SCHEMA = 1
JOINT = "One choice for all metrics"
"""Title of the comparison of several metrics."""
LONGEST = 60
"""Maximum length of a reason in a table, in characters. A longer reason is shortened, and printed in full below the
table.
"""


def setting_lines(recipe: Recipe) -> tuple[tuple[str, Quantity], ...]:
    """Return label and value of each setting of a recipe."""
    found = []
    for setting in SETTINGS:
        choice = recipe.choices[setting]
        note = "; ".join((choice.note or choice.value.note, *(said.rstrip(".") for said in choice.remarks)))
        found.append((LABELS[setting], replace(shown(choice), note=note)))
    return tuple(found)


def rows(recipe: Recipe) -> tuple[Row, ...]:
    """Return the rows of the table of a recipe for a terminal. Long reasons are shortened by ``short``."""
    return tuple(as_row(label, replace(q, note=short(q.note))) for label, q in setting_lines(recipe))


def reasons(recipe: Recipe) -> tuple[str, ...]:
    """Return the full text of each reason that ``rows`` shortens, one line per setting."""
    return tuple(f"{label}: {q.note}." for label, q in setting_lines(recipe) if short(q.note) != q.note)


def short(reason: str) -> str:
    """Return the beginning of a long reason: the text before the first semicolon, bracket or full stop.

    The word "confounded" is added if the full reason contains it.
    """
    if len(reason) <= LONGEST:
        return reason
    first = re.split(r"; | \(|\. ", reason, maxsplit=1)[0].rstrip(".")
    return f"{first}; confounded" if "Confounded" in reason else first


def source(choice: Choice) -> str:
    """Return the source of the value of a setting. If one of the two intervals of the value is missing, state why."""
    q = choice.value
    lost = [part for part in q.note.split("; ") if part.startswith("no ") and (q.ci68 is None) != (q.ci95 is None)]
    return "; ".join(filter(None, (choice.note, *lost, *(said.rstrip(".") for said in choice.remarks))))


def side_by_side(answer: Recommendation) -> tuple[tuple[str, ...], ...]:
    """Return a table of all metrics: headings, then one row per setting with its value for each metric.

    The serving metric is in the first column. The last row states what limits K.
    """
    metrics = tuple(answer.recipes)
    lines = [tuple(_cell(answer.recipes[m].choices[setting]) for m in metrics) for setting in SETTINGS]
    binds = ("K is limited by", *(answer.recipes[m].binds for m in metrics))
    return (("", *metrics), *((LABELS[k], *line) for k, line in zip(SETTINGS, lines, strict=True)), binds)


def sentence(answer: Recommendation) -> str:
    """Return the recipe of the serving metric in one sentence."""
    recipe = answer.recipe
    known = {k: c for k, c in recipe.choices.items() if c.value.value is not None}
    said = {k: _cell(replace(c, borrowed="") if k in ("N", "D") else c) for k, c in known.items()}
    rate = f" at a learning rate of {said['lr']}" if "lr" in said else ""
    least = "at least " if recipe.binds == "sweep" else ""
    most = ", the maximum that fits into memory" if recipe.binds == "memory" else ""
    marks = {setting: marked(recipe.choices[setting].value) for setting in SETTINGS}
    parts = {
        "N": f"train {said.get('N')} on {said.get('D')}{marked_plan(recipe.plan, recipe.choices['N'].borrowed)}",
        "s": f"put {said.get('s')} into the embedder{marks['s']}",
        "B": f"use batches of {said.get('B')}{rate}",
        "K": f"score {least}{said.get('K')} in addition to the batch{most}{marks['K']}",
    }
    found = [words for setting, words in parts.items() if setting in said] or ["nothing is known"]
    missing = [
        setting for setting in ("s", "B", "N", "D", "K") if setting not in said and not recipe.choices[setting].withheld
    ]
    *first, last = found
    what = f"{', '.join(first)} and {last}" if first else last
    unknown = f" Not known for {answer.served}: {', '.join(missing)}." if missing and said else ""
    return f"With {power10(answer.budget)} FLOPs, for {answer.served}: {what}.{unknown}{unstated(recipe.choices)}"


def as_text(
    answer: Recommendation, said: str = "", metrics: Sequence[str] = (), joint: Sequence[Mapping[str, str]] = ()
) -> str:
    """Return the answer as text for a terminal.

    ``said`` is its first line; by default, this is ``sentence``. ``metrics`` are the metrics of the ranking; by
    default, this is the serving metric. ``joint`` are the rows of the comparison of these metrics.
    """
    notes = [f"\n{w.line}" for w in by_level(answer.recipe.warnings)]
    full = [*reasons(answer.recipe), ""] if reasons(answer.recipe) else []
    ranked = cost_table(answer.recipes[metric] for metric in metrics or (answer.served,))
    tables = [*table(rows(answer.recipe)), "", *full]
    tables += [*_titled(JOINT, joint), ""] if joint else []
    tables += [*_titled(f"{ranking.TITLE}. {ranking.UNITS}", ranked), "", *aligned(side_by_side(answer))]
    return "\n".join([said or sentence(answer), "", *tables, "", *remarks(answer.recipe), *notes])


def _titled(title: str, rows: Sequence[Mapping[str, str]]) -> list[str]:
    return [title, *aligned([tuple(rows[0]), *(tuple(row.values()) for row in rows)])]


def remarks(recipe: Recipe) -> tuple[str, ...]:
    """Return sentences: what limits K (the negatives), what the paper states, and the cost by the step formula."""
    quoted = (f"The paper: {choice.quoted}" for choice in recipe.choices.values() if choice.quoted)
    return tuple(filter(None, (binding(recipe), *quoted, recipe.step.sentence if recipe.step else "")))


def binding(recipe: Recipe) -> str:
    """Return a sentence on what limits K, the number of extra negatives; empty if the limit is not known."""
    room = (
        ""
        if recipe.cap is None
        else f" At most {count(float(recipe.cap), 3)} negatives fit into the memory of the devices."
    )
    if recipe.binds == "memory":
        more = (
            f" With {CHUNK:,} candidates scored at a time, {count(float(recipe.chunked), 3)} fit."
            if recipe.chunked
            else ""
        )
        return f"Memory limits K.{room}{more}"
    if recipe.binds == "sweep":
        return f"No limit of K was found: the runs still improve at the largest K that was tried.{room}"
    return f"Compute limits K: more negatives leave fewer training steps.{room}" if recipe.binds == "FLOPs" else ""


def to_json(answer: Recommendation) -> dict[str, Any]:
    """Return the JSON object that ``isoplan recipe --json`` prints."""
    return {
        "schema": SCHEMA,
        "question": {"budget": answer.budget, "metric": answer.served},
        "recipes": {metric: _recipe(recipe) for metric, recipe in answer.recipes.items()},
        "changes": answer.changes,
        "sentence": sentence(answer),
    }


def shown(choice: Choice) -> Quantity:
    """Return the value of a setting as displayed: the embedder share is in percent."""
    q = choice.value
    if choice.setting != "s" or q.value is None:
        return q
    ends = [None if ci is None else (100 * ci[0], 100 * ci[1]) for ci in (q.ci68, q.ci95)]
    return Quantity(100 * q.value, ends[0], ends[1], "% of N", q.beyond, q.note)


def _cell(choice: Choice) -> str:
    q = shown(choice)
    if choice.withheld:
        return "not stated"
    if q.value is None:
        return choice.place if choice.place and choice.place != "inside" else "not known"
    return f"{number(q)} {q.unit}{f' (by {choice.borrowed})' if choice.borrowed else ''}".strip()


def _recipe(recipe: Recipe) -> dict[str, Any]:
    return {
        "choices": {
            setting: {
                **quantity.to_json(choice.value),
                "place": choice.place,
                "why": choice.note,
                "band": choice.band and list(choice.band),
                "quoted": choice.quoted,
                "borrowed": choice.borrowed or None,
                "supported": choice.supported and list(choice.supported),
                "remarks": list(choice.remarks),
                "otherwise": [{"x": o.x, **quantity.to_json(o.amount)} for o in choice.otherwise],
            }
            for setting, choice in recipe.choices.items()
        },
        "costs": [cost.to_json() for cost in rank_costs(recipe)],
        "binds": recipe.binds,
        "cap": recipe.cap,
        "chunked": recipe.chunked,
        "step": recipe.step and {"rule": recipe.step.other.to_json(), "factor": float(recipe.step.factor)},
        "warnings": [w.to_json() for w in recipe.warnings],
    }
