"""The steps of a fit that take its time; numpy does them, or compiled kernels that give the same optima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver import exponent_grid, newton, philox
from isoplan.engine.fitting.solver.descent import Known
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.problem import Problem


class Refine(Protocol):
    """``newton.refine``."""

    def __call__(
        self, p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss, known: Known | None = None
    ) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class Engine:
    """``draw`` as ``philox.draw``, ``starts`` as ``cold.starts``, ``refine`` as ``newton.refine``."""

    at_once: int  # resamples in a block; never a matter of threads, on which no digit may depend
    draw: Callable[[int, int, int, Ints, Ints, Ints], Floats]
    starts: Callable[[exponent_grid.Grid, Floats, int], Floats]
    refine: Refine


NUMPY = Engine(4096, philox.draw, exponent_grid.starts, newton.refine)
