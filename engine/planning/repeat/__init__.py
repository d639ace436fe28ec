"""Simulate or repeat: one loss from a single pass over many samples, or from few repeated to the early stop.

The names in ``HOMES`` are those of exported scripts. They are imported on first access, because the list of commands
reads the question of this folder and must not wait for the import of numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    **{"SampleCosts": "costs", "costs_of": "costs", "Factor": "factor", "stated": "factor"},
    **{"simulate_or_repeat": "answer", "between": "few_epochs", "worth_of": "worth"},
    **{"as_text": "text", "between_text": "text", "worth_text": "text"},
}
"""Modules by the names that they define."""


def __getattr__(name: str) -> Any:
    """Import a name from its module in this folder."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
