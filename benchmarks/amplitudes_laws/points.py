"""Section of docs/amplitudes_laws.md on the number of training points D.

The section contains the losses, the laws with and without a floor, the local slopes, and the median errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path

from benchmarks.amplitudes_laws import laws
from benchmarks.amplitudes_laws.cells import NAMES, printed, table, value
from isoplan.engine.laws.catalogue.dimension import least_exponent
from isoplan.engine.planning.amplitude.cell_laws import CellLaw, data_law
from isoplan.engine.planning.amplitude.cells import Point
from isoplan.engine.quantities import count

SYMBOLS = {"X_c": "X_c", "alpha": "α", "K": "K"}
ORDER = ("Zg", "Zgg", "Zggg")
MARKS = {"converged": "", "falls": "↓", "rises": "↑", "not doubled": "?"}


def points(folder: Path) -> Iterator[str]:
    """Yield the lines of the section; no lines if no scan of D is trained."""
    scans = laws.scans(folder)
    if not scans:
        return
    yield f"""## Points

{sum(len(scan.found) for scan in scans)} cells at N = 10⁵ are used, one for each process, D and seed: the
longest-trained cell that was repeated with twice its compute or, if no cell was repeated, the longest-trained cell.
Each D of a process has one of these states:

- **Converged**: twice the compute changes the loss by less than 10 %, up or down, in the geometric mean over the seeds
  that have both cells.
- ↓: the loss falls by more than 10 %. The cells were not trained long enough.
- ↑: the loss rises by more than 10 %. The loss is limited by the training and not by D, so this D is
  undecided.
- ?: no cell was repeated with twice its compute.

The laws use only converged values of D. From 3,000 points on, one of three seeds was repeated, except for Zg at
10,000 points.

The table contains the geometric mean of the loss over seeds. The brackets contain the change of the loss with twice the
compute and, if some seeds were not tested, the number of tested seeds.
"""
    yield from _losses(scans)
    yield from _laws(scans)
    yield from _floors(scans)
    yield from _slopes(scans)
    yield from _errors(folder)
    yield from _verdicts(scans)


def _places(scans: Sequence[laws.Scan]) -> list[float]:
    return sorted({one.cell.D for scan in scans for one in scan.found})


def _losses(scans: Sequence[laws.Scan]) -> Iterator[str]:
    lines = []
    for scan in scans:
        own = [[one for one in scan.found if one.cell.D == D] for D in _places(scans)]
        lines.append((scan.name, *(_point(some) if some else "not trained" for some in own)))
    yield from table(("process", *(f"D = {count(D)}" for D in _places(scans))), lines)


def _point(own: Sequence[Point]) -> str:
    fell = next((one.fell for one in own if one.fell is not None), None)
    seeds, tried = len({one.cell.seed for one in own}), max(one.seeds for one in own)
    of = f", {tried} of {seeds}" if tried < seeds else ""
    change = "" if fell is None else f" ({-fell:+.0%}{of})"
    mark = next((MARKS[one.state] for one in own if not one.limited), "")
    return f"{laws.mean_loss(one.cell.loss for one in own):.2g}{change}{mark}"


def _laws(scans: Sequence[laws.Scan]) -> Iterator[str]:
    yield """
### Laws of the converged values of D

The law K + (X_c/D)^α is fitted by least squares of the logarithms and compared with the law of the paper at N = 10⁵
(Tables 2 to 13). K is fixed at 0 if a process has fewer than four converged values of D.
"""
    if any(scan.law for scan in scans):
        yield "![Loss against the training points, with one law per process](images/amplitudes_law_data.png)\n"
    lines = []
    for scan in scans:
        both = (text for name in NAMES for text in (value(scan.law, name), printed(scan.paper, name)))
        scatter = "-" if scan.law is None else f"{scan.law.scatter:.0%}"
        lines.append((scan.name, str(len(scan.found) - scan.left), str(scan.left), *both, scatter))
    head = ("process", "cells", "left out", *(t for name in NAMES for t in (SYMBOLS[name], "paper")), "scatter")
    yield from table(head, lines)
    if none := [f"{scan.name} ({_converged(scan)})" for scan in scans if scan.law is None]:
        yield f"""
A law needs at least three converged values of D. These processes have fewer, so their cells give no exponent of D:
{", ".join(none)}.
To determine their exponents, train these cells with lower learning rates, and repeat three seeds of each D with twice
the compute."""


def _converged(scan: laws.Scan) -> str:
    found = len({one.cell.D for one in scan.found if one.limited})
    return f"{found} of {len({one.cell.D for one in scan.found})} values of D"


def _floors(scans: Sequence[laws.Scan]) -> Iterator[str]:
    yield """
