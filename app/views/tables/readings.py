"""Settings for reading a table: text as numbers, units, rows per run, and roles that are computed by formulas.

Isoplan proposes conversions of columns, and the user confirms each conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, number
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import DEVICES
from isoplan.engine.quantities import count
from isoplan.engine.schema import NUMERIC_ROLES, Role, Roles
from isoplan.engine.store.columns import derive, mapping
from isoplan.engine.store.columns.column import (
    AS_IS,
    FACTORS,
    FUNCTIONS,
    GPU_HOURS,
    LOGARITHM,
    OPEN,
    Column,
    leave_out_label,
    leaves_out_runs,
    read_conversion,
)
from isoplan.engine.store.columns.guess import with_guesses
from isoplan.engine.store.columns.unit_names import COMPUTE, COUNTS
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

Save = Callable[..., None]
COMMAS = {"comma": "Decimal comma", "thousands": "Thousands separator"}
POINTS = {"comma": "Thousands separator", "point": "Decimal point"}
SELECT_WIDTH = 300
"""Width in pixels of the selection of a unit. On a narrow page, the selection is shown below the column name."""
MOST = 20
"""Maximum number of proposed conversions that are shown at once."""
MISSING = {"D": "D (samples seen)", "loss": "the loss"}
MOST_OPTIONS = 500
"""Maximum number of columns in a selection."""
ROWS = {"all": "Every row counts", "last": "Last row of each run", "best": "Best row of each run"}
_SIZES = ("millions", "billions", "trillions", "log10", "ln")
_FLOPS = ("pf-days", "petaflop", "exaflop", "zettaflop", "log10")
_LOSSES = ("perplexity", "bits")


def ask(table: TableInfo, roles: Roles, columns: Sequence[Column], save: Save) -> int:
    """Show the unanswered questions about units and formulas that a role needs; return their number.

    ``save(**changes)`` stores changes of the mapping.
    """
    columns = with_guesses(columns)
    open_columns = [c for c in columns if _waits(c, roles)]
    words = [c for c in open_columns if c.words]
    waiting = [c for c in open_columns if not c.words]
    proposals = {} if table.read_only else derive.proposals(columns, roles)
    if waiting:
        title = "this column" if len(waiting) == 1 else f"these {len(waiting)} columns"
        _conversions(table, roles, waiting, save, f"**Convert {title}?** Nothing is converted until you agree.")
    for column in words:
        _words(table, roles, column, save)
    loss_waits = any(c.guess is Role.LOSS for c in open_columns)
    no_loss = roles.loss is None and "loss" not in roles.derived and not (loss_waits or table.read_only)
    asked = dict.fromkeys([*proposals, *(["loss"] if no_loss else [])])
    for role in asked:
        _missing(table, roles, columns, role, proposals.get(role, ""), save)
    if not table.read_only:
        _unique_or_seen(table, roles, columns, save)
    needed = [role for role in asked if role in proposals or not roles.metrics]
    return bool(waiting) + len(words) + len(needed)


def _words(table: TableInfo, roles: Roles, column: Column, save: Save) -> None:
    """Ask whether to leave out the runs whose value in ``column`` is a word such as "diverged" instead of a number."""
    assert column.conversion is not None
    count, kind, runs = column.words, column.conversion.kind, leaves_out_runs(column.guess, roles, table.kind)
    with st.container(border=True, key=f"words_{table.id}_{column.name}"):
        question = f"Leave out {'this run' if count == 1 else f'these {count:,} runs'}?" if runs else ""
        st.markdown(f"**{escape_markdown(column.name)}**: {escape_markdown(column.describe_words())}. {question}")
        label = leave_out_label(count, runs)
        if st.button(label, key=f"leave_{table.id}_{column.name}", disabled=table.read_only):
            save(**_agreed(roles, column, kind))
            st.rerun()


def _missing(table: TableInfo, roles: Roles, columns: Sequence[Column], role: str, formula: str, save: Save) -> None:
    """Ask which column or formula gives ``role``. ``formula`` is the proposed formula, or "" without a proposal."""
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        proposed = f"{role} = {escape_markdown(formula)} (proposed)" if formula else ""
        st.markdown(f"**No column is read as {MISSING[role]}.** {proposed}", width="content")
        if formula and st.button("Use this formula", key=f"derive_{table.id}_{role}"):
            save(derived={**roles.derived, role: formula})
            st.rerun()
        if role == "loss":
            key = f"missing_{table.id}_{role}"
            sizes = {roles.column(size) for size in (Role.N, Role.D, Role.U, Role.C)}
            st.selectbox(
                "Column of the loss",
                [c.name for c in columns if c.kind == "number" and c.name not in sizes][:MOST_OPTIONS],
                index=None,
                key=key,
                placeholder="Choose a column",
                width=SELECT_WIDTH,
                on_change=lambda: save(loss=st.session_state[key]),
            )


def _unique_or_seen(table: TableInfo, roles: Roles, columns: Sequence[Column], save: Save) -> None:
    """Ask whether D counts samples seen or unique samples, if the name of its column does not show which.

    Without an answer, the column is assumed to count samples seen. A note on the fit states this assumption.
    """
    name = mapping.unique_or_seen(columns, roles)
    if not name:
        return
    key = f"epochs_{table.id}"
    with st.container(border=True, key=f"unique_{table.id}"):
        st.markdown(f"**{escape_markdown(name)}**: samples seen in training, or unique samples?")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            epochs = st.number_input("Epochs per run", min_value=1.0, value=None, format="%g", key=key, width=140)
            unique = st.button("Unique samples", key=f"unique_samples_{table.id}")
            if st.button("Samples seen", key=f"samples_seen_{table.id}"):
                save(samples_seen=True)
                st.rerun()
        if unique and epochs is None:
            st.error("Epochs per run: no value. Enter the number of passes over the samples.")
        elif unique and epochs is not None:
            save(**mapping.with_epochs(roles, epochs))
            st.rerun()


def edit(db: Database, table: TableInfo, roles: Roles, columns: Sequence[Column], save: Save) -> None:
    """Show widgets to change the conversions, the formulas and the choice of rows in the mapping."""
    columns = with_guesses(columns)
    shown = [c for c in columns if not _waits(c, roles)]
    agreed = [c for c in shown if c.name in roles.conversions and c.kind == "number"]
    optional = list(dict.fromkeys([*(c for c in shown if c.conversion is not None), *agreed]))
    if optional:
        _conversions(table, roles, optional, save, "**Text and units.** Columns are converted only after you confirm.")
    if table.kind == "runs":
        _rows(db, table, roles, columns, save)
    _formulas(table, roles, save)
    if not table.read_only:
        with st.popover("Convert or compute a column", icon=":material/calculate:"):
            _convert_another(table, roles, columns, save)
            _compute_role(table, roles, save)


def _waits(column: Column, roles: Roles) -> bool:
    """Return whether a role needs the proposed conversion of ``column`` and the user has not answered yet."""
    known = column.conversion is not None and column.conversion.needed and column.guess in NUMERIC_ROLES
    return known and column.name not in roles.conversions


def _conversions(table: TableInfo, roles: Roles, columns: Sequence[Column], save: Save, title: str) -> None:
    with st.container(border=True):
        st.markdown(title)
        _all_as_proposed(table, roles, columns, save)
        for column in columns[:MOST]:
            (_text if column.kind == "text" else _unit)(table, roles, column, save)
        if len(columns) > MOST:
            st.caption(f"The first {MOST} columns with a proposal are shown. Not shown: {len(columns) - MOST}.")


def _all_as_proposed(table: TableInfo, roles: Roles, proposed: Sequence[Column], save: Save) -> None:
    """Show one button that confirms all proposed unit conversions that roles need, if there are at least two."""
    waiting = {c: c.conversion.kind for c in proposed if c.kind == "number" and c.conversion and c.conversion.needed}
    waiting = {c: how for c, how in waiting.items() if how not in OPEN and c.name not in roles.conversions}
    if len(waiting) < 2 or table.read_only:
        return
    if st.button(f"Convert {len(waiting)} columns as proposed", key=f"convert_all_{table.id}"):
        for column, how in waiting.items():
            roles = Roles.model_validate({**roles.model_dump(), **_agreed(roles, column, how)})
        save(**roles.model_dump())
        st.rerun()


def _text(table: TableInfo, roles: Roles, column: Column, save: Save) -> None:
    """Show a checkbox that confirms the conversion of text to numbers, or a choice if two conversions are possible."""
    key = f"convert_{table.id}_{column.name}"
    assert column.conversion is not None
    if column.conversion.ambiguous:
        _either(table, roles, column, save, key)
        return
    st.session_state[key] = column.name in roles.conversions
    kind, text = column.conversion.kind, column.conversion.text
    if column.words:
        way = leave_out_label(column.words, leaves_out_runs(column.guess, roles, table.kind))
        text = escape_markdown(f"{way}: {column.describe_words()}.")
    st.checkbox(
        f"**{escape_markdown(column.name)}**: {text}",
        key=key,
        disabled=table.read_only,
        on_change=lambda: save(**_agreed(roles, column, kind if st.session_state[key] else None)),
    )


def _either(table: TableInfo, roles: Roles, column: Column, save: Save, key: str) -> None:
    """Ask whether the commas (or points) in a column are decimal marks or thousands separators, without a default."""
    points = column.conversion is not None and "point" in column.conversion.either
    names = POINTS if points else COMMAS
    st.session_state[key] = (roles.conversions.get(column.name) or "").partition("+")[0] or None
    unit = column.conversion.kind.partition("+")[2] if column.conversion else ""

    def change() -> None:
        chosen = st.session_state[key]
        save(**_agreed(roles, column, f"{chosen}+{unit}" if chosen and unit else chosen))

    line = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    line.markdown(f"**{escape_markdown(column.name)}**: {escape_markdown(column.two_readings)}", width="content")
    line.segmented_control(
        f"{'Point' if points else 'Comma'} of {escape_markdown(column.name)}",
        list(names),
        key=key,
        format_func=names.__getitem__,
        label_visibility="collapsed",
        disabled=table.read_only,
        on_change=change,
    )


def _unit(table: TableInfo, roles: Roles, column: Column, save: Save) -> None:
    """Show the selection of the unit of a numeric column. The proposed unit is the first option."""
    key = f"unit_{table.id}_{column.name}"
    proposal = column.conversion.kind if column.conversion else ""
    st.session_state[key] = roles.conversions.get(column.name)
    options = list(dict.fromkeys([*_first(proposal), *_units(column, proposal), AS_IS]))
    stored = st.session_state[key]
    line = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    line.markdown(f"**{escape_markdown(column.name)}**: {_example(column, stored or '')}", width="content")
    line.selectbox(
        f"Unit of {escape_markdown(column.name)}",
        list(dict.fromkeys([*([stored] if stored else []), *options])),
        index=None,
        key=key,
        format_func=lambda how: _named(column, how, proposal),
        placeholder=_placeholder(column, proposal),
        label_visibility="collapsed",
        width=SELECT_WIDTH,
        disabled=table.read_only,
        on_change=lambda: save(**_agreed(roles, column, st.session_state[key])),
    )


def _placeholder(column: Column, proposal: str) -> str:
    if proposal == GPU_HOURS:
        return "Proposed: GPU-hours. Choose the device"
    if proposal == LOGARITHM:
        return "Proposed: a logarithm. Choose the base"
    span = _example(column, proposal).partition(" becomes ")[2]
    return f"Proposed: {read_conversion(proposal, '').about}, {span}" if proposal else "No conversion"


def _first(proposal: str) -> list[str]:
    if proposal in OPEN:
        return [d.name for d in DEVICES] if proposal == GPU_HOURS else ["log10", "ln", "log2"]
    return [proposal] if proposal else []


def _units(column: Column, proposal: str) -> Sequence[str]:
    if proposal in (GPU_HOURS, *(d.name for d in DEVICES)):
        return [d.name for d in DEVICES]
    if column.guess in COUNTS:
        return _SIZES
    return _FLOPS if column.guess in COMPUTE else _LOSSES if column.guess is Role.LOSS else ("percent",)


def _named(column: Column, how: str, proposal: str) -> str:
    """Return the text of the option for the unit ``how``, such as ``In millions (proposed)``."""
    about = read_conversion(how, column.name).about
    return about[:1].upper() + about[1:] + (" (proposed)" if how == proposal else "")


def _example(column: Column, how: str) -> str:
    """Return the range of a column before and after the conversion ``how``, as text."""
    if column.minimum is None or column.maximum is None:
        return "no numbers"
    span = f"{number(column.minimum)} to {number(column.maximum)}"
    if not how or how == AS_IS:
        return span
    reading, show = read_conversion(how, column.name), count if column.guess in COUNTS else number
    return f"{span} becomes {show(reading.one(column.minimum))} to {show(reading.one(column.maximum))}"


def _agreed(roles: Roles, column: Column, how: str | None) -> dict[str, object]:
    """Return the changes of the mapping that convert ``column`` and assign its guessed role, if this role is free.

    If ``how`` is None, the changes remove the conversion and all roles of the column.
    """
    kinds = {k: v for k, v in roles.conversions.items() if k != column.name}
    if how is not None:
        changes: dict[str, object] = {"conversions": kinds | {column.name: how}}
        guess, used = column.guess, {roles.column(role) for role in NUMERIC_ROLES}
        if guess in NUMERIC_ROLES and roles.column(guess) is None and column.name not in used:
            changes |= {guess.value: column.name, "metrics": [m for m in roles.metrics if m.column != column.name]}
            changes["derived"] = {k: v for k, v in roles.derived.items() if k != guess.value}
        return changes
    return {
        "conversions": kinds,
        **{r.value: None for r in NUMERIC_ROLES if roles.column(r) == column.name},
        "metrics": [m for m in roles.metrics if m.column != column.name],
        "hyper": [h for h in roles.hyper if h != column.name],
    }


def _rows(db: Database, table: TableInfo, roles: Roles, columns: Sequence[Column], save: Save) -> None:
    """Show the choice of the row that represents a run, if the rows of the table are points of training curves."""
    run = next((c for c in columns if c.name == roles.run), None)
    several = run is not None and run.distinct * 1.5 <= table.rows
    if run is None or (roles.rows == "all" and not (several and tables.history(db, table.id, roles).rows != "all")):
        return
    key = f"rows_{table.id}"
    st.session_state[key] = roles.rows
    with st.container(border=True):
        st.markdown(
            f"**{table.rows:,} rows, about {run.distinct:,} runs.** Values in the column "
            f"{escape_markdown(run.name)} repeat, so the rows are points of training curves."
        )
        st.segmented_control(
            "Row that represents the run", list(ROWS), format_func=ROWS.__getitem__, key=key, required=True,
            disabled=table.read_only, on_change=lambda: save(rows=st.session_state[key]),
            help="The last row has the largest step, epoch, D or C; the best row has the smallest loss.",
        )  # fmt: skip


def _formulas(table: TableInfo, roles: Roles, save: Save) -> None:
    """Show the formulas that compute roles, each with a button that removes the formula."""
    for role, formula in roles.derived.items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{role}** = {escape_markdown(formula)}", width="content")
            left = {k: v for k, v in roles.derived.items() if k != role}
            if st.button("Remove formula", key=f"underive_{table.id}_{role}", disabled=table.read_only):
                save(derived=left)
                st.rerun()


def _convert_another(table: TableInfo, roles: Roles, columns: Sequence[Column], save: Save) -> None:
    by_name = {c.name: c for c in columns if c.kind == "number"}
    hows = [*FACTORS, *FUNCTIONS, "bits", *(d.name for d in DEVICES)]
    with st.form(f"convert_form_{table.id}", border=False):
        name = st.selectbox("Column", list(by_name)[:500], key=f"convert_column_{table.id}")
        how = st.selectbox("Unit", hows, format_func=lambda h: read_conversion(h, "").about, key=f"how_{table.id}")
        if st.form_submit_button("Convert column") and name and how:
            save(**_agreed(roles, by_name[name], how))
            st.rerun()


def _compute_role(table: TableInfo, roles: Roles, save: Save) -> None:
    with st.form(f"derive_form_{table.id}", border=False):
        role = st.selectbox("Role", [r.value for r in NUMERIC_ROLES], index=1, key=f"derive_role_{table.id}")
        formula = st.text_input(
            "Formula", key=f"derive_formula_{table.id}", max_chars=500,
            help='Columns, numbers, + - * / ^, log, exp, sqrt; for example steps * "Batch Size" * seq_len.',
        )  # fmt: skip
        if st.form_submit_button("Compute role") and role:
            try:
                derived = {**roles.derived, **derive.read_derived([f"{role} = {formula}"])}
            except PlannerError:
                st.error("Formula: it is empty. Enter columns joined by + - * / ^.")
                return
            save(derived=derived, **{role: None})
            st.rerun()
