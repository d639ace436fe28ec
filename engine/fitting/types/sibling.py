"""The same question put to another law."""

from __future__ import annotations

from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.laws import Law

KEPT = ("y", "objective", "delta", "skew", "relative_error", "seed")
"""What of a specification means the same for every law; the rest names parameters of one, or is about intervals."""


def sibling(spec: FitSpec, law: Law) -> FitSpec:
    """``spec`` for ``law``, with every parameter free and without refits; ``spec`` itself where that is its law."""
    if (spec.law, spec.axis) == (law.name, law.axis):
        return alone(spec)
    kept = {name: getattr(spec, name) for name in KEPT}
    return FitSpec.model_validate({"law": law.name, "axis": law.axis, "bootstrap": 0, **kept})


def alone(spec: FitSpec) -> FitSpec:
    """``spec`` without refits, for one group of runs by itself."""
    return spec.model_copy(update={"bootstrap": 0, "share": ()})
