"""Evaluation of a tagger: cross-entropy, accuracy, and the rejection of QCD jets for each of the nine signal classes.

The score of signal s is p_s / (p_s + p_QCD) (Particle Transformer, arXiv:2202.03772, Sec. 5). The rejection is 1 /
(fraction of QCD jets that pass a cut on this score). The cut is set to the signal efficiency of the jet paper (Sec. 4
and Fig. 5).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.store.files import replace
from isoplan.trainers.jets.features import KINDS

FEWEST = 20
"""Minimum number of QCD jets that pass the cut. If fewer pass, only a lower limit of the rejection is reported."""
INTERVAL, LIMIT = 0.68, 0.95
"""Confidence levels of the two-sided interval of a rejection, and of its one-sided limit."""
METRICS: dict[str, Literal["min", "max"]] = {"accuracy": "max", **{kind.metric: "max" for kind in KINDS if kind.metric}}
"""Metrics of a training run in addition to its loss. "max" means that larger values are better."""
EFFICIENCIES = np.union1d(np.arange(0.01, 1.0, 0.01), 1 - np.logspace(-1, -4, 101)).round(6)
"""Signal efficiencies of the stored ROC curves: steps of 0.01 up to 0.99, and smaller steps close to 1."""
BLOCK = 100_000
"""Number of jets in a block. The probabilities of a block are computed at once."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Result of an evaluation: ``metrics`` by name, and ROC ``curves`` (points, 2) by the name of the signal class.

    A point of a curve is (signal efficiency, QCD efficiency) of one cut. A signal class has metrics if there are jets
    of this class and QCD jets. If R is the name of the rejection for this class, the metrics are:

    - ``R_survivors``: the number of QCD jets that pass the cut.
    - If ``R_survivors`` is at least ``FEWEST``: the rejection ``R``, the ends ``R_low`` and ``R_high`` of its 68 %
      interval, and its relative standard error ``R_error``.
    - Otherwise: ``R_above``, the lower limit of the rejection at 95 % confidence.

    If only a limit is known, the run table contains no value of R, and fits of R omit the run.
    """

    metrics: dict[str, float]
    curves: dict[str, Floats]


def evaluate(logits: NDArray[np.floating], labels: Ints) -> Evaluation:
    """Return the metrics of a tagger from its ``logits`` (jets, 10) for jets of the classes ``labels`` (jets,).

    ``loss`` is the mean cross-entropy in nats. ``accuracy`` is the fraction of jets for which the true class has the
    largest logit. Raises PlannerError if there are no jets or if a logit is not finite.
    """
    if logits.shape != (len(labels), len(KINDS)):
        raise ValueError(f"logits {logits.shape} for {len(labels)} jets")
    if not len(labels):
        raise PlannerError("There are no jets to evaluate on: prepare jets that the model is not trained on.")
    loss, right = 0.0, 0
    for first in range(0, len(labels), BLOCK):
        some, y = logits[first : first + BLOCK].astype(np.float64), labels[first : first + BLOCK]
        if not np.isfinite(some).all():
            raise PlannerError("The model gives logits that are not finite: use a smaller learning rate.")
        top = some.max(axis=1)
        loss += float(np.sum(top + np.log(np.exp(some - top[:, None]).sum(axis=1)) - some[np.arange(len(y)), y]))
        right += int(np.sum(some.argmax(axis=1) == y))
    metrics = {"loss": loss / len(labels), "accuracy": right / len(labels)}
    curves = {}
    qcd = logits[labels == 0]
    for i, kind in enumerate(KINDS):
        mine = logits[labels == i]
        if not kind.metric or not len(qcd) or not len(mine):
            continue
        signal, background = score(mine, i), score(qcd, i)
        passed = int(survivors(signal, background, np.array([kind.efficiency]))[1][0])
        metrics |= rejection(kind.metric, passed, len(background), cut_error(signal, background, kind.efficiency))
        kept, left = survivors(signal, background, EFFICIENCIES)
        curves[kind.name] = np.unique(np.stack([kept / len(signal), left / len(background)], axis=1), axis=0)
    return Evaluation(metrics, curves)


def score(logits: NDArray[np.floating], signal: int) -> Floats:
    """Return the log of p_s / p_QCD for the signal s, (jets,).

    This value and p_s / (p_s + p_QCD) sort the jets in the same order. The log of the ratio is more precise, because
    p_s / (p_s + p_QCD) is rounded to 1 for many jets.
    """
    return logits[:, signal].astype(np.float64) - logits[:, 0].astype(np.float64)


def survivors(signal: Floats, background: Floats, efficiencies: Floats) -> tuple[Ints, Ints]:
    """Return the numbers of ``signal`` and of ``background`` jets that pass a cut, (efficiencies,) each.

    For each of the ``efficiencies``, the cut is the largest score for which at least this fraction of the signal jets
    passes. Jets with equal scores pass together, as in ``sklearn.metrics.roc_curve``.
    """
    up, below = np.sort(signal), np.sort(background)
    wanted = np.ceil(efficiencies * len(up) - 1e-9).astype(np.int64).clip(1, len(up))
    cut = up[len(up) - wanted]
    return len(up) - np.searchsorted(up, cut), len(below) - np.searchsorted(below, cut)


def cut_error(signal: Floats, background: Floats, efficiency: float) -> float:
    """Return the contribution of the uncertainty of the cut to the relative standard error of a rejection.

    The cut is uncertain because the number of signal jets is finite. The log rejection is computed at two efficiencies,
    one standard error below and one above ``efficiency``. The result is half of the difference.
    """
    sigma = np.sqrt(efficiency * (1 - efficiency) / len(signal))
    around = np.clip(np.array([efficiency - sigma, efficiency + sigma]), 0.5 / len(signal), 1)
    low, high = survivors(signal, background, around)[1]
    return float(np.log(max(high, 1) / max(low, 1)) / 2)


def rejection(name: str, passed: int, total: int, cut: float = 0.0) -> dict[str, float]:
    """Return the metrics of the rejection ``name`` if ``passed`` of ``total`` QCD jets pass the cut.

    ``cut`` is the relative error due to the cut. It is added in quadrature to the error of the count. The interval and
    the limit are those of Clopper and Pearson (Biometrika 26 (1934) 404) for the fraction of QCD jets that pass; they
    do not include the uncertainty of the cut.
    """
    from scipy.stats import binomtest

    said = {f"{name}_survivors": float(passed)}
    if passed < FEWEST:
        limit = binomtest(passed, total, alternative="less").proportion_ci(LIMIT, "exact")
        return said | {f"{name}_above": 1 / float(limit.high)}
    found = binomtest(passed, total).proportion_ci(INTERVAL, "exact")
    return said | {
        name: total / passed,
        f"{name}_low": 1 / float(found.high),
        f"{name}_high": 1 / float(found.low),
        f"{name}_error": float(np.hypot(np.sqrt((1 - passed / total) / passed), cut)),
    }


def write_roc(path: Path, curves: Mapping[str, Floats]) -> None:
    """Write ROC curves atomically as CSV with the columns class, signal efficiency and QCD efficiency."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(("class", "signal_efficiency", "qcd_efficiency"))
    out.writerows((name, f"{s:.9g}", f"{b:.9g}") for name, points in curves.items() for s, b in points)
    replace(path, lambda place: _write(place, text.getvalue()))


def _write(place: Path, text: str) -> None:
    place.write_text(text, encoding="utf-8")
