"""Jets of the ten JetClass classes, simulated with Pythia and FastJet, with the branches of JetClass.

The simulation needs Pythia, FastJet, Awkward Array and uproot, which ``pip install 'isoplan[jets]'`` installs.
``need_extra`` checks whether these packages are installed. This module does not import them.
"""

from __future__ import annotations

from importlib.util import find_spec

from isoplan.engine.errors import PlannerError

PACKAGES = ("pythia8mc", "fastjet", "awkward", "vector", "uproot")


def need_extra() -> None:
    """Check that the packages for the simulation are installed. Raises PlannerError with one sentence if not."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise PlannerError(
            f"The simulation of jets needs {', '.join(missing)}: install them with pip install 'isoplan[jets]'."
        )