### With and without a floor

The exponent depends on whether the law has a floor K, and on whether undecided values of D are used. The exponent is
not determined if these columns differ by more than their intervals.
"""
    lines = []
    for scan in scans:
        kinds = list(product((False, True), (True, False)))
        four = [_alpha(data_law(scan.found, undecided=more, floor=floor), floor) for more, floor in kinds]
        if set(four) != {"-"}:
            lines.append((scan.name, *four, f"{least_exponent(scan.cell.d):.3g}"))
    head = ("converged, K free", "converged, K = 0", "with undecided, K free", "with undecided, K = 0")
    yield from table(("process", *(f"α, {one}" for one in head), "4/d"), lines)


def _alpha(law: CellLaw | None, free: bool) -> str:
    held = law is not None and "K" in law.fit.spec.fixed
    return value(law, "alpha") + (", too few values of D for K" if free and held else "")


def _slopes(scans: Sequence[laws.Scan]) -> Iterator[str]:
    yield """
### Local slopes

The table contains the exponents between neighbouring values of D, computed from the means above. The marks are those of
the larger D. A power law has one slope.
"""
    ends = list(pairwise(_places(scans)))
    lines = []
    for scan in scans:
        states = {one.cell.D: one.state for one in scan.found}
        found = {(D, E): f"{slope:.2f}{MARKS[states[E]]}" for D, E, slope in scan.slopes}
        lines.append((scan.name, *(found.get(pair, "-") for pair in ends)))
    yield from table(("process", *(f"{count(D)} to {count(E)}" for D, E in ends)), lines)
    if rms := [f"{scan.name} {r[1]:.2%} at D = {count(r[0])}" for scan in scans if (r := scan.relative)]:
        yield f"\nAs an RMS relative error, sigma(log A) sqrt(MSE): {', '.join(rms)}."


def _errors(folder: Path) -> Iterator[str]:
    found = laws.errors(folder)
    if not found:
        return
    yield """
### RMS, median and 99 % errors

A few test points dominate the RMS error, so it is not the error of a typical point. The exponents in this table are the
slopes of straight lines without a floor. They are fitted to the squared errors, averaged over seeds, so they are
comparable with α. All values of D are used, because the median error has converged at few of them. The errors are those
at the largest D.
"""
    lines = [
        (one.process, count(one.D), *(f"{one.exponents[kind]:.2f}" for kind in laws.KINDS),
         *(f"{100 * one.errors[kind]:.2g} %" for kind in laws.KINDS), f"{one.errors['rms'] / one.errors['median']:.2g}")
        for one in found
    ]  # fmt: skip
    kinds = ("RMS", "median", "99 %")
    head = ("process", "largest D", *(f"exponent, {k}" for k in kinds), *(f"error, {k}" for k in kinds), "RMS / median")
    yield from table(head, lines)


def _verdicts(scans: Sequence[laws.Scan]) -> Iterator[str]:
    known = [scan for scan in scans if scan.law is not None]
    if not known:
        return
    yield """
### Exponents and dimensions

The bound of the paper is α ≥ 4/d with d = 3 n_f - 4 (eqs. 4, 6). In the paper, processes with two particles lie near or
below this bound.

![Exponents of D against the dimension, the line 4/d, and the published exponents](images/amplitudes_law_exponents.png)
"""
    yield "The exponents are those of the converged values of D.\n"
    lines = []
    for scan in known:
        ours, theirs = scan.law.value("alpha") if scan.law else math.nan, scan.paper
        ratio = "-" if theirs is None else f"{ours / theirs.alpha:.2f}"
        paper = "-" if theirs is None else f"{theirs.alpha:.3g}"
        bound = f"{least_exponent(scan.cell.d):.3g}"
        lines.append((scan.name, str(scan.cell.d), value(scan.law, "alpha"), paper, ratio, bound, laws.verdict(scan)))
    yield from table(("process", "d", "α", "paper", "ratio", "4/d", "against the bound"), lines)
    gluons = {scan.process: scan.law.value("alpha") for scan in known if scan.law and scan.target == "log"}
    if set(ORDER) <= set(gluons):
        falls = all(gluons[a] > gluons[b] for a, b in pairwise(ORDER))
        near = [s.process for s in known if s.process in ORDER and s.paper and s.target == "log"
                and abs(gluons[s.process] / s.paper.alpha - 1) <= laws.CLOSE]  # fmt: skip
        within = "all three" if len(near) == len(ORDER) else ", ".join(near) or "none"
        yield f"""
From Zg over Zgg to Zggg the exponents {"fall" if falls else "do not fall"}. Processes with an exponent within
{laws.CLOSE:.0%} of that of the paper: {within}."""
