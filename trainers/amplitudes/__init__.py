"""Amplitude surrogates: squared matrix elements at tree level, where they are taken, and what learns them."""

from __future__ import annotations

from isoplan.trainers.amplitudes.family import families

__all__ = ["families"]
