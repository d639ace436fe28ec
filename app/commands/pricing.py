"""The options of a plan about machine, prices and limits: what each is called, takes and means, and how it is read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from engine.errors import PlannerError
from engine.hardware import UTILISATION, Machine, find_device
from engine.planning.limits import Limits
from engine.planning.prices import GIGABYTE, Inference, Prices, Simulation, by_cpu_time
from engine.quantities import parse_number, parse_share

DeviceName = Annotated[str, typer.Option(help="What trains: H100, A100 80GB, CPU node, ...")]
Devices = Annotated[int, typer.Option(help="How many of them.")]
HourPrice = Annotated[str, typer.Option(help="Money for one hour of a device.")]
Utilisation = Annotated[str, typer.Option(help="Share of its peak that training reaches, 0.4 or 40%.")]
PrecisionName = Annotated[str, typer.Option(help="fp32, bf16, fp8, ...; the device's usual one by default.")]
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


def read_limits(
    *, unique: str = "", parameters: str = "", epochs: str = "", hours: str = "", memory: str = "", money: str = ""
) -> Limits:
    """The limits that the options name, each empty where it is not given; ``memory`` in GB."""
    gigabytes = _number(memory, "--max-memory")
    return Limits(
        _number(unique, "--max-unique"),
        _number(parameters, "--max-params"),
        _number(epochs, "--max-epochs"),
        _number(hours, "--max-hours"),
        gigabytes * GIGABYTE if gigabytes is not None else None,
        _number(money, "--max-money"),
    )


def read_prices(
    device: str, devices: int, hour_price: str, utilisation: str, precision: str, currency: str, grid: str, pue: str,
    simulation: Simulation | None, inference: Inference | None,
) -> Prices | None:  # fmt: skip
    """The prices that the options name; None without a device. Raises PlannerError for prices that lack one."""
    if not device:
        if any((hour_price, utilisation, precision, grid, pue, simulation, inference)) or devices != 1:
            raise PlannerError("Prices need what trains: add --device, as in --device H100.")
        return None
    more: dict[str, Any] = {"precision": precision} if precision else {}
    share = parse_share(utilisation, "option --utilisation") if utilisation else UTILISATION
    machine = Machine(find_device(device), devices, share, _number(hour_price, "--hour-price"), **more)
    options: dict[str, Any] = {"currency": currency} if currency else {}
    return Prices(
        machine, simulation, inference, grid=_number(grid, "--grid"), pue=_number(pue, "--pue") or 1.0, **options
    )


def read_simulation(price: str, seconds: str, cpu_price: str, size: str) -> Simulation | None:
    """What one sample takes; None where no option says. Raises PlannerError for two prices of one sample."""
    if cpu_price:
        if price or not seconds:
            raise PlannerError("--cpu-price needs --sample-seconds, and takes the place of --sample-price.")
        return by_cpu_time(
            parse_number(seconds, "option --sample-seconds"),
            parse_number(cpu_price, "option --cpu-price"),
            _number(size, "--sample-bytes"),
        )
    if not any((price, seconds, size)):
        return None
    return Simulation(
        _number(price, "--sample-price"), _number(seconds, "--sample-seconds"), _number(size, "--sample-bytes")
    )


def read_inference(queries: str, tokens: str, flops: str) -> Inference | None:
    """The queries over the model's life; None where no option says."""
    if not queries:
        if tokens or flops:
            raise PlannerError(
                "--query-tokens and --query-flops say nothing without --queries: add it, or leave them out."
            )
        return None
    return Inference(
        parse_number(queries, "option --queries"),
        _number(tokens, "--query-tokens") or 1.0,
        _number(flops, "--query-flops"),
    )


def _number(text: str, option: str) -> float | None:
    return parse_number(text, f"option {option}") if text else None
