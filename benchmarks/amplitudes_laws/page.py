"""Text of docs/amplitudes_laws.md, made from the bundled amplitude grids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.amplitudes_laws import laws
from benchmarks.amplitudes_laws.cells import NAMES, printed, table, value
from benchmarks.amplitudes_laws.points import points
from benchmarks.report import Report
from isoplan.engine.laws.catalogue.dimension import least_exponent
from isoplan.engine.quantities import count

HEAD = """# The laws of our amplitudes

This page contains the scaling laws of amplitude surrogates that Isoplan trained, compared with those of the paper
(arXiv:2601.13308). `make grid-amplitudes` trained the cells (training runs of a sweep) in
`data/grids/amplitudes_*.csv` on events that Isoplan simulates ([amplitudes.md](amplitudes.md)). The surrogates are
MLPs on log invariants as in the paper. This page is written by `python -m benchmarks amplitudes_laws` from these
tables. N is the number of parameters, D the number of training points, C the compute. Losses are mean squared errors
of standardised targets. Numbers in brackets are 68 % intervals. The error of a loss is 10 %, as in the paper, or the
scatter around the law if the scatter is larger.
"""


def write(folder: Path) -> str:
    """Return the text of the page. A section is omitted if its grid has no trained cell."""
    parts = [*points(folder), *_rates(folder), *_size(folder), *_compute(folder), *_dimension(folder), *_pulls(folder)]
    return "\n".join([HEAD, *parts]) + "\n"


def report(folder: Path) -> Report:
    """Return a report for docs/benchmarks.md: the fitted exponents of D next to those of the paper."""
    found = [scan for scan in laws.scans(folder) if scan.law is not None]
    said = "" if found else " No scan is trained yet: run `make grid-amplitudes`."
    return Report(
        "The laws of our amplitudes",
        "Exponents of D at N = 1e5 with 68 % intervals, fitted to the cells whose loss changes by less than 10 % if "
        "their compute is doubled. A process has no exponent if it has such cells at fewer than three values of D. The "
        "error of a loss is 10 %, or the scatter around the law if it is larger. Goal: within 30 % of the exponents of "
        f"the paper for Zg, Zgg, Zggg. More results are in [amplitudes_laws.md](amplitudes_laws.md).{said}",
        ("process", "cells", "left out", "α", "paper", "4/d"),
        tuple(
            (scan.name, str(len(scan.found) - scan.left), str(scan.left), value(scan.law, "alpha"),
             printed(scan.paper, "alpha"), f"{least_exponent(scan.cell.d):.2g}")
            for scan in found
        ),
    )  # fmt: skip


def _rates(folder: Path) -> Iterator[str]:
    studies = {name: found for grid, name in laws.STUDIES.items() if (found := laws.study(folder, grid))}
    if not studies:
        return
    sizes = sorted({one.N for found in studies.values() for one in found})
    yield """
## Learning rates

The picture shows the loss of t tbar H at 10⁴ points after 2,000 iterations (geometric mean over seeds) as a function of
the learning rate in steps of √2 (amplitudes, Fig. 1 left):

![Loss against learning rate for four sizes, with muP and without](images/amplitudes_law_rates.png)

The table contains the best rate and, in brackets, the range of the best rates of single seeds. A best rate that is the
largest or the smallest rate that was tried is marked with > or <.
"""
    lines = []
    for name, found in studies.items():
        by = {one.N: one for one in found}
        lines.append((name, *(_best(by[N]) if N in by else "not trained" for N in sizes), f"{laws.moves(found):.2g}"))
    yield from table(("", *(f"N = {count(N)}" for N in sizes), "largest / least"), lines)


def _best(one: laws.Rates) -> str:
    mark = "" if not one.at_an_end else "> " if one.best == one.rates[-1] else "< "
    return f"{mark}{one.best:.2g} ({min(one.by_seed):.2g} to {max(one.by_seed):.2g})"


def _size(folder: Path) -> Iterator[str]:
    found = laws.scan_along(folder, "size")
    if not found:
        return
    yield """
## Parameters

The law K + (N_c/N)^α is fitted to cells of Zg with a fixed ratio width / layers. The paper has no such law for Zg. For
t tbar H it has α = 0.60 to 1.85.
"""
    lines = [(count(one.D), str(len(one.x)), *(value(one.law, name) for name in NAMES)) for one in found]
    yield from table(("D", "cells", "N_c", "α", "K"), lines)


def _compute(folder: Path) -> Iterator[str]:
    found = laws.scan_along(folder, "compute")
    if not found:
        return
    yield """
## Compute

The law K + (C_c/C)^α is fitted to cells of Zg at N = 10⁵. Each budget has its own cosine schedule. The columns
"paper" contain the published law at N = 10⁶ and the nearest number of points. The paper seems to count one FLOP per
parameter and point; Isoplan counts six.
"""
    lines = []
    for one in found:
        paper = laws.nearest("Zg", "C", one.D)
        both = (text for name in NAMES for text in (value(one.law, name), printed(paper, name)))
        lines.append((count(one.D), str(len(one.x)), *both, paper.held if paper else "-"))
    head = ("D", "cells", *(t for name in ("C_c", "α", "K") for t in (name, "paper")), "paper's D")
    yield from table(head, lines)


def _dimension(folder: Path) -> Iterator[str]:
    some = laws.rows(folder, "dimension")
    if not some:
        return
    yield """
## Intrinsic dimensions

The table contains two-NN dimensions of the last hidden layer and of the standardised invariants, computed on test
points and averaged over seeds. d is 3 n_f - 4 for n_f final-state particles, and one less at a fixed sqrt(s).
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
    yield from table(("process", "sqrt(s)", "N", "D", "d", "last layer", "invariants", "last layer / d - 1"), lines)


def _pulls(folder: Path) -> Iterator[str]:
    some = laws.rows(folder, "pulls")
    if not some:
        return
    yield """
## Learned uncertainties

The table describes the pulls of the heteroscedastic surrogate on test points (eq. 16), averaged over seeds: mean and
width for all points, and for their bulk. The bulk is described by the median and by half of the width of the central
68.3 %. A unit Gaussian has the values 0, 1, 0, 1 and 68.3 % within one sigma.
"""
    lines = []
    for (process, D, updates), own in laws.grouped(some, "process", "D", "updates").items():
        columns = ("pull_mean", "pull_width", "bulk_mean", "bulk_width")
        found = [f"{laws.mean_of(own, name):.2f}" for name in columns]
        rest = (f"{laws.mean_of(own, 'within_1'):.1%}", f"{laws.mean_of(own, 'sigma_mean') ** 2:.2g}",
                f"{laws.mean_of(own, 'loss'):.2g}")  # fmt: skip
        lines.append((process, count(float(D)), count(float(updates)), *found, *rest))
    head = ("process", "D", "iterations", "mean", "width", "bulk mean", "bulk width", "within 1 σ", "σ²", "loss")
    yield from table(head, lines)
