"""Input fields for stage 2, the learning rate and other settings, and functions that read the typed texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.recipe import Settings
from isoplan.engine.planning.recommender.settings import CHUNK, LearningRate, Stage2
from isoplan.engine.planning.scenario.fields import FIELDS, Field, Place, Texts, pick
from isoplan.engine.planning.scenario.typed_rules import option_name, refuse_alone
from isoplan.engine.quantities import parse_number, parse_share

DEVICE = replace(FIELDS["device"], help="Device that trains stage 2; its memory limits K.", label="Device")
STAGE2 = (
    FIELDS["devices"],
    Field("width", "Joint embedding width h.", "Embedding width h", default="0", start="188", kind=int,
          tip="188 in the behavioural paper at 10¹⁸ FLOPs."),
    Field("length", "Events in a sequence.", "Events in a sequence", default="256", kind=int),
    Field("precision", "Precision of the logits: bf16, fp32, fp16 or fp8.", "Precision of the logits", default="bf16",
          read=lambda text, _: text),
    Field("chunk", "Number of candidates scored at a time; 0 scores all at once.", "Candidates scored at a time",
          default=str(CHUNK), kind=int, tip="0 scores all candidates at once."),
)  # fmt: skip
"""Fields of stage 2, which require a device. On the page, the field of the embedding width initially contains the value
of behavioural, Table 8, at 1e18 FLOPs.
"""
TRAINING = (
    Field("batch_size", "Batch size in sequences, instead of the critical batch size.", "Batch size B",
          hint="the critical one", said="batch size"),
    Field("rate", "Learning rate at the batch size --rate-batch; it increases as the square root of the batch size.",
          "Learning rate", start="2e-3"),
    Field("rate_batch", "Batch size at which --rate applies.", "at a batch of", start="512", said="batch of the rate",
          tip="The learning rate scales with the square root of the batch size."),
)  # fmt: skip
PRICE = pick("hour_price", "utilisation", "currency")
"""Fields that convert a budget in money to FLOPs; they require a device."""
SETTINGS = {field.name: field for field in (DEVICE, *STAGE2, *TRAINING, *PRICE)}
"""All fields by name, in the order of the terminal."""


def read_settings(texts: Texts, others: Mapping[Setting, Iterable[str]], place: Place) -> Settings:
    """Read the settings from ``texts``, the typed texts keyed by field name.

    ``others`` are the typed values of s, B and K for which a cost is shown. Raises PlannerError, which names the wrong
    field.
    """
    scaling = {"rate": _value(texts, "rate", place), "batch": _value(texts, "rate_batch", place)}
    read = {
        setting: tuple(
            (parse_share if setting == "s" else parse_number)(value, _called(setting, place)) for value in values
        )
        for setting, values in others.items()
    }
    rate = LearningRate(**{name: x for name, x in scaling.items() if x is not None})
    return Settings(rate, _stage2(texts, place), _value(texts, "batch_size", place), read)


def _called(setting: Setting, place: Place) -> str:
    return f"other {setting}" if place == "page" else f"{setting} of option {option_name('instead', place)}"


def _stage2(texts: Texts, place: Place) -> Stage2 | None:
    """Read the training of stage 2 from ``texts``; None if no device is given.

    The result is also None if the device has a price and no field of stage 2 is given. The device then only converts
    money to FLOPs.
    """
    given = [one.name for one in STAGE2 if texts.get(one.name, "") not in ("", one.default)]
    if not texts.get("device"):
        if given:
            refuse_alone(given[0], "device", place)
        return None
    devices, width, length, precision, chunk = (_value(texts, one.name, place) for one in STAGE2)
    if texts.get("hour_price") and not {*given} - {"devices"}:
        return None
    if width < 1:
        name = option_name("width", place)
        raise PlannerError(f"Option {name}: the memory limit of K depends on the embedding width. Add {name}.")
    return Stage2(find_device(texts["device"]), width, devices, length, precision, chunk or None)


def _value(texts: Texts, name: str, place: Place) -> Any:
    """Return the value of the field ``name``; None if its text is empty.

    On the page, an empty text of a field with an initial text raises PlannerError.
    """
    field = SETTINGS[name]
    text = texts.get(name) or field.default
    if not text and not (place == "page" and field.start):
        return None
    value = field.value(text, place)
    return int(value) if field.kind is int and value == int(value) else value
