"""Questions about tables that contain different kinds of runs, such as two datasets. Each answer has a button.

An answer changes the mapping or the filter of the table, or excludes runs.
"""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.cache import runs_behind
from isoplan.app.views.widgets.parts import escape_markdown, plural, sentences
from isoplan.app.views.widgets.state import recall, remember
from isoplan.engine.fitting.diagnostics.pooling import OFFSETS, differing
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.mixtures import Question, questions, rows_to_leave_out
from isoplan.engine.schema import SINGLE_ROLES, Roles, Runs
from isoplan.engine.store.columns.compute_gap import compute_gap
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.runs import copies
from isoplan.engine.store.tables.tables import TableInfo

COPY = "copy of another run"
ASK = "Fit one law to each dataset, a law to one dataset only, or one law to all runs?"


def ask(db: Database, table: TableInfo, runs: Runs) -> int:
    """Show the unanswered questions about ``runs``; return the number of these questions.

    Previous answers are also shown, each with a button that asks the question again.
    """
    asked = questions(runs)
    for question in asked:
        _box(db, table, runs, question)
    copied, compared = _copies(db, table, runs), _compute(db, table, runs)
    _answered(db, table, runs.roles)
    return len(asked) + copied + compared


def ask_about(db: Database, fit: Fit) -> None:
    """Ask about each column that is related to the residuals of ``fit``.

    Runs with different values in such a column also have different residuals. Answered questions are not shown.
    """
    if not any(w.code == OFFSETS for w in fit.warnings) or not fit.data.snapshot:
        return
    runs = runs_behind(db, fit)
    table = next((t for t in tables.all(db) if t.id == recall("table")), None)
    if runs is None or table is None:
        return
    roles = tables.roles(db, table.id)
    for question in differing(fit, runs):
        if question.column not in roles.pooled and not (roles.each and roles.group == question.column):
            _box(db, table, runs, question)


def _box(db: Database, table: TableInfo, runs: Runs, question: Question) -> None:
    key = f"{table.id}_{question.column}"
    with st.container(border=True, key=f"question_{key}"), sentences():
        why = ASK if question.kind == "dataset" else "A fit uses all of these runs."
        st.markdown(f"**{escape_markdown(question.text)}** {why}")
        with st.container(horizontal=True):
            if question.kind == "dataset":
                _datasets(db, table, question, key)
            else:
                _leave_out(db, table, runs, question, key)
            label = "All as one" if question.kind == "dataset" else "Keep all"
            if st.button(label, key=f"pool_{key}"):
                _answer(db, table, pooled=(*tables.roles(db, table.id).pooled, question.column))


def _datasets(db: Database, table: TableInfo, question: Question, key: str) -> None:
    """Show one button to fit a law to each dataset, and one button per dataset to fit only this dataset."""
    if st.button("One law each", key=f"each_{key}"):
        _answer(db, table, **_grouped(tables.roles(db, table.id), question.column))
    for value in question.counts:
        if st.button(f"Only {escape_markdown(value) or 'empty'}", key=f"only_{key}_{value}"):
            _filter(question.only(value))


def _leave_out(db: Database, table: TableInfo, runs: Runs, question: Question, key: str) -> None:
    """Show the button that excludes flagged runs, runs of the test split, or runs that vary another setting.

    Runs of the test split, and runs with an unusual value of a setting, are excluded by a filter. Flagged runs are
    withdrawn from the table. A bundled table is read-only. Its flagged runs are therefore also excluded by a filter.
    """
    gone = plural(question.left_out, "run")
    if question.kind in ("split", "setting"):
        if st.button(
            f"Fit on {escape_markdown(question.column)} = {escape_markdown(question.keep[0])}",
            key=f"keep_{key}",
        ):
            _filter(question.only())
    elif st.button(f"Leave out {gone}", key=f"out_{key}"):
        if table.read_only:
            _filter(question.only())
        reason = f"flagged {question.column} = {question.gone[0] or 'empty'}"
        _withdraw(db, table, rows_to_leave_out(question, runs), reason)


