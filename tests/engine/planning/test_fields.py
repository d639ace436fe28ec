"""Input fields of the planner: unique names, names in error messages, and conversion of texts to values."""

from __future__ import annotations

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.scenario.fields import FIELDS, LIMITS, LOSS, OURS, SCENARIO, Field, Place, pick
from isoplan.engine.planning.scenario.limits import Limits
from isoplan.engine.planning.scenario.prices import Inference
from isoplan.engine.planning.scenario.typed_prices import read_inference, read_limits, read_prices


def test_every_name_is_there_once_and_every_field_is_explained() -> None:
    assert list(FIELDS) == [field.name for field in (*LOSS, *SCENARIO, *OURS)]
    assert all(field.help.endswith((".", "...")) and field.label for field in FIELDS.values())
    assert {field.limit for field in LIMITS} == {*Limits.__dataclass_fields__}
    assert [field.option for field in pick("hour_price", "pue")] == ["--hour-price", "--pue"]


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("page", ["price of a device hour", "PUE of the site", "power of a device", "number of unique samples"]),
        ("terminal", ["option --hour-price", "option --pue", "option --power", "option --max-unique"]),
        ("python", ["option hour_price", "option pue", "option power", "option max_unique"]),
    ],
)
def test_sentences_call_a_field_as_its_place_does(place: Place, names: list[str]) -> None:
    fields = pick("hour_price", "pue", "power", "max_unique")
    assert [field.called(place) for field in fields] == names
    for field, name in zip(fields, names, strict=True):
        with pytest.raises(PlannerError, match=f"The {name} 'x' cannot be read"):
            field.value("x", place)


def test_plain_numbers_are_in_the_unit_of_the_field() -> None:
    assert FIELDS["max_hours"].value("2 d", "terminal") == 48
    assert read_limits({"max_memory": "80", "max_money": "5 USD", "currency": "USD"}, "python") == Limits(
        memory=80e9, money=5
    )
    with pytest.raises(PlannerError, match=r"The option --max-money '5 USD' is in USD, not in EUR"):
        read_limits({"max_money": "5 USD"}, "terminal")
    assert read_inference({"queries": "1 B", "query_flops": "2 GFLOP"}, "page") == Inference(1e9, flops=2e9)


def test_what_a_field_contains_anyway_is_not_given() -> None:
    assert read_prices({"devices": "1", "currency": "EUR", "utilisation": "40 %", "pue": "1"}, "page") is None
    assert read_prices({"devices": "1", "device": ""}, "terminal") is None
    with pytest.raises(PlannerError, match="Give the option --device with the option --pue"):
        read_prices({"devices": "1", "pue": "1"}, "terminal")


def test_a_field_of_a_question_reads_itself() -> None:
    field = Field("rounds", "How many.", read=lambda text, what: f"{what}: {text}")
    assert field.value("3", "python") == "option rounds: 3"
    assert field.called("page") == "rounds"
