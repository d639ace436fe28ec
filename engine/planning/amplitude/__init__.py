"""Planner question "Precision": the size of an amplitude surrogate, extrapolated from a cheap run.

Exported scripts import the names in ``__all__`` from this package.
"""

from isoplan.engine.planning.amplitude.evidence import Anchor
from isoplan.engine.planning.amplitude.precision import Precision
from isoplan.engine.planning.amplitude.reply import as_text, to_json
from isoplan.engine.planning.amplitude.scaling import plan_amplitude, plan_fitted

__all__ = ["Anchor", "Precision", "as_text", "plan_amplitude", "plan_fitted", "to_json"]
