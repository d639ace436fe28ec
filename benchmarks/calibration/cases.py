"""Cases of the simulation. A case has a table design, a noise, and a target loss close to the uncertain floor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmarks.coverage.designs import DESIGNS, FARTHER, NOISES, OUTLIERS, RULE, UNEQUAL, Design
from isoplan.engine.arrays import Floats
from isoplan.engine.planning.plan.solve import Goal, Task, solve
from isoplan.engine.planning.scenario.limits import LimitName
from isoplan.engine.schema import Metric, Runs

Kind = Literal["free", "unique", "metric"]
UNIQUE = 3e7
"""Maximum number of unique samples in the cases that have this limit."""
MAP = {"A": 5000.0, "B": -6.0, "C": 5.0}
"""Constants of the metric map R = A e^(B L) + C, where L is the loss of a run.

R has a relative noise of ``MAP_NOISE``.
"""
MAP_NOISE = 0.02
METRIC = "R"
WIDTH = 3.0
"""Half width of the uniform distribution of the true floor around the target, in standard errors."""


@dataclass(frozen=True)
class Case:
    """A table design with a noise and a kind of question.

    ``error`` is the rounded standard error of the lowest reachable loss in fits of this design. The lowest reachable
    loss is the floor, or the loss with all unique samples.
    """

    design: Design
    noise: str
    error: float
    kind: Kind = "free"

    @property
    def name(self) -> str:
        """The name of the case: its design, its noise, and its limit or metric map if there is one."""
        more = {"free": "", "unique": f", {UNIQUE:.0e} unique samples", "metric": ", through a metric map"}
        return f"{self.design.name}, {self.noise}{more[self.kind]}"

    @property
    def plain(self) -> bool:
        """Whether the case is a loss surface in N and D, without a limit and without a metric map."""
        return self.kind == "free" and self.design.law == "chinchilla"

    @property
    def limits(self) -> dict[LimitName, float]:
        """The limits of the plan by name; {} if there are none."""
        return {"unique": UNIQUE} if self.kind == "unique" else {}

    def floor(self, random: np.random.Generator) -> float:
        """Draw the true floor of one table from a uniform distribution around the floor of the design (the target)."""
        return float(self.design.truth["E"] + WIDTH * self.error * random.uniform(-1, 1))

    def truth(self, floor: float) -> Design:
        """Return the same design with another true ``floor``."""
        d, t = self.design, self.design.truth
        if d.law == "isoflop":
            rest = (t["C_L"] / d.size) ** t["gamma"]
            return replace(d, truth={**t, "E": floor}, loss=d.loss * (floor + rest) / (t["E"] + rest))
        return replace(d, truth={**t, "E": floor}, loss=d.loss + floor - t["E"])

    def near(self) -> float:
        """Return the near target as a loss. It is the lowest loss that is possible with the floor of the design.

        The target can be met for a table if the true floor of the table is below the floor of the design.
        """
        t = self.design.truth
        return float(t["E"] + (t["B"] * UNIQUE ** -t["beta"] if self.kind == "unique" else 0.0))

    def far(self, truth: Design) -> float:
        """Return the far target, a loss that can be met for every table.

        It is the true loss on the compute-optimal frontier at ten times the largest compute of the table. If unique
        samples are limited, it is the true loss of a model with ten times the largest N, trained on all unique samples.
        """
        if self.kind == "unique":
            N = 10 * float(truth.columns["N"].max())
            return float(loss(truth, np.asarray(N), np.asarray(UNIQUE)))
        top = 10 * float(truth.size.max())
        values = {name: np.asarray(x) for name, x in truth.truth.items()}
        return float(solve(truth.find_law(), values, Task(RULE, {}), {"budget": top}, None).loss)

    def least(self, truth: Design, target: float) -> float:
        """Return the true minimum compute in FLOPs for the loss ``target``; inf if no compute is sufficient."""
        goal = Goal(np.asarray(target), np.asarray(target))
        values = {name: np.asarray(x) for name, x in truth.truth.items()}
        return float(solve(truth.find_law(), values, Task(RULE, self.limits, goal), self.limits, goal.best).C)

    def runs(self, truth: Design, seed: int) -> Runs:
        """Return a simulated table with noise. If the question is about a metric, the table has a column for it."""
        runs = truth.runs(self.noise, seed)
        if self.kind != "metric":
            return runs
        noise = np.random.default_rng([seed, 7]).normal(size=len(runs)) * MAP_NOISE
        metrics = (Metric(column=METRIC, direction="max"),)
        values = {**runs.values, METRIC: metric(runs["loss"]) * np.exp(noise)}
        return replace(runs, values=values, roles=runs.roles.model_copy(update={"metrics": metrics}))

    def another(self, truth: Design, N: float, D: float, seed: int) -> float:
        """Return the simulated result of one more run at ``N`` and ``D``, as a loss or a metric.

        The noise of this run is as large as the noise of the largest run of the table.
        """
        random = np.random.default_rng([seed, 11, NOISES.index(self.noise)])
        sd = truth.sigma
        if self.noise == "heteroscedastic":
            sd *= UNEQUAL**-0.5
        if self.noise == "outliers" and random.random() < OUTLIERS:
            sd *= FARTHER
        found = float(loss(truth, np.asarray(N), np.asarray(D)) * np.exp(sd * random.normal()))
        if self.kind != "metric":
            return found
        return float(metric(np.asarray(found)) * np.exp(MAP_NOISE * random.normal()))


def loss(design: Design, N: Floats, D: Floats) -> Floats:
    """Return the true loss, without noise, of runs at ``N`` and ``D``."""
    t = design.truth
    if design.law == "isoflop":
        C = RULE.flops(N, D)
        off = np.log(N / (t["k"] * C ** t["a"]))
        return np.asarray((t["E"] + (t["C_L"] / C) ** t["gamma"]) * np.exp(0.02 * off**2), float)
    return np.asarray(t["E"] + t["A"] * N ** -t["alpha"] + t["B"] * D ** -t["beta"], float)


def metric(loss: Floats) -> Floats:
    """Return the true metric, without noise, of runs with this ``loss``."""
    return np.asarray(MAP["A"] * np.exp(MAP["B"] * loss) + MAP["C"], float)


def _cases() -> tuple[Case, ...]:
    errors = {"Epoch-like": 0.016, "Iso-FLOP 5 x 9": 0.04, "Jets 9 x 6": 0.006}
    surfaces = [Case(DESIGNS[name], noise, error) for name, error in errors.items() for noise in NOISES]
    jets = DESIGNS["Jets 9 x 6"]
    return (
        *surfaces,
        Case(jets, "log-normal", 0.0017, "unique"),
        Case(jets, "log-normal", 0.006, "metric"),
        Case(DESIGNS["Iso-FLOP minima"], "log-normal", 0.2),
    )


CASES = {case.name: case for case in _cases()}
