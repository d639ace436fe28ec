"""Roles for which a column has a matching name but is not read, and the reasons."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from isoplan.engine.schema import NUMERIC_ROLES, SINGLE_ROLES, Role, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.guess import doubtful_samples, quoted, with_guesses


def withheld(columns: Sequence[Column], roles: Roles) -> dict[str, str]:
    """Return the roles for which a column has a matching name but is not used: role -> reason.

    The reason is that the user has not confirmed the unit or the meaning of the column.
    """
    used = {roles.column(role) for role in SINGLE_ROLES} | {*roles.hyper}
    doubt = doubtful_samples(columns) if roles.D is None and "D" not in roles.derived else None
    two = {Role.D.value: _two_meanings(*doubt)} if doubt is not None and doubt[1].name not in used else {}
    return two | {
        c.guess.value: why_not(c, c.guess, roles)
        for c in with_guesses(columns)
        if c.guess in NUMERIC_ROLES
        and c.conversion
        and c.conversion.needed
        and c.name not in used
        and roles.column(c.guess) is None
        and c.guess.value not in roles.derived
    }


def why_not(column: Column, role: str, roles: Roles) -> str:
    """Return a phrase for a column that is read only with its proposed conversion: the reason, and what to do.

    ``role`` is the role of the column, and ``roles`` is the mapping of its table of runs.
    """
    way = column.way_to_numbers(role, roles)
    if column.words:
        return f"{column.describe_words(f' of column {column.name!r}')}; {way}"
    if column.conversion is None or column.conversion.about == "" or column.kind == "text":
        return f"column {column.name!r} holds text such as {column.cell}; {way}"
    return f"column {column.name!r} looks like {column.guess} {column.conversion.about}; {way}"


def _two_meanings(epochs: Column, samples: Column) -> str:
    derive = f"D = {quoted(epochs.name)} * {quoted(samples.name)}"
    return (
        f"column {samples.name!r} may count the samples that a run sees, or the samples of its dataset (column "
        f"{epochs.name!r} then counts the passes over them). In the first case map it to D on the Data page "
        f"(--map {shlex.quote(f'D={samples.name}')} in the terminal), in the second case compute {derive} "
        f"(--derive {shlex.quote(derive)})"
    )
