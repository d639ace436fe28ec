"""Recommender cells: the two-stage behavioural model on event logs, real or made here."""

from __future__ import annotations

from isoplan.trainers.behavior.family import families

__all__ = ["families"]
