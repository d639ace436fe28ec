"""Runs that do not determine a law."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.schema import Runs


@dataclass(frozen=True, eq=False)
class UnfittedRuns:
    """``runs`` to which the law of ``spec`` cannot be fitted, because they are too few or an axis hardly varies.

    ``reason`` is the message of the failed fit.
    """

    spec: FitSpec
    runs: Runs
    reason: str

    @property
    def compute(self) -> ComputeRule:
        """The compute rule of the runs."""
        return self.runs.roles.compute
