"""Jets: the set Transformer of the jet paper, on JetClass files or on jets simulated by Isoplan."""

from __future__ import annotations

from isoplan.trainers.jets.family import families

__all__ = ["families"]
