"""Log rows of training scripts into a run table of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError


def log(run: str, *, table: str = "runs", workspace: str | PathLike[str] | None = None, **values: Any) -> None:
    """Store values of the run called ``run`` in a run table of a workspace: settings, sizes, losses.

    The first call creates the table. A later call with the same ``run`` updates the row of this run: its values replace
    earlier values, and values that it does not name stay. None, NaN and infinity remove an earlier value. Nested
    dictionaries become columns such as ``optimizer.lr``. Any number of processes may log at the same time, and the app
    may be open: it shows the row within a second. If the app is closed, the row appears when the workspace is opened
    next. ``workspace`` is the folder of the workspace, by default the folder of the app.

    Raises PlannerError for an invalid name or value, or if the workspace cannot be written.
    """
    from isoplan.engine.store.folders import default_folder
    from isoplan.engine.trackers.logged_row import check_table, flat_row
    from isoplan.trainers import logged_rows
    from isoplan.trainers.backend.store.files import writing

    if not str(run).strip():
        raise PlannerError("Run: the name is empty. Use at least one character.")
    try:
        row = flat_row({"run": str(run), **{name: _plain(value) for name, value in values.items()}})
    except PlannerError as error:
        raise PlannerError(f"Run {str(run)[:60]!r}: {error}") from None
    root = Path(workspace) if workspace is not None else default_folder()
    with writing(root):
        logged_rows.write(root.expanduser(), check_table(table), [row])


def _plain(value: Any) -> Any:
    """Return a number of NumPy or PyTorch as a number of Python; the items of a dictionary are converted too."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    one = getattr(value, "item", None)
    if callable(one) and getattr(value, "shape", None) == ():
        return one()
    return value
