"""Programs of users. A program reads a cell as JSON, writes metrics as JSON lines, and needs no Isoplan code."""

from __future__ import annotations

from isoplan.trainers.command.programs import families

__all__ = ["families"]
