"""Planner question "Simulate or repeat": reach a target loss with many samples seen once, or with few repeated samples.

Repeated training ends at the early stop. Exported scripts import the names in ``HOMES`` from this package. A name is
imported from its module on first access. Importing this package alone is therefore fast, because numpy is not imported.
The list of commands imports this package to get its question.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    **{"SampleCosts": "costs", "costs_of": "costs", "Factor": "factor", "stated": "factor"},
    **{"simulate_or_repeat": "answer", "between": "few_epochs", "worth_of": "worth"},
    **{"as_text": "text", "between_text": "text", "worth_text": "text"},
}
"""Names that this package provides, with the modules that define them."""


def __getattr__(name: str) -> Any:
    """Import the name in ``HOMES`` from the module that defines it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
