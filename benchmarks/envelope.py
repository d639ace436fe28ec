"""Coverage of the intervals of the law 'envelope', with and without the correction for selection bias."""

from __future__ import annotations

import numpy as np

from benchmarks.report import Report
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.schema import Curves, Roles, Runs

TABLES = 60
POINTS = 40
SURFACE = {"E": 1.7, "A": 400.0, "B": 2000.0, "alpha": 0.34, "beta": 0.37}
TRUTH = SURFACE["beta"] / (SURFACE["alpha"] + SURFACE["beta"])
CASES = ((12, 0.003, 0.003), (12, 0.01, 0.003), (16, 0.01, 0.005), (24, 0.01, 0.003))
"""Cases as (number of training curves, noise of log loss of a whole curve, noise of log loss of each point)."""
WAYS = {"auto": "selection bias corrected", "percentile": "not corrected"}


def simulated(sizes: int, between: float, within: float, seed: int) -> Curves:
    """Return simulated training curves on a loss surface, one curve per model size.

    The sizes are between 1e6 and 1e9 parameters. Each curve goes from 1e7 to 4e11 samples.
    """
    random, v = np.random.default_rng((sizes, seed)), SURFACE
    of = np.repeat(np.arange(sizes), POINTS)
    N, D = np.geomspace(1e6, 1e9, sizes)[of], np.tile(np.geomspace(1e7, 4e11, POINTS), sizes)
    off = between * random.normal(size=sizes)[of] + within * random.normal(size=of.size)
    loss = (v["E"] + v["A"] * N ** -v["alpha"] + v["B"] * D ** -v["beta"]) * np.exp(off)
    names = np.array([f"r{i}" for i in range(sizes)])
    values = {"N": N, "D": D, "C": 6 * N * D, "loss": loss, "step": D / 1e5}
    return Curves(names, of.astype(np.int64), values, Roles(run="run"), np.zeros(sizes, "<U80"))


def run() -> Report:
    """Simulate 60 tables per case, fit each with 200 refits, and report the coverage."""
    nobody, rows = Runs(np.empty(0, np.int64), {}, Roles(), {}), []
    for case in CASES:
        tables = [simulated(*case, seed) for seed in range(TABLES)]
        for interval, words in WAYS.items():
            spec = FitSpec.model_validate({"law": "envelope", "interval": interval, "bootstrap": 200})
            found = [fit(spec, nobody, curves=one).parameters[1] for one in tables]
            held = [
                np.mean([ends is not None and ends[0] <= TRUTH <= ends[1] for ends in (getattr(p, c) for p in found)])
                for c in ("ci68", "ci95")
            ]
            values = np.array([p.value for p in found])
            sizes, between, within = case
            rows.append(
                (f"{sizes} curves, noise {between:.1%} between, {within:.1%} within curves", words,
                 f"{values.mean():.4f}", f"{values.std():.4f}", *(f"{share:.0%}" for share in held))
            )  # fmt: skip
    return Report(
        "Intervals of a lower envelope",
        f"The exponent a of N* is fitted to {TABLES} simulated tables per case. The true value is a = {TRUTH:.4f}. "
        f"Each curve has {POINTS} points over 4.6 decades of D and is smoothed as by default. Goal: 68 % (95 %) "
        "intervals contain the true value in 68 (95) of 100 tables.",
        ("curves", "intervals", "mean of a", "spread of a", "68 % coverage", "95 % coverage"),
        tuple(rows),
    )
