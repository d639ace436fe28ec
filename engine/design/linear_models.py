"""Linear models of candidates and estimands: what is known after the training of any set of cells.

The parameters of a linear model have a covariance before any candidate is trained. The losses of the trained cells have
noise, and can deviate from the law. The estimate of an estimand is that of the least-squares fit of the law. Its mean
square error is the sum of the variance by noise and the square of the error by the deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from isoplan.engine.arrays import Floats

LEAST = 1e-12
"""Smallest part of a variance that can remain after the training of one cell."""


@dataclass(frozen=True, eq=False)
class Deviation:
    """A deviation of the truth from the law: a sum of d smooth functions whose coefficients have the variance 1.

    ``cells`` (m, d) are the functions at the candidates, and ``answers`` (k, d) their effects on the estimands.
    ``pull`` (t, q, d) is a sum over the runs: the slope of the loss, times the function, divided by the variance of the
    loss of a run. The deviation changes the q parameters of the least-squares fit by their covariance times ``pull``.
    """

    cells: Floats
    answers: Floats
    pull: Floats


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Linear models of m candidates and k estimands with q parameters, for each of t truths.

    ``cells`` (t, m, q) are the slopes of the losses of the candidates, ``answers`` (t, k, q) those of the estimands,
    and ``spread`` (t, q, q) is the covariance of the parameters. If the residuals of the fit are differences of
    logarithms, the losses are logarithms too. ``noise`` is the variance of the loss of one run. ``weight`` (k,) is the
    weight of each estimand. ``deviation`` is the deviation from the law that is taken into account, if any.
    """

    cells: Floats
    answers: Floats
    spread: Floats
    noise: float
    weight: Floats
    deviation: Deviation | None = None

    def deviating(self, factor: float) -> LinearModels:
        """Return the linear models with ``factor`` times the deviation; without a deviation if ``factor`` is 0."""
        if self.deviation is None or factor == 0:
            return replace(self, deviation=None)
        one = self.deviation
        return replace(self, deviation=Deviation(factor * one.cells, factor * one.answers, factor * one.pull))

    def after(self, trained: Sequence[int]) -> LinearModels:
        """Return the linear models after the training of the candidates ``trained``."""
        if not len(trained):
            return self
        slopes = self.cells[:, list(trained)]
        shared = slopes @ self.spread
        measured = shared @ slopes.transpose(0, 2, 1) + self.noise * np.eye(len(trained))
        root = np.linalg.solve(np.linalg.cholesky(measured), shared)  # root^T root is the decrease of the spread
        spread, deviation = self.spread - root.transpose(0, 2, 1) @ root, self.deviation
        if deviation is not None:
            added = slopes.transpose(0, 2, 1) @ deviation.cells[list(trained)] / self.noise
            deviation = replace(deviation, pull=deviation.pull + added)
        return replace(self, spread=spread, deviation=deviation)

    @cached_property
    def variance(self) -> Floats:
        """Variances (t, k) of the estimands if the law is right."""
        return np.einsum("tkp,tpq,tkq->tk", self.answers, self.spread, self.answers)

    @cached_property
    def bias(self) -> Floats:
        """Errors (t, k, d) of the estimands by each function of the deviation. Without a deviation, d is 0."""
        if self.deviation is None:
            return np.zeros((*self.variance.shape, 0))
        return self.deviation.answers - self.answers @ (self.spread @ self.deviation.pull)

    @property
    def sd(self) -> Floats:
        """Standard deviation of each estimand if the law is right, the geometric mean over the truths: shape (k,)."""
        return np.asarray(np.exp(np.mean(np.log(self.variance), axis=0) / 2))

    @property
    def excess(self) -> Floats:
        """Mean square error of each estimand that the deviation adds, as the mean over the truths: shape (k,)."""
        return np.asarray(np.mean(np.sum(self.bias**2, axis=2), axis=0))

    @property
    def error(self) -> Floats:
        """Mean square error of each estimand: shape (t, k)."""
        return np.asarray(self.variance + np.sum(self.bias**2, axis=2))

    @property
    def remaining(self) -> float:
        """Sum of the weighted logarithms of the mean square errors of the estimands, as the mean over the truths."""
        return float(np.mean(np.log(self.error), axis=0) @ self.weight)

    def gains(self) -> Floats:
        """Return the decrease of ``remaining`` that each candidate is expected to bring: shape (m,).

        It is negative for a candidate whose training increases the error by the deviation more than it decreases the
        variance.
        """
        return np.asarray(np.mean(self.gains_by_truth(), axis=0))

    def gains_by_truth(self) -> Floats:
        """Return the gain of each candidate if one of the truths is known to be right: shape (t, m)."""
        return np.asarray(self._logs @ self.weight)

    def narrowing(self) -> Floats:
        """Return the relative decrease of the error of the first estimand if one candidate is trained: shape (m,).

        The error is the square root of the mean square error. The values are from 0 to 1.
        """
        return np.asarray(1 - np.exp(-np.maximum(np.mean(self._logs[:, :, 0], axis=0), 0) / 2))

    @cached_property
    def _logs(self) -> Floats:
        """Decreases (t, m, k) of the logarithms of the errors that each candidate brings."""
        reach = self.cells @ self.spread
        own = np.einsum("tmq,tmq->tm", reach, self.cells)  # variances of the expected losses of the candidates
        cross = reach @ self.answers.transpose(0, 2, 1)  # their covariances with the estimands
        change = cross / (own + self.noise)[:, :, None]
        less = cross * change
        if self.deviation is not None:
            size, along = self._apart(self.deviation)
            less = less - change * (2 * along + size[:, :, None] * change)
        return np.asarray(-np.log(np.maximum(1 - less / self.error[:, None, :], LEAST)))

    def _apart(self, deviation: Deviation) -> tuple[Floats, Floats]:
        """Return the mean square errors (t, m) of the losses by the deviation, and products with ``bias`` (t, m, k).

        A product is the sum over the functions of the error of a loss and the error of an estimand.

        The errors are slopes @ turn - functions, where turn (t, q, d) are the changes of the parameters. This matrix of
        shape (t, m, d) is not computed, because it is large.
        """
        turn, functions = self.spread @ deviation.pull, deviation.cells
        crossed = functions @ turn.transpose(0, 2, 1)
        size = np.einsum("tmq,tmq->tm", self.cells @ (turn @ turn.transpose(0, 2, 1)) - 2 * crossed, self.cells)
        bias = self.bias.transpose(0, 2, 1)
        return size + np.sum(functions**2, axis=1), self.cells @ (turn @ bias) - functions @ bias
