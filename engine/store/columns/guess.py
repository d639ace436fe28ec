"""Suggest the roles of columns from their names and values. This module does not read the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from isoplan.engine.schema import NUMERIC_ROLES, SINGLE_ROLES, Direction, Metric, Role, Roles
from isoplan.engine.store.columns.column import (
    FUNCTIONS,
    LOGARITHM,
    OPEN,
    Column,
    Conversion,
    read_conversion,
    text_kind,
)
from isoplan.engine.store.columns.names import (
    LARGER,
    NAMES,
    SMALLER,
    counts_data_set,
    held_out,
    name_rule,
    name_score,
    plain,
    untracked,
    variants,
    words,
)
from isoplan.engine.store.columns.unit_names import NamedUnit, is_percent, named_unit, suspected

Guess = Callable[..., Roles]
"""Type of the functions ``guess_roles`` and ``guess_curve_roles``."""

RUN_IDS = ("run", "run_name", "run_id", "run_uuid", "trial_id", "trial_number", "trial", "wandb_id")
"""Names of columns that identify runs."""
STEPS = ("step", "global_step", "update", "updates", "n_updates", "iteration", "iterations", "iter", "steps")
_PASSES = ("epochs", "n_epochs", "num_epochs", "num_train_epochs", "max_epochs", "passes")
COUNTED = tuple(f"{prefix}{word}" for word in ("samples", "tokens", "examples") for prefix in ("", "n_", "num_"))
"""Names of columns that count either the samples of the dataset or the samples that a run sees. These two numbers
differ if runs make several epochs.
"""
NOT_QUALITY = frozenset(
    {"std", "se", "sem", "sd", "sigma", "init", "initial", "weight", "scale", "min", "bar", "lo", "hi", "coef"}
)
"""Words that show that a column is not a metric."""
_LOGARITHMS = (*FUNCTIONS, LOGARITHM)
SETTING_WORDS = {
    "lr",
    "bsz",
    "batch",
    "width",
    "depth",
    "layers",
    "layer",
    "heads",
    "dropout",
    "warmup",
    "momentum",
    "step",
}
SETTING_WORDS |= {
    "steps",
    "hidden",
    "decay",
    "temperature",
    "vocab",
    "negatives",
    "dim",
    "ffn",
    "context",
    "iterations",
}
SETTING_WORDS |= {"iteration", "iter", "update", "updates"}
"""Words in the names of hyperparameters."""
SETTING_NAMES = {"learning_rate", "d_model", "n_embd", "seq_len", "sequence_length", "embedding_size", "vocab_size"}
"""Names of hyperparameters that contain no word of ``SETTING_WORDS``."""
_WHAT: dict[Role, str] = {
    Role.N: "the number of parameters",
    Role.D: "the samples seen",
    Role.U: "unique samples",
    Role.C: "compute",
    Role.LOSS: "a loss",
    Role.EPOCHS: "epochs",
    Role.BUDGET: "a compute budget",
    Role.GROUP: "a group",
    Role.SEED: "a seed",
    Role.RUN: "the name of a run",
    Role.STATUS: "how a run ended",
    Role.WEIGHT: "a weight",
}


def with_guesses(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns with ``guess``, ``why`` and ``conversion`` set.

    A role that only one column can have, such as N, is suggested for only one column.
    """
    units = {c.name: unit for c in columns if (unit := named_unit(c)) is not None}
    taken = _single_roles(columns, units)
    by_role = {role: c for c in columns if (role := taken.get(c.name)) is not None}
    doubtful = {by_role[role].name: how for role, how in suspected(by_role).items()}
    doubt = doubtful_samples(columns)
    found = []
    for column in columns:
        role = taken.get(column.name)
        unit = units.get(column.name)
        how = unit.how if unit is not None and role in unit.roles else doubtful.get(column.name, "")
        how = how or ("percent" if role is None and is_percent(column) else "")
        column = replace(column, conversion=proposed(column, how, role))
        guess, why = _describe(column, role, unit)
        if role is None and doubt is not None and column.name == doubt[1].name:
            why = "It may count the samples that a run sees (D) or the samples of its dataset (U): choose one."
        found.append(replace(column, guess=guess, why=why))
    return tuple(found)


