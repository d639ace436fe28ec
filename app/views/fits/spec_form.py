"""Form for the specification of a fit to runs or training curves: quantity, law, objective, parameters, resamples."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.grid_container import GridContainer

from isoplan.app.bundled import opening
from isoplan.app.views.fits.law_choice import TYPED, choose_law, choose_parameters, suggested, title_of
from isoplan.app.views.widgets.cache import curves_of
from isoplan.app.views.widgets.parts import distinct, escape_markdown, plural
from isoplan.app.views.widgets.state import choose_named, choose_y, keep_possible
from isoplan.engine.fitting.samples.curve_tables import SHAPES
from isoplan.engine.fitting.single import suggest
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import CATALOGUE, Law
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.quantities import as_typed, share_or_column
from isoplan.engine.schema import Curves, Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

OBJECTIVES = {
    "huber-log": "Huber loss of log residuals: a few outliers hardly change the fit. The usual choice.",
    "ols": "Least squares of the residuals.",
    "lad": "Absolute log residuals: outliers change the fit least.",
    "asymmetric": "Absolute residuals. Runs below the law have ten times the weight of runs above it, so the law "
    "follows the best-tuned runs.",
    "ols-log": "Least squares of log residuals: all relative errors have the same weight.",
}
INTERVALS = {
    "auto": "bc for many runs, residual for few runs and for iso-FLOP curves",
    "bc": "refits of resampled runs, percentiles corrected for their bias",
    "percentile": "the refits of bc, but percentiles without correction: often too wide",
    "residual": "refits of the same runs with new noise, drawn from the residuals",
    "profile": "parameters drawn from the likelihood around the best fit",
}
SUGGESTED = "suggested_objective"
"""Session key of the objective that was suggested when the form was last drawn."""
BEGUN = "begun_fit"
"""Session key of a pair: the table for which the form was last drawn, and the initial values of its widgets."""


def choose_spec(runs: Runs, table: TableInfo, grid: GridContainer, more: DeltaGenerator) -> FitSpec | None:
    """Show the form of a fit to runs and return its specification.

    The predicted quantity and the law are shown in ``grid``, and all other settings in the container ``more``. If the
    table allows no law yet, a message is shown and the result is None.
    """
    targets = [y for y in ("loss", *(m.column for m in runs.roles.metrics)) if y in runs]
    if not targets:
        st.info("No column is mapped to the loss or a metric: map one on the Data page.", icon=":material/info:")
        return None
    with grid.cell():
        y = choose_y("Predicted quantity", targets, "The loss, or a metric of the table.")
        st.caption(
            f"{plural(len(runs), 'run')}; {'smaller' if runs.roles.direction(y) == 'min' else 'larger'} is better."
        )
    bundled = opening(table)
    start = bundled.spec if bundled else FitSpec()
    _begin(table.id, start)
    suggestion = suggested(runs, y, bundled)
    with grid.cell():
        law = choose_law(runs, y, suggestion)
    if law is None:
        return None
    if suggestion is not None:
        st.caption(escape_markdown(suggestion.sentence))
    with more:
        objective = _objective(law, runs, y, start)
        return _details(law, runs, y, objective, table, start)


def _objective(law: Law, runs: Runs, y: str, start: FitSpec) -> str:
    """Show the selection of the objective and return the selected objective.

    The initial selection is the objective in ``start``, the specification of a bundled table. If ``start`` has no
    objective, the initial selection is the suggested objective. A choice by the user or by the page URL is kept.
    """
    formula = law.formula.text if isinstance(law, FormulaLaw) and law.name == TYPED else ""
    spec = FitSpec(law=law.name, axis=None if formula else law.axis, y=y, formula=formula)
    suits, notes = (start, ()) if "objective" in start.model_fields_set else suggest(spec, runs)
    before = st.session_state.get(SUGGESTED, suits.objective)
    unchanged = st.session_state.get("objective") == before and "objective" not in st.query_params
    if before != suits.objective and unchanged:
        st.session_state["objective"] = suits.objective
    st.session_state[SUGGESTED] = suits.objective
    names = list(OBJECTIVES)
    first = names.index(suits.objective)
    chosen = str(st.selectbox("Objective", names, first, key="objective", bind="query-params"))
    st.caption(" ".join([OBJECTIVES[chosen], *(w.text for w in notes if chosen == suits.objective)]))
    return chosen


def how(spec: FitSpec) -> dict[str, str]:
    """Return the widget values for the objective, the interval and the relative error of ``spec``, by widget key."""
    error = spec.relative_error
    typed = as_typed(error) if isinstance(error, float) else error or ""
    return {"objective": spec.objective, "interval": spec.interval, "relative_error": typed}


def _begin(table_id: str, start: FitSpec) -> None:
    """Set the widgets to the values of ``start`` if another table was opened since the form was last drawn.

    Widgets that the user or the page URL has set keep their values.
    """
    now = how(start)
    opened, before = st.session_state.get(BEGUN, (table_id, now))
    if opened != table_id:
        unchanged = [name for name in now if st.session_state.get(name) == before[name]]
        st.session_state.update({name: now[name] for name in unchanged if name not in st.query_params})
    st.session_state[BEGUN] = (table_id, now)


def _details(law: Law, runs: Runs, y: str, objective: str, table: TableInfo, start: FitSpec) -> FitSpec:
    left, middle, right, far = st.columns(4)
    refits = left.number_input(
        "Resamples",
        0,
        20_000,
        1000,
        step=100,
        key="refits",
        bind="query-params",
        help="Number of resamples of the runs. The law is fitted to each resample.",
    )
    seed = middle.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
    interval = right.selectbox(
        "Interval",
        list(INTERVALS),
        list(INTERVALS).index(start.interval),
        key="interval",
        bind="query-params",
        help="  \n".join(f"{name}: {what}." for name, what in INTERVALS.items()),
    )
    delta, skew = 1e-3, 10.0
    if objective == "huber-log":
        delta = far.number_input(
            "Huber δ [log loss]", 1e-6, 10.0, 1e-3, format="%g", step=1e-3, key="delta", bind="query-params"
        )
    if objective == "asymmetric":
        skew = far.number_input(
            "Weight below the law", 0.01, 1000.0, 10.0, format="%g", key="skew", bind="query-params",
            help="Weight of a run below the law, divided by the weight of a run above it.",
        )  # fmt: skip
    error = share_or_column(
        st.text_input(
            f"Relative error of {escape_markdown(y)}", how(start)["relative_error"], placeholder="not stated",
            key="relative_error", bind="query-params",
            help="0.1, 10%, or a column with the error of each run. The weight of a run is the inverse square of its "
            "error.",
        )
        or ""
    )  # fmt: skip
    prior = choose_parameters(law, runs, table.id, start.share if start.law == law.name else ())
    prior |= {"realised": _realised(law, runs)}
    formula = law.formula.text if isinstance(law, FormulaLaw) and law.name == TYPED else ""
    return FitSpec.model_validate(
        {
            "law": law.name, "axis": None if formula else law.axis, "y": y,
            "objective": objective, "delta": delta, "skew": skew, "relative_error": error, "formula": formula, **prior,
            "bootstrap": refits, "seed": seed, "interval": interval or "auto",
        }
    ).read_from(runs)  # fmt: skip


def _realised(law: Law, runs: Runs) -> float | None:
    """Show a field for runs with the value 0 on the axis of ``law``; return the value that replaces 0 in the fit.

    Returns None if the field is empty (these runs are then excluded from the fit), or if no run has the value 0.
    """
    if law.axis is None or law.with_axis is None or not (law.axis in runs and (runs[law.axis] == 0).any()):
        return None
    return st.number_input(
        f"Fit runs at {escape_markdown(law.axis)} = 0 as", 0.0, value=None, format="%g", placeholder="left out",
        key="realised", bind="query-params", help="Value at which these runs are fitted; if empty, they are left out.",
    ) or None  # fmt: skip


READ = ("runs", "curves")
COUNTED = "critical-batch"


def choose_curves(db: Database, table: TableInfo, snapshot: str, runs: Runs) -> Curves | None:
    """Show the choice between runs and training curves; return the curves to fit, or None to fit the runs.

    If the table has no training curves, no choice is shown and the result is None.
    """
    uploaded = {t.id: t for t in tables.curves_of(db, table.id)}
    if not uploaded:
        return None
    left, right = st.columns(2, vertical_alignment="bottom")
    read = left.segmented_control(
        "Data to fit", READ, default=READ[0], required=True, key="read", bind="query-params",
        help="One row per run, or training curves (for envelope, critical batch and overfitting threshold).",
    )  # fmt: skip
    if read == READ[0]:
        return None
    keep_possible("curves", uploaded)
    names = distinct({i: one.name for i, one in uploaded.items()})
    chosen = right.selectbox("Curve table", list(uploaded), format_func=names.__getitem__, key="curves")
    return curves_of(db, uploaded[chosen], snapshot, runs)


def choose_curve_spec(curves: Curves, grid: GridContainer, more: DeltaGenerator) -> FitSpec | None:
    """Show the form of a fit to training curves and return its specification.

    The predicted quantity and the law are shown in ``grid``, and all other settings in the container ``more``. If the
    curves have neither a loss nor a metric, a message is shown and the result is None.
    """
    measures = [y for y in ("loss", *(m.column for m in curves.roles.metrics)) if y in curves]
    if not measures:
        st.info("No column of the curves is mapped to the loss or a metric: map one on the Data page.")
        return None
    with grid.cell():
        y = choose_y("Predicted quantity", measures, "The loss or a metric of the curves.")
        st.caption(plural(int((curves.marks == "").sum()), "usable curve"))
    with grid.cell():
        law = _law(curves)
    with more:
        return _curve_details(law, curves, y)


def _curve_details(law: Law, curves: Curves, y: str) -> FitSpec:
    smoothing = st.slider(
        "Smoothing", 0.0, 0.99, 0.6, key="smoothing", bind="query-params",
        help="Weight of an earlier point relative to the current point. The earlier point is the one at 5 % fewer "
        "training steps (critical batch), or the previous one (envelope).",
    )  # fmt: skip
    counted = law.name == COUNTED
    target = st.number_input(
        f"Target {escape_markdown(y)}", value=None, format="%g", key="aim",
        placeholder="best value that every run reaches",
        help="Training steps are counted until the smoothed curve reaches this value.",
    ) if counted else None  # fmt: skip
    left, right = st.columns(2)
    refits = left.number_input("Resamples", 0, 20_000, 1000, step=100, key="refits", bind="query-params")
    seed = right.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
    direct = counted or curves.roles.direction(y) == "max" or bool((curves[y] <= 0).any())
    return FitSpec(
        law=law.name, axis=law.axis, y=y, objective="ols" if direct else "huber-log",
        smoothing=smoothing, target=target, bootstrap=refits, seed=seed,
    )  # fmt: skip


def _law(curves: Curves) -> Law:
    """Show the selection of a law for training curves and return the law.

    For a law of training steps, the user also selects the column of the batch size.
    """
    batches = [name for name in curves.values if name in _knobs(curves)]
    laws = {law.name: law for law in CATALOGUE if law.name in SHAPES and (law.with_axis is None or batches)}
    titles = {name: title_of(law) for name, law in laws.items()}
    law = laws[choose_named("Law", titles, "law", next(iter(laws)), help=_help(laws))]
    if law.with_axis is not None:
        keep_possible("axis", batches)
        law = law.with_axis(st.selectbox("Batch size", batches, key="axis", bind="query-params"))
    st.caption(f"${law.latex}$")
    return law


def _knobs(curves: Curves) -> set[str]:
    """Return the columns that can be settings of a run: all columns except sizes, steps, epochs, losses and metrics."""
    measured = {"N", "D", "U", "C", "step", "epochs", "loss", "budget", "weight"}
    return set(curves.values) - measured - {m.column for m in curves.roles.metrics}


def _help(laws: dict[str, Law]) -> str:
    return "\n".join(f"- **{title_of(law)}**: {escape_markdown(law.needs)}" for law in laws.values())
