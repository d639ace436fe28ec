"""Jets: training of the jet paper's set Transformer, on JetClass files or on jets that Isoplan simulates."""

from __future__ import annotations

from isoplan.trainers.jets.family import families

__all__ = ["families"]
