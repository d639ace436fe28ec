"""Plan of an amplitude surrogate: the target, the ranges of D, N and C, and their evidence."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.fitting.types.result import FitWarning
from isoplan.engine.planning.amplitude.anchors import Anchor
from isoplan.engine.planning.amplitude.needs import Exponent, Need
from isoplan.engine.planning.amplitude.precision import Precision
from isoplan.engine.planning.amplitude.published import PublishedLaw
from isoplan.engine.planning.amplitude.sizes import Size


@dataclass(frozen=True, eq=False)
class AmplitudePlan:
    """Answer of an amplitude plan: D, N and C as ranges. ``needs`` has the laws behind those that have one.

    ``anchors``, ``law``, ``floor`` and ``fixed_energy`` are the inputs. If a law was fitted to anchors or to trained
    cells of ``process``, ``change`` describes its effect. ``measured`` has the errors of these cells. ``stopped`` is
    the sentence in place of an answer if the cells do not support one; D, N and C are then unknown. ``reached`` marks
    an answer that consists of trained cells.
    """

    n_f: int
    dimension: int
    bound: float
    exponent: Exponent
    target: Precision
    D: Size
    N: Size
    C: Size
    needs: tuple[Need, ...]
    warnings: tuple[FitWarning, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    law: PublishedLaw | None = None
    floor: float = 0.0
    fixed_energy: bool = False
    process: str = ""
    change: str = ""
    measured: str = ""
    stopped: str = ""
    reached: bool = False

    @property
    def runs(self) -> str:
        """Name of the runs from which the plan is scaled, for use within a sentence."""
        if self.process:
            return f"the cells of {self.process}"
        if self.law is not None:
            return f"the published runs of {self.law.process}"
        return "the anchor" if len(self.anchors) == 1 else "the anchors"
