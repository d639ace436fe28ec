"""Editor of the mapping of a table: column of each role, metrics, unit conversions, compute rule, repeated runs.

Each change is saved immediately, and the widgets show the saved values. If a change is invalid, the reason is shown
and the widget returns to the saved value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.views.tables import readings
from isoplan.app.views.tables.readings import MOST_OPTIONS
from isoplan.app.views.widgets.markdown import code
from isoplan.app.views.widgets.parts import escape_markdown, plural, refuse
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.recommender.columns import setting_titles
from isoplan.engine.schema import NUMERIC_ROLES, ROLE_HELP, Metric, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.mapping import choice_notes
from isoplan.engine.store.columns.role_changes import change_roles
from isoplan.engine.store.columns.role_lines import LABELS, duration_lines, role_lines, span_of
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

AXES = (Role.N, Role.D, Role.C, Role.LOSS)
MORE = (Role.U, Role.EPOCHS, Role.STEP, Role.BUDGET, Role.GROUP, Role.SEED, Role.RUN, Role.STATUS, Role.WEIGHT)
RULES = {"6ND": "6 N D", "6npND": "6 nₚ N D", "formula": "Formula"}


def show_roles(columns: Sequence[Column], roles: Roles) -> None:
    """Show the column of each role with the range of its numbers, and the columns that are not used."""
    lines, settings = [], setting_titles(_numeric(columns, roles), roles)
    for line in (*role_lines(columns, roles, settings), *duration_lines(columns, roles, settings)):
        what = ", ".join([*map(code, line.columns), *([escape_markdown(line.text)] if line.text else [])])
        lines.append(f"**{line.label}**: {what}")
    st.markdown("  \n".join(lines))


def ask_readings(db: Database, table: TableInfo, columns: Sequence[Column]) -> int:
    """Show the unanswered questions about units and formulas; return the number of these questions."""
    return readings.ask(table, tables.roles(db, table.id), columns, lambda **changes: _save(db, table, **changes))


def edit_mapping(db: Database, table: TableInfo, columns: Sequence[Column]) -> None:
    """Show the widgets that edit the mapping of ``table``. The widgets are disabled for a bundled table."""
    roles = tables.roles(db, table.id)
    if error := st.session_state.pop(f"mapping_error_{table.id}", None):
        refuse(error)
    for line in st.session_state.pop(f"mapping_moves_{table.id}", ()):
        st.info(escape_markdown(line), icon=":material/swap_horiz:")
    grid = st.grid(4, min_column_width=200)
    for role in AXES:
        with grid.cell():
            _role(db, table, roles, columns, role)
    for note in choice_notes(columns, roles):
        st.caption(escape_markdown(note))
    _metrics(db, table, roles, columns)
    _compute(db, table, roles)
    readings.edit(db, table, roles, columns, lambda **changes: _save(db, table, **changes))
    more = st.expander("More roles", key=f"more_{table.id}", on_change="rerun")
    if more.open:
        with more:
            _more(db, table, roles, columns)


def _more(db: Database, table: TableInfo, roles: Roles, columns: Sequence[Column]) -> None:
    grid = st.grid(4, min_column_width=200)
    for role in MORE:
        with grid.cell():
            _role(db, table, roles, columns, role)
    key = f"hyper_{table.id}"
    save = lambda: _save(db, table, hyper=st.session_state[key])  # noqa: E731
    _multiselect(table, key, "Hyperparameters", Role.HYPER, roles.hyper, _numeric(columns, roles), save)


def _save(db: Database, table: TableInfo, **changes: object) -> None:
    """Save the mapping with ``changes`` (fields of ``Roles``).

    The next run of the page shows an error if the changes are invalid, or lists the columns that moved to another role.
    """
    try:
        roles, moves = change_roles(tables.roles(db, table.id), changes)
        tables.set_roles(db, table.id, roles)
        st.session_state[f"mapping_moves_{table.id}"] = moves
    except PlannerError as error:
        st.session_state[f"mapping_error_{table.id}"] = str(error)


def _role(db: Database, table: TableInfo, roles: Roles, columns: Sequence[Column], role: Role) -> None:
    key, stored = f"role_{table.id}_{role}", roles.column(role)
    names = _numeric(columns, roles) if role in NUMERIC_ROLES else [c.name for c in columns]
    options = list(dict.fromkeys([*([stored] if stored else []), *names[:MOST_OPTIONS]]))
    st.session_state[key] = stored
    st.selectbox(
        LABELS[role],
        options,
        index=None,
        key=key,
        help=ROLE_HELP[role],
        placeholder="No column",
        accept_new_options=len(names) > MOST_OPTIONS,
        disabled=table.read_only,
        on_change=lambda: _save(db, table, **_with_column(roles, role, st.session_state[key] or None)),
    )
    st.caption(_about(role, stored, columns, roles, table.read_only))


def _with_column(roles: Roles, role: Role, name: str | None) -> dict[str, object]:
    """Return the changes of the mapping that assign the column ``name`` to ``role``.

    If ``name`` is not None, the changes also remove the formula of the role.
    """
    left = {k: v for k, v in roles.derived.items() if k != role.value or name is None}
    return {role.value: name, "derived": left}


def _about(role: Role, name: str | None, columns: Sequence[Column], roles: Roles, fixed: bool) -> str:
    """Return the caption below the selection of a role: the range of its column, and whether the column was guessed.

    If the role has no column, the caption states how the role is computed, or that the role is not mapped.
    """
    if role.value in roles.derived:
        return f"Computed as {escape_markdown(roles.derived[role.value])}."
    if name is None:
        sizes = all(roles.column(size) or size.value in roles.derived for size in (Role.N, Role.D))
        return "From N and D by the rule below." if role is Role.C and sizes else "Not mapped."
    column = next((c for c in columns if c.name == name), None)
    if column is None:
        return "This column is not in the table."
    guessed = "" if column.guess is not role or fixed else " Guessed from its name."
    missing = f" {plural(column.missing, 'value')} missing." if column.missing else ""
    span = span_of(column, roles, role)
    unit = " Converted." if column.name in roles.conversions and column.kind == "number" else ""
    return f"{escape_markdown(span[:1].upper() + span[1:])}.{unit}{missing}{guessed}"


def _numeric(columns: Sequence[Column], roles: Roles) -> list[str]:
    return [c.name for c in columns if c.kind in ("number", "bool") or c.name in roles.conversions]


def _metrics(db: Database, table: TableInfo, roles: Roles, columns: Sequence[Column]) -> None:
    names = _numeric(columns, roles)
    for side, (direction, label) in zip(
        st.columns(2), {"max": "Metrics, larger is better", "min": "Metrics, smaller is better"}.items(), strict=True
    ):
        stored = [m.column for m in roles.metrics if m.direction == direction]
        other = [m for m in roles.metrics if m.direction != direction]
        key = f"metrics_{direction}_{table.id}"

        def save(key: str = key, direction: str = direction, other: list[Metric] = other) -> None:
            chosen = [Metric.model_validate({"column": c, "direction": direction}) for c in st.session_state[key]]
            _save(db, table, metrics=[*(m for m in other if m.column not in st.session_state[key]), *chosen])

        with side:
            _multiselect(table, key, label, Role.METRIC, stored, names, save)


def _multiselect(
    table: TableInfo,
    key: str,
    label: str,
    role: Role,
    stored: Sequence[str],
    names: list[str],
    save: Callable[[], None],
) -> None:
    st.session_state[key] = list(stored)
    st.multiselect(
        label,
        list(dict.fromkeys([*stored, *names[:MOST_OPTIONS]])),
        key=key,
        help=ROLE_HELP[role],
        placeholder="None",
        disabled=table.read_only,
        on_change=save,
    )


def _compute(db: Database, table: TableInfo, roles: Roles) -> None:
    place = st.container(horizontal=True, gap="large")
    rule_key, n_p_key, formula_key = (f"{k}_{table.id}" for k in ("rule", "n_p", "formula"))
    chosen = st.session_state.get(rule_key, roles.compute.rule)
    names = RULES if roles.compute.rule in RULES else {**RULES, roles.compute.rule: escape_markdown(roles.compute.text)}
    st.session_state[n_p_key] = float(roles.compute.n_p)

    def save() -> None:
        rule, formula = st.session_state[rule_key], st.session_state.get(formula_key, "")
        if rule not in RULES or (rule == "formula" and not formula.strip()):
            return
        n_p = st.session_state.get(n_p_key) or 1.0
        _save(db, table, compute={"rule": rule, "n_p": n_p, "formula": formula if rule == "formula" else ""})

    place.segmented_control(
        "Compute rule",
        list(names),
        default=roles.compute.rule,
        format_func=names.__getitem__,
        key=rule_key,
        required=True,
        help="Computes C from N and D if no column contains C. Plans use the same rule. "
        "6 N D counts forward and backward passes of a dense model; nₚ is the number of tokens in one sample.",
        disabled=table.read_only,
        on_change=save,
    )
    if chosen == "formula":
        place.text_input(
            "C [FLOPs] =",
            roles.compute.formula,
            key=formula_key,
            placeholder="6*N*D + 2*N*U",
            width=260,
            help="Formula of N, D, n_p and any other column. It must increase with D.",
            disabled=table.read_only,
            on_change=save,
        )
    elif chosen == "6npND":
        place.number_input(
            "nₚ [tokens per sample]",
            min_value=1e-6,
            key=n_p_key,
            format="%g",
            width=200,
            disabled=table.read_only,
            on_change=save,
        )
    _repeats(db, table, roles, place)


def _repeats(db: Database, table: TableInfo, roles: Roles, place: DeltaGenerator) -> None:
    key = f"repeats_{table.id}"
    st.session_state[key] = roles.repeats
    place.segmented_control(
        "Repeats of a run",
        ["all", "mean", "once"],
        format_func={"all": "Every row counts", "mean": "Mean of repeats", "once": "Copies once"}.__getitem__,
        key=key,
        required=True,
        help="Repeats are rows that differ only in the seed. Copies are identical rows.",
        disabled=table.read_only,
        on_change=lambda: _save(db, table, repeats=st.session_state[key]),
    )
