"""Training runs of recommenders: the two-part behavioural model on real or synthetic event logs."""

from __future__ import annotations

from isoplan.trainers.behavior.family import families

__all__ = ["families"]
