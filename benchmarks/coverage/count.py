"""Coverages, widths and verdicts from the stored blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.designs import DESIGNS, NOISES, Design
from benchmarks.coverage.simulate import FOLDER, LEVELS, floor_name, path
from isoplan.engine.arrays import Floats

MARGIN = 0.03
"""Allowed distance of a coverage from its nominal value, in addition to three standard errors."""


SCALES = ("A", "B", "k", "k_D", "C_L", "X_c")
"""Parameters whose widths are those of their logarithms, as for the cost of a target."""


@dataclass(frozen=True)
class Cell:
    """A quantity of a design with a noise and a method: its coverage at 68 % and 95 % over ``tables``.

    ``width`` is the median width of the interval over the width of the same central share of the estimates themselves,
    which an oracle with the sampling distribution would give.
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
        """Return three binomial standard errors at ``level``."""
        return 3 * math.sqrt(level * (1 - level) / self.tables)

    def passes(self) -> bool:
        """Return whether both coverages are within the margin; one-sided cells and few runs may cover too much."""
        off = [c - level for c, level in zip(self.coverage, LEVELS, strict=True)]
        slack = [MARGIN + self.error(level) for level in LEVELS]
        lenient = self.one_sided or self.design.few
        return all(x >= -s and (lenient or x <= s) for x, s in zip(off, slack, strict=True))


def cells(method: str, refits: int) -> Iterator[Cell]:
    """Yield the cells of one method simulated so far, by design and noise."""
    for design in DESIGNS.values():
        for noise in NOISES:
            numbers = load(design, noise, method, refits)
            if numbers is not None:
                for i, (name, (truth, _)) in enumerate(design.quantities().items()):
                    yield _cell(design, noise, method, name, truth, numbers[:, i])


def load(design: Design, noise: str, method: str, refits: int) -> Floats | None:
    """Return value, ends and share of draws below it, of each quantity over tables (t, q, 6); None without blocks."""
    blocks = sorted(FOLDER.glob(path(design.name, noise, method, refits, 0).name.replace("-0.npz", "-[0-9]*.npz")))
    return np.concatenate([np.load(b)["numbers"] for b in blocks]) if blocks else None


def codes(design: Design, noise: str, method: str, refits: int) -> list[set[str]]:
    """Return the codes of the warnings of each table."""
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
