"""Page Precision: estimate which N, D and C an amplitude surrogate needs, before large training runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from isoplan.app import workspace
from isoplan.app.amplitude_cells import of_workspace
from isoplan.app.figures.amplitudes import exponents as figures
from isoplan.app.reports.content import Report, Section, make_report
from isoplan.app.views.widgets import saved_items
from isoplan.app.views.widgets.inputs import blank, blanks, named_blank, words
from isoplan.app.views.widgets.parts import (
    draw,
    escape_markdown,
    heading,
    powers,
    sentences,
    show_warnings,
    whole,
)
from isoplan.app.views.widgets.saved_items import keep_answer
from isoplan.app.views.widgets.state import recall, remember, rename_choice, select_one
from isoplan.data.amplitudes import best_laws, published_exponents, published_law, published_laws, trained_along
from isoplan.engine.planning.amplitude.cell_laws import (
    DataExponent,
    Name,
    TrainedLaw,
    exponents,
    side_by_side,
    trained_laws,
)
from isoplan.engine.planning.amplitude.cells import TrainedCell
from isoplan.engine.planning.amplitude.evidence import UNITS, Anchor, PublishedLaw
from isoplan.engine.planning.amplitude.inputs import ERROR, FLOOR, MSE, POINTS, SIGMA, Sources, make_anchor, read_plan
from isoplan.engine.planning.amplitude.plan import AXES, AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Kind
from isoplan.engine.planning.amplitude.reply import answer
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.quantities import count, parse_share
from isoplan.engine.store.database.database import Database

AN_MSE, OF_POINTS = "an MSE of", "the precision reached by"
ERRORS: dict[str, Kind] = {
    "an RMS relative error of": "rms",
    "a median relative error of": "median",
    "99 % of the points below": "99",
}
"""Kinds of target errors other than the MSE, by the option on the page."""
FORMER = {"a typical relative error of": "an RMS relative error of"}
"""Current names of renamed options of "Kind of target", by former name. Old links can contain the former names."""
LAW, ANCHOR, TRAINED = "a published law", "a run of mine", "trained cells"
SETTINGS = {LAW: "Collision energy", ANCHOR: "Floor of the loss, collision energy", TRAINED: "Floor of the loss"}
"""Title of the expander with further input fields, by the source of the scaling law."""
MOST_ANCHORS = 4


def ask(db: Database) -> Answer | None:
    """Show the question as a sentence with input fields; return the answer, or None if a required field is empty."""
    with blanks("precision"):
        words("My amplitude has")
        n_f = int(st.number_input("Final-state particles", 2, 20, 4, key="n_f", bind="query-params", width=110,
                                  label_visibility="collapsed"))  # fmt: skip
        words("final-state particles. I ask for")
        rename_choice("stated", FORMER)
        stated = str(st.selectbox("Kind of target", [AN_MSE, *ERRORS, OF_POINTS], key="stated", bind="query-params",
                                  width=230, label_visibility="collapsed"))  # fmt: skip
        points = stated == OF_POINTS
        target = blank("Training points", "1e5", "points") if points else blank("Target", "1e-6", "reach")
        words("training points, with a spread of log A of" if points else "with a spread of log A of")
        sigma = blank(SIGMA.label, "", SIGMA.name, 130, hint=SIGMA.hint)
        words("scaled from")
        cells = of_workspace(db)
        laws = [law for law in published_laws() if law.n_f == n_f]
        names = sorted({cell.process for cell in cells if cell.n_f == n_f and cell.target == "log"})
        scales = [*([LAW] if laws else []), ANCHOR, *([TRAINED] if names else [])]
        scale = named_blank("Scale of the law", scales, "scale", 170)
    chosen, anchors = _scale(scale, laws, names)
    floor, fixed = FLOOR.start, False
    with st.expander(SETTINGS[scale], icon=":material/tune:"):
        if scale != LAW:
            floor = st.text_input(FLOOR.label, FLOOR.start, key="floor", bind="query-params", help=FLOOR.tip)
        if scale != TRAINED:
            fixed = st.toggle(
                "At one collision energy",
                key="fixed",
                bind="query-params",
                help="The dimension d of the phase space is then smaller by one.",
            )
    if not target or (scale == ANCHOR and not anchors):
        return None
    kind = ERRORS.get(stated, "rms")
    asked = POINTS if points else ERROR if stated in ERRORS else MSE
    texts = {asked.name: target, "error": kind, SIGMA.name: sigma}
    texts |= {FLOOR.name: floor or FLOOR.default, **chosen}
    sources = Sources(best_laws(), published_law, lambda: cells)
    return answer(read_plan(n_f, texts, "page", sources, anchors, fixed_energy=fixed))


def _scale(scale: str, laws: Sequence[PublishedLaw], names: Sequence[str]) -> tuple[dict[str, str], list[Anchor]]:
    """Show the input fields for ``scale`` (the source of the law); return their texts by name, and the user's runs.

    ``laws`` are the published laws for the selected number of particles. ``names`` are the processes with this number
    of particles that have trained cells (training runs of Isoplan).
    """
    if scale == ANCHOR:
        return {}, _anchors()
    if scale == LAW:
        return _law(laws), []
    with blanks("cells"):
        words("The cells of")
        return {"trained": named_blank("Process", list(names), "cells", 150)}, []


def _law(laws: Sequence[PublishedLaw]) -> dict[str, str]:
    """Show the selections that determine one of the published ``laws``.

    Returns the process, the axis, the network and the value of the other axis of this law, by field name.
    """
    with blanks("law"):
        words("The law of")
        process = _process(laws)
        laws = [law for law in laws if law.process == process]
        words("against")
        axis = named_blank("Axis", [a for a in AXES if any(law.axis == a for law in laws)], "along", 90)
        laws = [law for law in laws if law.axis == axis]
        words("by")
        network = named_blank("Network", list(dict.fromkeys(law.network for law in laws)), "network", 250)
        laws = [law for law in laws if law.network == network]
        words("at")
        held = named_blank("Value of the other axis", [law.held for law in laws][::-1], "held", 170)
    return {"process": process, "axis": axis, "network": network, "held": held}


def _process(laws: Sequence[PublishedLaw]) -> str:
    """Show the selection of a process and return the selected process.

    The options are all processes with a published law, with their numbers of particles. A choice also sets the number
    of particles on the page. ``laws`` are the laws for the selected number of particles. The process of the first law
    is the default.
    """
    particles = {law.process: law.n_f for law in published_laws()}
    own, linked = [law.process for law in laws], recall("process")
    opened = linked if linked in own else own[0]
    names = {
        name: f"{name} ({particles[name]} particles)" for name in sorted(particles, key=lambda p: (particles[p], p))
    }

    def follow(name: str) -> None:
        remember("process", name)
        st.session_state["n_f"] = particles[name]

    select_one("Process", names, "process", opened, follow, width=210, label_visibility="collapsed")
    return opened


def _anchors() -> list[Anchor]:
    """Show the input fields of the user's small runs (anchors); return the runs with an axis value and a loss."""
    n = int(st.number_input("Runs", 1, MOST_ANCHORS, 1, key="anchors", bind="query-params", width=110,
                            help="Number of small runs, each limited by D, N or C. With runs at two or more values "
                            "of D, their exponent replaces the bound 4/d."))  # fmt: skip
    found = [_anchor(i) for i in range(1, n + 1)]
    if not any(found):
        st.info(
            "Train one small network on at least 1,000 points until its loss no longer falls. Then enter the number "
            "of points, the final loss, and the decrease of the loss if the network and its compute are doubled "
            "(negative if the loss increases).",
            icon=":material/search:",
        )
    return [anchor for anchor in found if anchor is not None]


