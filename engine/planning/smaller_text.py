"""Smaller models in words and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.planning import quantity
from engine.planning.smaller import Lifetime, SameLoss
from engine.planning.text import aligned, as_row, between, number, table, with_interval
from engine.quantities import count

SHOWN = (0.3, 0.4, 0.5, 0.6, 0.75, 1.0, 1.5, 2.0)
"""Fractions of the best size that a table shows."""
LINES = {
    "N": "Model size N",
    "D": "Training samples D",
    "C": "Training compute C",
    "total": "Training and inference",
    "training_alone": "The same of the best for training",
    "saved": "Saved",
    "fraction": "Size",
}


def same_loss_text(curve: SameLoss) -> str:
    """What models of other sizes cost that reach the same loss, as a table for a terminal."""
    at = [int(np.argmin(np.abs(np.log(curve.fraction / k)))) for k in SHOWN if k >= curve.fraction[0]]
    head = ("size / N*", "N", "D", "more compute", "68 %", "")
    body = [
        (
            f"{curve.fraction[i]:.2f}",
            count(float(curve.N[i])),
            count(float(curve.D[i])),
            _percent(curve.overhead[i]),
            _spread(curve.low68[i], curve.high68[i]),
            "" if curve.within[i] else "beyond the limits",
        )
        for i in dict.fromkeys(at)
    ]
    smallest = curve.smallest
    spread = f" (68 %: {between(smallest, smallest.ci68)})" if smallest.ci68 else ""
    limit = f"Below {number(smallest)}{spread} of the best size no number of samples reaches this loss."
    return "\n".join(
        [f"Models that reach the same loss {float(abs(curve.best.loss)):.4g}:", "", *aligned([head, *body]), "", limit]
    )


def lifetime_sentence(found: Lifetime) -> str:
    """The size that trains and serves at least cost, in a sentence."""
    saved = 100 * (found.saved.value or 0.0)
    spread = (
        f" (68 %: {100 * found.saved.ci68[0]:.2g} to {100 * found.saved.ci68[1]:.2g} %)" if found.saved.ci68 else ""
    )
    return (
        f"With its inference, train {with_interval(found.N)} on {with_interval(found.D)}: that saves {saved:.2g} %"
        f"{spread} of what the best model for training alone costs over its life."
    )


def lifetime_text(found: Lifetime) -> str:
    """The sentence and its table for a terminal."""
    lines = table(as_row(label, getattr(found, name)) for name, label in LINES.items())
    return "\n".join([lifetime_sentence(found), "", *lines])


def to_json(curve: SameLoss, found: Lifetime | None) -> dict[str, Any]:
    """The object that ``isoplan smaller --json`` prints; null is unbounded or unknown."""
    arrays: dict[str, Any] = {
        name: _numbers(getattr(curve, name)) for name in ("fraction", "N", "D", "overhead", "low68", "high68")
    }
    arrays["within"] = curve.within.tolist()
    life = {name: quantity.to_json(getattr(found, name)) for name in LINES} if found else None
    return {"schema": 1, **arrays, "smallest": quantity.to_json(curve.smallest), "lifetime": life}


def _numbers(x: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in x]


def _percent(x: float) -> str:
    return "not reachable" if np.isinf(x) else f"{100 * x:.2g} %"


def _spread(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"{_percent(low)} to {_percent(high)}"
