"""Planner question "Simulate or repeat": reach one loss by a single pass over many samples or by repeating few.

Repeated training ends at the early stop. Exported scripts import the names in ``HOMES`` from here. They are imported
from their modules on first access: the list of commands imports this package to read its question, and must not wait
for the import of numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    **{"SampleCosts": "costs", "costs_of": "costs", "Factor": "factor", "stated": "factor"},
    **{"simulate_or_repeat": "answer", "between": "few_epochs", "worth_of": "worth"},
    **{"as_text": "text", "between_text": "text", "worth_text": "text"},
}
"""Names that this package offers, with the modules that define them."""


def __getattr__(name: str) -> Any:
    """Import a name in ``HOMES`` from its module in this folder."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
