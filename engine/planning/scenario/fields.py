"""Input fields for loss, limits, machine and prices. The page, the terminal and Python use the same definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isoplan.engine import amounts
from isoplan.engine.amounts import Unit, parse_amount
from isoplan.engine.hardware import UTILISATION
from isoplan.engine.quantities import parse_flops, parse_number

if TYPE_CHECKING:
    from isoplan.engine.planning.scenario.limits import LimitName

Place = Literal["page", "terminal", "python"]
"""Where the user types a field. Messages name the field by its label (page), ``--name`` (terminal) or ``name``."""
Texts = Mapping[str, str]
"""Typed texts by the name of their field. If a field is not given, its name is missing or its text is empty."""
EUR = "EUR"
"""Default currency of prices."""


@dataclass(frozen=True)
class Field:
    """One input field of the page, the terminal and Python.

    ``name`` is the option in Python and the key in a link; the option in the terminal is ``name`` with hyphens. If
    ``link`` is given, it is the key in a link instead. ``help`` explains the option in the terminal.

    The page shows ``label``. The input shows ``hint`` when no text is typed, ``tip`` as its help, and ``start`` as its
    initial text. ``said`` is the name of the field in sentences of the page, by default the label. ``before`` (by
    default the label) and ``after`` are the words to the left and to the right of the input.

    ``default`` is the value of an option that is not given. A ``required`` field must be given in the terminal and in
    Python. A number without a unit is in ``unit``; if ``per`` is set, the number is money, for example per hour. If
    ``read`` is set, this function converts the text to a value, and ``unit`` and ``per`` are ignored. ``limit`` is the
    name of the limit that the field sets. The page shows a ``folded`` field under "More options".
    """

    name: str
    help: str
    label: str = ""
    unit: Unit | None = None
    per: tuple[str, ...] | None = None
    hint: str = ""
    tip: str | None = None
    start: str = ""
    default: str = ""
    said: str = ""
    kind: type = str
    read: Callable[[str, str], Any] | None = None
    limit: LimitName | None = None
    before: str | None = None
    after: str = ""
    required: bool = False
    link: str = ""
    folded: bool = False

    @property
    def option(self) -> str:
        """The option in the terminal, such as "--hour-price"."""
        return f"--{self.name.replace('_', '-')}"

    def called(self, place: Place) -> str:
        """Return the name of the field in sentences at ``place``.

        Examples are "price of a device hour" on the page, "option --hour-price" in the terminal and "option hour_price"
        in Python.
        """
        if place != "page":
            return f"option {self.option if place == 'terminal' else self.name}"
        label = self.label.partition(" [")[0] or self.name
        return self.said or (label if label[1:2].isupper() else label[0].lower() + label[1:])

    def usual(self, place: Place) -> str:
        """Return the text that the field has at ``place`` before the user changes it."""
        return (place == "page" and self.start) or self.default

    def value(self, text: str, place: Place, currency: str = EUR) -> Any:
        """Convert ``text`` to the value of the field.

        Raises PlannerError if ``text`` is not valid; the message names the field.
        """
        if self.read is not None:
            return self.read(text, self.called(place))
        unit = amounts.money(currency, *self.per) if self.per is not None else self.unit
        return parse_number(text, self.called(place)) if unit is None else parse_amount(text, self.called(place), unit)


LOSS = (
    Field(
        "budget", "FLOPs, device hours or money to spend: 1e20, 3 ZFLOP, 5 PFLOP/s-days, 200 H200 hours, '500 EUR'.",
        "Budget", hint="1e20, 200 H200 hours, 500 EUR", said="budget", read=parse_flops,
    ),
    Field("target_loss", "Target value of the quantity that the law predicts.", "Target", hint="for example 2.0"),
)  # fmt: skip
OURS = (
    Field("our_params", "Parameters of your own plan, to compare its cost.", "Your N [parameters]", amounts.PARAMETERS,
          hint="10 M", said="number of parameters of your plan"),
    Field("our_samples", "Training samples of your own plan, to compare its cost.", "Your D [samples]", amounts.SAMPLES,
          hint="1 B", said="number of samples of your plan"),
)  # fmt: skip
"""Fields of the user's own plan. An answer is compared with this plan."""
LIMITS = (
    Field("max_unique", "Maximum number of unique samples.", "unique samples", amounts.SAMPLES, hint="2 M",
          said="number of unique samples", limit="unique"),
    Field("max_params", "Maximum number of parameters.", "parameters", amounts.PARAMETERS, hint="100 M",
          said="number of parameters", limit="parameters"),
    Field("max_epochs", "Maximum number of epochs over the unique samples.", "epochs", amounts.EPOCHS, hint="4",
          said="number of epochs", limit="epochs"),
    Field("max_hours", "Maximum wall-clock time of the training in hours.", "hours", amounts.HOURS, hint="24",
          said="number of hours", limit="hours"),
    Field("max_memory", "Maximum memory of the training state on each device [GB].", "memory", amounts.GIGABYTES,
          hint="80", said="memory of each device", limit="memory"),
    Field("max_money", "Maximum total cost of everything with a price.", "money", per=(), hint="1000",
          said="sum of money", limit="money"),
)  # fmt: skip
"""Fields of limits. The page offers the labels as choices. A link stores the chosen labels under the key ``limits``."""
MACHINE = (
    Field("device", "Device for training: H100, A100 80GB, CPU node, ...", "Machine", hint="none, no prices",
          tip="Peak speeds and power are values of the vendors."),
    Field("devices", "Number of devices.", "Number of devices", default="1", kind=int),
    Field("hour_price", "Price of one device hour.", "Price of a device hour", per=amounts.AN_HOUR,
          hint="for example 2.50"),
    Field("utilisation", "Fraction of the peak speed that training reaches, such as 0.4 or 40%.", "Utilisation",
          tip="Fraction of the peak speed that training reaches.", start=f"{100 * UTILISATION:g} %"),
    Field("precision", "fp32, bf16, fp8, ...; by default the usual precision of the device.", "Precision",
          hint="the usual one"),
    Field("power", "Power of one device in W; by default the vendor's value.", "Power of a device [W]", amounts.WATTS,
          hint="data sheet value"),
    Field("currency", "Currency of all prices, EUR or USD.", "Currency of all prices", start=EUR),
    Field("grid", "Emissions of the grid in g CO2 per kWh.", "Grid [g CO₂/kWh]", amounts.GRID, hint="for example 300"),
    Field("pue", "Power usage effectiveness of the site.", "PUE of the site",
          tip="Power usage effectiveness: 1 counts only the devices.", start="1"),
)  # fmt: skip
SAMPLES = (
    Field("sample_price", "Price of one simulated sample.", "Price of a sample", per=amounts.A_SAMPLE,
          hint="for example 1e-4"),
    Field("sample_seconds", "CPU seconds of one simulated sample.", "CPU seconds per sample", amounts.CPU_SECONDS,
          hint="for example 0.5", tip="CPU time of one simulated sample on one core."),
    Field("cpu_price", "Price of one CPU hour of simulation, instead of --sample-price.", "Price of a CPU hour",
          per=amounts.AN_HOUR, hint="for example 0.02", tip="Replaces the price of a sample."),
    Field("sample_bytes", "Size of one sample on disk in bytes.", "Bytes per sample", amounts.BYTES,
          hint="for example 4000"),
)  # fmt: skip
QUERIES = (
    Field("queries", "Queries over the life of the model.", "Queries over the model's life", amounts.QUERIES,
          hint="for example 1e9"),
    Field("query_tokens", "Tokens of one query, at 2 N FLOPs each.", "Tokens per query", amounts.TOKENS, hint="1"),
    Field("query_flops", "FLOPs of one query, instead of 2 N per token.", "FLOPs per query", amounts.FLOPS,
          hint="2 N per token"),
)  # fmt: skip
PRICES = (*MACHINE, *SAMPLES, *QUERIES)
SCENARIO = (*LIMITS, *PRICES)
"""Fields of all limits and prices of a plan."""
FIELDS = {field.name: field for field in (*LOSS, *SCENARIO, *OURS)}


def pick(*names: str) -> tuple[Field, ...]:
    """Return the fields called ``names``, in this order."""
    return tuple(FIELDS[name] for name in names)
