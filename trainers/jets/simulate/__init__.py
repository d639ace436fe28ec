"""Jets of the ten JetClass classes from Pythia and FastJet, with the branches of JetClass.

Nothing here is imported until jets are simulated: Pythia, FastJet, Awkward Array and uproot belong to the extra
``jets``, which ``need_extra`` checks.
"""

from __future__ import annotations

from importlib.util import find_spec

from isoplan.engine.errors import PlannerError

PACKAGES = ("pythia8mc", "fastjet", "awkward", "vector", "uproot")


def need_extra() -> None:
    """Check that the packages of the extra are installed. Raises PlannerError with one sentence if not."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise PlannerError(
            f"Simulating jets needs the extra jets ({', '.join(missing)}): install it with pip install 'isoplan[jets]'."
        )
