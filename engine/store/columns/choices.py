"""Notes on other columns for a mapped role, such as a training loss next to a held-out loss. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from isoplan.engine.schema import Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.guess import counted_epochs, quoted, same_cells
from isoplan.engine.store.columns.names import words
from isoplan.engine.store.columns.role_names import counts_data_set, held_out, name_score, of_training

_ACTIVE = {"active", "activated", "nonembedding"}
_EMBEDDING = {"embedding", "embeddings", "embed", "emb"}


def choice_notes(columns: Sequence[Column], roles: Roles) -> list[str]:
    """Return one note for each column of ``columns`` that fits a mapped role with another meaning."""
    numbers = [c for c in columns if c.kind == "number" or c.name in roles.conversions]
    return [*_losses(numbers, roles), *_parameters(numbers, roles), *_samples(numbers, roles)]


def _losses(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    if roles.loss is None or not held_out(roles.loss):
        return
    for name in [c.name for c in columns if of_training(c.name)][:1]:
        yield (
            f"Column {roles.loss!r} is read as the loss; column {name!r} is assumed to be the training loss. "
            f"To use {name!r} instead, {_map('loss', name)}."
        )


def _parameters(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    own = next((c for c in columns if c.name == roles.N), None)
    if own is None or _counts_part(own.name):
        return
    for c in columns:
        if _counts_part(c.name) and not same_cells(c, own):
            yield f"Column {own.name!r} is read as N. To use {c.name!r} instead, {_map('N', c.name)}."


def _counts_part(name: str) -> bool:
    """Return whether a name denotes the active or the non-embedding parameters."""
    own = words(name)
    partial = bool(own & _ACTIVE) or ("non" in own and bool(own & _EMBEDDING))
    return partial and name_score(name, Role.N) > 0


def _samples(columns: Sequence[Column], roles: Roles) -> Iterator[str]:
    epochs = counted_epochs(columns)
    if roles.D is None or epochs is None or epochs.minimum == epochs.maximum or not counts_data_set(roles.D):
        return
    derive = f"D = {quoted(epochs.name)} * {quoted(roles.D)}"
    yield (
        f"D (column {roles.D!r}): the name denotes the size of a dataset, and column {epochs.name!r} counts epochs. "
        f"To use the samples seen in training, compute {derive} on the Data page "
        f"(--derive {shlex.quote(derive)} in the terminal)."
    )


def _map(role: str, name: str) -> str:
    return f"map it to {role} on the Data page (--map {shlex.quote(f'{role}={name}')} in the terminal)"
