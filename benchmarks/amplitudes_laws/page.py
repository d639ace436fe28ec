"""docs/amplitudes_laws.md from the bundled grids, as far as they are trained."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.amplitudes_laws import laws
from benchmarks.report import Report
from engine.laws.dimension import least_exponent
from engine.planning.amplitude import Point, PublishedLaw
from engine.planning.amplitude.cell_law import CellLaw, Name
from engine.quantities import count, power10

HEAD = """# The laws of our amplitudes

The grids in `data/grids/amplitudes_*.csv` were trained by `make grid-amplitudes` on events that Isoplan simulates
([amplitudes.md](amplitudes.md)), with MLPs on log invariants as in the paper (arXiv:2601.13308). This page is written
by `python -m benchmarks amplitudes_laws` from these tables. Losses are mean squared errors of standardised targets;
numbers in brackets are 68 % intervals, for losses known to 10 % as in the paper, or as well as they scatter around the
law where that is worse.
"""
NAMES: tuple[Name, ...] = ("X_c", "alpha", "K")
SYMBOLS = {"X_c": "X_c", "alpha": "α", "K": "K"}
ORDER = ("Zg", "Zgg", "Zggg")


def write(folder: Path) -> str:
    """The page; sections whose table is missing are left out."""
    parts = [*_data(folder), *_rates(folder), *_size(folder), *_compute(folder), *_dimension(folder), *_pulls(folder)]
    return "\n".join([HEAD, *parts]) + "\n"


def report(folder: Path) -> Report:
    """The exponents of D beside the paper's, for docs/benchmarks.md."""
    found = [scan for scan in laws.scans(folder) if scan.law is not None]
    said = "" if found else " No scan is trained yet: make grid-amplitudes does."
    return Report(
        "The laws of our amplitudes",
        "Exponents of D at N = 1e5, with 68 % intervals for losses known to 10 % or as well as they scatter, over the "
        "cells whose loss falls by less than 10 % when their compute is doubled. Goal: within 30 % of the paper's for "
        f"Zg, Zgg, Zggg. The rest is in [amplitudes_laws.md](amplitudes_laws.md).{said}",
        ("process", "cells", "left out", "α", "paper", "4/d"),
        tuple(
            (scan.name, str(len(scan.found) - scan.left), str(scan.left), _value(scan.law, "alpha"),
             _printed(scan.paper, "alpha"), f"{least_exponent(scan.cell.d):.2g}")
            for scan in found
        ),
    )  # fmt: skip


def _data(folder: Path) -> Iterator[str]:
    scans = laws.scans(folder)
    if not scans:
        return
    yield f"""## Points

{sum(len(scan.found) for scan in scans)} cells at N = 10⁵, the longest of each number of points and seed that has one of
twice its compute beside it. Where these lie lower by more than 10 %, in the geometric mean over the seeds that have
both, the loss still falls: such cells are marked, in the figure as open circles, and left out of the law, as are those
that nobody doubled.

K + (X_c/D)^α by least squares of logs, beside the paper's at N = 10⁵ (Tables 2 to 13):
"""
    if any(scan.law for scan in scans):
        yield "![Loss against the training points, a law a process](images/amplitudes_law_data.png)\n"
    lines = []
    for scan in scans:
        both = (text for name in NAMES for text in (_value(scan.law, name), _printed(scan.paper, name)))
        scatter = "-" if scan.law is None else f"{scan.law.scatter:.0%}"
        lines.append((scan.name, str(len(scan.found) - scan.left), str(scan.left), *both, scatter))
    head = ("process", "cells", "left out", *(t for name in NAMES for t in (SYMBOLS[name], "paper")), "scatter")
    yield from _table(head, lines)
    yield from _marked(scans)
    yield from _verdicts(scans)


