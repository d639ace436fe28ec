"""Simulate run tables with a label that may shift the loss, and detect the shift. Used by tests and benchmarks."""

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
"""Number of runs and true parameters of three simulated data sets, similar to those of a published table."""


def law(N: Floats, D: Floats, truth: Mapping[str, float] = TRUTH) -> Floats:
    """Return the loss E + A N^-alpha + B D^-beta with the parameters ``truth``."""
    return np.asarray(truth["E"] + truth["A"] * N ** -truth["alpha"] + truth["B"] * D ** -truth["beta"])


def places(n: int, random: np.random.Generator, cloud: bool) -> tuple[Floats, Floats]:
    """Draw N and D of ``n`` runs: independently over several decades if ``cloud``, else at seven iso-FLOP budgets."""
    if cloud:
        N, D = (low * (high / low) ** random.random(n) for low, high in ((1e7, 1e10), (1e8, 3e11)))
        return N, D
    C = np.geomspace(1e18, 1e21, 7)[random.integers(0, 7, n)]
    N = np.sqrt(C / 120) * np.exp(0.8 * random.normal(size=n))
    return N, C / (6 * N)


def harmless(N: Floats, D: Floats, random: np.random.Generator) -> dict[str, Ints]:
    """Return labels without effect on the loss; some are random, some follow the row order, N, D or C."""
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
    """Return a categorical column from integer labels."""
    return Category(tuple(map(str, range(int(labels.max()) + 1))), labels.astype(np.int8))


def raised(N: Floats, D: Floats, loss: Floats, labels: Mapping[str, Ints]) -> set[str]:
    """Test each label separately, and return the names of the labels whose values shift the residuals significantly."""
    made = fit(FitSpec(bootstrap=0), make_runs({"N": N, "D": D, "loss": loss}))
    residual, axes = np.log(loss / made.predict({"N": N, "D": D})), [np.log(N), np.log(D)]
    tested = {name: offsets(residual, axes, {name: category(x)}, [N, D, N * D]) for name, x in labels.items()}
    return {name for name, found in tested.items() if any(o.found for o in found)}


def noise(n: int, random: np.random.Generator, heavy: bool) -> Floats:
    """Draw ``n`` log-normal noise factors for losses. If ``heavy``, their logarithms have heavy tails."""
    return np.asarray(np.exp(NOISE * random.normal(size=n) * (random.standard_t(4, n) if heavy else 1.0)))


def shifted(n: int, seed: int, values: int, cloud: bool) -> bool:
    """Return whether a label is detected. The log loss increases by ``SHIFT`` from each label value to the next."""
    random = np.random.default_rng(seed)
    N, D = places(n, random, cloud)
    label = random.permutation(np.arange(n) % values)
    loss = law(N, D) * np.exp(SHIFT * label) * noise(n, random, heavy=False)
    return bool(raised(N, D, loss, {"label": label}))


def unshifted(n: int, seed: int, cloud: bool) -> set[str]:
    """Return the false alarms in one simulated table: harmless labels that are detected. Odd seeds have heavy tails."""
    random = np.random.default_rng(seed)
    N, D = places(n, random, cloud)
    loss = law(N, D) * noise(n, random, heavy=seed % 2 == 1)
    return raised(N, D, loss, harmless(N, D, random))


def three_datasets(seed: int = 0) -> str:
    """Return the CSV text of an iso-FLOP sweep on the three data sets in ``DATASETS``."""
    random = np.random.default_rng(seed)
    rows = ["params,tokens,val_loss,config.dataset"]
    for name, (n, truth) in DATASETS.items():
        N, D = places(n, random, cloud=False)
        loss = law(N, D, truth) * np.exp(0.002 * random.normal(size=n))
        rows += [f"{a:.6g},{b:.6g},{c:.8g},{name}" for a, b, c in zip(N, D, loss, strict=True)]
    return "\n".join(rows) + "\n"