def _anchor(i: int) -> Anchor | None:
    """Show the input fields of run ``i`` and return the run; None if its axis value or its loss is empty."""
    grid = st.grid(7, min_column_width=120)
    axis = grid.selectbox("Limited by", AXES, key=f"axis{i}", bind="query-params")
    names = {"x": f"{axis} of the run", "loss": "MSE", "N": "N", "epochs": "Epochs", "flops": "FLOPs per point",
             "doubled": "Decrease if doubled"}  # fmt: skip
    hints = {"x": "1e4", "loss": "1e-3", "N": "1e5", "epochs": "1000", "flops": "6 N", "doubled": "3 %"}
    typed = {
        name: grid.text_input(label, "", key=f"{name}{i}", bind="query-params", max_chars=100, placeholder=hints[name])
        for name, label in names.items()
        if name != axis
    }
    if not typed["x"] or not typed["loss"]:
        return None
    said = {"x": f"number of {UNITS[axis]}", "loss": "MSE", "N": "N", "epochs": "number of epochs",
            "flops": "number of FLOPs per point", "doubled": "decrease if doubled"}  # fmt: skip
    given = {name: parse_share(text or "", f"{said[name]} of run {i}") for name, text in typed.items() if text}
    return make_anchor(axis, given["x"], given)


