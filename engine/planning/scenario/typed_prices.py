"""Prices and limits as they are typed: the one reader of the page's fields and of the terminal's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoplan.engine import amounts
from isoplan.engine.amounts import Unit, parse_amount
from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import UTILISATION, Machine, find_device
from isoplan.engine.planning.scenario.limits import LimitName, Limits
from isoplan.engine.planning.scenario.prices import GIGABYTE, Currency, Inference, Prices, Simulation, by_cpu_time
from isoplan.engine.quantities import parse_number, parse_share

Texts = Mapping[str, str]
"""What is typed by the name of its field, and what each field is called in a sentence; empty or absent: not given."""
UNITS: Mapping[str, Unit] = {
    "power": amounts.WATTS,
    "grid": amounts.GRID,
    "sample_seconds": amounts.CPU_SECONDS,
    "sample_bytes": amounts.BYTES,
    "queries": amounts.QUERIES,
    "query_tokens": amounts.TOKENS,
    "query_flops": amounts.FLOPS,
}
"""What the numbers of each field are in, besides money."""
PRICES = {"hour_price": amounts.AN_HOUR, "cpu_price": amounts.AN_HOUR, "sample_price": amounts.A_SAMPLE}
"""The fields that are money, and what it is per."""
LIMITED: Mapping[LimitName, Unit] = {
    "unique": amounts.SAMPLES,
    "parameters": amounts.PARAMETERS,
    "epochs": amounts.EPOCHS,
    "hours": amounts.HOURS,
    "memory": amounts.GIGABYTES,
}
"""What the number of each limit is in, besides money."""
EUR: Currency = "EUR"
"""What money is in where nobody says."""
SERVED = ("queries", "query_tokens", "query_flops")


def read_prices(texts: Texts, called: Texts) -> Prices | None:
    """The prices in ``texts``; None where nothing is given. Raises PlannerError that names the field.

    The fields are device, devices, hour_price, utilisation, precision, power [W], currency, grid [g CO2/kWh], pue,
    sample_price, sample_seconds, cpu_price, sample_bytes, queries, query_tokens and query_flops.
    """
    simulation, inference = read_simulation(texts, called), read_inference(texts, called)
    given = [name for name in called if texts.get(name)]
    if "device" not in given:
        if given:
            raise PlannerError(f"Give the {called['device']} with the {called[given[0]]}: prices need what trains.")
        return None
    more: dict[str, Any] = {name: texts[name] for name in ("currency",) if texts.get(name)}
    pue = _number(texts, called, "pue")
    return Prices(
        _machine(texts, called),
        simulation,
        inference,
        grid=_number(texts, called, "grid"),
        pue=1.0 if pue is None else pue,
        **more,
    )


def read_inference(texts: Texts, called: Texts) -> Inference | None:
    """The queries over the model's life, which need no machine to be counted; None where nothing is given."""
    queries, tokens, flops = (_number(texts, called, name) for name in SERVED)
    if queries is None:
        alone = next((name for name in SERVED[1:] if texts.get(name)), "")
        if alone:
            raise PlannerError(f"Give the {called['queries']} with the {called[alone]}, or leave both out.")
        return None
    if tokens is not None and flops is not None:
        raise PlannerError(f"Give either the {called['query_tokens']} or the {called['query_flops']}, not both.")
    return Inference(queries, 1.0 if tokens is None else tokens, flops)


def read_simulation(texts: Texts, called: Texts) -> Simulation | None:
    """What a simulated sample costs, which needs no machine to be said; None where nothing is given."""
    price, seconds, hour, size = (
        _number(texts, called, name) for name in ("sample_price", "sample_seconds", "cpu_price", "sample_bytes")
    )
    if hour is not None:
        if price is not None or seconds is None:
            raise PlannerError(
                f"The {called['cpu_price']} needs the {called['sample_seconds']}, and takes the place of the "
                f"{called['sample_price']}."
            )
        return by_cpu_time(seconds, hour, size)
    return None if price is seconds is size is None else Simulation(price, seconds, size)


def _machine(texts: Texts, called: Texts) -> Machine:
    share = texts.get("utilisation")
    count = _number(texts, called, "devices")
    precision: Any = texts.get("precision") or None
    return Machine(
        find_device(texts["device"]),
        1 if count is None else int(count) if count == int(count) else count,  # type: ignore[arg-type]
        parse_share(share, called["utilisation"]) if share else UTILISATION,
        _number(texts, called, "hour_price"),
        precision,
        _number(texts, called, "power"),
    )


def read_limits(texts: Mapping[LimitName, str], called: Mapping[LimitName, str], currency: str) -> Limits:
    """The limits in ``texts``, empty or absent where there is none; memory in GB, money in ``currency``.

    Raises PlannerError that names the limit by ``called``.
    """
    units = {**LIMITED, "money": amounts.money(currency)}
    most = {name: parse_amount(text, called[name], units[name]) for name, text in texts.items() if text}
    return Limits(**{name: x * GIGABYTE if name == "memory" else x for name, x in most.items()})


def _number(texts: Texts, called: Texts, name: str) -> float | None:
    """The number in a field, None where it is empty: in the unit of the field, or plain where it has none."""
    if not texts.get(name):
        return None
    unit = amounts.money(texts.get("currency") or EUR, *PRICES[name]) if name in PRICES else UNITS.get(name)
    return parse_number(texts[name], called[name]) if unit is None else parse_amount(texts[name], called[name], unit)
