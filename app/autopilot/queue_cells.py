"""The cells of a grid in the queue of a workspace. The database is not opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isoplan.app.autopilot.specification import Seen
from isoplan.app.cell_service import as_row
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import device_seconds


def look_at_cells(root: Path, names: Sequence[str]) -> Seen:
    """Return the losses, the failures and the device time of the cells ``names`` in the workspace ``root``.

    Cells that were stopped early count as failed: they have ended without a loss. A cell that a user cancelled has not
    ended.
    """
    records = Queue(root).scan()
    losses, failed, hours = dict[str, float](), set[str](), dict[str, float]()
    for name in names:
        if (record := records.get(name)) is None:
            continue
        hours[name] = device_seconds(record) / 3600
        row = as_row(record) if record.state == "done" else None
        if row is not None and row.usable:
            losses[name] = row.metrics[row.loss]
        elif record.state in ("done", "failed") or (record.state == "cancelled" and record.order.why):
            failed.add(name)
    return Seen(losses, frozenset(failed), hours)
