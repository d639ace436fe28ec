"""A run context without observers, which stops the training at a step that a test chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from isoplan.trainers.cell import Stopped


@dataclass
class Silent:
    """A run context that records its reports and raises Stopped at step ``end``.

    A checkpoint is due before step ``saved``, or before step ``end`` if ``saved`` is negative.
    """

    folder: Path
    end: int = -1
    saved: int = -1
    resume: Path | None = None
    number: int = 1
    device: str = "cpu"
    said: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    totals: list[int | None] = field(default_factory=list)
    stopping: bool = False
    at: int = 0

    def step(self, step: int, total: int | None = None, /, **values: float) -> None:
        self.said.append((step, values))
        self.totals.append(total)
        self.at = step
        if self.stopping or step == self.end:
            raise Stopped

    @property
    def checkpoint_due(self) -> bool:
        return self.at == (self.saved if self.saved >= 0 else self.end) - 1

    def save(self, write: Callable[[Path], None]) -> None:
        write(self.folder / "checkpoint")