def show(db: Database, found: Answer) -> None:
    """Show the answer: sentence, table, warnings, the form that saves the answer, one figure per extrapolated axis."""
    plan: AmplitudePlan = found.result
    with st.container(border=True):
        st.header(escape_markdown(powers(whole(found.sentence))), anchor=False)
        for remark in found.remarks:
            st.markdown(escape_markdown(powers(whole(remark))))
    for part in found.parts:
        assert part.table is not None
        rows = [dict(zip(part.table.head, map(escape_markdown, _cells(*row)), strict=True)) for row in part.table.rows]
        with st.container(key="precision_table"):
            st.table(rows, border="horizontal", hide_index=True, alt=part.table.alt)
    show_warnings(found.warnings)
    keep_answer(db, "amplitude", found.name, found.file, partial(_report, found))
    for need in plan.needs:
        if need.reached:
            st.caption(f"{need.origin}. A smaller {need.axis} may also reach the target.")
        elif need.inside:
            st.caption(f"The target is within the measured range of {need.axis}, so nothing is extrapolated.")
        elif len(need.x):
            draw(partial(figures.draw_need, need, plan.target), key=f"need_{need.axis}")


def _report(found: Answer) -> Report:
    """Return a report of the answer, with one figure for each extrapolated axis (N, D or C)."""
    plan: AmplitudePlan = found.result
    needs = [need for need in plan.needs if not need.reached and not need.inside and len(need.x)]
    tables = [
        Section("Sizes", head=part.table.head, rows=tuple(map(tuple, part.table.rows)))
        for part in found.parts
        if part.table is not None
    ]
    drawn = [
        Section(f"Required {need.axis} against the MSE", draw=partial(figures.draw_need, need, plan.target))
        for need in needs
    ]
    return make_report(found.name, found.file, (), [*tables, *drawn])


def _cells(what: str, span: str, source: str) -> tuple[str, str, str]:
    return what, powers(whole(span if span != "-" else "not known")), powers(source.removeprefix("not known: "))


Row = dict[str, str | float | None]
FITTED: dict[str, Name] = {"α": "alpha", "X_c": "X_c", "K": "K"}
SHOWN = (
    *("Process", "X", "Held", "α, paper", "α, trained", "α, trained, from", "α, trained, to"),
    *("X_c, paper", "X_c, trained", "X_c, trained, from", "X_c, trained, to"),
    *("K, paper", "K, trained", "K, trained, from", "K, trained, to", "Target", "Network", "Table"),
)
"""Columns of the table of laws, in order. The exponents come early, because a small screen cuts off the right side."""


