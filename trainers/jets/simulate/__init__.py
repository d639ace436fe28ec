"""Jets of the ten JetClass classes, simulated with Pythia and FastJet, with the branches of JetClass.

The simulation needs Pythia, FastJet, Awkward Array and uproot, which belong to the extra ``jets`` of the installation.
``need_extra`` checks whether these packages are installed. This module does not import them.
"""

from __future__ import annotations

from importlib.util import find_spec

from isoplan.engine.errors import PlannerError

PACKAGES = ("pythia8mc", "fastjet", "awkward", "vector", "uproot")


def need_extra() -> None:
    """Check that the packages of the extra ``jets`` are installed. Raises PlannerError with one sentence if not."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise PlannerError(
            f"Simulating jets needs the extra jets ({', '.join(missing)}): install it with pip install 'isoplan[jets]'."
        )