def _copies(db: Database, table: TableInfo, runs: Runs) -> bool:
    """Show the buttons that exclude or include copied rows; return whether this question is unanswered."""
    repeated, roles = copies(runs), runs.roles
    if not repeated.any() or roles.repeats != "all" or roles.copies_kept or table.read_only:
        return False
    with st.container(border=True, key=f"copies_{table.id}"):
        n = int(repeated.sum())
        verb = "repeats another run" if n == 1 else "repeat another run"
        st.markdown(f"**{plural(n, 'run')}** of {len(runs):,} {verb} in every mapped number.")
        label = f"Leave out {n:,} {'copy' if n == 1 else 'copies'}"
        with st.container(horizontal=True):
            if st.button(label, key=f"drop_copies_{table.id}"):
                _withdraw(db, table, runs.ids[repeated].tolist(), COPY)
            if st.button("Keep all", key=f"keep_copies_{table.id}"):
                _answer(db, table, copies_kept=True)
    return True


def _compute(db: Database, table: TableInfo, runs: Runs) -> bool:
    """Show the choice between the column C and the compute rule; return whether their values differ strongly."""
    gap = compute_gap(runs)
    if gap is None or table.read_only:
        return False
    roles = tables.roles(db, table.id)
    with st.container(border=True, key=f"compute_{table.id}"):
        st.markdown(f"**{escape_markdown(gap.text)}** Which compute do plans use?")
        with st.container(horizontal=True):
            ways = {
                "column": (f"Use C of the table: {gap.measured_text}", gap.with_column),
                "rule": (f"Use {gap.rule_text}", gap.with_rule),
            }
            for key, (label, change) in ways.items():
                if st.button(escape_markdown(label), key=f"compute_{key}_{table.id}"):
                    tables.set_roles(db, table.id, change(roles))
                    st.rerun()
    return True


def _answered(db: Database, table: TableInfo, roles: Roles) -> None:
    """Show the previous answers, which the mapping stores, each with a button that asks the question again."""
    each = [roles.group] if roles.each and roles.group else []
    answers: dict[str, tuple[str, dict[str, object]]] = {
        name: (f"One law for each value of {name!r}.", {"each": False}) for name in each
    }
    for name in roles.pooled:
        left = tuple(other for other in roles.pooled if other != name)
        answers[name] = (f"One law for all values of {name!r}.", {"pooled": left})
    if roles.copies_kept:
        answers[COPY] = ("Each copy of a run counts as a run.", {"copies_kept": False})
    if roles.samples_seen:
        answers["D"] = ("D counts the samples seen in training.", {"samples_seen": False})
    for name, (text, changes) in answers.items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(escape_markdown(text), width="content")
            if st.button("Ask again", key=f"again_{table.id}_{name}", type="tertiary"):
                _answer(db, table, **changes)


def _grouped(roles: Roles, column: str) -> dict[str, object]:
    """Return the changes of the mapping that fit a separate law to each value of ``column``.

    The column gets the role of the group and loses all other roles.
    """
    free: dict[str, object] = {role.value: None for role in SINGLE_ROLES if roles.column(role) == column}
    free["hyper"] = tuple(name for name in roles.hyper if name != column)
    return free | {"group": column, "each": True, "pooled": tuple(n for n in roles.pooled if n != column)}


def _answer(db: Database, table: TableInfo, **changes: object) -> None:
    roles = tables.roles(db, table.id)
    tables.set_roles(db, table.id, Roles.model_validate({**roles.model_dump(), **changes}))
    st.rerun()


def _filter(condition: str) -> None:
    where = recall("where")
    remember("where", f"({where}) AND ({condition})" if where else condition)
    st.rerun()


def _withdraw(db: Database, table: TableInfo, rows: list[int], reason: str) -> None:
    tables.withdraw(db, table.id, rows, reason)
    st.toast(f"Left out {plural(len(rows), 'run')}: restore them on the Data page, below the figure of the runs.")
    st.rerun()
