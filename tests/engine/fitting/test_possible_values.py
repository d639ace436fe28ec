"""Tests of the possible values of a fitted number (for example, perplexity >= 1), which limit the numbers of a plan."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from isoplan.engine.fitting import FitSpec, fit, read_fit, to_json
from isoplan.engine.fitting.types.possible_values import possible
from isoplan.engine.schema import Metric
from tests.engine.fitting.tables import make_runs

D = np.geomspace(1e6, 1e9, 8)


@pytest.mark.parametrize(("floor", "least"), [(2.0, 1.0), (0.2, 0.0)])
def test_a_perplexity_is_at_least_one_unless_a_run_is_below(floor: float, least: float) -> None:
    runs = make_runs({"D": D, "val_ppl": floor + 40 * D**-0.3}, metrics=(Metric(column="val_ppl", direction="min"),))
    made = fit(FitSpec(law="power", axis="D", y="val_ppl", bootstrap=0), runs)
    assert possible(made) == (least, math.inf)


def test_a_perplexity_is_at_least_one_in_a_card_without_ranges() -> None:
    runs = make_runs({"D": D, "perplexity": 2 + 40 * D**-0.3}, metrics=(Metric(column="perplexity", direction="min"),))
    card = json.loads(json.dumps(to_json(fit(FitSpec(law="power", axis="D", y="perplexity", bootstrap=0), runs))))
    del card["data"]["ranges"]
    assert possible(read_fit(card)) == (1.0, math.inf)
