"""A quantity written as JSON and read again is unchanged."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.answer.quantity import Quantity, from_json, to_json

INF = math.inf
finite = st.floats(allow_nan=False, allow_infinity=False)
ordered = st.tuples(finite, finite).map(lambda ends: (min(ends), max(ends)))
endless = st.sampled_from([(INF, INF), (-INF, INF)])
half = finite.flatmap(lambda x: st.sampled_from([(x, INF), (-INF, x)]))
intervals = st.none() | ordered | endless | half
quantities = st.builds(
    Quantity,
    st.none() | finite,
    intervals,
    intervals,
    st.sampled_from(["", "FLOPs", "EUR"]),
    st.floats(0, 1e3),
    st.text(),
)


@given(quantities)
def test_what_is_written_is_what_is_read(q: Quantity) -> None:
    assert from_json(json.loads(json.dumps(to_json(q), allow_nan=False))) == q


@pytest.mark.parametrize(
    ("value", "ends", "more"),
    [
        (5e20, (INF, INF), {"unreachable": ["ci68"]}),
        (5e20, (-INF, INF), {}),
        (5e20, (4e20, INF), {}),
        (None, (INF, INF), {}),
        (None, (-INF, INF), {"unreachable": []}),
        (None, (4e20, INF), {}),
    ],
)
def test_only_what_nulls_do_not_say_has_a_key_of_its_own(
    value: float | None, ends: Interval, more: dict[str, object]
) -> None:
    raw = to_json(Quantity(value, ends, unit="FLOPs"))
    assert raw["ci68"] == [x if math.isfinite(x) else None for x in ends]
    assert {key: x for key, x in raw.items() if key == "unreachable"} == more


def test_nulls_of_older_files_are_read_as_they_were() -> None:
    raw = {"value": None, "ci68": [None, None], "ci95": [1e20, None], "unit": "FLOPs", "beyond": 0, "note": ""}
    assert from_json(raw) == Quantity(None, (INF, INF), (1e20, INF), "FLOPs")
    assert from_json(raw | {"value": 5e20}).ci68 == (-INF, INF)


def test_what_is_no_quantity_is_one_sentence() -> None:
    with pytest.raises(PlannerError, match="This is not a plan that Isoplan wrote: a quantity is not readable"):
        from_json({"value": 1.0, "ci68": [1.0], "ci95": None, "unit": "", "beyond": 0, "note": ""})
