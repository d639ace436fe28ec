"""Table designs with a known floor: the bundled jets table, and designs that were not used to tune the method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.coverage.designs import DESIGNS as COVERED
from benchmarks.coverage.drawn import Surface, drawn, irregular
from isoplan.data.files import path
from isoplan.engine.arrays import Floats
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.schema import Roles, Runs
from isoplan.engine.store.files.table_files import read_runs

Kind = Literal["tuned", "untuned", "held out"]
JETS_FLOORS = (0.0, 0.05, 0.15, 0.3, 0.5)
HELD_OUT_SEED, HELD_OUT = 20261123, 6
"""Seed and number of the random designs. They were drawn after the method was fixed."""
OUTLIERS, WIDER = 0.05, 5.0
"""Fraction of the runs that are outliers, and ratio of the noise of outliers to the normal noise."""


@dataclass(frozen=True, eq=False)
class FloorDesign:
    """Runs at ``N`` and ``D`` (n,) with the true losses ``loss`` (n,), the true ``floor``, and the noise of the losses.

    ``sigma`` is the standard deviation of the noise of log loss. A fraction ``outliers`` of the runs has noise that is
    ``WIDER`` times larger. ``error`` is the smallest possible standard error of an unbiased estimate of the floor
    (Cramer-Rao bound).

    ``kind`` is "tuned" if the method was tuned on this design, "held out" if the design was drawn after the method was
    fixed, and "untuned" otherwise.
    """

    name: str
    kind: Kind
    N: Floats
    D: Floats
    loss: Floats
    floor: float
    sigma: float
    error: float
    outliers: float = 0.0

    def runs(self, seed: int) -> Runs:
        """Return a table with log-normal noise. The same ``seed`` gives the same table."""
        random = np.random.default_rng([seed, 17])
        noise = random.normal(size=len(self.loss)) * self.sigma
        noise *= np.where(random.random(len(self.loss)) < self.outliers, WIDER, 1.0)
        values = {"N": self.N, "D": self.D, "loss": self.loss * np.exp(noise)}
        return Runs(np.arange(len(self.loss)), values, Roles(loss="loss"), {}, self.name)


def _design(name: str, kind: Kind, N: Floats, D: Floats, law: Mapping[str, float], sigma: float) -> FloorDesign:
    """Return the design of a surface with the parameters ``law``; its ``error`` is computed here."""
    E, A, B, alpha, beta = (law[name] for name in ("E", "A", "B", "alpha", "beta"))
    u, v = A * N**-alpha, B * D**-beta
    loss = np.asarray(E + u + v, float)
    # The derivatives of ln(loss) with respect to E, ln A, ln B, alpha and beta, each (n,).
    slopes = np.array([np.ones_like(N), u, v, -u * np.log(N), -v * np.log(D)]) / loss
    error = float(np.sqrt(np.linalg.inv(slopes @ slopes.T)[0, 0])) * sigma
    return FloorDesign(name, kind, N, D, loss, E, sigma, error)


def _jets() -> Iterator[FloorDesign]:
    """Yield the designs from the bundled table of one-pass jets, one design per floor.

    A design has the N and D of the bundled table, and the true losses of the law that was refitted with a fixed floor.
    ``sigma`` is the scatter of the table around the refitted law.
    """
    runs = read_runs(Path(str(path("grids/jets_one_pass.csv"))))
    for floor in JETS_FLOORS:
        made = fit(FitSpec(objective="ols-log", fixed={"E": floor}, bootstrap=0), runs)
        loss = made.predict({"N": runs["N"], "D": runs["D"]})
        sigma = float(np.sqrt(np.sum(np.log(runs["loss"] / loss) ** 2) / (len(runs) - 4)))
        law = {name: float(value) for name, value in made.values.items()}
        yield _design(f"jets, E = {floor:g}", "tuned", runs["N"], runs["D"], law, sigma)


def _recurrence() -> FloorDesign:
    """Return the design of the 12 irregular runs, whose positions follow an additive recurrence."""
    return _of("12 irregular runs, E = 1.7", "untuned", irregular())


def _of(name: str, kind: Kind, surface: Surface) -> FloorDesign:
    return _design(name, kind, surface.N, surface.D, surface.law, surface.sigma)


def _covered() -> Iterator[FloorDesign]:
    """Yield the surfaces of docs/coverage.md whose floors are resolved."""
    for name in ("Jets 9 x 6", "Iso-FLOP 5 x 9", "Epoch-like"):
        d = COVERED[name]
        yield _design(name, "untuned", d.columns["N"], d.columns["D"], d.truth, d.sigma)


def _held_out() -> Iterator[FloorDesign]:
    """Yield the random surfaces: laws, sizes, numbers of runs and noise are drawn with ``HELD_OUT_SEED``."""
    for i, surface in enumerate(drawn(HELD_OUT_SEED, HELD_OUT)):
        yield _of(f"held out {i + 1}: {surface.text}", "held out", surface)


def _with_outliers(designs: Iterable[FloorDesign]) -> Iterator[FloorDesign]:
    """Yield each of the ``designs`` with outliers added: one run in twenty has five times the noise."""
    for d in designs:
        yield replace(d, name=f"{d.name}, outliers", kind="untuned", outliers=OUTLIERS)


NORMAL = (*_jets(), _recurrence(), *_covered(), *_held_out())
SPOILT = ("jets, E = 0", "jets, E = 0.3", "12 irregular runs, E = 1.7", "Jets 9 x 6", "Iso-FLOP 5 x 9")
DESIGNS = (*NORMAL, *_with_outliers(d for d in NORMAL if d.name in SPOILT))
