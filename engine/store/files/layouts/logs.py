"""Logs of a single run, as written by trackers. They are rejected, because one run does not determine a law."""

from __future__ import annotations

from isoplan.engine.schema import Role
from isoplan.engine.store.columns.guess import RUN_IDS
from isoplan.engine.store.columns.names import LOSSES, plain, untracked, words
from isoplan.engine.store.files.layouts.grid import Grid, Layout, refuse, roles_of

_FOLDER = "Read the folder of all runs with `isoplan import FOLDER`."


def read_log(grid: Grid) -> None:
    """Raise PlannerError if the table is the log of a single run: TensorBoard, Hugging Face or Lightning."""
    names = {plain(name) for name in grid.header}
    if names == {"wall_time", "step", "value"}:
        raise refuse(grid, "a file that TensorBoard exports for one metric of one run", _FOLDER)
    if {"log_history", "global_step"} <= names:
        raise refuse(grid, "trainer_state.json of Hugging Face, the log of one run", _FOLDER)
    if not {"epoch", "step"} <= names:
        return
    runs = {plain(untracked(name)) for name in grid.header} & {*RUN_IDS, "name", "model"}
    losses = [i for i, name in enumerate(grid.header) if words(name) & LOSSES]
    sparse = any(row[i] == "" for row in grid.body for i in losses)
    if losses and sparse and not runs and not {Role.N, Role.D} & roles_of(grid.header).keys():
        raise refuse(grid, "metrics.csv of Lightning, the log of one run", _FOLDER)


LOGS = Layout("the log of one run", read_log)
