"""What to read off training curves and how: law, measure, smoothing, target."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.cache import curves_of
from isoplan.app.views.widgets.parts import distinct, escape_markdown, plural
from isoplan.app.views.widgets.state import choose_y, keep_possible
from isoplan.engine.fitting.samples.curve_tables import SHAPES
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import CATALOGUE, Law
from isoplan.engine.schema import Curves, Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

READ = ("runs", "curves")
COUNTED = "critical-batch"


def choose_curves(db: Database, table: TableInfo, snapshot: str, runs: Runs) -> Curves | None:
    """The training curves to fit; None for the runs themselves, and where no curves are tied to the table."""
    known = {t.id: t for t in tables.curves_of(db, table.id)}
    if not known:
        return None
    left, right = st.columns(2, vertical_alignment="bottom")
    read = left.segmented_control(
        "Read", READ, default=READ[0], required=True, key="read", bind="query-params",
        help="One row a run, or the training curves: envelope, critical batch and overfitting threshold read these.",
    )  # fmt: skip
    if read == READ[0]:
        return None
    keep_possible("curves", known)
    names = distinct({i: one.name for i, one in known.items()})
    chosen = right.selectbox("Curve table", list(known), format_func=names.__getitem__, key="curves")
    return curves_of(db, known[chosen], snapshot, runs)


def choose_curve_spec(curves: Curves) -> FitSpec | None:
    """Widgets that say what to read off the curves; None with a sentence where they have neither loss nor metrics."""
    measures = [y for y in ("loss", *(m.column for m in curves.roles.metrics)) if y in curves]
    if not measures:
        st.info("No column of the curves is mapped to the loss or a metric: map one on the Data page.")
        return None
    grid = st.grid(3, min_column_width=200)
    with grid.cell():
        y = choose_y("Read off", measures, "The loss or a metric of the curves.")
        st.caption(plural(int((curves.marks == "").sum()), "sound curve"))
    with grid.cell():
        law = _law(curves)
    with grid.cell():
        smoothing = st.slider(
            "Smoothing", 0.0, 0.99, 0.6, key="smoothing", bind="query-params",
            help="What a point at 5 % fewer training steps weighs (critical batch), or the point before (envelope).",
        )  # fmt: skip
    counted = law.name == COUNTED
    target = st.number_input(
        f"Target {escape_markdown(y)}", value=None, format="%g", key="aim",
        placeholder="the hardest that every run reaches",
        help="Updates are counted until the smoothed curve gets there.",
    ) if counted else None  # fmt: skip
    left, right = st.columns(2)
    refits = left.number_input("Refits", 0, 20_000, 1000, step=100, key="refits", bind="query-params")
    seed = right.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
    direct = counted or curves.roles.direction(y) == "max" or bool((curves[y] <= 0).any())
    return FitSpec(
        law=law.name, axis=law.axis, y=y, objective="ols" if direct else "huber-log",
        smoothing=smoothing, target=target, bootstrap=refits, seed=seed,
    )  # fmt: skip


def _law(curves: Curves) -> Law:
    """The law, over the batch size that is chosen where it counts updates."""
    batches = [name for name in curves.values if name in _knobs(curves)]
    laws = {law.name: law for law in CATALOGUE if law.name in SHAPES and (law.with_axis is None or batches)}
    keep_possible("law", laws)
    law = laws[st.selectbox("Law", list(laws), key="law", bind="query-params", help=_help(laws))]
    if law.with_axis is not None:
        keep_possible("axis", batches)
        law = law.with_axis(st.selectbox("Batch size", batches, key="axis", bind="query-params"))
    st.caption(f"{escape_markdown(law.summary)}  \n${law.latex}$")
    return law


def _knobs(curves: Curves) -> set[str]:
    """The columns of the curves that belong to the run as a whole and are no size, time or measure."""
    measured = {"N", "D", "U", "C", "step", "epochs", "loss", "budget", "weight"}
    return set(curves.values) - measured - {m.column for m in curves.roles.metrics}


def _help(laws: dict[str, Law]) -> str:
    return "\n".join(f"- **{law.name}**: {escape_markdown(law.needs)}" for law in laws.values())
