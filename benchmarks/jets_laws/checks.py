"""Checks of the laws of the jets grids: hold-outs, dependence on the width, failed training runs, and kappa."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.jets_laws import laws
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.planning.repeat.factor import Factor, fit_factor
from isoplan.engine.schema import Runs
from isoplan.engine.store.files.table_files import read_curves

WIDE = 16
"""Embedding width. In this grid, wider models have almost the same loss."""
LARGEST_D = 1e5
"""In the hold-out by D, cells with at most this number of training jets are fitted. Other cells are held out."""
ABOVE = 1.1
"""Factor that defines failed training: the loss exceeds ``ABOVE`` times the loss of the same width on fewer jets."""


@dataclass(frozen=True)
class Held:
    """Mean relative errors on held-out cells: of the fitted law, and of two simple predictions.

    - ``law``: error of the fitted law on all held-out cells.
    - ``wide``: error of the fitted law on the held-out cells of width 16 and more.
    - ``power``: error of the power law B / D^beta on these wide cells. The power law is fitted to the other wide cells
      by least squares of logarithms.
    - ``neighbour``: error on all held-out cells if each loss is predicted by the fitted cell with the same D and the
      nearest N. ``neighbour`` is None if a held-out D has no fitted cell.
    """

    name: str
    fitted: int
    held: int
    law: float
    wide: float
    power: float
    neighbour: float | None


def hold_outs() -> tuple[Held, Held]:
    """Return two hold-out tests. One omits the 20 % of cells with the largest C, the other omits cells with D > 1e5."""
    runs = laws.one_pass()[1]
    by_compute = runs["C"] > np.quantile(runs["C"], laws.LARGEST)
    return _held("compute", runs, by_compute), _held("D", runs, runs["D"] > LARGEST_D)


def _held(name: str, runs: Runs, out: np.ndarray) -> Held:
    known, new = runs.take(~out), runs.take(out)
    law = fit(FitSpec(bootstrap=0), known)
    wide = runs["N"] >= smallest(WIDE)
    fitted, tested = runs.take(~out & wide), runs.take(out & wide)
    line = np.polyfit(np.log(fitted["D"]), np.log(fitted["loss"]), 1)
    near = [_nearest(known, n, d) for n, d in zip(new["N"], new["D"], strict=True)]
    return Held(
        name,
        len(known),
        len(new),
        _error(law.predict({"N": new["N"], "D": new["D"]}), new),
        _error(law.predict({"N": tested["N"], "D": tested["D"]}), tested),
        _error(np.exp(np.polyval(line, np.log(tested["D"]))), tested),
        None if np.isnan(near).any() else _error(np.array(near), new),
    )


def _nearest(known: Runs, n: float, d: float) -> float:
    """Return the loss of the cell in ``known`` with the same D and the nearest N; NaN if no cell has this D."""
    same = known["D"] == d
    away = np.abs(np.log(known["N"][same] / n))
    return float(known["loss"][same][np.argmin(away)]) if same.any() else np.nan


def _error(predicted: Floats, runs: Runs) -> float:
    return float(np.mean(np.abs(predicted - runs["loss"]) / runs["loss"]))


def smallest(width: int) -> float:
    """Return the smallest N of the one-pass cells of ``width``."""
    return min(float(row["N"]) for row in laws.rows("one_pass") if int(row["width"]) == width)


def alpha_by_width() -> dict[int, float]:
    """Return, for the three smallest widths, the exponent alpha fitted to the cells of at least this width."""
    runs = laws.one_pass()[1]
    widths = sorted({int(row["width"]) for row in laws.rows("one_pass")})[:3]
    return {d: float(fit(FitSpec(bootstrap=0), runs.take(runs["N"] >= smallest(d))).values["alpha"]) for d in widths}


def seeds() -> int:
    """Return the maximum number of seeds with which the same one-pass settings were trained."""
    cells = [(row["width"], row["U"]) for row in laws.rows("one_pass")]
    return max(cells.count(cell) for cell in set(cells))


def failed() -> Iterator[tuple[str, str, float, float]]:
    """Yield the width, D and loss of each failed training run, and the lowest loss of the same width on fewer jets."""
    rows = laws.rows("one_pass")
    for row in rows:
        fewer = [float(r["loss"]) for r in rows if r["width"] == row["width"] and float(r["D"]) < float(row["D"])]
        if fewer and float(row["loss"]) > ABOVE * min(fewer):
            yield row["width"], row["D"], float(row["loss"]), min(fewer)


@cache
def kappa(smoothing: float) -> Factor:
    """Return kappa: (compute of repeated training) / (compute of one-pass training) at the same loss.

    It is computed from the training curves of the cells with repeated training.
    """
    runs = laws.read("repeated", laws.REPEATED)
    return fit_factor(laws.one_pass()[0], read_curves(laws.GRIDS / "jets_curves.csv", runs), smoothing=smoothing)