@st.cache_resource(max_entries=8, show_spinner="Fitting the laws of trained cells")
def _exponents(cells: tuple[TrainedCell, ...]) -> tuple[DataExponent, ...]:
    return exponents(cells)


@st.cache_resource(max_entries=8, show_spinner="Fitting the laws of trained cells")
def _laws(cells: tuple[TrainedCell, ...]) -> pd.DataFrame:
    return laws_table(trained_laws(cells, trained_along("N"), trained_along("C")))


def show_laws(db: Database) -> None:
    """Show the exponents of all processes, and a table of all laws.

    The figure compares the exponents with 4/d, where d is the dimension of the phase space. A plan from one run of the
    user assumes the exponent 4/d.
    """
    cells = of_workspace(db)
    with st.expander("Exponents of all processes", icon=":material/scatter_plot:"):
        draw(partial(figures.draw_exponents, published_exponents(), _exponents(cells)), key="exponents")
        st.caption(
            "Exponents α in K + (X_c / D)^α. The published exponents are for a network of 10⁵ parameters (amplitudes, "
            "Fig. 10). The others are fitted to trained cells whose loss is limited by D. The fit assumes "
            "that a loss has an error of 10 %. If the scatter around the law is larger, it is used as the error. For "
            "points above the line, the bound 4/d is conservative."
        )
    with st.expander("Laws of all processes", icon=":material/table:"):
        found = _laws(cells)
        numbers = {name: st.column_config.NumberColumn(format="%.3f" if name.startswith("α") else "%.2e")
                   for name in map(str, found) if "," in name}  # fmt: skip
        st.dataframe(found, hide_index=True, column_config=numbers, height=420, placeholder="",
                     alt="Published laws and laws of trained cells.")  # fmt: skip
        st.caption(
            "Laws K + (X_c / X)^α of one axis X (N, D or C) at a fixed value of another axis (column Held), from the "
            "paper (amplitudes, Tables 2 to 15) and from trained cells. The 68 % intervals assume that a loss has "
            "an error of 10 %. If the scatter around the law is larger, it is used as the error. The paper seems to "
            "count one FLOP per parameter and point, and Isoplan counts six. For laws of C, X_c therefore differs by "
            "about a factor of six."
        )


def laws_table(ours: Sequence[TrainedLaw]) -> pd.DataFrame:
    """Return a table of all laws. If a published law has a corresponding trained law, both are in the same row.

    Without trained laws, the table contains only the columns of published laws.
    """
    found = pd.DataFrame([_named(p, o) | _printed(p) | _fitted(o) for p, o in side_by_side(published_laws(), ours)])
    return found[list(SHOWN)] if ours else found[[name for name in SHOWN if name not in _fitted(None)]]


def _named(published: PublishedLaw | None, ours: TrainedLaw | None) -> Row:
    law = published or ours
    assert law is not None
    held = law.held if isinstance(law, PublishedLaw) else f"{'N' if law.axis == 'D' else 'D'} = {count(law.held)}"
    return {"Process": law.process, "X": law.axis, "Held": held, "Target": "raw" if law.raw else "log",
            "Network": law.network, "Table": published.table if published else ""}  # fmt: skip


def _printed(law: PublishedLaw | None) -> Row:
    return {f"{shown}, paper": None if law is None else float(law.fit.values[name]) for shown, name in FITTED.items()}


def _fitted(ours: TrainedLaw | None) -> Row:
    found: Row = {}
    for shown, name in FITTED.items():
        value, ends = (None, (None, None)) if ours is None else (ours.law.value(name), ours.law.interval(name))
        found |= {f"{shown}, trained": value, f"{shown}, trained, from": ends[0], f"{shown}, trained, to": ends[1]}
    return found


db = workspace.current()
heading("Precision", "Data and compute for an amplitude surrogate, planned from small runs.")
with sentences():
    found = ask(db)
    if found is not None:
        show(db, found)
with sentences():
    show_laws(db)
saved_items.show_answers(db, "amplitude")
