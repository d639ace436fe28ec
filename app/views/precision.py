"""Precision: N, D and C of an amplitude surrogate for a given precision, before large trainings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import get_args

import streamlit as st

from isoplan.app import workspace
from isoplan.app.amplitude_cells import of_workspace
from isoplan.app.figures.amplitudes import exponents
from isoplan.app.views.amplitudes import laws as amplitude_laws
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.inputs import blank, blanks, named_blank, words
from isoplan.app.views.widgets.parts import (
    draw,
    escape_markdown,
    heading,
    number,
    powers,
    sentences,
    show_warnings,
    whole,
)
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.app.views.widgets.state import rename_choice
from isoplan.data.amplitudes import best_laws, published_law, published_laws
from isoplan.engine.planning.amplitude import (
    AmplitudePlan,
    Anchor,
    Kind,
    Precision,
    PublishedLaw,
    TrainedCell,
    by_error,
    most_anchors,
    of_error,
    of_mse,
    plan_amplitude,
    plan_fitted,
    plan_trained,
    rows,
    spread_of,
)
from isoplan.engine.planning.amplitude.anchors import UNITS, Axis
from isoplan.engine.planning.amplitude.document import document
from isoplan.engine.planning.amplitude.text import sentence
from isoplan.engine.quantities import parse_number, parse_share
from isoplan.engine.store.database.database import Database

MSE = "an MSE of"
ERRORS: dict[str, Kind] = {
    "an RMS relative error of": "rms",
    "a median relative error of": "median",
    "99 % of the points below": "99",
}
"""Kinds of targets other than an MSE, by their names in the selection."""
FORMER = {"a typical relative error of": "an RMS relative error of"}
"""Names of targets in links of earlier versions."""
LAW, ANCHOR, TRAINED = "a published law", "a run of mine", "trained cells"
AXES: tuple[Axis, ...] = get_args(Axis)
MOST_ANCHORS = 4
COLUMNS = ("Quantity", "Range", "From")


def ask(db: Database) -> AmplitudePlan | None:
    """Show the question as a sentence with fields and return its answer; None while a field is empty."""
    with blanks("precision"):
        words("My amplitude has")
        n_f = int(st.number_input("Final-state particles", 2, 20, 4, key="n_f", bind="query-params", width=110,
                                  label_visibility="collapsed"))  # fmt: skip
        words("final-state particles and must reach")
        rename_choice("stated", FORMER)
        stated = st.selectbox("Kind of target", [MSE, *ERRORS], key="stated", bind="query-params", width=230,
                              label_visibility="collapsed")  # fmt: skip
        target = blank("Target", "1e-6", "reach")
        words("with a spread of log A of")
        sigma = blank("Standard deviation of log A", "", "sigma", 130, hint="not known")
        words("scaled from")
        cells = of_workspace(db)
        known = any(law.n_f == n_f for law in published_laws())
        names = sorted({cell.process for cell in cells if cell.n_f == n_f and cell.target == "log"})
        scales = [*([LAW] if known else []), ANCHOR, *([TRAINED] if names else [])]
        scale = named_blank("Scale of the law", scales, "scale", 170)
    if scale == TRAINED:
        return _by_cells(cells, names, n_f, target, sigma, str(stated))
    if scale == LAW:
        return _by_law(n_f, target, sigma, str(stated))
    anchors = _anchors()
    with st.expander("Floor of the loss, collision energy", icon=":material/tune:"):
        floor, fixed = _floor(), _fixed()
    if not target or not anchors:
        return None
    goal = _target(target, sigma, str(stated))
    return plan_fitted("", n_f, goal, anchors, best_laws(), floor=floor, fixed_energy=fixed)


def _by_law(n_f: int, target: str, sigma: str, stated: str) -> AmplitudePlan | None:
    """Return the plan from a published law for this number of particles; None without a target."""
    law = _law(n_f)
    with st.expander("Collision energy", icon=":material/tune:"):
        fixed = _fixed()
    if not target:
        return None
    return plan_amplitude(n_f, _target(target, sigma, stated), (), law, best_laws(), fixed_energy=fixed)


def _by_cells(
    cells: Sequence[TrainedCell], names: Sequence[str], n_f: int, target: str, sigma: str, stated: str
) -> AmplitudePlan | None:
    """Return the plan from the law of the trained cells of a process in ``names``; None without a target."""
    with blanks("cells"):
        words("The cells of")
        process = named_blank("Process", list(names), "cells", 150)
    with st.expander("Floor of the loss", icon=":material/tune:"):
        floor = _floor()
    if not target:
        return None
    found = most_anchors(by_error(cells, ERRORS.get(stated, "rms")), process)
    return plan_trained(n_f, _target(target, sigma, stated, spread_of(found)), found, best_laws(), floor)


def _target(target: str, sigma: str, stated: str, known: float | None = None) -> Precision:
    """Return the target. The spread of log A is the given one, otherwise the ``known`` one."""
    spread = parse_number(sigma, "standard deviation of log A") if sigma else known
    if stated in ERRORS:
        return of_error(parse_share(target, "target relative error"), spread, ERRORS[stated])
    return of_mse(parse_number(target, "target MSE"), spread)


def _law(n_f: int) -> PublishedLaw:
    """Return the chosen published law for this number of particles."""
    laws = [law for law in published_laws() if law.n_f == n_f]
    with blanks("law"):
        words("The law of")
        process = named_blank("Process", list(dict.fromkeys(law.process for law in laws)), "process", 150)
        laws = [law for law in laws if law.process == process]
        words("against")
        axis = named_blank("Axis", [a for a in AXES if any(law.axis == a for law in laws)], "along", 90)
        laws = [law for law in laws if law.axis == axis]
        words("by")
        network = named_blank("Network", list(dict.fromkeys(law.network for law in laws)), "network", 250)
        laws = [law for law in laws if law.network == network]
        words("at")
        held = named_blank("Value of the other axis", [law.held for law in laws][::-1], "held", 170)
    return published_law(process, axis, held, network)


def _anchors() -> list[Anchor]:
    """Return the anchors that are filled in."""
    n = int(st.number_input("Runs", 1, MOST_ANCHORS, 1, key="anchors", bind="query-params", width=110,
                            help="Small runs, each limited by D, N or C. A law of runs at two or more D replaces the "
                            "bound."))  # fmt: skip
    found = [_anchor(i) for i in range(1, n + 1)]
    if not any(found):
        st.info(
            "Train one small network on at least 1,000 points until its loss no longer falls. Then enter its number "
            "of points, its loss, and the decrease of the loss if the network and its compute are doubled. An "
            "increase is negative.",
            icon=":material/search:",
        )
    return [anchor for anchor in found if anchor is not None]


def _anchor(i: int) -> Anchor | None:
    """Return the run number ``i``; None if its axis value or loss is empty."""
    grid = st.grid(7, min_column_width=120)
    axis = grid.selectbox("Limited by", AXES, key=f"axis{i}", bind="query-params")
    names = {"x": f"{axis} of the run", "loss": "MSE", "N": "N", "epochs": "Epochs", "flops": "FLOPs a point",
             "doubled": "Fall if doubled"}  # fmt: skip
    hints = {"x": "1e4", "loss": "1e-3", "N": "1e5", "epochs": "1000", "flops": "6 N", "doubled": "3 %"}
    typed = {
        name: grid.text_input(label, "", key=f"{name}{i}", bind="query-params", max_chars=100, placeholder=hints[name])
        for name, label in names.items()
        if name != axis
    }
    if not typed["x"] or not typed["loss"]:
        return None
    said = {"x": f"number of {UNITS[axis]}", "loss": "MSE", "N": "N", "epochs": "number of epochs",
            "flops": "number of FLOPs a point", "doubled": "fall if doubled"}  # fmt: skip
    given = {name: parse_share(text or "", f"{said[name]} of run {i}") for name, text in typed.items() if text}
    return Anchor(axis, given["x"], given["loss"], N=given.get("N"), epochs=given.get("epochs"),
                  flops_per_sample=given.get("flops"), doubled=given.get("doubled"))  # fmt: skip


def _floor() -> float:
    floor = st.text_input("Floor of the loss [MSE]", "0", key="floor", bind="query-params",
                          help="Noise of the amplitudes: zero at tree level, the accuracy of the integrals for loops. "
                          "Or the limit of the loss for infinitely many points.")  # fmt: skip
    return parse_number(floor or "0", "floor")


def _fixed() -> bool:
    return st.toggle("At one collision energy", key="fixed", bind="query-params", help="d is one less.")


def show(db: Database, plan: AmplitudePlan) -> None:
    """Show the answer, the most important parts first."""
    with st.container(border=True):
        st.header(escape_markdown(powers(whole(sentence(plan)))), anchor=False)
        if plan.change:
            st.markdown(escape_markdown(powers(whole(plan.change))))
    table = [dict(zip(COLUMNS, _cells(*row), strict=True)) for row in rows(plan)]
    with st.container(key="precision_table"):
        shown = [{k: escape_markdown(v) for k, v in row.items()} for row in table]
        st.table(shown, border="horizontal", hide_index=True, alt="The plan in numbers.")
    show_warnings(plan.warnings)
    keep_answer(db, "amplitude", f"MSE {number(plan.target.mse)}, {plan.n_f} particles", document(plan))
    for need in plan.needs:
        if need.reached:
            st.caption(f"{need.origin}. A smaller {need.axis} may also reach it.")
        elif need.inside:
            st.caption(f"The target is within the measured range of {need.axis}, so nothing is extrapolated.")
        elif len(need.x):
            draw(partial(exponents.draw_need, need, plan.target), key=f"need_{need.axis}")


def _cells(what: str, span: str, unit: str, source: str) -> tuple[str, str, str]:
    return (
        what,
        powers(whole(f"{span} {unit}".strip() if span != "-" else "not known")),
        powers(source.removeprefix("not known: ")),
    )


db = workspace.current()
heading("Precision", "Data and compute for an amplitude surrogate, planned from small runs.")
with sentences():
    plan = ask(db)
    if plan is not None:
        show(db, plan)
with sentences():
    amplitude_laws.show(db)
saved_items.show_answers(db, "amplitude")
