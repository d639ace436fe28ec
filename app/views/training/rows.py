"""Cells as a table of the page: one row a cell, its columns of one type each, without a widget in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from isoplan.app.commands.shared.following import simulating
from isoplan.app.views.training.lines import last_said, varied
from isoplan.app.views.training.standing import STATES
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.pace import simulation
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family

OURS = ("State", "Done", "Step", "Loss", "Seconds", "Attempts", "Cell", "Why")


def frame(
    queue: Queue,
    family: Family[Any],
    records: Sequence[Record],
    state: Callable[[Record], str] = lambda record: record.state,
    now: datetime | None = None,
) -> pd.DataFrame:
    """The cells in the order that is given; the fields in which they differ stand after the state.

    ``Done`` is how much of the steps, in per cent, ``Seconds`` those of all attempts so far, and ``Loss`` the last that
    a cell said.
    """
    at = now or datetime.now(UTC)
    table = pd.DataFrame(
        [_row(queue, record, family.loss, state(record), at) for record in records], columns=list(OURS)
    )
    for place, field in enumerate(varied(family, records), start=1):
        named = field if field not in OURS else f"{field} "
        table.insert(place, named, [record.cell.get(field) for record in records])
    return table


def _row(queue: Queue, record: Record, loss: str, state: str, now: datetime) -> tuple[object, ...]:
    if record.state == "done" and record.result is not None:
        steps = record.result.get("steps")
        step, share = "" if steps is None else f"{steps:,}", 100.0
        value = record.result.get("metrics", {}).get(loss)
    else:
        said = last_said(queue.folder(record.name), record)
        total = said.total if said else None
        step = "" if said is None else f"{said.step:,} of {total:,}" if total else f"{said.step:,}"
        share = 100 * said.step / total if said and total else 0.0
        value = said.values.get(loss) if said else None
        if simulated := simulation(said):
            step = simulating(*simulated, record.family)
    taken = seconds(record, now)
    return STATES.get(state, state), share, step, value, taken or None, record.number, record.name[:8], why(record)


def seconds(record: Record, now: datetime) -> float:
    """Seconds of all attempts of a cell. The attempt under way counts from its lease, once a worker has begun it."""
    ended = sum(float(result.get("seconds", 0.0)) for result in record.results.values())
    given = record.lease.get("given")
    if record.number and record.begun and record.result is None and given:
        return ended + max((now - datetime.fromisoformat(str(given))).total_seconds(), 0.0)
    return ended


def why(record: Record) -> str:
    """Why a cell failed, or why its process died before this attempt."""
    latest = record.results.get(record.number) or record.results.get(record.number - 1) or {}
    told = record.state == "failed" or (record.state in ("queued", "running") and latest.get("state") == "died")
    return str(latest.get("why", "")) if told else ""
