"""`isoplan plans`: saved plans side by side under one scenario of prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands import reading
from app.commands.files import read_object
from app.commands.options import AsJson
from app.commands.output import say, say_json
from engine.errors import PlannerError
from engine.hardware import UTILISATION, Machine, find_device
from engine.planning.plan import read_plan
from engine.planning.prices import Prices, Simulation
from engine.planning.side_by_side import Saved, as_text, side_by_side, to_json
from engine.quantities import parse_number


def plans(
    files: Annotated[list[str], typer.Argument(metavar="PLAN.json...", help="What `isoplan plan --json` printed.")],
    device: Annotated[str, typer.Option(help="What trains: H100, A100 80GB, CPU node, ...")] = "",
    devices: Annotated[int, typer.Option(help="How many of them.")] = 1,
    hour_price: Annotated[str, typer.Option(help="Money for one hour of a device.")] = "",
    utilisation: Annotated[str, typer.Option(help="Share of its peak that training reaches, 0.4 or 40%.")] = "",
    sample_price: Annotated[str, typer.Option(help="Money for one simulated sample.")] = "",
    as_json: AsJson = False,
) -> None:
    """Compare saved plans: allocation, cost and risk, all priced alike."""
    saved = [Saved(Path(name).stem, read_plan(read_object(name, "isoplan plan --json"))) for name in files]
    found = side_by_side(saved, _prices(device, devices, hour_price, utilisation, sample_price))
    if as_json:
        say_json(to_json(found))
    else:
        say(as_text(found))


def _prices(device: str, devices: int, hour: str, utilisation: str, sample: str) -> Prices | None:
    """The scenario; None where no device is named."""
    if not device:
        if hour or utilisation or sample:
            raise PlannerError("Prices need what trains: add --device, as in --device H100.")
        return None
    machine = Machine(
        find_device(device),
        devices,
        reading.read_share(utilisation, "option --utilisation") if utilisation else UTILISATION,
        parse_number(hour, "option --hour-price") if hour else None,
    )
    simulation = Simulation(parse_number(sample, "option --sample-price")) if sample else None
    return Prices(machine, simulation)
