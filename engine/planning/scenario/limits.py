"""The question that a plan answers, and its limits: samples, model size, epochs, hours, memory, money."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.prices import GIGABYTE, Prices
from isoplan.engine.quantities import count, flops

Kind = Literal["budget", "target"]
KINDS: tuple[Kind, ...] = get_args(Kind)
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
"""Words for the quantity that each limit restricts. The limit "budget" is the compute of a budget question."""


@dataclass(frozen=True)
class Limits:
    """Largest allowed value of each quantity; None if the quantity is not limited.

    ``unique`` is a number of unique samples, ``parameters`` a model size, and ``epochs`` a number of passes over the
    unique samples. ``hours`` is wall-clock time on the machine, ``memory`` the bytes of the training state on each
    device of the machine. ``money`` is the total of everything that has a price, in the currency of the prices.

    Raises PlannerError for a limit that is not positive, and for a limit below one on unique samples, parameters or
    epochs. Also raises PlannerError for a limit on epochs without a limit on unique samples.
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
                raise PlannerError(f"A limit of {what} is not positive. Give a positive number, or remove the limit.")
        for name, most in self.given.items():
            if name in ("unique", "parameters") and most < 1:
                raise PlannerError(f"A limit of {most:g} {WORDS[name]} is less than one: give at least 1.")
        if self.epochs is not None and self.unique is None:
            raise PlannerError("A limit on epochs requires a limit on the number of unique samples. Give both limits.")
        if self.epochs is not None and self.epochs < 1:
            raise PlannerError(
                f"With a limit of {self.epochs:g} epochs, some unique samples would never be used. Give a limit of at "
                "least 1 epoch, or reduce the number of unique samples."
            )

    @property
    def given(self) -> dict[LimitName, float]:
        """The limits that are not None, by name."""
        return {name: x for name in get_args(LimitName)[1:] if (x := getattr(self, name)) is not None}

    def to_json(self) -> dict[str, float]:
        """Return the limits that are not None as a JSON object."""
        return {name: most for name, most in asdict(self).items() if most is not None}


NO_LIMITS = Limits()


def read_limits(raw: Mapping[str, Any]) -> Limits:
    """Read limits from a JSON object. Raises PlannerError if the object contains an unknown limit."""
    unknown = [name for name in raw if name not in get_args(LimitName)[1:]]
    if unknown:
        raise PlannerError(f"The limit {unknown[0]!r} is not known: use {', '.join(get_args(LimitName)[1:])}.")
    return Limits(**{name: float(most) for name, most in raw.items()})


@dataclass(frozen=True)
class Question:
    """A question about a budget or a target, within ``limits``.

    If ``kind`` is "budget", ``value`` is in FLOPs. If ``kind`` is "target", ``value`` is a value of the quantity that
    the law predicts, or of ``metric`` if this name is not empty. A map then predicts the metric from the quantity of
    the law. ``money`` is the amount of a budget that was given in money, in the currency of the prices; ``value`` is
    then the largest training compute that this amount can buy.
    """

    kind: Kind
    value: float
    limits: Limits = NO_LIMITS
    metric: str = ""
    money: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the question as a JSON object, without empty entries."""
        limits = self.limits.to_json()
        more: dict[str, Any] = {"limits": limits} if limits else {}
        more |= {"money": self.money} if self.money is not None else {}
        return {self.kind: self.value} | more | ({"metric": self.metric} if self.metric else {})

    def budget(self, prices: Prices | None) -> str:
        """Return the budget as text: "500 EUR" if it was given in money, otherwise "10^20 FLOPs"."""
        if self.money is None or prices is None:
            return flops(self.value)
        return f"{count(self.money, 3)} {prices.currency}"


def named(name: LimitName, most: float, prices: Prices | None = None) -> str:
    """Return a limit as a phrase, such as "2 M unique samples", "80 GB of memory on each device" or "1000 EUR"."""
    if name == "budget":
        return flops(most)
    if name == "memory":
        return f"{most / GIGABYTE:.3g} GB of {WORDS[name]}"
    if name == "money" and prices is not None:
        return f"{count(most, 3)} {prices.currency}"
    return f"{count(most, 3)} {WORDS[name].removesuffix('s') if most == 1 else WORDS[name]}"
