"""Coverages and relative widths of intervals, computed from the stored blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.designs import DESIGNS, NOISES, Design
from benchmarks.coverage.simulate import FOLDER, LEVELS, floor_name, path
from isoplan.engine.arrays import Floats

MARGIN = 0.03
"""A coverage may differ from its nominal value by at most this number plus three standard errors."""


SCALES = ("A", "B", "k", "k_D", "C_L", "X_c")
"""Parameters for which the width of the interval is computed from logarithms.

The width is also computed from logarithms for the quantities whose names end with "at a target".
"""


@dataclass(frozen=True)
class Cell:
    """Coverage of one quantity, for one design, noise and interval method.

    ``coverage`` is the measured coverage at 68 % and 95 % over ``tables`` simulated tables. ``width`` is (median width
    of the interval) / (width of the range that contains 68 % or 95 % of the estimates in all tables). The divisor is
    the width of the ideal interval for a known sampling distribution.
    """

    design: Design
    noise: str
    method: str
    name: str
    tables: int
    coverage: tuple[float, float]
    width: tuple[float, float]
    one_sided: bool

    def error(self, level: float) -> float:
        """Return three times the binomial standard error of a coverage with the true value ``level``."""
        return 3 * math.sqrt(level * (1 - level) / self.tables)

    def passes(self) -> bool:
        """Return whether both coverages are close enough to their nominal values.

        A coverage that is too high is accepted if the interval is one-sided, or if the design has few runs or no floor.
        """
        off = [c - level for c, level in zip(self.coverage, LEVELS, strict=True)]
        slack = [MARGIN + self.error(level) for level in LEVELS]
        lenient = self.one_sided or self.design.few
        return all(x >= -s and (lenient or x <= s) for x, s in zip(off, slack, strict=True))


def cells(method: str, refits: int) -> Iterator[Cell]:
    """Yield the coverage of each design, noise and quantity that is simulated so far with ``method``."""
    for design in DESIGNS.values():
        for noise in NOISES:
            numbers = load(design, noise, method, refits)
            if numbers is not None:
                for i, (name, (truth, _)) in enumerate(design.quantities().items()):
                    yield _cell(design, noise, method, name, truth, numbers[:, i])


def load(design: Design, noise: str, method: str, refits: int) -> Floats | None:
    """Return the stored numbers of t simulated tables and q quantities, shape (t, q, 6); None if nothing is stored.

    The last axis contains the value, the ends of the 68 % and 95 % intervals, and the fraction of draws below the
    value.
    """
    blocks = sorted(FOLDER.glob(path(design.name, noise, method, refits, 0).name.replace("-0.npz", "-[0-9]*.npz")))
    return np.concatenate([np.load(b)["numbers"] for b in blocks]) if blocks else None


def codes(design: Design, noise: str, method: str, refits: int) -> list[set[str]]:
    """Return, for each simulated table, the set of the codes of its warnings."""
    blocks = sorted(FOLDER.glob(path(design.name, noise, method, refits, 0).name.replace("-0.npz", "-[0-9]*.npz")))
    return [set(str(text).split()) for b in blocks for text in np.load(b)["codes"]]


def _cell(design: Design, noise: str, method: str, name: str, truth: float, found: Floats) -> Cell:
    one_sided = design.floorless and name == floor_name(design)
    tiny, scale = 1e-9 * abs(truth), np.log if name in SCALES or name.endswith("at a target") else np.positive
    coverage, width = [], []
    for level, low, high in zip(LEVELS, found[:, [1, 3]].T, found[:, [2, 4]].T, strict=True):
        coverage.append(float(np.mean((low <= truth + tiny) & (truth - tiny <= high))))
        tail = (1 - level) / 2
        ends = (0.0, level) if one_sided else (tail, 1 - tail)
        with np.errstate(divide="ignore", invalid="ignore"):
            oracle = float(np.ptp(np.quantile(scale(found[:, 0]), ends)))
            width.append(float(np.nanmedian(scale(high) - scale(low))) / oracle if oracle > 0 else math.nan)
    return Cell(design, noise, method, name, len(found), (coverage[0], coverage[1]), (width[0], width[1]), one_sided)
