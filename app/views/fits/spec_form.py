"""What to fit and how: law, target, objective, fixed parameters, refits."""

from __future__ import annotations

import streamlit as st

from isoplan.app.bundled import opening
from isoplan.app.commands.shared.reading import read_error
from isoplan.app.views.fits.law_choice import TYPED, choose_law, choose_parameters
from isoplan.app.views.widgets.parts import escape_markdown, plural
from isoplan.app.views.widgets.state import choose_y
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.suggestion import suggest
from isoplan.engine.laws import Law
from isoplan.engine.laws.expression import FormulaLaw
from isoplan.engine.quantities import as_typed
from isoplan.engine.schema import Runs
from isoplan.engine.store.tables.tables import TableInfo

OBJECTIVES = {
    "huber-log": "Huber loss of log residuals: a few outliers hardly move it. The field's default.",
    "ols": "Least squares of the residuals as they are.",
    "lad": "Absolute log residuals: outliers move it least, the runs in the middle decide.",
    "asymmetric": "Absolute residuals, ten times as heavy below the law: an envelope for under-tuned runs.",
    "ols-log": "Least squares of log residuals: every relative error counts alike.",
}
INTERVALS = {
    "auto": "bc for many runs, residual for few and around iso-FLOP curves",
    "bc": "refits of resampled runs, percentiles corrected for their bias",
    "percentile": "the same refits, plain percentiles: often too wide",
    "residual": "refits of the same runs with noise drawn anew from the residuals",
    "profile": "parameters drawn from the likelihood around the best fit",
}
SUGGESTED = "suggested_objective"
"""The objective that suited the runs when the form was last shown."""
BEGUN = "begun_fit"
"""The table for which the form was opened last, and how it began."""


def choose_spec(runs: Runs, table: TableInfo) -> FitSpec | None:
    """Widgets that say what to fit; None with a sentence where the table allows no law yet."""
    targets = [y for y in ("loss", *(m.column for m in runs.roles.metrics)) if y in runs]
    if not targets:
        st.info("No column is mapped to the loss or a metric: map one on the Data page.", icon=":material/info:")
        return None
    grid = st.grid(3, min_column_width=200)
    with grid.cell():
        y = choose_y("Describe", targets, "The loss, or a metric of the table.")
        st.caption(
            f"{plural(len(runs), 'run')}; {'smaller' if runs.roles.direction(y) == 'min' else 'larger'} is better."
        )
    bundled = opening(table)
    start = bundled.spec if bundled else FitSpec()
    _begin(table.id, start)
    with grid.cell():
        law = choose_law(runs, y, bundled)
    if law is None:
        return None
    with grid.cell():
        objective = _objective(law, runs, y, start)
    with st.expander("Refits, seed, fixed parameters"):
        return _details(law, runs, y, objective, table, start)


def _objective(law: Law, runs: Runs, y: str, start: FitSpec) -> str:
    """The objective: that of the bundled table where it names one, else what suits the runs until one is chosen."""
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
    """How a law is fitted, as the widgets of the form show it."""
    error = spec.relative_error
    typed = as_typed(error) if isinstance(error, float) else error or ""
    return {"objective": spec.objective, "interval": spec.interval, "relative_error": typed}


def _begin(table_id: str, start: FitSpec) -> None:
    """At another table, begin as ``start`` says with all that neither the user nor a link has changed."""
    now = how(start)
    opened, before = st.session_state.get(BEGUN, (table_id, now))
    if opened != table_id:
        unchanged = [name for name in now if st.session_state.get(name) == before[name]]
        st.session_state.update({name: now[name] for name in unchanged if name not in st.query_params})
    st.session_state[BEGUN] = (table_id, now)


def _details(law: Law, runs: Runs, y: str, objective: str, table: TableInfo, start: FitSpec) -> FitSpec:
    left, middle, right, far = st.columns(4)
    refits = left.number_input(
        "Refits", 0, 20_000, 1000, step=100, key="refits", bind="query-params", help="Each fits a resample of the runs."
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
            help="How much more a run below the law counts than one above it.",
        )  # fmt: skip
    error = read_error(
        st.text_input(
            f"Relative error of {escape_markdown(y)}", how(start)["relative_error"], placeholder="not stated",
            key="relative_error", bind="query-params",
            help="0.1, 10%, or the name of a column that holds it for each run: runs weigh by its inverse square.",
        )
        or ""
    )  # fmt: skip
    known = choose_parameters(law, runs, table.id, start.share if start.law == law.name else ())
    known |= {"realised": _realised(law, runs)}
    formula = law.formula.text if isinstance(law, FormulaLaw) and law.name == TYPED else ""
    return FitSpec.model_validate(
        {
            "law": law.name, "axis": None if formula else law.axis, "y": y,
            "objective": objective, "delta": delta, "skew": skew, "relative_error": error, "formula": formula, **known,
            "bootstrap": refits, "seed": seed, "interval": interval or "auto",
        }
    ).read_from(runs)  # fmt: skip


def _realised(law: Law, runs: Runs) -> float | None:
    """The value at which runs at zero of the law's axis are fitted; None leaves them out."""
    if law.axis is None or law.with_axis is None or not (law.axis in runs and (runs[law.axis] == 0).any()):
        return None
    return st.number_input(
        f"Fit runs at {escape_markdown(law.axis)} = 0 as", 0.0, value=None, format="%g", placeholder="left out",
        key="realised", bind="query-params", help="The value that zero really gave; empty leaves them out.",
    ) or None  # fmt: skip
