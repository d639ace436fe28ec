"""Simulated tables in which a label may shift the loss, and the detection of the shift (tests and benchmarks)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.diagnostics.pooling import offsets
from isoplan.engine.schema import Category
from tests.engine.fitting.tables import TRUTH, make_runs

NOISE = 0.005
SHIFT = 0.03
DATASETS = {
    "comma": (85, TRUTH | {"E": 2.52, "A": 460.0}),
    "dclm": (85, TRUTH | {"E": 2.59, "A": 480.0}),
    "nemotron": (88, TRUTH | {"E": 2.70, "A": 500.0}),
}
"""Runs and true parameters of each of three data sets, similar to a published table."""


def law(N: Floats, D: Floats, truth: Mapping[str, float] = TRUTH) -> Floats:
    """Return the loss of the five-parameter law."""
    return np.asarray(truth["E"] + truth["A"] * N ** -truth["alpha"] + truth["B"] * D ** -truth["beta"])


def places(n: int, random: np.random.Generator, cloud: bool) -> tuple[Floats, Floats]:
    """Draw N and D of ``n`` runs: over four decades, or at seven iso-FLOP budgets."""
    if cloud:
        N, D = (low * (high / low) ** random.random(n) for low, high in ((1e7, 1e10), (1e8, 3e11)))
        return N, D
    C = np.geomspace(1e18, 1e21, 7)[random.integers(0, 7, n)]
    N = np.sqrt(C / 120) * np.exp(0.8 * random.normal(size=n))
    return N, C / (6 * N)


def harmless(N: Floats, D: Floats, random: np.random.Generator) -> dict[str, Ints]:
    """Return labels that do not affect the loss: random, seed-like, correlated with the size, and in row order."""
    n, C = len(N), N * D
    return {
        "random, 2 values": random.integers(0, 2, n),
        "random, 3 values": random.integers(0, 3, n),
        "random, most values": np.arange(n) % min(8, n // 5),
        "seed": np.arange(n) % 3,
        "half of the rows": (np.arange(n) >= n // 2).astype(np.int64),
        "larger N": (np.median(N) < N).astype(np.int64),
        "thirds of D": np.digitize(D, np.quantile(D, [1 / 3, 2 / 3])).astype(np.int64),
        "mostly larger C": (np.log(C) + random.normal(size=n) > np.median(np.log(C))).astype(np.int64),
    }


def category(labels: Ints) -> Category:
    """Return a column with these labels."""
    return Category(tuple(map(str, range(int(labels.max()) + 1))), labels.astype(np.int8))


def raised(N: Floats, D: Floats, loss: Floats, labels: Mapping[str, Ints]) -> set[str]:
    """Return the names of the labels for which the residuals of a fit differ significantly; each is tested alone."""
    made = fit(FitSpec(bootstrap=0), make_runs({"N": N, "D": D, "loss": loss}))
    residual, axes = np.log(loss / made.predict({"N": N, "D": D})), [np.log(N), np.log(D)]
    tested = {name: offsets(residual, axes, {name: category(x)}, [N, D, N * D]) for name, x in labels.items()}
    return {name for name, found in tested.items() if any(o.found for o in found)}


def noise(n: int, random: np.random.Generator, heavy: bool) -> Floats:
    """Draw the factor of relative noise for ``n`` losses; ``heavy`` adds tails with outliers."""
    return np.asarray(np.exp(NOISE * random.normal(size=n) * (random.standard_t(4, n) if heavy else 1.0)))


def shifted(n: int, seed: int, values: int, cloud: bool) -> bool:
    """Return whether a label with ``values`` values of equal size is detected; each is ``SHIFT`` above the previous."""
    random = np.random.default_rng(seed)
    N, D = places(n, random, cloud)
    label = random.permutation(np.arange(n) % values)
    loss = law(N, D) * np.exp(SHIFT * label) * noise(n, random, heavy=False)
    return bool(raised(N, D, loss, {"label": label}))


def unshifted(n: int, seed: int, cloud: bool) -> set[str]:
    """Return the harmless labels that raise the warning in one table; every second table has heavy tails."""
    random = np.random.default_rng(seed)
    N, D = places(n, random, cloud)
    loss = law(N, D) * noise(n, random, heavy=seed % 2 == 1)
    return raised(N, D, loss, harmless(N, D, random))


def three_datasets(seed: int = 0) -> str:
    """Return the CSV of an iso-FLOP sweep on three data sets with floors that differ by 7 %."""
    random = np.random.default_rng(seed)
    rows = ["params,tokens,val_loss,config.dataset"]
    for name, (n, truth) in DATASETS.items():
        N, D = places(n, random, cloud=False)
        loss = law(N, D, truth) * np.exp(0.002 * random.normal(size=n))
        rows += [f"{a:.6g},{b:.6g},{c:.8g},{name}" for a, b, c in zip(N, D, loss, strict=True)]
    return "\n".join(rows) + "\n"
