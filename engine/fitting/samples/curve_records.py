"""Points of training curves in order of compute, and the lower envelope (points with a new lowest loss)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Bools, Floats, Ints
from isoplan.engine.fitting.samples.sample import Sample

FEWEST = 3
"""Minimum number of points that must remain when the first and last model size of an envelope are removed."""


@dataclass(frozen=True, eq=False)
class Records:
    """The lower envelopes of the loss in r resamples, at the b distinct values of compute ``C`` (b,).

    N, D, y and ``at`` (the index of the point) have the shape (r, b). ``all`` (r, b) marks the points of an envelope.
    ``on`` (r, b) marks the points to which power laws are fitted. ``trimmed`` (r,) marks the envelopes from which the
    first and the last model size were removed for these fits.
    """

    C: Floats
    N: Floats
    D: Floats
    y: Floats
    at: Ints
    all: Bools
    on: Bools
    trimmed: Bools

    def at_compute(self, kept: Bools) -> Records:
        """Return the envelopes at the values of compute selected by the mask ``kept`` (b,)."""
        return self._mapped(lambda x: x[:, kept] if x.ndim == 2 else x, self.C[kept])

    def take(self, rows: slice) -> Records:
        """Return the envelopes of the resamples ``rows``."""
        return self._mapped(lambda x: x[rows], self.C)

    def _mapped(self, change: Callable[[NDArray[Any]], NDArray[Any]], C: Floats) -> Records:
        return Records(C, *(change(getattr(self, name)) for name in NAMES))


NAMES = ("N", "D", "y", "at", "all", "on", "trimmed")


def stacked(parts: Sequence[Records]) -> Records:
    """Return one object with the envelopes of all ``parts``, in order."""
    return Records(parts[0].C, *(np.concatenate([getattr(part, name) for part in parts]) for name in NAMES))


@dataclass(frozen=True, eq=False)
class Points:
    """The points (n,) of a sample, in order of compute.

    ``order`` is the position of each point in the sample, and ``curve`` the number of its training curve. ``whole`` is
    True if at least one curve has several points.
    """

    order: Ints
    y: Floats
    C: Floats
    N: Floats
    D: Floats
    curve: Ints
    whole: bool

    @staticmethod
    def of(s: Sample) -> Points:
        """Return the points of the sample ``s``. If runs have no names, each point is a curve."""
        order = np.lexsort((s.y, s.columns["C"]))
        named = s.runs.labels.get("run", np.arange(len(s)).astype(np.str_))
        curve = np.unique(named, return_inverse=True)[1].astype(np.int64)
        C, N, D = (s.columns[role][order] for role in ("C", "N", "D"))
        return Points(order, s.y[order], C, N, D, curve[order], int(curve.max()) + 1 < len(s))

    def records(self, y: Floats, present: Bools | None = None) -> Records:
        """Return the envelopes of the losses ``y`` (r, n). ``present`` (r, n) marks the points to use (None: all)."""
        on = on_envelope(y, np.ones(y.shape, bool) if present is None else present)
        starts = np.flatnonzero(np.r_[True, self.C[1:] != self.C[:-1]])
        at = np.maximum.reduceat(np.where(on, np.arange(1, on.shape[1] + 1), 0), starts, axis=1) - 1
        N, D = self.N[at], self.D[at]
        low = np.take_along_axis(np.broadcast_to(y, on.shape), np.maximum(at, 0), axis=1)
        used, trimmed = _trimmed(N, at >= 0, self.whole)
        return Records(self.C[starts], N, D, low, at, at >= 0, used, trimmed)


def on_envelope(y: Floats, present: Bools) -> Bools:
    """Return a mask (r, n) of the envelope: the points with a lower loss than all points at smaller compute.

    ``y`` (r, n) is the loss in order of compute, and ``present`` (r, n) marks the points that are used.
    """
    seen = np.where(present, y, np.inf)
    least = np.minimum.accumulate(seen, axis=1)
    before = np.concatenate([np.full((len(seen), 1), np.inf), least[:, :-1]], axis=1)
    return np.asarray(seen < before)


def fit_for_laws(N: Floats, on: Bools, fewest: int) -> Bools:
    """Return a mask (r,) of the envelopes with at least ``fewest`` points and at least two model sizes.

    ``on`` (r, b) marks the points of the envelopes, and ``N`` (r, b) contains the model sizes.
    """
    high = np.where(on, N, -np.inf).max(axis=1)
    low = np.where(on, N, np.inf).min(axis=1)
    return np.asarray((on.sum(axis=1) >= fewest) & (high > low))


def _trimmed(N: Floats, on: Bools, whole: bool) -> tuple[Bools, Bools]:
    """Remove the points of the first and last model size; return the remaining points (r, b) and changed rows (r,).

    Both results are masks. An envelope does not change if the runs have no curves (``whole`` is False), or if fewer
    than three points or fewer than two sizes would remain.
    """
    if not whole:
        return on, np.zeros(len(on), bool)
    rows, last = np.arange(len(on)), on.shape[1] - 1
    first_size, last_size = N[rows, on.argmax(axis=1)], N[rows, last - on[:, ::-1].argmax(axis=1)]
    inner = on & (N != first_size[:, None]) & (N != last_size[:, None])
    enough = fit_for_laws(N, inner, FEWEST)
    return np.where(enough[:, None], inner, on), enough
