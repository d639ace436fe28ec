"""Metrics as typed, ``accuracy`` or ``accuracy:max``: the column, and which of its values are better."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Curves, Metric, Runs

Measured = TypeVar("Measured", Runs, Curves)


def split_direction(text: str) -> tuple[str, str]:
    """Return column and better direction of ``accuracy:max``; the direction is empty if it is not given."""
    column, colon, direction = text.rpartition(":")
    return (column, direction) if colon and direction in ("min", "max") else (text, "")


def with_metric(roles: dict[str, str], column: str) -> dict[str, str]:
    """Return columns by role with ``column`` among the metrics; unchanged if it is empty."""
    metrics = roles.get("metric", "")
    if not column or column in metrics.split("+"):
        return roles
    return {**roles, "metric": "+".join(filter(None, (metrics, column)))}


def with_direction(table: Measured, column: str, direction: str, option: str) -> Measured:
    """Return runs or curves with the better direction of a metric set.

    Raises PlannerError, which names ``option``, if neither ``direction`` nor the name of the column determines it.
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
