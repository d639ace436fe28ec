"""Metrics as a user types them: a column (``accuracy``), or a column and its better direction (``accuracy:max``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Curves, Metric, Runs

Measured = TypeVar("Measured", Runs, Curves)


def split_direction(text: str) -> tuple[str, str]:
    """Split ``accuracy:max`` into the column and the better direction; the direction is empty if the text has none."""
    column, colon, direction = text.rpartition(":")
    return (column, direction) if colon and direction in ("min", "max") else (text, "")


def with_metric(roles: dict[str, str], column: str) -> dict[str, str]:
    """Return the mapping role -> columns with ``column`` added to the metrics; unchanged if ``column`` is empty."""
    metrics = roles.get("metric", "")
    if not column or column in metrics.split("+"):
        return roles
    return {**roles, "metric": "+".join(filter(None, (metrics, column)))}


def with_direction(table: Measured, column: str, direction: str, option: str) -> Measured:
    """Return the runs or curves after setting the better direction of the metric ``column`` in their mapping.

    An empty ``direction`` leaves the mapping unchanged. It is allowed only if the name of the metric implies a
    direction. Otherwise PlannerError is raised, and its message names the terminal option ``option``.
    """
    from isoplan.engine.store.columns.guess import known_direction

    metrics = table.roles.metrics
    if not direction:
        if known_direction(column) is None and any(m.column == column for m in metrics):
            low, high = (f"{option}={f'{column}:{end}'!r}" for end in ("min", "max"))
            raise PlannerError(
                f"Option {option}: the better direction of {column!r} is not known. Write {low} or {high}."
            )
        return table
    made = Metric.model_validate({"column": column, "direction": direction})
    changed = tuple(made if m.column == column else m for m in metrics)
    return replace(table, roles=table.roles.model_copy(update={"metrics": changed}))
