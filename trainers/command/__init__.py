"""Programs of users that train cells (a cell is one training run).

A program reads the fields of a cell as JSON and writes metrics as JSON lines. It does not need to import Isoplan.
"""

from __future__ import annotations

from isoplan.trainers.command.programs import families

__all__ = ["families"]
