"""Formulas that compute a role from columns, such as D = steps * batch_size.

This module parses, checks, evaluates and proposes formulas. It does not read the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import Formula, cut, parse_formula, short
from isoplan.engine.schema import NUMERIC_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.guess import STEPS, doubtful_samples, quoted
from isoplan.engine.store.columns.named_formulas import expanded
from isoplan.engine.store.columns.names import ERRORS, SMALLER, counts_data_set, plain, untracked, words
from isoplan.engine.store.columns.unit_names import is_percent

TOTALS = ("steps", "n_steps", "num_steps", "train_steps", "training_steps", "max_steps", "total_steps", *STEPS)
BATCHES = ("batch_size", "batch", "bsz", "bs", "global_batch_size", "train_batch_size", "total_batch_size")
LENGTHS: tuple[str, ...] = (
    "seq_len",
    "sequence_length",
    "seq_length",
    "seqlen",
    "context_length",
    "ctx_len",
    "block_size",
)
LENGTHS += ("max_seq_len", "max_seq_length", "context", "n_ctx", "tokens_per_sample")
TOKENS = ("tokens_per_step", "tokens_per_batch", "batch_tokens", "batch_size_tokens", "tokens_per_update")
EPOCHS = ("epochs", "n_epochs", "num_epochs", "num_train_epochs", "max_epochs", "passes", "epoch")


def read_derived(options: Iterable[str]) -> dict[str, str]:
    """Parse texts such as ``D = steps * batch_size`` and return role -> formula.

    Raises PlannerError for a text of another form.
    """
    found: dict[str, str] = {}
    for option in options:
        role, equals, formula = (part.strip() for part in option.partition("="))
        if not equals or not role or not formula:
            raise PlannerError(
                f"--derive cannot read {short(option)}. Write ROLE = FORMULA, as in D = steps * batch_size."
            )
        if role in found:
            raise PlannerError(f"--derive gives {short(role)} twice. Keep one formula.")
        found[role] = formula
    return found


def check_derived(columns: Sequence[Column], roles: Roles) -> None:
    """Check the formulas of a mapping.

    Raises PlannerError if a role with a formula is not numeric or has a column as well, or if a formula cannot be
    parsed or evaluated.
    """
    known = {c.name: c for c in columns}
    for role, text in roles.derived.items():
        if role not in NUMERIC_ROLES:
            listed = ", ".join(r.value for r in NUMERIC_ROLES)
            raise PlannerError(
                f"{cut(role)}: a formula can give {listed} only. Put one of them on the left of the formula."
            )
        if (column := roles.column(Role(role))) is not None:
            raise PlannerError(f"{role}: both column {column!r} and a formula give this role. Keep one of them.")
        formula = read_formula(text)
        if not formula.names:
            raise PlannerError(f"{role}: the formula {short(text)} reads no column. Name a column in it.")
        for name in sorted(formula.names):
            if name not in known:
                listed = cut(", ".join(list(known)[:12]), 200)
                raise PlannerError(
                    f"{role}: the formula {short(text)} reads {short(name)}, which is no column of the table. "
                    f'The columns are {listed}; quote unusual names, as in "Batch Size".'
                )
            if known[name].kind not in ("number", "bool") and name not in roles.conversions:
                raise PlannerError(
                    f"{role}: column {short(name)} in the formula holds {known[name].kind}. Use numbers."
                )


def read_formula(text: str) -> Formula:
    """Parse a formula, which can be the call of a named formula."""
    return parse_formula(expanded(text))


def inputs(roles: Roles) -> tuple[str, ...]:
    """Return the names of the columns that occur in the formulas of a mapping."""
    return tuple(sorted({name for text in roles.derived.values() for name in read_formula(text).names}))


def compute(roles: Roles, columns: Mapping[str, ArrayLike], ids: Ints) -> dict[str, Floats]:
    """Compute the values (n,) of each role that has a formula.

    Raises PlannerError if a formula has no finite value in a row. The message names the row.
    """
    return {role: read_formula(text)(columns, ids) + 0.0 * ids for role, text in roles.derived.items()}


def proposals(columns: Sequence[Column], roles: Roles) -> dict[str, str]:
    """Return proposed formulas (role -> formula) for D (samples seen) and for the loss, if these roles are not mapped.

    D is epochs * (size of the dataset), steps * (batch size), or steps * (batch size) * (sequence length). The loss is
    an error rate, or one minus an accuracy. The formulas are only proposed, not applied.
    """
    found = {}
    if roles.D is None and "D" not in roles.derived and (formula := _samples(columns)):
        found["D"] = formula
    if roles.loss is None and "loss" not in roles.derived:
        rates = [c for c in columns if c.kind == "number" and "loss" not in words(c.name)]
        error = next((e for c in rates if (e := _error(c))), "")
        found |= {"loss": error} if error and not any(c.guess is Role.LOSS for c in columns) else {}
    return found


def _samples(columns: Sequence[Column]) -> str:
    numbers = {plain(untracked(c.name)): c.name for c in columns if c.kind == "number" and (c.maximum or 0) > 0}

    def column(names: Sequence[str]) -> str:
        return next((quoted(numbers[name]) for name in names if name in numbers), "")

    epochs, steps = column(EPOCHS), column(TOTALS)
    size = next((quoted(name) for name in numbers.values() if counts_data_set(name)), "")
    unique = next((quoted(c.name) for c in columns if c.guess is Role.U), "")
    if epochs and (size or unique):
        return f"{epochs} * {size or unique}"
    if (doubt := doubtful_samples(columns)) is not None:
        return f"{epochs} * {quoted(doubt[1].name)}"
    if steps and (tokens := column(TOKENS)):
        return f"{steps} * {tokens}"
    batch, length = column(BATCHES), column(LENGTHS)
    return " * ".join([steps, batch, *([length] if length else [])]) if steps and batch else ""


def _error(column: Column) -> str:
    """Return a formula that computes the loss from ``column``: an error rate, or one minus an accuracy.

    The formula is empty if the column is neither an error rate nor an accuracy.
    """
    own, share = words(column.name), quoted(column.name) + (" / 100" if is_percent(column) else "")
    if column.minimum is None or column.maximum is None or column.minimum < 0:
        return ""
    if own & ERRORS and column.guess is Role.METRIC and not own & (SMALLER - ERRORS):
        return share
    is_share = column.maximum <= (100 if is_percent(column) else 1)
    return f"1 - {share}" if is_share and own & {"accuracy", "acc", "top1", "top"} and not own & SMALLER else ""
