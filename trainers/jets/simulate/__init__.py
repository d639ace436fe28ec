"""Jets of the ten JetClass classes from Pythia and FastJet, with the branches of JetClass.

Nothing here is imported before jets are asked for: Pythia, FastJet, Awkward Array and uproot come with the extra
``jets``, which ``need_extra`` looks for.
"""

from __future__ import annotations

from importlib.util import find_spec

from isoplan.engine.errors import PlannerError

PACKAGES = ("pythia8mc", "fastjet", "awkward", "vector", "uproot")


def need_extra() -> None:
    """Raises PlannerError, one sentence, where a package of the extra is not installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise PlannerError(
            f"Simulating jets needs the extra jets ({', '.join(missing)}): install it with pip install 'isoplan[jets]'."
        )
