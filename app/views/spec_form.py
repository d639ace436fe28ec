"""What to fit and how: law, target, objective, fixed parameters, refits."""

from __future__ import annotations

import streamlit as st

from app.views.fitting import offered
from app.views.parts import plain, plural
from app.views.state import keep_possible
from engine.fitting.spec import FitSpec
from engine.laws import Law
from engine.schema import Runs
from engine.store.tables import TableInfo

OBJECTIVES = {
    "huber-log": "Huber loss of log residuals: a few outliers hardly move it. The field's default.",
    "ols": "Least squares of the residuals as they are.",
    "lad": "Absolute log residuals: outliers move it least, the runs in the middle decide.",
    "asymmetric": "Absolute residuals, ten times as heavy below the law: an envelope for under-tuned runs.",
    "ols-log": "Least squares of log residuals: every relative error counts alike.",
}
INTERVALS = ("bc", "percentile")


def choose_spec(runs: Runs, table: TableInfo) -> FitSpec | None:
    """Widgets that say what to fit; None with a sentence where the table allows no law yet."""
    targets = [y for y in ("loss", *(m.column for m in runs.roles.metrics)) if y in runs]
    if not targets:
        st.info("No column is mapped to the loss or a metric: map one on the Data page.", icon=":material/info:")
        return None
    grid = st.grid(3, min_column_width=200)
    with grid.cell():
        keep_possible("y", targets)
        y = st.selectbox("Describe", targets, key="y", bind="query-params", help="The loss, or a metric of the table.")
        st.caption(
            f"{plural(len(runs), 'run')}; {'smaller' if runs.roles.direction(y) == 'min' else 'larger'} is better."
        )
    with grid.cell():
        law = _law(runs, y)
    if law is None:
        return None
    with grid.cell():
        objective = st.segmented_control(
            "Objective", list(OBJECTIVES), default="huber-log", required=True, key="objective", bind="query-params"
        )
        st.caption(OBJECTIVES[str(objective)])
    with st.expander("Refits, seed, fixed parameters"):
        return _details(law, y, str(objective), table)


def _law(runs: Runs, y: str) -> Law | None:
    laws, others = offered(runs, y)
    if not laws:
        st.info(
            f"No law can read this table yet: {plain(others[0][1])}. Map it on the Data page.", icon=":material/info:"
        )
        return None
    by_key = {law.key: law for law in laws}
    _say_why(others)
    keep_possible("law", by_key)
    chosen = by_key[st.selectbox("Law", list(by_key), key="law", bind="query-params", help=_help(laws, others))]
    st.caption(f"{plain(chosen.summary)}  \n${chosen.latex}$")
    return chosen


def _say_why(others: list[tuple[Law, str]]) -> None:
    """Why the law of the link is not the one that is chosen."""
    asked = st.session_state.get("law") or st.query_params.get("law")
    for law, why in others:
        if law.key == asked:
            st.info(f"{law.key} cannot read this table: {plain(why)}.", icon=":material/info:")


def _help(laws: list[Law], others: list[tuple[Law, str]]) -> str:
    """What each law needs, and why the others are not offered."""
    lines = [f"- **{law.key}**: {law.needs}" for law in laws]
    return "\n".join([*lines, *(f"- {law.key} is not offered: {plain(why)}." for law, why in others)])


def _details(law: Law, y: str, objective: str, table: TableInfo) -> FitSpec:
    left, middle, right, far = st.columns(4)
    refits = left.number_input(
        "Refits", 0, 20_000, 1000, step=100, key="refits", bind="query-params", help="Each fits a resample of the runs."
    )
    seed = middle.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
    interval = right.segmented_control(
        "Interval",
        INTERVALS,
        default="bc",
        required=True,
        key="interval",
        bind="query-params",
        help="bc: percentiles of the refits, corrected for their bias. percentile: as they are, often too wide.",
    )
    delta = 1e-3
    if objective == "huber-log":
        delta = far.number_input(
            "Huber δ [log loss]", 1e-6, 10.0, 1e-3, format="%g", step=1e-3, key="delta", bind="query-params"
        )
    st.caption("Hold a parameter at a value; leave the others empty.")
    fixed: dict[str, float] = {}
    grid = st.grid(6, min_column_width=90)
    for parameter in law.params:
        value = grid.number_input(
            parameter.name, value=None, format="%g", placeholder="free", help=parameter.meaning,
            key=f"fixed_{table.id}_{law.key}_{parameter.name}",
        )  # fmt: skip
        if value is not None:
            fixed[parameter.name] = value
    return FitSpec.model_validate(
        {
            "law": law.name, "axis": law.axis, "y": y, "objective": objective, "delta": delta, "fixed": fixed,
            "bootstrap": refits, "seed": seed, "interval": interval or "bc",
        }
    )  # fmt: skip
