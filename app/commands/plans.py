"""`isoplan plans`: compare saved plans under one scenario of prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared.options import AsJson, as_texts, with_fields
from isoplan.app.commands.shared.output import read_fits_file, read_object, say, say_json
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.compare import Saved, as_text, ask_again, scenario, side_by_side, to_json
from isoplan.engine.planning.plan.document import read_plan
from isoplan.engine.planning.scenario.fields import PRICES
from isoplan.engine.planning.scenario.prices import Prices
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.quantities import parse_number, parse_share


@with_fields(PRICES, before="hour_times")
def plans(
    files: Annotated[list[str], typer.Argument(metavar="PLAN.json...", help="Output of `isoplan plan --json`.")],
    fit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIT.json", help="Fits and maps of the plans, for the intervals of totals; may be repeated."
        ),
    ] = None,
    hour_times: Annotated[str, typer.Option(help="Factor of the price of a device hour: 2 doubles it.")] = "",
    speed: Annotated[
        str, typer.Option(help="Factor of the speed of the simulation: 2 halves its time and price.")
    ] = "",
    as_json: AsJson = False,
    **texts: Any,
) -> None:
    """Compare saved plans under one scenario of prices."""
    saved = _saved(files, [one for name in fit or () for one in read_fits_file(name)])
    typed = as_texts(texts)
    device, utilisation = typed["device"], typed["utilisation"]
    prices = read_prices(typed | {"utilisation": utilisation if device else ""}, "terminal")
    own = next((one.plan.prices for one in saved if one.plan.prices is not None), None)
    moved = {"--utilisation": "" if device else utilisation, "--hour-times": hour_times, "--speed": speed}
    found = side_by_side(saved, _scenario(prices or own, moved))
    if as_json:
        say_json(to_json(found))
    else:
        say(as_text(found))


def _scenario(prices: Prices | None, moved: Mapping[str, str]) -> Prices | None:
    """Return ``prices`` with the changes that the options request; None without prices.

    ``moved`` contains the typed text of each option, by the name of the option. Raises PlannerError if an option would
    change a price that is not given.
    """
    option = next((option for option, text in moved.items() if text), "")
    if prices is None:
        if option:
            raise PlannerError(f"{option} requires prices, and no plan has any. Add --device and --hour-price.")
        return None
    share, times, speed = moved.values()
    if times and prices.machine.price is None:
        raise PlannerError("--hour-times requires the price of a device hour. Add --hour-price.")
    if speed and prices.simulation is None:
        raise PlannerError("--speed requires the price of a simulated sample. Add --sample-price.")
    factor = parse_number(times, "option --hour-times") if times else 1.0
    return scenario(
        prices,
        hour=None if prices.machine.price is None else factor * prices.machine.price,
        utilisation=parse_share(share, "option --utilisation") if share else None,
        speed=parse_number(speed, "option --speed") if speed else 1.0,
    )


def _saved(files: Sequence[str], fits: Sequence[Fit]) -> list[Saved]:
    """Return the saved plans, each named like its file.

    If ``fits`` contains the fit of a plan, the plan is also computed again with this fit. Raises PlannerError if
    ``fits`` is not empty, but no plan was made with one of these fits.
    """
    known = {one.hash: one for one in fits}
    plans = [(name, read_plan(read_object(name, "isoplan plan --json"))) for name in files]
    if known and not any(plan.fit in known for _, plan in plans):
        raise PlannerError("No plan was made with the fits of --fit. Give the fits that `isoplan plan` read.")
    return [
        Saved(
            Path(name).stem,
            plan,
            ask_again(plan, known[plan.fit], known.get(next(iter(plan.maps), ""))) if plan.fit in known else None,
        )
        for name, plan in plans
    ]