def proposed(column: Column, how: str, role: Role | None) -> Conversion | None:
    """Return the conversion to propose for ``column``: a number format for its text, the unit ``how``, or both.

    Returns None if the column needs no conversion.
    """
    of_text = column.conversion if column.kind == "text" else None
    if not how or column.kind not in ("number", "text") or (column.kind == "text" and of_text is None):
        return of_text
    about = f"as {OPEN[how][0]}" if how in OPEN else read_conversion(how, column.name).about
    if of_text is None:
        return Conversion(how, 0, 0, about=about, needed=role is not None and how != "bits")
    kind = text_kind(of_text.kind)
    return of_text if kind == "suffix" or kind is None else replace(of_text, kind=f"{kind}+{how}", about=about)


def guess_roles(columns: Sequence[Column], agreed: Mapping[str, str] | Iterable[str] = ()) -> Roles:
    """Return the mapping that the names and values of the columns suggest.

    A column of text, or a column with a unit, gets a numeric role only if the user accepted its conversion. ``agreed``
    lists the columns with an accepted conversion, or maps them to the conversion (an empty text means the proposed
    one).
    """
    columns = with_guesses(columns)
    conversions = agreed_conversions(columns, agreed)
    singles: dict[str, str] = {}
    metrics: list[Metric] = []
    hyper: list[str] = []
    for column in columns:
        usable = column.kind in ("number", "bool") or column.name in conversions
        waits = column.conversion is not None and column.conversion.needed and column.name not in conversions
        # A loss that needs a conversion is a metric until the user accepts the conversion.
        if column.guess is Role.LOSS and waits and column.kind == "number":
            metrics.append(Metric(column=column.name, direction=better(column.name)))
            continue
        if column.guess in NUMERIC_ROLES and (not usable or waits):
            continue
        if column.guess in SINGLE_ROLES:
            singles[column.guess.value] = column.name
        elif column.guess is Role.METRIC and usable:
            metrics.append(Metric(column=column.name, direction=better(column.name)))
        elif column.guess is Role.HYPER and usable:
            hyper.append(column.name)
    used = {*singles.values(), *(m.column for m in metrics), *hyper}
    kept = {name: kind for name, kind in conversions.items() if name in used}
    return Roles.model_validate({**singles, "metrics": metrics, "hyper": hyper, "conversions": kept})


