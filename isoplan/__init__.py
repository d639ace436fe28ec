"""From a table of training runs to a compute budget: scaling laws with intervals, and plans.

    import isoplan as ip

    runs = ip.runs("runs.csv", N="params", D="tokens", loss="val_loss")
    fit = ip.fit(runs, "chinchilla")
    print(ip.plan(fit, budget="1e20").sentence)

Heavy packages are imported by the functions that need them. docs/python.md is a tutorial of this interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoplan import plot
from isoplan.amplitudes import amplitude
from isoplan.engine.errors import PlannerError
from isoplan.files import load, save
from isoplan.fits import compare, fit
from isoplan.logs import log
from isoplan.plans import plan
from isoplan.questions import make_functions
from isoplan.recipes import recipe
from isoplan.tables import runs

__all__ = [
    "PlannerError",
    "__version__",
    "amplitude",
    "compare",
    "fit",
    "load",
    "log",
    "plan",
    "plot",
    "recipe",
    "runs",
    "save",
    *make_functions(),
]
__all__.sort()
globals().update(make_functions())
del make_functions

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    __version__: str

    def __getattr__(name: str) -> Callable[..., Any]:
        """Return the function that answers the planner question ``name``."""

else:

    def __getattr__(name: str) -> str:
        """Return the version of Isoplan. It is read on access, because reading takes as long as all other imports."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version("isoplan")
