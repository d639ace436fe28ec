"""Text of the numbers in the tables of docs/amplitudes_laws.md."""

from __future__ import annotations

from collections.abc import Sequence

from isoplan.engine.planning.amplitude.cell_laws import CellLaw, Name
from isoplan.engine.planning.amplitude.evidence import PublishedLaw
from isoplan.engine.quantities import power10

NAMES: tuple[Name, ...] = ("X_c", "alpha", "K")


def value(law: CellLaw | None, name: Name) -> str:
    """Return the fitted value of the parameter ``name``, and the interval of this value, as one text."""
    if law is None:
        return "-"
    low, high = law.interval(name)
    if name == "K" and low == high:
        return "0, fixed"
    return f"{shown(law.value(name))} ({shown(low)} to {shown(high)})"


def printed(law: PublishedLaw | None, name: Name) -> str:
    """Return the published value of the parameter ``name``, and the interval of this value, as one text."""
    if law is None:
        return "-"
    found = next(p for p in law.fit.parameters if p.name == name)
    ends = "" if found.ci68 is None else f" ({shown(found.ci68[0])} to {shown(found.ci68[1])})"
    return f"{shown(found.value)}{ends}"


def shown(x: float) -> str:
    return power10(x, 3) if x and not 1e-3 <= abs(x) < 1e5 else f"{x:.3g}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines)]
