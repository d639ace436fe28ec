"""Table designs with known true parameters, and the noise that is added to their losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from benchmarks.coverage.drawn import HOFFMANN, Surface, drawn, irregular
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting.types.intervals import choose
from isoplan.engine.laws import Law, get_law
from isoplan.engine.laws.law import Values
from isoplan.engine.planning.optimum.frontier import frontier, least_compute
from isoplan.engine.schema import Roles, Runs

NOISES = ("log-normal", "outliers", "heteroscedastic")
OUTLIERS, FARTHER = 0.02, 10.0
"""Fraction of the runs that are outliers, and ratio of the noise of outliers to the normal noise."""
UNEQUAL = 3.0
"""Noise of the smallest run divided by the noise of the largest run. The noise is a power law of the run size."""
RULE = ComputeRule()
Quantity = Callable[[Values], Floats]
"""Function of the parameters of a law. The array of each parameter and the resulting array have the same shape."""


@dataclass(frozen=True, eq=False)
class Design:
    """A table of runs without noise: the columns, the true law and its parameters, and the noise to add.

    - ``sigma``: standard deviation of log loss.
    - ``size``: size of each run, for the noise 'heteroscedastic', which depends on the size.
    - ``floorless``: whether the true floor is zero.
    - ``few``: whether the runs are few or the true floor is zero. The coverage may then be too high, but not too low.
    - ``tuned``: whether the rules of the default interval were tuned on this design.
    """

    name: str
    text: str
    law: str
    axis: str | None
    truth: Mapping[str, float]
    columns: Mapping[str, Floats]
    loss: Floats
    size: Floats
    sigma: float
    few: bool = False
    floorless: bool = False
    tuned: bool = True

    def find_law(self) -> Law:
        """Return the true law of the design, without its parameters."""
        return get_law(self.law, self.axis)

    def covered_elsewhere(self) -> tuple[str, ...]:
        """Return the interval methods that are not simulated under their own name.

        They are the default method of this design, which is simulated under the name 'auto', and all methods that the
        law of the design does not support.
        """
        if self.law == "isoflop":
            return "residual", "profile"
        return (choose("auto", len(self.loss), len(self.truth)),)

    def runs(self, noise: str, seed: int) -> Runs:
        """Return a table with ``noise``. The same ``seed`` gives the same table."""
        random = np.random.default_rng([seed, NOISES.index(noise)])
        sd = np.full(len(self.loss), self.sigma)
        if noise == "heteroscedastic":
            along = np.log(self.size / self.size.min()) / np.log(np.ptp(self.size) / self.size.min() + 1)
            sd *= UNEQUAL ** (0.5 - along)
        if noise == "outliers":
            sd[random.random(len(sd)) < OUTLIERS] *= FARTHER
        values = {**self.columns, "loss": self.loss * np.exp(sd * random.normal(size=len(sd)))}
        if {"N", "D"} <= values.keys():
            values["C"] = RULE.flops(values["N"], values["D"])
        return Runs(np.arange(len(sd)), values, Roles(loss="loss"), {}, self.name)

    def quantities(self) -> dict[str, tuple[float, Quantity]]:
        """Return the true value and the function of each quantity, by the name of the quantity.

        The coverage of these quantities is measured. The function computes the quantity from the parameters.
        """
        law = self.find_law()
        true = {name: np.asarray(value) for name, value in self.truth.items()}
        found: dict[str, Quantity] = {name: itemgetter(name) for name in law.names}
        axis = self.axis or "C"
        along = partial(_one_axis if self.axis else _frontier, law)
        top = float(np.max(self.columns[axis] if self.axis else RULE.flops(self.columns["N"], self.columns["D"])))
        for far in (10, 100):
            found[f"L at {far} x"] = partial(along, np.asarray(far * top))
        found[f"{axis} at a target"] = partial(_least, law, axis, along(np.asarray(10 * top), true))
        return {name: (float(value(true)), value) for name, value in found.items()}


def _one_axis(law: Law, x: Floats, v: Values) -> Floats:
    return np.asarray(v["K"] + np.exp(v["alpha"] * (np.log(v["X_c"]) - np.log(x))), float)


def _frontier(law: Law, C: Floats, v: Values) -> Floats:
    return frontier(law, v, C, RULE).loss


def _least(law: Law, axis: str, target: Floats, v: Values) -> Floats:
    return np.asarray(getattr(least_compute(law, v, target, RULE), axis), float)


JETS = {"E": 0.35, "A": 30.0, "B": 8.0, "alpha": 0.4545, "beta": 0.224}
MINIMA = {"k": 0.1, "a": 0.5, "k_D": 1 / 0.6, "b": 0.5, "E": 1.8, "C_L": 3e16, "gamma": 0.16}


def _surface(name: str, text: str, truth: Mapping[str, float], N: Floats, D: Floats, sigma: float) -> Design:
    loss = truth["E"] + truth["A"] * N ** -truth["alpha"] + truth["B"] * D ** -truth["beta"]
    return Design(name, text, "chinchilla", None, truth, {"N": N, "D": D}, loss, RULE.flops(N, D), sigma)


def _epoch() -> Design:
    """Return 240 runs with evenly distributed N and tokens per parameter (a quasi-random additive recurrence)."""
    i = np.arange(240)
    u, v = (0.5 + i * 0.7548776662466927) % 1, (0.5 + i * 0.5698402909980532) % 1
    N = np.asarray(10 ** (7.7 + 2.5 * u), float)
    D = np.asarray(np.clip(N * 10 ** (0.2 + 2.2 * v), 2e8, 3e11), float)
    text = "240 runs, N from 5e7 to 1.6e10, 1.6 to 250 tokens per parameter, noise 1 %"
    return _surface("Epoch-like", text, HOFFMANN, N, D, 0.01)


def _sweep() -> tuple[Floats, Floats, Floats]:
    C = np.repeat(np.geomspace(1e18, 1e20, 5), 9)
    best = frontier(get_law("chinchilla"), {n: np.asarray(x) for n, x in HOFFMANN.items()}, C, RULE).N
    N = best * np.tile(np.geomspace(1 / 6, 6, 9), 5)
    return C, N, C / (6 * N)


def _isoflop() -> Design:
    _, N, D = _sweep()
    text = "5 budgets from 1e18 to 1e20 with 9 sizes each, noise 0.5 %"
    return _surface("Iso-FLOP 5 x 9", text, HOFFMANN, N, D, 0.005)


def _minima() -> Design:
    """Return runs at five budgets, like ``_isoflop``.

    The loss of each budget is an exact parabola of log loss in log N.
    """
    C = np.repeat(np.geomspace(1e18, 1e20, 5), 9)
    offset = np.tile(np.linspace(-np.log(6), np.log(6), 9), 5)
    t = MINIMA
    N = t["k"] * C ** t["a"] * np.exp(offset)
    loss = (t["E"] + (t["C_L"] / C) ** t["gamma"]) * np.exp(0.02 * offset**2)
    text = "5 budgets from 1e18 to 1e20 with 9 sizes each on exact parabolas, noise 0.5 %"
    columns = {"N": N, "D": C / (6 * N), "budget": C}
    return Design("Iso-FLOP minima", text, "isoflop", None, t, columns, loss, C, 0.005)


def _jets() -> Design:
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e4, 1e7, 6), np.geomspace(1e5, 1e8, 9)))
    return _surface("Jets 9 x 6", "9 sample sizes times 6 model sizes, noise 0.5 %", JETS, N, D, 0.005)


def _scan(name: str, floor: float, text: str) -> Design:
    D = 10 ** np.arange(3, 6.01, 0.5)
    truth = {"K": floor, "X_c": 1e3, "alpha": 0.5}
    loss = floor + (1e3 / D) ** 0.5
    return Design(name, text, "power", "D", truth, {"D": D}, loss, D, 0.02, few=True, floorless=floor == 0)


def _untuned(name: str, surface: Surface) -> Design:
    """Return a design that was not used to tune the method. Fewer than 4 runs per parameter of the law count as few."""
    few, floorless = len(surface.N) < 4 * len(surface.law), surface.law["E"] == 0
    made = _surface(name, surface.text, surface.law, surface.N, surface.D, surface.sigma)
    return replace(made, few=few or floorless, floorless=floorless, tuned=False)


HELD_OUT_SEED, HELD_OUT = 20261124, 4
"""Seed and number of the random designs. They were drawn after the default interval method was fixed."""
DESIGNS = {
    d.name: d
    for d in (
        _epoch(),
        _isoflop(),
        _minima(),
        _jets(),
        _scan("7 runs, floor", 0.05, "7 values of D over three decades, L = 0.05 + (1000/D)^0.5, noise 2 %"),
        _scan("7 runs, no floor", 0.0, "the same 7 values of D, with a floor of zero"),
        _untuned("12 irregular runs", irregular()),
        *(_untuned(f"Held out {i}", surface) for i, surface in enumerate(drawn(HELD_OUT_SEED, HELD_OUT), 1)),
    )
}
