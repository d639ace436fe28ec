"""Power laws ``K + (X_c / X)**alpha`` fitted to cells (training runs) of Isoplan, and published laws for comparison.

The relative error of a loss is 10 % (amplitudes, App. C). If the scatter around the law is larger, the scatter is used.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.types.result import Fit, Interval
from isoplan.engine.planning.amplitude.cells import Point, TrainedCell, most_anchors
from isoplan.engine.planning.amplitude.evidence import LOSS_ERROR, Axis, PublishedLaw
from isoplan.engine.schema import Roles, Runs

Name = Literal["X_c", "alpha", "K"]
AS_PUBLISHED = FitSpec(law="power", objective="ols-log", relative_error=LOSS_ERROR)
"""Specification of the paper's fits along one axis: least squares of log losses with a relative error of 10 %
(amplitudes, App. C).
"""
FREE_FLOOR = 4
"""Smallest number of distinct values of X for which the floor K is fitted. With fewer values, K is fixed at 0."""
LEAST_PLACES, LEAST_RUNS = 3, 4
"""Smallest number of distinct values of X, and smallest number of cells, that are enough to state an exponent."""
WALK = 40
"""Maximum number of steps in the search for an end of an interval. Each step goes 1.6 times farther than the step
before.
"""


@dataclass(frozen=True, eq=False)
class CellLaw:
    """Power law over ``axis``, fitted to ``runs`` by least squares in the logarithm of the loss.

    The fit assumes a relative error of 10 % for each loss.
    """

    axis: Axis
    fit: Fit
    runs: Runs

    def value(self, name: Name) -> float:
        """Return the best-fit value of the parameter ``name``."""
        return float(self.fit.values[name])

    @property
    def scatter(self) -> float:
        """Relative scatter of the losses around the law; 0 if the number of cells is at most that of the parameters."""
        found = self.fit.chi2
        return LOSS_ERROR * math.sqrt(found[0] / found[1]) if found and found[1] > 0 else 0.0

    def interval(self, name: Name) -> Interval:
        """Return the 68 % interval of the parameter ``name``.

        It contains the values at which the profile chi^2 is at most 1 above its minimum. The relative error of a loss
        is 10 %, or the scatter around the law if the scatter is larger.
        """
        return _interval(self, name)

    def _found(self, name: Name) -> Interval:
        best = self.value(name)
        if name == "K":
            if "K" in self.fit.spec.fixed:
                return best, best
            step = 0.02 * float(self.runs["loss"].min())
            least = 0.0 if self._rise(name, 0.0) < 1 else self._end(name, lambda t: max(best - step * t, 0.0))
            return least, self._end(name, lambda t: best + step * t)
        low, high = (self._end(name, lambda t, s=sign: best * math.exp(0.01 * s * t)) for sign in (-1, 1))  # type: ignore[misc]
        return low, high

    def _rise(self, name: Name, value: float) -> float:
        """Return the increase of chi^2 if the parameter ``name`` is fixed at ``value`` and all others are fitted.

        The relative error of a loss is 10 %, or the scatter around the law if the scatter is larger.
        """
        spec = self.fit.spec
        held = fit(spec.model_copy(update={"fixed": spec.fixed | {name: value}}), self.runs)
        wider = max(self.scatter / LOSS_ERROR, 1.0) ** 2
        return (float(held.objective or 0.0) - float(self.fit.objective or 0.0)) / wider

    def _end(self, name: Name, at: Callable[[float], float]) -> float:
        """Return the value ``at(t)`` of the parameter ``name`` at which chi^2 is 1 above its minimum.

        ``at(0)`` is the value of the best fit. The result is infinite if no step of the search reaches this chi^2.
        """
        from scipy.optimize import brentq

        near, far = 0.0, 0.25
        for _ in range(WALK):
            if self._rise(name, at(far)) > 1:
                return at(float(brentq(lambda t: self._rise(name, at(t)) - 1, near, far, xtol=1e-3 * far, rtol=1e-3)))
            near, far = far, 1.6 * far
        return math.inf


@lru_cache(maxsize=256)
def _interval(law: CellLaw, name: Name) -> Interval:
    return law._found(name)


def fit_cells(
    axis: Axis, x: Floats | Sequence[float], loss: Floats | Sequence[float], *, floor: bool = True
) -> CellLaw:
    """Fit the law to cells (training runs) with the values ``x`` (n,) of ``axis`` and the ``loss`` (n,).

    K is fixed at 0 if ``floor`` is False or x has fewer than ``FREE_FLOOR`` distinct values. Raises PlannerError if x
    has fewer than two distinct values.
    """
    places = len(np.unique(x))
    if places < 2:
        raise PlannerError(f"A law needs cells with at least two values of {axis}: train cells at another {axis}.")
    values = {axis: np.asarray(x, float), "loss": np.asarray(loss, float)}
    runs = Runs(np.arange(len(values["loss"])), values, Roles.model_validate({axis: axis, "loss": "loss"}), {}, "cells")
    fixed = {} if floor and places >= FREE_FLOOR else {"K": 0.0}
    spec = AS_PUBLISHED.model_copy(update={"axis": axis, "bootstrap": 0, "fixed": fixed})
    return CellLaw(axis, fit(spec, runs), runs)


def law_of(axis: Axis, x: Sequence[float], loss: Sequence[float], *, floor: bool = True) -> CellLaw | None:
    """Fit the law to the ``loss`` (n,) of cells at ``x`` (n,); None if the cells are too few for an exponent."""
    enough = len(set(x)) >= LEAST_PLACES and len(x) >= LEAST_RUNS
    return fit_cells(axis, x, loss, floor=floor) if enough else None


@lru_cache(maxsize=128)
def data_law(found: tuple[Point, ...], *, undecided: bool = False, floor: bool = True) -> CellLaw | None:
    """Fit the law of D to the converged points of ``found``; return None if there are too few points.

    The loss of a converged point changes by less than 10 % at twice the compute. If ``undecided`` is True, points with
    a higher loss at twice the compute are also used. The loss of such a point is an upper limit of the loss at its D.
    Points with a lower loss at twice the compute, and points that were not trained at twice the compute, are never
    used. The floor K of the law is fixed at 0 if ``floor`` is False.
    """
    states = ("converged", "rises") if undecided else ("converged",)
    kept = [one.cell for one in found if one.state in states]
    return law_of("D", [cell.D for cell in kept], [cell.loss for cell in kept], floor=floor)


@lru_cache(maxsize=16)
def data_laws(cells: tuple[TrainedCell, ...], target: str = "log") -> tuple[tuple[tuple[Point, ...], CellLaw], ...]:
    """Return the points and the law of D for each process with D-limited cells at three or more values of D.

    The processes are sorted by d, the dimension of the phase space, and then by name.
    """
    every = [cell for cell in cells if cell.target == target]
    kinds = sorted({(cell.d, cell.process) for cell in every})
    series = [most_anchors(every, process, target) for process in dict.fromkeys(name for _, name in kinds)]
    return tuple((own, law) for own in series if (law := data_law(own)) is not None)


@dataclass(frozen=True)
class DataExponent:
    """Exponent ``alpha`` of D for a process with ``d`` phase-space dimensions; ``ends`` is its 68 % interval."""

    process: str
    d: int
    alpha: float
    ends: Interval


def exponents(cells: Iterable[TrainedCell], target: str = "log") -> tuple[DataExponent, ...]:
    """Return the exponent of D for each process with D-limited cells at three or more values of D.

    The processes are sorted by d, the dimension of the phase space, and then by name.
    """
    found = [(own[0].cell, law) for own, law in data_laws(tuple(cells), target)]
    return tuple(DataExponent(cell.process, cell.d, law.value("alpha"), law.interval("alpha")) for cell, law in found)


PLAIN, LLOCA = "MLP-I, MSE", "LLoCa-Transformer, MSE"
"""Networks that both the paper and Isoplan train, with their training losses. The paper trained the first network on
every process.
"""
NEAR = 1.5
"""Largest ratio of the fixed sizes of two laws that are compared."""


@dataclass(frozen=True, eq=False)
class Along:
    """Cells of a process that differ in ``axis`` (N or C) and were all trained on ``D`` points.

    ``x`` and ``loss`` are the value of ``axis`` and the loss of each cell. ``law`` is None if there are too few cells.
    """

    process: str
    raw: bool
    axis: Axis
    D: float
    x: tuple[float, ...]
    loss: tuple[float, ...]
    law: CellLaw | None


@dataclass(frozen=True, eq=False)
class TrainedLaw:
    """A ``law`` fitted to trained cells (training runs) over ``axis``, at the fixed size ``held``.

    ``held`` is N for a law of D, and D for a law of N or C. ``network`` is the paper's name of the network and its
    training loss. ``raw`` is True if the network is trained on raw amplitudes.
    """

    process: str
    raw: bool
    axis: Axis
    held: float
    law: CellLaw
    network: str = PLAIN


def along(axis: Axis, cells: Iterable[TrainedCell]) -> list[Along]:
    """Return the scans along ``axis`` (N or C), one for each process and D.

    The cells of a scan must be equal in everything except ``axis`` and their seed.
    """
    grouped: dict[tuple[str, bool, float], list[TrainedCell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.process, cell.target == "raw", cell.D].append(cell)
    found = []
    for (process, raw, D), some in sorted(grouped.items()):
        x, loss = tuple(getattr(cell, axis) for cell in some), tuple(cell.loss for cell in some)
        found.append(Along(process, raw, axis, D, x, loss, law_of(axis, x, loss)))
    return found


def trained_laws(
    cells: Sequence[TrainedCell], sizes: Iterable[TrainedCell] = (), budgets: Iterable[TrainedCell] = ()
) -> tuple[TrainedLaw, ...]:
    """Fit laws of D to ``cells`` (by ``data_laws``), laws of N to ``sizes`` and laws of C to ``budgets``."""
    found = [
        TrainedLaw(own[0].cell.process, target == "raw", "D", own[0].cell.N, law, _network(own[0].cell))
        for target in ("log", "raw")
        for own, law in data_laws(tuple(cells), target)
    ]
    scans = [*along("N", sizes), *along("C", budgets)]
    return (*found, *(TrainedLaw(s.process, s.raw, s.axis, s.D, s.law) for s in scans if s.law is not None))


def side_by_side(
    published: Sequence[PublishedLaw], ours: Sequence[TrainedLaw]
) -> list[tuple[PublishedLaw | None, TrainedLaw | None]]:
    """Pair each law of ``ours`` with a published law.

    Both laws of a pair have the same process, axis, target and network, and their fixed sizes are similar. A law
    without a matching law is paired with None. Unpaired published laws follow at the end, in their order.
    """
    pairs = [(_nearest(published, one), one) for one in ours]
    taken = {id(law) for law, _ in pairs}
    return [*pairs, *((law, None) for law in published if id(law) not in taken)]


def _network(cell: TrainedCell) -> str:
    return LLOCA if "network lloca" in cell.setting else PLAIN


def _nearest(published: Sequence[PublishedLaw], ours: TrainedLaw) -> PublishedLaw | None:
    asked = (ours.process, ours.axis, ours.raw, ours.network)
    own = [p for p in published if (p.process, p.axis, p.raw, p.network) == asked]
    best = min(own, key=lambda p: _apart(p, ours), default=None)
    return best if best is not None and _apart(best, ours) <= math.log(NEAR) else None


def _apart(published: PublishedLaw, ours: TrainedLaw) -> float:
    return abs(math.log(published.held_value / ours.held))
