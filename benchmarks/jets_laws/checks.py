"""Checks of the laws of the jets grids: widths, failed cells, hold-outs, chi squared, kappa."""

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
"""Width above which the size of a model hardly changes its loss in this grid."""
LARGEST_D = 1e5
"""Largest number of jets in the fit of the hold-out by D."""
ABOVE = 1.1
"""A cell has failed if its loss is this many times that of the same width on fewer jets."""


@dataclass(frozen=True)
class Held:
    """Mean relative errors on held-out cells.

    ``wide`` and ``power`` are over the held-out cells of width 16 and more: the law, and B / D^beta fitted by least
    squares of logs to the remaining cells of these widths. ``neighbour`` is the loss of the fitted cell with the same D
    and the nearest N; None if no fitted cell has that D.
    """

    name: str
    fitted: int
    held: int
    law: float
    wide: float
    power: float
    neighbour: float | None


def hold_outs() -> tuple[Held, Held]:
    """Hold out the largest fifth of compute, and all cells of more than 100 k jets, separately."""
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
    """Return the loss of the cell with the same D and the nearest N; NaN if there is none."""
    same = known["D"] == d
    away = np.abs(np.log(known["N"][same] / n))
    return float(known["loss"][same][np.argmin(away)]) if same.any() else np.nan


def _error(predicted: Floats, runs: Runs) -> float:
    return float(np.mean(np.abs(predicted - runs["loss"]) / runs["loss"]))


def smallest(width: int) -> float:
    """Return the smallest N of the cells of ``width``."""
    return min(float(row["N"]) for row in laws.rows("one_pass") if int(row["width"]) == width)


def alpha_by_width() -> dict[int, float]:
    """Return alpha of the law without its smallest widths, by the smallest width that remains."""
    runs = laws.one_pass()[1]
    widths = sorted({int(row["width"]) for row in laws.rows("one_pass")})[:3]
    return {d: float(fit(FitSpec(bootstrap=0), runs.take(runs["N"] >= smallest(d))).values["alpha"]) for d in widths}


def seeds() -> int:
    """Return the maximum number of seeds of a one-pass cell."""
    cells = [(row["width"], row["U"]) for row in laws.rows("one_pass")]
    return max(cells.count(cell) for cell in set(cells))


def failed() -> Iterator[tuple[str, str, float, float]]:
    """Yield width, jets and loss of the failed cells, and the least loss of the same width on fewer jets."""
    rows = laws.rows("one_pass")
    for row in rows:
        fewer = [float(r["loss"]) for r in rows if r["width"] == row["width"] and float(r["D"]) < float(row["D"])]
        if fewer and float(row["loss"]) > ABOVE * min(fewer):
            yield row["width"], row["D"], float(row["loss"]), min(fewer)


@cache
def kappa(smoothing: float) -> Factor:
    """Return the compute of repeated training over that of one pass at equal loss, from the repeated curves."""
    runs = laws.read("repeated", laws.REPEATED)
    return fit_factor(laws.one_pass()[0], read_curves(laws.GRIDS / "jets_curves.csv", runs), smoothing=smoothing)
