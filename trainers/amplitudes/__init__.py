"""Amplitude surrogates: squared matrix elements at tree level, phase-space sampling, and networks that learn them."""

from __future__ import annotations

from isoplan.trainers.amplitudes.family import families

__all__ = ["families"]
