"""The steps of a fit that take its time; numpy does them, or compiled kernels that give the same optima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.fitting import cold, newton, philox
from engine.fitting.descent import Known
from engine.fitting.objectives import Loss
from engine.fitting.problem import Ints, Problem
from engine.laws.law import Floats


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
    starts: Callable[[cold.Grid, Floats, int], Floats]
    refine: Refine


NUMPY = Engine(4096, philox.draw, cold.starts, newton.refine)
