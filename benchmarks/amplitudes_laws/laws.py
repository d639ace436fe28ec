"""Laws and statistics of the bundled amplitude grids. The tables of trained cells are read from a folder."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from isoplan.data.amplitudes import published_laws
from isoplan.engine.laws.catalogue.dimension import least_exponent
from isoplan.engine.planning.amplitude.cell_laws import PLAIN, Along, CellLaw, along, data_law
from isoplan.engine.planning.amplitude.cells import (
    Point,
    TrainedCell,
    by_error,
    by_points,
    most_anchors,
    read_cells,
    spread_of,
)
from isoplan.engine.planning.amplitude.cells import mean_loss as mean_of_points
from isoplan.engine.planning.amplitude.evidence import PublishedLaw
from isoplan.engine.planning.amplitude.precision import Kind

GRIDS = Path(__file__).parents[2] / "data" / "grids"
PAPER_N = "N = 1e5"
CLOSE = 0.3
"""Maximum relative difference between a fitted and a published exponent that the page calls "close"."""
STUDIES = {
    "rates_mup": "muP, 3 layers",
    "rates_standard": "standard, 3 layers",
    "rates_ratio": "muP, width / layers fixed",
}
KINDS: tuple[Kind, ...] = ("rms", "median", "99")
Row = Mapping[str, str]


def trained(folder: Path) -> list[Path]:
    """Return the tables of trained cells in ``folder``, without the table of training curves."""
    return [path for path in sorted(folder.glob("amplitudes_*.csv")) if path.stem != "amplitudes_curves"]


def rows(folder: Path, grid: str) -> list[Row]:
    """Return the cells of a grid, one dict of texts per row of its table; [] if the grid is not trained."""
    path = folder / f"amplitudes_{grid}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def data_cells(folder: Path) -> tuple[TrainedCell, ...]:
    """Return the cells of all grids that scan D."""
    grids = [path.stem.removeprefix("amplitudes_") for path in sorted(folder.glob("amplitudes_data*.csv"))]
    return tuple(cell for grid in grids for cell in read_cells(rows(folder, grid), f"amplitudes_{grid}.csv"))


@dataclass(frozen=True, eq=False)
class Scan:
    """Training runs of one process at several numbers of training points D, and the law that was fitted to these runs.

    ``law`` is None if D limits the loss at too few points for a fit.
    """

    process: str
    target: str
    found: tuple[Point, ...]
    law: CellLaw | None

    @property
    def name(self) -> str:
        """The process, with ", raw targets" if the network was trained on raw amplitudes."""
        return self.process if self.target == "log" else f"{self.process}, raw targets"

    @property
    def cell(self) -> TrainedCell:
        """The first cell of the scan. Use it only for fields that are equal in all cells."""
        return self.found[0].cell

    @property
    def slopes(self) -> tuple[tuple[float, float, float], ...]:
        """Tuples (D, next D, local exponent of the loss between D and next D), one per pair of neighbouring D."""
        return local_slopes(self.found)

    @property
    def left(self) -> int:
        """Number of points that the fit omits.

        A point is omitted if its training has not converged, or if no second cell with twice the compute was trained.
        """
        return sum(not one.limited for one in self.found)

    @property
    def paper(self) -> PublishedLaw | None:
        """The law that the paper published at N = 1e5, or None if there is no such law.

        For the process t tbar H, the paper has only a law with raw targets.
        """
        raw = self.target == "raw"
        asked = (self.process, "D", PAPER_N, PLAIN, raw)
        return next((p for p in published_laws() if (p.process, p.axis, p.held, p.network, p.raw) == asked), None)

    @property
    def relative(self) -> tuple[float, float] | None:
        """The largest D and the RMS relative error at this D; None if the targets are raw amplitudes.

        The error is sigma(log A) * sqrt(mean squared error).
        """
        spread = spread_of(self.found)
        if self.target != "log" or spread is None:
            return None
        most = max(one.cell.D for one in self.found)
        return most, spread * math.sqrt(mean_loss(one.cell.loss for one in self.found if one.cell.D == most))


def scans(folder: Path) -> list[Scan]:
    """Return the scans of all processes, sorted by the dimension d and by name. Scans with log targets come first."""
    cells = data_cells(folder)
    kinds = sorted({(cell.target, cell.d, cell.process) for cell in cells})
    found = [(process, target, most_anchors(cells, process, target)) for target, _, process in kinds]
    return [Scan(process, target, points, data_law(points)) for process, target, points in found]


@dataclass(frozen=True)
class Errors:
    """Relative errors of a process at its largest ``D``, and the exponents of their decrease with D.

    The kinds of errors are 'rms', 'median' and '99' (the 99th percentile). ``exponents`` are fitted to the squared
    errors at all D.
    """

    process: str
    D: float
    exponents: Mapping[Kind, float]
    errors: Mapping[Kind, float]


def errors(folder: Path) -> list[Errors]:
    """Return the errors of each process that was trained on log amplitudes and has all three kinds of errors."""
    cells = tuple(cell for cell in data_cells(folder) if cell.target == "log" and math.isfinite(cell.median))
    found = []
    for process in dict.fromkeys(cell.process for cell in sorted(cells, key=lambda cell: (cell.d, cell.process))):
        kinds = {kind: most_anchors(by_error(cells, kind), process) for kind in KINDS}
        means = {k: [(D, mean_of_points(own)) for D, own in by_points(some).items()] for k, some in kinds.items()}
        if len(means["rms"]) < 3:
            continue
        slopes = {k: _slope(some) for k, some in means.items()}
        last = {k: math.sqrt(some[-1][1]) * (spread_of(kinds["rms"]) or math.nan if k == "rms" else 1.0)
                for k, some in means.items()}  # fmt: skip
        found.append(Errors(process, means["rms"][-1][0], slopes, last))
    return found


def _slope(means: Sequence[tuple[float, float]]) -> float:
    """Return the exponent of a power law through pairs (D, squared error): minus the slope in log-log coordinates."""
    x, y = np.log(np.array(means)).T
    return -float(np.polyfit(x, y, 1)[0])


def verdict(scan: Scan) -> str:
    """Compare the fitted exponent with its theoretical lower bound, which depends on the dimension d of phase space.

    Returns 'above', 'within the interval' (the 68 % interval contains the bound), 'below', or '-' if there is no fitted
    law.
    """
    if scan.law is None:
        return "-"
    bound, (_, high) = least_exponent(scan.cell.d), scan.law.interval("alpha")
    return "above" if scan.law.value("alpha") >= bound else "within the interval" if high >= bound else "below"


def scan_along(folder: Path, grid: str) -> list[Along]:
    """Return the scans of the grid 'size' (along N) or 'compute' (along C) of the process Zg, one scan per D."""
    return along("N" if grid == "size" else "C", read_cells(rows(folder, grid), f"amplitudes_{grid}.csv"))


def nearest(process: str, axis: str, D: float) -> PublishedLaw | None:
    """Return the published law of the plain MLP along ``axis``; None if there is no such law.

    Each of these laws is valid at one fixed D. The law with the fixed D nearest to ``D`` is returned.
    """
    own = [p for p in published_laws() if (p.process, p.axis, p.network) == (process, axis, PLAIN)]
    return min(own, key=lambda p: abs(math.log(p.held_value / D)), default=None)


@dataclass(frozen=True)
class Rates:
    """Study of the learning rate at one N: losses at increasing ``rates``.

    ``losses`` are geometric means over the seeds. ``by_seed`` contains the best rate of each seed.
    """

    N: float
    rates: tuple[float, ...]
    losses: tuple[float, ...]
    by_seed: tuple[float, ...]

    @property
    def best(self) -> float:
        """The learning rate with the lowest mean loss."""
        return self.rates[int(np.argmin(self.losses))]

    @property
    def at_an_end(self) -> bool:
        """Whether the best learning rate is the smallest or the largest rate of the study."""
        return self.best in (self.rates[0], self.rates[-1])


def study(folder: Path, grid: str) -> list[Rates]:
    """Return the study of learning rates of a grid, one item per N, in the order of N."""
    found: dict[float, dict[float, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows(folder, grid):
        found[float(row["parameters"])][float(row["rate_used"])][row["seed"]] = float(row["loss"])
    return [_rates(N, dict(sorted(losses.items()))) for N, losses in sorted(found.items())]


def _rates(N: float, losses: Mapping[float, Mapping[str, float]]) -> Rates:
    seeds = sorted({seed for some in losses.values() for seed in some})
    best = [min((r for r in losses if seed in losses[r]), key=lambda r, s=seed: losses[r][s]) for seed in seeds]  # type: ignore[misc]
    return Rates(N, tuple(losses), tuple(mean_loss(some.values()) for some in losses.values()), tuple(best))


def moves(found: Sequence[Rates]) -> float:
    """Return the ratio of the largest to the smallest best learning rate over all N.

    The ratio is 1 if the best rate does not depend on N.
    """
    best = [one.best for one in found]
    return max(best) / min(best)


def mean_loss(losses: Iterable[float]) -> float:
    """Return the geometric mean of losses."""
    return float(np.exp(np.mean(np.log(list(losses)))))


def mean_of(some: Iterable[Row], column: str) -> float:
    """Return the mean of a column without its missing values, or NaN if all values are missing."""
    values = [float(row[column]) for row in some if row.get(column)]
    return float(np.mean(values)) if values else math.nan


def grouped(some: Iterable[Row], *columns: str) -> dict[tuple[str, ...], list[Row]]:
    """Return the rows grouped by their values in ``columns``. Groups are sorted numerically by these values."""
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in some:
        found[tuple(row[column] for column in columns)].append(row)
    return dict(sorted(found.items(), key=lambda item: tuple(_order(text) for text in item[0])))


def _order(text: str) -> tuple[float, str]:
    try:
        return float(text), ""
    except ValueError:
        return -math.inf, text


def local_slopes(found: Iterable[Point]) -> tuple[tuple[float, float, float], ...]:
    """Return tuples (D, next D, local exponent of the loss between D and next D), one per pair of neighbouring D.

    The loss at each D is the geometric mean over all of its cells, converged or not.
    """
    means = [(D, mean_of_points(own)) for D, own in by_points(found).items()]
    return tuple((D, E, math.log(low / high) / math.log(E / D)) for (D, low), (E, high) in pairwise(means))