def agreed_conversions(columns: Sequence[Column], agreed: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Return column -> conversion for the columns in ``agreed``.

    If ``agreed`` contains no conversion for a column, its proposed conversion is used. A column without a proposed
    conversion is left out.
    """
    asked = dict(agreed) if isinstance(agreed, Mapping) else dict.fromkeys(agreed, "")
    units = {c.name: unit.how for c in columns if c.kind == "number" and (unit := named_unit(c)) is not None}
    proposals = units | {c.name: c.conversion.kind for c in columns if c.conversion}
    return {name: how or proposals[name] for name, how in asked.items() if how or name in proposals}


def guess_curve_roles(columns: Sequence[Column], agreed: Mapping[str, str] | Iterable[str] = ()) -> Roles:
    """Return the mapping that the names and values suggest for a table of training curves.

    The result is the mapping of ``guess_roles`` with a column of training steps added.
    """
    roles = guess_roles(columns, agreed)
    named = {c.name: plain(c.name) for c in columns if c.kind == "number"}
    found = [name for wanted in STEPS for name, text in named.items() if text == plain(wanted)]
    if not found:
        return roles
    return roles.model_copy(update={"step": found[0], "hyper": tuple(h for h in roles.hyper if h != found[0])})


def doubtful_samples(columns: Sequence[Column]) -> tuple[Column, Column] | None:
    """Return the columns of epochs and of samples if it is unclear what the column of samples counts; otherwise None.

    A column of samples with different values is unclear: it may count the samples that each run sees, or the samples of
    the dataset. A constant column counts the samples of the dataset.
    """
    sized = any(counts_data_set(c.name) or _score(c, Role.U) > 0 for c in columns)
    epochs, varying = _epochs(columns, _PASSES), [c for c in _counted(columns) if c.minimum != c.maximum]
    return (epochs, varying[0]) if epochs is not None and varying and not sized else None


def _counted(columns: Sequence[Column]) -> list[Column]:
    """Return the columns whose name denotes a number of samples, either of a run or of a dataset."""
    return [c for c in columns if c.kind == "number" and plain(untracked(c.name)) in COUNTED]


def _epochs(columns: Sequence[Column], names: Sequence[str]) -> Column | None:
    """Return the first column with a name in ``names`` that counts passes over the dataset.

    Returns None if there is no such column, or if no run makes more than one pass.
    """
    return next((c for c in columns if plain(untracked(c.name)) in names and (c.maximum or 0) > 1), None)


def quoted(name: str) -> str:
    """Return a column name as it is written in a formula: in double quotes unless it is a plain identifier."""
    bare = name.replace("_", "a").isalnum() and name.isascii() and not name[0].isdigit()
    return name if bare else f'"{name}"'


def known_direction(name: str) -> Direction | None:
    """Return the better direction that the name of a metric implies; None if the name implies none."""
    tokens = words(name)
    return "min" if tokens & SMALLER else "max" if tokens & LARGER else None


def better(name: str) -> Direction:
    """Return the better direction that the name of a metric implies; "max" if the name implies none."""
    return known_direction(name) or "max"


def _single_roles(columns: Sequence[Column], units: Mapping[str, NamedUnit]) -> dict[str, Role]:
    """Return column name -> role, for the roles that only one column can have.

    The pair of column and role with the highest score is assigned first. For equal scores, the column that is first in
    the file is assigned first.
    """
    scores = ((_score(c, role, units.get(c.name)), i, role) for i, c in enumerate(columns) for role in NAMES)
    sizes = dict.fromkeys(_data_sets(columns), 90.0)
    if doubtful_samples(columns) is not None:
        sizes = {c.name: 0.0 for c in _counted(columns)}
    copied = _copies_of_loss(columns)
    scores = ((0.0 if role is Role.LOSS and columns[i].name in copied else score, i, role) for score, i, role in scores)
    scores = (
        (sizes[columns[i].name] if role is Role.U else 0.0, i, role)
        if role in (Role.D, Role.U) and columns[i].name in sizes
        else (score, i, role)
        for score, i, role in scores
    )
    wishes = [(-score, i, role) for score, i, role in scores if score > 0]
    taken: dict[str, Role] = {}
    for _, i, role in sorted(wishes):
        if columns[i].name not in taken and role not in taken.values():
            taken[columns[i].name] = role
    return taken


def _copies_of_loss(columns: Sequence[Column]) -> set[str]:
    """Return the names of held-out losses that have the same cells as a column named ``loss``.

    The column ``loss`` is used instead of such a copy.
    """
    losses = [c for c in columns if plain(untracked(c.name)) == "loss"]
    return {c.name for c in columns if held_out(c.name) and any(same_cells(c, loss) for loss in losses)}


def same_cells(one: Column, other: Column) -> bool:
    """Return whether two numeric columns appear equal: same minimum, maximum and number of missing cells."""
    spans = [(c.minimum, c.maximum, c.missing) for c in (one, other)]
    return one.minimum is not None and spans[0] == spans[1]


def counted_epochs(columns: Sequence[Column]) -> Column | None:
    """Return the column that counts passes over a dataset.

    Returns None if there is no such column, or if no run makes more than one pass.
    """
    return _epochs(columns, (*_PASSES, "epoch"))


def _data_sets(columns: Sequence[Column]) -> set[str]:
    """Return the names of columns that count the samples of the dataset, not the samples that a run sees.

    The result is empty if no other column counts epochs.
    """
    named = {c.name for c in columns if counts_data_set(c.name)}
    if named and counted_epochs(columns) is not None:
        return named
    if _epochs(columns, _PASSES) is None:
        return set()
    return {c.name for c in _counted(columns) if c.minimum is not None and c.minimum == c.maximum}


def _score(column: Column, role: Role, unit: NamedUnit | None = None) -> float:
    """Return how well a column fits a role that only one column can have; 0 or less: the column does not fit.

    ``unit`` is the unit in the name of the column. The score is also computed for the name without the unit.
    """
    score = max(name_score(name, role) for name in variants(column.name))
    if unit is not None and role in unit.roles:
        score = max(score, _unit_score(unit, role))
    elif unit is not None and Role.C in unit.roles and Role.N not in unit.roles:
        score = 0
    if score == 0:
        return 0
    if role in (Role.GROUP, Role.RUN):
        return score + _label_bonus(column, role)
    return score + _number_bonus(column, role, unit)


def _unit_score(unit: NamedUnit, role: Role) -> float:
    """Return how well a column fits ``role`` if its name contains ``unit``.

    Perplexity and bits have a lower score than the usual names of a loss. A unit of compute in the name is sufficient
    for the role C.
    """
    if role is Role.LOSS:
        return 50.0
    score = name_score(untracked(unit.bare), role)
    return max(score, 40.0) if role is Role.C and unit.how not in _LOGARITHMS and not unit.how[0].isdigit() else score


def _number_bonus(column: Column, role: Role, unit: NamedUnit | None) -> float:
    """Return a bonus if the values of the column are plausible for ``role``.

    A bonus of -1000 excludes the column. This is the bonus if the column has the wrong type, or if the role is a size
    or a compute and no value exceeds 1.
    """
    if role is Role.STATUS:
        return 0 if column.kind == "text" else -1000
    if role is Role.SEED:
        return 0
    if column.kind == "text":
        return -5 if column.conversion else -1000
    if column.kind != "number":
        return -1000
    top = column.maximum if column.maximum is not None else 0.0
    if unit is not None and role in unit.roles:
        return 0
    if role in (Role.N, Role.D, Role.U, Role.C, Role.BUDGET) and top <= 1:
        return -1000
    return 2 if column.whole and role in (Role.N, Role.D, Role.U) else 0


def _label_bonus(column: Column, role: Role) -> float:
    if column.kind == "number" and role is Role.GROUP and column.distinct > 20:
        return -1000
    one = column.distinct <= 1
    if role is Role.RUN:
        return -1000 if one and plain(column.name) not in ("run", "run_name", "run_id") else 0
    return -40 if one else 0


def suggestion(column: Column, role: Role, unit: NamedUnit | None = None) -> str:
    """Return why the name of a column suggests a role that only one column can have, without a full stop.

    ``unit`` is the unit in the name of the column.
    """
    of_unit = name_rule(unit.bare, role) or "it states a unit" if unit is not None and role in unit.roles else ""
    return f"The name suggests {_WHAT[role]} ({of_unit or name_rule(column.name, role)})"


def _describe(column: Column, role: Role | None, unit: NamedUnit | None = None) -> tuple[Role, str]:
    if role is not None:
        wait = "" if column.kind != "text" or role not in NUMERIC_ROLES else "; convert its text to numbers to use it"
        if column.conversion is not None and column.conversion.about:
            wait = f" {column.conversion.about}; agree to the conversion to use it"
        return role, f"{suggestion(column, role, unit)}{wait}."
    if column.kind not in ("number", "bool"):
        return Role.UNUSED, "Text for which no role is suggested." if column.kind == "text" else "A date."
    tokens = words(column.name)
    named = tokens & (LARGER | SMALLER) or _is_rejection(column)
    if named and not tokens & NOT_QUALITY:
        side = "smaller" if better(column.name) == "min" else "larger"
        word = min(tokens & (SMALLER if side == "smaller" else LARGER), default="R_")
        return Role.METRIC, f"The name suggests a metric (it contains {word!r}); {side} is better."
    rival = next((role for role in NAMES if role not in (Role.GROUP, Role.RUN) and _score(column, role) > 0), None)
    if rival is not None:
        return Role.UNUSED, f"The name also suggests {_WHAT[rival]}, but another column fits {rival} better."
    if tokens & SETTING_WORDS or plain(column.name) in SETTING_NAMES:
        word = min(tokens & SETTING_WORDS, default=plain(column.name))
        return Role.HYPER, f"The name suggests a hyperparameter (it contains {word!r})."
    return Role.UNUSED, "Neither the name nor the values suggest a role."


def _is_rejection(column: Column) -> bool:
    """Return whether a column is a background rejection: it has a name such as R_top, and no value is below 1."""
    named = re.fullmatch(r"R_[A-Za-z]\w*", untracked(column.name)) is not None
    return named and column.kind == "number" and column.minimum is not None and column.minimum >= 1
