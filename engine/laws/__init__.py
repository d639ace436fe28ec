"""The law catalogue. To add a law, add its description (an object of class ``Law``) here."""

from isoplan.engine.errors import PlannerError
from isoplan.engine.laws.catalogue.chinchilla import CHINCHILLA
from isoplan.engine.laws.catalogue.dimension import dimension_bound
from isoplan.engine.laws.catalogue.hyperparameter import critical_batch, log_parabola, starvation
from isoplan.engine.laws.catalogue.isoflop import ENVELOPE, ISOFLOP
from isoplan.engine.laws.catalogue.kaplan import KAPLAN
from isoplan.engine.laws.catalogue.power import broken_power_law, metric_map, metric_power, power_law
from isoplan.engine.laws.catalogue.repeated_data import DATA_CONSTRAINED, THRESHOLD, repetition
from isoplan.engine.laws.expression import EXAMPLE, typed_law
from isoplan.engine.laws.law import Derived, Law, Param, Point

LAWS: tuple[Law, ...] = (
    CHINCHILLA,
    power_law("N"),
    power_law("D"),
    power_law("C"),
    ISOFLOP,
    ENVELOPE,
    DATA_CONSTRAINED,
    KAPLAN,
)
"""Laws with fixed columns: N, D, C, unique samples or budgets."""
ONE_AXIS: tuple[Law, ...] = (
    power_law("x"),
    starvation("x"),
    log_parabola("x"),
    critical_batch("B"),
    metric_map("loss"),
    metric_power("loss"),
    repetition("D"),
    dimension_bound("D"),
    broken_power_law("D", 1),
    broken_power_law("D", 2),
)
"""Laws over one column that the user chooses; the column in each entry ("x", "B", "loss", "D") is a placeholder."""
OF_CELLS: tuple[Law, ...] = (THRESHOLD,)
"""Laws that divide runs into two classes, instead of describing a loss."""
CATALOGUE = (*LAWS, *ONE_AXIS, *OF_CELLS)

__all__ = [
    "CATALOGUE",
    "EXAMPLE",
    "LAWS",
    "OF_CELLS",
    "ONE_AXIS",
    "Derived",
    "Law",
    "Param",
    "Point",
    "get_law",
    "typed_law",
]


def get_law(name: str, axis: str | None = None) -> Law:
    """Return the law called ``name``; a one-axis law needs the column ``axis``.

    Raises PlannerError for an unknown law, for a one-axis law without ``axis``, and for any other law with ``axis``.
    """
    named = [law for law in CATALOGUE if law.name == name]
    if not named:
        known = ", ".join(dict.fromkeys((*(law.name for law in CATALOGUE), "formula")))
        raise PlannerError(f"Law {name!r} is unknown: use one of {known}.")
    law = named[0]
    if law.with_axis is None:
        if axis is not None:
            raise PlannerError(f"Law {name} takes no axis: leave {axis} out, or use a law on one axis such as power.")
        return law
    if not axis:
        many = ("hyperparameter", "metric")
        *plain, last = [f"a {name}" if name in many else name for name in sorted(law.axis_roles, key=many.__contains__)]
        choices = f"{', '.join(plain)} or {last}" if plain else last
        raise PlannerError(f"Law {name} needs an axis: choose {choices}.")
    return law.with_axis(axis)
