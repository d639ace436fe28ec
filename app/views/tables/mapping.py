"""The mapping editor: the column of each role, metrics, conversions to confirm, compute rule, repeats.

Every change is saved at once, and the widgets show the saved values. If a change is refused, the reason is shown and
the widget returns to the saved value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.views.tables import readings
from isoplan.app.views.widgets.parts import escape_markdown, number, plural, refuse
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import count
from isoplan.engine.schema import NUMERIC_ROLES, ROLE_HELP, Metric, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.mapping import choice_notes
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import tables
from isoplan.engine.store.tables.tables import TableInfo

LABELS = {
    Role.N: "N: parameters",
    Role.D: "D: samples seen",
    Role.C: "C: compute [FLOPs]",
    Role.LOSS: "L: loss",
    Role.U: "U: unique samples",
    Role.EPOCHS: "Epochs: D / U",
    Role.BUDGET: "Budget [FLOPs]",
    Role.GROUP: "Group",
    Role.SEED: "Seed",
    Role.RUN: "Name of the run",
    Role.STATUS: "Status",
    Role.STEP: "Training steps",
    Role.WEIGHT: "Weight in the fit",
}
LISTS = {"metrics": "metrics", "hyper": "hyperparameters"}
"""Names, in messages, of the roles that can have several columns."""


def with_swaps(roles: Roles, changes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Resolve conflicts: return ``changes`` in which no column has two roles, and a message per column that moved.

    A column that gets a new role leaves its previous role. The previous role receives the column that the new role had
    before, if both roles take the same kind of column; otherwise it is left without a column.
    """
    made, lines = dict(changes), list[str]()
    for name in [role.value for role in LABELS if role.value in changes]:
        column, before = changes[name], getattr(roles, name)
        if column is not None and column != before:
            lines += _leave(roles, made, name, column, before)
    for name in LISTS:
        for column in _columns(changes.get(name, ())):
            if column not in _columns(getattr(roles, name)):
                lines += _leave(roles, made, name, column, None)
    return made, tuple(lines)


def _leave(roles: Roles, made: dict[str, Any], name: str, column: str, before: str | None) -> list[str]:
    """Remove ``column`` from every role but ``name``, and give ``before`` to the role that it leaves.

    ``made`` contains the changes and is updated. ``before`` is the former column of ``name``. Returns the messages.
    """
    lines = []
    for role in LABELS:
        if role.value not in (name, *made) and roles.column(role) == column:
            number_or_text = (role in NUMERIC_ROLES) == (name in NUMERIC_ROLES)
            made[role.value] = before if number_or_text else None
            lines.append(_line(column, LABELS[role], name, made[role.value]))
    for list_name, label in LISTS.items():
        held = made.get(list_name, getattr(roles, list_name))
        if list_name == name or column not in _columns(held):
            continue
        swapped = before if list_name == "hyper" or name == "loss" else None
        rest = [entry for entry in held if _column(entry) != column]
        if swapped is not None and list_name == "metrics":
            rest.append(Metric(column=swapped, direction="min"))
        elif swapped is not None:
            rest.append(swapped)
        made[list_name] = rest
        lines.append(_line(column, f"the {label}", name, swapped))
    return lines


def _line(column: str, left: str, name: str, swapped: str | None) -> str:
    """Return ``loss_ptb moved from the metrics to L: loss. The metrics now have val_loss.``

    ``left`` is the previous role, ``name`` the new role, and ``swapped`` the column that the previous role receives.
    """
    to = next((text for role, text in LABELS.items() if role.value == name), f"the {LISTS.get(name, name)}")
    has = "have" if left.startswith("the ") else "has"
    rest = f"{left[0].upper()}{left[1:]} now {has} {swapped}." if swapped else ""
    none = "" if swapped or has == "have" else f"{left} has no column now."
    return f"{column} moved from {left} to {to}. {rest}{none}".strip()


def _columns(entries: Sequence[Any]) -> list[str]:
    return [_column(entry) for entry in entries]


def _column(entry: Any) -> str:
    """Return the name of the column in ``entry``.

    An entry is a Metric, a mapping with the key "column", or the name itself.
    """
    if isinstance(entry, Metric):
        return entry.column
    return str(entry["column"]) if isinstance(entry, Mapping) else str(entry)


AXES = (Role.N, Role.D, Role.C, Role.LOSS)
MORE = (Role.U, Role.EPOCHS, Role.STEP, Role.BUDGET, Role.GROUP, Role.SEED, Role.RUN, Role.STATUS, Role.WEIGHT)
COUNTS = (Role.N, Role.D, Role.U)
MOST_OPTIONS = 500
RULES = {"6ND": "6 N D", "6npND": "6 nₚ N D", "formula": "Formula"}


def edit_mapping(db: Database, table: TableInfo, columns: Sequence[Column]) -> None:
    """Show the widgets that edit the mapping of ``table``. They are disabled for a bundled table."""
    roles = tables.roles(db, table.id)
    if error := st.session_state.pop(f"mapping_error_{table.id}", None):
        refuse(error)
    for line in st.session_state.pop(f"mapping_moves_{table.id}", ()):
        st.info(escape_markdown(line), icon=":material/swap_horiz:")
    readings.ask(db, table, roles, columns, lambda **changes: _save(db, table, **changes))
    grid = st.grid(4, min_column_width=200)
    for role in AXES:
        with grid.cell():
            _role(db, table, roles, columns, role)
    for note in choice_notes(columns, roles):
        st.caption(escape_markdown(note))
    _metrics(db, table, roles, columns)
    _compute(db, table, roles)
    more = st.expander(
        "More roles: unique samples, epochs, training steps, budget, group, seed, name, status, weight, "
        "hyperparameters",
        key=f"more_{table.id}",
        on_change="rerun",
    )
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
    """Save the mapping with ``changes``. The next run of the page shows why it was refused, or which columns moved."""
    try:
        roles = tables.roles(db, table.id)
        changes, moves = with_swaps(roles, changes)
        if "group" in changes and changes["group"] is None:
            changes["each"] = False
        tables.set_roles(db, table.id, Roles.model_validate({**roles.model_dump(), **changes}))
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
    """Return the changes of the mapping that give ``role`` the column ``name``.

    If ``name`` is a column, the changes also remove the formula of the role.
    """
    left = {k: v for k, v in roles.derived.items() if k != role.value or name is None}
    return {role.value: name, "derived": left}


def _about(role: Role, name: str | None, columns: Sequence[Column], roles: Roles, fixed: bool) -> str:
    """Return the caption below the selection of a role: the range of its column and whether the column was guessed.

    Without a column, the caption states how the role is computed, or that it is not mapped.
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
    missing = f" {plural(column.missing, 'cell')} missing." if column.missing else ""
    if column.minimum is None or column.maximum is None:
        return f"For example {', '.join(column.examples[:2])}.{missing}{guessed}"
    show = count if role in COUNTS else number
    low, high = (readings.converted(roles, column, x) for x in (column.minimum, column.maximum))
    unit = " Converted." if column.name in roles.conversions and column.kind == "number" else ""
    return f"{show(low)} to {show(high)}.{unit}{missing}{guessed}"


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
