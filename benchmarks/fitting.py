"""One cold fit and 1,000 refits of 245 runs, against scipy's BFGS from a single start."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from benchmarks.report import Report, ms, quantile
from benchmarks.tables import write_runs
from engine.fitting import FitSpec, fit
from engine.laws.law import Floats
from engine.schema import Runs
from engine.store.files import read_runs

ROWS, TRIES, REFITS, DELTA = 245, 5, 1_000, 1e-3


def run() -> Report:
    """The median of five tries each, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        runs = read_runs(write_runs(Path(folder) / "runs.csv", ROWS))
    cold, many, peer = [], [], []
    for _ in range(TRIES):
        cold.append(_seconds(lambda: fit(FitSpec(bootstrap=0), runs)))
        many.append(_seconds(lambda: fit(FitSpec(bootstrap=REFITS), runs)))
        peer.append(_seconds(lambda: scipy_fit(runs)))
    refit = (quantile(many, 0.5) - quantile(cold, 0.5)) / REFITS
    return Report(
        f"Fits of {ROWS} runs",
        "E + A/N^alpha + B/D^beta by the Huber loss of log residuals. The peer takes one start near the answer; "
        "the search for a global optimum takes it hundreds to thousands of them.",
        ("what", "median"),
        (
            ("one cold fit, checks and warnings included", ms(quantile(cold, 0.5))),
            (f"fit with {REFITS:,} cold refits", ms(quantile(many, 0.5))),
            ("one refit", f"{refit * 1e3:.2f} ms"),
            ("scipy BFGS, analytic gradient, one start", ms(quantile(peer, 0.5))),
            ("refits in the time of one peer's start", f"{quantile(peer, 0.5) / refit:.0f}"),
        ),
    )


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def scipy_fit(runs: Runs) -> float:
    """The objective that BFGS reaches from Hoffmann's values, in (log E, log A, log B, alpha, beta)."""
    log_n, log_d, log_y = (np.log(runs[name]) for name in ("N", "D", "loss"))

    def objective(x: Floats) -> tuple[float, Floats]:
        parts = np.stack([np.full_like(log_n, x[0]), x[1] - x[3] * log_n, x[2] - x[4] * log_d])
        top = parts.max(axis=0)
        log_f = top + np.log(np.exp(parts - top).sum(axis=0))
        r = log_f - log_y
        value = np.where(np.abs(r) <= DELTA, r * r / 2, DELTA * (np.abs(r) - DELTA / 2)).sum()
        share = np.exp(parts - log_f) * np.clip(r, -DELTA, DELTA)
        slope = [share[0].sum(), share[1].sum(), share[2].sum(), -(share[1] @ log_n), -(share[2] @ log_d)]
        return float(value), np.array(slope)

    start = np.array([0.5267, 6.0073, 6.0179, 0.3392, 0.2849])
    return float(minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-12}).fun)
