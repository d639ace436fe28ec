"""Script that writes the simulated demo tables: ``python -m benchmarks.bundled.demo``.

The same seed gives the same bytes. The true parameters of each table are written to ``truth.json``, so that tests can
compare fits with them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.data.files import records
from isoplan.engine.arrays import Floats
from isoplan.engine.costs import ComputeRule

Rows = Iterable[Sequence[object]]

DATA = Path(__file__).parents[2] / "data"
"""Folder of the bundled files in the repository."""

SEED = 20260
NOISE = 0.01
JETS = ComputeRule(rule="6npND", n_p=40)
JET_SAMPLES = (10_000, 63_000, 400_000, 2_500_000, 16_000_000, 100_000_000)

# A, B and C of the rejection R(L) = A e^(B L) + C at the loss L, one row per signal class. The values are chosen for
# the demo and are not from the paper.
REJECTION = {
    "Hbb": (3.50e5, -7.5, 30.0),
    "Hcc": (6.00e4, -6.8, 12.0),
    "Hgg": (8.00e2, -4.5, 4.0),
    "H4q": (1.60e4, -6.0, 6.0),
    "Hlvqq": (9.00e4, -7.0, 15.0),
    "Zqq": (4.00e3, -5.2, 5.0),
    "Wqq": (6.00e3, -5.4, 6.0),
    "top": (2.72e5, -8.0, 20.0),
    "toplv": (2.40e5, -7.2, 25.0),
}
REJECTION_NOISE = 0.02

# The minima of the iso-FLOP curves are the published optima. The shape of the curves is chosen for the demo and is not
# from the paper. The optimum of NDCG shifts to smaller models as compute increases.
CURVATURE = 0.35  # nats / (decade of N)^2
SWEEP_NOISE = 0.002
SWEEP = np.linspace(-0.75, 0.85, 9)  # log10(N / optimal N)
RANKING = {"recall@10": (1.60, -0.4, 0.12, 0.0), "NDCG@10": (1.25, -0.4, 0.04, -0.03)}
RANKING_NOISE = 0.002

UNIQUE_JETS = tuple(round(10 ** (3 + k / 2)) for k in range(11))
REPEATS = 2


def parameters(width: int) -> int:
    """Return N, the number of trainable parameters of the jet Transformer of embedding dimension d = ``width``.

    N = 48 d^2 + 87 d + 10 (jets, Sec. 2). Each of the four layers has 12 d^2 + 13 d parameters: 4 d^2 + 4 d for the
    attention, 8 d^2 + 5 d for the feed-forward network and 4 d for two norms. The embedding of 21 features has 22 d
    parameters, the class token has d, the last norm has 2 d, and the output of 10 classes has 10 d + 10.
    """
    return 4 * (12 * width**2 + 13 * width) + 22 * width + width + 2 * width + 10 * width + 10


def published(name: str, **where: str) -> dict[str, float]:
    """Return the printed value of each parameter from a table of a paper.

    Only rows with the values ``where`` are read. A key of ``where`` is the name of a column.
    """
    rows = [r for r in records(name) if all(r[k] == v for k, v in where.items())]
    return {r["parameter"]: float(r["value"]) for r in rows}


def jets_grid(rng: np.random.Generator) -> tuple[list[str], Rows, dict[str, Any]]:
    """Simulate 9 x 6 single-pass runs of jets; return column names, rows and true parameters."""
    law = published("papers/jets/table1_scaling_law.csv")
    widths = [int(r["width"]) for r in records("papers/jets/widths.csv")]
    grid = [(d, parameters(d), n) for d in widths for n in JET_SAMPLES]
    N, D = (np.array([g[i] for g in grid], float) for i in (1, 2))
    loss = law["E"] + law["A"] * N ** -law["alpha"] + law["B"] * D ** -law["beta"]
    loss = np.round(loss * np.exp(NOISE * rng.standard_normal(len(grid))), 6)
    spread = np.exp(REJECTION_NOISE * rng.standard_normal((len(REJECTION), len(grid))))
    rejections = np.array([mapped(loss, *REJECTION[s]) for s in REJECTION]) * spread
    flops = JETS.flops(N, D)
    rows = (
        [f"d{d}-D{n}", d, size, n, f"{flops[i]:.12g}", f"{loss[i]:.6f}", *(f"{r:.5g}" for r in rejections[:, i])]
        for i, (d, size, n) in enumerate(grid)
    )
    truth = {
        "law": "chinchilla",
        "parameters": {k: law[k] for k in ("E", "A", "B", "alpha", "beta")},
        "noise": NOISE,
        "n_p": JETS.n_p,
        "rejection": {s: dict(zip("ABC", REJECTION[s], strict=True)) for s in REJECTION},
        "rejection_noise": REJECTION_NOISE,
    }
    return ["run", "width", "N", "D", "C", "loss", *(f"R_{s}" for s in REJECTION)], rows, truth


def mapped(loss: Floats, A: float, B: float, C: float) -> Floats:
    """Return the rejection R(L) = A e^(B L) + C for each loss L (jets, Sec. 4)."""
    return A * np.exp(B * loss) + C


def recommender_isoflop(rng: np.random.Generator) -> tuple[list[str], Rows, dict[str, Any]]:
    """Simulate five budgets with nine model sizes each; return column names, rows and true parameters."""
    table = records("papers/behavior/table04_allocation.csv")
    optima = [r for r in table if r["estimate"] == "parabola"]
    floors = [float(r["val_loss"]) for r in table if r["estimate"] == "grid winner"]
    rows: list[list[object]] = []
    for optimum, floor in zip(optima, floors, strict=True):
        budget, best = float(optimum["budget_flops"]), float(optimum["N"])
        N = np.array([float(f"{n:.3g}") for n in best * 10**SWEEP])
        D = np.round(budget / (6 * N))
        noise = rng.standard_normal((3, len(N)))
        loss = parabola(N, best, floor) * np.exp(SWEEP_NOISE * noise[0])
        ranking = [
            mapped(parabola(N, best * (budget / 1e15) ** shift, floor), A, B, C) * np.exp(RANKING_NOISE * z)
            for (A, B, C, shift), z in zip(RANKING.values(), noise[1:], strict=True)
        ]
        for i, (n, d) in enumerate(zip(N, D, strict=True)):
            run = f"C{optimum['budget_flops']}-{i + 1}"
            cells = (f"{x:.6f}" for x in (loss[i], *(m[i] for m in ranking)))
            rows.append([run, optimum["budget_flops"], f"{n:.0f}", f"{d:.0f}", f"{6 * n * d:.12g}", *cells])
    C, N_best = (np.array([float(o[k]) for o in optima]) for k in ("budget_flops", "N"))
    a, log_k = np.polyfit(np.log(C), np.log(N_best), 1)
    k = float(np.exp(log_k))
    truth = {
        "law": "isoflop",
        "frontier": {name: float(f"{x:.6g}") for name, x in (("k", k), ("a", a), ("k_D", 1 / (6 * k)), ("b", 1 - a))},
        "minima": [
            {"budget": float(o["budget_flops"]), "N": float(o["N"]), "loss": f}
            for o, f in zip(optima, floors, strict=True)
        ],
        "curvature": CURVATURE,
        "noise": SWEEP_NOISE,
        "ranking": {k: dict(zip(("A", "B", "C", "shift"), v, strict=True)) for k, v in RANKING.items()},
        "ranking_noise": RANKING_NOISE,
    }
    return ["run", "budget", "N", "D", "C", "val_loss", *RANKING], rows, truth


def parabola(N: Floats, best: float, floor: float) -> Floats:
    """Return the loss at each ``N`` of one iso-FLOP curve: a parabola in log10 N with minimum ``floor`` at ``best``."""
    return floor + CURVATURE * np.log10(N / best) ** 2


def jets_repetition(rng: np.random.Generator) -> tuple[list[str], Rows, dict[str, Any]]:
    """Simulate four input configurations with eleven data sizes and two seeds.

    Returns column names, rows and true parameters.
    """
    table = records("papers/jets/table2_repetition.csv")
    inputs = {r["inputs"]: (r["features"], r["particles"]) for r in table}
    laws = {name: published("papers/jets/table2_repetition.csv", inputs=name) for name in inputs}
    rows: list[list[object]] = []
    for name, law in laws.items():
        features, particles = inputs[name]
        for jets in UNIQUE_JETS:
            loss = law["L_inf"] + law["B_rep"] * jets ** -law["beta_rep"]
            for seed, z in enumerate(rng.standard_normal(REPEATS)):
                run = f"f{features}-p{particles}-U{jets}-s{seed}"
                rows.append([run, name, features, particles, jets, seed, f"{loss * np.exp(NOISE * z):.6f}"])
    groups = {
        name: {"K": v["L_inf"], "X_c": float(f"{v['B_rep'] ** (1 / v['beta_rep']):.6g}"), "alpha": v["beta_rep"]}
        for name, v in laws.items()
    }
    truth = {"law": "power", "axis": "D", "groups": groups, "noise": NOISE}
    return ["run", "inputs", "features", "particles", "unique_jets", "seed", "loss"], rows, truth


TABLES = {"jets_grid": jets_grid, "recommender_isoflop": recommender_isoflop, "jets_repetition": jets_repetition}


def contents() -> dict[str, str]:
    """Return the files to write: file name -> text. Each table has its own random stream, derived from ``SEED``."""
    out: dict[str, str] = {}
    truth: dict[str, Any] = {"seed": SEED}
    for stream, (name, make) in enumerate(TABLES.items()):
        header, rows, truth[name] = make(np.random.default_rng([SEED, stream]))
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
        out[f"{name}.csv"] = text.getvalue()
    return out | {"truth.json": json.dumps(truth, indent=1) + "\n"}


def main() -> None:
    """Rewrite the demo files in ``data/demo``."""
    for name, text in contents().items():
        (DATA / "demo" / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
