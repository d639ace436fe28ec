"""The options of a plan about machine, prices and limits: what each is called, takes and means, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from isoplan.engine.planning.scenario import typed_prices
from isoplan.engine.planning.scenario.limits import LimitName, Limits
from isoplan.engine.planning.scenario.prices import Inference, Prices, Simulation

DeviceName = Annotated[str, typer.Option(help="What trains: H100, A100 80GB, CPU node, ...")]
Devices = Annotated[int, typer.Option(help="How many of them.")]
HourPrice = Annotated[str, typer.Option(help="Money for one hour of a device.")]
Utilisation = Annotated[str, typer.Option(help="Share of its peak that training reaches, 0.4 or 40%.")]
PrecisionName = Annotated[str, typer.Option(help="fp32, bf16, fp8, ...; the device's usual one by default.")]
Power = Annotated[str, typer.Option(help="W of one device; the vendor's by default.")]
Grid = Annotated[str, typer.Option(help="g CO2 per kWh of the grid, for CO2.")]
Pue = Annotated[str, typer.Option(help="Power usage effectiveness of the site.")]
CurrencyName = Annotated[str, typer.Option(help="What every price is in, EUR or USD.")]
SamplePrice = Annotated[str, typer.Option(help="Money for one simulated sample.")]
SampleSeconds = Annotated[str, typer.Option(help="CPU seconds of one simulated sample.")]
CpuPrice = Annotated[str, typer.Option(help="Money for one CPU hour of simulation, in place of --sample-price.")]
SampleBytes = Annotated[str, typer.Option(help="Bytes that one sample takes on disk.")]
Queries = Annotated[str, typer.Option(help="Queries over the life of the model.")]
QueryTokens = Annotated[str, typer.Option(help="Tokens of one query, at 2 N FLOPs each.")]
QueryFlops = Annotated[str, typer.Option(help="FLOPs of one query, in place of 2 N a token.")]
MaxUnique = Annotated[str, typer.Option(help="At most so many unique samples.")]
MaxParams = Annotated[str, typer.Option(help="At most so many parameters.")]
MaxEpochs = Annotated[str, typer.Option(help="At most so many epochs over the unique samples.")]
MaxHours = Annotated[str, typer.Option(help="At most so many hours on all devices.")]
MaxMemory = Annotated[str, typer.Option(help="At most so many GB on each device for the training state.")]
MaxMoney = Annotated[str, typer.Option(help="At most so much money for everything that has a price.")]

FIELDS = (
    *("device", "devices", "hour_price", "utilisation", "precision", "power", "currency", "grid", "pue"),
    *("sample_price", "sample_seconds", "cpu_price", "sample_bytes", "queries", "query_tokens", "query_flops"),
)
CALLED = {name: f"option --{name.replace('_', '-')}" for name in FIELDS}
"""What each field is called within a sentence."""
STARTS = {"devices": "1"}
"""What options hold that nobody gives."""


LIMITS: Mapping[LimitName, str] = {
    "unique": "option --max-unique",
    "parameters": "option --max-params",
    "epochs": "option --max-epochs",
    "hours": "option --max-hours",
    "memory": "option --max-memory",
    "money": "option --max-money",
}
"""What each limit is called within a sentence."""


def read_limits(texts: Mapping[LimitName, str], currency: str) -> Limits:
    """The limits that the options name, each empty where it is not given; memory in GB, money in ``currency``."""
    return typed_prices.read_limits(texts, LIMITS, currency or "EUR")


def read_prices(**texts: str) -> Prices | None:
    """The prices that the options name, by the names of their fields; None without any. Raises PlannerError."""
    return typed_prices.read_prices({name: text for name, text in texts.items() if text != STARTS.get(name)}, CALLED)


def read_simulation(**texts: str) -> Simulation | None:
    """What a simulated sample costs by the options of these names; None where none says."""
    return typed_prices.read_simulation(texts, CALLED)


def read_inference(queries: str, tokens: str, flops: str) -> Inference | None:
    """The queries over the model's life; None where no option says."""
    return typed_prices.read_inference({"queries": queries, "query_tokens": tokens, "query_flops": flops}, CALLED)