def _marked(scans: Sequence[laws.Scan]) -> Iterator[str]:
    places = sorted({one.cell.D for scan in scans for one in scan.found})
    yield """
Geometric means over seeds, and in brackets what twice the compute does to the loss, and for how many of the seeds that
was tried where it is not all; those with * are left out:
"""
    lines = []
    for scan in scans:
        cells = []
        for D in places:
            own = [one for one in scan.found if one.cell.D == D]
            cells.append(_point(own) if own else "not trained")
        lines.append((scan.name, *cells))
    yield from _table(("process", *(f"D = {count(D)}" for D in places)), lines)
    typical = [f"{scan.name} {r[1]:.2%} at D = {count(r[0])}" for scan in scans if (r := scan.relative)]
    if typical:
        yield f"\nAs a typical relative error, sigma(log A) sqrt(MSE): {', '.join(typical)}."


def _point(own: Sequence[Point]) -> str:
    fell = next((one.fell for one in own if one.fell is not None), None)
    seeds, tried = len({one.cell.seed for one in own}), max(one.seeds for one in own)
    of = f", {tried} of {seeds}" if tried < seeds else ""
    said = " (not doubled)" if fell is None else f" ({-fell:+.0%}{of})"
    mark = "" if all(one.limited for one in own) else "*"
    return f"{laws.mean_loss(one.cell.loss for one in own):.2g}{said}{mark}"


def _verdicts(scans: Sequence[laws.Scan]) -> Iterator[str]:
    known = [scan for scan in scans if scan.law is not None]
    if not known:
        return
    yield """
### Exponents and dimensions

The bound of the paper is α ≥ 4/d with d = 3 n_f - 4 (eqs. 4, 6); its own processes of two particles lie around or
below it.

![Exponents of the points against the dimension, the line 4/d, and the paper's](images/amplitudes_law_exponents.png)
"""
    lines = []
    for scan in known:
        ours, theirs = scan.law.value("alpha") if scan.law else math.nan, scan.paper
        ratio = "-" if theirs is None else f"{ours / theirs.alpha:.2f}"
        paper = "-" if theirs is None else f"{theirs.alpha:.3g}"
        bound = f"{least_exponent(scan.cell.d):.3g}"
        lines.append((scan.name, str(scan.cell.d), _value(scan.law, "alpha"), paper, ratio, bound, laws.verdict(scan)))
    yield from _table(("process", "d", "α", "paper", "ratio", "4/d", "against the bound"), lines)
    gluons = {scan.process: scan.law.value("alpha") for scan in known if scan.law and scan.target == "log"}
    if set(ORDER) <= set(gluons):
        falls = all(gluons[a] > gluons[b] for a, b in pairwise(ORDER))
        near = [s.process for s in known if s.process in ORDER and s.paper and s.target == "log"
                and abs(gluons[s.process] / s.paper.alpha - 1) <= laws.CLOSE]  # fmt: skip
        within = "all three" if len(near) == len(ORDER) else ", ".join(near) or "none"
        yield f"""
From Zg over Zgg to Zggg the exponents {"fall" if falls else "do not fall"}. Within {laws.CLOSE:.0%} of the paper's:
{within}."""


def _rates(folder: Path) -> Iterator[str]:
    studies = {name: found for grid, name in laws.STUDIES.items() if (found := laws.study(folder, grid))}
    if not studies:
        return
    sizes = sorted({one.N for found in studies.values() for one in found})
    yield """
## Learning rates

Losses of t tbar H at 10⁴ points after 2,000 iterations, geometric means over seeds, against the learning rate in steps
of √2 (amplitudes, Fig. 1 left):

![Loss against learning rate for four sizes, with muP and without](images/amplitudes_law_rates.png)

The best rate, in brackets those of single seeds (>, <: the largest or least that was tried):
"""
    lines = []
    for name, found in studies.items():
        by = {one.N: one for one in found}
        lines.append((name, *(_best(by[N]) if N in by else "not trained" for N in sizes), f"{laws.moves(found):.2g}"))
    yield from _table(("", *(f"N = {count(N)}" for N in sizes), "largest / least"), lines)


def _best(one: laws.Rates) -> str:
    mark = "" if not one.at_an_end else "> " if one.best == one.rates[-1] else "< "
    return f"{mark}{one.best:.2g} ({min(one.by_seed):.2g} to {max(one.by_seed):.2g})"


