"""Bias of approach 2 (parabolas at fixed compute), for designs whose bias is published."""

from __future__ import annotations

import numpy as np

from benchmarks.report import Report
from isoplan.engine.costs import ComputeRule
from isoplan.engine.fitting import FitSpec, fit, parabola_bias
from isoplan.engine.schema import Roles, Runs

SURFACES = {
    "alpha = beta": (0.31, 0.31, 400.0, 400.0),
    "Chinchilla": (0.34, 0.28, 406.4, 410.7),
    "alpha = 3 beta": (0.465, 0.155, 406.4, 410.7),
}
DESIGNS = {"centred": (1.0, 1.0), "3 x off centre": (3.0, 1.0), "drift to 3 x": (1.0, 3.0)}
WIDTHS = (2, 4, 8, 16)
PUBLISHED = {
    ("alpha = beta", "centred"): "0, 0, 0, 0",
    ("Chinchilla", "centred"): "-0.33, -1.30, -2.90, -5.10",
    ("alpha = 3 beta", "centred"): "-1.67, -6.50, -13.91, -23.12",
    ("alpha = beta", "3 x off centre"): "+3.97 to +1.51",
    ("Chinchilla", "3 x off centre"): "+7.11 to +0.24",
    ("alpha = 3 beta", "3 x off centre"): "+19.2 to -2.4",
    ("alpha = beta", "drift to 3 x"): "up to +6.07",
    ("Chinchilla", "drift to 3 x"): "up to +11.6",
    ("alpha = 3 beta", "drift to 3 x"): "up to +34.6",
}


def run() -> Report:
    """Compute the relative error of the compute-optimal D* at 1e24 FLOPs for each surface and design.

    The report compares this error with the published value.
    """
    rows = []
    for design, (off, drift) in DESIGNS.items():
        for surface, law in SURFACES.items():
            found = [_bias(*law, width, off, drift) for width in WIDTHS]
            ours = ", ".join(f"{round(100 * d, 2) + 0.0:+.2f}" for d, _ in found)
            exponents = ", ".join(f"{round(a, 4) + 0.0:+.4f}" for _, a in found)
            rows.append((design, surface, ours, PUBLISHED[surface, design], exponents))
    widths = ", ".join(f"{w} x" for w in WIDTHS)
    return Report(
        "Bias of parabolas (approach 2)",
        "Each design has five budgets from 1e17 to 1e21 FLOPs and fifteen sizes per budget, from N*/w to N* w for w = "
        f"{widths}. Parabolas are fitted to the loss without noise. The table contains the error of D* at 1e24 FLOPs "
        "in %, next to that in arXiv:2603.22339, and the bias of the exponent a.",
        ("design", "surface", "error of D* [%]", "published [%]", "bias of a"),
        tuple(rows),
    )


def _bias(alpha: float, beta: float, A: float, B: float, width: float, off: float, drift: float) -> tuple[float, float]:
    """Return the relative error of the optimal D at 1000 times the largest budget, and the bias of the exponent a."""
    C = np.geomspace(1e17, 1e21, 5)
    best = (alpha * A / (beta * B)) ** (1 / (alpha + beta)) * (C / 6) ** (beta / (alpha + beta))
    centre = best / off / drift ** (np.arange(5) / 4)
    N = (centre[:, None] * np.geomspace(1 / width, width, 15)).ravel()
    budget = np.repeat(C, 15)
    D = ComputeRule().samples(budget, N)
    values = {"N": N, "D": D, "C": budget, "budget": budget, "loss": 1.69 + A * N**-alpha + B * D**-beta}
    runs = Runs(np.arange(75), values, Roles(N="N", D="D", loss="loss", budget="budget"), {})
    found = parabola_bias(fit(FitSpec(law="isoflop", objective="ols", bootstrap=0), runs), runs)
    return found.at[-1].D, found.bias
