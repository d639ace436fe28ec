"""The user's own runs behind each knob of a recommender, in place of what the papers print.

The table at the top of the page gives every knob that it varies. For a single knob another table or a saved fit may be
chosen; the link holds both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from isoplan.app.views.recommending import own_table
from isoplan.app.views.widgets.parts import distinct, escape_markdown
from isoplan.app.views.widgets.state import fit_of, recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.recommender import Evidence, with_fallback
from isoplan.engine.planning.recommender.choice import Knob
from isoplan.engine.planning.recommender.columns import Setting
from isoplan.engine.planning.recommender.metric_names import metric_name
from isoplan.engine.planning.recommender.references import Rows
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables

PRINTED = "What the papers print"
ABOVE = "Your runs above, else the papers"
ASKED: dict[Knob, dict[str, tuple[Setting, str]]] = {
    "s": {"over": ("s", "Column of the share, as a fraction")},
    "B": {"over": ("B", "Column of the batch size"), "updates": ("updates", "Column of the updates to the target")},
    "N": {},
    "K": {"over": ("K", "Column of the extra negatives")},
}
"""The columns of a knob's own table, by their name in the link: the setting, and a label."""
FITTED: dict[Knob, str] = {"B": "critical-batch", "N": ""}
"""Knobs that a saved fit can determine, and its law; empty for any law that has a frontier."""


@dataclass(frozen=True, eq=False)
class Own:
    """The evidence of the user's runs, the runs behind each knob, and the metrics that their tables measure.

    ``references`` are what counting reaches beside the cells of each knob, for tables that hold it.
    """

    evidence: Evidence
    runs: Mapping[Knob, Runs]
    metrics: tuple[str, ...] = ()
    references: Mapping[Knob, Rows] = field(default_factory=dict)


def read(db: Database, metric: str, listed: tuple[str, ...]) -> Own:
    """The evidence of the tables and fits that are chosen, for ``metric`` and for those ``listed`` that they measure.

    A knob whose runs cannot be read or fitted has a remark that says why.
    """
    found = Own(Evidence(), {})
    every = {t.id for t in tables.all(db)}
    if (table := recall("runs")) in every:
        found = _over(found, _of_table(db, table, own_table.chosen_columns(), metric, listed, None))
    for knob in ASKED:
        if not (chosen := recall(f"{knob}_runs")):
            continue
        try:
            if chosen in every:
                part = _of_table(db, chosen, _columns(knob), metric, listed, knob)
            else:
                part = Own(_of_fit(db, knob, chosen, metric), {})
        except PlannerError as error:
            part = Own(Evidence(remarks={knob: (str(error),)}), {})
        found = _over(found, part)
    return found


def _over(below: Own, above: Own) -> Own:
    """Both, ``above`` where they determine the same."""
    evidence = with_fallback(above.evidence, below.evidence)
    metrics = tuple(dict.fromkeys((*below.metrics, *above.metrics)))
    return Own(evidence, {**below.runs, **above.runs}, metrics, {**below.references, **above.references})


def _of_table(
    db: Database, table: str, chosen: Mapping[str, str], metric: str, listed: tuple[str, ...], knob: Knob | None
) -> Own:
    try:
        data_set = own_table.chosen_data_set() if knob is None else ""
        measured = own_table.sweeps_of(db, table, chosen, knob, data_set).columns.metrics
    except PlannerError as error:
        return Own(Evidence(remarks={knob: (str(error),)} if knob else {}), {})
    asked = (metric, *(name for name in listed if name in measured and name != metric))
    built = own_table.built_of(db, table, chosen, asked, knob, data_set)
    metrics = tuple(name for name in measured if metric_name(name) == name)
    return Own(built.evidence, built.runs, metrics, built.references)


def _of_fit(db: Database, knob: Knob, chosen: str, metric: str) -> Evidence:
    if chosen not in {f.hash for f in results.fits(db)}:
        raise PlannerError(f"The runs of {knob} in this link are not in this workspace. Choose others below.")
    fitted = fit_of(db, chosen)
    found = {_metric_of(fitted, metric): fitted}
    return Evidence(batch=found) if knob == "B" else Evidence(allocation=found)


def choose(db: Database, knob: Knob) -> None:
    """The select over tables and fits for ``knob`` alone, and the columns to read."""
    options = _options(db, knob)
    chosen = recall(f"{knob}_runs")
    key = f"{knob}_choice"
    st.session_state[key] = chosen if chosen in options else ""
    st.selectbox(
        f"Runs for {'N and D' if knob == 'N' else knob}",
        list(options),
        format_func=options.__getitem__,
        key=key,
        on_change=lambda: remember(f"{knob}_runs", st.session_state[key]),
    )
    remember(f"{knob}_runs", chosen if chosen in options else "")
    if chosen and chosen not in options:
        st.error(
            f"The runs {escape_markdown(chosen)} of this link are not in this workspace. Upload their file, or "
            "choose others.",
            icon=":material/link_off:",
        )
    elif chosen in {t.id for t in tables.all(db)}:
        _choose_columns(db, knob, chosen)


def _options(db: Database, knob: Knob) -> dict[str, str]:
    named = {t.id: t.name for t in tables.all(db)}
    if knob in FITTED:
        named |= {f.hash: f"{f.name} (fit)" for f in results.fits(db) if _determines(db, knob, f)}
    return {"": ABOVE} | distinct(named)


def _determines(db: Database, knob: Knob, saved: results.SavedFit) -> bool:
    if FITTED[knob]:
        return saved.law == FITTED[knob]
    return saved.law != "formula" and fit_of(db, saved.hash).law.frontier is not None


def _columns(knob: Knob) -> dict[str, str]:
    """The columns that the link names for the table of one knob, by setting."""
    named = {setting: recall(f"{knob}_{name}") for name, (setting, _) in ASKED[knob].items()}
    return {setting: column for setting, column in named.items() if column}


def _choose_columns(db: Database, knob: Knob, table: str) -> None:
    options = own_table.numeric(db, table)
    kept = {setting: column for setting, column in _columns(knob).items() if column in options}
    found = own_table.columns_of(db, table, kept).settings
    for place, (name, (setting, label)) in zip(st.columns(2), ASKED[knob].items(), strict=False):
        key = f"{knob}_{name}"
        st.session_state[f"{key}_choice"] = found.get(setting)
        place.selectbox(
            label,
            options,
            index=None,
            placeholder="Choose a column",
            key=f"{key}_choice",
            on_change=lambda key=key: remember(key, st.session_state[f"{key}_choice"] or ""),
        )


def _metric_of(fitted: Fit, metric: str) -> str:
    """The metric that a saved fit is about: its group or the served one for updates, else what it describes."""
    if fitted.law.name == "critical-batch":
        return fitted.data.group or metric
    column = fitted.data.roles.get("loss", "loss") if fitted.spec.y == "loss" else fitted.spec.y
    return metric_name(column) or column
