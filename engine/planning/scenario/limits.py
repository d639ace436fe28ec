"""Limits of a plan (samples, model size, epochs, hours, memory, money), and what they allow of N, D and C."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from isoplan.engine.arrays import Floats
from isoplan.engine.costs.memory import largest_model
from isoplan.engine.errors import PlannerError
from isoplan.engine.laws import Law
from isoplan.engine.planning.scenario.prices import GIGABYTE, Prices
from isoplan.engine.quantities import count, flops

LimitName = Literal["budget", "unique", "parameters", "epochs", "hours", "memory", "money"]
WORDS: dict[LimitName, str] = {
    "budget": "compute",
    "unique": "unique samples",
    "parameters": "parameters",
    "epochs": "epochs",
    "hours": "hours",
    "memory": "memory on each device",
    "money": "money",
}
"""Name of the quantity that each limit restricts; ``budget`` is the FLOPs of a budget question."""
OF_MACHINE: tuple[LimitName, ...] = ("hours", "memory", "money")


@dataclass(frozen=True)
class Limits:
    """Maximum of each quantity; None is no limit.

    ``unique`` samples, ``parameters`` of the model, ``epochs`` over the unique samples, ``hours`` of wall-clock time on
    the machine, bytes of ``memory`` on each of its devices for the training state, and ``money`` for everything that
    has a price, in the currency of the prices. Raises PlannerError for a limit that is not positive, and for epochs
    without a limit on unique samples.
    """

    unique: float | None = None
    parameters: float | None = None
    epochs: float | None = None
    hours: float | None = None
    memory: float | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for name, most in self.given.items():
            if not (math.isfinite(most) and most > 0):
                what = f"{most:g} bytes of memory" if name == "memory" else f"{most:g} {WORDS[name]}"
                raise PlannerError(f"A limit of {what} is not positive. Give a positive number, or leave it out.")
        for name, most in self.given.items():
            if name in ("unique", "parameters") and most < 1:
                raise PlannerError(f"A limit of {most:g} {WORDS[name]} is less than one: give at least 1.")
        if self.epochs is not None and self.unique is None:
            raise PlannerError("A limit on epochs needs the number of unique samples that they pass over: give it too.")
        if self.epochs is not None and self.epochs < 1:
            raise PlannerError(
                f"At most {self.epochs:g} epochs would leave unique samples unused: lower the unique samples instead."
            )

    @property
    def given(self) -> dict[LimitName, float]:
        """Given limits, by name."""
        return {name: x for name in get_args(LimitName)[1:] if (x := getattr(self, name)) is not None}

    def to_json(self) -> dict[str, float]:
        """Return the given limits for JSON."""
        return {name: most for name, most in asdict(self).items() if most is not None}


NO_LIMITS = Limits()


def read_limits(raw: Mapping[str, Any]) -> Limits:
    """Read limits from a JSON object. Raises PlannerError for an unknown limit."""
    unknown = [name for name in raw if name not in get_args(LimitName)[1:]]
    if unknown:
        raise PlannerError(f"The limit {unknown[0]!r} is not known: use {', '.join(get_args(LimitName)[1:])}.")
    return Limits(**{name: float(most) for name, most in raw.items()})


@dataclass(frozen=True, eq=False)
class FeasibleRegion:
    """Region within limits: the largest N, D, C in FLOPs and money, and the unique samples U; inf if unlimited.

    Arrays of one shape that broadcasts with the values of a law: () for one scenario, (k, 1) for k.
    """

    N: Floats
    D: Floats
    C: Floats
    money: Floats
    U: Floats


def room(law: Law, limits: Mapping[LimitName, Any], prices: Prices | None) -> FeasibleRegion:
    """Return the region that ``limits`` (arrays of one shape by name) allow to ``law``.

    A law without repetition gives no credit for repeats, so its D ends at the unique samples. Raises PlannerError for a
    limit that needs a missing machine or price, and for one that cannot be applied to the law.
    """
    check(law, limits, prices)
    most = {name: np.asarray(x, float) for name, x in limits.items()}
    endless = np.full(np.shape(next(iter(most.values()), 0.0)), np.inf)
    U = most.get("unique", endless)
    N, C = most.get("parameters", endless), most.get("budget", endless)
    if prices is not None:
        machine = prices.machine
        if "memory" in most:
            N = np.minimum(N, largest_model(most["memory"], machine.devices))
        if "hours" in most:
            C = np.minimum(C, machine.flops(most["hours"]))
    D = U * most.get("epochs", endless) if law.repeats else U
    return FeasibleRegion(N, D, C, most.get("money", endless), U)


def with_unique(left: FeasibleRegion, U: Floats) -> FeasibleRegion:
    """Return ``left`` with ``U`` unique samples, at most as many as before, and with the same number of passes."""
    with np.errstate(invalid="ignore"):
        passes = left.D / left.U
    return replace(left, U=U, D=np.where(np.isnan(passes), left.D, passes * U))


def check(law: Law, limits: Mapping[LimitName, ArrayLike], prices: Prices | None) -> None:
    """Raise PlannerError for a limit that cannot be applied to ``law`` or ``prices``."""
    for name in OF_MACHINE:
        if name in limits and prices is None:
            raise PlannerError(f"A limit on {WORDS[name]} needs a machine: name the device that trains.")
    asked = [name for name in limits if name not in ("budget", "hours")]
    if law.repeats and law.frontier is None and "unique" not in limits:
        raise PlannerError(f"The law {law.name} reads U, so a plan needs a limit on the unique samples: give one.")
    if law.is_surface or set(limits) <= {"budget"}:
        return
    if law.frontier is None:
        over = " and ".join(law.axes)
        raise PlannerError(
            f"A law on {over} alone does not determine the cost of training, so limits are not possible. Fit "
            f"chinchilla."
        )
    if asked:
        raise PlannerError(
            f"The law {law.name} describes only the best model of each budget, so a limit on {WORDS[asked[0]]} is not "
            f"possible. Fit a surface over N and D, such as chinchilla."
        )


def named(name: LimitName, most: float, prices: Prices | None = None) -> str:
    """Return a limit as a phrase: "2 M unique samples", "80 GB of memory on each device", "1000 EUR"."""
    if name == "budget":
        return flops(most)
    if name == "memory":
        return f"{most / GIGABYTE:.3g} GB of {WORDS[name]}"
    if name == "money" and prices is not None:
        return f"{count(most, 3)} {prices.currency}"
    return f"{count(most, 3)} {WORDS[name].removesuffix('s') if most == 1 else WORDS[name]}"
