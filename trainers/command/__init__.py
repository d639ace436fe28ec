"""Any program of the user's: it reads a cell as JSON, writes metrics as JSON lines, and knows nothing of Isoplan."""

from __future__ import annotations

from isoplan.trainers.command.programs import families

__all__ = ["families"]
