"""Designs with a known floor: the shipped table of jets, few irregular runs, and designs that tuned no rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.coverage.designs import DESIGNS as COVERED
from benchmarks.coverage.designs import HOFFMANN
from data.files import path
from engine.fitting import FitSpec, fit
from engine.laws.law import Floats
from engine.schema import Roles, Runs
from engine.store.files import read_runs

Kind = Literal["tuned", "untuned", "held out"]
JETS_FLOORS = (0.0, 0.05, 0.15, 0.3, 0.5)
HELD_OUT_SEED, HELD_OUT = 20261123, 6
"""Seed of the designs that were drawn after the rules were frozen, and how many there are."""


@dataclass(frozen=True, eq=False)
class FloorDesign:
    """Runs at ``N`` and ``D`` (n,) with true losses ``loss`` (n,), floor ``floor`` and scatter ``sigma`` of log loss.

    ``error`` is the least standard error that an unbiased estimate of the floor has (Cramer-Rao).

    ``kind`` is "tuned" where the rules were tuned on it, "held out" where it was drawn after they were frozen, else
    "untuned".
    """

    name: str
    kind: Kind
    N: Floats
    D: Floats
    loss: Floats
    floor: float
    sigma: float
    error: float

    def runs(self, seed: int) -> Runs:
        """A table with log-normal noise; the same seed gives the same table."""
        noise = np.random.default_rng([seed, 17]).normal(size=len(self.loss)) * self.sigma
        values = {"N": self.N, "D": self.D, "loss": self.loss * np.exp(noise)}
        return Runs(np.arange(len(self.loss)), values, Roles(loss="loss"), {}, self.name)


def _design(name: str, kind: Kind, N: Floats, D: Floats, law: Mapping[str, float], sigma: float) -> FloorDesign:
    """The design of a surface with parameters ``law``."""
    E, A, B, alpha, beta = (law[name] for name in ("E", "A", "B", "alpha", "beta"))
    u, v = A * N**-alpha, B * D**-beta
    loss = np.asarray(E + u + v, float)
    slopes = np.array([np.ones_like(N), u, v, -u * np.log(N), -v * np.log(D)]) / loss  # by E, ln A, ln B, alpha, beta
    error = float(np.sqrt(np.linalg.inv(slopes @ slopes.T)[0, 0])) * sigma
    return FloorDesign(name, kind, N, D, loss, E, sigma, error)


def _jets() -> Iterator[FloorDesign]:
    """The shipped table of one-pass jets: its N and D, the law refitted with each floor held, and its scatter."""
    runs = read_runs(Path(str(path("grids/jets_one_pass.csv"))))
    for floor in JETS_FLOORS:
        made = fit(FitSpec(objective="ols-log", fixed={"E": floor}, bootstrap=0), runs)
        loss = made.predict({"N": runs["N"], "D": runs["D"]})
        sigma = float(np.sqrt(np.sum(np.log(runs["loss"] / loss) ** 2) / (len(runs) - 4)))
        law = {name: float(value) for name, value in made.values.items()}
        yield _design(f"jets, E = {floor:g}", "tuned", runs["N"], runs["D"], law, sigma)


def _irregular(name: str, kind: Kind, u: Floats, v: Floats) -> FloorDesign:
    """12 runs at 3 % from evenly spread ``u`` and ``v`` (12,): N over 2.5 decades, 2 to 160 samples a parameter."""
    N = 10 ** (7.0 + 2.5 * u)
    D = N * 10 ** (0.3 + 1.9 * v)
    return _design(name, kind, N, D, {**HOFFMANN, "E": 1.7}, 0.03)


def _recurrence() -> FloorDesign:
    """Places by the additive recurrence of the coverage designs, so that none was chosen."""
    i = np.arange(12.0)
    u, v = (np.mod(0.5 + i * step, 1) for step in (0.7548776662466927, 0.5698402909980532))
    return _irregular("12 irregular runs, E = 1.7", "untuned", u, v)


def _covered() -> Iterator[FloorDesign]:
    """Surfaces of docs/coverage.md, whose floors are resolved."""
    for name in ("Jets 9 x 6", "Iso-FLOP 5 x 9", "Epoch-like"):
        d = COVERED[name]
        yield _design(name, "untuned", d.columns["N"], d.columns["D"], d.truth, d.sigma)


def _held_out() -> Iterator[FloorDesign]:
    """Random laws, sizes, numbers of runs and noise, from one seed."""
    random = np.random.default_rng(HELD_OUT_SEED)
    for i in range(HELD_OUT):
        n, sigma = int(random.integers(10, 61)), float(np.exp(random.uniform(np.log(0.005), np.log(0.04))))
        low, tokens = random.uniform(4, 8), random.uniform(0, 2)
        N = 10 ** (low + random.uniform(1.5, 3) * random.random(n))
        D = N * 10 ** (tokens + random.uniform(1, 2.5) * random.random(n))
        alpha, beta = random.uniform(0.2, 0.6, 2)
        parts = random.uniform(0.3, 2.0, 2)  # what the two terms are at the smallest run
        floor = 0.0 if i % 3 == 2 else float(random.uniform(0.2, 2.0))
        A, B = parts[0] * N.min() ** alpha, parts[1] * D.min() ** beta
        law = {"E": floor, "A": A, "B": B, "alpha": alpha, "beta": beta}
        yield _design(
            f"held out {i + 1}: {n} runs at {100 * sigma:.1f} %, E = {floor:.2g}", "held out", N, D, law, sigma
        )


DESIGNS = (*_jets(), _recurrence(), *_covered(), *_held_out())