def _size(folder: Path) -> Iterator[str]:
    found = laws.scan_along(folder, "size")
    if not found:
        return
    yield """
## Parameters

Zg, width over layers fixed, K + (N_c/N)^α. The paper has no such law of Zg; for t tbar H it has α = 0.60 to 1.85.
"""
    lines = [(count(one.D), str(len(one.x)), *(_value(one.law, name) for name in NAMES)) for one in found]
    yield from _table(("D", "cells", "N_c", "α", "K"), lines)


def _compute(folder: Path) -> Iterator[str]:
    found = laws.scan_along(folder, "compute")
    if not found:
        return
    yield """
## Compute

Zg at N = 10⁵, each budget with a cosine of its own, K + (C_c/C)^α, beside the paper's at N = 10⁶ and the number of
points nearest to ours. The paper seems to count one FLOP for a parameter and a point where we count six.
"""
    lines = []
    for one in found:
        paper = laws.nearest("Zg", "C", one.D)
        both = (text for name in NAMES for text in (_value(one.law, name), _printed(paper, name)))
        lines.append((count(one.D), str(len(one.x)), *both, paper.held if paper else "-"))
    head = ("D", "cells", *(t for name in ("C_c", "α", "K") for t in (name, "paper")), "paper's D")
    yield from _table(head, lines)


def _dimension(folder: Path) -> Iterator[str]:
    some = laws.rows(folder, "dimension")
    if not some:
        return
    yield """
## Intrinsic dimensions

Two-NN of the last hidden layer and of the standardised invariants on test points, means over seeds; d is 3 n_f - 4, one
less at a fixed sqrt(s):
"""
    lines = []
    for (process, energy, N, D), own in laws.grouped(some, "process", "sqrt_s", "parameters", "D").items():
        d, last, inputs = (laws.mean_of(own, name) for name in ("d", "dimension", "dimension_inputs"))
        spread = laws.mean_of(own, "dimension_spread")
        at = "varies" if float(energy) == 0 else f"{float(energy):g} GeV"
        sizes = (count(float(N)), count(float(D)))
        lines.append(
            (process, at, *sizes, f"{d:.0f}", f"{last:.2f} ± {spread:.2f}", f"{inputs:.2f}", f"{last / d - 1:+.0%}")
        )
    yield from _table(("process", "sqrt(s)", "N", "D", "d", "last layer", "invariants", "last layer / d - 1"), lines)


def _pulls(folder: Path) -> Iterator[str]:
    some = laws.rows(folder, "pulls")
    if not some:
        return
    yield """
## Learned uncertainties

Pulls of the heteroscedastic surrogate on test points (eq. 16), means over seeds: of all points, and of their bulk (the
median and half of what holds the central 68.3 %). A unit Gaussian has 0, 1, 0, 1 and 68.3 % within one sigma.
"""
    lines = []
    for (process, D, updates), own in laws.grouped(some, "process", "D", "updates").items():
        columns = ("pull_mean", "pull_width", "bulk_mean", "bulk_width")
        found = [f"{laws.mean_of(own, name):.2f}" for name in columns]
        rest = (f"{laws.mean_of(own, 'within_1'):.1%}", f"{laws.mean_of(own, 'sigma_mean') ** 2:.2g}",
                f"{laws.mean_of(own, 'loss'):.2g}")  # fmt: skip
        lines.append((process, count(float(D)), count(float(updates)), *found, *rest))
    head = ("process", "D", "iterations", "mean", "width", "bulk mean", "bulk width", "within 1 σ", "σ²", "loss")
    yield from _table(head, lines)


def _value(law: CellLaw | None, name: Name) -> str:
    """A parameter with its interval."""
    if law is None:
        return "-"
    low, high = law.interval(name)
    if name == "K" and low == high:
        return "0, held"
    return f"{_number(law.value(name))} ({_number(low)} to {_number(high)})"


def _printed(law: PublishedLaw | None, name: Name) -> str:
    """What the paper prints."""
    if law is None:
        return "-"
    found = next(p for p in law.fit.parameters if p.name == name)
    ends = "" if found.ci68 is None else f" ({_number(found.ci68[0])} to {_number(found.ci68[1])})"
    return f"{_number(found.value)}{ends}"


def _number(x: float) -> str:
    return power10(x, 3) if x and not 1e-3 <= abs(x) < 1e5 else f"{x:.3g}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)]
