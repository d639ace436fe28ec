"""The user's run table at the top of the page Recommender. The runs are divided into one sweep per varied setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from isoplan.app.views.tables.upload import file_box
from isoplan.app.views.widgets.parts import distinct, escape_markdown, plural
from isoplan.app.views.widgets.state import recall, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.recommender.builder import Built, build_evidence
from isoplan.engine.planning.recommender.choice import FAILED, Setting
from isoplan.engine.planning.recommender.columns import ENTROPY, LOSS, SIZES, TITLES, Columns, Field, metric_name
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.own_runs import columns_of, find_sweeps, numeric, summary
from isoplan.engine.planning.recommender.run_table import Table
from isoplan.engine.planning.recommender.sorting import Rivals
from isoplan.engine.schema import Curves, Roles, Runs
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.table_files import OpenTable
from isoplan.engine.store.tables import snapshots, tables

NONE = "None"
ASKED: Mapping[Field, str] = {
    "N": "Model size N", "D": "Training events D", "C": "Compute C", "budget": "Budget", "s": TITLES["s"],
    "B": TITLES["B"], "K": TITLES["K"], "updates": "Training steps to the target",
}  # fmt: skip


def choose(db: Database) -> None:
    """Show the selection of a run table and the upload of a new run table."""
    _take_last(db)
    _upload(db)
    chosen = recall("runs")
    listed = {t.id: t.name for t in tables.all(db) if t.id == chosen or _settings(db, t.id)}
    names = {"": "None (use published runs)"} | distinct(listed)
    st.session_state["runs_choice"] = chosen if chosen in names else ""
    st.selectbox(
        "Your runs", list(names), format_func=names.__getitem__, key="runs_choice", on_change=_changed,
        help="One table with one or several sweeps: N and D (at fixed budgets); the embedder share; the batch size; "
        "the number of extra negatives.",
    )  # fmt: skip
    if chosen in names:
        remember("runs", chosen)
    elif chosen:
        st.error("Your runs: the table of this link is not in this workspace. Upload its file.")


def _settings(db: Database, table: str) -> set[Field]:
    """Return the settings that the columns of a table can determine. N and D are included if both have a column."""
    found = set(columns_of(open_table(db, table), {}).settings)
    sizes: set[Field] = {"N", "D"} if {"N", "D"} <= found else set()
    return sizes | (found & {"s", "K", "B"})


def _take_last(db: Database) -> None:
    """Select the table that another page used last.

    Nothing is selected if the table is a bundled table, or if the table has no sweep of a recommender. Each table is
    selected automatically only once. A table in the page URL has precedence.
    """
    last = recall("table")
    if not last or last == st.session_state.get("runs_taken") or "runs" in st.query_params:
        return
    st.session_state["runs_taken"] = last
    if any(t.id == last and not t.read_only for t in tables.all(db)) and _recommends(db, last):
        _open(last)


def _recommends(db: Database, table: str) -> bool:
    """Return whether a table has a sweep of a recommender.

    A sweep of the embedder share s, the extra negatives K or the batch size B always counts. A sweep of N counts only
    if the table has a ranking metric, or a column for s or K.
    """
    try:
        found = sweeps_of(db, table, {})
    except PlannerError:
        return False
    ranked = [name for name in found.columns.metrics if metric_name(name) == name and name not in (LOSS, ENTROPY)]
    swept, known = set(found.rows), bool(ranked or set(found.columns.settings) & {"s", "K"})
    return bool(swept & {"s", "K", "B"}) or ("N" in swept and known)


def describe(db: Database, metrics: tuple[str, ...], listed: tuple[str, ...]) -> None:
    """Show which settings the selected table determines for ``metrics``, and let the user choose its columns.

    Metrics in ``listed`` are also used if the table measures them. Nothing is shown if no table is selected.
    """
    chosen = recall("runs")
    if chosen not in {t.id for t in tables.all(db)}:
        return
    try:
        found = sweeps_of(db, chosen, chosen_columns(), data_set=chosen_data_set())
    except PlannerError as error:
        st.warning(escape_markdown(str(error)), icon=":material/table:")
        query = {"table": chosen}
        st.page_link("views/data.py", label="Open on the Data page", query_params=query, icon=":material/table:")
        _change(db, chosen, Columns({}, {}, tables.roles(db, chosen)), opened=True)
        return
    _describe(found, read(db, chosen, chosen_columns(), metrics, listed), chosen, db)


def usual_metric(db: Database, start: str) -> str:
    """Return the default serving metric, usually ``start``.

    If the selected table measures other ranking metrics but not ``start``, the result is the first ranking metric of
    the table.
    """
    chosen = recall("runs")
    if chosen not in {t.id for t in tables.all(db)}:
        return start
    try:
        columns = sweeps_of(db, chosen, chosen_columns(), data_set=chosen_data_set()).columns
    except PlannerError:
        return start
    ranked = [name for name in columns.metrics if metric_name(name) == name and name not in (LOSS, ENTROPY)]
    return start if start in ranked or not ranked else ranked[0]


def failed(setting: Setting, error: PlannerError) -> Built:
    """Return evidence that contains only a remark: the runs do not determine ``setting``, because of ``error``."""
    return Built(Evidence(remarks={setting: (f"{FAILED} {setting}. {error}",)}))


def read(
    db: Database,
    table: str,
    chosen: Mapping[str, str],
    metrics: tuple[str, ...],
    listed: tuple[str, ...],
    setting: Setting | None = None,
) -> Built:
    """Return the evidence from a table for ``metrics`` and for the metrics in ``listed`` that the table measures.

    If ``setting`` is given, all runs are treated as a sweep of this setting. If this is not possible, the evidence
    contains a remark with the reason.
    """
    data_set = chosen_data_set() if setting is None else ""
    try:
        measured = sweeps_of(db, table, chosen, setting, data_set).columns.metrics
    except PlannerError as error:
        return failed(setting, error) if setting else Built()
    asked = tuple(dict.fromkeys((*metrics, *(name for name in listed if name in measured))))
    return built_of(db, table, chosen, asked, setting, data_set)


def chosen_columns() -> dict[str, str]:
    """Return the columns that the user chose instead of the recognised columns, by name of the setting or metric."""
    return dict(parse_qsl(recall("columns"), keep_blank_values=True))


def chosen_data_set() -> str:
    """Return the dataset that the user chose in a table with several datasets; "" means the largest dataset."""
    return recall("data_set")


def sweeps_of(
    db: Database, table: str, chosen: Mapping[str, str], only: Setting | None = None, data_set: str = ""
) -> Table:
    """Return the sweeps in a table of the workspace. Raises PlannerError if ``find_sweeps`` cannot read them."""
    return _sweeps(_version(db, table), table, chosen, only, data_set, db)


def built_of(
    db: Database,
    table: str,
    chosen: Mapping[str, str],
    metrics: tuple[str, ...],
    only: Setting | None = None,
    data_set: str = "",
) -> Built:
    """Return the evidence from a table of the workspace for ``metrics``. The first metric is the serving metric."""
    return _built(_version(db, table), table, chosen, metrics, only, data_set, db)


def open_table(db: Database, table: str) -> OpenTable:
    """Return a table of the workspace as an ``OpenTable``, which reads the runs with any assignment of column roles."""

    def read(roles: Roles) -> Runs:
        return snapshots.runs(db, snapshots.take(db, table, roles))

    return OpenTable(tables.columns(db, table), tables.roles(db, table), (), read)


def _version(db: Database, table: str) -> tuple[object, ...]:
    gone = tuple(row for row, _, _ in tables.withdrawn(db, table))
    return str(db.folder), tables.get(db, table).rows, gone, tables.roles(db, table).model_dump_json()


@st.cache_resource(max_entries=32, show_spinner="Reading the runs")
def _sweeps(
    version: tuple[object, ...], table: str, chosen: Mapping[str, str], only: Setting | None, data_set: str,
    _db: Database,
) -> Table:  # fmt: skip
    return find_sweeps(open_table(_db, table), chosen, only=only, data_set=data_set)


@st.cache_resource(max_entries=32, show_spinner="Fitting your runs")
def _built(
    version: tuple[object, ...], table: str, chosen: Mapping[str, str], metrics: tuple[str, ...],
    only: Setting | None, data_set: str, _db: Database,
) -> Built:  # fmt: skip
    curves = next(iter(tables.curves_of(_db, table)), None)

    def read(runs: Runs) -> Curves:
        assert curves is not None
        return snapshots.curves(_db, snapshots.take(_db, curves.id), runs)

    found = _sweeps(version, table, chosen, only, data_set, _db)
    return build_evidence(found, metrics, curves=read if curves else None)


def _changed() -> None:
    _open(st.session_state["runs_choice"])


def _open(table: str) -> None:
    """Open another table with its default columns and its largest dataset."""
    remember("runs", table)
    remember("columns", "")
    remember("data_set", "")


def _upload(db: Database) -> None:
    st.session_state.setdefault("uploads", 0)

    def take(sent: bytes, name: str, part: str | None = None) -> None:
        table = tables.add(db, sent, name, sheet=part, inner=part)
        st.session_state["uploads"] += 1
        _open(table.id)
        st.rerun()

    file_box(f"runs_{st.session_state['uploads']}", "Upload your runs, one row per training run", take)


def _describe(found: Table, built: Built, table: str, db: Database) -> None:
    """Show which settings the table determines, warnings about its columns, and the selection of the columns."""
    if found.rows:
        st.markdown(escape_markdown(summary(found, built)))
    else:
        st.warning(
            "This table has no sweep of N, the embedder share, the batch size or the extra negatives. "
            "Choose the columns.",
            icon=":material/table:",
        )
    if found.rivals is not None:
        _choose_data_set(found.rivals)
    said = [f"{role} is not read: {why}" for role, why in found.waiting.items() if role in SIZES]
    said += [f"{question.text} All runs are used" for question in found.questions]
    if said:
        st.warning(escape_markdown(". ".join(text.rstrip(".") for text in said) + "."), icon=":material/table:")
    for text in found.runs.notes:
        st.caption(escape_markdown(text))
    _change(db, table, found.columns, opened=not found.rows)


def _choose_data_set(rivals: Rivals) -> None:
    """Show the selection of one of several datasets in a table. The dataset in use is selected at first."""
    st.session_state["data_set_choice"] = rivals.used
    st.selectbox(
        f"Data set (column {escape_markdown(rivals.question.column)})",
        list(rivals.question.counts),
        format_func=lambda value: f"{value or 'empty'} ({plural(rivals.question.counts[value], 'run')})",
        key="data_set_choice",
        on_change=lambda: remember("data_set", st.session_state["data_set_choice"]),
        help=f"{escape_markdown(rivals.question.text)} A recipe uses one data set. To use all data sets "
        "as one, answer the question on the Data page.",
    )


def _change(db: Database, table: str, columns: Columns, opened: bool) -> None:
    """Show one selection of a column for each setting and metric. "None" is selected if no column was recognised."""
    options = numeric(open_table(db, table))
    metrics = [name for name in columns.metrics if metric_name(name) == name]
    current = {label: columns.settings.get(name) for name, label in ASKED.items()}
    with st.expander("Change columns", expanded=opened, icon=":material/edit:"):
        grid = st.grid(4, min_column_width=160)
        for name, label in ASKED.items():
            _select(grid, label, str(name), options, current[label])
        for shown in dict.fromkeys((*metrics, recall("metric") or "recall@10")):
            metric = columns.metrics.get(shown)
            _select(grid, f"Column of {shown}", shown, options, metric.column if metric else None)


def _select(grid: Any, label: str, name: str, options: list[str], now: str | None) -> None:
    key = f"column_{name}"
    st.session_state[key] = now if now in options else NONE

    def changed() -> None:
        value = st.session_state[key]
        remember("columns", urlencode(chosen_columns() | {name: "" if value == NONE else value}))

    grid.selectbox(escape_markdown(label), [NONE, *options], key=key, on_change=changed)
