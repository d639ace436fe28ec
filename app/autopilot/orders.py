"""Orders of users for an autopilot: run, pause or stop, and its limits. They can change while it works."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from isoplan.trainers.backend.queue.sweep import Cap

Wanted = Literal["run", "pause", "stop"]
"""What the autopilot should do. pause: no new round begins. stop: the open cells are cancelled too."""


class Orders(BaseModel):
    """Orders for an autopilot.

    ``max_cells`` is the maximum number of cells per round, and ``cap`` limits the device time of all cells together.
    Running cells that would move the answer by less than ``stop_early`` half widths of its interval are stopped; 0
    means that no cell is stopped. If an error has paused the autopilot, ``why`` is its sentence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    wanted: Wanted = "run"
    max_cells: int = 4
    cap: Cap = Cap()
    stop_early: float = 0.0
    why: str = ""
