"""Conversion of typed texts to prices and limits, for the page, the terminal and Python."""

from __future__ import annotations

from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import UTILISATION, Machine, find_device
from isoplan.engine.planning.scenario.fields import EUR, FIELDS, LIMITS, PRICES, Place, Texts
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import GIGABYTE, Inference, Prices, Simulation, by_cpu_time
from isoplan.engine.quantities import parse_share


def read_prices(texts: Texts, place: Place) -> Prices | None:
    """Read the prices from ``texts``; None if no price is given. Raises PlannerError, which names the wrong field.

    A field of ``PRICES`` counts as not given if its text equals its initial text.
    """
    given = _given(texts, place)
    simulation, inference = read_simulation(texts, place), read_inference(texts, place)
    if "device" not in given:
        if given:
            raise PlannerError(missing_device(texts, place))
        return None
    more: dict[str, Any] = {name: given[name] for name in ("currency",) if name in given}
    pue = _value(texts, place, "pue")
    return Prices(
        _machine(given, place),
        simulation,
        inference,
        grid=_value(texts, place, "grid"),
        pue=1.0 if pue is None else pue,
        **more,
    )


def missing_device(texts: Texts, place: Place) -> str:
    """Return a sentence that asks for the device if ``texts`` contain prices but no device; otherwise ""."""
    given = _given(texts, place)
    if not given or "device" in given:
        return ""
    device, first = (FIELDS[name].called(place) for name in ("device", next(iter(given))))
    return f"Prices require a device. Give the {device} with the {first}."


def _given(texts: Texts, place: Place) -> dict[str, str]:
    """Return the texts that the user typed into fields of ``PRICES``, by field name."""
    return {one.name: text for one in PRICES if (text := texts.get(one.name, "")) not in ("", one.usual(place))}


def read_inference(texts: Texts, place: Place) -> Inference | None:
    """Read the queries over the life of a model from ``texts``; None if no queries are given.

    Queries do not require a machine.
    """
    names = ("queries", "query_tokens", "query_flops")
    queries, tokens, flops = (_value(texts, place, name) for name in names)
    every, one, whole = (FIELDS[name].called(place) for name in names)
    if queries is None:
        alone = next((FIELDS[name].called(place) for name in names[1:] if texts.get(name)), "")
        if alone:
            raise PlannerError(f"Give the {every} with the {alone}, or leave both out.")
        return None
    if tokens is not None and flops is not None:
        raise PlannerError(f"Give either the {one} or the {whole}, not both.")
    return Inference(queries, 1.0 if tokens is None else tokens, flops)


def read_simulation(texts: Texts, place: Place) -> Simulation | None:
    """Read the costs of a simulated sample from ``texts``; None if no cost is given.

    These costs do not require a machine.
    """
    names = ("sample_price", "sample_seconds", "cpu_price", "sample_bytes")
    price, seconds, hour, size = (_value(texts, place, name) for name in names)
    if hour is not None:
        if price is not None or seconds is None:
            sample, cpu_time, hourly = (FIELDS[name].called(place) for name in names[:3])
            raise PlannerError(f"Give the {hourly} together with the {cpu_time}, and leave out the {sample}.")
        return by_cpu_time(seconds, hour, size)
    return None if price is seconds is size is None else Simulation(price, seconds, size)


def read_limits(texts: Texts, place: Place) -> Limits:
    """Read the limits from ``texts``. Raises PlannerError, which names the wrong limit.

    Memory is typed in GB and returned in bytes.
    """
    most = {field.limit: x for field in LIMITS if (x := _value(texts, place, field.name)) is not None}
    return Limits(**{str(name): x * GIGABYTE if name == "memory" else x for name, x in most.items()})


def _machine(texts: Texts, place: Place) -> Machine:
    share = texts.get("utilisation")
    count = _value(texts, place, "devices")
    precision: Any = texts.get("precision") or None
    return Machine(
        find_device(texts["device"]),
        1 if count is None else int(count) if count == int(count) else count,
        parse_share(share, FIELDS["utilisation"].called(place)) if share else UTILISATION,
        _value(texts, place, "hour_price"),
        precision,
        _value(texts, place, "power"),
        assumed=not share,
    )


def _value(texts: Texts, place: Place, name: str) -> Any:
    """Return the value of the field ``name``; None if its text is empty."""
    text = texts.get(name)
    return FIELDS[name].value(text, place, texts.get("currency") or EUR) if text else None
