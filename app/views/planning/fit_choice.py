"""Selection of the fits that a planner question needs: one law, or two laws of the same task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

import streamlit as st

from isoplan.app.views.planning.opening import choose_law
from isoplan.app.views.widgets.cache import published
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import choose_fit, fit_names, fit_of, owner_of_fit, recall, task_of_fit
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning import floor_of
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.questions.declaration import FitInput, PlannerQuestion
from isoplan.engine.quantities import parse_number
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables

SAME_FLOOR = 0.1
"""Two laws are assumed to describe the same task if their floors (irreducible losses) differ by at most this fraction.
"""


def choose_fits(db: Database, question: PlannerQuestion) -> dict[str, Fit]:
    """Show one selection for each fit that ``question`` needs; return the selected fits by the name of the input.

    If a fit is missing, the result is empty and a message names the missing fit. If the question needs two fits, a
    change of the first fit resets the other inputs, because these inputs belong to the task of the first fit.
    """
    first, *others = question.needed
    if not others:
        fit = choose_law(db, first.key, first.label, first.laws)
        return {} if fit is None else {first.name: fit}
    (second,) = others
    top = st.container()
    left, right = st.columns(2)
    partners = _partners(db, first, second)
    own = _own_without_partner(db, first, partners)
    with left:
        start = "" if recall(first.key) else own or _usual_first(db, partners)
        offered = [*partners, *([own] if own else [])]
        one = choose_fit(db, first.key, first.label, first.laws, start, only=offered or None)
    near = _of_same_task(db, one, second) if one is not None else []
    if one is not None and one.hash in published() and partners.keys() <= published().keys():
        with top:
            _say_published(published()[one.hash][0])
    with right:
        if one is not None:
            typed = [field.link or field.name for field in (*question.losses, *question.own) if field.label]
            further = [fit.key for fit in question.fits if fit is not first]
            belong(first.key, owner_of_fit(db, one.hash), remembered=(*further, *typed))
        usual = _usual_second(db, one, near) if one is not None else ""
        two = choose_fit(db, second.key, second.label, second.laws, usual, only=near)
        if one is not None and (left_out := [key for key in _same_task(db, one, second) if key not in near]):
            names = fit_names(db, second.laws)
            st.caption(escape_markdown(second.excluded.format(", ".join(names[key] for key in left_out))))
    task = "" if one is None else task_of_fit(db, one.hash)
    if one is not None and not near and (task or not recall(second.key)):
        st.info(second.missing if task else second.lacking, icon=":material/info:")
        _link_examples(db, second)
    elif one is not None and two is not None:
        return {first.name: one, second.name: two}
    elif one is not None and not recall(second.key):
        st.info(second.unsure, icon=":material/info:")
    return {}


def _link_examples(db: Database, second: FitInput) -> None:
    """Show a link to each bundled table to which the second fit can be fitted."""
    for table in tables.all(db):
        if table.read_only and table.name in second.examples:
            label = f"Open the example {escape_markdown(table.name)}"
            st.page_link("views/data.py", label=label, query_params={"table": table.id}, icon=":material/table:")


def _say_published(name: str) -> None:
    """State that the page shows published laws, because no fit of the workspace answers the question."""
    task = escape_markdown(name.partition(":")[0])
    st.info(
        f"No fit of yours answers this question. Shown: the published laws of {task}. "
        "To use your own runs, fit laws to them.",
        icon=":material/info:",
    )


def _partners(db: Database, first: FitInput, second: FitInput) -> dict[str, list[str]]:
    """Return the hashes of the possible second fits, by the hash of each possible first fit.

    A first fit is omitted if no second fit of the same task exists.
    """
    found = {name: _of_same_task(db, fit_of(db, name), second) for name in fit_names(db, first.laws)}
    return {name: near for name, near in found.items() if near}


def _own_without_partner(db: Database, first: FitInput, partners: Mapping[str, Sequence[str]]) -> str:
    """Return the hash of the open fit if its table is a user's table and no second fit is possible; otherwise "".

    If a hash is returned, the page selects this fit and reports that the second fit is missing. Without this hash, the
    page would select laws of another task.
    """
    name = recall("fit")
    own = name in fit_names(db, first.laws) and name not in partners and not task_of_fit(db, name)
    return name if own and name not in published() else ""


def _usual_first(db: Database, partners: Mapping[str, Sequence[str]]) -> str:
    """Return the hash of the default first fit; "" if no fit is suitable.

    A fit is suitable if a second fit of the same task has nearly the same floor (irreducible loss). The open fit is
    tested first.
    """
    for name in sorted(partners, key=lambda name: name != recall("fit")):
        one = fit_of(db, name)
        if _is_alike(fit_of(db, _nearest(db, one, partners[name])), one):
            return name
    return ""


def _of_same_task(db: Database, one: Fit, second: FitInput) -> list[str]:
    """Return the hashes of the possible second fits for the first fit ``one``.

    A possible second fit has the task of ``one`` and a law that ``second`` allows. If ``second.repeated`` is true, its
    law must also describe repeated samples.
    """
    near = _same_task(db, one, second)
    return [key for key in near if not second.repeated or fit_of(db, key).law.repetition is not None]


def _same_task(db: Database, one: Fit, second: FitInput) -> list[str]:
    """Return the hashes of the fits with a law of ``second.laws`` for the task and the quantity of ``one``.

    If the task of ``one`` is unknown, the result contains only fits to the user's tables with an unknown task.
    """
    kinds = {key: fit_of(db, key) for key in fit_names(db, second.laws)}
    apt = [key for key, fit in kinds.items() if fit.spec.y == one.spec.y]
    task = task_of_fit(db, one.hash)
    if not task and one.hash in published():
        return []
    same = [key for key in apt if task_of_fit(db, key) == task]
    return same if task else [key for key in same if key not in published()]


def _usual_second(db: Database, one: Fit, near: Sequence[str]) -> str | None:
    """Return the hash of the fit in ``near`` whose floor is nearest to the floor of ``one``; "" if ``near`` is empty.

    The floor is the irreducible loss. Returns None if the task of ``one`` is unknown and the relative difference of the
    two floors is larger than ``SAME_FLOOR``.
    """
    nearest = _nearest(db, one, near)
    known = not nearest or task_of_fit(db, one.hash) or _is_alike(fit_of(db, nearest), one)
    return nearest if known else None


def _nearest(db: Database, one: Fit, others: Sequence[str]) -> str:
    """Return the hash of the fit in ``others`` whose floor is nearest to the floor of ``one``; "" if there is none.

    Similar floors (irreducible losses) indicate that two laws have the same inputs and the same task.
    """
    return min(others, key=lambda name: abs(_floor(fit_of(db, name)) - _floor(one)), default="")


def _is_alike(other: Fit, one: Fit) -> bool:
    """Return whether two laws have nearly the same floor (irreducible loss) and can describe the same task."""
    return math.isclose(_floor(other), _floor(one), rel_tol=SAME_FLOOR)


def _floor(fit: Fit) -> float:
    return floor_of(fit).value or 0.0


def show_target_of_plan(db: Database, fit: Fit) -> None:
    """Show the loss that corresponds to the target metric of the open plan. The user can enter this loss as a target.

    Nothing is shown if the open plan has no target metric.
    """
    map, target = recall("map"), recall("target")
    if recall("ask") != "Target" or recall("fit") != fit.hash or not map or not target:
        return
    with suppress(PlannerError):  # the section "Budget or target" reports an invalid target
        read = through(fit, fit_of(db, map))
        loss = float(read.goal(parse_number(target, "target")).best)
        if math.isfinite(loss):
            y, metric = fit.spec.y, read.map.spec.y
            st.caption(
                escape_markdown(
                    f"Enter the target as a {y} here: {metric} {target} corresponds to {y} {fit.sign * loss:.3g}."
                )
            )
