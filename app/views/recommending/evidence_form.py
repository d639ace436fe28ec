"""Selection of the user's runs that replace the published evidence for the settings of a recommender.

The table at the top of the page provides evidence for each setting that varies between its runs. The user can select
another table or a saved fit for a single setting. The URL of the page stores all selections.
"""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.recommending import own_table
from isoplan.app.views.widgets.parts import distinct, escape_markdown
from isoplan.app.views.widgets.state import fit_of, recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.recommender import Evidence, with_fallback
from isoplan.engine.planning.recommender.builder import Built
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.columns import Field, metric_name
from isoplan.engine.planning.recommender.own_runs import columns_of, numeric
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables

PRINTED = "Values from the papers"
ABOVE = "The runs selected above, or published runs if none is selected"
ASKED: dict[Setting, dict[str, tuple[Field, str]]] = {
    "s": {"over": ("s", "Column of the embedder share [fraction]")},
    "B": {
        "over": ("B", "Column of the batch size"),
        "updates": ("updates", "Column of the training steps to the target"),
    },
    "N": {},
    "K": {"over": ("K", "Column of the extra negatives")},
}
"""Columns that the user selects if a setting has its own table. For each setting: name in the URL -> (field, label).

The settings are s (embedder share), B (batch size), N (parameters) and K (extra negatives).
"""
FITTED: dict[Setting, str] = {"B": "critical-batch", "N": ""}
"""Law that a saved fit must have to determine a setting; "" means any law with a compute-optimal frontier."""


def read(db: Database, metrics: tuple[str, ...], listed: tuple[str, ...]) -> Built:
    """Return the evidence from the selected tables and fits.

    The evidence covers ``metrics`` and the metrics in ``listed`` that the tables measure. If the runs of a setting
    cannot be read or fitted, the evidence contains a remark with the reason.
    """
    found = Built()
    every = {t.id for t in tables.all(db)}
    if (table := recall("runs")) in every:
        found = own_table.read(db, table, own_table.chosen_columns(), metrics, listed)
    for setting in ASKED:
        if not (chosen := recall(f"{setting}_runs")):
            continue
        try:
            if chosen in every:
                part = own_table.read(db, chosen, _columns(setting), metrics, listed, setting)
            else:
                part = Built(_of_fit(db, setting, chosen, metrics[0]))
        except PlannerError as error:
            part = own_table.failed(setting, error)
        found = _over(found, part)
    return found


def _over(below: Built, above: Built) -> Built:
    """Merge two collections of evidence. If ``above`` and ``below`` determine the same setting, ``above`` is used."""
    return Built(
        with_fallback(above.evidence, below.evidence),
        {**below.runs, **above.runs},
        {**below.errors, **above.errors},
        {**below.references, **above.references},
        tuple(dict.fromkeys((*below.metrics, *above.metrics))),
    )


def _of_fit(db: Database, setting: Setting, chosen: str, metric: str) -> Evidence:
    if chosen not in {f.hash for f in results.fits(db)}:
        raise PlannerError(f"The runs of {setting} in this link are not in this workspace. Choose others below.")
    fitted = fit_of(db, chosen)
    found = {_metric_of(fitted, metric): fitted}
    return Evidence(batch=found) if setting == "B" else Evidence(allocation=found)


def called(setting: Setting) -> str:
    """Return the name of ``setting`` for labels. For "N" it is "N and D", because the same runs determine N and D."""
    return "N and D" if setting == "N" else setting


def choose(db: Database, setting: Setting) -> None:
    """Show the selection of a separate table or fit for ``setting``, and the selection of the columns of the table."""
    options = _options(db, setting)
    chosen = recall(f"{setting}_runs")
    key = f"{setting}_choice"
    st.session_state[key] = chosen if chosen in options else ""
    st.selectbox(
        f"Runs for {called(setting)}",
        list(options),
        format_func=options.__getitem__,
        key=key,
        on_change=lambda: remember(f"{setting}_runs", st.session_state[key]),
    )
    remember(f"{setting}_runs", chosen if chosen in options else "")
    if chosen and chosen not in options:
        st.error(
            f"The runs {escape_markdown(chosen)} of this link are not in this workspace. Upload their file, or "
            "choose others.",
            icon=":material/link_off:",
        )
    elif chosen in {t.id for t in tables.all(db)}:
        _choose_columns(db, setting, chosen)


def _options(db: Database, setting: Setting) -> dict[str, str]:
    named = {t.id: t.name for t in tables.all(db)}
    if setting in FITTED:
        named |= {f.hash: f"{f.name} (fit)" for f in results.fits(db) if _determines(db, setting, f)}
    return {"": ABOVE} | distinct(named)


def _determines(db: Database, setting: Setting, saved: results.SavedFit) -> bool:
    if FITTED[setting]:
        return saved.law == FITTED[setting]
    return saved.law != "formula" and fit_of(db, saved.hash).law.frontier is not None


def _columns(setting: Setting) -> dict[str, str]:
    """Return the columns, by field, that the page URL specifies for the separate table of ``setting``."""
    named = {read: recall(f"{setting}_{name}") for name, (read, _) in ASKED[setting].items()}
    return {read: column for read, column in named.items() if column}


def _choose_columns(db: Database, setting: Setting, table: str) -> None:
    opened = own_table.open_table(db, table)
    options = numeric(opened)
    kept = {read: column for read, column in _columns(setting).items() if column in options}
    found = columns_of(opened, kept).settings
    for place, (name, (read, label)) in zip(st.columns(2), ASKED[setting].items(), strict=False):
        key = f"{setting}_{name}"
        st.session_state[f"{key}_choice"] = found.get(read)
        place.selectbox(
            label,
            options,
            index=None,
            placeholder="Choose a column",
            key=f"{key}_choice",
            on_change=lambda key=key: remember(key, st.session_state[f"{key}_choice"] or ""),
        )


def _metric_of(fitted: Fit, metric: str) -> str:
    """Return the metric that a saved fit describes.

    A law of training steps describes steps instead of a metric. The result is then the group of the fit, or the
    serving metric ``metric`` if the fit has no group.
    """
    if fitted.law.counts_updates:
        return fitted.data.group or metric
    column = fitted.data.roles.get("loss", "loss") if fitted.spec.y == "loss" else fitted.spec.y
    return metric_name(column) or column
